// Runs every command and tool of zz in one process, with a plugin that writes down what it sees;
// prints for its parent.
import fs from "node:fs";
import path from "node:path";
import { inspect } from "node:util";
import type { Settings } from "../../../kernel/contract.ts";
import type { Harness } from "../../../sdk/testing.ts";
import "../lean.ts";
import { harness } from "../script.ts";

const [base = "", file = ""] = process.argv.slice(2);
type Given = { home: Record<string, string>; settings: Settings };
/** `reading`: for what reads the keys' own files and the environment. */
const { walking, reading } = JSON.parse(fs.readFileSync(file, "utf8")) as Record<
  "walking" | "reading",
  Given
>;
process.env.SPY = base;
const all = { read: true, write: true, run: true, net: true, env: true } as const;
const open = (given: Given) =>
  harness({
    own: true,
    plugins: [path.join(import.meta.dirname, "spy.ts")],
    files: { "a.txt": "one\n", "b.ts": "export const one = 1;\n" },
    ...given,
    allow: all,
    answer: "nobody",
  });
const h = await open(walking);
const failed = (error: unknown) =>
  console.log(String(error), inspect(error, { showHidden: true, depth: 9 }));

for (const model of ["near/m", "openai/m"]) {
  await h.command(`/model ${model}`).catch(failed);
  await h.ask("hello").catch(failed);
}

// they end zz, ask people or registries, or take long
const LEFT_OUT = /^(quit|exit|edit|install|update|uninstall|reindex|eval|crash|js)$/;
const LAST =
  /^(keys drop|env unset|config unset|debug off|new|clear|trust|drop|plugins off)|--reset/;
/** Arguments worth typing besides those that completion offers. */
const MORE: Record<string, string[]> = {
  config:
    "providers providers.openai providers.openai.key providers.openai.url providers.mine schema".split(
      " ",
    ),
  env: ["list", "set PLAIN on"],
  keys: ["", "openai", "drop openai", "drop nobody"],
  debug: ["on"],
  save: ["answer.md", "all.md all"],
  sessions: ["export - out.md", "export out.md", "export out.jsonl", "export --jsonl", "rename x"],
  prompt: ["env"],
  permissions: ["deny read x", "allow net example.com"],
};
const lines: string[] = [];
for (const { name } of h.ctx.about.commands) {
  if (LEFT_OUT.test(name)) continue;
  const offered = await h.ctx.about.complete(name, "").catch(() => []);
  const some = offered.slice(0, 3).map((one) => one.name.trim());
  for (const rest of new Set([
    "",
    "nonsense",
    "openai",
    ...some,
    ...(MORE[name as keyof typeof MORE] ?? []),
  ]))
    lines.push(`${name} ${rest}`.trim());
}
for (const line of lines.sort((a, b) => Number(LAST.test(a)) - Number(LAST.test(b))))
  console.log(line, await h.command(`/${line}`).catch(failed));

const ARGS: Record<string, unknown> = {
  path: "a.txt",
  pattern: "o",
  query: "one",
  name: "one",
  command: "date",
  file: "b.ts",
  start: 1,
  end: 1,
  content: "x",
  text: "x",
  value: "plain",
  from: "a.txt",
  to: "c.txt",
};
for (const { name, schema } of h.ctx.about.tools) {
  const fields = Object.keys((schema as any).properties ?? {});
  const args = Object.fromEntries(
    fields.flatMap((field) => (field in ARGS ? [[field, ARGS[field]]] : [])),
  );
  console.log(name, await h.call(name, args).catch(failed));
}
await h.ask("hello again").catch(failed);
await h.restart().catch(failed);
await h.command("/spy").catch(failed);

await tellAndKeep(h, "walked");
fs.writeFileSync(path.join(base, "commands.json"), JSON.stringify(lines));

for (const name of Object.keys(process.env))
  if (process.env[name]?.startsWith("q~")) delete process.env[name]; // short keys
const r = await open(reading);
console.log(await r.call("run_command", { command: "env; cat ../home/*.json; set" }).catch(failed));
for (const file of ["keys.json", "env.json", "zz.config.json"])
  console.log(await r.call("read_file", { path: path.join(r.home, file) }).catch(failed));
await tellAndKeep(r, "read");
process.exit(0);

async function tellAndKeep(h: Harness, as: string): Promise<void> {
  const { notes, questions, events } = h;
  console.log(inspect({ notes, questions, events }, { depth: 9, maxArrayLength: null }));
  console.log(JSON.stringify([notes, events]));
  fs.cpSync(path.dirname(h.home), path.join(base, as), { recursive: true });
  await h.close();
}
