// What runs without a question: in the sandbox with nothing to write and no network, and without
// one plain commands whose line no shell reads. And what is refused says which command it means.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { programs } from "../../kernel/system/other-programs.ts";
import { findSandbox } from "../../plugins/shell/find-sandbox.ts";
import { judgeLine } from "../../plugins/shell/judge/judge-line.ts";
import { openSandbox } from "../../plugins/shell/open-sandbox.ts";
import { plainCommand } from "../../plugins/shell/plain-command.ts";
import { has, needs } from "../support/needs.ts";
import { fc } from "../support/property.ts";
import { INIT, shell } from "../support/repository.ts";
import { type Place, place, ROOT, withEnvironment, zz } from "../support/run.ts";
import { runs, some } from "../support/runs.ts";

const sandboxTest = needs("bwrap");
before(async () => void (has("bwrap") && equal(await findSandbox(programs(ROOT)), "bubblewrap")));

const call = (where: Place, command: string, args: string[] = [], env = {}) =>
  zz(where, [...args, "--call", "run_command", JSON.stringify({ command })], { env });
const told = async (where: Place, args: string[], lines: string[]) => {
  const input = lines.map((one) => JSON.stringify(one)).join("\n");
  const { stdout } = await zz(where, [...args, "--judge", "-"], { input });
  return Array.from(stdout.trimEnd().split("\n"), (line) => JSON.parse(line));
};

/** A project in which an unasked rg runs a program of the project's: a hole in the judge, made on
 * purpose. */
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
  using _ = withEnvironment(env);
  const ran = await call(where, "rg hello a.ts", ["--allow-env=RIPGREP_CONFIG_PATH"]);
  match(ran.stdout, /hello, none\n.*hello, none/, "the hole is there, and holds");
  ok(!fs.existsSync(join(where.cwd, "pwned")));
  equal(fs.readFileSync(join(where.cwd, "a.ts"), "utf8"), "hello\n");
});

sandboxTest("an unasked command has no network, whatever is allowed", async () => {
  const [where, env] = holed();
  fs.writeFileSync(
    join(where.cwd, "evil"),
    "#!/bin/bash\nreadlink /proc/self/ns/net; cat /proc/net/dev | wc -l\n",
    { mode: 0o755 },
  );
  using _ = withEnvironment(env);
  const ran = await call(where, "rg . a.ts", ["--allow-net", "--allow-env=RIPGREP_CONFIG_PATH"]);
  doesNotMatch(
    ran.stdout,
    new RegExp(fs.readlinkSync("/proc/self/ns/net").replace(/[[\]]/g, "\\$&")),
  );
});

