// open_file, with a program of our own in the place of the person's.
import { deepEqual, equal, match } from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Setup, standingClock } from "../../sdk/testing.ts";
import { harness } from "../support/script.ts";
import { waitFor } from "../support/wait.ts";

const files = {
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
async function setting(t: TestContext, { answer = "yes", ...setup }: Setup = {}, then = "") {
  const run = await harness({ own: true, files, answer, ...setup }, t);
  mkdirSync(join(run.root, "folder"));
  chmodSync(join(run.root, "tool"), 0o755);
  symlinkSync("run.SH", join(run.root, "link.pdf"));
  const bin = join(run.home, "bin");
  const log = join(bin, "log");
  mkdirSync(bin);
  for (const name of ["xdg-open", "open"])
    writeFileSync(join(bin, name), `#!/bin/sh\nprintf '%s\\n' "$#" "$@" >>'${log}'\n${then}\n`, {
      mode: 0o755,
    });
  const { PATH } = process.env;
  t.after(() => (process.env.PATH = PATH));
  process.env.PATH = `${bin}:${PATH}`;
  return {
    run,
    bin,
    questions: run.questions,
    open: (path: string) => run.call("open_file", { path }),
    opened: () => (existsSync(log) ? readFileSync(log, "utf8") : ""),
  };
}

test("open_file asks, and opens a file or a folder by its whole path", async (t) => {
  const { run, open, opened, questions } = await setting(t);
  const asked = [
    ["a b'$(x).png", "open 'a b'\\''$(x).png'"],
    ["folder", "open folder"],
  ] as const;
  for (const [i, [name, words]] of asked.entries()) {
    match((await open(name)).text, /^Opened '.*' with (xdg-)?open\.$/);
    equal(questions[i]!.includes(words), true, questions[i]);
  }
  equal(opened(), asked.map(([name]) => `1\n${join(run.root, name)}\n`).join(""));
});

test("open_file: a no is a no", async (t) => {
  const { open, opened } = await setting(t, { answer: "no" });
  const { text, refused } = await open("a.pdf");
  match(text, /^Refused: the person said no to run access to "(xdg-)?open a\.pdf"/);
  deepEqual([refused, opened()], [true, ""]);
});

test("open_file: of what could run, nobody is even asked", async (t) => {
  const { open, opened, questions } = await setting(t);
  for (const name of [
    ...Object.keys(files).filter((one) => !/pdf|png|html/.test(one)),
    "link.pdf",
  ]) {
    const { text, failed } = await open(name);
    equal(
      text,
      `Cannot open '${name}': it could run as a program. The person can open it, if they trust it.`,
    );
    equal(failed, true);
  }
  deepEqual([questions, opened()], [[], ""]);
});

test("open_file: where nobody is there it is off, whatever is allowed", async (t) => {
  const { open, opened } = await setting(t, { answer: "nobody", allow: { run: true } });
  const nobody =
    /^Cannot open 'a\.pdf': there is no terminal, so nobody can look at it\. Read it, or tell the person /;
  match((await open("a.pdf")).text, nobody);
  equal(opened(), "");
});

test("open_file tells what is wrong: no such file, one outside, no program for it, a failure, nothing to open with", async (t) => {
  const { open } = await setting(t, {}, 'case "$1" in *.html) exit 3 ;; esac; exit 9');
  for (const [path, why] of [
    ["nope.pdf", /^Cannot open 'nope\.pdf': no such file or folder\. Check the path\.$/],
    ["/etc/hostname", /outside the project/],
    ["page.html",
      /^Cannot open 'page\.html': (xdg-)?open says that there is no program for such a file\.$/],
    ["a.pdf", /says that it failed \(exit code 9\)\.$/],
  ] as const) // biome-ignore format: a table
    match((await open(path)).text, why);
  process.env.PATH = "/nowhere"; // until setting() gives it back
  const { text } = await open("a.pdf");
  match(
    text,
    /^Cannot open 'a\.pdf': there is no (xdg-)?open here\. Tell the person where it is: \/.*\/a\.pdf$/,
  );
});

test("open_file: does not wait for the program, which has a process group of its own, so that it stays when zz goes", async (t) => {
  const clock = standingClock();
  const sleeps = 'echo $$ $(cut -d " " -f 5 /proc/$$/stat) >"$0.pid"; exec sleep 600';
  const { bin, open } = await setting(t, { clock }, sleeps);
  const done = open("a.pdf");
  const ids = await waitFor("the program", () => {
    const file = ["xdg-open", "open"].map((name) => join(bin, `${name}.pid`)).find(existsSync);
    return file && /^(\d+) (\d+)\n$/.exec(readFileSync(file, "utf8"));
  });
  const [, pid, group] = ids;
  t.after(() => process.kill(Number(pid), "SIGKILL"));
  await clock.pass(1_500);
  match((await done).text, /^Opened/);
  equal(group, pid);
});
