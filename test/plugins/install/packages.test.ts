// What --install takes: how a plugin is named, what an archive holds, and what its package.json and its text say.
import { deepEqual, equal, match, throws } from "node:assert/strict";
import { test } from "node:test";
import type { Contents } from "../../../plugins/install/contents.ts";
import { lookAt } from "../../../plugins/install/look.ts";
import { aboutOf } from "../../../plugins/install/package.ts";
import { specOf } from "../../../plugins/install/spec.ts";
import { untar } from "../../../plugins/install/tar.ts";
import { type Entries, tar } from "../../support/fake/registry.ts";
import { show } from "../../support/install.ts";
import { rare } from "../../support/runs.ts";

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
  ["-g", /begins with a dash/],
  ["a b", /none of what can be installed/],
  ["a\nb", /control characters/],
  ["https://h/x", /may be anything\. Write git\+https/],
  ["https://u:p@h/x.git", /holds a password/],
  ["git+https://h/x.git#--upload-pack=y", /not a branch, tag or commit/],
  ["git+ext::sh -c x", /no spaces/],
  ["git@-oProxy:x", /none of what/],
] as const)
  test(`specOf() refuses ${show(given)}`, () => throws(() => specOf(given, "/p"), why));

const pax = (path: string) => {
  const line = (length: number) => `${length} path=${path}\n`;
  const bare = Buffer.byteLength(line(0)) - 1;
  return line(bare + String(bare + 2).length);
};
const long = `p/${"d/".repeat(70)}x`;
type Entry = Entries[number];
const file = (name: string, content = ""): Entry => [name, content];
const entry = (name: string, type: string, content = ""): Entry => [name, content, { type }];
const link = (name: string, to: string, type = "2"): Entry => [name, "", { type, link: to }];
for (const [what, entries, names] of [
  ["files, without their folder", [file("p/a", "1"), file("p/b/c", "2")], ["a", "b/c"]],
  ["a long name in pax", [entry("pax", "x", pax(long)), file("short", "1")], [long.slice(2)]],
  ["a long name of GNU's", [entry("././@LongLink", "L", `${long}\0`), file("short", "1")], [long.slice(2)]],
  ["a link to a file in it", [file("p/d/a", "1"), link("p/b", "d/a")], ["d/a", "b"]],
  ["a hard link", [file("p/a", "1"), link("p/b", "p/a", "1")], ["a", "b"]],
] as const)
  test(`untar() reads ${what}`, () => {
    const contents = untar(tar([...entries]), true);
    deepEqual([...contents.keys()], names);
    if (what.includes("link")) equal(contents.get("b")!.bytes.toString(), "1");
  });

for (const [what, entries, why] of [
  [".. in the middle", [file("p/../../x")], /leads out/],
  ["an absolute path", [file("/etc/x")], /'\/etc\/x' leads out/],
  ["a backslash", [file("p\\..\\x")], /leads out/],
  [".. by pax", [entry("pax", "x", pax("../../x")), file("p/x")], /leads out/],
  ["a link out of it", [link("p/x", "../../etc/passwd")], /link to '.*passwd', which leads out of it/],
  ["an absolute link", [link("p/x", "/etc/passwd")], /leads out/],
  ["a device", [entry("p/x", "3")], /neither a file nor a folder/],
] as const)
  test(`untar() refuses ${what}`, () => throws(() => untar(tar([...entries]), true), why));

rare("untar() refuses more than 20,000 files", () => {
  const many = tar(Array.from({ length: 20_001 }, (_, i) => file(`p/${i}`)));
  throws(() => untar(many, true), /more than 20,000 files/);
});

test("untar() refuses files of more than 200 MB", () => {
  const large = Buffer.alloc(201e6 + 1024); // nobody touches its pages
  const [head] = [tar([["p/x", ""]]).subarray(0, 512)];
  head.write((201e6).toString(8).padStart(11, "0"), 124);
  head.write(" ".repeat(8), 148);
  const sum = head.reduce((all, byte) => all + byte, 0);
  head.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  head.copy(large);
  throws(() => untar(large, true), /larger than 200 MB/);
});

test("untar() refuses what is damaged or cut off", () => {
  const whole = tar([["p/a", "x".repeat(2000)]]);
  for (const left of [1024, 700, 300]) throws(() => untar(whole.subarray(0, left), true), /cut off/);
  const broken = Buffer.from(whole);
  broken[0]! ^= 1;
  throws(() => untar(broken, true), /damaged/);
});

const contents = (files: Record<string, string>): Contents =>
  new Map(Object.entries(files).map(([name, text]) => [name, { bytes: Buffer.from(text) }]));

const keyed = { keywords: ["zz-plugin"] };
for (const [what, said, entry] of [
  ["the key zz before the keyword", { zz: "src/a.ts", ...keyed, main: "b.js" }, "src/a.ts"],
  ["the keyword and main", { ...keyed, main: "./b.js" }, "b.js"],
  ["the keyword and exports", { ...keyed, main: "./b.js", exports: "./src/a.ts" }, "src/a.ts"],
  ["the keyword alone", keyed, "index.ts"],
] as const)
  test(`a plugin is found by ${what}`, () => {
    const files = { "package.json": show({ name: "@s/x.y", ...said }), "src/a.ts": "", "b.js": "", "index.ts": "" };
    const { name, entry: found } = aboutOf(contents(files), "b", false);
    deepEqual([name, found], ["x-y", entry]);
  });

for (const [what, files, why] of [
  ["no key", { "package.json": "{}", "index.ts": "" }, /neither the key "zz".* nor the keyword "zz-plugin"/],
  ["a file that is not there", { "package.json": show({ zz: "../x.ts" }) }, /key "zz".* '"\.\.\/x\.ts"', which is/],
  ["no JSON", { "package.json": "{" }, /not a JSON object/],
  ["a bad name", { "package.json": show({ name: "1x", zz: "a.ts" }) }, /'1x' cannot be a plugin's name/],
  ["a dependency on the disk", { "package.json": show({ zz: "a.ts", dependencies: { x: "file:../x" } }) }, /own disk/],
] as [string, Record<string, string>, RegExp][])
  test(`a package is refused for ${what}`, () =>
    throws(() => aboutOf(contents({ "a.ts": "", ...files }), "x", false), why));

for (const [text, adds, reaches] of [
  [`zz.tool({ name: "a" })`, ["tool a"], []],
  ["zz.flag({ name: `f` }); zz.layer({ name })", ["flag --f", "layer of a name that is made as it runs"], []],
  [`zz.wrap("call", f); zz.on("answered", f); bus.on("data", f)`, ["changes every call", "sees 'answered'"], []],
  [`import fs from "node:fs/promises";`, [], [/^files/]],
  ["await fetch (url)", [], [/^the network \(fetch\)/]],
  ["process.env.X; const { env } = process", [], [/^environment/]],
  ["new Function('x')", [], [/^code that is made/]],
  [`import("./a.ts")`, [], []],
  ["process.getBuiltinModule(a)", [], [/^Node's inside/]],
  ["  // eval(x) is not used here\nlet retrieval = 1;", [], []],
] as [string, string[], RegExp[]][])
  test(`lookAt() finds in ${show(text)}`, () => {
    const look = lookAt(contents({ "a.ts": text, "readme.md": "eval(" }));
    deepEqual(look.adds, adds);
    equal(look.reaches.length, reaches.length, show(look.reaches));
    for (const [i, words] of reaches.entries()) match(look.reaches[i]!, words);
  });
