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
const tokens = { type: "integer", minimum: 0, maximum: 1_000_000 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      list: { ...tokens, description: "tokens of the names and descriptions in the prompt" },
      texts: { ...tokens, description: "tokens of the skills that a message calls for" },
      off: {
        type: "array",
        items: { type: "string" },
        description: "names of skills that are left out",
      },
    },
  },
};
const MAX_READ_CHARS = 50_000; // for one call of read_skill
const HIDDEN = /(^|\/)\./;

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
    run: (_, ctx) => list(plugin, ctx),
  });
  zz.tool({
    name: "read_skill",
    kind: "read",
    description: "Read a skill's instructions, or another file of its folder.",
    params: { name: "string the skill", file: "string? relative to the skill's folder" },
    needs: ({ name, file }, ctx) => {
      const skill = skillNamed(plugin, name, ctx);
      const skillFile = realOf(path.resolve(skill.folder, file ?? FILE));
      return skillFile && isInside(realOf(skill.folder)!, skillFile)
        ? { read: [needOf(skill, skillFile, ctx)] }
        : {};
    },
    run: ({ name, file }, ctx) => read(skillNamed(plugin, name, ctx), file, ctx),
  });
  install(zz, plugin.cache);
  zz.command({
    name: "skills",
    description: "list the skills, where they come from and which are in use",
    group,
    run: async (_, ctx) => ctx.note((await list(plugin, ctx)).text),
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
    complete: (typed, ctx) =>
      usable(plugin, ctx).skills.filter(({ name }) => name.startsWith(typed)),
    run: (typed, ctx) => ctx.note(switchSkill(plugin, typed, ctx)),
  });
};

async function list(plugin: SkillsPlugin, ctx: Ctx): Promise<Result> {
  const { skills, broken } = usable(plugin, ctx);
  const active = new Map(
    (await activeSkills(plugin, ctx)).map(({ skill, reason }) => [skill.name, reason]),
  );
  const data = skills.map(({ name, description, triggers, from, folder }) => ({
    name,
    description,
    triggers,
    from,
    folder,
    active: active.has(name),
  }));
  const lines = skills.map(({ name, description, from, folder }) => {
    const reason = active.get(name);
    return `${reason ? "*" : " "} ${name}: ${description} (${from}, ${folder}${reason ? `; in use: ${reason}` : ""})`;
  });
  const wrong = broken.map(
    ({ name, file, problem }) => `! ${name}: left out, since ${problem} (${file})`,
  );
  return { text: [...lines, ...wrong].join("\n") || "There are no skills.", data };
}

/** /skill: `NAME` puts a skill in force, `NAME off` ends that. */
function switchSkill(plugin: SkillsPlugin, typed: string, ctx: Ctx): string {
  const [name = "", word] = typed.trim().split(/\s+/);
  if (!name)
    return "Name a skill: /skill NAME uses one, /skill NAME off stops it. /skills lists them.";
  const others = plugin.state.on.filter((active) => active !== name);
  if (word === "off") {
    const was = others.length < plugin.state.on.length;
    plugin.state.on = others;
    return was ? `Skill '${name}' is no longer in use.` : `Skill '${name}' was not in use.`;
  }
  if (word) throw new Error(`Cannot run '/skill ${word}': use /skill NAME, or /skill NAME off.`);
  skillNamed(plugin, name, ctx);
  plugin.state.on = [...others, name];
  return `Skill '${name}' is in use for this conversation. /skill ${name} off stops it.`;
}

/** The home's skills may always be read; the gate is asked about files that may contain secrets. */
function needOf({ from, folder }: Skill, file: string, { permissions }: Ctx): Need {
  const name = path.relative(realOf(folder)!, file);
  return from === "project" || HIDDEN.test(name) || permissions.secret(name)
    ? file
    : { name: file, verdict: "allow", why: "it belongs to a skill" };
}

async function read(
  { name, folder }: Skill,
  file: string | undefined,
  { files }: Ctx,
): Promise<Result> {
  const top = realOf(folder)!;
  const absolutePath = realOf(path.resolve(folder, file ?? FILE));
  const has = filesAt(top).map((file) => path.relative(top, file));
  const refuse = (reason: string) =>
    new Error(`Cannot read '${file ?? FILE}' of skill '${name}': ${reason}`);
  if (!absolutePath) throw refuse(`no such file. It has: ${has.join(", ")}.`);
  if (!isInside(top, absolutePath))
    throw refuse("it is outside of the skill's folder. Name a file in it.");
  const { text, bytes } = await files.read(absolutePath);
  if (bytes.subarray(0, 8_192).includes(0)) throw refuse("it is not text. Choose a text file.");
  const shown =
    text.length > MAX_READ_CHARS
      ? `${text.slice(0, MAX_READ_CHARS)}\n[${text.length - MAX_READ_CHARS} more characters left out]`
      : text;
  const others = has.filter((file) => file !== FILE);
  const othersNote =
    file === undefined && others.length
      ? `\n\n[Other files of it, for read_skill: ${others.join(", ")}]`
      : "";
  return { text: shown.trimEnd() + othersNote, data: { name, file: file ?? FILE, folder } };
}
