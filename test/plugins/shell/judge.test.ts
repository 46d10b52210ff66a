// What command lines run and whether they may, row by row; and bash itself as the judge of the judge's words.
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path, { join } from "node:path";
import { after, describe, test } from "node:test";
import { build } from "esbuild";
import { holdsSecret } from "../../../kernel/secret-files.ts";
import { type Judged, judgeLine, type Lists } from "../../../plugins/shell/judge/index.ts";
import { fc } from "../../support/property.ts";
import "../../support/lean.ts";
import { DANGEROUS, type Row } from "../../support/dangerous.ts";
import { ROOT } from "../../support/run.ts";

const CLEAN = { index: false, history: false, knows: () => true };
const NONE: Lists = {
  allow: [],
  deny: [],
  except: [],
  repository: { reads: [] },
  fileFacts: { secret: holdsSecret, git: CLEAN },
};
const base = realpathSync(mkdtempSync(join(tmpdir(), "zz-judge-")));
after(() => rmSync(base, { recursive: true, force: true }));

/** A project; `->x` makes a link. */
function project(name: string, files: Record<string, string>): string {
  const root = join(base, name);
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(join(root, path.dirname(file)), { recursive: true });
    if (content.startsWith("->")) symlinkSync(content.slice(2), join(root, file));
    else writeFileSync(join(root, file), content);
  }
  return root;
}

const root = project("root", {
  ".git/HEAD": "",
  "a.ts": "",
  "b.ts": "",
  "c d": "",
  "src/x.ts": "",
  "src/deep/y.ts": "",
  "app/[slug]/page.tsx": "",
  ".env": "",
  ".env.json": "",
  "o-1": "",
  inside: "->src/deep",
  outside: "->/etc",
  "sub/package.json": "",
});
const keys = project("keys", { "a.ts": "", "src/server.pem": "" });
project("other", { "a.ts": "" });
const lifted = project("lifted", { "a.ts": "", ".ignore": "!.env" });

/** What the kernel's gate asks for, of what a judged line reads. */
const SECRET = /(^|\/)(\.env(\..*)?|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx)|\.npmrc|\.netrc)$/;
const isPlain = (name: string, cwd: string): boolean => {
  const file = path.resolve(cwd, name);
  let real = file;
  try {
    real = realpathSync(file);
  } catch {}
  return (real === cwd || real.startsWith(`${cwd}/`)) && !SECRET.test(real);
};
/** "gate": the judge allows it, and the gate asks for what it reads. */
const outcome = (judged: Judged, cwd = root): string =>
  judged.verdict === "allow" && !judged.reads.every((one) => isPlain(one, cwd)) ? "gate" : judged.verdict;

