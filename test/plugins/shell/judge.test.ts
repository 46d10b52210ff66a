// What command lines run and whether they may: tables of lines, and lines made by bash's grammar,
// of which those that are allowed really run, in a jail that sees every program started and every
// file touched.
import { deepEqual, equal, ok } from "node:assert/strict";
import { realpathSync } from "node:fs";
import path, { join } from "node:path";
import { describe, test } from "node:test";
import { holdsSecret } from "../../../kernel/gate/secret-files.ts";
import { type Judged, judgeLine, type Lists } from "../../../plugins/shell/judge/judge-line.ts";
import { tryTo } from "../../../sdk/text.ts";
import { DANGEROUS, type Row } from "../../support/dangerous.ts";
import { temporaryFolder } from "../../support/files.ts";
import { fuzz } from "../../support/fuzz-judge.ts";
import { needs } from "../../support/needs.ts";
import { put, type Tree } from "../../support/repository.ts";
import { runs, SEED } from "../../support/runs.ts";

const fileFacts = { secret: holdsSecret, git: { index: false, history: false, knows: () => true } };
const NONE: Lists = { deny: [], except: [], repository: { reads: [] }, fileFacts };
const base = realpathSync(temporaryFolder("zz-judge-"));

/** A project of empty files, and others. */
function project(name: string, empty: string[], more: Tree = {}): string {
  const root = join(base, name);
  put(root, { ...Object.fromEntries(empty.map((name) => [name, ""])), ...more });
  return root;
}

const CODE = ["a.ts", "b.ts", "c d", "src/x.ts", "src/deep/y.ts", "app/[slug]/page.tsx"];
const OTHERS = [".git/HEAD", ".env", ".env.json", "o-1", "sub/package.json"];
const root = project("root", [...CODE, ...OTHERS], { inside: "->src/deep", outside: "->/etc" });
const keys = project("keys", ["a.ts", "src/server.pem"]);
project("other", ["a.ts"]);
const lifted = project("lifted", ["a.ts"], { ".ignore": "!.env" });

/** What the kernel's gate asks for, of what a judged line reads. */
const SECRET =
  /(^|\/)(\.env(\..*)?|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx)|\.npmrc|\.netrc)$/;
const isPlain = (name: string, cwd: string): boolean => {
  const file = path.resolve(cwd, name);
  const real = tryTo(() => realpathSync(file)) ?? file;
  return (real === cwd || real.startsWith(`${cwd}/`)) && !SECRET.test(real);
};
/** "gate": the judge allows it, and the gate asks for what it reads. */
const outcome = (judged: Judged, cwd = root): string =>
  judged.verdict === "allow" && !judged.reads.every((one) => isPlain(one, cwd))
    ? "gate"
    : judged.verdict;

