// What a server's connection says when nothing comes of it, and which variables its settings name.
import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { standingClock } from "zz/test";
import { openLink } from "../link.ts";
import { variablesOf } from "../settings.ts";

test("a server that does not say what it is in time is named with what it wrote", async () => {
  const clock = standingClock();
  const sent = Promise.withResolvers<void>();
  const transport = {
    start: async () => {},
    send: async () => sent.resolve(),
    close: async () => {},
  };
  const opening = {
    name: "it",
    version: "1",
    transport,
    endReason: () => "its last words: waits for a yes",
    seconds: { start: 30, call: 120 },
  };
  const ctx = { root: "/x", signal: new AbortController().signal, progress() {}, io: { clock } };
  const answers = {};
  const opened = openLink({ ...opening, answers, changed() {}, ended() {} } as never, ctx as never);
  const refused = rejects(opened, {
    message:
      "MCP server 'it' did not say what it is within 30 s: its last words: waits for a yes. Check its command or its address, or raise its \"timeout\".",
  });
  await sent.promise;
  await clock.pass(30_000);
  await refused;
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
