// The skills in the prompt: the descriptions of all, and the texts of those that are in force or that a message calls
// for.
import type { Ctx, Zz } from "zz";
import { CHARS_PER_TOKEN } from "zz/text";
import { findSkills, type Known, type Skill } from "./find.ts";
import { calledSkills } from "./match.ts";

export interface Skills {
  zz: Zz<{ list: number; texts: number; off: string[] }>;
  state: { on: string[] }; // names that the person put in force
  known: Known;
}
type Active = { skill: Skill; why: string };

const MAX_CALLED = 3; // skills that one message calls for
const GUIDE =
  "Instructions for certain kinds of work, by name. Before you do such work, read the skill with read_skill and follow it.";

/** All skills except those that the settings leave out. */
export function usable({ zz, known }: Skills, ctx: Ctx): ReturnType<typeof findSkills> {
  const { skills, broken } = findSkills(ctx, known);
  return { skills: skills.filter(({ name }) => !zz.config.off.includes(name)), broken };
}

export function skillNamed(all: Skills, name: string, ctx: Ctx): Skill {
  const { skills, broken } = usable(all, ctx);
  const skill = skills.find((one) => one.name === name);
  if (skill) return skill;
  const why = broken.find((one) => one.name === name)?.why ?? "there is none of that name";
  const names = skills.map((one) => one.name).join(", ");
  throw new Error(`Cannot use skill '${name}': ${why}. ${names ? `There are: ${names}.` : "There are no skills."}`);
}

/** The list of skills for the prompt, made once per conversation. It ends where there is no more room. */
export function catalogue(all: Skills, ctx: Ctx): string | undefined {
  const { skills, broken } = usable(all, ctx);
  for (const { name, file, why } of broken) ctx.note(`Skill '${name}' was left out: ${why} (${file}).`);
  if (!skills.length) return undefined;
  let room = all.zz.config.list * CHARS_PER_TOKEN - GUIDE.length;
  const lines: string[] = [];
  for (const { name, description } of skills) {
    const line = `- ${name}: ${description}`;
    room -= line.length + 1;
    if (room < 0) break;
    lines.push(line);
  }
  const left = skills.length - lines.length;
  const more = left ? [`[${left} more left out for want of room; list_skills lists all]`] : [];
  return [GUIDE, ...lines, ...more].join("\n");
}

/** The skills that are in force, then those that the person's last message calls for. */
export async function activeSkills(all: Skills, ctx: Ctx): Promise<Active[]> {
  const { skills } = usable(all, ctx);
  if (!skills.length) return [];
  const on = skills.filter(({ name }) => all.state.on.includes(name));
  const rest = skills.filter((skill) => !on.includes(skill));
  const said = ctx.chat.messages.findLast((message) => message.role === "user" && !message.aside)?.text ?? "";
  const matched = (await calledSkills(rest, said)).slice(0, MAX_CALLED);
  return [
    ...on.map((skill) => ({ skill, why: "the person asked for it" })),
    ...matched.map((skill) => ({ skill, why: "the person's message calls for it" })),
  ];
}

export async function activeTexts(all: Skills, ctx: Ctx): Promise<string | undefined> {
  let room = all.zz.config.texts * CHARS_PER_TOKEN;
  const shown: string[] = [];
  const left: string[] = [];
  for (const { skill, why } of await activeSkills(all, ctx)) {
    const text = `# ${skill.name} (${why}; its files are in ${skill.folder})\n\n${skill.body}`;
    if (shown.length && text.length > room) left.push(skill.name);
    else shown.push(text);
    room -= text.length;
  }
  if (left.length) shown.push(`[No room for ${left.join(", ")}: read them with read_skill.]`);
  return shown.join("\n\n") || undefined;
}