const HARMLESS: Record<string, Row[]> = {
  "reading is allowed": [
    ["ls", "ls", "allow", /^only reads$/],
    ["ls -la src", "ls", "allow"],
    ["/bin/ls -la", "ls", "allow"],
    ["//bin/../bin/ls", "ls", "allow"],
    ["cat a.ts b.ts", "cat", "allow"],
    ["cat 'c d'", "cat", "allow"],
    ["cat c\\ d", "cat", "allow"],
    ['cat "c d"', "cat", "allow"],
    ["cat app/[slug]/page.tsx", "cat", "allow"],
    ["cat *.ts", "cat", "allow"],
    ["cat {a,b}.ts", "cat", "allow"],
    ["cat < a.ts", "cat", "allow"],
    ["pwd", "pwd", "allow"],
    ["wc -l *.ts", "wc", "allow"],
    ["head -n 5 a.ts", "head", "allow"],
    ["head -5 a.ts", "head", "allow"],
    ["tail -n +5 a.ts", "tail", "allow"],
    ["tail -5 a.ts", "tail", "allow"],
    ["grep -n foo a.ts", "grep", "allow"],
    ['grep "export " a.ts', "grep", "allow"],
    ["grep chmod a.ts", "grep", "allow"],
    ["grep 'rm -rf' a.ts", "grep", "allow"],
    ["grep -e '>' a.ts", "grep", "allow"],
    ["rg 'rm -rf /' src", "rg", "allow"],
    ["rg -n --no-heading foo -g '*.ts'", "rg", "allow"],
    ["echo 'a; rm -rf x'", "echo", "allow"],
    ['echo "a && rm -rf x"', "echo", "allow"],
    ["echo rm -rf x", "echo", "allow"],
    ["echo a#b # rm -rf x", "echo", "allow"],
    ["printf '%s\\n' a", "printf", "allow"],
    ["sed -n '1,5p' a.ts", "sed", "allow"],
    ["sort -rn a.ts | uniq -c | sort -k2,2", "sort uniq", "allow"],
    ["cut -d: -f1 a.ts", "cut", "allow"],
    ["diff -u a.ts b.ts", "diff", "allow"],
    ["jq -r '.name' sub/package.json", "jq", "allow"],
    ["tree -L 2 src", "tree", "allow"],
    ["find . -name '*.ts' -not -path './x/*' -print0", "find", "allow"],
    ["find src -type f \\( -name a -o -name b \\)", "find", "allow"],
    ["date +%s", "date", "allow"],
    ["uname -a", "uname", "allow"],
    ["command -v rm", "command", "allow"],
    ["which chmod", "which", "allow"],
    ["type sudo", "type", "allow"],
    ["[ -f a.ts ] && cat a.ts", "[ cat", "allow"],
    ["test -d src || echo none", "test echo", "allow"],
    ["true; false; :", "true false :", "allow"],
    ["! ls", "ls", "allow"],
    ["sleep 1 & ls", "sleep ls", "allow"],
    ["if true; then ls; else pwd; fi", "true ls pwd", "allow"],
    ["for i in 1 2; do ls; done", "ls", "allow"],
    ["while false; do ls; done", "false ls", "allow"],
    ["{ ls; pwd; }", "ls pwd", "allow"],
    ["(ls; pwd)", "ls pwd", "allow"],
    ["ls 2>/dev/null", "ls", "allow"],
    ["ls 2>&1 | head -3", "ls head", "allow"],
    ["ls &>/dev/null", "ls", "allow"],
    ["ls >&2", "ls", "allow"],
    ["ls 2>&-", "ls", "allow"],
    ["ls 2>&-; pwd <&-", "ls pwd", "allow"],
    ["ls \\\n  -la", "ls", "allow"],
    ["ls\npwd", "ls pwd", "allow"],
    ["  ls  ", "ls", "allow"],
    ["# rm -rf x", "", "allow", /runs nothing/],
    ["", "", "allow"],
    ["X=1", "", "allow", /sets a variable of its own/],
    ["x=1; y='a b'; n=$HOME; ls", "ls", "allow"],
    ["name=", "", "allow"],
    ["bash -c x=1", "", "allow"],
    ["bash -c ''", "", "allow"],
    [" \n ", "", "allow", /runs nothing/],
    ["for file in a b; do ls; done", "ls", "allow"],
    ["for I in a b; do ls; done", "ls", "allow"],
    ["CI=1 NO_COLOR=1 ls", "ls", "allow"],
    ["LANG=en_US.UTF-8 LC_ALL=C.UTF-8 ls", "ls", "allow"],
    ["env LC_ALL= LANG=POSIX ls", "ls", "allow"],
    ["LC_ALL=C sort a.ts", "sort", "allow"],
    ["echo $HOME", "echo", "allow"],
    ['cat "$PWD/a.ts"', "cat", "allow"],
    ["echo 'naïve 😀'", "echo", "allow"],
  ],
  "git that only looks is allowed": [
    ["git status", "git", "allow"],
    ["git status -sb --porcelain=v2", "git", "allow"],
    ["git diff --stat HEAD~1 -- src", "git", "allow"],
    ["git --no-pager diff --cached", "git", "allow"],
    ["git log --oneline -5", "git", "allow"],
    ["git log -n 5 --format='%h %s' src/x.ts", "git", "allow"],
    ["git show HEAD:a.ts", "git", "allow"],
    ["git rev-parse --abbrev-ref HEAD", "git", "allow"],
    ["git branch", "git", "allow"],
    ["git branch --show-current", "git", "allow"],
    ["git branch --list 'x'", "git", "allow"],
    ["git remote -v", "git", "allow"],
    ["git blame a.ts", "git", "allow"],
    ["git ls-files", "git", "allow"],
    ["git stash list", "git", "allow"],
  ],
  "wrappers are seen through": [
    ["timeout 5 ls", "ls", "allow"],
    ["timeout -s KILL --kill-after=2 5 ls", "ls", "allow"],
    ["nice -n 5 ls", "ls", "allow"],
    ["nohup ls", "ls", "allow"],
    ["time ls", "ls", "allow"],
    ["time -p ls", "ls", "allow"],
    ["env CI=1 ls", "ls", "allow"],
    ["/usr/bin/env ls", "ls", "allow"],
    ["command ls", "ls", "allow"],
    ["builtin echo a", "echo", "allow"],
    ["exec ls", "ls", "allow"],
    ["stdbuf -oL ls", "ls", "allow"],
    ["bash -c 'ls; pwd'", "ls pwd", "allow"],
    ["bash -lc 'git status'", "git", "allow"],
    ["bash -euo pipefail -c 'ls'", "ls", "allow"],
    ["sh -c 'ls'", "ls", "allow"],
    ["eval 'ls -la'", "ls", "allow"],
    ["timeout 5 bash -c 'nice ls'", "ls", "allow"],
    ["echo a | xargs", "echo", "allow"],
    ["echo a | xargs -n1 echo x", "echo", "allow"],
    ["find . -name x -exec echo {} \\;", "find echo", "allow"],
  ],
  "a cd inside is followed": [
    ["cd src", "cd", "allow"],
    ["cd src && cat x.ts", "cd cat", "allow"],
    ["cd src && cat ../a.ts", "cd cat", "allow"],
    ["cd src && cd .. && cat a.ts", "cd cat", "allow"],
    ["(cd src && ls); cat a.ts", "cd ls cat", "allow"],
    ["cd src; ls", "cd ls", "allow"],
  ],
};

