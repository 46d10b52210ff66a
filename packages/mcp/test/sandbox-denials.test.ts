// The sandbox around a server: what it keeps from one, in its own words and by what the server
// printed; and what a form gets where nobody is there to fill it in.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Harness, harness, type Setup } from "zz/test";
import { listen } from "../../../test/support/fake/http.ts";
import { command, FAKE, fake, started } from "../../../test/support/mcp.ts";
import { impossible, needs } from "../../../test/support/needs.ts";
import { isHidden, ROOT } from "../../../test/support/run.ts";
import { elicit } from "../elicit.ts";
import { denialsIn } from "../sandbox-denials.ts";

test("what a server printed names hosts and folders that it may be given", () => {
  const rows: [said: string, hosts: string[], write: string[]][] = [
    ["connect ECONNREFUSED 127.0.0.1:6379", ["127.0.0.1:6379"], []],
    ["connect ENETUNREACH 10.0.0.5:5432 - Local", ["10.0.0.5:5432"], []],
    ["getaddrinfo EAI_AGAIN registry.npmjs.org", ["registry.npmjs.org"], []],
    ["zz does not let commands connect to 'api.example.com:443': it is", ["api.example.com"], []],
    ["EROFS: read-only file system, open '/data/a/memory.json'", [], ["/data/a"]],
    ["EROFS: read-only file system, mkdir '/data/b'", [], ["/data/b"]],
    [
      "ENOENT: no such file or directory, mkdir '/root/.cache/browser'",
      [],
      ["/root/.cache/browser"],
    ],
    ["ENOENT: no such file or directory, open '/data/c'", [], []],
    ["[Errno 30] Read-only file system: '/data/d/x.db'", [], ["/data/d"]],
    ["mkdir: cannot create directory '/data/e': Read-only file system", [], ["/data"]],
    ["all is well at https://example.com", [], []],
  ];
  for (const [said, hosts, write] of rows)
    deepEqual(denialsIn(said, [], "/p"), { hosts, write }, said);
  deepEqual(
    denialsIn("", ["a.example"], "/p", { hosts: ["a.example"] }),
    { hosts: [], write: [] },
    "it has that",
  );
});

test("--accept-defaults gives a form its defaults, or nothing where one is wanted that has none", async () => {
  const notes: string[] = [];
  const ctx = { note: (text: string) => void notes.push(text) } as never;
  const ask = (required: string[]) => {
    const properties = { name: { type: "string", default: "Ada" }, age: { type: "number" } };
    return elicit(
      "it",
      { message: "Who?", requestedSchema: { type: "object", properties, required } },
      ctx,
      true,
    );
  };
  deepEqual(await ask(["name"]), { action: "accept", content: { name: "Ada" } });
  deepEqual(await ask(["name", "age"]), { action: "cancel" });
  deepEqual(notes[0], `MCP server 'it' asked: Who? It got {"name":"Ada"}.`);
});

/** What a tool says. */
const said = async (zz: Harness, server: string, tool: string, args: object = {}) =>
  (await zz.call("mcp_call", { server, tool, arguments: args })).text;

const sandboxTest = isHidden
  ? impossible("this checkout lies in /tmp, where commands have one of their own")
  : needs("bwrap");
describe("MCP servers in the sandbox", { concurrency: 2 }, () => {
  const FILES = join(ROOT, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
  sandboxTest(
    "a server writes in the project only where its settings say so, and reads no secrets",
    async (t) => {
      const files = { command, args: [FILES, "."] };
      const setup: Setup = { own: true, files: { "a.txt": "hello", ".env": "TOKEN=1" } };
      const zz = await started(t, { files }, { ...setup, plugins: [] });
      match(await said(zz, "files", "read_text_file", { path: "a.txt" }), /hello/);
      match(
        await said(zz, "files", "read_text_file", { path: ".env" }),
        /EACCES|permission denied|denied/i,
      );
      match(
        await said(zz, "files", "write_file", { path: "b.txt", content: "x" }),
        /EROFS|read-only/i,
      );
      const open = await started(
        t,
        { files: { ...files, sandbox: { write: ["."] } } },
        { ...setup, plugins: [] },
      );
      await said(open, "files", "write_file", { path: "b.txt", content: "x" });
      equal(open.read("b.txt"), "x");
      deepEqual(open.questions, []);
    },
  );

  sandboxTest(
    "what the sandbox keeps from a server is named, and at a prompt allowed for it alone",
    async (t) => {
      const { port } = new URL(await listen(t, () => {}));
      const it = { command, args: [FAKE, "reaches", `127.0.0.1:${port}`] };
      const setup: Setup = { own: true, plugins: [] };
      const nobody = await started(t, { it }, { ...setup, answer: "nobody" });
      const words = `The sandbox did not let it reach 127.0.0.1:${port}: "sandbox": {"hosts":["127.0.0.1:${port}"]} in its settings does.`;
      const refused = new RegExp(
        `^Cannot start .*ECONNREFUSED.* ${words.replace(/[[{}\].]/g, "\\$&")}$`,
      );
      match(await said(nobody, "it", "one"), refused);
      const zz = await started(t, { it }, { ...setup, answer: "yes" });
      match(await said(zz, "it", "one"), /^one /);
      const question = `Let it reach 127.0.0.1:${port} (kept in your settings), and start it again?`;
      ok(zz.questions.join().includes(question), zz.questions.join());
      const kept = JSON.parse(readFileSync(join(zz.home, "zz.config.json"), "utf8"));
      deepEqual(kept.mcpServers.it.sandbox, { hosts: [`127.0.0.1:${port}`] });
    },
  );

  test("without a sandbox it is asked for beforehand, unless the settings want none", async (t) => {
    const mcpServers = { f: { ...fake("env"), sandbox: true } };
    const settings = { mcpServers, shell: { sandbox: "off" } } as Setup["settings"];
    const zz = await harness({ own: true, settings, answer: "no" }, t);
    const { text } = await zz.call("mcp_call", { server: "f", tool: "one" });
    match(text, /^Refused: the person said no to run access to "mcp:f one", ".*mcp\.mjs env"/);
    match(
      zz.questions[0]!,
      /the MCP server would run without a sandbox, since there is none here\./,
    );
    const nobody = await harness({ own: true, settings, answer: "nobody" }, t);
    const refused = await nobody.call("mcp_tools", { servers: ["f"] });
    match(refused.text, /^Refused: requires run access to ".*mcp\.mjs env"/);
    const off = { mcpServers, plugins: { off: ["shell"] } } as Setup["settings"];
    const without = await harness({ own: true, settings: off, answer: "no" }, t);
    await without.call("mcp_call", { server: "f", tool: "one" });
    match(
      without.questions[0]!,
      /without a sandbox, since the plugin 'shell' is off \(\/plugins on shell turns it on\)\./,
    );
  });
});
