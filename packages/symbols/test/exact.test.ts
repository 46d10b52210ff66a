// A name means exactly what is called that. What is only like it is offered, and never changed.
import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { warmCall } from "../../../test/support/warm.ts";

const CODE = {
  "a.ts": `export class $Foo { one() { return 1; } }
export class Foo { two() { return new $Foo().one(); } }
export class foo { three() { return 3; } }
export const _bar = 1;
export const bar = _bar + 1;
export class Box {
  #lid = 1;
  lid = 2;
  "odd name"() { return this.#lid + this.lid; }
  odd() { return this["odd name"](); }
}
export const größe = 1;
export const grosse = größe;
export const $ = 1;
export const $$ = $;
`,
};

for (const [name, found] of [
  ["$Foo", "a.ts:1: export class $Foo"],
  ["$$", "a.ts:15: export const $$ = $"],
  ["Box.lid", "a.ts:8: lid = 2"],
] as const)
  test(`find_definition takes ${name} exactly as it is`, async () => {
    equal((await warmCall(CODE, "find_definition", { symbol: name })).said, found);
  });

for (const [name, offers] of Object.entries({
  $Foo: /Foo/,
  foo: /Foo/,
  _bar: /bar/,
  "Lid.in": /#in/,
  "Lid.#out": /out/,
}))
  test(`${name}, as nothing is called exactly, is offered something like it, and a rename changes nothing`, async () => {
    const text =
      "export class Foo {}\nexport const bar = new Foo();\nexport class Lid { #in = 1; out = this.#in; }\n";
    const { said, failed, standing } = await warmCall({ "b.ts": text }, "rename_symbol", {
      symbol: name,
      to: "Other",
    });
    equal(failed, true, said);
    match(said, offers);
    equal(standing("b.ts"), text);
    const sought = await warmCall({ "b.ts": text }, "find_definition", { symbol: name });
    match(sought.said, /^No definition is named|^Cannot find/);
  });