describe("where there is no sandbox", () => {
  const off = (): Place => {
    const files = { "a.ts": "hello\n", "c d": "hello\n", "src/": null };
    return place(files, { shell: { sandbox: "off" } });
  };
  const rows = (text: string): string[] => text.trim().replaceAll("⏎", "\n").split(/ ¦\s+/);
  const PLAIN = rows(String.raw`
    ls -la src ¦ /bin/ls ¦ cat 'c d' ¦ cat "c d" ¦ grep -n hello a.ts  ¦ [ -f a.ts ] ¦ date +%s ¦ ls 'a⏎b' ¦ ls | sort ¦ ls; pwd ¦ ls⏎pwd ¦
    ls *.ts ¦ cat a.?s ¦ cd src ¦ cd src && ls ¦ ls >/dev/null ¦ cd src; ¦ cat a.ts 2>/dev/null | head -5 | wc -l ¦ grep -q x a.ts || echo no ¦
    ls a.ts &>/dev/null && echo yes ¦ ls . 2>&1 ¦ grep "h\|x" a.ts ¦ find . -name '*.ts' \( -type f -o -type d \) ¦ cat a.ts |⏎  grep h ¦
    ls \⏎  src ¦ grep -rn hello src ¦ sed -n '/h/,/o/p' a.ts ¦ sed 's/h/j/g' a.ts | head -1 ¦ awk 'NR>=1 && NR<=2' a.ts ¦
    awk -F, '/h/{print NR": "$1}' a.ts ¦ git -C . status --short ¦ ls *.ts | head -1 ¦ echo a=b x~y '$HOME' ¦ cat < a.ts ¦ cd src && wc -l < ../a.ts | tr -d ' ' ¦ tar --version 2>&1`);
  const NOT = rows(String.raw`
    ls & ¦ x=1 ¦ CI=1 ls ¦ ls {a,b}.ts ¦ ls ~ ¦ echo $HOME ¦ echo "$HOME" ¦ cat < *.ts ¦ cat < ~/x ¦ cat <> a.ts ¦ cat <&3 ¦ bash -c ls ¦ timeout 5 ls ¦ : ¦ (ls) ¦ { ls; } ¦ ! ls ¦
    l\s ¦ ls #x ¦ env CI=1 ls ¦ find . -exec echo {} \; ¦ egrep x a.ts ¦  ¦ echo "!x" ¦ ls |& cat ¦ cd ¦ cd .. ¦ cd src && cat ../../x ¦ ls; x ¦
    ls | sh ¦ ls | xargs cat ¦ ls > f ¦ ls 2>f ¦ ls >/dev/null2 ¦ ls; ; ls ¦ | ls ¦ ls && ¦ ls | tee f ¦ if ls; then ls; fi ¦ ls⏎#x ¦
    ls $(pwd) ¦ cat <(ls) ¦ ls a.ts>&3 ¦ ls 'a ¦ ls ''\'' ¦ ls src; a=1 ¦ ls src && cd nowhere && cat a.ts`);

  test("plain commands go unasked, and nothing else", async () => {
    const answers = await told(off(), [], [...PLAIN, ...NOT]);
    for (const { command, verdict, reason, sandbox } of answers) {
      equal(
        `${command}: ${verdict}`,
        `${command}: ${PLAIN.includes(command) ? "allow" : "ask"}`,
        reason,
      );
      equal(sandbox, false);
    }
  });
  test("they are run by their absolute paths, without a shell that sees the line, and no program of the project's in their place", async () => {
    const where = off();
    fs.mkdirSync(join(where.cwd, "node_modules/.bin"), { recursive: true });
    for (const name of ["cat", "bash", "sh", "sort"])
      fs.writeFileSync(
        join(where.cwd, "node_modules/.bin", name),
        `#!/bin/sh\necho planted > '${where.cwd}/pwned'\n`,
        { mode: 0o755 },
      );
    await call(where, "cat a.ts", [], {
      PATH: `${where.cwd}/node_modules/.bin:${process.env.PATH}`,
    });
    match((await call(where, "cat 'c d'")).stdout, /^hello\n/);
    using _ = withEnvironment({ BASH_ENV: join(where.cwd, "a.ts"), ENV: join(where.cwd, "a.ts") });
    const line =
      "cd src && cat ../a.ts '../c d' ../*.ts nowhere 2>/dev/null | sort | sed 's/l/$(touch x)`;/g' ; echo 'it'\\''s'";
    match((await call(where, line)).stdout, /^(he\$\(touch x\)`;\$\(touch x\)`;o\n){3}it's\n/);
    deepEqual(fs.readdirSync(where.cwd), ["a.ts", "c d", "node_modules", "src"]);
  });
  test("the rules decide of the rest, and the refusal names what would lift it", async () => {
    const where = off();
    match((await call(where, "tac a.ts | rev")).stderr, /requires run access to "tac a.ts", "rev"/);
    match((await call(where, "tac a.ts | rev", ["--allow-run=tac,rev"])).stdout, /^olleh\n/);
  });
  test("three readings agree on plain commands, and the shell is given nothing but quoted words and what joins them", async () => {
    const find = (name: string) => `/usr/bin/${name}`;
    const cwd = process.cwd();
    const signs = `ls§cat§ § §'a b'§"§'§$X§*§;§|§a.ts§\\§=§#§~§{a,b}§&&§\n§cd docs§2>&1`.split("§");
    const pieces = fc.array(fc.constantFrom(...signs), { maxLength: 9 });
    await fc.assert(
      fc.asyncProperty(pieces, async (all) => {
        const line = all.join("");
        const judged = await judgeLine(line, cwd, { deny: [], except: [] });
        const argv = plainCommand(line, judged, find);
        if (!argv) return;
        const programs = judged.simple.map(({ words: [name, ...rest] }) => [
          name === "cd" ? name : find(name!),
          ...rest,
        ]);
        if (argv[0] !== "/usr/bin/sh") return deepEqual(programs, [argv]);
        const [, , script] = argv;
        const quoted = [...script!.matchAll(/('[^']*'|\\')+/g)].map(([word]) =>
          word.replaceAll("'\\''", "\0").replaceAll("'", "").replaceAll("\0", "'"),
        );
        deepEqual(quoted, programs.flat());
        match(
          script!.replaceAll(/('[^']*'|\\')+/g, "W"),
          /^W( W)*( 2>&1)*((; | [|] | && )W( W)*( 2>&1)*)*$/,
        );
      }),
      { numRuns: runs(300, 2_000) },
    );
  });
});

