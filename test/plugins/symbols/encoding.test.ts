// Files in UTF-16, with its mark, and in Latin-1: every tool for reading code shows their text, and none its bytes.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { type Files, warmCall } from "../../support/warm.ts";

const little = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");
const big = (text: string): Buffer => little(text).swap16();
const ENCODINGS: [name: string, encode: (text: string) => Buffer][] = [
  ["UTF-16", little],
  ["UTF-16, the other way round", big],
  ["Latin-1", (text) => Buffer.from(text, "latin1")],
];

const call = async (files: Files, tool: string, args: object) => (await warmCall(files, tool, args)).said;

const PYTHON = `# TODO: Grüße
class Größe:
    def maß(self):
        if self: return "ß"

größte = Größe()
`;

for (const [name, encode] of ENCODINGS)
  describe(`Python in ${name}`, () => {
    const files = { "a.py": encode(PYTHON) };
    const answers: [tool: string, args: object, answer: string][] = [
      ["get_function", { name: "maß" }, 'a.py:3-4\n3\t    def maß(self):\n4\t        if self: return "ß"'],
      [
        "get_class",
        { name: "Größe", path: "a.py" },
        'a.py:2-4\n2\tclass Größe:\n3\t    def maß(self):\n4\t        if self: return "ß"',
      ],
      ["get_todos", {}, "a.py:1: TODO: Grüße"],
      [
        "get_complexity",
        { path: "a.py" },
        "a.py: score 5 = 1 branches + 2 × 2 nesting + 0 imports + 4 lines / 20\n3-4: Größe.maß: 2 paths, 2 lines",
      ],
      ["find_definition", { symbol: "Größe" }, "a.py:2: class Größe  // TODO: Grüße"],
      [
        "get_structure",
        { path: "a.py" },
        "a.py · 4 lines of code\n2-4: class Größe\n  3-4: def maß(self)\n6-6: größte = Größe()",
      ],
    ];
    for (const [tool, args, answer] of answers)
      test(`${tool} ${JSON.stringify(args)}`, async () => equal(await call(files, tool, args), answer));
    test("find_references", async () => {
      const said = await call(files, "find_references", { symbol: "Größe" });
      match(said, /\na\.py:2: class Größe: {2}\[definition\]\na\.py:6: größte = Größe\(\)$/);
    });
  });

for (const [name, encode] of ENCODINGS)
  test(`a rename sees the use in a component in ${name}`, async () => {
    const component = '<script setup lang="ts">\nimport { total } from "./total";\ntotal(1);\n</script>\n';
    const files = {
      "total.ts": "export const total = (n: number) => n;\n",
      "A.vue": encode(component.replace("(1)", "('ß')")),
    };
    const said = await call(files, "rename_symbol", { symbol: "total", to: "renamed" });
    match(said, /^Cannot rename 'total' to 'renamed': components and pages use it too/);
    match(said, /^A\.vue:3: total\('ß'\);$/m);
  });

for (const [name, encode] of ENCODINGS.slice(0, 2))
  test(`settings in ${name} say where imports lead, as TypeScript reads them`, async () => {
    const files = {
      "tsconfig.json": encode('{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } }'),
      "lib/one.ts": "export const one = 1;\n",
      "a.ts": 'import { one } from "@/one";\none;\n',
    };
    equal(await call(files, "get_dependencies", { path: "a.ts" }), "a.ts:1: @/one → lib/one.ts {one}");
    doesNotMatch(await call(files, "check_types", { paths: ["a.ts"] }), /TS/);
  });
