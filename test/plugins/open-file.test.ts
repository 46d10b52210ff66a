// open_file, with a program of our own in the place of the person's.
import { equal, match, ok } from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Result } from "../../kernel/contract.ts";
import { type Place, place, zz } from "../support/run.ts";
import { kernel } from "../support/script.ts";

const FILES: Record<string, string> = {
  "a.pdf": "%PDF",
  "a b'$(x).png": "PNG",
  "page.html": "<p>",
  "app.desktop": "[Desktop Entry]\nExec=x\n",
  "hidden.txt": "[Desktop Entry]\nExec=x\n",
  "run.SH": "echo",
  "script.txt": "#!/bin/sh\n",
  binary: "\x7fELF",
  "win.dat": "MZ",
  tool: "text",
  "code.py": "print()",
};

/** A project, and a stand-in for xdg-open that writes down what it was given. */
function setting(then = ""): Place & { opened(): string; bin: string } {
  const where = place();
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(where.cwd, name), content);
  mkdirSync(join(where.cwd, "folder"));
  chmodSync(join(where.cwd, "tool"), 0o755);
  symlinkSync("run.SH", join(where.cwd, "link.pdf"));
  const bin = join(where.cwd, "..", "bin");
  const log = join(bin, "log");
  mkdirSync(bin);
  for (const name of ["xdg-open", "open"])
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" >'${log}'\n${then}\n`, { mode: 0o755 });
  return { ...where, bin, opened: () => (existsSync(log) ? readFileSync(log, "utf8") : "") };
}

type Given = { PATH?: string; answer?: string | undefined; allow?: true };
async function open(
  where: Place,
  name: string,
  { PATH, answer = "y", allow }: Given,
): Promise<Result & { asked: string }> {
  const core = await kernel.createZz({
    root: where.cwd,
    home: where.home,
    save: false,
    allow: allow ? { run: allow } : {},
  });
  let [result, asked]: [Result, string] = [{ text: "it was not called" }, ""];
  if (answer !== "nobody")
    core.ask = async (question) => {
      asked += question;
      return answer;
    };
  const see = (fact: any) => (result = fact.result);
  core.observers.push({ owner: "test", value: { event: "called", see, limit: 1_000 } });
  const value = {
    name: "script",
    models: async () => [],
    async *chat({ messages }: { messages: { role: string }[] }) {
      if (messages.at(-1)!.role === "tool") yield { text: "done" };
      else yield { call: { id: "c", name: "open_file", args: { path: name } } };
      yield { finish: "stop" };
    },
  };
  core.providers.set("script", { owner: "test", value });
  const before = process.env.PATH;
  if (PATH) process.env.PATH = PATH;
  await kernel.runTurn(core, kernel.openChat(core, "script/m"), "go").finally(() => (process.env.PATH = before));
  return { ...result, asked };
}

for (const name of ["a.pdf", "a b'$(x).png", "page.html", "folder"])
  test(`open_file: asks, and opens ${name} by its whole path`, { timeout: 30_000 }, async () => {
    const where = setting();
    const { text, asked } = await open(where, name, { PATH: `${where.bin}:${process.env.PATH}` });
    match(text, /^Opened '.*' with (xdg-)?open\.$/);
    ok(asked.includes(name === "a b'$(x).png" ? `open 'a b'\\''$(x).png'` : `open ${name}`), asked);
    equal(where.opened(), `1\n${join(where.cwd, name)}\n`);
  });

test("open_file: a no is a no", async () => {
  const where = setting();
  const { text, refused } = await open(where, "a.pdf", { PATH: `${where.bin}:${process.env.PATH}`, answer: "n" });
  match(text, /^Refused: the person said no to run access to "(xdg-)?open a\.pdf"/);
  equal(refused, true);
  equal(where.opened(), "");
});

for (const name of Object.keys(FILES)
  .filter((one) => !/pdf|png|html/.test(one))
  .concat("link.pdf"))
  test(`open_file: ${name} could run, so nobody is even asked`, async () => {
    const where = setting();
    const { text, asked, failed } = await open(where, name, { PATH: `${where.bin}:${process.env.PATH}` });
    equal(text, `Cannot open '${name}': it could run as a program. The person can open it, if they trust it.`);
    equal(failed, true);
    equal(asked + where.opened(), "");
  });

test("open_file: a file that is not there, and one outside", async () => {
  const where = setting();
  equal((await open(where, "nope.pdf", {})).text, "Cannot open 'nope.pdf': no such file or folder. Check the path.");
  match((await open(where, "/etc/hostname", {})).text, /outside the project/);
});

test("open_file: where nobody is there it is off, whatever is allowed", async () => {
  const where = setting();
  const expected =
    "Cannot open 'a.pdf': there is no terminal, so nobody can look at it. Read it, or tell the person where it is.";
  equal((await open(where, "a.pdf", { answer: "nobody", allow: true })).text, expected);
  const ran = await zz(where, ["-A", "--call", "open_file", '{"path": "a.pdf"}'], {
    way: "node",
    env: { PATH: `${where.bin}:${process.env.PATH}` },
  });
  equal(ran.stderr.trim(), expected);
  equal(where.opened(), "");
});

for (const [what, then, expected] of [
  [
    "no program for such a file",
    "exit 3",
    /^Cannot open 'a\.pdf': (xdg-)?open says that there is no program for such a file\.$/,
  ],
  ["a failure", "exit 9", /says that it failed \(exit code 9\)\.$/],
] as const)
  test(`open_file: tells of ${what}`, async () => {
    const where = setting(then);
    match((await open(where, "a.pdf", { PATH: `${where.bin}:${process.env.PATH}` })).text, expected);
  });

test("open_file: without a program to open with it says where the file is", async () => {
  const where = setting();
  const { text } = await open(where, "a.pdf", { PATH: "/nowhere" });
  match(text, /^Cannot open 'a\.pdf': there is no (xdg-)?open here\. Tell the person where it is: \/.*\/a\.pdf$/);
});

test("open_file: does not wait for the program, which stays when zz goes", { timeout: 30_000 }, async () => {
  const where = setting(`sleep 6; echo late >>'${join(place().cwd, "mark")}'`);
  const mark = /'(.*mark)'/.exec(readFileSync(join(where.bin, "xdg-open"), "utf8"))![1]!;
  const script = `
    import { createZz } from "${join(import.meta.dirname, "../../zz.ts")}";
    import { programs } from "${join(import.meta.dirname, "../../kernel/programs.ts")}";
    const core = await createZz({ root: "${where.cwd}", home: "${where.home}", save: false, allow: { run: true } });
    core.ask = async () => "y";
    const ctx = { root: "${where.cwd}", files: { path: (name) => "${where.cwd}/" + name }, ask: core.ask, programs: programs("${where.cwd}") };
    console.log(await core.tools.get("open_file").value.run({ path: "a.pdf" }, ctx));
    process.exit();`;
  const file = join(where.home, "..", "once.mts");
  writeFileSync(file, script);
  const { execFileSync } = await import("node:child_process");
  const env = { ...process.env, PATH: `${where.bin}:${process.env.PATH}` };
  match(execFileSync(process.execPath, [file], { encoding: "utf8", env }), /^Opened/);
  equal(existsSync(mark), false, "the program is still at it");
  for (let i = 0; i < 90 && !existsSync(mark); i++) await sleep(100);
  equal(readFileSync(mark, "utf8"), "late\n");
});
