// Every tool, command and flag of zz's own, given names and words that no disk and no program
// takes: each answer is a sentence, not the system's words.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sentenceOf } from "../../../kernel/text/faults.ts";
import { harness } from "../../../sdk/testing.ts";
import { place, zz } from "../../support/run.ts";

const WORDS: [what: string, word: string][] = [
  ["a name that is too long", "x".repeat(300)],
  ["a NUL character", "a\0b"],
  ["more than a program takes", "y".repeat(200_000)],
  ["half a character", "\ud800"],
  ["a folder", "folder"],
  ["a file as a folder", "a.ts/in"],
  ["a link to itself", "loop"],
];
const FILES = { "a.ts": "export const a = 1;\n", "folder/in.txt": "x\n" };
const MAX_ARGUMENT = 100_000; // Linux starts no program with one of more than 128 KiB
const SYSTEM_WORDS =
  /\bE[A-Z0-9]{3,}\b: |\bspawn\b|errno|syscall|\bZ_[A-Z]|incorrect header|fetch failed|null bytes|ERR_[A-Z]|TypeError|RangeError|\[object |\n\s+at /;

/** Says each of the words, and looks at what comes of it. */
async function answers(
  names: string[],
  say: (name: string, word: string) => Promise<string | undefined>,
) {
  const wrong: string[] = [];
  let said = 0;
  for (const name of names)
    for (const [what, word] of WORDS) {
      const text = await say(name, word);
      if (text === undefined) continue;
      said++;
      if (SYSTEM_WORDS.test(text))
        wrong.push(`${name}: ${what}: ${text.replace(/([xy])\1+/g, "$1…").slice(0, 200)}`);
    }
  ok(said > 100, `${said} of ${names}`);
  deepEqual(wrong, []);
}

test("no tool answers in the system's own words", async (t) => {
  const zz = await harness(
    { own: true, files: FILES, answer: async (_, keys) => (keys ? "y" : "") },
    t,
  );
  symlinkSync("loop", join(zz.root, "loop"));
  execFileSync("git", ["init", "-q", zz.root]);
  await zz.command("/tools");
  await zz.ask("hi");
  const tools = new Map(zz.requests[0]!.tools.map(({ name, schema }) => [name, schema as any]));
  const params = [...tools].flatMap(([name, { properties }]) =>
    Object.keys(properties).map((param) => `${name} ${param}`),
  );
  await answers(params, async (call, word) => {
    const [name, param] = call.split(" ") as [string, string];
    const { properties, required = [] } = tools.get(name);
    const { type, items } = properties[param];
    if (type !== "string" && items?.type !== "string") return undefined;
    const others = required.filter((one: string) => properties[one].type === "string");
    const args = Object.fromEntries(others.map((one: string) => [one, "a.ts"]));
    const { text, failed } = await zz.call(name, {
      ...args,
      [param]: type === "string" ? word : [word],
    });
    return failed ? text : "";
  });
});

test("no command answers in the system's own words", async (t) => {
  const zz = await harness({ own: true, files: FILES, answer: async () => "" }, t);
  symlinkSync("loop", join(zz.root, "loop"));
  const help = (await zz.command("/help")).join("\n");
  const names = [...help.matchAll(/^\s*\/([\w-]+)/gm)].map(([, name]) => name!);
  const usual = names.filter((one) => !/^(js|quit|exit|update)$/.test(one));
  await answers(usual, async (name, word) =>
    (await zz.command(`/${name} ${word}`).catch((error) => [sentenceOf(error)])).join("\n"),
  );
});

test("no flag answers in the system's own words", async () => {
  const where = place(FILES);
  symlinkSync("loop", join(where.cwd, "loop"));
  const { stdout } = await zz(where, ["--help"]);
  const flags = [...new Set([...stdout.matchAll(/--[a-z][\w-]+/g)].map(([flag]) => flag))];
  const usual = flags.filter((one) => !/^--(mcp|acp|setup|debug)$/.test(one));
  await answers(usual, async (flag, word) => {
    if (word.includes("\0")) return undefined;
    const { code, stderr } = await zz(where, [
      "--model",
      "offline",
      flag,
      word.slice(0, MAX_ARGUMENT),
      "hi",
    ]);
    return [0, 1, 2, 3, 4].includes(code ?? -1) ? stderr : `TypeError: ended with ${code}`;
  });
});
