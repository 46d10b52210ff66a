// What the model is told before the conversation, by what a server received in its system message.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, mock, test } from "node:test";
import { say } from "../support/fake/openai.ts";
import type { Tree } from "../support/files.ts";
import { asks, having } from "../support/having.ts";
import { type Place, place } from "../support/run.ts";
import { harness } from "../support/script.ts";

async function told(where: Place, args: string[] = []) {
  const { code, stderr, sent } = await asks(where, [say("x")], [...args, "hi"]);
  equal(code, 0, stderr);
  const messages: { content: string }[] = sent[0].messages;
  return { system: messages[0]!.content, messages, stderr };
}
const layer = (system: string, title: string): string | undefined =>
  new RegExp(`^--- ${title} ---\\n([\\s\\S]*?)\\n--- END ${title} ---$`, "m").exec(system)?.[1];
const has = (system: string, ...texts: string[]): void => {
  const places = texts.map((text) => system.indexOf(text));
  for (const [i, at] of places.entries())
    ok(at > (places[i - 1] ?? -1), `${texts[i]} is missing, or comes too early, in:\n${system}`);
};

describe("persona", () => {
  test("identity and soul are told first, relations later; the project's file hides the home's", async () => {
    const where = having({
      "~/IDENTITY.md": "I am Ada.",
      "~/SOUL.md": "Be dry.",
      "~/RELATIONS.md": "Bo reviews.",
      ".zz/SOUL.md": "Be warm.",
    });
    const { system } = await told(where);
    const soul = "From .zz/SOUL.md, which this project brings:\nBe warm.";
    has(system, "You are zz", "I am Ada.", soul, "--- SESSION", "--- RELATIONS ---\nBo reviews.\n");
    doesNotMatch(system, /Be dry/);
  });

  test("where there is none, there is no layer", async () => {
    const { system, stderr } = await told(place());
    deepEqual(system.match(/^--- (?!END)[A-Z ]+ ---$/gm), [
      "--- SESSION ---",
      "--- RUNTIME ---",
      "--- TIME ---",
    ]);
    equal(stderr, "");
  });

  const bad: [what: string, soul: string | Buffer, words: RegExp][] = [
    ["that is binary", Buffer.from([65, 0, 66]), /'soul'.*'\.zz\/SOUL\.md': it is not text/],
    ["that leads out of the project", "->../../secret", /'soul'.*outside the project/],
  ];
  for (const [what, soul, words] of bad)
    test(`a file ${what} is named, and the turn goes on`, async () => {
      const { system, stderr } = await told(having({ "../secret": "SECRET", ".zz/SOUL.md": soul }));
      match(stderr, words);
      equal(stderr.trim().split("\n").length, 1, stderr);
      doesNotMatch(system, /SECRET|SOUL/);
    });
});

