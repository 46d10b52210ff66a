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
const CATALOGUE_GUIDE =
  "Instructions for certain kinds of work, by name. " +
  "Before you do such work, read the skill with read_skill and follow it.";

/** All skills except those that the settings leave out. */
export function usable({ zz, cache }: SkillsPlugin, ctx: Ctx): ReturnType<typeof findSkills> {
  const { skills, broken } = findSkills(ctx, cache);
  return { skills: skills.filter(({ name }) => !zz.config.off.includes(name)), broken };
}

export function skillNamed(plugin: SkillsPlugin, skillName: string, ctx: Ctx): Skill {
  const { skills, broken } = usable(plugin, ctx);
  const foundSkill = skills.find((candidate) => candidate.name === skillName);
  if (foundSkill) return foundSkill;
  const problem =
    broken.find((candidate) => candidate.name === skillName)?.problem ??
    "there is none of that name";
  const skillNames = skills.map((candidate) => candidate.name).join(", ");
  throw new Error(
    `Cannot use skill '${skillName}': ${problem}. ` +
      `${skillNames ? `There are: ${skillNames}.` : "There are no skills."}`,
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
  let remainingChars = plugin.zz.config.list * CHARS_PER_TOKEN - CATALOGUE_GUIDE.length;
  const skillLines: string[] = [];
  for (const { name, description } of skills) {
    const skillLine = `- ${name}: ${description}`;
    remainingChars -= skillLine.length + 1;
    if (remainingChars < 0) break;
    skillLines.push(skillLine);
  }
  const leftOut = skills.length - skillLines.length;
  const leftOutNote = leftOut
    ? [`[${leftOut} more left out for want of room; list_skills lists all]`]
    : [];
  return [CATALOGUE_GUIDE, ...skillLines, ...leftOutNote].join("\n");
}

/** The skills that are in force, then those that the person's last message calls for. */
export async function activeSkills(plugin: SkillsPlugin, ctx: Ctx): Promise<Active[]> {
  const { skills } = usable(plugin, ctx);
  if (!skills.length) return [];
  const switchedOn = skills.filter(({ name }) => plugin.state.on.includes(name));
  const otherSkills = skills.filter((candidate) => !switchedOn.includes(candidate));
  const userText =
    ctx.chat.messages.findLast((message) => message.role === "user" && !message.aside)?.text ?? "";
  const matched = (await calledSkills(otherSkills, userText)).slice(0, MAX_CALLED);
  return [
    ...switchedOn.map((skill) => ({ skill, reason: "the person asked for it" })),
    ...matched.map((skill) => ({ skill, reason: "the person's message calls for it" })),
  ];
}

export async function activeTexts(plugin: SkillsPlugin, ctx: Ctx): Promise<string | undefined> {
  let remainingChars = plugin.zz.config.texts * CHARS_PER_TOKEN;
  const shownTexts: string[] = [];
  const omitted: string[] = [];
  for (const { skill, reason } of await activeSkills(plugin, ctx)) {
    const titleLine = `# ${skill.name} (${reason}; its files are in ${skill.folder})`;
    const skillText = `${titleLine}\n\n${skill.body}`;
    if (shownTexts.length && skillText.length > remainingChars) omitted.push(skill.name);
    else shownTexts.push(skillText);
    remainingChars -= skillText.length;
  }
  if (omitted.length)
    shownTexts.push(`[No room for ${omitted.join(", ")}: read them with read_skill.]`);
  return shownTexts.join("\n\n") || undefined;
}
