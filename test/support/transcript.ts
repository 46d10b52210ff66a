// The transcript in the README: drives the real REPL in a pseudo-terminal. `node test/support/transcript.ts` writes it there again.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { call, fakeOpenAI, say } from "./fake/openai.ts";
import { place, ROOT } from "./run.ts";
import { KEY, terminal } from "./terminal.ts";

const BEFORE =
  "export function total(prices: number[]) {\n  return prices.reduce((sum, price) => sum - price, 0);\n}\n";
const EDIT = { path: "src/price.ts", old_string: "sum - price", new_string: "sum + price" };
const SCRIPT = [
  call(["read_file", { path: "src/price.ts" }]),
  say("It is meant to add prices up:\n\n- `total([2, 3])` should be **5**\n- it gives **-5**: line 2 subtracts"),
  call(["edit_file", EDIT]),
  say("Fixed: `total()` adds the prices up."),
];

/** What the screen shows at the end: open, ask, edit with confirmation, undo, leave. */
export async function transcript(): Promise<string> {
  const fake = await fakeOpenAI(SCRIPT);
  const { home, cwd, sessions } = place();
  const where = { home, cwd: join(cwd, "shop"), sessions };
  const file = join(where.cwd, EDIT.path);
  mkdirSync(join(where.cwd, "src"), { recursive: true });
  mkdirSync(join(where.cwd, ".git"));
  writeFileSync(join(where.cwd, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(file, BEFORE);
  const args = ["-m", "openai/n", "--base-url", fake.url, "--key", "x"];
  const term = terminal(where, args, { cols: 110, rows: 60 });
  const ready = () => term.sees(/›\s*$/);
  await term.sees("shop · main ›");
  term.type(`what does src/price.ts do?${KEY.enter}`);
  await term.sees("subtracts");
  await ready();
  term.type(`fix it${KEY.enter}`);
  await term.sees("Allow?");
  await sleep(300);
  term.type("y");
  await term.sees("adds the prices up");
  await ready();
  term.type(`/undo${KEY.enter}`);
  await term.sees("Undone");
  await ready();
  term.type(KEY.ctrlD);
  await term.exited;
  await fake.close();
  if (readFileSync(file, "utf8") !== BEFORE) throw new Error("The file is not as it was.");
  const rows = term.screen().split("\n");
  return ["$ npx zz", ...rows.map((row) => row.trimEnd())].join("\n");
}

if (process.argv[1] === import.meta.filename) {
  const readme = join(ROOT, "README.md");
  const text = await transcript();
  writeFileSync(
    readme,
    readFileSync(readme, "utf8").replace(/\$ npx zz\n[\s\S]*?(?=```)/, () => `${text}\n`),
  );
  console.log(text);
  process.exit();
}
