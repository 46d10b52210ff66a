// Every tool, command and flag of zz's own, given names and words that no disk and no program takes: each answer is a sentence, not the system's words.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { sentenceOf } from "../../../kernel/faults.ts";
import { harness } from "../../../sdk/testing.ts";
import { place, zz } from "../../support/run.ts";

const WORDS: [what: string, word: string][] = [
  ["a name that is too long", "x".repeat(300)],
  ["a NUL character", "a\0b"],
  ["more than a program takes", "y".repeat(200_000)],
  ["half a character", "\ud800"],
];
const MAX_ARGUMENT = 100_000; // Linux starts no program with one of more than 128 KiB
const SYSTEM_WORDS = /\bE[A-Z0-9]{3,}\b: |\bspawn\b|null bytes|ERR_[A-Z]|TypeError|RangeError|\[object |\n\s+at /;

test("no tool answers in the system's own words", async (t) => {
  const files = { "a.ts": "export const a = 1;\n" };
  const zz = await harness({ own: true, files, answer: async (_, keys) => (keys ? "y" : "") }, t);
  execFileSync("git", ["init", "-q", zz.root]);
  const all = await zz.command("/tools");
  ok(all.length > 0);
  await zz.ask("hi");
  const wrong: string[] = [];
  let calls = 0;
  for (const { name, schema } of zz.requests[0]!.tools as any)
    for (const [param, { type, items }] of Object.entries<any>(schema.properties))
      for (const [what, word] of WORDS) {
        const given = type === "array" && items?.type === "string" ? [word] : type === "string" ? word : undefined;
        if (given === undefined) continue;
        const others = schema.required?.filter((one: string) => schema.properties[one].type === "string") ?? [];
        const { text, failed } = await zz.call(name, {
          ...Object.fromEntries(others.map((one: string) => [one, "a.ts"])),
          [param]: given,
        });
        calls++;
        if (failed && SYSTEM_WORDS.test(text))
          wrong.push(`${name}, ${param}: ${what}: ${text.replace(/([xy])\1+/g, "$1…").slice(0, 200)}`);
      }
  ok(calls > 100, `${calls} calls`);
  deepEqual(wrong, []);
});

test("no command answers in the system's own words", async (t) => {
  const zz = await harness({ own: true, files: { "a.ts": "" }, answer: async () => "" }, t);
  const names = (await zz.command("/help")).flatMap((line) =>
    [...line.matchAll(/^\s*\/([\w-]+)/gm)].map(([, name]) => name!),
  );
  const wrong: string[] = [];
  let commands = 0;
  for (const name of names.filter((one) => !/^(js|quit|exit|update)$/.test(one)))
    for (const [what, word] of WORDS) {
      const said = await zz.command(`/${name} ${word}`).catch((error) => [sentenceOf(error)]);
      commands++;
      const system = said.find((line) => SYSTEM_WORDS.test(line));
      if (system) wrong.push(`/${name}: ${what}: ${system.replace(/([xy])\1+/g, "$1…").slice(0, 200)}`);
    }
  ok(commands > 100, `${commands} commands`);
  deepEqual(wrong, []);
});

test("no flag answers in the system's own words", async () => {
  const where = place();
  const { stdout } = await zz(where, ["--help"]);
  const flags = [...new Set([...stdout.matchAll(/--[a-z][\w-]+/g)].map(([flag]) => flag))];
  const wrong: string[] = [];
  let runs = 0;
  for (const flag of flags.filter((one) => !/^--(mcp|acp|setup|debug)$/.test(one)))
    for (const [what, word] of WORDS.filter(([, word]) => !word.includes("\0"))) {
      const { code, stderr } = await zz(where, ["--model", "offline", flag, word.slice(0, MAX_ARGUMENT), "hi"]);
      runs++;
      if (SYSTEM_WORDS.test(stderr) || ![0, 1, 2, 3, 4].includes(code ?? -1))
        wrong.push(`${flag}: ${what}: ${code}: ${stderr.replace(/([xy])\1+/g, "$1…").slice(0, 200)}`);
    }
  ok(runs > 100, `${runs} runs`);
  deepEqual(wrong, []);
});
