// What the sandbox kept from a server, by what it printed; and what a form gets where nobody is
// there to fill it in.
import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { elicit } from "../elicit.ts";
import { keptFrom } from "../sandbox-denials.ts";

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
    deepEqual(keptFrom(said, [], "/p"), { hosts, write }, said);
  deepEqual(
    keptFrom("", ["a.example"], "/p", { hosts: ["a.example"] }),
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
