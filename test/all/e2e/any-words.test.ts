// Whatever a command, a flag or a tool is given, it answers with a sentence: nothing of JavaScript
// shows, and nothing that every object has is taken for an entry of a table.
import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { harness } from "zz/test";
import { sentenceOf } from "zz/text";
import { place, zz } from "../../support/run.ts";

const OF_JAVASCRIPT =
  /undefined|\[object|\bNaN\b|native code|is not (a function|iterable)|Cannot read propert|(Type|Reference|Range)Error|E(NOENT|ISDIR|ACCES|NOTDIR|NAMETOOLONG)|at .*\.ts:\d+:\d+|Infinity/;
const WORDS = [
  "", "x", "-1", "0", "999999999999999999", "..", "/nowhere/at-all", "a b c", "'", '"', "--help", "#1", "#", "é漢😀", "\u0007\u001b[31mx",
  "x".repeat(3_000), "on", "off", "list", "load x", "add x", "drop nothing", "set a b", "remove x", '{"a":1}', "toString", "__proto__", "constructor", "valueOf x",
  "a.txt", "src", "@a.txt", "model x", "=", "openai/", "1-2", "a.txt:1:1", "name with 'quotes'", "  spaced   out  ", "a\nb",
]; // biome-ignore format: one by one they take a screen
/** What they run or open is not zz's to answer for. */
const OTHERS = new Set(["js", "exit", "edit", "serve", "install"]);
const FILES = { "a.txt": "b\na\n", "src/a.ts": "export const a = 1;\n", "package.json": "{}" };

const instance = (t: { after(act: () => void): void }) =>
  harness({ own: true, files: FILES, answer: "no", script: ["Fine."] }, t);

test("Any words after a command", async (t) => {
  const { ctx } = await instance(t);
  for (const { name } of ctx.about.commands.filter(({ name }) => !OTHERS.has(name))) {
    const kit = await instance(t);
    await kit.ask("hello");
    for (const words of WORDS) {
      const said = await kit
        .command(`/${name} ${words}`)
        .then((notes) => notes.join("\n"), sentenceOf);
      ok(!OF_JAVASCRIPT.test(said.replaceAll(words || " ", " ")), `/${name} ${words}: ${said}`);
    }
    await kit.close();
  }
});

const VALUES = ["", "constructor", "__proto__", -1, 1e21, null, true, [], ["toString"], { constructor: 1 }, "/nowhere/at-all", "..", "\u0000", "x".repeat(3_000), "(", "*"]; // biome-ignore format: one by one they take a screen

test("Any arguments of a tool", async (t) => {
  const { ctx } = await instance(t);
  // what they ask is another model, or a server elsewhere
  const tools = ctx.about.tools.filter(({ name }) => !/^(task|web_|fetch)/.test(name));
  for (const tool of tools) {
    const kit = await instance(t);
    const { properties = {} } = tool.schema as { properties?: object };
    const fitting = Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, likely(name, schema)]),
    );
    const calls = Object.keys(properties).flatMap((name) =>
      VALUES.map((value): object => ({ ...fitting, [name]: value })),
    );
    for (const key of ["constructor", "__proto__", "toString"])
      calls.push({ ...fitting, ...JSON.parse(`{"${key}":"a"}`) });
    for (const args of [fitting, {}, ...calls]) {
      const { text } = await kit.call(tool.name, args);
      const said = Object.values(args).reduce<string>(withoutValue, text);
      ok(!OF_JAVASCRIPT.test(said), `${tool.name} ${JSON.stringify(args)}: ${text}`);
    }
    await kit.close();
  }
});

const withoutValue = (said: string, value: unknown): string =>
  String(value).length > 3 ? said.replaceAll(String(value), "…") : said;

function likely(name: string, { type }: { type?: string }): unknown {
  if (/path|file/.test(name)) return type === "array" ? ["src/a.ts"] : "src/a.ts";
  return /number|integer/.test(type ?? "") ? 1 : "a";
}

/** They stay, ask a server elsewhere, or show where an error comes from. */
const OTHER_FLAGS = new Set(
  "serve telegram mcp acp queue worker run install update debug".split(" "),
);

test("Any value of a flag", async (t) => {
  const where = place(FILES);
  const { ctx } = await instance(t);
  const flags = ctx.about.flags.filter(({ name }) => !OTHER_FLAGS.has(name));
  ok(flags.length > 80, `${flags.length} flags`);
  const wrong: string[] = [];
  for (const { name, value } of flags)
    for (const word of ["", "constructor", "__proto__", "-1", "é", "a b", "src"]) {
      const args = value ? [`--${name}=${word}`] : [`--${name}`, word];
      const { stdout, stderr } = await zz(where, [...args, "-m", "offline"], { input: "hi" });
      if (OF_JAVASCRIPT.test(stdout + stderr)) wrong.push(`${args.join(" ")}: ${stderr || stdout}`);
    }
  deepEqual(wrong, []);
});