const HARMLESS: Record<string, Row[]> = {
  "reading is allowed": [
    ['cat "c d"', "cat", "allow"],
    ["cat app/[slug]/page.tsx", "cat", "allow"],
    ["wc -l *.ts", "wc", "allow"],
    ["rg 'rm -rf /' src", "rg", "allow"],
    ["sed -n '1,5p' a.ts", "sed", "allow"],
    ["jq -r '.name' sub/package.json", "jq", "allow"],
    ["find . -name '*.ts' -not -path './x/*' -print0", "find", "allow"],
    ["find src -type f \\( -name a -o -name b \\)", "find", "allow"],
    ["command -v rm", "command", "allow"],
    ["[ -f a.ts ] && cat a.ts", "[ cat", "allow"],
    ["test -d src || echo none", "test echo", "allow"],
    ["true; false; :", "true false :", "allow"],
    ["sleep 1 & ls", "sleep ls", "allow"],
    ["if true; then ls; else pwd; fi", "true ls pwd", "allow"],
    ["for i in 1 2; do ls; done", "ls", "allow"],
    ["while false; do ls; done", "false ls", "allow"],
    ["(ls; pwd)", "ls pwd", "allow"],
    ["ls 2>&1 | head -3", "ls head", "allow"],
    ["ls 2>&-; pwd <&-", "ls pwd", "allow"],
    ["", "", "allow"],
    ["X=1", "", "allow", /sets a variable of its own/],
    ["bash -c ''", "", "allow"],
    ["LANG=en_US.UTF-8 LC_ALL=C.UTF-8 ls", "ls", "allow"],
    ["echo $HOME", "echo", "allow"],
    ['cat "$PWD/a.ts"', "cat", "allow"],
  ],
  "git that only looks is allowed": [
    ["git status -sb --porcelain=v2", "git", "allow"],
    ["git diff --stat HEAD~1 -- src", "git", "allow"],
    ["git --no-pager diff --cached", "git", "allow"],
    ["git branch --show-current", "git", "allow"],
    ["git stash list", "git", "allow"],
  ],
  "wrappers are seen through": [
    ["timeout 5 ls", "ls", "allow"],
    ["timeout -s KILL --kill-after=2 5 ls", "ls", "allow"],
    ["bash -euo pipefail -c 'ls'", "ls", "allow"],
    ["find . -name x -exec echo {} \\;", "find echo", "allow"],
  ],
  "a cd inside is followed": [
    ["cd src && cat ../a.ts", "cd cat", "allow"],
    ["command cd src && cat ../a.ts", "cd cat", "allow"],
    ["(cd src && ls); cat a.ts", "cd ls cat", "allow"],
  ],
};

/** One test for a table: it shows all rows that are otherwise. `look` says what becomes of a row,
 * as the row has it. */
const table = <Row extends [line: string, ...rest: unknown[]]>(
  heading: string,
  rows: Row[],
  look: (row: Row) => Promise<unknown>,
) =>
  test(heading, async () => {
    const found: unknown[] = [];
    for (const row of rows) found.push([row[0], await look(row)]);
    const expected = rows.map(([line, ...rest]) => [line, rest]);
    deepEqual(found, expected);
  });
/** The pattern itself if it matches, so that it is equal; or else the text. */
const matching = (text: string, pattern: RegExp): RegExp | string =>
  pattern.test(text) ? pattern : text;

for (const [heading, rows] of [...Object.entries(HARMLESS), ...Object.entries(DANGEROUS)])
  table(heading, rows, async ([line, , , why]) => {
    const judged = await judgeLine(line, root, NONE);
    ok(judged.simple.length, `${line}: there is something to ask for, and to deny`);
    for (const { text } of judged.simple) ok(text || !line.trim(), `${line}: a command has a text`);
    return [judged.runs.join(" "), outcome(judged), ...(why ? [matching(judged.why, why)] : [])];
  });

describe("the person's lists", () => {
  type ListRow = [line: string, lists: Partial<Lists>, verdict: Judged["verdict"], why: RegExp];
  const rows: ListRow[] = [
    ["git push -f", { except: ["git push --force"] }, "ask", /git push/],
    ["rm -rf x", { except: ["rm -rf"] }, "ask", /rm/],
    ["rm -rf x", { except: ["rm -r"] }, "deny", /rm -rf/],
    ["chmod +x a", { except: ["chmod"] }, "ask", /chmod/],
    ["git commit --amend -m push", { deny: ["git push"] }, "ask", /git commit/],
    ["npm() { ls; }; npm test", {}, "ask", /function/],
    ["foo $X", { deny: ["foo bar"] }, "ask", /may be a command that is denied$/],
    ["watch 'make; npm publish'", { deny: ["npm publish"] }, "deny", /npm publish/],
  ];
  table("deny, or keep from being denied, what they name", rows, async ([line, lists, , why]) => {
    const judged = await judgeLine(line, root, { ...NONE, ...lists });
    return [lists, judged.verdict, matching(judged.why, why)];
  });
  test("a variable that the environment holds already cannot be set unasked", async () => {
    process.env.zz_judge_test = "1";
    equal((await judgeLine("zz_judge_test=2; ls", root, NONE)).verdict, "ask");
    delete process.env.zz_judge_test;
    equal((await judgeLine("zz_judge_test=2; ls", root, NONE)).verdict, "allow");
  });
});

