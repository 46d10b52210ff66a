// Files in UTF-16, with its mark, and in Latin-1: every tool for reading code shows their text, and
// none its bytes.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { type Files, warmCall } from "../../../test/support/warm.ts";

const little = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");
const big = (text: string): Buffer => little(text).swap16();
const ENCODINGS: [name: string, encode: (text: string) => Buffer][] = [
  ["UTF-16", little],
  ["UTF-16, the other way round", big],
  ["Latin-1", (text) => Buffer.from(text, "latin1")],
];

const call = async (files: Files, tool: string, args: object) =>
  (await warmCall(files, tool, args)).said;

const PYTHON = `# TODO: Grüße
class Größe:
    def maß(self):
        if self: return "ß"

größte = Größe()
`;

const ANSWERS: [tool: string, args: object, answer: string | RegExp][] = [
  ["find_definition", { symbol: "Größe" }, "a.py:2: class Größe  // TODO: Grüße"],
  [
    "get_function",
    { name: "maß" },
    'a.py:3-4\n3\t    def maß(self):\n4\t        if self: return "ß"',
  ],
  [
    "get_structure",
    { path: "a.py" },
    /^a\.py · 4 lines of code\n2-4: class Größe\n {2}3-4: def maß\(self\)\n6-6: gr/,
  ],
  [
    "find_references",
    { symbol: "Größe" },
    /\na\.py:2: class Größe: {2}\[definition\]\na\.py:6: größte = Größe\(\)$/,
  ],
];
for (const [name, encode] of ENCODINGS)
  for (const [tool, args, answer] of name === "UTF-16" ? ANSWERS : ANSWERS.slice(0, 2))
    test(`Python in ${name}: ${tool} ${JSON.stringify(args)}`, async () => {
      const said = await call({ "a.py": encode(PYTHON) }, tool, args);
      if (typeof answer === "string") equal(said, answer);
      else match(said, answer);
    });

test("a rename sees the use in a component in Latin-1", async () => {
  const component = `<script setup lang="ts">\nimport { total } from "./total";\ntotal('ß');\n</script>\n`;
  const files = {
    "total.ts": "export const total = String;\n",
    "A.vue": Buffer.from(component, "latin1"),
  };
  const said = await call(files, "rename_symbol", { symbol: "total", to: "renamed" });
  match(said, /^Cannot rename 'total' to 'renamed': components and pages use it too/);
  match(said, /^A\.vue:3: total\('ß'\);$/m);
});

test("settings in UTF-16 say where imports lead, as TypeScript reads them", async () => {
  const files = {
    "tsconfig.json": little('{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } }'),
    "lib/one.ts": "export const one = 1;\n",
    "a.ts": 'import { one } from "@/one";\none;\n',
  };
  equal(
    await call(files, "get_dependencies", { path: "a.ts" }),
    "a.ts:1: @/one → lib/one.ts {one}",
  );
  doesNotMatch(await call(files, "check_types", { paths: ["a.ts"] }), /TS/);
});
