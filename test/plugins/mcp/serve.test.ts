// zz as an MCP server, asked by the SDK's own client.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type Place, place, WAYS, zz } from "../../support/run.ts";

const [NODE, ZZ] = WAYS.dist;
const text = (result: any): string => result.content[0].text;

function project(): Place {
  const where = place();
  writeFileSync(join(where.cwd, "a.ts"), "export const first = 1;\n");
  return where;
}

async function client(t: TestContext, where: Place, args: string[] = [], asks?: (message: string) => string) {
  const env = { ...(process.env as Record<string, string>), ZZ_HOME: where.home };
  const transport = new StdioClientTransport({
    command: NODE,
    args: [ZZ, "--mcp", ...args],
    cwd: where.cwd,
    env,
    stderr: "ignore",
  });
  const one = new Client({ name: "test", version: "1" }, { capabilities: asks ? { elicitation: {} } : {} });
  if (asks)
    one.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
      action: "accept",
      content: { answer: asks(params.message) },
    }));
  await one.connect(transport);
  t.after(() => one.close());
  return one;
}

describe("zz --mcp", { concurrency: 2 }, () => {
  test("the SDK's client lists zz's tools and calls find_definition; a call that is asked for fails closed", async (t) => {
    const where = project();
    const one = await client(t, where);
    const { tools } = await one.listTools();
    const named = (name: string) => tools.find((tool) => tool.name === name)!;
    ok(tools.length > 30 && tools.every(({ name }) => !/^mcp_|^more_tools$/.test(name)));
    deepEqual(
      [named("read_file").annotations?.readOnlyHint, named("run_command").annotations?.readOnlyHint],
      [true, false],
    );
    const reachesOut = tools.flatMap(({ name, annotations }) => (annotations?.openWorldHint ? name : []));
    deepEqual(
      reachesOut.filter((name) => !/^(run_|git_commit|open_file)/.test(name)),
      ["install_skill", "task", "web_fetch"],
    );
    ok(!named("read_file").annotations?.openWorldHint);
    deepEqual(named("find_definition").inputSchema.type, "object");
    match(text(await one.callTool({ name: "find_definition", arguments: { name: "first" } })), /a\.ts:1/);
    const edit = { name: "write_file", arguments: { path: "b.ts", content: "x" } };
    const refused = await one.callTool(edit);
    deepEqual(
      [refused.isError, text(refused)],
      [true, `Refused: requires write access to "b.ts"; run again with --allow-write=b.ts.`],
    );
    match(text(await one.callTool({ name: "no_such" })), /^Cannot call 'no_such': there is no such tool/);
    match(text(await one.callTool({ name: "read_file", arguments: { file: 1 } })), /^Cannot call 'read_file'/);
  });

  test("a client that can ask its person does; a yes is for that call alone", async (t) => {
    const where = project();
    const questions: string[] = [];
    let said = "no";
    const one = await client(t, where, [], (message) => {
      questions.push(message);
      return said;
    });
    const write = (content: string) => one.callTool({ name: "write_file", arguments: { path: "b.ts", content } });
    match(text(await write("x")), /^Refused: requires write access/);
    said = "yes";
    ok(!(await write("x")).isError);
    equal(readFileSync(join(where.cwd, "b.ts"), "utf8"), "x");
    await write("y");
    equal(questions.length, 3, "the same again is asked again");
    match(questions[0]!, /^zz: write_file requests write access to "b\.ts"\.\n\{\n {2}"path": "b\.ts"/);
  });

  test("--mcp=PORT: says that another program has the port, and what to do", async (t) => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    t.after(() => other.close());
    const { port } = other.address() as { port: number };
    const { code, stderr } = await zz(place(), [`--mcp=${port}`]);
    const why = "another program has it. Choose another port, or 0 for any that is free.";
    deepEqual([code, stderr], [1, `Cannot serve on port ${port}: ${why}\n`]);
  });

  test("--mcp=PORT: on this machine, with a token, and not for web pages", async (t) => {
    const where = project();
    const child = spawn(NODE, [ZZ, "--mcp=0"], {
      cwd: where.cwd,
      env: { ...process.env, ZZ_HOME: where.home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    t.after(() => child.kill());
    const url = await said(child);
    const file = join(where.home, "mcp-credentials.json");
    equal(statSync(file).mode & 0o777, 0o600);
    const { serve } = JSON.parse(readFileSync(file, "utf8"));
    const connect = async (token: string) => {
      const one = new Client({ name: "test", version: "1" });
      await one.connect(
        new StreamableHTTPClientTransport(new URL(url), {
          requestInit: { headers: { authorization: `Bearer ${token}` } },
        }),
      );
      return one;
    };
    const one = await connect(serve);
    match(text(await one.callTool({ name: "find_definition", arguments: { name: "first" } })), /a\.ts:1/);
    await one.close();
    await rejects(connect("wrong"), /the token is missing or wrong/);
    equal(await status(url, { authorization: `Bearer ${serve}`, origin: "https://evil.example" }), 403);
    equal(await status(url, { authorization: `Bearer ${serve}`, host: "evil.example" }), 403);
  });
});

const said = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    let all = "";
    child.stderr!.on("data", (bytes) => {
      const [found] = /http:\/\/\S+\/mcp/.exec((all += bytes)) ?? [];
      if (found) resolve(found);
    });
  });

const status = (url: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", reject).end("{}");
  });