describe("rules", () => {
  const file = (title: string, text: string) =>
    `--- FILE ${title} ---\n${text}\n--- END FILE ${title} ---`;
  const LOT = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`d/${i}.md`, `text ${i}`]));
  const rows: [what: string, files: Tree, folder: string, holds: string[], lacks?: RegExp][] = [
    ["AGENTS.md before CLAUDE.md", { "AGENTS.md": "A", "CLAUDE.md": "CLAUDISH" }, ".", [file("AGENTS.md", "A")], /CLAUDISH/],
    ["CLAUDE.md where AGENTS.md is empty", { "AGENTS.md": " \n", "CLAUDE.md": "C" }, ".", [file("CLAUDE.md", "C")], /AGENTS/],
    ["from the repository's top down", { ".git/HEAD": "", "AGENTS.md": "TOP", "a/CLAUDE.md": "MID", "a/b/AGENTS.md": "DEEP", "c/AGENTS.md": "SIBLING" }, "a/b", [file("../../AGENTS.md", "TOP"), file("../CLAUDE.md", "MID"), file("AGENTS.md", "DEEP")], /SIBLING/],
    ["of no more than the nearest repository", { ".git/HEAD": "", "AGENTS.md": "OUTER", "a/.git": "gitdir: x", "a/AGENTS.md": "A", "a/b/x": "" }, "a/b", [file("../AGENTS.md", "A")], /OUTER/],
    ["of the folder alone without a repository", { "AGENTS.md": "OUTER", "a/AGENTS.md": "A" }, "a", [file("AGENTS.md", "A")], /OUTER/],
    ["with what @ names, at the start and inline", { "AGENTS.md": "@docs/one.md\nSee @two.md, and (@./three.md).", "docs/one.md": "ONE", "two.md": "TWO", "three.md": "THREE" }, ".", [file("docs/one.md, named in AGENTS.md", "ONE"), file("two.md, named in AGENTS.md", "TWO"), file("three.md, named in AGENTS.md", "THREE")], /Left out/],
    ["with what links name", { "AGENTS.md": "[a](docs/a.md#top) [b](<b.md> \"B\") [c](my%20c.md)", "docs/a.md": "AAA", "b.md": "BBB", "my c.md": "CCC" }, ".", [file("docs/a.md, named in AGENTS.md", "AAA"), file("b.md, named in AGENTS.md", "BBB"), file("my c.md, named in AGENTS.md", "CCC")], /Left out/],
    ["one level deep", { "AGENTS.md": "@a.md", "a.md": "AAA @b.md", "b.md": "BBB" }, ".", ["AAA @b.md"], /BBB|Left out/],
    ["with nothing that only looks like a reference", { "AGENTS.md": "me@a.md `@a.md` @types/node @Injectable [w](https://x.y/a.md) [i](a.png)\n```\n@a.md\n[a](a.md)\n```\n", "a.md": "AAA", "a.png": "PNG" }, ".", ["@Injectable"], /AAA|PNG|Left out/],
    ["with each file once", { "AGENTS.md": "@a.md @./a.md", "a.md": "AAA" }, ".", ["AAA", "[Left out: ./a.md (already here)]"], /AAA[\s\S]*AAA/],
    ["not with what is outside", { "../out.md": "OUT", "AGENTS.md": "@../out.md" }, ".", ["[Left out: ../out.md (outside the project)]"], /OUT\n/],
    ["not with an absolute path", { "AGENTS.md": "@/etc/hosts.md @~/x.md" }, ".", ["[Left out: /etc/hosts.md (an absolute path), ~/x.md (an absolute path)]"]],
    ["not with what may hold secrets", { "AGENTS.md": "@.env.md", ".env.md": "TOKEN" }, ".", ["[Left out: .env.md (not to be read)]"], /TOKEN/],
    ["not with what may hold secrets, above the working folder", { ".git/HEAD": "", "AGENTS.md": "@.env.md @link.md", ".env.md": "TOKEN", ".env": "TOKEN", "link.md": "->.env", "a/x": "" }, "a", ["[Left out: .env.md (not to be read), link.md (not to be read)]"], /TOKEN/],
    ["not by a link to what may hold secrets, in the folder or above", { ".git/HEAD": "", "CLAUDE.md": "->.env", ".env": "TOKEN", "a/AGENTS.md": "->../.env", "b/id_rsa": "TOKEN", "a/CLAUDE.md": "->../b/id_rsa" }, "a", ["[Left out: ../CLAUDE.md (not to be read), AGENTS.md (not to be read), CLAUDE.md (not to be read)]"], /TOKEN/],
    ["of bytes: named", { "AGENTS.md": Buffer.from([66, 65, 68, 0]), "CLAUDE.md": "C" }, ".", ["[Left out: AGENTS.md (not text)]"], /BAD/],
    ["with sixteen files, and the names of the rest", { "AGENTS.md": Object.keys(LOT).map((name) => `@${name}`).join(" "), ...LOT }, ".", ["text 15", "[Left out: d/16.md (no room; read it when it is needed), d/17.md"], /text 16/],
    ["with as much as there is room for", { "AGENTS.md": "@a.md @b.md @c.md @d.md", "a.md": "a".repeat(9e3), "b.md": "b".repeat(9e3), "c.md": "c".repeat(9e3), "d.md": "d" }, ".", ["a".repeat(4200), "bytes left out", "d.md (no room"], /a{4201}/],
    ["in other scripts, cut between letters", { "AGENTS.md": `始${"漢字😀".repeat(20_000)}終` }, ".", ["始漢", "bytes left out", "終\n"], /\ufffd/],
  ]; // biome-ignore format: a table
  for (const [what, files, folder, holds, lacks] of rows)
    test(what, async () => {
      const where = having(files);
      const { system, stderr } = await told({ ...where, cwd: join(where.cwd, folder) });
      equal(stderr, "");
      const rules = layer(system, "RULES") ?? "";
      has(rules, ...holds);
      if (lacks) doesNotMatch(rules, lacks);
      has(system, "--- RULES", "--- SESSION");
    });

  test("that lead out of the project by a link are left out", async () => {
    const links = { "link.md": "->../out.md", "a/AGENTS.md": "->../../out.md" };
    const where = having({ "../out.md": "OUT", "AGENTS.md": "@link.md", "a/.git": "", ...links });
    for (const [folder, link] of Object.entries({ ".": "link", a: "AGENTS" })) {
      const { system } = await told({ ...where, cwd: join(where.cwd, folder) });
      has(system, `[Left out: ${link}.md (outside the project)]`);
      doesNotMatch(system, /OUT$/m);
    }
  });

  test("of any length are cut, and only what is shown is read", async () => {
    const where = place();
    const fd = openSync(join(where.cwd, "AGENTS.md"), "w");
    writeSync(fd, `FIRST ${"head ".repeat(20_000)}`);
    ftruncateSync(fd, 5 * 2 ** 30); // NULs, which would make it no text, if anybody read that far
    writeSync(fd, `${"tail ".repeat(10_000)}LAST`, 5 * 2 ** 30);
    closeSync(fd);
    const { system } = await told(where);
    match(
      system,
      /FIRST head[\s\S]*\n\[… 53687\d{5} bytes left out …\]\n[\s\S]*tail LAST\n--- END FILE/,
    );
    const [head, tail] = layer(system, "RULES")!.split(/\n\[….*…\]\n/);
    ok(Math.abs(head!.length / tail!.length - 3.5) < 0.2, `${head!.length} and ${tail!.length}`);
  });
});