const show = (line: string): string => JSON.stringify(line.length > 70 ? `${line.slice(0, 70)}…` : line);

for (const [harm, groups] of [
  [false, HARMLESS],
  [true, DANGEROUS],
] as const)
  for (const [heading, rows] of Object.entries(groups))
    describe(heading, () => {
      for (const [line, runs, verdict, why] of rows)
        test(`${show(line)} ${verdict === "gate" ? "is for the gate" : verdict}`, async () => {
          const judged = await judgeLine(line, root, NONE);
          const got = `${outcome(judged)}: ${judged.runs.join(" ")}`;
          equal(got, `${verdict}: ${runs}`, JSON.stringify(judged, null, 1));
          if (why) match(judged.why, why);
          if (harm) notEqual(outcome(judged), "allow");
          ok(judged.simple.length, "there is something to ask for, and to deny");
          for (const { text } of judged.simple) ok(text || !line.trim(), "a command has a text");
        });
    });

describe("the person's lists", () => {
  const rows: [line: string, lists: Partial<Lists>, verdict: Judged["verdict"], why: RegExp][] = [
    ["npm test", { allow: ["npm test"] }, "allow", /'npm test' is on the allow list/],
    ["npm test -- --watch", { allow: ["npm test"] }, "allow", /allow list/],
    ["/usr/bin/npm test", { allow: ["npm test"] }, "allow", /allow list/],
    ["timeout 60 npm test", { allow: ["npm test"] }, "allow", /allow list/],
    ["CI=1 npm test", { allow: ["npm test"] }, "allow", /allow list/],
    ["npm test && git status", { allow: ["npm test"] }, "allow", /allow list; only reads/],
    ["eslint *.ts", { allow: ["eslint"] }, "allow", /allow list/],
    ["npm testing", { allow: ["npm test"] }, "ask", /npm/],
    ["npm run test", { allow: ["npm test"] }, "ask", /npm/],
    ["./npm test", { allow: ["npm test"] }, "ask", /npm/],
    ["npm test $X", { allow: ["npm test"] }, "ask", /depends on/],
    ["npm test $(rm x)", { allow: ["npm test"] }, "ask", /substitution/],
    ["npm test; rm x", { allow: ["npm test"] }, "ask", /rm/],
    ["npm test > f", { allow: ["npm test"] }, "ask", /writes 'f'/],
    ["PATH=. npm test", { allow: ["npm test"] }, "ask", /sets PATH/],
    ["npm() { ls; }; npm test", { allow: ["npm test"] }, "ask", /function/],
    ["xargs npm test", { allow: ["npm test"] }, "ask", /not known/],
    ['npm test "$(x)" # a', { allow: ["npm test"] }, "ask", /substitution/],
    ["node x.js", { allow: ["node"] }, "ask", /interpreter/],
    ["node -e x", { allow: ["node"] }, "ask", /interpreter/],
    ["bash x.sh", { allow: ["bash"] }, "ask", /interpreter/],
    ["npx x", { allow: ["npx"] }, "ask", /interpreter/],
    ["node x.js", { allow: ["node x.js"] }, "allow", /allow list/],
    ["node --test", { allow: ["node --test"] }, "allow", /allow list/],
    ["rm -rf x", { allow: ["rm", "rm -rf"] }, "deny", /rm -rf is/],
    ["sudo ls", { allow: ["sudo ls", "ls"] }, "deny", /sudo/],
    ["git push -f", { allow: ["git push"] }, "deny", /force/],
    ["git push", { allow: ["git push"] }, "allow", /allow list/],
    ["git push -f", { except: ["git push --force"] }, "ask", /git push/],
    ["rm -rf x", { except: ["rm -rf"] }, "ask", /rm/],
    ["rm -rf x", { except: ["rm -r"] }, "deny", /rm -rf/],
    ["rm -r x", { except: ["rm -rf"] }, "deny", /rm -r /],
    ["sudo ls", { except: ["sudo"] }, "ask", /another user/],
    ["sudo ls", { except: ["sudo"], allow: ["ls"] }, "ask", /another user/],
    ["chmod +x a", { except: ["chmod"] }, "ask", /chmod/],
    ["chmod +x a", { except: ["chmod"], allow: ["chmod +x"] }, "allow", /allow list/],
    ["curl x", { deny: ["curl"] }, "deny", /curl is on the deny list/],
    ["ls && /usr/bin/curl x", { deny: ["curl"] }, "deny", /curl/],
    ["git -C x push", { deny: ["git push"] }, "deny", /git push/],
    ["npm --silent run deploy", { deny: ["npm run deploy"] }, "deny", /deploy/],
    ["git commit --amend -m push", { deny: ["git push"] }, "ask", /git commit/],
    ["ls", { deny: ["ls"], allow: ["ls"] }, "deny", /ls/],
    ["cat a.ts", { deny: [""], allow: [""] }, "allow", /only reads/],
    ["rm x", { deny: [""], allow: ["", "  "] }, "ask", /rm/],
    ["find . -name a", { deny: ["find"] }, "deny", /find/],
    ["xargs ls", { deny: ["xargs"] }, "deny", /xargs/],
    ["cd src", { deny: ["cd"] }, "deny", /cd is/],
    ["eval ls", { deny: ["eval"] }, "deny", /eval is/],
    ["bash -c ls", { deny: ["bash -c"] }, "deny", /bash -c is/],
    ["find . -delete", { allow: ["find . -delete"] }, "allow", /allow list/],
    ["find . -exec rm {} +", { allow: ["find"] }, "ask", /not known/],
  ];
  for (const [line, lists, verdict, why] of rows)
    test(`${show(line)} with ${JSON.stringify(lists)}: ${verdict}`, async () => {
      const judged = await judgeLine(line, root, { ...NONE, ...lists });
      equal(judged.verdict, verdict, JSON.stringify(judged, null, 1));
      match(judged.why, why);
    });
  test("what the list allows stays allowed when it writes, and the write is for the gate", async () => {
    const judged = await judgeLine("npm test > f", root, { ...NONE, allow: ["npm test"] });
    deepEqual([judged.simple[0]!.verdict, judged.verdict, judged.writes], ["allow", "ask", ["f"]]);
  });
  test("a variable that the environment holds already cannot be set unasked", async () => {
    process.env.zz_judge_test = "1";
    equal((await judgeLine("zz_judge_test=2; ls", root, NONE)).verdict, "ask");
    delete process.env.zz_judge_test;
    equal((await judgeLine("zz_judge_test=2; ls", root, NONE)).verdict, "allow");
  });
});

