// MCP servers of others, as the model and the person use them: real servers over their own stdin and stdout.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { harness, type Setup } from "zz/test";
import { call, fakeOpenAI, say } from "../../support/fake/openai.ts";
import { type Place, place, ROOT, zz } from "../../support/run.ts";

const MODULES = join(ROOT, "node_modules", "@modelcontextprotocol");
const EVERYTHING = { command: process.execPath, args: [join(MODULES, "server-everything/dist/index.js")] };
const fake = (...args: string[]) => ({
  ...{ command: process.execPath, args: [join(ROOT, "test/support/fake/mcp.ts"), ...args] },
  sandbox: false,
});

function having(mcpServers: object, files: Record<string, string> = {}): Place {
  const where = place();
  const all = { "../home/zz.config.json": JSON.stringify({ mcpServers }), ...files };
  for (const [name, content] of Object.entries(all)) {
    mkdirSync(dirname(join(where.cwd, name)), { recursive: true });
    writeFileSync(join(where.cwd, name), content);
  }
  return where;
}

const PLUGIN = join(ROOT, "plugins", "mcp", "index.ts");
/** The plugin in this process, with servers that were never started. */
const started = (t: TestContext, mcpServers: object, how: Setup = {}) =>
  harness({ plugins: [PLUGIN], settings: { mcpServers } as Setup["settings"], allow: { run: true }, ...how }, t);

describe("MCP servers", { concurrency: 2 }, () => {
  test("a scripted model calls a tool of server-everything through zz --once", async (t) => {
    const where = having({ everything: { ...EVERYTHING, sandbox: false } });
    const first = await fakeOpenAI([
      call(["mcp_tools", { servers: ["everything"] }]),
      call(["everything__echo", { message: "hello there" }]),
      say("Done."),
    ]);
    t.after(first.close);
    const args = ["--once", "-m", "openai/m", "--key", "x", "--base-url"];
    const ran = await zz(where, [...args, first.url, "--allow-run=mcp:everything", "hi"]);
    deepEqual([ran.code, ran.stdout, ran.stderr], [0, "Done.\n", ""]);
    const [one, two, three] = first.requests.map(({ body }) => body);
    match(JSON.stringify(one.tools), /Get the tools of MCP servers.* everything \(not started yet\)\./);
    doesNotMatch(JSON.stringify(one.tools), /everything__|mcp_call|mcp_sampling/);
    match(
      two.messages.at(-1).content,
      /^Described from now on:\neverything__echo: MCP server 'everything' says: Echoes/,
    );
    const echo = two.tools.find((tool: any) => tool.function.name === "everything__echo").function;
    equal(echo.description, "MCP server 'everything' says: Echoes back the input string");
    deepEqual(echo.parameters.required, ["message"]);
    equal(three.messages.at(-1).content, "Echo: hello there");

    const second = await fakeOpenAI([call(["everything__echo", { message: "again" }]), say("Done.")]);
    t.after(second.close);
    const refused = await zz(where, [...args, second.url, "hi"]);
    equal(refused.code, 4);
    match(
      refused.stderr,
      /^everything__echo: Refused: requires run access to "mcp:everything echo"; run again with --allow-run='mcp:everything echo'\.$/m,
    );
    const names = second.requests[0]!.body.tools.map((tool: any) => tool.function.name);
    ok(names.includes("everything__echo"), "what it has is known from the last time, without starting it");
    equal(statSync(join(where.home, "mcp-tools.json")).mode & 0o777, 0o600);
  });
});
void [existsSync, readFileSync, started, fake];
