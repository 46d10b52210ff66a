// Skills: folders with a SKILL.md. Their descriptions are always in the prompt; a text enters when a message calls for it.
import path from "node:path";
import type { Ctx, Need, Result, Zz } from "zz";
import { FILE, findSkills, isInside, type Known, realOf, type Skill } from "./find.ts";
import { filesAt, install } from "./install.ts";
import { called } from "./match.ts";

export const defaults = { list: 1_500, texts: 6_000, off: [] as string[] };
const tokens = { type: "integer", minimum: 0 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      list: { ...tokens, description: "tokens of the names and descriptions in the prompt" },
      texts: { ...tokens, description: "tokens of the skills that a message calls for" },
      off: { type: "array", items: { type: "string" }, description: "names of skills that are left out" },
    },
  },
};
const CHARS_A_TOKEN = 4;
const MOST = 3; // that one message calls in
const LONGEST = 50_000; // characters that read_skill gives
const GUIDE =
  "Instructions for certain kinds of work, by name. Before you do such work, read the skill with read_skill and follow it.";
const SECRET = /(^|\/)\.|\.(pem|key|p12|pfx)$/i;

type State = { on: string[] };
type Active = { skill: Skill; why: string };

export default (zz: Zz<typeof defaults>) => {
  const state = zz.state<State>({ on: [] });
  const known: Known = new Map();
  const group = "conversation";
  zz.layer({ name: "skills", slot: "memory", budget: zz.config.list + 100, text: catalogue });
  zz.layer({ name: "active-skills", slot: "turn", budget: zz.config.texts + 200, text: texts });
  zz.tool({
    name: "list_skills",
    description: "List the skills: names, what each is for, and which are in force.",
    aliases: ["self_list_skills"],
    run: list,
  });
  zz.tool({
    name: "read_skill",
    description: "Read a skill's instructions, or another file of its folder.",
    aliases: ["use_skill", "load_skill", "skill"],
    params: { name: "string", file: "string? relative to the skill's folder" },
    needs: ({ name, file }, ctx) => {
      const skill = skillNamed(name, ctx);
      const at = realOf(path.resolve(skill.folder, file ?? FILE));
      return at && isInside(realOf(skill.folder)!, at) ? { read: [needOf(skill, at)] } : {};
    },
    run: ({ name, file }, ctx) => read(skillNamed(name, ctx), file, ctx),
  });
  install(zz, known);
  zz.command({
    name: "skills",
    description: "list the skills, where they come from and which are in force",
    group,
    run: async (_, ctx) => ctx.note((await list({}, ctx)).text),
  });
  zz.command({
    name: "skill",
    usage: "NAME [off]",
    description: "put a skill in force for this conversation, or end that",
    group,
    complete: (typed, ctx) => all(ctx).skills.filter(({ name }) => name.startsWith(typed)),
    run: (rest, ctx) => ctx.note(force(rest, ctx)),
  });

  function all(ctx: Ctx): ReturnType<typeof findSkills> {
    const { skills, broken } = findSkills(ctx, known);
    return { skills: skills.filter(({ name }) => !zz.config.off.includes(name)), broken };
  }

  function skillNamed(name: string, ctx: Ctx): Skill {
    const { skills, broken } = all(ctx);
    const skill = skills.find((one) => one.name === name);
    if (skill) return skill;
    const why = broken.find((one) => one.name === name)?.why ?? "there is none of that name";
    const names = skills.map((one) => one.name).join(", ");
    throw new Error(`Cannot use skill '${name}': ${why}. ${names ? `There are: ${names}.` : "There are no skills."}`);
  }

  /** Once a conversation. What does not fit is left out skill by skill. */
  function catalogue(ctx: Ctx): string | undefined {
    const { skills, broken } = all(ctx);
    for (const { name, file, why } of broken) ctx.note(`Skill '${name}' was left out: ${why} (${file}).`);
    if (!skills.length) return undefined;
    let room = zz.config.list * CHARS_A_TOKEN - GUIDE.length;
    const lines: string[] = [];
    for (const { name, description } of skills) {
      const line = `- ${name}: ${description}`;
      room -= line.length + 1;
      if (room < 0) break;
      lines.push(line);
    }
    const left = skills.length - lines.length;
    return [GUIDE, ...lines, ...(left ? [`[${left} more left out for want of room; list_skills lists all]`] : [])].join(
      "\n",
    );
  }

  /** What was put in force, then what the person's last message calls for. */
  async function active(ctx: Ctx): Promise<Active[]> {
    const { skills } = all(ctx);
    if (!skills.length) return [];
    const on = skills.filter(({ name }) => state.on.includes(name));
    const rest = skills.filter((skill) => !on.includes(skill));
    const said = ctx.chat.messages.findLast((message) => message.role === "user" && !message.aside)?.text ?? "";
    const matched = (await called(rest, said)).slice(0, MOST);
    return [
      ...on.map((skill) => ({ skill, why: "the person put it in force" })),
      ...matched.map((skill) => ({ skill, why: "the person's message calls for it" })),
    ];
  }

  async function texts(ctx: Ctx): Promise<string | undefined> {
    let room = zz.config.texts * CHARS_A_TOKEN;
    const shown: string[] = [];
    const left: string[] = [];
    for (const { skill, why } of await active(ctx)) {
      const text = `# ${skill.name} (${why}; its files are in ${skill.folder})\n\n${skill.body}`;
      if (shown.length && text.length > room) left.push(skill.name);
      else shown.push(text);
      room -= text.length;
    }
    if (left.length) shown.push(`[No room for ${left.join(", ")}: read them with read_skill.]`);
    return shown.join("\n\n") || undefined;
  }

  async function list(_: object, ctx: Ctx): Promise<Result> {
    const { skills, broken } = all(ctx);
    const now = new Map((await active(ctx)).map(({ skill, why }) => [skill.name, why]));
    const data = skills.map(({ name, description, triggers, from, folder }) => ({
      ...{ name, description, triggers, from, folder },
      active: now.has(name),
    }));
    const lines = skills.map(
      ({ name, description, from, folder }) =>
        `${now.has(name) ? "*" : " "} ${name}: ${description} (${from}, ${folder}${now.has(name) ? `; in force: ${now.get(name)}` : ""})`,
    );
    const wrong = broken.map(({ name, file, why }) => `! ${name}: left out, since ${why} (${file})`);
    return { text: [...lines, ...wrong].join("\n") || "There are no skills.", data };
  }

  function force(rest: string, ctx: Ctx): string {
    const [name = "", word] = rest.trim().split(/\s+/);
    if (!name)
      return "Cannot tell which skill: /skill NAME puts one in force, /skill NAME off ends that. /skills lists them.";
    const others = state.on.filter((one) => one !== name);
    if (word === "off") {
      const was = others.length < state.on.length;
      state.on = others;
      return was ? `Skill '${name}' is no longer in force.` : `Skill '${name}' was not in force.`;
    }
    if (word) throw new Error(`Cannot obey '${word}': /skill NAME, or /skill NAME off.`);
    skillNamed(name, ctx);
    state.on = [...others, name];
    return `Skill '${name}' is in force for this conversation. /skill ${name} off ends that.`;
  }
};

