// The skills in the prompt: the descriptions of all, and the texts of those that are in force or
// that a message calls for.
import type { Ctx, Zz } from "zz";
import { CHARS_PER_TOKEN } from "zz/text";
import { findSkills, type Skill, type SkillCache } from "./find-skills.ts";
import { calledSkills } from "./match.ts";

export interface SkillsPlugin {
  zz: Zz<{ list: number; texts: number; off: string[] }>;
  state: { on: string[] }; // names that the person put in force
  cache: SkillCache;
}
type Active = { skill: Skill; reason: string };

const MAX_CALLED = 3; // skills that one message calls for
const GUIDE =
  "Instructions for certain kinds of work, by name. Before you do such work, read the skill with read_skill and follow it.";

/** All skills except those that the settings leave out. */
export function usable({ zz, cache }: SkillsPlugin, ctx: Ctx): ReturnType<typeof findSkills> {
  const { skills, broken } = findSkills(ctx, cache);
  return { skills: skills.filter(({ name }) => !zz.config.off.includes(name)), broken };
}

export function skillNamed(plugin: SkillsPlugin, name: string, ctx: Ctx): Skill {
  const { skills, broken } = usable(plugin, ctx);
  const skill = skills.find((candidate) => candidate.name === name);
  if (skill) return skill;
  const problem =
    broken.find((candidate) => candidate.name === name)?.problem ?? "there is none of that name";
  const names = skills.map((candidate) => candidate.name).join(", ");
  throw new Error(
    `Cannot use skill '${name}': ${problem}. ${names ? `There are: ${names}.` : "There are no skills."}`,
  );
}

/**
 * The list of skills for the prompt, made once per conversation. It ends where there is no more
 * room.
 */
export function catalogue(plugin: SkillsPlugin, ctx: Ctx): string | undefined {
  const { skills, broken } = usable(plugin, ctx);
  for (const { name, file, problem } of broken)
    ctx.note(`Skill '${name}' was left out: ${problem} (${file}).`);
  if (!skills.length) return undefined;
  let room = plugin.zz.config.list * CHARS_PER_TOKEN - GUIDE.length;
  const lines: string[] = [];
  for (const { name, description } of skills) {
    const line = `- ${name}: ${description}`;
    room -= line.length + 1;
    if (room < 0) break;
    lines.push(line);
  }
  const leftOut = skills.length - lines.length;
  const leftOutNote = leftOut
    ? [`[${leftOut} more left out for want of room; list_skills lists all]`]
    : [];
  return [GUIDE, ...lines, ...leftOutNote].join("\n");
}

/** The skills that are in force, then those that the person's last message calls for. */
export async function activeSkills(plugin: SkillsPlugin, ctx: Ctx): Promise<Active[]> {
  const { skills } = usable(plugin, ctx);
  if (!skills.length) return [];
  const on = skills.filter(({ name }) => plugin.state.on.includes(name));
  const others = skills.filter((skill) => !on.includes(skill));
  const userText =
    ctx.chat.messages.findLast((message) => message.role === "user" && !message.aside)?.text ?? "";
  const matched = (await calledSkills(others, userText)).slice(0, MAX_CALLED);
  return [
    ...on.map((skill) => ({ skill, reason: "the person asked for it" })),
    ...matched.map((skill) => ({ skill, reason: "the person's message calls for it" })),
  ];
}

export async function activeTexts(plugin: SkillsPlugin, ctx: Ctx): Promise<string | undefined> {
  let room = plugin.zz.config.texts * CHARS_PER_TOKEN;
  const shown: string[] = [];
  const omitted: string[] = [];
  for (const { skill, reason } of await activeSkills(plugin, ctx)) {
    const text = `# ${skill.name} (${reason}; its files are in ${skill.folder})\n\n${skill.body}`;
    if (shown.length && text.length > room) omitted.push(skill.name);
    else shown.push(text);
    room -= text.length;
  }
  if (omitted.length) shown.push(`[No room for ${omitted.join(", ")}: read them with read_skill.]`);
  return shown.join("\n\n") || undefined;
}
