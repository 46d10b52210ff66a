// Finds the skills: folders with a SKILL.md, in the project and in the home. On a name clash the
// project's wins. Those that a project has for other agents count once it is trusted.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { codeOf, entriesOf, errnoSentence, isInside, tryTo } from "zz/text";
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

export const foldersOf = ({ root, about }: Pick<Ctx, "root" | "about">): [From, string][] => [
  ["project", path.join(root, ".zz", "skills")],
  ["home", path.join(about.home, "skills")],
];

/** What other agents read. */
const OTHER_AGENTS = [".claude/skills", ".agents/skills"];
const otherFolders = ({ root }: Ctx): [From, string][] =>
  OTHER_AGENTS.map((name) => ["project", path.join(root, name)]);

/** Whether the person has trusted this file of the project, with links followed. */
const isTrusted = ({ root, plugins: { brought } }: Ctx, file: string): boolean =>
  brought?.given === true &&
  brought.files.includes(path.relative(root, file).replaceAll(path.sep, "/"));

/** Finds all skills. Reads only those files again whose stamp changed. */
export function findSkills(ctx: Ctx, cache: SkillCache): FoundSkills {
  const result: FoundSkills = { skills: [], broken: [] };
  const seenFiles = new Set<string>();
  const [project, home] = foldersOf(ctx) as [[From, string], [From, string]];
  const others = otherFolders(ctx);
  for (const place of [project, ...others, home])
    for (const folderName of namesIn(place[1])) {
      const [from, parent] = place;
      const file = realOf(path.join(parent, folderName, FILE));
      // if the project is the home folder, its skills are the home's
      if (!file || seenFiles.has(file)) continue;
      if (others.includes(place) && !isTrusted(ctx, file)) continue;
      seenFiles.add(file);
      const read = readOnce(ctx, cache, { from, folder: path.join(parent, folderName), file });
      if ("problem" in read) result.broken.push(read);
      else if (!result.skills.some(({ name }) => name === read.name)) result.skills.push(read);
    }
  return result;
}

type Where = Pick<Skill, "from" | "folder" | "file">;

function readOnce(ctx: Ctx, cache: SkillCache, where: Where): Skill | Broken {
  const { from, folder, file } = where;
  const broken = (problem: string): Broken => ({
    name: path.basename(folder),
    file: path.join(folder, FILE),
    problem,
  });
  const leaves = from === "project" && !isInside(ctx.root, file);
  if (leaves) return broken("it is a link that leaves the project");
  if (from === "project" && ctx.permissions.secret(file))
    return broken("it is a link to what may hold secrets");
  if (!mayRead(ctx, file)) return broken("reading it is denied");
  try {
    const { mtimeMs, ctimeMs, size } = fs.statSync(file);
    const stamp = `${mtimeMs} ${ctimeMs} ${size} ${folder}`;
    const last = cache.get(file);
    if (last?.stamp === stamp) return last.read;
    const read = parsed();
    cache.set(file, { stamp, read });
    return read;
  } catch (error) {
    return broken(reason(error));
  }

  function parsed(): Skill | Broken {
    try {
      return { ...skillOf(textOf(file, ctx.files.open), path.basename(folder)), ...where };
    } catch (error) {
      return broken(reason(error));
    }
  }
}

/** The content of a SKILL.md. Throws a clause that says why it is not a skill. */
export function skillOf(text: string, folder: string): Omit<Skill, keyof Where> {
  const { head, body } = parseSkill(text);
  const [name, description] = [asText(head.name) || folder, asText(head.description)];
  if (!NAME.test(name))
    throw new Error(
      `'${name.slice(0, 80)}' is not a name: letters, digits, - and _ are, at most 64`,
    );
  if (!description) throw new Error("it has no description");
  return { name, description: cut(description), triggers: asList(head.triggers), body };
}

const cut = (text: string): string =>
  text.length > MAX_DESCRIPTION_CHARS ? `${text.slice(0, MAX_DESCRIPTION_CHARS)}…` : text;

function textOf(file: string, open: Ctx["files"]["open"]): string {
  const fd = open(file);
  try {
    const stat = fs.fstatSync(fd);
    if (!stat.isFile()) throw new Error("it is not a regular file");
    if (stat.size > MAX_FILE_BYTES)
      throw new Error(`${stat.size} bytes are too many (${MAX_FILE_BYTES} at most)`);
    const bytes = fs.readFileSync(fd);
    if (bytes.includes(0)) throw new Error("it is not text");
    return bytes.toString("utf8");
  } finally {
    fs.closeSync(fd);
  }
}

/** Whether a skill may be read: what a rule does not allow stays out of the prompt too. */
const mayRead = ({ permissions }: Ctx, file: string): boolean =>
  !permissions.rules.some(({ verdict, kind }) => verdict !== "allow" && kind === "read") ||
  permissions.judge("read", { name: file, verdict: "allow", why: "a skill" }).verdict === "allow";

const REASONS: Record<string, string> = {
  ELOOP: "it was swapped for a link",
  EACCES: "permission denied",
  EISDIR: "it is a folder",
};
const reason = (error: unknown): string =>
  REASONS[codeOf(error)] ?? (errnoSentence(error).split(". ")[0] || (error as Error).message);

export const namesIn = (folder: string): string[] =>
  entriesOf(folder)
    .filter((name) => !name.startsWith("."))
    .sort();

export const realOf = (file: string): string | undefined => tryTo(() => fs.realpathSync(file));
