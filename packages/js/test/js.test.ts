// /js: TypeScript at the prompt.
import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { place, zz } from "../../../test/support/run.ts";

const ENDLESS = "for (;;);";
/** Only what never ends may reach the limit. */
async function js(code: string): Promise<string> {
  const where = place({}, { js: { seconds: code === ENDLESS ? 0.1 : 150 } });
  const { stdout, stderr } = await zz(where, ["--model", "offline", "--once", `/js ${code}`]);
  return (stdout + stderr).trimEnd();
}

const GIVES: [code: string, shown: string | RegExp][] = [
  ["1 + 1", "2"],
  ["({ a: [1, { b: 2 }] })", "{ a: [ 1, { b: 2 } ] }"],
  ["const a: number = 3; return a * 2", "6"],
  ["(<T,>(x: T) => x)(5)", "5"],
  ["enum A { B = 7 }; return A.B", "7"],
  ["chat.model", "offline/router"],
  ["(await ctx.call('list_dir', {})).failed", "undefined"],
  ["'\\x1b[2J'", "␛[2J"],
  ["foo.bar", "Cannot evaluate that: ReferenceError: foo is not defined"],
  ["throw 'words'", "Cannot evaluate that: 'words'"],
  [ENDLESS, /^Cannot evaluate that: Error: Script execution timed out after 100ms$/],
  ["", "Cannot evaluate nothing: /js chat.messages.length"],
];
for (const [code, shown] of GIVES)
  test(`/js ${code}`, async () => {
    const told = await js(code);
    if (typeof shown === "string") equal(told, shown);
    else match(told, shown);
  });
