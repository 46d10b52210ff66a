// Language servers that hang, die, flood, send what cannot be read or used, or name files outside
// of the project: the index answers by name, and says so in one sentence. The server is a program
// of its own, found on the PATH as gopls is.
import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tryTo } from "zz/text";
import { having } from "../../../../test/support/having.ts";
import { needs } from "../../../../test/support/needs.ts";
import { repl } from "../../../../test/support/repl.ts";
import { harness } from "../../../../test/support/script.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import { asked, FILES, folder, installServer, takesOver } from "../strange-server.ts";

takesOver({
  "answers nothing": ["", "it gave no answer in 0.3 s"],
  "ends at once": [
    'console.error("no go\\n    at x"); process.exit(3)',
    "it ended with exit code 3; its last words: no go",
  ],
  floods: [
    'const flood = () => process.stdout.write(whole(`{"jsonrpc":"2.0","method":"x","params":["${"a".repeat(1e6)}"]}`), flood); flood()',
    "it sent far more than anybody asked for",
  ],
  "sends what cannot be read": [
    'process.stdout.write("x\\r\\n\\r\\nx")',
    "it sent something that cannot be read",
  ],
  "sends no list": ["send({ id, result: { a: 1 } })", "it sent an answer that cannot be used"],
  "names a line that is none": [
    "send({ id, result: [place('a.go', -1)] })",
    "it sent an answer that cannot be used",
  ],
});

needs("bwrap")("of a language server's places only those in the project are shown", async () => {
  const places = [
    "'a.go', 2",
    "'c%0Ad.go', 1",
    "'/etc/passwd', 0",
    "'../b.go', 1",
    "'node_modules/x/x.go', 1",
    "'c.go', 2",
    "'c.go', 99",
    "'none.go', 0",
  ];
  const { text, rows } = await asked(
    `send({ id, result: [${places.map((one) => `place(${one})`).join()}] })`,
  );
  const begun = rows.map((row) => row.split(": ")[0]);
  deepEqual(begun, ["a.go:3", "c.go:3"]);
  doesNotMatch(text, /By name|passwd|b\.go|x\.go/);
});

needs("bwrap")(
  "TypeScript's language server, killed in between, is started once more, and ends with zz",
  async () => {
    const files = {
      "a.ts": "export const lamp = 1;\n",
      "b.ts": 'import { lamp as light } from "./a";\nlight;\n',
    };
    const zz = await harness({ own: true, files: { ...files, "tsconfig.json": "{}" } });
    const ask = async () => (await zz.call("find_references", { symbol: "lamp" })).text;
    const first = await ask();
    match(first, /^b\.ts:2: light;$/m);
    const server = () => servers((_, parent) => parent === `${process.pid}`)[0];
    process.kill(server()!, "SIGKILL");
    equal(await ask(), first);
    const before = server();
    // it may have changed packages, which no list has
    await zz.call("run_command", { command: "true" });
    equal(await ask(), first);
    notEqual(server(), before);
    await zz.close();
  },
);

needs("bwrap", "clangd")(
  "of a server that knows just what it was shown, every caller is told",
  async (t) => {
    const head = '#include "lamp.h"\n';
    const files = {
      "lamp.h": "int lamp(int x);\n",
      "lamp.c": `${head}int lamp(int x) { return x; }\nint inside(void) { return lamp(2); }\n`,
      "far.c": `${head}int far(void) { return lamp(1); }\n`,
      "broken.cpp": "namespace game {\nusing Clock = std::none::clock;\n}\n",
    };
    const zz = await harness({ own: true, files }, t);
    const { text } = await zz.call("find_calls", { symbol: "lamp", path: "lamp.c" });
    match(text, /^2 callers of lamp .*\nfar \(far\.c:2\):\n.*\ninside \(lamp\.c:3\):/);
    const { text: callees } = await zz.call("find_calls", { symbol: "far", callees: true });
    match(callees, /^1 callee of far .*\nlamp \(lamp\.[ch]:\d\):\n {2}far\.c:2: /);
    // it means the namespace, says clangd
    const { text: uses } = await zz.call("find_references", { symbol: "Clock" });
    match(uses, /since clangd takes Clock for something else\]\nbroken\.cpp:2: using Clock = .*$/);
  },
);

