// A policy in a plugin, as docs/plugins.md shows one: it sees each file that would change, by
// whatever tool or command, before it changes.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Judged, Need, Ruling, Zz } from "zz";
import { type Harness, harness, type Setup } from "../../sdk/testing.ts";
import { snippet } from "../support/pages.ts";
import { place } from "../support/run.ts";
import { some } from "../support/runs.ts";
import { viewTest } from "../support/view.ts";

const nameOf = (need: Need) => (typeof need === "string" ? need : need.name);
const FILES = {
  "prod/a.ts": "export const first = 1;\n",
  "b.ts": 'import { first } from "./prod/a.ts";\nexport const b = first;\n',
  "c.txt": "c\n",
};

const PATCH =
  "*** Begin Patch\n*** Update File: prod/a.ts\n@@\n-export const first = 1;\n+x\n*** End Patch";
/** Calls whose changes reach prod/, and the tools that make them. */
const CALLS: [tool: string, args: object][] = [
  ["own_tool", {}],
  ["write_file", { path: "prod/a.ts", content: "x\n" }],
  ["write_file", { path: "./b/../prod/new.ts", content: "x\n" }],
  ["create_file", { path: "prod/new.ts", content: "x\n" }],
  ["edit_file", { path: "prod/a.ts", old_string: "1", new_string: "2" }],
  ["edit_lines", { path: "prod/a.ts", start: 1, end: 1, content: "x" }],
  ["delete_file", { path: "prod/a.ts" }],
  ["move_file", { from: "prod/a.ts", to: "c.ts" }],
  ["move_file", { from: "c.txt", to: "prod/c.txt" }],
  ["apply_patch", { patch: PATCH }],
  ["run_command", { command: "sed -i s/1/2/ prod/a.ts" }],
  ["run_command", { command: "rm -r prod" }],
  ["run_command", { command: "mv b.ts prod/" }],
];

/** What the policy sees, and a zz that obeys it. */
async function guarded(
  t: { after(done: () => Promise<void>): void },
  ruling: Ruling,
  more: Setup = {},
) {
  const seen: string[][] = [];
  const policy = (zz: Zz) => {
    zz.tool({
      name: "own_tool",
      description: "d",
      changes: true,
      run: async (_, { files }) => {
        await files.write("prod/a.ts", "x\n");
        return "done";
      },
    });
    zz.wrap("gate", (judged: Judged, next: (judged: Judged) => Promise<Ruling>) => {
      const names = (judged.needs.write ?? []).map(nameOf);
      seen.push(names);
      return names.some((name) => name.startsWith("prod")) ? ruling : next(judged);
    });
  };
  const zz = await harness(
    {
      own: true,
      files: FILES,
      plugins: [{ name: "policy", default: policy }],
      answer: "yes",
      ...more,
    },
    t,
  );
  return { zz, seen };
}
const state = (zz: Harness) => [
  zz.read("prod/a.ts"),
  zz.read("prod/new.ts"),
  zz.read("b.ts"),
  zz.read("c.ts"),
];
const BEFORE = [FILES["prod/a.ts"], undefined, FILES["b.ts"], undefined];

describe("a policy that denies a folder", () => {
  for (const allow of [{}, { write: true as const }])
    for (const [tool, args] of allow.write ? CALLS.slice(0, 4) : CALLS)
      (tool === "run_command" ? viewTest : test)(
        `${tool} ${JSON.stringify(args)}${allow.write ? " under --allow-write" : ""}`,
        async (t) => {
          const { zz } = await guarded(
            t,
            { verdict: "deny", why: "production is frozen" },
            { allow },
          );
          const { text, refused } = await zz.call(tool, args);
          match(
            text,
            tool === "run_command" ? /production is frozen/ : /^Refused: production is frozen\.$/,
          );
          ok(refused);
          deepEqual(state(zz), BEFORE);
        },
      );
});

