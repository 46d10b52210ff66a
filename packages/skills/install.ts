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

export function install(zz: Zz, cache: SkillCache): void {
  zz.tool({
    name: "install_skill",
    description:
      "Install a skill, or replace one: from the text of its SKILL.md (front matter with name and description, triggers if you like, then the instructions), or from a folder or file.",
    aliases: ["self_install_skill"],
    params: {
      name: "string what the skill is called",
      content: "string? all of its SKILL.md",
      path: "string? instead: a folder with a SKILL.md, or the file",
      where: "string? home (for every project; unless you say otherwise) or project",
    },
    changes: true,
    needs: ({ path: source }, { root }) =>
      source ? { read: filesAt(path.resolve(root, source)) } : {},
    run: (args, ctx) => add(args, ctx, cache),
  });
  zz.tool({
    name: "uninstall_skill",
    description: "Remove a skill: every file of its folder.",
    aliases: ["self_uninstall_skill"],
    params: { name: "string the skill" },
    changes: true,
    run: ({ name }, ctx) => remove(name, ctx, cache),
  });
  // A question cuts a long diff, but the person must see every line of a skill.
  zz.wrap("preview", async (input, next) => {
    const { tool, about, changes } = input;
    const isLong = changes.some(({ after = "" }) => after.split("\n").length > DIFF_LINES);
    if (tool !== "install_skill" || !isLong) return next(input);
    return [
      about,
      ...changes.map(({ path: file, after = "" }) => `${file}, all of it:\n${after.trimEnd()}`),
    ]
      .filter(Boolean)
      .join("\n\n");
  });
}

async function add(
  { name, content, path: source, where = "home" }: Args,
  ctx: Ctx,
  cache: SkillCache,
): Promise<string> {
  const refuse = (reason: string) => new Error(`Cannot install skill '${name}': ${reason}`);
  if (!NAME.test(name))
    throw refuse("letters, digits, - and _ make a name, at most 64. Choose another.");
  if (where !== "home" && where !== "project")
    throw refuse(`'${where}' is not a place. Use home or project.`);
  if ((content === undefined) === (source === undefined))
    throw refuse("it needs either content or path. Give one.");
  const texts = new Map<string, string>(content === undefined ? [] : [[FILE, content]]);
  const binaryFiles: string[] = [];
  if (source !== undefined) {
    const top = path.resolve(ctx.root, source);
    const isFolder = fs.statSync(top, { throwIfNoEntry: false })?.isDirectory();
    for (const file of filesAt(top)) {
      const { text, bytes } = await ctx.files.read(file);
      const inside = isFolder ? path.relative(top, file) : FILE;
      if (bytes.includes(0)) binaryFiles.push(inside);
      else texts.set(inside, text);
    }
  }
  const main = texts.get(FILE);
  if (main === undefined) throw refuse(`there is no ${FILE} in '${source}'. Add it.`);
  for (const [file, text] of texts)
    if (text.split("\n").some((line) => line.length > MAX_LINE_CHARS))
      throw refuse(
        `${file} has a line of more than ${MAX_LINE_CHARS} characters, which cannot be shown. Break it.`,
      );
  const named = readable(main);
  if (named !== name) throw refuse(`its front matter names it '${named}'. Use one name for both.`);
  const parent = foldersOf(ctx).find(([from]) => from === where)![1];
  const { skills } = findSkills(ctx, cache);
  const present = skills.find((skill) => skill.name === name);
  const folder = present?.from === where ? present.folder : path.join(parent, name);
  for (const [file, text] of texts) await ctx.files.write(path.join(folder, file), text);
  const sentences = [
    `Installed skill '${name}' in ${folder} (${plural(texts.size, "file")}). read_skill reads it; the next conversation lists it.`,
    ...(binaryFiles.length
      ? [
          `Left out, since only text can be shown before it is asked for: ${binaryFiles.join(", ")}.`,
        ]
      : []),
    ...(present?.from === "project" && where === "home"
      ? ["Here the project's skill of that name goes before it."]
      : []),
  ];
  return sentences.join("\n");

  function readable(text: string): string {
    try {
      return skillOf(text, name).name;
    } catch (error) {
      throw refuse(`${(error as Error).message}. Fix it.`);
    }
  }
}

/** Removes a skill. If its folder is a link, the link is removed, but not its target. */
async function remove(name: string, ctx: Ctx, cache: SkillCache): Promise<string> {
  const { skills, broken } = findSkills(ctx, cache);
  const installed = skills.find((skill) => skill.name === name);
  const folder = installed?.folder ?? brokenFolder();
  if (!folder)
    throw new Error(`Cannot uninstall skill '${name}': there is none. list_skills lists them.`);
  const isLink = fs.lstatSync(folder).isSymbolicLink();
  const files = isLink ? [folder] : filesAt(folder);
  for (const file of files) await ctx.files.remove(file);
  return `Uninstalled skill '${name}' from ${folder} (${isLink ? "a link" : plural(files.length, "file")}).`;

  function brokenFolder(): string | undefined {
    const file = broken.find((skill) => skill.name === name)?.file;
    return file && path.dirname(file);
  }
}

/** A file, or all files of a folder, except what links lead to outside of it. */
export function filesAt(top: string): string[] {
  const files: string[] = [];
  const real = realOf(top);
  if (!real || !fs.statSync(real).isDirectory()) return [top];
  walk(top);
  return files;

  function walk(folder: string): void {
    for (const name of namesIn(folder)) {
      const file = path.join(folder, name);
      const realFile = realOf(file);
      if (!realFile || !isInside(real!, realFile) || name === "node_modules") continue;
      if (fs.lstatSync(file).isDirectory()) walk(file);
      else if (fs.statSync(file).isFile()) files.push(file);
      if (files.length > MAX_FILES)
        throw new Error(
          `Cannot use '${top}': it holds more than ${MAX_FILES} files. Name a smaller one.`,
        );
    }
  }
}