describe("no rule for all commands allows what may be one that never runs", () => {
  const UNKNOWN = `eval "$(echo rm -rf d)" § eval $X § env $X § env -S $X § timeout $X
    ls | xargs rm § bash -s <<< 'rm -rf d' § bash <(echo rm -rf d) § bash $X
    source /dev/stdin <<< 'rm -rf d' § sh -c 'rm "$@"' _ -rf d § alias x='rm -rf'
    shopt -s expand_aliases § enable -f ./x.so ls § hash -p /bin/rm ls; ls -rf d § coproc $X
    npx $X § trap $X EXIT § PS4='$(rm -rf d)' bash -xc ls § BASH_ENV=$X bash -c ls
    RANDOM='a[$(rm -rf d)]' § x='a[$(sudo ls)]'; echo $((x)) § [[ -v 'a[$(rm -rf d)]' ]]
    let 'a[$(rm -rf d)]' § mapfile -C 'rm -rf d' -c 1 x § export GIT_PAGER='rm -rf d'
    git submodule foreach 'rm -rf d' § git config alias.x '!rm -rf d'
    awk 'BEGIN{system("rm -rf d")}' § python3 -c 'import os; os.system("rm -rf d")'
    sed '1e rm -rf d' a.ts § test -v 'a[$(rm -rf d)]' § wait -n -p 'a[$(rm -rf d)]'
    make SHELL='rm -rf d' § make -f - <<< 'x: ; rm -rf d' § at now <<< 'rm -rf d'
    echo rm -rf d | batch § parallel 'rm -rf {}' ::: d § nodemon --exec 'rm -rf d'
    python -m sh -c 'rm -rf d' § git rebase -x'rm -rf d' main § git grep -O'rm -rf d' x
    tar -I'rm -rf d' -xf x § python3 -c "$(cat f)" § perl -pe "$X" f`.split(/ § |\n */);
  const ORDINARY =
    `npm test § node x.js $X § make -j$(nproc) § git commit -m "no sudo here" § rm "$PWD/$X" § rm "src/$X" § at -l §
    find . -name '*.o' -exec rm {} + § cat > f <<'E'⏎never rm -rf or sudo⏎E § case $X in a) ls;; esac § set -euo pipefail § make -f x.mk §
    gh pr create --title 'rm -rf fix' --body 'npm publish it' § parallel echo ::: a b`
      .replaceAll("⏎", "\n")
      .split(/ §\s+/);
  const is = async (line: string) =>
    (await judgeLine(line, root, NONE)).simple.some((one) => one.verdict === "unknown");
  const rows = (lines: string[], isUnknown: boolean) =>
    lines.map((line): [string, boolean] => [line, isUnknown]);
  table("these are asked even then", rows(UNKNOWN, true), async ([line]) => [await is(line)]);
  table("these are ordinary", rows(ORDINARY, false), async ([line]) => [await is(line)]);
});

describe("denials with a *", () => {
  const rows: [line: string, deny: string, verdict: Judged["verdict"]][] = [
    ["npm test", "npm *", "deny"],
    ["npm", "npm *", "deny"],
    ["npm --silent run test:unit --watch", "npm run test:*", "deny"],
    ["cat b.ts", "* a.ts", "allow"],
    ["echo '*'", "echo x", "allow"],
  ];
  table("deny what begins or ends so, word by word", rows, async ([line, deny]) => [
    deny,
    (await judgeLine(line, root, { ...NONE, deny: [deny] })).verdict,
  ]);
});

