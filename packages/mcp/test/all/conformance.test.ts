// The conformance suite of MCP, as client and as server, in both eras. test/support/conformance.yml
// lists what does not apply, and why: a scenario of it that passes fails here as well. The table in
// docs/mcp.md says how many are green.
import { ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import { listen } from "../../../../test/support/fake/http.ts";
import { environment, place, ROOT, WAYS } from "../../../../test/support/run.ts";

const SUITE = join(ROOT, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const DRIVER = `${process.execPath} ${join(ROOT, "test/support/fake/mcp-driver.ts")}`;
const TOKEN = "token-of-the-conformance-suite";

async function conforms(revision: string, args: string[]): Promise<void> {
  const where = place();
  const listed = ["--expected-failures", join(ROOT, "test/support/conformance.yml")];
  const all = [SUITE, ...args, "--requirements", revision, ...listed];
  const child = spawn(process.execPath, all, {
    cwd: where.cwd,
    env: { ...process.env, NO_COLOR: "1" },
  });
  const [said, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  const summary = said.slice(said.indexOf("SUMMARY"));
  ok(code === 0, `${summary}\n${errors}`);
  const notApplying: string[] = summary.match(/(?<=^ {2}~ )\S+/gm) ?? [];
  const passed: string[] = summary.match(/(?<=^✓ )\S+(?=: [1-9])/gm)!; // some check nothing
  const count = passed.filter((name) => !notApplying.includes(name)).length;
  const green = `| ${args[0]}, ${revision} | ${count} scenarios |`;
  ok(readFileSync(join(ROOT, "docs/mcp.md"), "utf8").includes(green), `docs/mcp.md: ${green}`);
}

/** The address of `zz --mcp=0`, with its token put to each request, since the suite has none. */
async function served(t: TestContext): Promise<string> {
  const where = place();
  const args = [WAYS.dist[1], "--plugin", join(ROOT, "test/support/fake/mcp-tools.ts"), "--mcp=0"];
  const child = spawn(WAYS.dist[0], args, {
    cwd: where.cwd,
    env: { ...environment(where, {}), ZZ_MCP_TOKEN: TOKEN },
  });
  t.after(() => child.kill());
  const [line] = await once(createInterface(child.stderr), "line");
  const { port } = new URL(/http:\S+\/mcp/.exec(line)![0]);
  const url = await listen(t, (asked, answer) => {
    const { url: path, method, headers } = asked;
    const all = { port, path, method, headers: { ...headers, authorization: `Bearer ${TOKEN}` } };
    const sent = request(all, (given) =>
      given.pipe(answer.writeHead(given.statusCode!, given.headers)),
    );
    answer.on("close", () => sent.destroy());
    asked.pipe(sent.on("error", () => answer.destroy()));
  });
  return `${url}/mcp`;
}

for (const revision of ["2025-11-25", "2026-07-28"])
  describe(`MCP ${revision}`, () => {
    test("zz conforms as a client", () =>
      conforms(revision, ["client", "--command", DRIVER, "--timeout", "60000"]));
    test("zz conforms as a server", async (t) =>
      conforms(revision, ["server", "--url", await served(t)]));
  });
