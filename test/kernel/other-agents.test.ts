// What a project has for other agents: commands, skills and agents in .claude/ and .agents/ count
// once the person has trusted them; AGENTS.md of the home counts everywhere.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { sit } from "../support/sit.ts";

const skill = (name: string) =>
  `---\nname: ${name}\ndescription: How to ${name}.\n---\nDo ${name}.`;
const agent = "---\nname: scout\ndescription: looks at tests\ntools: Read\n---\nYou are a scout.";
const FILES = {
  ".claude/commands/fix.md":
    "---\nargument-hint: NUMBER\n---\n# Fix an issue\nFix issue $ARGUMENTS now.",
  ".agents/commands/ship.md": "---\ndescription: ship it\n---\nShip $1.",
  ".claude/skills/bake/SKILL.md": skill("bake"),
  ".agents/skills/brew/SKILL.md": skill("brew"),
  ".claude/agents/scout.md": agent,
};

test("nothing of .claude/ and .agents/ counts before the yes, and all of it after", async (t) => {
  const { it, tells } = await sit(t, { files: FILES, answer: "yes" });
  await tells("/fix 7", "Cannot run '/fix'");
  await tells("/skills", /no skills/i);
  match(
    it.ctx.plugins.brought!.files.join(),
    /^\.agents\/commands\/ship\.md,.*\.claude\/skills\/bake/,
  );
  await tells("/trust", "");
  await it.ask("/fix 7");
  equal(it.requests[0]!.messages[0]!.text, "# Fix an issue\nFix issue 7 now.");
  await it.ask("/ship it");
  equal(it.requests[1]!.messages.at(-1)!.text, "Ship it.");
  await tells("/help fix", /\/fix NUMBER\n {2}Fix an issue/);
  await tells("/skills", /bake[\s\S]*brew/);
  it.write(".claude/commands/fix.md", "Do something else.");
  await it.reload();
  await it.ask("/fix 8"); // as it was when the person trusted it
  match(it.requests[2]!.messages.at(-1)!.text, /Fix issue 8 now/);
});

test("an agent is a helper with words of its own", async (t) => {
  const script = [
    { call: ["task", { question: "which?", agent: "scout" }] },
    "None.",
    { call: ["task", { question: "which?", agent: "nobody" }] },
    "Done.",
  ];
  const { it, tells } = await sit(t, { files: FILES, script: script as never, answer: "yes" });
  await tells("/trust", "");
  await it.ask("go");
  match(it.requests[0]!.system + it.requests[0]!.messages[0]!.text, /- scout: looks at tests/);
  match(it.requests[1]!.system, /^You are a scout\.\n\nYou look into something/);
  match(it.requests[3]!.messages.at(-1)!.text, /Cannot send 'nobody': .*scout/);
});

test("AGENTS.md of the home stands before the project's, cut to its limit", async (t) => {
  const home = { "AGENTS.md": `Use tabs.\n${"x".repeat(20_000)}\nThe end.` };
  const { it } = await sit(t, { home, files: { "AGENTS.md": "Use spaces." } });
  await it.ask("hi");
  const { system } = it.requests[0]!;
  match(
    system,
    /AGENTS\.md of the person's home[\s\S]*Use tabs\.[\s\S]*left out[\s\S]*The end\.[\s\S]*FILE AGENTS\.md ---\nUse spaces\./,
  );
  doesNotMatch(system, /x{10000}/);
  const bare = await sit(t, {});
  await bare.it.ask("hi");
  doesNotMatch(bare.it.requests[0]!.system, /AGENTS\.md|Agents, for/);
});