describe("no rule for all commands allows what may be one that never runs", () => {
  const UNKNOWN = [
    "x=rm; $x -rf d",
    'eval "$(echo rm -rf d)"',
    "eval $X",
    'bash -c "$(cat f)"',
    'bash -c "$X"',
    "$(echo rm) -rf d",
    "`echo rm` -rf d",
    '"$@" -rf d',
    "env $X",
    "env -S $X",
    "timeout $X",
    "nice $X -rf d",
    "command $X",
    "exec $X",
    "builtin eval $X",
    "echo rm | xargs -I{} {} -rf d",
    "ls | xargs rm",
    "ls | xargs sh",
    "ls | xargs -I{} sh -c '{}'",
    "find . -exec sh -c '{}' \\;",
    "find . -exec {} \\;",
    "printf 'rm -rf d' | sh",
    "echo x | base64 -d | bash",
    "curl x | sh",
    "bash -s <<< 'rm -rf d'",
    "bash <<< 'rm -rf d'",
    "bash <<E\nrm -rf d\nE",
    "bash <(echo rm -rf d)",
    "bash /dev/stdin <<< 'rm -rf d'",
    "bash $X",
    "source <(echo rm -rf d)",
    ". $X",
    "source /dev/stdin <<< 'rm -rf d'",
    ". /proc/self/fd/0",
    "f() { $1 -rf d; }; f rm",
    'f() { "$@"; }; f rm -rf d',
    "sh -c '$0 -rf d' rm",
    "sh -c 'rm \"$@\"' _ -rf d",
    "alias x='rm -rf'",
    "shopt -s expand_aliases",
    "enable -f ./x.so ls",
    "hash -p /bin/rm ls; ls -rf d",
    "BASH_ALIASES[x]='rm -rf'",
    "coproc $X",
    "r? -rf d",
    "rm $X d",
    "rm -f $(cat f)",
    "git $X",
    "git push origin $X",
    "npm $X",
    "npx $X",
    "npx npm $X",
    "trap $X EXIT",
    "PS4='$(rm -rf d)' bash -xc ls",
    "BASH_ENV='$(rm -rf d)' bash -c ls",
    "BASH_ENV=$X bash -c ls",
    "RANDOM='a[$(rm -rf d)]'",
    "x='a[$(sudo ls)]'; echo $((x))",
    "[[ -v 'a[$(rm -rf d)]' ]]",
    "[[ 'a[$(rm -rf d)]' -eq 1 ]]",
    "(( a['$(rm -rf d)'] ))",
    "let 'a[$(rm -rf d)]'",
    "declare -i x='a[$(rm -rf d)]'",
    "read 'a[$(rm -rf d)]'",
    "mapfile -C 'rm -rf d' -c 1 x",
    "unset 'a[$(rm -rf d)]'",
    "export GIT_PAGER='rm -rf d'",
    "GIT_SSH_COMMAND='rm -rf d' git fetch",
    "EDITOR='rm -rf d' git commit",
    "git -c alias.x='!rm -rf d' x",
    "git rebase -x 'rm -rf d' main",
    "git submodule foreach 'rm -rf d'",
    "git config alias.x '!rm -rf d'",
    "strace rm -rf d",
    "awk 'BEGIN{system(\"rm -rf d\")}'",
    "python3 -c 'import os; os.system(\"rm -rf d\")'",
    "sed '1e rm -rf d' a.ts",
    "ssh host sudo ls",
    "tar cf x --checkpoint-action=exec='rm -rf d' a.ts",
    "docker run x rm -rf /",
    "timeout --weird rm -rf d",
    "ls (",
    "ls 'a",
    "test -v 'a[$(rm -rf d)]'",
    "[ -v 'a[$(rm -rf d)]' ]",
    "printf -v 'a[$(rm -rf d)]' x",
    "wait -n -p 'a[$(rm -rf d)]'",
    "make SHELL='rm -rf d'",
    "make -f - <<< 'x: ; rm -rf d'",
    "make -f/dev/stdin",
    "at now <<< 'rm -rf d'",
    "echo rm -rf d | batch",
    "crontab - < x",
    "echo rm -rf d | parallel",
    "parallel ::: 'rm -rf d'",
    "parallel 'rm -rf {}' ::: d",
    "nodemon --exec 'rm -rf d'",
    "cargo watch -s'rm -rf d'",
    "concurrently 'ls; rm -rf d'",
    "npx concurrently 'npm publish'",
    "nix-shell --run 'npm publish'",
    "python -m sh -c 'rm -rf d'",
    "entr -s 'sudo ls'",
    "git rebase -x'rm -rf d' main",
    "git grep -O'rm -rf d' x",
    "tar -I'rm -rf d' -xf x",
    'node -e "$X"',
    'node --eval="$X"',
    'python3 -c "$(cat f)"',
    'perl -pe "$X" f',
  ];
  const ORDINARY = [
    "npm test",
    "npm test $X",
    "npm run build -- --outDir $DIR",
    "node x.js $X",
    "bash x.sh $X",
    "sh ./x.sh",
    "source ./x.sh",
    "make -j$(nproc)",
    "npx tsc",
    "npx -y create-x $NAME",
    "git add $X",
    'git commit -m "$(cat msg)"',
    'git commit -m "no sudo here"',
    "rm a.ts",
    "rm -f *.o",
    "rm -- $X",
    'rm "$PWD/$X"',
    'rm "src/$X"',
    "find . -name '*.o' -exec rm {} +",
    "find . -name '*.o' | xargs -n1 echo",
    "cat > f <<'E'\nnever rm -rf or sudo\nE",
    "export PATH=$PATH:x",
    "PATH=$PATH:x npm test",
    "for f in *.ts; do node x.js $f; done",
    "while read -r x; do echo $x; done < a.ts",
    "[[ -f a.ts ]] && echo yes",
    "case $X in a) ls;; esac",
    "(( i = 1 ))",
    "trap 'echo done' EXIT",
    "trap - EXIT",
    "set -euo pipefail",
    "awk '{print $1}' a.ts",
    "sed -i s/sudo/doas/ a.ts",
    "python3 -c 'print(1)'",
    "grep -r 'rm -rf' .",
    "echo $X",
    "echo ✔️",
    "curl -s https://x | jq .",
    "ssh host ls",
    'python -m pytest "$X"',
    'node --test "$X"',
    "make test",
    "make -f x.mk",
    "at -l",
    "crontab -l",
    "test -f 'a b'",
    "printf 'never rm -rf'",
    "gh pr create --title 'rm -rf fix' --body 'npm publish it'",
    "psql -c 'select 1'",
    "parallel echo ::: a b",
    "docker build -t 'a b' .",
  ];
  const is = async (line: string) =>
    (await judgeLine(line, root, NONE)).simple.some((one) => one.verdict === "unknown");
  for (const line of UNKNOWN)
    test(`${show(line)} is asked even then`, async () =>
      ok(await is(line), JSON.stringify(await judgeLine(line, root, NONE))));
  for (const line of ORDINARY)
    test(`${show(line)} is ordinary`, async () =>
      ok(!(await is(line)), JSON.stringify(await judgeLine(line, root, NONE))));
});