describe("what a command is told as", () => {
  const rows: [line: string, simple: string[]][] = [
    ["CI=1 timeout 5 npm run 'a b'", ["open npm run 'a b'"]],
    ["ls | xargs rm", ["allow ls", "unknown rm …"]],
    ["echo $(doas ls)", ["ask echo $(doas ls)", "deny doas ls"]],
    ["bash -c ''", ["allow :"]],
    ["ls > f", ["open ls"]],
    ["node -e x", ["ask node -e x"]],
    ["git commit -m 'a b'", ["open git commit -m 'a b'"]],
    ["git show --textc HEAD", ["ask git show --textc HEAD"]],
    ["git rebase -ix y", ["ask git rebase -ix y"]],
    ["sort -no x", ["ask sort -no x"]],
    ["sort --debug", ["open sort --debug"]],
    ["tar cf x --checkpoint-act=exec=y", ["ask tar cf x --checkpoint-act=exec=y"]],
    ["eval 'ls() { npm test; }'; ls", ["ask npm test", "ask ls"]],
    ["X=$(y) npm test", ["ask npm test", "ask y"]],
    ["[ -f a.ts ]", ["allow [ -f a.ts ]"]],
    ["exec (ls)", ["ask exec", "ask ls"]],
  ];
  table("each with its own verdict", rows, async ([line]) => {
    const { simple } = await judgeLine(line, root, NONE);
    return [simple.map(({ verdict, text }) => `${verdict} ${text}`)];
  });
  test("words are undefined where they are not known", async () => {
    const { simple } = await judgeLine("rm $X 'a b' *.ts {c,d}", root, NONE);
    deepEqual(simple[0]!.words, ["rm", undefined, "a b", "a.ts", "b.ts", "c", "d"]);
  });
});

describe("what is read and written, from where the line starts", () => {
  const rows: [line: string, reads: string[], writes: string[]][] = [
    ["cat a.ts -n -- -x -", ["a.ts", "-x"], []],
    ["cat inside/../x.ts", [join(root, "src/x.ts")], []],
    ["cd src; cat x.ts", ["x.ts", "src/x.ts"], []],
    ["cd src & cat x.ts", ["x.ts"], []],
    ["cd src && cd deep && cat ../x.ts", ["src/x.ts"], []],
    ["grep x a.ts b.ts < /dev/null", ["a.ts", "b.ts"], []],
    ["npm test < a.ts > f 2>> g 2>&1", ["a.ts"], ["f", "g"]],
    ["find src app -name x", ["src", "app"], []],
    ["git diff HEAD -- a.ts", ["HEAD", "a.ts"], []],
    ["time eval -- echo *.ts", ["a.ts", "b.ts"], []],
    ["{ builtin eval printf %s *.ts; } | cat", ["a.ts", "b.ts"], []],
  ];
  table("files, folders, globs and redirections", rows, async ([line]) => {
    const judged = await judgeLine(line, root, NONE);
    return [judged.reads, judged.writes];
  });
  test("a glob that matches more than 500 files asks", async () => {
    const names = Array.from({ length: 501 }, (_, i) => `f${i}`);
    const many = project("many", names);
    equal((await judgeLine("cat *", many, NONE)).verdict, "ask");
    equal((await judgeLine("cat f1*", many, NONE)).verdict, "allow");
  });
  test("rg asks where it would meet a key, or what brings hidden files in", async () => {
    for (const [dir, line, verdict] of [
      [keys, "rg x", "ask"],
      [keys, "rg x src", "ask"],
      [keys, "rg x a.ts", "allow"],
      [keys, "rg --files", "allow"],
      [lifted, "rg x", "ask"],
      [root, "rg -g '*.PEM' x", "ask"],
      [root, "rg x", "allow"],
    ] as const)
      equal((await judgeLine(line, dir, NONE)).verdict, verdict, line);
  });
  test("git diff of two folders without a repository asks", async () => {
    for (const line of ["git diff src .", "git diff src -- .", "git diff -- src ."])
      equal((await judgeLine(line, keys, NONE)).verdict, "ask", line);
  });
});

const LINES = Number(process.env.FUZZ_LINES ?? runs(600, 20_000));
needs("bwrap", "gcc")(
  `of ${LINES} lines none that is allowed starts or touches anything else`,
  async (t) => {
    const { allowed, found, empty } = await fuzz(SEED, LINES);
    t.diagnostic(`seed ${SEED}: ${allowed} of ${LINES} were allowed`);
    deepEqual(found, [], `seed ${SEED}`);
    equal(empty, 0, "every line needs something that a denial bites on");
    ok(allowed > LINES / 10, "enough of them were run");
  },
);
