// The samples of docs/mcp.md are settings that zz takes, and the server that the second names answers.
import { deepEqual, equal, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { place, ROOT, WAYS, zz } from "../../support/run.ts";

const page = readFileSync(join(ROOT, "docs", "mcp.md"), "utf8");
const [own, other] = [...page.matchAll(/^```json\n(.*?)^```$/gms)].map(([, text]) => JSON.parse(text!));

test("docs/mcp.md: the servers of the sample are known by the settings as printed", async () => {
  const where = place();
  mkdirSync(where.home);
  writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(own));
  const ran = await zz(where, ["--once", "-m", "openai/m", "--key", "x", "/mcp"]);
  const rows = ran.stderr.trim().split("\n");
  deepEqual(
    rows.map((row) => row.replace(/ {2}.*/, "")),
    ["notes", "search"],
  );
  ok(rows.every((row) => /not needed yet · not started yet/.test(row)));
});

test("docs/mcp.md: zz as another agent would start it", async () => {
  const where = place();
  const { command, args } = other.mcpServers.zz;
  equal(command, "zz");
  const env = { ...(process.env as Record<string, string>), ZZ_HOME: where.home };
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: WAYS.dist[0], args: [WAYS.dist[1], ...args], cwd: where.cwd, env }),
  );
  const made = await client.callTool({ name: "write_file", arguments: { path: "a.txt", content: "x" } });
  await client.close();
  deepEqual([made.isError, readFileSync(join(where.cwd, "a.txt"), "utf8")], [undefined, "x"]);
});