describe("denials with a *", () => {
  const rows: [line: string, deny: string, verdict: Judged["verdict"]][] = [
    ["npm test", "npm *", "deny"],
    ["npm", "npm *", "deny"],
    ["npmx test", "npm *", "ask"],
    ["npm run test:unit", "npm run test:*", "deny"],
    ["npm --silent run test:unit --watch", "npm run test:*", "deny"],
    ["npm run build", "npm run test:*", "ask"],
    ["/usr/bin/curl x", "cur*", "deny"],
    ["ls", "l*", "deny"],
    ["cat a.ts", "* a.ts", "deny"],
    ["cat b.ts", "* a.ts", "allow"],
    ["npm run 'a b'", "npm run a*b", "deny"],
    ["echo '*'", "echo x", "allow"],
  ];
  for (const [line, deny, verdict] of rows)
    test(`${show(line)} under '${deny}': ${verdict}`, async () =>
      equal((await judgeLine(line, root, { ...NONE, deny: [deny] })).verdict, verdict));
});

describe("what a command is told as", () => {
  const rows: [line: string, simple: string[]][] = [
    ["npm test", ["open npm test"]],
    ["CI=1 timeout 5 npm run 'a b'", ["open npm run 'a b'"]],
    ["npm test && rm -rf x; ls", ["open npm test", "deny rm -rf x", "allow ls"]],
    ["rm *.ts '*'", ["open rm *.ts '*'"]],
    ["rm $X 'a b'", ["unknown rm $X 'a b'"]],
    ["ls | xargs rm", ["allow ls", "unknown rm …"]],
    ["sudo ls", ["deny sudo ls"]],
    [
      "ls; sudo -u bob bash -c 'ls; pwd'",
      ["allow ls", "deny sudo -u bob bash -c 'ls; pwd'", "deny sudo -u bob bash -c 'ls; pwd'"],
    ],
    ["echo $(doas ls)", ["ask echo $(doas ls)", "deny doas ls"]],
    ["npx npm publish", ["deny npm publish"]],
    ["x=1", ["allow x=1"]],
    ["RANDOM=1", ["ask RANDOM=1"]],
    ["# nothing", ["allow # nothing"]],
    ["bash -c ''", ["allow :"]],
    ["ls > f", ["open ls"]],
    ["node x.js", ["open node x.js"]],
    ["node -e x", ["ask node -e x"]],
    ["git commit -m 'a b'", ["open git commit -m 'a b'"]],
    ["git -c a=b commit", ["ask git -c a=b commit"]],
    ["git st", ["ask git st"]],
    ["git show --textc HEAD", ["ask git show --textc HEAD"]],
    ["git rebase -ix y", ["ask git rebase -ix y"]],
    ["sort a.ts --outp=x", ["ask sort a.ts --outp=x"]],
    ["sort -no x", ["ask sort -no x"]],
    ["sort --debug", ["open sort --debug"]],
    ["tar cf x --checkpoint-act=exec=y", ["ask tar cf x --checkpoint-act=exec=y"]],
    ["ls() { npm test; }; ls", ["ask npm test", "ask ls"]],
    ["eval 'ls() { npm test; }'; ls", ["ask npm test", "ask ls"]],
    ["find . -delete", ["ask find . -delete"]],
    ["X=$(y) npm test", ["ask npm test", "ask y"]],
    ["[ -f a.ts ]", ["allow [ -f a.ts ]"]],
    ["npm test; echo $?", ["open npm test", "ask echo $?"]],
    ["npm test; echo $(ls)", ["ask npm test", "ask echo $(ls)", "ask ls"]],
  ];
  for (const [line, expected] of rows)
    test(show(line), async () => {
      const { simple } = await judgeLine(line, root, NONE);
      deepEqual(
        simple.map(({ verdict, text }) => `${verdict} ${text}`),
        expected,
      );
    });
  test("words are undefined where they are not known", async () => {
    const { simple } = await judgeLine("rm $X 'a b' *.ts {c,d}", root, NONE);
    deepEqual(simple[0]!.words, ["rm", undefined, "a b", "a.ts", "b.ts", "c", "d"]);
  });
});

