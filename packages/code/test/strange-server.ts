// A language server that does what a test says, found on the PATH as gopls is, and a project for
// it.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before } from "node:test";
import { needs } from "../../../test/support/needs.ts";
import { harness } from "../../../test/support/script.ts";

export const FILES = {
  "a.go": "package a\n\nfunc Light() {}\n\n// Light in a comment\nfunc b() { Light() }\n",
  "c.go": 'package a\n\nfunc c() { Light(); x := "Light"; _ = x }\n',
};
/** By name, without comments and texts. */
const BY_NAME = [
  "a.go:3: func Light() {}  [definition]",
  "a.go:6: func b() { Light() }",
  'c.go:3: func c() { Light(); x := "Light"; _ = x }',
];

/**
 * `acts`: the body of a function of `send`, `id` and `place`, when it is asked who uses something;
 * with a comment before it `every` question, or the one at its `start`.
 */
const SERVER = (acts: string) => `#!${process.execPath}
const fs = require("node:fs");
const whole = (text) => "Content-Length: " + Buffer.byteLength(text) + "\\r\\n\\r\\n" + text;
const send = (message) => process.stdout.write(whole(JSON.stringify({ jsonrpc: "2.0", ...message })));
let root = "", all = "";
const place = (file, line) => ({ uri: file[0] === "/" ? "file://" + file : root + "/" + file, range: { start: { line, character: 5 }, end: { line, character: 10 } } });
const at = (file, line, character, length = 5) => ({ uri: root + "/" + file, range: { start: { line, character }, end: { line, character: character + length } } });
process.stdin.on("data", (data) => {
  all += data;
  for (let found; (found = /Content-Length: (\\d+)\\r\\n\\r\\n/.exec(all)) && all.length >= found.index + found[0].length + +found[1]; ) {
    const from = found.index + found[0].length;
    const { id, method, params } = JSON.parse(all.slice(from, from + +found[1]));
    all = all.slice(from + +found[1]);
    if (method === "initialize") root = params.rootUri;
    if (method === "initialize" && ${acts.startsWith("/* start */")}) { ${acts} }
    else if (method === "initialize") send({ id, result: { capabilities: { referencesProvider: true, renameProvider: true } } });
    else if (${acts.startsWith("/* rename */")} && method === "textDocument/references") send({ id, result: [place("a.go", 2), at("a.go", 5, 11), at("c.go", 2, 11)] });
    else if (method === "textDocument/prepareRename") send({ id, result: {} });
    else if (method === "textDocument/rename") { ${acts} }
    else if (method === "textDocument/references" || (id !== undefined && ${acts.startsWith("/* every */")})) { ${acts} }
    else if (id !== undefined && method) send({ id, result: null });
  }
});`;

export const [folder, path] = [mkdtempSync(join(tmpdir(), "zz-servers-")), process.env.PATH];
before(() => void (process.env.PATH = `${folder}${delimiter}${path}`));
after(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true });
});

export const installServer = (acts: string): void =>
  writeFileSync(join(folder, "gopls"), SERVER(acts), { mode: 0o755 });

/** Where it is waited for an answer that never comes. */
const QUICK = /^$|999|^\/\* start \*\/$|closeSync/;
export async function asked(
  acts: string,
): Promise<{ text: string; rows: string[]; again: string }> {
  installServer(acts);
  const zz = await harness({
    own: true,
    files: FILES,
    settings: { code: { seconds: QUICK.test(acts) ? 0.3 : 20 } },
  });
  const { text } = await zz.call("find_references", { symbol: "Light" });
  const { text: again } = await zz.call("find_references", { symbol: "Light" });
  await zz.close();
  return { text, rows: text.split("\n").filter((row) => /^\S+:\d+:/.test(row)), again };
}

/** What the server does, and why the index takes over then. */
export function takesOver(ways: Record<string, [acts: string, says: string]>): void {
  for (const [what, [acts, says]] of Object.entries(ways))
    needs("bwrap")(
      `of a server that ${what} the index takes over, and says why, the next time at once`,
      async () => {
        const { text, rows, again } = await asked(acts);
        match(text, /^\[By name: what else is called Light counts too, since .*\]\n/);
        const failed = says.includes("no answer in") ? "gopls failed: " : "gopls failed twice: ";
        ok(text.includes(says.startsWith("gopls ") ? says : `${failed}${says}`), text);
        deepEqual(rows, BY_NAME);
        equal(again, text);
      },
    );
}