describe("surroundings", () => {
  const { TZ } = process.env;
  /** Time stands still here. */
  function at(iso: string, zone = "UTC"): void {
    process.env.TZ = zone;
    mock.timers.reset();
    mock.timers.enable({ apis: ["Date"], now: new Date(iso) });
  }
  afterEach(() => {
    mock.timers.reset();
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  test("the time is local, the last of all, and told again in a conversation after ten minutes", async (t) => {
    at("2026-12-31T20:30:00Z", "Asia/Kathmandu");
    const zz = await harness({ own: true }, t);
    for (const iso of ["2026-12-31T20:30:00Z", "2026-12-31T20:39:59Z", "2026-12-31T20:40:00Z"]) {
      at(iso, "Asia/Kathmandu");
      await zz.ask("hi");
    }
    const [first] = zz.requests;
    match(
      first!.system,
      /\n\n--- TIME ---\nFriday, 2027-01-01 02:15 \(UTC\+05:45\)\n--- END TIME ---$/,
    );
    const later = zz.requests.map(
      ({ messages }) => /TIME ---\n\w+, \S+ (\S+)/.exec(messages.at(-1)!.text)?.[1],
    );
    deepEqual(later, [undefined, undefined, "02:25"]);
  });

  test("the prompt of a conversation is the same to the byte in every instance; the time goes with a later message", async () => {
    const config = { symbols: { map: "always", wait: 600_000, waitAgain: 600_000 } };
    const files = { "AGENTS.md": "Tabs.", "a.ts": "export const a = 1;\n", "package.json": "{}" };
    const where = having({ ...files, "../map.json": config });
    const toldAt = async (iso: string, ...args: string[]) => {
      at(iso);
      return told(where, [...args, "--config", join(where.cwd, "../map.json")]);
    };
    const first = await toldAt("2026-01-02T03:04:05Z");
    match(first.system, /--- REPO MAP[\s\S]*03:04 \(/);
    const second = await toldAt("2026-01-02T03:05:00Z", "-c");
    equal(second.system, first.system);
    match(
      second.messages.at(-1)!.content,
      /^--- TIME ---\nFriday, 2026-01-02 03:05 \(UTC\+00:00\)\n--- END TIME/,
    );
    equal(
      (await toldAt("2026-01-02T03:05:30Z")).system,
      first.system.replace("03:04 (", "03:05 ("),
      "a new one",
    );
  });

  test("the model is told which it is, and whether it has tools", async () => {
    equal(layer((await told(place())).system, "RUNTIME"), "Model: openai/m\nTools: on");
    equal(
      layer((await told(place(), ["--no-tools"])).system, "RUNTIME"),
      "Model: openai/m\nTools: off",
    );
    const where = having({ "~/zz.config.json": { shell: { sandbox: "off" } } });
    match(layer((await told(where)).system, "SANDBOX")!, /^Off: commands/);
  });
});
