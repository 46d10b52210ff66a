// What runs without a question: in the sandbox with nothing to write and no network, and without one a single plain
// command that no shell reads. And what is refused says which command it means.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { programs } from "../../kernel/programs.ts";
import { judgeLine } from "../../plugins/shell/judge/index.ts";
import { plainCommand, plainWords } from "../../plugins/shell/plain.ts";
import { findSandbox, openSandbox } from "../../plugins/shell/sandbox.ts";
import { has, needs } from "../support/needs.ts";
import { fc } from "../support/property.ts";
import { type Place, place, ROOT, zz } from "../support/run.ts";
import { runs, some } from "../support/runs.ts";

const sandboxTest = needs("bwrap");
before(async () => void (has("bwrap") && equal(await findSandbox(programs(ROOT)), "bubblewrap")));

const call = (where: Place, command: string, args: string[] = [], env = {}) =>
  zz(where, [...args, "--call", "run_command", JSON.stringify({ command })], { env });
const told = async (where: Place, args: string[], lines: string[]) => {
  const { stdout } = await zz(where, [...args, "--judge", "-"], {
    input: lines.map((one) => JSON.stringify(one)).join("\n"),
  });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
};

/** A project in which an unasked rg runs a program of the project's: a hole in the judge, made on purpose. */
function holed(): [where: Place, env: Record<string, string>] {
  const where = place();
  fs.writeFileSync(join(where.cwd, "a.ts"), "hello\n");
  const program = join(where.cwd, "evil");
  fs.writeFileSync(
    program,
    `#!/bin/bash\nfor at in '${where.cwd}/pwned' a.ts; do echo x > $at || echo hello, none; done 2>/dev/null\n`,
    { mode: 0o755 },
  );
  fs.writeFileSync(join(where.cwd, "rc"), `--pre=${program}\n`);
  return [where, { RIPGREP_CONFIG_PATH: join(where.cwd, "rc") }];
}

sandboxTest("what slips past the judge unasked can write nothing", async () => {
  const [where, env] = holed();
  const ran = await call(where, "rg hello a.ts", ["--allow-env=RIPGREP_CONFIG_PATH"], env);
  match(ran.stdout, /hello, none\n.*hello, none/, "the hole is there, and holds");
  deepEqual(
    [fs.existsSync(join(where.cwd, "pwned")), fs.readFileSync(join(where.cwd, "a.ts"), "utf8")],
    [false, "hello\n"],
  );
});

sandboxTest("what the person allows writes in the project as ever", async () => {
  const [where, env] = holed();
  await call(where, "rg hello a.ts", ["-A"], env);
  ok(fs.existsSync(join(where.cwd, "pwned")));
});

sandboxTest("an unasked command has no network, whatever is allowed", async () => {
  const [where, env] = holed();
  fs.writeFileSync(join(where.cwd, "evil"), "#!/bin/bash\nreadlink /proc/self/ns/net; cat /proc/net/dev | wc -l\n", {
    mode: 0o755,
  });
  const ran = await call(where, "rg . a.ts", ["--allow-net", "--allow-env=RIPGREP_CONFIG_PATH"], env);
  doesNotMatch(ran.stdout, new RegExp(fs.readlinkSync("/proc/self/ns/net").replace(/[[\]]/g, "\\$&")));
});

sandboxTest("readonly: nothing is writable but its own /tmp", async () => {
  const where = place();
  const box = await openSandbox({
    programs: programs(where.cwd),
    root: where.cwd,
    write: [where.home],
    hide: [],
    net: "none",
    readonly: true,
  });
  const { argv } = box.wrap([
    "bash",
    "-c",
    `for at in '${where.cwd}' '${where.home}' "$HOME" / /run /var/tmp /dev/shm /tmp; do
    : > "$at/zz-probe" && echo "$at"; done 2>/dev/null`,
  ]);
  fs.mkdirSync(where.home, { recursive: true });
  const out = execFileSync(argv[0]!, argv.slice(1), { encoding: "utf8" });
  box.settle?.();
  box.close();
  deepEqual(
    out
      .trim()
      .split("\n")
      .filter((at) => at !== "/dev/shm"),
    ["/tmp"],
  ); // shm is the sandbox's own
  deepEqual(fs.readdirSync(where.cwd), []);
});

