// Finds the skills: folders with a SKILL.md, in the project and in the home. On a name clash the
// project's wins. Those that a project has for other agents count once it is trusted.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { codeOf, entriesOf, errnoSentence, isInside, stampOf, tryTo } from "zz/text";
import { asList, asText, parseSkill } from "./front-matter.ts";

type From = "project" | "home";
export interface Skill {
  name: string;
  description: string;
  triggers: string[];
  body: string;
  from: From;
  folder: string; // where it was found; it may be a link
  file: string; // its SKILL.md, links followed
}
interface Broken {
  name: string;
  file: string;
  problem: string;
}
type FoundSkills = { skills: Skill[]; broken: Broken[] };
/** The content of each file, with the stamp it had. */
export type SkillCache = Map<string, { stamp: string; read: Skill | Broken }>;

export const FILE = "SKILL.md";
export const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const MAX_FILE_BYTES = 256 * 1024;
const MAX_DESCRIPTION_CHARS = 1_024;

export const foldersOf = ({ root, about }: Ctx): Record<From, string> => ({
  project: path.join(root, ".zz", "skills"),
  home: path.join(about.home, "skills"),
});

/** What other agents read. */
const OTHER_AGENTS = [".claude/skills", ".agents/skills"];

/** Whether the person has trusted this file of the project, with links followed. */
const isTrusted = ({ root, plugins: { brought } }: Ctx, realFile: string): boolean =>
  brought?.given === true &&
  brought.files.includes(path.relative(root, realFile).replaceAll(path.sep, "/"));

/** Finds all skills. Reads only those files again whose stamp changed. */
export function findSkills(ctx: Ctx, skillCache: SkillCache): FoundSkills {
  const foundSkills: FoundSkills = { skills: [], broken: [] };
  const seenFiles = new Set<string>();
  const { project, home } = foldersOf(ctx);
  const otherAgents = OTHER_AGENTS.map((folderName) => path.join(ctx.root, folderName));
  const locations: [From, string][] = [
    ...[project, ...otherAgents].map((folder): [From, string] => ["project", folder]),
    ["home", home],
  ];
  for (const [from, parentFolder] of locations)
    for (const folderName of namesIn(parentFolder)) {
      const file = realOf(path.join(parentFolder, folderName, FILE));
      // if the project is the home folder, its skills are the home's
      if (!file || seenFiles.has(file)) continue;
      if (from === "project" && otherAgents.includes(parentFolder) && !isTrusted(ctx, file))
        continue;
      seenFiles.add(file);
      const outcome = readOnce(ctx, skillCache, {
        from,
        folder: path.join(parentFolder, folderName),
        file,
      });
      if ("problem" in outcome) foundSkills.broken.push(outcome);
      else if (!foundSkills.skills.some(({ name }) => name === outcome.name))
        foundSkills.skills.push(outcome);
    }
  return foundSkills;
}

type Where = Pick<Skill, "from" | "folder" | "file">;

function readOnce(ctx: Ctx, skillCache: SkillCache, skillLocation: Where): Skill | Broken {
  const { from, folder, file } = skillLocation;
  const brokenSkill = (problem: string): Broken => ({
    name: path.basename(folder),
    file: path.join(folder, FILE),
    problem,
  });
  const leavesProject = from === "project" && !isInside(ctx.root, file);
  if (leavesProject) return brokenSkill("it is a link that leaves the project");
  if (from === "project" && ctx.permissions.secret(file))
    return brokenSkill("it is a link to what may hold secrets");
  if (!mayRead(ctx, file)) return brokenSkill("reading it is denied");
  const stamp = `${stampOf(file)} ${folder}`;
  const cachedRead = skillCache.get(file);
  if (cachedRead?.stamp === stamp) return cachedRead.read;
  const read = readAndParse();
  skillCache.set(file, { stamp, read });
  return read;

  function readAndParse(): Skill | Broken {
    try {
      return { ...skillOf(textOf(file, ctx.files.open), path.basename(folder)), ...skillLocation };
    } catch (error) {
      return brokenSkill(reason(error));
    }
  }
}

/** The content of a SKILL.md. Throws a clause that says why it is not a skill. */
export function skillOf(skillText: string, folderName: string): Omit<Skill, keyof Where> {
  const { head, body } = parseSkill(skillText);
  const [name, description] = [asText(head.name) || folderName, asText(head.description)];
  if (!NAME.test(name))
    throw new Error(
      `'${name.slice(0, 80)}' is not a name: letters, digits, - and _ are, at most 64`,
    );
  if (!description) throw new Error("it has no description");
  return { name, description: cutDescription(description), triggers: asList(head.triggers), body };
}

const cutDescription = (description: string): string =>
  description.length > MAX_DESCRIPTION_CHARS
    ? `${description.slice(0, MAX_DESCRIPTION_CHARS)}…`
    : description;

function textOf(skillFile: string, openFile: Ctx["files"]["open"]): string {
  const descriptor = openFile(skillFile);
  try {
    const fileStats = fs.fstatSync(descriptor);
    if (!fileStats.isFile()) throw new Error("it is not a regular file");
    if (fileStats.size > MAX_FILE_BYTES)
      throw new Error(`${fileStats.size} bytes are too many (${MAX_FILE_BYTES} at most)`);
    const fileBytes = fs.readFileSync(descriptor);
    if (fileBytes.includes(0)) throw new Error("it is not text");
    return fileBytes.toString("utf8");
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Whether a skill may be read: what a rule does not allow stays out of the prompt too. */
const mayRead = ({ permissions }: Ctx, skillFile: string): boolean =>
  !permissions.rules.some(({ verdict, kind }) => verdict !== "allow" && kind === "read") ||
  permissions.judge("read", { name: skillFile, verdict: "allow", why: "a skill" }).verdict ===
    "allow";

const REASONS: Record<string, string> = {
  ELOOP: "it was swapped for a link",
  EACCES: "permission denied",
  EISDIR: "it is a folder",
};
const reason = (error: unknown): string =>
  REASONS[codeOf(error)] ?? (errnoSentence(error).split(". ")[0] || (error as Error).message);

export const namesIn = (parentFolder: string): string[] =>
  entriesOf(parentFolder)
    .filter((entryName) => !entryName.startsWith("."))
    .sort();

export const realOf = (filePath: string): string | undefined =>
  tryTo(() => fs.realpathSync(filePath));
