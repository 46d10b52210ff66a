// What --install takes: how a plugin is named, and what its package.json and its text say;
// and a package with packages of its own.
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import {
  all,
  does,
  refuses,
  says,
  show,
  tool,
  withRegistry,
} from "../../../test/support/install.ts";
import { place, withEnvironment } from "../../../test/support/run.ts";
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
  [
    "a file that is no text",
    { "package.json": show({ zz: 5 }) },
    /wrong: "zz" has to name the plugin's file, as text\. Fix it$/,
  ],
  ["an empty file", { "package.json": show({ zz: "" }) }, /wrong: "zz" is empty/],
  [
    "a name that is no text",
    { "package.json": show({ zz: "a.ts", name: {} }) },
    /wrong: "name" has to be text/,
  ],
  [
    "versions that are no text",
    { "package.json": show({ zz: "a.ts", engines: { zz: 1 } }) },
    /wrong: "engines\.zz" has to name versions/,
  ],
  [
    "engines that are no object",
    { "package.json": show({ zz: "a.ts", engines: "1" }) },
    /wrong: "engines" has to be an object/,
  ],
] as [string, Record<string, string>, RegExp][])
  test(`a package is refused for ${what}`, () =>
    throws(() => aboutOf(place({ "a.ts": "", ...files }).cwd, "x"), why));

for (const [what, fields] of [
  ["an old form of the license", { license: { type: "MIT" } }],
  [
    "what cannot be shown",
    { license: "MIT", version: 1, description: ["a"], keywords: "zz-plugin" },
  ],
  ["fields that zz does not know", { license: "MIT", exports: null, contributes: { a: 1 } }],
] as const)
  test(`a package is taken with ${what}`, () => {
    const packed = place({
      "a.ts": "",
      "package.json": show({ zz: "a.ts", type: "module", ...fields }),
    });
    const { name, version, license, description } = aboutOf(packed.cwd, "x");
    deepEqual([name, version, license, description], ["x", undefined, "MIT", undefined]);
  });

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
  [
    `zz.wrap("gate", f); zz.wrap("fetch", f); zz.on("typed", f)`,
    ["changes every gate", "changes every fetch", "sees 'typed'"],
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

describe("from npm", () => {
  const npm = withRegistry();

  test("a package comes with its own packages, whose scripts do not run", async () => {
    const drop = {
      name: "drop",
      version: "1.0.0",
      scripts: { install: "touch ran" },
      hasInstallScript: true,
    };
    npm.publish(drop, { "index.js": 'module.exports = "drop 1.0";' });
    const rain = {
      name: "@sky/rain",
      version: "1.0.0",
      license: "MIT",
      type: "module",
      main: "index.js",
    };
    npm.publish(
      {
        ...rain,
        keywords: ["zz-plugin"],
        dependencies: { drop: "^1.0.0" },
        peerDependencies: { zz: "*" },
      },
      {
        "index.js": `import drop from "drop";\n${tool("rain", "x").replace('"x"', `drop + " 1.0.0"`)}`,
      },
    );
    // a project's, which npm does not read
    const where = place({ ".npmrc": "@sky:registry=http://127.0.0.1:49/" });
    const { stdout, stderr } = await does(where, ["-A", "--install", "@sky/rain"]);
    match(
      stderr,
      /plugin +rain 1\.0\.0\n.*from +npm package @sky\/rain\n.*integrity sha512-\S+\n.*license +MIT\n/,
    );
    match(stderr, /needs +1 package: drop 1\.0\.0; none of their install scripts runs/);
    match(
      stdout,
      /^Installed 'rain' 1\.0\.0 in .*\nThese packages have install scripts, .* not run: drop\.\n$/,
    );
    equal(await says(where, "rain"), "drop 1.0 1.0.0");
    const names = fs.readdirSync(join(where.home, "plugins/rain/node_modules"), {
      recursive: true,
      encoding: "utf8",
    });
    ok(!names.includes("drop/ran"));
    ok(!names.includes("zz"), "a peer is zz's to lend");
  });

  test("without npm it says so", async () => {
    using _ = withEnvironment({ PATH: "/nowhere" });
    const where = place();
    await refuses(where, ["-A", "--install", "drop"], /there is no npm on the PATH\. Install it\./);
    deepEqual(all(where.home), {});
  });
});
