// Files in UTF-16, with its mark, and in Latin-1: every tool for reading code shows their text, and none its bytes.
import { doesNotMatch, equal, match } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { type Place, place, zz } from "../../support/run.ts";

const little = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");
const big = (text: string): Buffer => little(text).swap16();
const ENCODINGS: [name: string, encode: (text: string) => Buffer][] = [
  ["UTF-16", little],
  ["UTF-16, the other way round", big],
  ["Latin-1", (text) => Buffer.from(text, "latin1")],
];

function project(files: Record<string, string | Buffer>): Place {
  const where = place();
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(dirname(join(where.cwd, name)), { recursive: true });
    fs.writeFileSync(join(where.cwd, name), content);
  }
  return where;
}
async function call(where: Place, tool: string, args: object): Promise<string> {
  const { stdout, stderr } = await zz(where, ["--allow-write", "--call", tool, JSON.stringify(args)]);
  return (stdout + stderr).trimEnd();
}

const PYTHON = `# TODO: Grüße
class Größe:
    def maß(self):
        if self: return "ß"

größte = Größe()
`;

for (const [name, encode] of ENCODINGS)
  describe(`Python in ${name}`, () => {
    const where = project({ "a.py": encode(PYTHON) });
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
      test(`${tool} ${JSON.stringify(args)}`, async () => equal(await call(where, tool, args), answer));
    test("find_references", async () => {
      const said = await call(where, "find_references", { symbol: "Größe" });
      match(said, /\na\.py:2: class Größe: {2}\[definition\]\na\.py:6: größte = Größe\(\)$/);
    });
  });

for (const [name, encode] of ENCODINGS)
  test(`a rename sees the use in a component in ${name}`, async () => {
    const component = '<script setup lang="ts">\nimport { total } from "./total";\ntotal(1);\n</script>\n';
    const where = project({
      "total.ts": "export const total = (n: number) => n;\n",
      "A.vue": encode(component.replace("(1)", "('ß')")),
    });
    const said = await call(where, "rename_symbol", { symbol: "total", to: "renamed" });
    match(said, /^Cannot rename 'total' to 'renamed': components and pages use it too/);
    match(said, /^A\.vue:3: total\('ß'\);$/m);
  });

for (const [name, encode] of ENCODINGS.slice(0, 2))
  test(`settings in ${name} say where imports lead, as TypeScript reads them`, async () => {
    const where = project({
      "tsconfig.json": encode('{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } }'),
      "lib/one.ts": "export const one = 1;\n",
      "a.ts": 'import { one } from "@/one";\none;\n',
    });
    equal(await call(where, "get_dependencies", { path: "a.ts" }), "a.ts:1: @/one → lib/one.ts {one}");
    doesNotMatch(await call(where, "check_types", { paths: ["a.ts"] }), /TS/);
  });
