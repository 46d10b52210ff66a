// What else a language server may do: the index answers by name, and says so in one sentence.
import { deepEqual, doesNotMatch, match } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { needs } from "../../../../test/support/needs.ts";
import { harness } from "../../../../test/support/script.ts";
import { FILES, installServer, takesOver } from "../strange-server.ts";

takesOver({
  "closes its output": ["fs.closeSync(1)", "it gave no answer in 0.3 s"],
  "answers another question": ["send({ id: 999, result: [] })", "it gave no answer in 0.3 s"],
  "begins an answer that never ends": [
    'process.stdout.write("Content-Length: 999999999999\\r\\n\\r\\n[")',
    "it gave no answer in 0.3 s",
  ],
  "asks back without end": [
    'const ask = (n) => process.stdout.write(whole(`{"jsonrpc":"2.0","id":"${n}","method":"workspace/configuration","params":{"items":[{"section":"${"a".repeat(1e5)}"}]}}`), () => ask(n + 1)); ask(0)',
    "it sent far more than anybody asked for",
  ],
  "refuses with an error": [
    'send({ id, error: { code: -32603, message: "panic\\n  at x \\u001b[31m" } })',
    "gopls refused: panic at x",
  ],
  "sends null for a place": [
    "send({ id, result: [null] })",
    "it sent an answer that cannot be used",
  ],
  "hangs at its start": ["/* start */", "it gave no answer in 0.3 s"],
  "ends at its start": ["/* start */ process.exit(1)", "it ended with exit code 1"],
  "sends garbage at its start": [
    '/* start */ process.stdout.write("panic: runtime error\\r\\n\\r\\n")',
    "it sent something that cannot be read",
  ],
  "says nothing of itself at its start": [
    "/* start */ send({ id, result: null })",
    "it sent something that cannot be read",
  ],
});

/** Besides the places to be changed: `more`. */
const PLACES = "at('a.go', 2, 5), at('a.go', 5, 11), at('c.go', 2, 11)";
const renames = (more: string, places = PLACES, text = "Lamp") =>
  `/* rename */ const changes = {}; for (const { uri, range } of [${places}, ${more}]) (changes[uri] ??= []).push({ range, newText: "${text}" }); send({ id, result: { changes } })`;
const RENAMES: Record<string, [acts: string, says: RegExp]> = {
  "changes just the places": [renames(""), /^Renamed 'Light' to 'Lamp' in 3 places:/],
  "changes overlapping places": [renames("at('a.go', 2, 7)"), /would change a place of 'a.go' twice/],
  "changes a place from its end on": [renames("at('c.go', 2, 16, -5)"), /'c.go' where there is no text/],
  "changes what is beyond a line": [renames("at('a.go', 2, 900)"), /'a.go' where there is no text/],
  "changes what is beyond the file": [renames("at('a.go', 900, 0)"), /'a.go' where there is no text/],
  "changes another word": [renames("at('c.go', 0, 0, 7)"), /would change more in 'c.go' than the name/],
  "puts code with the name": [renames("", PLACES, "Lamp() { evil() }; func x"), /would change more in 'a.go' than the name/],
  "changes a file outside": [renames("at('../x.go', 0, 0)"), /outside the project's code/],
  "leaves a place": [renames("", "at('a.go', 2, 5), at('a.go', 5, 11)"), /would leave c.go:3 as it is/],
  "changes nothing": ["/* rename */ send({ id, result: null })", /names nothing to change/],
  "moves a file": [
    "/* rename */ send({ id, result: { documentChanges: [{ kind: 'rename', oldUri: root + '/a.go', newUri: 'file:///x' }] } })",
    /gopls refused: it would make, move or delete files for it/,
  ],
}; // biome-ignore format: short
for (const [what, [acts, says]] of Object.entries(RENAMES))
  needs("bwrap")(`a rename by a server that ${what} is whole, or none`, async (t) => {
    installServer(acts);
    const zz = await harness({ own: true, files: FILES, answer: "yes" }, t);
    match((await zz.call("rename_symbol", { symbol: "Light", to: "Lamp" })).text, says);
    const texts = Object.keys(FILES).map((file) => readFileSync(join(zz.root, file), "utf8"));
    const isWhole = what === "changes just the places";
    deepEqual(texts.map((text) => /\bLamp\b/.test(text)), [isWhole, isWhole]); // biome-ignore format: short
  });

const STRANGE: Record<string, string> = {
  "lists of nothing": "result: [null]",
  texts: 'result: "panic"',
  "objects without what belongs there": "result: { contents: null, changes: { a: 1 } }",
  "lists of them": "result: [{ location: null, from: null, uri: 1 }]",
  errors: 'error: { code: -32603, message: "panic\\n at x" }',
};
for (const [what, answer] of Object.entries(STRANGE))
  needs("bwrap")(
    `a server that answers all with ${what} ends no tool in another's words`,
    async () => {
      installServer(`/* every */ send({ id, ${answer} })`);
      const zz = await harness({ own: true, files: FILES, answer: "yes" });
      const said: string[] = [];
      for (const tool of ["find_references", "find_calls", "find_definition", "rename_symbol"])
        said.push((await zz.call(tool, { symbol: "Light", to: "Lamp", callees: false })).text);
      await zz.close();
      doesNotMatch(said.join("\n"), /Cannot (read|destructure|use)|is not |undefined|^\s*at /m);
      match(said[0]!, /^\[By name: .*, since gopls (refused: panic at x|failed twice: it sent an)/);
      deepEqual(said.map((text) => /^(\[|Cannot .*\. |\w+\.go:\d+: )/.test(text)), [true, true, true, true]); // biome-ignore format: short
    },
  );
