// zz --completion: what a real bash completes with it; zz itself is a function that prints rows.
import { equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { place, zz } from "../support/run.ts";

const { stdout: script } = await zz(place(), ["--completion", "bash"]);
/** 10,000 sessions, of which the newest are enough. */
const ROWS = `zz() { case $1 in
  --models) printf '%s\\n' 'ollama/qwen3:8b  40960 tokens' 'openai/m' ;;
  --sessions) seq -f '2026-%g  a title' 10000 ;;
  --tools) echo 'read_file  reads' ;;
esac; }`;

const complete = (...words: string[]): string[] => {
  const typed = words.map((word) => `'${word}'`).join(" ");
  const line = `${ROWS}\n${script}\nCOMP_WORDS=(zz ${typed}); COMP_CWORD=${words.length}; _zz; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["--norc", "-c", line], { encoding: "utf8" }).trim().split("\n");
};

for (const [typed, becomes] of [
  ["--eff", "--effort"],
  ["--effort h", "high"],
  ["-m ollama/", "ollama/qwen3:8b"],
  ["--model openai/", "openai/m"],
  ["--session 2026-1 ", "2026-1"],
  ["-T re", "read_file"],
  ["-t expl", "explain"],
  ["--keys = r", "remove"],
  ["--completion f", "fish"],
  ["word", ""],
] as const)
  test(`bash completes zz ${typed}`, () => {
    equal(complete(...typed.trim().split(" "))[0], becomes);
  });

test("a home of 10,000 sessions gives the newest 500", () => {
  equal(complete("--session", "").length, 500);
});

test("zsh and fish get the same values, and another shell a sentence", async () => {
  const printed = async (shell: string) => zz(place(), ["--completion", shell]);
  const { stdout } = await printed("zsh");
  match(
    stdout,
    /_zz_effort\(\) \{ compadd -- none low medium high \}[\s\S]*'\*--effort\[.*\]:value:_zz_effort' \\/,
  );
  match((await printed("zsh")).stdout, /_zz_model\(\) \{ compadd -- \$\{\(f\)"\$\(zz --models /);
  match(
    (await printed("fish")).stdout,
    /^complete -c zz -l effort -xa "none low medium high" -d /m,
  );
  const { code, stderr } = await printed("tcsh");
  equal(code, 2);
  match(stderr, /^Cannot complete for 'tcsh': only for bash, zsh and fish/);
});
