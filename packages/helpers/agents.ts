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
  const trusted = brought?.given ? brought.files : [];
  const homeFolder = path.join(about.home, "agents");
  const inHome = entriesOf(homeFolder).map((fileName) => path.join(homeFolder, fileName));
  const inProject = IN_PROJECT.flatMap((agentsFolder) =>
    trusted.filter((relativeFile) => path.posix.dirname(relativeFile) === agentsFolder),
  ).map((relativeFile) => path.join(root, relativeFile));
  const agentFiles = [...inHome, ...inProject].filter((filePath) => filePath.endsWith(".md"));
  const agents = agentFiles.flatMap((agentFile) => agentOf(agentFile, textOf(agentFile)) ?? []);
  return [...new Map(agents.map((agent) => [agent.name, agent])).values()];
}

/** A Markdown file with a description in its front matter; the text is who the helper is. */
function agentOf(agentFile: string, fileText: string): Agent | undefined {
  const [, frontMatter = "", systemText = ""] =
    /^---\r?\n(.*?)\r?\n---\r?\n?(.*)$/s.exec(fileText) ?? [];
  const readField = (fieldName: string) =>
    new RegExp(`^${fieldName}:[^\\S\\n]*(.+)$`, "m").exec(frontMatter)?.[1]?.trim();
  const description = readField("description");
  if (!description || !systemText.trim()) return undefined;
  const name = readField("name") ?? path.basename(agentFile, ".md");
  return { name, description, system: systemText.trim().slice(0, MAX_SYSTEM_CHARS) };
}

export function agentNamed(agentName: string, ctx: Ctx): Agent {
  const agents = findAgents(ctx);
  const namedAgent = agents.find((candidate) => candidate.name === agentName);
  if (namedAgent) return namedAgent;
  const agentNames = agents.map((candidate) => candidate.name);
  const nextStep = agentNames.length
    ? `There are: ${agentNames.join(", ")}.`
    : "Leave it out: there are none.";
  throw usage(`Cannot send '${agentName}': ${unknown("agent", agentName, agentNames, nextStep)}`);
}

/** What the model is told of them. */
export function agentList(ctx: Ctx): string | undefined {
  const listedAgents = findAgents(ctx)
    .slice(0, MAX_AGENTS)
    .map(
      ({ name, description }) =>
        `- ${name}: ${clip(oneLine(description), MAX_DESCRIPTION_COLUMNS)}`,
    );
  return listedAgents.length
    ? ["Agents, for the tool task:", ...listedAgents].join("\n")
    : undefined;
}