describe("what is read and written, from where the line starts", () => {
  const rows: [line: string, reads: string[], writes: string[]][] = [
    ["cat a.ts -n -- -x -", ["a.ts", "-x"], []],
    ["cat *.ts 'c d'", ["a.ts", "b.ts", "c d"], []],
    ["cat nothing*", ["nothing*"], []],
    ["cat ~/x", [`${process.env.HOME}/x`], []],
    ["cat ./a.ts src/../a.ts", ["./a.ts", "src/../a.ts"], []],
    ["cat inside/../x.ts", [join(root, "src/x.ts")], []],
    ["cd src && cat x.ts > y", ["src/x.ts"], ["src/y"]],
    ["cd src; cat x.ts", ["x.ts", "src/x.ts"], []],
    ["cd src || cat x.ts", ["x.ts", "src/x.ts"], []],
    ["cd src & cat x.ts", ["x.ts"], []],
    ["cd src | cat x.ts", ["x.ts"], []],
    ["(cd src); cat x.ts", ["x.ts"], []],
    ["if cd src; then cat x.ts; fi", ["x.ts", "src/x.ts"], []],
    ["bash -c 'cd src'; cat x.ts", ["x.ts"], []],
    ["eval 'cd src' && cat x.ts", ["src/x.ts"], []],
    ["cd src && cd deep && cat ../x.ts", ["src/x.ts"], []],
    ["grep x a.ts b.ts < /dev/null", ["a.ts", "b.ts"], []],
    ["grep -e x a.ts", ["a.ts"], []],
    ["npm test < a.ts > f 2>> g 2>&1", ["a.ts"], ["f", "g"]],
    ["{ ls; pwd; } > f", [], ["f"]],
    ["bash -c 'cat a.ts > f' > g", ["a.ts"], ["f", "g"]],
    ["uniq a.ts out", ["a.ts", "out"], ["out"]],
    ["find src app -name x", ["src", "app"], []],
    ["git diff HEAD -- a.ts", ["HEAD", "a.ts"], []],
    ["echo *.ts", ["a.ts", "b.ts"], []],
    ["eval echo *.ts", ["a.ts", "b.ts"], []],
    ["eval uname *.ts", ["a.ts", "b.ts"], []],
    ["time eval -- echo *.ts", ["a.ts", "b.ts"], []],
    ["command eval echo *.ts", ["a.ts", "b.ts"], []],
    ["{ builtin eval printf %s *.ts; } | cat", ["a.ts", "b.ts"], []],
    ["eval eval echo *.ts", ["a.ts", "b.ts"], []],
    ["eval 'echo *.ts'", ["a.ts", "b.ts"], []],
  ];
  for (const [line, reads, writes] of rows)
    test(show(line), async () => {
      const judged = await judgeLine(line, root, NONE);
      deepEqual([judged.reads, judged.writes], [reads, writes]);
    });
  test("a glob that matches more than 500 files asks", async () => {
    const many = project("many", Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`f${i}`, ""])));
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
      [root, "rg x", "allow"],
    ] as const)
      equal((await judgeLine(line, dir, NONE)).verdict, verdict, line);
  });
  test("git diff of two folders without a repository asks", async () => {
    for (const line of ["git diff src .", "git diff src -- .", "git diff -- src ."])
      equal((await judgeLine(line, keys, NONE)).verdict, "ask", line);
  });
});

