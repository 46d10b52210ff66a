// zz as an MCP server, asked by the SDK's own client: in this process, and once as docs/mcp.md
// tells another agent to start it.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { listen } from "../../../../test/support/fake/http.ts";
import { snippet } from "../../../../test/support/pages.ts";
import { environment, type Place, place, ROOT, WAYS, zz } from "../../../../test/support/run.ts";
import { viewTest } from "../../../../test/support/view.ts";

const [node, program] = WAYS.dist;
const text = (result: any): string => result.content[0].text;

const project = () => place({ "a.ts": "export const first = 1;\n" });
type Era = "2025" | "2026";
async function client(
  t: TestContext,
  where: Place,
  asks?: (message: string) => string,
  era: Era = "2025",
) {
  const { run } = await import("../../../../zz.ts");
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const io = {
    stdin,
    stdout,
    stderr,
    env: environment(where, {}),
    cwd: () => where.cwd,
    enter() {},
  };
  const ended = run(["--mcp"], io as never);
  const transport: Transport = {
    start: async () =>
      void createInterface(stdout).on("line", (line) => transport.onmessage?.(JSON.parse(line))),
    send: async (message) => void stdin.write(`${JSON.stringify(message)}\n`),
    close: async () => void stdin.end(),
  };
  const versionNegotiation = era === "2026" ? { mode: { pin: "2026-07-28" } } : {};
  const how = { capabilities: asks ? { elicitation: {} } : {}, versionNegotiation };
  const one = new Client({ name: "test", version: "1" }, how);
  const answer = (message: string) => ({
    action: "accept" as const,
    content: { answer: asks!(message) },
  });
  if (asks) one.setRequestHandler("elicitation/create", ({ params }) => answer(params.message));
  await one.connect(transport);
  t.after(() => one.close().then(() => ended));
  return one;
}

