// What else a language server may do: the index answers by name, and says so in one sentence.
import { deepEqual, doesNotMatch, match } from "node:assert/strict";
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
