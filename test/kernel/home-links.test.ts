// Links in zz's home: what a person may link (settings, keys, rules, history) is written where the
// link leads, and stays a link; zz's own files are never written through one.
import { deepEqual, equal, match } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { misfitsOf } from "../../kernel/settings/accepted-settings.ts";
import { updatePrivateFile } from "../../kernel/system/locks.ts";
import { place, zz } from "../support/run.ts";

const isLink = (file: string) => fs.lstatSync(file).isSymbolicLink();
const victim = () => {
  const { home, cwd } = place({}, {}, { "prompts/": null });
  const target = join(cwd, "dotfiles.json");
  return { home, target };
};

describe("a file that the person links is written at its target, and stays a link", () => {
  for (const name of "zz.config.json keys.json permissions.json trust.json env.json plugins.lock.json history".split(
    " ",
  ))
    test(name, () => {
      const { home, target } = victim();
      fs.writeFileSync(target, "{}\n");
      fs.symlinkSync(target, join(home, name));
      updatePrivateFile(join(home, name), () => '{"a":1}');
      equal(fs.readFileSync(target, "utf8"), '{"a":1}\n');
      equal(isLink(join(home, name)), true);
    });

  test("a link that leads nowhere makes nothing there", () => {
    const { home, target } = victim();
    fs.symlinkSync(target, join(home, "keys.json"));
    updatePrivateFile(join(home, "keys.json"), () => "{}");
    deepEqual([fs.existsSync(target), isLink(join(home, "keys.json"))], [false, false]);
  });
});

describe("zz's own files are never written through a link", () => {
  for (const before of ["mine\n", undefined])
    test(`accepted.txt to ${before ? "a file" : "nothing"}`, async () => {
      const { home, target } = victim();
      if (before) fs.writeFileSync(target, before);
      fs.symlinkSync(target, join(home, "accepted.txt"));
      const schema = { type: "object", properties: { a: { type: "number" } } };
      deepEqual(await misfitsOf(home, schema, { a: 1 }), []);
      equal(before && fs.readFileSync(target, "utf8"), before);
      equal(fs.existsSync(target), before !== undefined);
    });

  test("a session", async () => {
    const where = place();
    await zz(where, ["--call", "list_dir", "{}"]);
    const header = { zz: 1, id: "20260101-000000-aaaa", root: where.cwd, model: "openai/m" };
    const torn = `${JSON.stringify({ ...header, started: new Date().toISOString() })}\n{"id":1,"torn`;
    const target = join(where.cwd, "notes");
    fs.writeFileSync(target, torn);
    fs.mkdirSync(join(where.home, "sessions"), { recursive: true });
    const link = join(where.home, "sessions", `${header.id}.jsonl`);
    fs.symlinkSync(target, link);
    const { stderr } = await zz(where, ["--resume", header.id, "--once", "hi"]);
    match(stderr, /^Cannot open session file '.*': it is a link\. Put the file itself there\./m);
    equal(fs.readFileSync(target, "utf8"), torn);
  });
});

test("accepted.txt begins again once it has more than 500 lines", async () => {
  const { home } = victim();
  const file = join(home, "accepted.txt");
  fs.writeFileSync(file, "salt\n".repeat(600));
  await misfitsOf(home, { type: "object" }, {});
  equal(fs.readFileSync(file, "utf8").split("\n").length, 3);
});
