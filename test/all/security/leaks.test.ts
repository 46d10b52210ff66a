// Nothing that a person keeps secret leaves a command that nobody was asked about: random lines,
// run by the real tool on a machine with secrets in every place where tools keep them. What the
// gate asks about beforehand is answered no; what it shows afterwards, yes.
import { deepEqual, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { direntsOf } from "../../../plugins/shell/resolve-paths.ts";
import { harness } from "../../../sdk/testing.ts";
import { leakIn, MARKED, openMachine } from "../../support/leaks.ts";
import { withEnvironment } from "../../support/run.ts";
import { runs, SEED } from "../../support/runs.ts";
import { needsView } from "../../support/view.ts";

const test = needsView("python3", "perl");
const LINES = runs(100, 250);
const BATCH = 20;

/** A line on its own, among others in a script, and nothing of it left for the next. */
const scriptOf = (line: string): string =>
  `timeout 5 bash -c '${line.replaceAll("'", "'\\''")}' < /dev/null\nrm -rf got hard soft l c copy n b d t.tar part* out* s.sh src/new.txt /tmp/out\n`;

/** The text of every file below, links not followed; what is not a file is its name. */
function filesIn(folder: string, found = new Map<string, string>()): Map<string, string> {
  for (const entry of direntsOf(folder)) {
    const at = join(folder, entry.name);
    if (entry.isDirectory()) filesIn(at, found);
    else found.set(at, entry.isFile() ? fs.readFileSync(at, "latin1") : "");
  }
  return found;
}

test("of random commands that run unasked, none gives away a secret", {
  timeout: 120 * 60_000,
}, async (t) => {
  const machine = openMachine();
  t.after(machine.close);
  using _ = withEnvironment(machine.env);
  const code = join(machine.home, "code");
  fs.mkdirSync(code);
  let shown = "";
  const answer = async (question: string) => {
    shown += question;
    return /What it changed there:/.test(question) ? "y" : "n";
  };
  const open = () => {
    using _ = withEnvironment({ TMPDIR: code }); // people's projects lie in their homes
    return harness({ own: true, answer, home: { history: "x" } }, t);
  };
  const zz = await open();
  await machine.furnish(zz.root);
  const next = machine.lines(zz.root, SEED);
  const lines = Array.from({ length: LINES }, next);
  fs.writeFileSync(join(zz.root, "run.sh"), "");
  const before = filesIn(code);
  const changed = () => [...filesIn(code)].filter(([at, content]) => before.get(at) !== content);
  const restore = () => {
    for (const [at] of changed())
      if (before.has(at)) fs.writeFileSync(at, before.get(at)!, "latin1");
      else fs.rmSync(at, { force: true });
  };
  const [leaks, seen, refusals] = [[] as string[], new Set<string>(), [] as string[]];
  /** Whether it ran. */
  const run = async (command: string, tried: string[]) => {
    shown = "";
    const { text, data, refused } = await zz.call("run_command", { command, timeout_ms: 120_000 });
    const said = tried.reduce(
      (all, line) => all.replaceAll(line, ""),
      `${text}\n${JSON.stringify(data ?? "")}\n${shown}`,
    );
    const temporary = fs
      .globSync(`/tmp/zz-view.${process.pid}.*`)
      .flatMap((folder) => [...filesIn(folder)]);
    for (const [at, content] of [
      ["its answer", said],
      ["what listens", machine.reached.join()],
      ...changed(),
      ...temporary,
    ]) {
      const leak = leakIn(content!);
      if (leak) leaks.push(`${at}: ${leak}\n  by ${tried.join("\n  or ")}`);
    }
    if (machine.reached.length) leaks.push(`a program was reached\n  by ${tried.join("\n  or ")}`);
    machine.reached.length = 0;
    restore();
    return !refused;
  };
  for (const line of lines) if (!(await run(line, [line]))) refusals.push(line);
  // What is asked about beforehand runs unasked in a script that no list knows.
  for (let at = 0; at < refusals.length; at += BATCH) {
    const some = refusals.slice(at, at + BATCH);
    fs.writeFileSync(join(zz.root, "run.sh"), some.map(scriptOf).join(""));
    ok(await run("sh run.sh", some), "a script was asked about");
  }
  // The same lines without zz: lines that find nothing would prove nothing.
  for (const command of lines) {
    const plain = spawnSync("bash", ["-c", command], {
      cwd: zz.root,
      timeout: 5_000,
      encoding: "latin1",
      input: "",
    });
    for (const [, number] of `${plain.stdout}${plain.stderr}`.matchAll(MARKED)) seen.add(number!);
    restore();
  }
  t.diagnostic(
    `${LINES} lines, ${refusals.length} of them asked about alone; without zz they show ${seen.size} of ${machine.secrets} secrets`,
  );
  deepEqual(leaks, []);
  ok(
    seen.size > machine.secrets / 2,
    `the lines themselves find only ${seen.size} of ${machine.secrets} secrets`,
  );
  ok(
    refusals.length < LINES * 0.8 && refusals.length > LINES * 0.2,
    `${refusals.length} of ${LINES} are asked about`,
  );
});