test("a policy that asks does so where all edits are allowed; it sees each change once, and others go on as ever", async (t) => {
  const { zz, seen } = await guarded(
    t,
    { verdict: "ask", why: "production needs a look" },
    { allow: { write: true } },
  );
  await zz.call("write_file", { path: "b.ts", content: "x\n" });
  deepEqual([zz.questions.length, zz.read("b.ts")], [0, "x\n"]);
  await zz.call("write_file", { path: "prod/a.ts", content: "x\n" });
  equal(zz.questions.length, 1);
  match(
    zz.questions[0]!,
    /write_file wants to change prod\/a\.ts\.\n┠ production needs a look\.\n[\s\S]*\+ x/,
  );
  equal(zz.read("prod/a.ts"), "x\n");
  deepEqual(seen, [[], ["b.ts"], [], ["prod/a.ts"]]);
});

describe("the policy that docs/plugins.md prints, as it stands there", () => {
  const everything = { read: true, write: true, run: true, net: true, env: true } as const;
  /** What happens in front of the person; "asked" and "not asked" where nothing is refused by the
   * policy itself. */
  const ROWS: [
    tool: string,
    args: object,
    allow: typeof everything | object,
    said: RegExp | "asked" | "not asked",
  ][] = [
    ["write_file", { path: "prod/a.ts", content: "x\n" }, everything,
      /^Refused: prod\/ is frozen\.$/],
    ["write_file", { path: "./b/../PROD/new.ts", content: "x\n" }, everything,
      /^Refused: prod\/ is frozen\.$/],
    ["write_file", { path: "b.ts", content: "x\n" }, everything, "not asked"],
    ["run_command", { command: "echo x > prod/a.ts" }, everything, /Refused: prod\/ is frozen\./],
    ["run_command", { command: "rm -r prod" }, everything, /Refused: prod\/ is frozen\./],
    ["run_command", { command: "mv prod old" }, everything, /Refused: prod\/ is frozen\./],
    ["run_command", { command: "node -e 'fs.rmSync(\"prod/a.ts\")'" }, {},
      /Refused: prod\/ is frozen\./],
    ["run_command", { command: "node -e 'fs.rmSync(\"prod/a.ts\")'" }, everything, "asked"],
    ["run_command", { command: "X=prod/a.ts; echo x > $X" }, everything,
      /Refused: prod\/ is frozen\./],
    ["run_command", { command: "X=prod/a.ts; echo x > $X", direct: true }, everything, "asked"],
    ["run_command", { command: "echo x > prod/a.ts", direct: true }, everything,
      /^Refused: prod\/ is frozen\.$/],
    ["run_command", { command: "npm test" }, { run: ["npm test"] }, "asked"],
    ["run_command", { command: "git status" }, everything, "not asked"],
    ["run_command", { command: "ls" }, {}, "not asked"],
    ["runs_something", {}, everything, "asked"],
    ["only_holds", {}, everything, "not asked"],
  ]; // biome-ignore format: a table
  const tools = (zz: Zz) => {
    zz.tool({ name: "runs_something", description: "d", kind: "run", run: () => "ran" });
    const needs = () => ({ run: ["own"], unresolved: false });
    zz.tool({ name: "only_holds", description: "d", kind: "run", needs, run: () => "ran" });
  };
  for (const [tool, args, allow, said] of some(ROWS, 2))
    viewTest(
      `${tool} ${JSON.stringify(args)}${allow === everything ? ", all allowed" : ""}`,
      async (t) => {
        const file = join(place({ "policy.ts": snippet("is frozen") }).cwd, "policy.ts");
        const plugins = [file, { name: "tools", default: tools }];
        const zz = await harness({ own: true, files: FILES, plugins, allow, answer: "no" }, t);
        const { text } = await zz.call(tool, args);
        const asked = zz.questions.some((one) => /it may change prod\/, which is frozen/.test(one));
        if (typeof said === "string") equal(asked ? "asked" : "not asked", said, text);
        else match(text, said);
        equal(zz.read("prod/a.ts"), FILES["prod/a.ts"]);
      },
    );
});