test("every line needs something that a denial bites on", async () => {
  const where = place();
  const signs = [" ", "\n", ";", "#", ":", "''", "&&", "(", ")", "{ ", "; }", "<<E", "$(", "`"];
  const pieces = ["x=1", "RANDOM=1", ...signs, "bash -c "];
  const made = fc.sample(fc.array(fc.constantFrom(...pieces), { maxLength: 7 }), {
    numRuns: runs(50, 300),
  });
  const lines = [
    "",
    " ",
    "# x",
    ":",
    "x=1",
    "BASH_ENV='$(id >pwned)' bash -c x=1",
    ...made.map((all) => all.join("")),
  ];
  for (const { command, verdict } of await told(where, ["--deny-run"], lines))
    equal(verdict, "deny", command);
  const { stderr } = await call(where, "flock pwned -c x=1", ["-A", "--deny-run"]);
  match(stderr, /Refused: run access to/);
  deepEqual(fs.readdirSync(where.cwd), []);
});

test("a refusal names the command that it means", async () => {
  for (const [line, says] of [
    ["ls && sudo -u bob cat a.ts", /run access to "sudo -u bob cat a.ts" is denied: /],
    ["bash -c 'ls; doas ls'", /"doas ls" is denied: /],
    ["timeout 5 rm -rf ../x", /"rm -rf ..\/x" is denied: /],
    ["x=1; trap 'sudo ls' EXIT", /"sudo ls" is denied: /],
    ["x=rm; $x -rf d",
      /"x=rm; \$x -rf d" is asked for even where all is allowed, .*it depends on \$x/],
  ] as const) // biome-ignore format: a table
    match((await call(place(), line, ["-A"])).stderr, says);
});

needs("git")("what shows many files is denied where all reading is", async () => {
  const where = place();
  fs.writeFileSync(join(where.cwd, "a.txt"), "open-sesame\n");
  shell(
    where.cwd,
    `${INIT}; git add -A; git -c user.name=x -c user.email=x@y commit -qm one; echo more >> a.txt`,
  );
  const shows = `git diff § rg sesame § cat < a.txt § git show § rg -l sesame | xargs
    grep -r sesame § cd . && rg sesame § git grep sesame § git blame a.txt
    git show HEAD:a.txt`.split(/ § |\n */);
  for (const flag of ["--deny-read", "--deny-read=.", "--deny-read=**"])
    for (const command of some(shows, 5)) {
      const { stdout } = await call(where, command, ["--no-prompt", flag]);
      doesNotMatch(stdout, /^(?!Refused).*(sesame|a\.txt)/m, `${command} under ${flag}`);
    }
});

sandboxTest(
  "on the whole disk a sandbox with nothing to write opens, and one that could write over itself says why not",
  async () => {
    const limits = {
      programs: programs("/"),
      root: "/",
      write: [],
      hide: [],
      net: "none" as const,
    };
    const opened = await openSandbox({ ...limits, readonly: true });
    equal(opened.name, "bubblewrap");
    opened.close();
    await rejects(
      openSandbox({ ...limits, readonly: false }),
      /bubblewrap lies in '\/', where commands may write/,
    );
  },
);
