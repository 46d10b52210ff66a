// install_skill and uninstall_skill. A skill tells the model what to do from then on, so the person
// is always asked, and shown the whole text.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { isInside, plural } from "zz/text";
import {
  FILE,
  findSkills,
  foldersOf,
  NAME,
  namesIn,
  realOf,
  type SkillCache,
  skillOf,
} from "./find-skills.ts";

const MAX_FILES = 100; // of a skill
const DIFF_LINES = 150; // a diff with no more than these is always shown whole
const MAX_LINE_CHARS = 4_000; // a question shows only the ends of longer lines

type Args = {
  name: string;
  content?: string | undefined;
  path?: string | undefined;
  where?: string | undefined;
};

export function install(zz: Zz, skillCache: SkillCache): void {
  zz.tool({
    name: "install_skill",
    description:
      "Install a skill, or replace one: from the text of its SKILL.md (front matter with name " +
      "and description, triggers if you like, then the instructions), or from a folder or file.",
    aliases: ["self_install_skill"],
    params: {
      name: "string what the skill is called",
      content: "string? all of its SKILL.md",
      path: "string? instead: a folder with a SKILL.md, or the file",
      where: "string? home (for every project; unless you say otherwise) or project",
    },
    changes: true,
    needs: ({ path: sourcePath }, { root }) =>
      sourcePath ? { read: filesAt(path.resolve(root, sourcePath)) } : {},
    run: (skillArgs, ctx) => installSkill(skillArgs, ctx, skillCache),
  });
  zz.tool({
    name: "uninstall_skill",
    description: "Remove a skill: every file of its folder.",
    aliases: ["self_uninstall_skill"],
    params: { name: "string the skill" },
    changes: true,
    run: ({ name }, ctx) => removeSkill(name, ctx, skillCache),
  });
  // A question cuts a long diff, but the person must see every line of a skill.
  zz.wrap("preview", async (previewInput, runNext) => {
    const { tool, about, changes } = previewInput;
    const hasLongChange = changes.some(({ after = "" }) => after.split("\n").length > DIFF_LINES);
    if (tool !== "install_skill" || !hasLongChange) return runNext(previewInput);
    return [
      about,
      ...changes.map(
        ({ path: changedFile, after = "" }) => `${changedFile}, all of it:\n${after.trimEnd()}`,
      ),
    ]
      .filter(Boolean)
      .join("\n\n");
  });
}

const TOO_WIDE = `has a line of more than ${MAX_LINE_CHARS} characters. Make it shorter.`;

async function installSkill(
  { name, content, path: sourcePath, where = "home" }: Args,
  ctx: Ctx,
  skillCache: SkillCache,
): Promise<string> {
  const refuse = (reason: string) => new Error(`Cannot install skill '${name}': ${reason}`);
  if (!NAME.test(name))
    throw refuse("letters, digits, - and _ make a name, at most 64. Choose another.");
  if (where !== "home" && where !== "project")
    throw refuse(`'${where}' is not a place. Use home or project.`);
  if ((content === undefined) === (sourcePath === undefined))
    throw refuse("it needs either content or path. Give one.");
  const textsByFile = new Map<string, string>(content === undefined ? [] : [[FILE, content]]);
  const binaryFiles: string[] = [];
  if (sourcePath !== undefined) {
    const sourceTop = path.resolve(ctx.root, sourcePath);
    const isFolder = fs.statSync(sourceTop, { throwIfNoEntry: false })?.isDirectory();
    for (const sourceFile of filesAt(sourceTop)) {
      const { text, bytes } = await ctx.files.read(sourceFile);
      const relativeFile = isFolder ? path.relative(sourceTop, sourceFile) : FILE;
      if (bytes.includes(0)) binaryFiles.push(relativeFile);
      else textsByFile.set(relativeFile, text);
    }
  }
  const skillText = textsByFile.get(FILE);
  if (skillText === undefined) throw refuse(`there is no ${FILE} in '${sourcePath}'. Add it.`);
  for (const [relativeFile, fileText] of textsByFile)
    if (fileText.split("\n").some((textLine) => textLine.length > MAX_LINE_CHARS))
      throw refuse(`${relativeFile} ${TOO_WIDE}`);
  const named = readable(skillText);
  if (named !== name) throw refuse(`its front matter names it '${named}'. Use one name for both.`);
  const { skills } = findSkills(ctx, skillCache);
  const present = skills.find((candidate) => candidate.name === name);
  const targetFolder =
    present?.from === where ? present.folder : path.join(foldersOf(ctx)[where], name);
  for (const [relativeFile, fileText] of textsByFile)
    await ctx.files.write(path.join(targetFolder, relativeFile), fileText);
  const sentences = [
    `Installed skill '${name}' in ${targetFolder} (${plural(textsByFile.size, "file")}). ` +
      "read_skill reads it; the next conversation lists it.",
    ...(binaryFiles.length
      ? [
          "Left out, since only text can be shown before it is asked for: " +
            `${binaryFiles.join(", ")}.`,
        ]
      : []),
    ...(present?.from === "project" && where === "home"
      ? ["Here the project's skill of that name goes before it."]
      : []),
  ];
  return sentences.join("\n");

  function readable(mainText: string): string {
    try {
      return skillOf(mainText, name).name;
    } catch (error) {
      throw refuse(`${(error as Error).message}. Fix it.`);
    }
  }
}

/** Removes a skill. If its folder is a link, the link is removed, but not its target. */
async function removeSkill(skillName: string, ctx: Ctx, skillCache: SkillCache): Promise<string> {
  const { skills, broken } = findSkills(ctx, skillCache);
  const installed = skills.find((candidate) => candidate.name === skillName);
  const brokenFile = broken.find((candidate) => candidate.name === skillName)?.file;
  const skillFolder = installed?.folder ?? (brokenFile && path.dirname(brokenFile));
  if (!skillFolder)
    throw new Error(
      `Cannot uninstall skill '${skillName}': there is none. list_skills lists them.`,
    );
  const isLink = fs.lstatSync(skillFolder).isSymbolicLink();
  const filesToRemove = isLink ? [skillFolder] : filesAt(skillFolder);
  for (const fileToRemove of filesToRemove) await ctx.files.remove(fileToRemove);
  return (
    `Uninstalled skill '${skillName}' from ${skillFolder} ` +
    `(${isLink ? "a link" : plural(filesToRemove.length, "file")}).`
  );
}

/** A file, or all files of a folder, except what links lead to outside of it. */
export function filesAt(fileOrFolder: string): string[] {
  const foundFiles: string[] = [];
  const realTop = realOf(fileOrFolder);
  if (!realTop || !fs.statSync(realTop).isDirectory()) return [fileOrFolder];
  walkFolder(fileOrFolder);
  return foundFiles;

  function walkFolder(folder: string): void {
    for (const entryName of namesIn(folder)) {
      const entryPath = path.join(folder, entryName);
      const realFile = realOf(entryPath);
      if (!realFile || !isInside(realTop!, realFile) || entryName === "node_modules") continue;
      if (fs.lstatSync(entryPath).isDirectory()) walkFolder(entryPath);
      else if (fs.statSync(entryPath).isFile()) foundFiles.push(entryPath);
      if (foundFiles.length > MAX_FILES)
        throw new Error(
          `Cannot use '${fileOrFolder}': ` +
            `it holds more than ${MAX_FILES} files. Name a smaller one.`,
        );
    }
  }
}
