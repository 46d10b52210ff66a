// A name means exactly what is called that. What is only like it is offered, and never changed.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { warmCall } from "../../support/warm.ts";

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

/** Both classes of names that differ in one sign, and what a question about each must and must not show. */
const PAIRS = [
  ["$Foo", "class $Foo", "class Foo"],
  ["Foo", "class Foo", "class $Foo"],
  ["_bar", "_bar = 1", "const bar "],
  ["größe", "größe = 1", "const grosse"],
  ["$$", "const $$", "const $ ="],
  ["Box.lid", "lid = 2", "#lid = 1"],
] as const;

describe("find_definition takes the name exactly as it is", () => {
  for (const [name, shows, not] of PAIRS)
    test(name, async () => {
      const { said } = await warmCall(CODE, "find_definition", { symbol: name });
      match(said, new RegExp(`^a\\.ts:\\d+: .*${shows.replace(/[$#]/g, "\\$&")}`, "m"));
      equal(said.includes(not), false, said);
    });
});

describe("find_references and rename_symbol take it exactly as well", () => {
  for (const [name, to, holds, keeps] of [
    ["$Foo", "$Bar", /class \$Bar [\s\S]*new \$Bar\(\)/, /class Foo [\s\S]*class foo /],
    ["Foo", "Bar", /class Bar /, /class \$Foo [\s\S]*new \$Foo\(\)[\s\S]*class foo /],
    ["bar", "baz", /_bar = 1;\nexport const baz = _bar/, /./],
    ["Box.#lid", "#top", /#top = 1;\n {2}lid = 2/, /this\.#top \+ this\.lid/],
    ["$$", "$2", /\$2 = \$;/, /const \$ = 1/],
  ] as const)
    test(name, async () => {
      const { said, failed, standing } = await warmCall(CODE, "rename_symbol", { symbol: name, to });
      equal(failed, false, said);
      match(standing("a.ts")!, holds);
      match(standing("a.ts")!, keeps);
    });
});

describe("what nothing is called exactly is offered, and a rename changes nothing", () => {
  const ONE = {
    "b.ts": "export class Foo {}\nexport const bar = new Foo();\nexport class Lid { #in = 1; out = this.#in; }\n",
  };
  for (const [name, offers] of [
    ["$Foo", /Foo/],
    ["foo", /Foo/],
    ["_bar", /bar/],
    ["Bar", /bar/],
    ["Lid.in", /#in/],
    ["Lid.#out", /out/],
  ] as const)
    test(name, async () => {
      const { said, failed, standing } = await warmCall(ONE, "rename_symbol", { symbol: name, to: "Other" });
      equal(failed, true, said);
      match(said, offers);
      equal(standing("b.ts"), ONE["b.ts"]);
      const found = await warmCall(ONE, "find_definition", { symbol: name });
      match(found.said, /^No definition is named|^Cannot find/);
      doesNotMatch(found.said, /^b\.ts/);
    });
});