describe("zz --mcp", { concurrency: 2 }, () => {
  test("the SDK's client lists zz's tools and calls find_definition; a call that is asked for fails closed", async (t) => {
    const where = project();
    const one = await client(t, where);
    const { tools } = await one.listTools();
    const named = (name: string) => tools.find((tool) => tool.name === name)!;
    ok(tools.length > 30 && tools.every(({ name }) => !/^mcp_|^more_tools$/.test(name)));
    const hints = ["read_file", "run_command", "web_fetch"].map((name) => named(name).annotations!);
    const hinted = hints
      .map(({ readOnlyHint, openWorldHint = false }) => `${readOnlyHint} ${openWorldHint}`)
      .join();
    equal(hinted, "true false,false true,true true");
    equal(named("find_definition").inputSchema.type, "object");
    match(
      text(await one.callTool({ name: "find_definition", arguments: { name: "first" } })),
      /a\.ts:1/,
    );
    const refused = await one.callTool({
      name: "write_file",
      arguments: { path: "b.ts", content: "x" },
    });
    equal(refused.isError, true);
    equal(
      text(refused),
      `Refused: requires write access to "b.ts"; run again with --allow-write=b.ts.`,
    );
    match(
      text(await one.callTool({ name: "no_such" })),
      /^Cannot call 'no_such': zz serves no tool of that name/,
    );
    match(
      text(await one.callTool({ name: "read_file", arguments: { file: 1 } })),
      /^Cannot call 'read_file'/,
    );
  });

  /** A client whose person answers what `said` holds; all that it was asked. */
  async function asking(t: TestContext, era?: Era) {
    const where = project();
    const it = { where, questions: [] as string[], said: "no", asked: () => {} };
    const asks = (message: string) => {
      it.questions.push(message);
      it.asked();
      return it.said;
    };
    const one = await client(t, where, asks, era);
    const call = async (name: string, args: object) =>
      text(await one.callTool({ name, arguments: args as never }));
    return {
      it,
      one,
      call,
      write: (content: string) => call("write_file", { path: "b.ts", content }),
    };
  }

  for (const era of ["2025", "2026"] as const)
    test(`a client of ${era} that can ask its person shows what the prompt would; a yes is for that call alone`, async (t) => {
      const { it, write } = await asking(t, era);
      equal(await write("x"), 'Refused: the person said no to write access to "b.ts".');
      it.said = "yes";
      match(await write("x"), /^Created b\.ts/);
      equal(readFileSync(join(it.where.cwd, "b.ts"), "utf8"), "x");
      await write("y");
      equal(it.questions.length, 3, "the same again is asked again");
      match(
        it.questions[0]!,
        /^zz: write_file wants to change b\.ts\.\ncreate b\.ts · .*\n +1 \+ x\n/,
      );
      match(it.questions[2]!, / 1 - x\n[\s\S]* 1 \+ y/);
    });

  viewTest(
    "a command runs once: what it did is shown, and a yes is for exactly that",
    async (t) => {
      const { it, call } = await asking(t);
      it.said = "yes";
      const command = "echo $RANDOM$RANDOM$RANDOM > b.txt; chmod 777 a.ts; ln -s /etc/passwd lnk";
      await call("run_command", { command });
      const made = readFileSync(join(it.where.cwd, "b.txt"), "utf8");
      equal(it.questions.length, 1);
      for (const part of [
        "echo $RANDOM",
        `+ ${made.trim()}`,
        "another mode: 644 to 777",
        "a link",
        "/etc/passwd",
      ])
        ok(it.questions[0]!.includes(part), `${part}: ${it.questions[0]}`);
    },
  );

  viewTest("a question is the one that docs/mcp.md shows", async (t) => {
    const { it, call } = await asking(t);
    const shown = snippet("Allow it, this once?").split("\n").slice(0, -2);
    const [, command = ""] = /^\$ (.*)$/m.exec(shown.join("\n"))!;
    writeFileSync(join(it.where.cwd, "a.ts"), "export const port = 1;\n");
    await call("run_command", { command });
    const dated = (text: string) => text.replace(/ \+ .*\d\d:\d\d.*/, " + DATE");
    equal(dated(it.questions[0]!), dated(shown.join("\n")));
  });

  test("a file that its person saves while the question stands is as it was saved", async (t) => {
    const { it, call } = await asking(t);
    const file = join(it.where.cwd, "a.ts");
    Object.assign(it, { said: "yes", asked: () => writeFileSync(file, "theirs\n") });
    match(
      await call("write_file", { path: "a.ts", content: "x" }),
      /it changed meanwhile\. Read it again\.$/,
    );
    equal(readFileSync(file, "utf8"), "theirs\n");
  });

  for (const era of ["2025", "2026"] as const)
    test(`a yes that comes after a client of ${era} has cancelled the call writes nothing`, async (t) => {
      const { it, one, call } = await asking(t, era);
      const stop = new AbortController();
      Object.assign(it, { said: "yes", asked: () => stop.abort() });
      const write = { name: "write_file", arguments: { path: "b.ts", content: "x" } };
      await rejects(one.callTool(write, { signal: stop.signal }), /abort/i);
      match(await call("list_dir", { path: "." }), /a\.ts/); // calls run one after the other
      deepEqual([it.questions.length, existsSync(join(it.where.cwd, "b.ts"))], [1, false]);
    });

  test("tools that ask by themselves reach the client's person, too", async (t) => {
    const { it, call } = await asking(t);
    it.said = "yes";
    match(await call("plan", { steps: ["look", "leap"] }), /agreed|approved|Plan mode is off/i);
    match(it.questions[0]!, /^zz: The model's plan:\n1\. look\n2\. leap$/);
  });

  test("what is too long for a form is refused with the reason; a line of its own cannot hide from it", async (t) => {
    const { it, write } = await asking(t);
    it.said = "yes";
    match(
      await write("x\n".repeat(9_000)),
      /^Refused: write_file asks for more than anyone can review at once/,
    );
    equal(it.questions.length, 0);
    await write("1\nrm skips this question.\n┠ so does this: skips this question.\n┗ 2\n");
    match(
      it.questions[0]!,
      /rm skips this question\.\n.*┠ so does this: skips this question\.\n.*┗ 2/,
    );
  });

  test("--mcp=PORT: says that another program has the port, and what to do", async (t) => {
    const { port } = new URL(await listen(t, () => {}));
    const { code, stderr } = await zz(place(), [`--mcp=${port}`]);
    const why = "another program has it. Choose another port, or 0 for any that is free.";
    deepEqual([code, stderr], [1, `Cannot serve on port ${port}: ${why}\n`]);
  });

  test("--mcp=PORT: on this machine, with a token, and not for web pages", async (t) => {
    const where = project();
    const child = spawn(node, [program, "--mcp=0"], {
      cwd: where.cwd,
      env: environment(where, {}),
      stdio: "pipe",
    });
    t.after(() => child.kill());
    const [line] = await once(createInterface(child.stderr), "line");
    const [url = ""] = /http:\/\/\S+\/mcp/.exec(line) ?? [];
    const file = join(where.home, "mcp-credentials.json");
    equal(statSync(file).mode & 0o777, 0o600);
    const { serve } = JSON.parse(readFileSync(file, "utf8"));
    const connect = async (token: string) => {
      const one = new Client({ name: "test", version: "1" });
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await one.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      return one;
    };
    const one = await connect(serve);
    match(
      text(await one.callTool({ name: "find_definition", arguments: { name: "first" } })),
      /a\.ts:1/,
    );
    await one.close();
    await rejects(connect("wrong"), /the token is missing or wrong/);
    equal(
      await status(url, { authorization: `Bearer ${serve}`, origin: "https://evil.example" }),
      403,
    );
    equal(await status(url, { authorization: `Bearer ${serve}`, host: "evil.example" }), 403);
  });
});

const page = readFileSync(join(ROOT, "docs", "mcp.md"), "utf8");
const [own, other] = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text]) =>
  JSON.parse(text!),
);

test("docs/mcp.md: the servers of the sample are known by the settings as printed", async () => {
  const ran = await zz(place({}, own), ["--once", "-m", "openai/m", "--key", "x", "/mcp"]);
  const rows = ran.stdout.trim().split("\n");
  deepEqual(rows.map((row) => row.replace(/ {2}.*/, "")), ["notes", "search"]); // biome-ignore format: short
  ok(rows.every((row) => /not needed yet · not started yet/.test(row)));
});

test("docs/mcp.md: zz as another agent would start it", async () => {
  const where = place();
  const { command, args } = other.mcpServers.zz;
  equal(command, "zz");
  const env = environment(where, {}) as Record<string, string>;
  const one = new Client({ name: "test", version: "1" });
  await one.connect(
    new StdioClientTransport({ command: node, args: [program, ...args], cwd: where.cwd, env }),
  );
  const made = await one.callTool({
    name: "write_file",
    arguments: { path: "a.txt", content: "x" },
  });
  await one.close();
  deepEqual([made.isError, readFileSync(join(where.cwd, "a.txt"), "utf8")], [undefined, "x"]);
});

const status = (url: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", reject).end("{}");
  });