needs("bwrap")("a rename names the files that it may not read", async (t) => {
  const uses = 'import { lamp } from "./a";\nlamp;\n';
  const files = {
    "a.ts": "export const lamp = 1;\n",
    "b.ts": uses,
    "c.ts": uses,
    "tsconfig.json": "{}",
  };
  const zz = await harness({ own: true, files, answer: "yes", deny: { read: ["c.ts"] } }, t);
  const { text } = await zz.call("rename_symbol", { symbol: "lamp", to: "light" });
  match(
    text,
    /in 3 places:\na\.ts: 1\nb\.ts: 2\n\[Not looked at, since they may not be read: c\.ts\]$/,
  );
});

needs("bwrap")(
  "at the prompt TypeScript's server is there before anything is asked, and gone with zz",
  async (t) => {
    const where = having({ "tsconfig.json": "{}", "src/a.ts": "export const lamp = 1;\n" });
    const term = await repl(t, { where });
    await waitFor("a server", () => servers((line) => line.includes(where.cwd)).length > 0);
    await term.leave();
    await waitFor("its end", () => !servers((line) => line.includes(where.cwd)).length);
  },
);

test("without a sandbox only TypeScript's own server is asked, and types are checked where all may be read", async (t) => {
  const files = {
    ...FILES,
    "a.ts": "export const lamp: string = 1;\n",
    "b.ts": 'import { lamp } from "./a";\nlamp;\n',
  };
  installServer("send({ id, result: [] })");
  const installs = {
    "jsconfig.json": '{ "typeAcquisition": { "enable": true, "include": ["node"] } }',
    "c.js": "lamp;\n",
  };
  writeFileSync(join(folder, "npm"), `#!/bin/sh\ntouch ${folder}/installs\n`, { mode: 0o755 });
  t.after(() => rmSync(join(folder, "npm"))); // the folder is on the PATH of other tests, too
  const how = {
    own: true,
    files: { ...files, ...installs },
    settings: { shell: { sandbox: "off" } },
  };
  const zz = await harness(how, t);
  const said = async (tool: string, args: object) => (await zz.call(tool, args)).text;
  match(
    await said("find_references", { symbol: "lamp" }),
    /^a\.ts:1: .*\nb\.ts:1: .*\nb\.ts:2: lamp;$/,
  );
  const uses = await said("find_references", { symbol: "Light" });
  match(uses, /since gopls runs only in a sandbox, and there is none here\]/);
  const without = async (names: string[]) =>
    harness({ ...how, settings: { plugins: { off: names } } }, t);
  const because = async (names: string[], symbol: string) =>
    (await (await without(names)).call("find_references", { symbol })).text.split("\n")[0];
  equal(
    await because(["shell"], "Light"),
    "[By name: what else is called Light counts too, since gopls runs only in a sandbox, " +
      "and the plugin 'shell' is off (/plugins on shell turns it on)]",
  );
  equal(
    await because(["code"], "lamp"),
    "[By name: what else is called lamp counts too, since the plugin 'code' is off " +
      "(/plugins on code turns it on)]",
  );
  const types = await said("check_types", { paths: ["a.ts"] });
  match(types, /^Cannot check types: there is no sandbox here, and imports may lead/);
  const other = await harness({ ...how, allow: { read: true } }, t);
  match((await other.call("check_types", { paths: ["a.ts"] })).text, /^a\.ts:1:14: error TS2322: /);
  ok(!readdirSync(folder).includes("installs"));
});

/** Language servers of TypeScript that run, by their command lines and their parents. */
function servers(isMeant: (line: string, parent: string) => boolean): number[] {
  const read = (name: string, file: string) =>
    tryTo(() => readFileSync(`/proc/${name}/${file}`, "utf8")) ?? "";
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && read(name, "cmdline").includes("--lsp"))
    .filter((name) =>
      isMeant(read(name, "cmdline"), read(name, "stat").split(") ")[1]?.split(" ")[1] ?? ""),
    )
    .map(Number);
}