test("no text makes it throw, and none that it cannot read is allowed", async () => {
  const pieces = [
    "ls",
    "rm",
    " ",
    "\n",
    ";",
    "&&",
    "|",
    "(",
    ")",
    "{",
    "}",
    "$(",
    "`",
    "'",
    '"',
    "<<E",
    "\nE\n",
    "[[",
    "]]",
    "((",
    "case",
    "in",
    "esac",
    ";;",
    "do",
    "done",
    "for",
    "if",
    "then",
    "fi",
    "function",
    "${",
    "$((",
    "<(",
    "=(",
    "\\",
    "#",
    "!",
    "*",
    "~",
    "\ud83d",
    "\0",
    "é",
  ];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 14 }), async (all) => {
      const judged = await judgeLine(all.join(""), root, NONE);
      ok(judged.simple.length, "there is something to deny");
      ok(!/zz cannot judge/.test(judged.why) || judged.verdict !== "allow");
      if (judged.verdict === "allow") ok(!judged.runs.includes("rm"), all.join(""));
    }),
    { numRuns: 500, seed: 1 },
  );
});

/** Lines of quotes, escapes, braces, globs and separators; most are nonsense, and those that are allowed must not be. */
const PIECES = [
  "a",
  "b.ts",
  "ab",
  '"b c"',
  "'x y'",
  "\\ ",
  "\\",
  '"',
  "'",
  "$HOME",
  '"$HOME"',
  "$PWD",
  "~",
  "~/x",
  "*",
  "?",
  "[ab]",
  "[slug]",
  "[",
  "]",
  "{a,b}",
  "{",
  "}",
  ",",
  "#",
  "#x",
  "\t",
  "\n",
  ";",
  "&&",
  "|",
  "||",
  "&",
  "(",
  ")",
  "{ ",
  "; }",
  "! ",
  "2>&1",
  ">/dev/null",
  "<a.ts",
  "\\\n",
  "é",
  "😀",
  "=",
  "-n",
  "--",
  "$",
  "''",
  '""',
  "x=1",
  "CI=1 ",
  "if ",
  "; then ",
  "; fi",
  "for i in ",
  "; do ",
  "; done",
  "/",
  "./",
  "..",
  "{1..3}",
  "\\\\",
  '\\"',
  "\\$",
  '"\\a"',
  "|&",
  "1",
  "3<a.ts",
  "src/*",
  "*/",
  "app/*",
  "[!a]*",
  "echo ",
  "cat ",
  "ls ",
];