describe("where there is no sandbox", () => {
  const off = (): Place => {
    const where = place();
    fs.mkdirSync(where.home, { recursive: true });
    fs.writeFileSync(join(where.home, "zz.config.json"), '{ "shell": { "sandbox": "off" } }');
    for (const name of ["a.ts", "c d"]) fs.writeFileSync(join(where.cwd, name), "hello\n");
    fs.mkdirSync(join(where.cwd, "src"));
    return where;
  };
  const PLAIN = [
    "ls",
    "ls -la src",
    "/bin/ls",
    "cat a.ts",
    "cat 'c d'",
    'cat "c d"',
    "  grep -n hello a.ts ",
    "[ -f a.ts ]",
  ];
  PLAIN.push("wc -l a.ts", "sort -rn a.ts", "find . -name x", "sed -n 1,5p a.ts", "date +%s");
  if (has("git")) PLAIN.push("git --version");
  const NOT = [
    "ls | sort",
    "ls; pwd",
    "ls && pwd",
    "ls &",
    "ls\npwd",
    "x=1",
    "CI=1 ls",
    "ls *.ts",
    "ls a.?s",
    "ls {a,b}.ts",
  ];
  NOT.push(
    "ls ~",
    "echo $HOME",
    'echo "$HOME"',
    "ls 2>/dev/null",
    "ls >/dev/null",
    "cat < a.ts",
    "bash -c ls",
    "timeout 5 ls",
  );
  NOT.push(
    "eval ls",
    "cd src",
    "type ls",
    "command -v ls",
    ":",
    "(ls)",
    "{ ls; }",
    "! ls",
    "if true; then ls; fi",
    "\\ls",
    "l\\s",
  );
  NOT.push(
    "ls # x",
    "env CI=1 ls",
    "nice ls",
    "time ls",
    "echo a | xargs",
    "find . -exec echo {} \\;",
    "for i in a; do ls; done",
  );
  NOT.push("egrep x a.ts", "ls 'a\nb'", "", "  ", "# x", "echo !x", "ls ''\\''");

  test("one plain command goes unasked, and nothing else", async () => {
    const answers = await told(
      off(),
      [],
      [...PLAIN, ...NOT].map((one) => one),
    );
    for (const { command, verdict, reason, sandbox } of answers) {
      equal(`${command}: ${verdict}`, `${command}: ${PLAIN.includes(command) ? "allow" : "ask"}`, reason);
      equal(sandbox, false);
    }
  });
  sandboxTest("with a sandbox the same lines go unasked as before, and it says so", async () => {
    const where = place();
    fs.mkdirSync(join(where.cwd, "src"));
    for (const { command, verdict, sandbox } of await told(
      where,
      [],
      [...PLAIN, "ls | sort", "ls; pwd", "x=1", "ls 2>/dev/null"],
    ))
      deepEqual([command, verdict, sandbox], [command, "allow", true]);
  });
  test("it is run without a shell, by its absolute path, and no program of the project's in its place", async () => {
    const where = off();
    fs.mkdirSync(join(where.cwd, "node_modules/.bin"), { recursive: true });
    for (const name of ["cat", "bash", "sh"])
      fs.writeFileSync(join(where.cwd, "node_modules/.bin", name), `#!/bin/sh\necho planted > '${where.cwd}/pwned'\n`, {
        mode: 0o755,
      });
    const env = { PATH: `${where.cwd}/node_modules/.bin:${process.env.PATH}` };
    await call(where, "cat a.ts", [], env);
    const ran = await call(where, "cat 'c d'", [], { BASH_ENV: join(where.cwd, "a.ts") });
    match(ran.stdout, /^hello\n/);
    ok(!fs.existsSync(join(where.cwd, "pwned")));
  });
  test("the rules decide of the rest, and the refusal names what would lift it", async () => {
    const where = off();
    match((await call(where, "cat a.ts | sort")).stderr, /requires run access to "cat a.ts", "sort"/);
    match((await call(where, "cat a.ts | sort", ["--allow-run=cat,sort"])).stdout, /^hello\n/);
  });
  test("three readings agree on a plain command", async () => {
    const find = (name: string) => `/usr/bin/${name}`;
    const cwd = process.cwd();
    const pieces = fc.array(
      fc.constantFrom(
        "ls",
        "cat",
        " ",
        " ",
        "'a b'",
        '"',
        "'",
        "$X",
        "*",
        ";",
        "|",
        "a.ts",
        "\\",
        "=",
        "#",
        "~",
        "{a,b}",
        "!",
      ),
      { maxLength: 9 },
    );
    await fc.assert(
      fc.asyncProperty(pieces, async (all) => {
        const line = all.join("");
        const argv = plainCommand(line, await judgeLine(line, cwd, { allow: [], deny: [], except: [] }), find);
        if (argv) ok(!/[$*;|\\~{}#]/.test(line) || /'[^']*'|"/.test(line), line);
        if (argv) deepEqual(plainWords(line)!.slice(1), argv.slice(1));
      }),
      { numRuns: runs(200, 1_000) },
    );
  });
});

describe("every line needs something that a denial bites on", () => {
  test("whatever the text", async () => {
    const where = place();
    const pieces = [
      "x=1",
      "RANDOM=1",
      " ",
      "\n",
      ";",
      "#",
      ":",
      "''",
      "&&",
      "(",
      ")",
      "{ ",
      "; }",
      "<<E",
      "$(",
      "`",
      "bash -c ",
      "FOO=1 ",
    ];
    const lines = fc
      .sample(fc.array(fc.constantFrom(...pieces), { maxLength: 7 }), { numRuns: runs(50, 300) })
      .map((all) => all.join(""));
    const answers = await told(
      where,
      ["--deny-run"],
      ["", " ", "\n", "# x", ":", "x=1", "BASH_ENV='$(id >pwned)' bash -c x=1", "RANDOM='a[$(id>pwned)]'", ...lines],
    );
    for (const { command, verdict } of answers)
      equal(`${JSON.stringify(command)} ${verdict}`, `${JSON.stringify(command)} deny`);
  });
  test("and none of the lines runs under --deny-run", async () => {
    const where = place();
    for (const line of [
      "BASH_ENV='$(id >pwned)' bash -c x=1",
      "SRANDOM='a[$(id>pwned)]'",
      "flock pwned -c x=1",
      "script -c x=1 pwned",
    ])
      match((await call(where, line, ["-A", "--deny-run"])).stderr, /Refused: run access to/);
    deepEqual(fs.readdirSync(where.cwd), []);
  });
});

describe("a refusal names the command that it means", () => {
  for (const [line, what] of some(
    [
      ["sudo ls", "sudo ls"],
      ["ls && sudo -u bob cat a.ts", "sudo -u bob cat a.ts"],
      ["bash -c 'ls; doas ls'", "doas ls"],
      ["timeout 5 rm -rf x", "rm -rf x"],
      ["npx npm publish", "npm publish"],
      ["echo $(chmod 777 x)", "chmod 777 x"],
      ["su -c 'ls; pwd'", "su -c 'ls; pwd'"],
      ["find . -exec rm -rf {} +", "rm -rf {}"],
      ["git status; git push -f", "git push -f"],
      ["x=1; trap 'sudo ls' EXIT", "sudo ls"],
    ] as const,
    2,
  ))
    test(line, async () => {
      const { stderr } = await call(place(), line, ["-A"]);
      ok(stderr.includes(`run access to "${what}" is denied: `), stderr);
    });
  test("what -A does not allow either says what cannot be known", async () => {
    const { stderr } = await call(place(), "x=rm; $x -rf d", ["-A"]);
    match(stderr, /run access to "x=rm; \$x -rf d" is asked for even where all is allowed, .*it depends on \$x/);
  });
});

describe("what shows many files is denied where all reading is", () => {
  const all = place();
  fs.writeFileSync(join(all.cwd, "a.txt"), "open-sesame\n");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@y", ...args], { cwd: all.cwd });
  const test = needs("git");
  if (has("git"))
    for (const args of [
      ["init", "-q"],
      ["add", "-A"],
      ["commit", "-qm", "one"],
    ])
      git(...args);
  fs.appendFileSync(join(all.cwd, "a.txt"), "more\n");
  for (const flag of some(["--deny-read", "--deny-read=.", "--deny-read=**"], 3))
    for (const command of [
      ...["rg sesame", "rg -l sesame | xargs", "grep -r sesame", "cat a.txt", "cat < a.txt", "cd . && rg sesame"],
      ...["git diff", "git show", "git log -p", "git grep sesame", "git blame a.txt", "git show HEAD:a.txt"],
    ])
      test(`${command} under ${flag}`, async () => {
        const { stdout } = await call(all, command, ["--no-prompt", flag]);
        doesNotMatch(stdout, /^(?!Refused).*(sesame|a\.txt)/m);
      });
});

sandboxTest(
  "on the whole disk a sandbox with nothing to write opens, and one that could write over itself says why not",
  async () => {
    const limits = { programs: programs("/"), root: "/", write: [], hide: [], net: "none" as const };
    const opened = await openSandbox({ ...limits, readonly: true });
    equal(opened.name, "bubblewrap");
    opened.close();
    await rejects(openSandbox({ ...limits, readonly: false }), /bubblewrap lies in '\/', where commands may write/);
  },
);
