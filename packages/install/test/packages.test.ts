// What --install takes: how a plugin is named, and what its package.json and its text say.
import { deepEqual, equal, match, throws } from "node:assert/strict";
import { test } from "node:test";
import { show } from "../../../test/support/install.ts";
import { place } from "../../../test/support/run.ts";
import { lookAt } from "../describe-plugin.ts";
import { aboutOf } from "../package.ts";
import { specOf } from "../spec.ts";

for (const [given, kind, text = given] of [
  ["weather", "npm"],
  ["@scope/name@next", "npm"],
  ["./x.ts", "path", "/p/x.ts"],
  ["plugins/x", "path", "/p/plugins/x"],
  ["./x.tgz", "path", "/p/x.tgz"],
  ["zz/todo", "example"],
  ["https://h/x.git#v1.0", "git", "git+https://h/x.git#v1.0"],
  ["file:///a/x.git#0123abc", "git"],
] as const)
  test(`specOf(${show(given)}) is ${kind}`, () => {
    const spec = specOf(given, "/p");
    deepEqual([spec.kind, spec.text], [kind, text]);
  });

for (const [given, why] of [
  ["", /nothing is named/],
  ["-g", /none of what can be installed/],
  ["a b", /none of what can be installed/],
  ["a\nb", /none of what/],
  ["https://h/x", /may be anything\. Write git\+https/],
  ["https://u:p@h/x.git", /holds a password/],
  ["git+https://h/x.git#--upload-pack=y", /not a branch, tag or commit/],
  ["git+ext::sh -c x", /not a URL/],
  ["git@-oProxy:x", /none of what/],
] as const)
  test(`specOf() refuses ${show(given)}`, () => throws(() => specOf(given, "/p"), why));

for (const [what, files, why] of [
  [
    "no key",
    { "package.json": "{}", "index.ts": "" },
    /neither the key "zz".* nor the keyword "zz-plugin"/,
  ],
  ["no JSON", { "package.json": "{" }, /not a JSON object/],
  [
    "a bad name",
    { "package.json": show({ name: "1x", zz: "a.ts" }) },
    /'1x' cannot be a plugin's name/,
  ],
] as [string, Record<string, string>, RegExp][])
  test(`a package is refused for ${what}`, () =>
    throws(() => aboutOf(place({ "a.ts": "", ...files }).cwd, "x"), why));

for (const [text, adds, reaches] of [
  [`zz.tool({ name: "a" })`, ["tool a"], []],
  [
    "zz.flag({ name: `f` }); zz.layer({ name })",
    ["flag --f", "layer of a name that is made as it runs"],
    [],
  ],
  [
    `zz.wrap("call", f); zz.on("answered", f); bus.on("data", f)`,
    ["changes every call", "sees 'answered'"],
    [],
  ],
  [`import fs from "node:fs/promises";`, [], [/^files/]],
  ["await fetch (url)", [], [/^the network \(fetch\)/]],
  ["process.env.X; const { env } = process", [], [/^environment/]],
  ["new Function('x')", [], [/^code that is made/]],
  [`import("./a.ts")`, [], []],
  ["process.getBuiltinModule(a)", [], [/^Node's inside/]],
  ["  // eval(x) is not used here\nlet retrieval = 1;", [], []],
] as [string, string[], RegExp[]][])
  test(`lookAt() finds in ${show(text)}`, () => {
    const look = lookAt(["a.ts", "readme.md"], (name) => (name === "a.ts" ? text : "eval("));
    deepEqual(look.adds, adds);
    equal(look.reaches.length, reaches.length, show(look.reaches));
    for (const [i, words] of reaches.entries()) match(look.reaches[i]!, words);
  });