const SAMPLES = Number(process.env.ZZ_RUNS) || 500; // more of them: test/slow/random.test.ts

test("where a line is allowed, bash makes the same words of it", async () => {
  const lines: [line: string, words: string[]][] = [];
  const spaced = fc.array(fc.tuple(fc.constantFrom(...PIECES), fc.constantFrom("", "", " ", "  ")), { maxLength: 8 });
  const starts = fc.constantFrom("echo ", "cat ", "ls ", "");
  for (const [start, pieces] of fc.sample(fc.tuple(starts, spaced), { numRuns: SAMPLES, seed: 7 })) {
    const line = start + pieces.flat().join("");
    const judged = await judgeLine(line, root, NONE);
    if (judged.verdict === "allow") {
      const programs = judged.simple.filter(({ words }) => words.length);
      lines.push([line, programs.map(({ words }) => JSON.stringify(words)).sort()]);
    }
  }
  ok(lines.length > SAMPLES / 10, `only ${lines.length} were allowed`);
  const folder = mkdtempSync(join(base, "bash-"));
  for (const [i, [line]] of lines.entries()) writeFileSync(join(folder, `${i}.line`), line);
  const tell = `{ local s; printf -v s '%s\\x1f' "$@"; builtin printf '%s\\x1e' "$s" >> "$LOG"; }`;
  const names = ["echo", "cat", "ls"];
  const script = [
    ...names.map((name) => `${name}() { tell ${name} "$@"; }`),
    `tell() ${tell}`,
    `command_not_found_handle() { tell "$@"; }`,
    `export -f tell command_not_found_handle ${names.join(" ")}`,
    `for ((i = 0; i < ${lines.length}; i++)); do`,
    `IFS= read -r -d '' line < ${folder}/$i.line; export LOG=${folder}/$i.log; : > $LOG`,
    `bash -c -- "$line" < /dev/null > /dev/null 2> ${folder}/$i.errors`,
    "done",
  ].join("\n");
  const ran = spawnSync("bash", ["-c", script], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8" },
  });
  equal(ran.stderr, "");
  for (const [i, [line, words]] of lines.entries()) {
    const read = (end: string) => readFileSync(join(folder, `${i}.${end}`), "utf8");
    const got = read("log")
      .split("\x1e")
      .slice(0, -1)
      .map((one) => JSON.stringify(one.split("\x1f").slice(0, -1)));
    const strange = got.filter((one) => !words.includes(one));
    deepEqual(strange, [], `${JSON.stringify(line)} is ${words.join(" ")}`);
    const whole = !/\|\||&&|if|for|!/.test(line) && !read("errors") && !/2>|&>/.test(line);
    if (whole) deepEqual(got.sort(), words, JSON.stringify(line));
  }
});

test("the built one finds its grammar beside it, with no package near", async () => {
  const folder = join(base, "installed");
  const require = createRequire(import.meta.url);
  await build({
    stdin: { contents: 'export const load = () => import("./plugins/shell/judge/index.ts");', resolveDir: ROOT },
    outfile: undefined,
    outdir: join(folder, "dist"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    chunkNames: "chunks/[name]-[hash]",
    logLevel: "error",
  });
  const script = `const { load } = await import("./dist/stdin.js");
    const { judgeLine } = await load();
    console.log((await judgeLine("rm  -fr x", ".", { allow: [], deny: [], except: [] })).why);`;
  const run = () =>
    execFileSync(process.execPath, ["--input-type=module", "-e", script], { cwd: folder, encoding: "utf8" });
  match(run(), /^zz cannot judge it: /);
  for (const name of ["web-tree-sitter", "tree-sitter-bash"])
    copyFileSync(require.resolve(`${name}/${name}.wasm`), join(folder, "dist", `${name}.wasm`));
  equal(run(), "rm -rf is on the deny list\n");
  const { files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  ok(files.includes("dist/*.wasm"), "they are in the package");
});

test("none of the tables of dangerous lines is lost", () =>
  deepEqual(Object.keys(DANGEROUS), [
    "what the seeds let through",
    "the deny list",
    "the deny list behind wrappers",
    "what cannot be known before it runs",
    "what comes after a closed descriptor is a word of its own",
    "what is odd",
    "what is written",
    "options that write, run or wait",
    "git that may do more",
    "what is set",
    "what is set, and runs something or changes what runs",
    "wrappers that do more than run",
    "what may be what never runs",
    "what is read is for the gate",
  ]));