/** The person put it there to be read; but for what may hold secrets the gate asks. */
const needOf = ({ from, folder }: Skill, file: string): Need =>
  from === "project" || SECRET.test(path.relative(realOf(folder)!, file))
    ? file
    : { name: file, verdict: "allow", why: "it belongs to a skill" };

async function read({ name, folder }: Skill, file: string | undefined, { files }: Ctx): Promise<Result> {
  const top = realOf(folder)!;
  const at = realOf(path.resolve(folder, file ?? FILE));
  const has = filesAt(top).map((one) => path.relative(top, one));
  const refuse = (why: string) => new Error(`Cannot read '${file ?? FILE}' of skill '${name}': ${why}`);
  if (!at) throw refuse(`no such file. It has: ${has.join(", ")}.`);
  if (!isInside(top, at)) throw refuse("it is outside of the skill's folder. Name a file in it.");
  const { text, bytes } = await files.read(at);
  if (bytes.subarray(0, 8_192).includes(0)) throw refuse("it is not text. Choose a text file.");
  const shown =
    text.length > LONGEST ? `${text.slice(0, LONGEST)}\n[${text.length - LONGEST} more characters left out]` : text;
  const others = has.filter((one) => one !== FILE);
  const more =
    file === undefined && others.length ? `\n\n[Other files of it, for read_skill: ${others.join(", ")}]` : "";
  return { text: shown.trimEnd() + more, data: { name, file: file ?? FILE, folder } };
}
