// Agents: helpers with words of their own, from agents/ of the home and, once trusted, from
// .claude/agents and .agents/agents of the project.
import path from "node:path";
import type { Ctx } from "zz";
import { clip, entriesOf, oneLine, textOf, unknown, usage } from "zz/text";

interface Agent {
  name: string;
  description: string;
  system: string;
}

const IN_PROJECT = [".claude/agents", ".agents/agents"];
const MAX_AGENTS = 20; // that the model is told of
const MAX_DESCRIPTION_COLUMNS = 200;
const MAX_SYSTEM_CHARS = 20_000;

/** On a name clash the project's agent wins. */
function findAgents({ root, about, plugins }: Ctx): Agent[] {
  const { brought } = plugins;
  const trusted = (name: string) => brought?.given === true && brought.files.includes(name);
  const inHome = entriesOf(path.join(about.home, "agents")).map((name) =>
    path.join(about.home, "agents", name),
  );
  const inProject = IN_PROJECT.flatMap((folder) =>
    entriesOf(path.join(root, folder)).map((name) => `${folder}/${name}`),
  );
  const files = [
    ...inHome,
    ...inProject.filter(trusted).map((name) => path.join(root, name)),
  ].filter((file) => file.endsWith(".md"));
  const agents = files.flatMap((file) => agentOf(file, textOf(file)) ?? []);
  return [...new Map(agents.map((agent) => [agent.name, agent])).values()];
}

/** A Markdown file with a description in its front matter; the text is who the helper is. */
function agentOf(file: string, text: string): Agent | undefined {
  const [, head = "", body = ""] = /^---\r?\n(.*?)\r?\n---\r?\n?(.*)$/s.exec(text) ?? [];
  const value = (key: string) => new RegExp(`^${key}:[^\\S\\n]*(.+)$`, "m").exec(head)?.[1]?.trim();
  const description = value("description");
  if (!description || !body.trim()) return undefined;
  const name = value("name") ?? path.basename(file, ".md");
  return { name, description, system: body.trim().slice(0, MAX_SYSTEM_CHARS) };
}

export function agentNamed(name: string, ctx: Ctx): Agent {
  const agents = findAgents(ctx);
  const agent = agents.find((candidate) => candidate.name === name);
  if (agent) return agent;
  const names = agents.map((candidate) => candidate.name);
  const hint = names.length ? `There are: ${names.join(", ")}.` : "Leave it out: there are none.";
  throw usage(`Cannot send '${name}': ${unknown("agent", name, names, hint)}`);
}

/** What the model is told of them. */
export function agentList(ctx: Ctx): string | undefined {
  const rows = findAgents(ctx)
    .slice(0, MAX_AGENTS)
    .map(
      ({ name, description }) =>
        `- ${name}: ${clip(oneLine(description), MAX_DESCRIPTION_COLUMNS)}`,
    );
  return rows.length ? ["Agents, for the tool task:", ...rows].join("\n") : undefined;
}
