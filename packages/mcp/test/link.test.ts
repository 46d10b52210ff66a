// What a server's connection says when nothing comes of it, and which variables its settings name.
import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { standingClock } from "zz/test";
import { openLink } from "../link.ts";
import { configured, filledIn, type ServerConfig, variablesOf } from "../settings.ts";

const about = { home: "/nowhere" };
const ctx = { root: "/x", about, plugins: {}, settings: { list: () => [] } } as never;

test("a server that does not say what it is in time is named with what it wrote, tries together", async () => {
  await silentFor(30_000);
  await silentFor(15_000, 15_000);
});

async function silentFor(leftMs: number, spentMs = 0): Promise<void> {
  const clock = standingClock();
  const sent = Promise.withResolvers<void>();
  const transport = {
    start: async () => {},
    send: async () => sent.resolve(),
    async close() {
      this.onclose?.(); // else its own try waits on, and the test with it
    },
    onclose: undefined as (() => void) | undefined,
  };
  const opening = {
    name: "it",
    version: "1",
    transport,
    endReason: () => "its last words: waits for a yes",
    seconds: { start: 30, call: 120 },
    spentMs,
  };
  const ctx = { root: "/x", signal: new AbortController().signal, progress() {}, io: { clock } };
  const answers = {};
  const opened = openLink({ ...opening, answers, changed() {}, ended() {} } as never, ctx as never);
  const refused = rejects(opened, {
    message:
      "MCP server 'it' did not say what it is within 30 s: its last words: waits for a yes. Check its command or its address, or raise its \"timeout\".",
  });
  await sent.promise;
  await clock.pass(leftMs);
  await refused;
}

test("a project's server with a field of a wrong type is left out, and it is said which", async () => {
  const rows: [more: object, told: string][] = [
    [{ args: "x" }, "args must be a list"],
    [{ args: null }, "args must be a list"],
    [{ env: null }, "env must be an object"],
    [{ env: { A: {} } }, "env.A must be a string"],
    [{ headers: "x" }, "headers must be an object"],
    [{ timeout: -1 }, "timeout must be more than 0"],
    [{ timeout: "60" }, "timeout must be a number"],
    [{ disabledTools: 5 }, "disabledTools must be a list"],
    [{ disabled: "false" }, "disabled must be true or false"],
    [{ readOnly: true }, "readOnly must be one of ask, believe"],
    [
      { sandbox: { write: "x" } },
      "sandbox must be true or false, or its entry write must be a list",
    ],
    [{ cwd: 5 }, "cwd must be a string"],
  ];
  for (const [more, told] of rows) {
    const it = { command: "x", ...more } as ServerConfig;
    const [servers, leftOut] = await configured(ctx, {}, { it });
    deepEqual([servers.size, leftOut], [0, [`MCP server 'it' is left out: ${told}. Fix it.`]]);
  }
});

test("fields are understood as other programs mean them", async () => {
  const it = {
    httpUrl: "http://127.0.0.1/x",
    env: { A: "${env:NO_SUCH:-a}", B: "${workspaceFolder}/b" },
    timeout: 60_000,
  } as ServerConfig;
  const [servers] = await configured(ctx, {}, { it });
  const server = { ...servers.get("it")!, from: "project" as const };
  deepEqual(variablesOf(server.config), ["NO_SUCH"]);
  const { timeout, url, env } = filledIn({ io: { variable() {} } } as never, ctx, server);
  deepEqual([timeout, url, env], [60, "http://127.0.0.1/x", { A: "a", B: "/x/b" }]);
});

test("a variable is asked for, whatever stands before it in the settings", () => {
  const args = ["${A:-", "${SECRET}"];
  const headers = { b: '${B:-"}${C}' };
  deepEqual(variablesOf({ command: "x", args, env: { "${D}": "${E:-" }, headers }), [
    "SECRET",
    "B",
    "C",
  ]);
});
