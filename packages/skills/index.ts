// Skills: folders with a SKILL.md. Their descriptions are always in the prompt; the text of a skill
// is there when a message calls for it.
import path from "node:path";
import type { Ctx, Need, Result, Zz } from "zz";
import { isInside } from "zz/text";
import { FILE, realOf, type Skill } from "./find-skills.ts";
import { filesAt, install } from "./install.ts";
import {
  activeSkills,
  activeTexts,
  catalogue,
  type SkillsPlugin,
  skillNamed,
  usable,
} from "./skills-in-prompt.ts";

export const defaults = { list: 1_500, texts: 6_000, off: [] as string[] };
const tokensSetting = { type: "integer", minimum: 0, maximum: 1_000_000 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      list: { ...tokensSetting, description: "tokens of the names and descriptions in the prompt" },
      texts: { ...tokensSetting, description: "tokens of the skills that a message calls for" },
      off: {
        type: "array",
        items: { type: "string" },
        description: "names of skills that are left out",
      },
    },
  },
};
const MAX_READ_CHARS = 50_000; // for one call of read_skill
const HIDDEN_PATH = /(^|\/)\./;

export default (zz: Zz<typeof defaults>) => {
  const plugin: SkillsPlugin = { zz, state: zz.state({ on: [] as string[] }), cache: new Map() };
  const group = "conversation";
  zz.layer({
    name: "skills",
    slot: "memory",
    budget: zz.config.list + 100,
    text: (ctx) => catalogue(plugin, ctx),
  });
  zz.layer({
    name: "active-skills",
    slot: "turn",
    budget: zz.config.texts + 200,
    text: (ctx) => activeTexts(plugin, ctx),
  });
  zz.tool({
    name: "list_skills",
    description: "List the skills: names, what each is for, and which are in use.",
    aliases: ["self_list_skills"],
    run: (_, ctx) => listSkills(plugin, ctx),
  });
  zz.tool({
    name: "read_skill",
    kind: "read",
    description: "Read a skill's instructions, or another file of its folder.",
    params: { name: "string the skill", file: "string? relative to the skill's folder" },
    needs: ({ name, file }, ctx) => {
      const namedSkill = skillNamed(plugin, name, ctx);
      const skillFile = realOf(path.resolve(namedSkill.folder, file ?? FILE));
      return skillFile && isInside(realOf(namedSkill.folder)!, skillFile)
        ? { read: [needOf(namedSkill, skillFile, ctx)] }
        : {};
    },
    run: ({ name, file }, ctx) => readSkill(skillNamed(plugin, name, ctx), file, ctx),
  });
  install(zz, plugin.cache);
  zz.command({
    name: "skills",
    description: "list the skills, where they come from and which are in use",
    group,
    run: async (_, ctx) => ctx.note((await listSkills(plugin, ctx)).text),
  });
  zz.command({
    name: "skill",
    usage: "NAME [off]",
    description: "use a skill in this conversation, or stop using it",
    examples: {
      "/skill release-notes": "use that skill in this conversation",
      "/skill release-notes off": "stop using it",
    },
    group,
    complete: (typedName, ctx) =>
      usable(plugin, ctx).skills.filter(({ name }) => name.startsWith(typedName)),
    run: (typedText, ctx) => ctx.note(switchSkill(plugin, typedText, ctx)),
  });
};

async function listSkills(plugin: SkillsPlugin, ctx: Ctx): Promise<Result> {
  const { skills, broken } = usable(plugin, ctx);
  const activeReasons = new Map(
    (await activeSkills(plugin, ctx)).map(({ skill, reason }) => [skill.name, reason]),
  );
  const data = skills.map(({ name, description, triggers, from, folder }) => ({
    name,
    description,
    triggers,
    from,
    folder,
    active: activeReasons.has(name),
  }));
  const skillLines = skills.map(({ name, description, from, folder }) => {
    const reason = activeReasons.get(name);
    return (
      `${reason ? "*" : " "} ${name}: ${description} (${from}, ` +
      `${folder}${reason ? `; in use: ${reason}` : ""})`
    );
  });
  const brokenLines = broken.map(
    ({ name, file, problem }) => `! ${name}: left out, since ${problem} (${file})`,
  );
  return { text: [...skillLines, ...brokenLines].join("\n") || "There are no skills.", data };
}

/** /skill: `NAME` puts a skill in force, `NAME off` ends that. */
function switchSkill(plugin: SkillsPlugin, typedText: string, ctx: Ctx): string {
  const [skillName = "", switchWord] = typedText.trim().split(/\s+/);
  if (!skillName)
    return "Name a skill: /skill NAME uses one, /skill NAME off stops it. /skills lists them.";
  const otherNames = plugin.state.on.filter((activeName) => activeName !== skillName);
  if (switchWord === "off") {
    const wasActive = otherNames.length < plugin.state.on.length;
    plugin.state.on = otherNames;
    return wasActive
      ? `Skill '${skillName}' is no longer in use.`
      : `Skill '${skillName}' was not in use.`;
  }
  if (switchWord)
    throw new Error(`Cannot run '/skill ${switchWord}': use /skill NAME, or /skill NAME off.`);
  skillNamed(plugin, skillName, ctx);
  plugin.state.on = [...otherNames, skillName];
  return `Skill '${skillName}' is in use for this conversation. /skill ${skillName} off stops it.`;
}

/** The home's skills may always be read; the gate is asked about files that may contain secrets. */
function needOf({ from, folder }: Skill, absolutePath: string, { permissions }: Ctx): Need {
  const relativePath = path.relative(realOf(folder)!, absolutePath);
  return from === "project" || HIDDEN_PATH.test(relativePath) || permissions.secret(relativePath)
    ? absolutePath
    : { name: absolutePath, verdict: "allow", why: "it belongs to a skill" };
}

async function readSkill(
  { name, folder }: Skill,
  requestedFile: string | undefined,
  { files }: Ctx,
): Promise<Result> {
  const file = requestedFile ?? FILE;
  const realFolder = realOf(folder)!;
  const absolutePath = realOf(path.resolve(folder, file));
  const relativeFiles = filesAt(realFolder).map((absoluteFile) =>
    path.relative(realFolder, absoluteFile),
  );
  const refuse = (reason: string) =>
    new Error(`Cannot read '${file}' of skill '${name}': ${reason}`);
  if (!absolutePath) throw refuse(`no such file. It has: ${relativeFiles.join(", ")}.`);
  if (!isInside(realFolder, absolutePath))
    throw refuse("it is outside of the skill's folder. Name a file in it.");
  const { text, bytes } = await files.read(absolutePath);
  if (bytes.subarray(0, 8_192).includes(0)) throw refuse("it is not text. Choose a text file.");
  const shownText =
    text.length > MAX_READ_CHARS
      ? `${text.slice(0, MAX_READ_CHARS)}\n` +
        `[${text.length - MAX_READ_CHARS} more characters left out]`
      : text;
  const otherFiles = relativeFiles.filter((relativeFile) => relativeFile !== FILE);
  const othersNote =
    requestedFile === undefined && otherFiles.length
      ? `\n\n[Other files of it, for read_skill: ${otherFiles.join(", ")}]`
      : "";
  return { text: shownText.trimEnd() + othersNote, data: { name, file, folder } };
}
