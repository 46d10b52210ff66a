// What the model is told before the conversation, by what a server received in its system message.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, afterEach, describe, mock, test } from "node:test";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { type How, type Place, place, zz } from "../support/run.ts";
import { harness } from "../support/script.ts";

type Files = Record<string, string | Buffer>;

/** A project, and beside it a home and whatever lies outside. */
function having(files: Files): Place {
  const where = place();
  for (const [name, content] of Object.entries(files)) put(where, name, content);
  return where;
}
function put(where: Place, name: string, content: string | Buffer): void {
  const file = join(where.cwd, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

async function told(where: Place, args: string[] = [], how: How = {}): Promise<Told> {
  const fake = await fakeOpenAI([say("x")]);
  after(fake.close);
  const ran = await zz(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args, "hi"], how);
  equal(ran.code, 0, ran.stderr);
  const { messages } = fake.requests[0]!.body;
  return { system: messages[0].content, messages, stderr: ran.stderr };
}
type Told = { system: string; messages: { content: string }[]; stderr: string };
const layer = (system: string, title: string): string | undefined =>
  new RegExp(`^--- ${title} ---\\n([\\s\\S]*?)\\n--- END ${title} ---$`, "m").exec(system)?.[1];
const has = (system: string, ...texts: string[]): void => {
  const places = texts.map((text) => system.indexOf(text));
  for (const [i, at] of places.entries()) ok(at >= 0, `${texts[i]} is missing in:\n${system}`);
  deepEqual(
    places,
    places.toSorted((a, b) => a - b),
    `not in this order: ${texts.join(" < ")}`,
  );
};

describe("persona", () => {
  test("a home's files are told: identity and soul first, relations later", async () => {
    const { system } = await told(
      having({
        "../home/IDENTITY.md": "I am Ada.",
        "../home/SOUL.md": "Be dry.",
        "../home/RELATIONS.md": "Bo reviews.",
      }),
    );
    has(system, "You are zz", "I am Ada.", "Be dry.", "--- SESSION", "--- RELATIONS ---\nBo reviews.\n");
  });

  test("the project's file hides the home's, and is told as the project's", async () => {
    const { system } = await told(
      having({ "../home/SOUL.md": "Be dry.", ".zz/SOUL.md": "Be warm.", "../home/IDENTITY.md": "Ada" }),
    );
    has(system, "Ada", "From .zz/SOUL.md, which this project brings:\nBe warm.");
    ok(!system.includes("Be dry."));
  });

  test("an empty one of the project leaves the home's out", async () => {
    const { system } = await told(having({ "../home/SOUL.md": "Be dry.", ".zz/SOUL.md": "\n" }));
    doesNotMatch(system, /Be dry|SOUL/);
  });

  test("where there is none, there is no layer", async () => {
    const { system, stderr } = await told(place());
    deepEqual(
      system.match(/^--- [A-Z ]+ ---$/gm)!.filter((line) => !line.includes("END")),
      ["--- SESSION ---", "--- RUNTIME ---", "--- TIME ---"],
    );
    equal(stderr, "");
  });

  const bad: [what: string, make: (where: Place) => void, words: RegExp][] = [
    ["that is binary", (where) => put(where, ".zz/SOUL.md", Buffer.from([65, 0, 66])), /'soul'.*'\.zz\/SOUL\.md': it is not text/],
    ["in the home that is binary", (where) => put(where, "../home/SOUL.md", Buffer.from([65, 0, 66])), /'soul'.*SOUL\.md': it is not text/],
    ["that is a folder", (where) => mkdirSync(join(where.cwd, ".zz/SOUL.md"), { recursive: true }), /'soul'.*it is a folder/],
    ["that leads out of the project", (where) => { put(where, "../secret", "SECRET"); put(where, ".zz/x", ""); symlinkSync("../../secret", join(where.cwd, ".zz/SOUL.md")); }, /'soul'.*outside the project/],
  ]; // biome-ignore format: a table
  for (const [what, make, words] of bad)
    test(`a file ${what} is named, and the turn goes on`, async () => {
      const where = place();
      make(where);
      const { system, stderr } = await told(where);
      match(stderr, words);
      equal(stderr.trim().split("\n").length, 1, stderr);
      doesNotMatch(system, /SECRET|SOUL/);
    });

  test("a long file is cut to its head and tail", async () => {
    const { system } = await told(having({ ".zz/SOUL.md": `FIRST ${"word ".repeat(1_000_000)}LAST` }));
    match(system, /FIRST[\s\S]*\[… \d+ characters left out …\][\s\S]*LAST/);
    ok(system.length < 40_000);
  });
});

describe("rules", () => {
  const file = (title: string, text: string) => `--- FILE ${title} ---\n${text}\n--- END FILE ${title} ---`;
  const LOT = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`d/${i}.md`, `text ${i}`]));
  const rows: [what: string, files: Files, folder: string, holds: string[], lacks?: RegExp][] = [
    ["AGENTS.md", { "AGENTS.md": "Use tabs.\n" }, ".", ["Rules for this project", file("AGENTS.md", "Use tabs.")]],
    ["CLAUDE.md where there is no other", { "CLAUDE.md": "Use tabs." }, ".", [file("CLAUDE.md", "Use tabs.")]],
    ["AGENTS.md before CLAUDE.md", { "AGENTS.md": "A", "CLAUDE.md": "CLAUDISH" }, ".", [file("AGENTS.md", "A")], /CLAUDISH/],
    ["CLAUDE.md where AGENTS.md is empty", { "AGENTS.md": " \n", "CLAUDE.md": "C" }, ".", [file("CLAUDE.md", "C")], /AGENTS/],
    ["without a byte order mark", { "AGENTS.md": "\ufeffA" }, ".", [file("AGENTS.md", "A")]],
    ["from the repository's top down", { ".git/HEAD": "", "AGENTS.md": "TOP", "a/CLAUDE.md": "MID", "a/b/AGENTS.md": "DEEP", "c/AGENTS.md": "SIBLING" }, "a/b", [file("../../AGENTS.md", "TOP"), file("../CLAUDE.md", "MID"), file("AGENTS.md", "DEEP")], /SIBLING/],
    ["of no more than the nearest repository", { ".git/HEAD": "", "AGENTS.md": "OUTER", "a/.git": "gitdir: x", "a/AGENTS.md": "A", "a/b/x": "" }, "a/b", [file("../AGENTS.md", "A")], /OUTER/],
    ["of the folder alone without a repository", { "AGENTS.md": "OUTER", "a/AGENTS.md": "A" }, "a", [file("AGENTS.md", "A")], /OUTER/],
    ["with what @ names, at the start and inline", { "AGENTS.md": "@docs/one.md\nSee @two.md, and (@./three.md).", "docs/one.md": "ONE", "two.md": "TWO", "three.md": "THREE" }, ".", [file("docs/one.md, named in AGENTS.md", "ONE"), file("two.md, named in AGENTS.md", "TWO"), file("three.md, named in AGENTS.md", "THREE")], /Left out/],
    ["with what links name", { "AGENTS.md": "[a](docs/a.md#top) [b](<b.md> \"B\") [c](my%20c.md)", "docs/a.md": "AAA", "b.md": "BBB", "my c.md": "CCC" }, ".", [file("docs/a.md, named in AGENTS.md", "AAA"), file("b.md, named in AGENTS.md", "BBB"), file("my c.md, named in AGENTS.md", "CCC")], /Left out/],
    ["with names from where the naming file is", { ".git/HEAD": "", "a/AGENTS.md": "@x.md @../top.md", "a/x.md": "XXX", "x.md": "WRONG", "top.md": "TOP" }, "a", [file("x.md, named in AGENTS.md", "XXX"), file("../top.md, named in AGENTS.md", "TOP")], /WRONG|Left out/],
    ["one level deep", { "AGENTS.md": "@a.md", "a.md": "AAA @b.md", "b.md": "BBB" }, ".", ["AAA @b.md"], /BBB|Left out/],
    ["with nothing that only looks like a reference", { "AGENTS.md": "me@a.md `@a.md` @types/node @Injectable [w](https://x.y/a.md) [i](a.png)\n```\n@a.md\n[a](a.md)\n```\n", "a.md": "AAA", "a.png": "PNG" }, ".", ["@Injectable"], /AAA|PNG|Left out/],
    ["with CLAUDE.md when AGENTS.md names it", { "AGENTS.md": "@CLAUDE.md", "CLAUDE.md": "C" }, ".", [file("CLAUDE.md, named in AGENTS.md", "C")]],
    ["not with itself", { "AGENTS.md": "[me](./AGENTS.md) and on" }, ".", ["[Left out: ./AGENTS.md (itself)]"]],
    ["with each file once", { "AGENTS.md": "@a.md @./a.md", "a.md": "AAA" }, ".", ["AAA", "[Left out: ./a.md (already here)]"], /AAA[\s\S]*AAA/],
    ["with no rules twice", { ".git/HEAD": "", "AGENTS.md": "@a/AGENTS.md", "a/AGENTS.md": "INNER" }, "a", ["INNER", "[Left out: a/AGENTS.md (already here)]"], /INNER[\s\S]*INNER/],
    ["not with what is outside", { "../out.md": "OUT", "AGENTS.md": "@../out.md" }, ".", ["[Left out: ../out.md (outside the project)]"], /OUT\n/],
    ["not with an absolute path", { "AGENTS.md": "@/etc/hosts.md @~/x.md" }, ".", ["[Left out: /etc/hosts.md (an absolute path), ~/x.md (an absolute path)]"]],
    ["not with what is missing", { "AGENTS.md": "@gone.md" }, ".", ["[Left out: gone.md (no such file)]"]],
    ["not with bytes", { "AGENTS.md": "@b.md", "b.md": Buffer.from([66, 65, 68, 0]) }, ".", ["[Left out: b.md (not text)]"], /BAD/],
    ["not with a folder", { "AGENTS.md": "@d.md", "d.md/x": "" }, ".", ["[Left out: d.md (a folder)]"]],
    ["not with what may hold secrets", { "AGENTS.md": "@.env.md", ".env.md": "TOKEN" }, ".", ["[Left out: .env.md (not to be read)]"], /TOKEN/],
    ["of bytes: named", { "AGENTS.md": Buffer.from([66, 65, 68, 0]), "CLAUDE.md": "C" }, ".", ["[Left out: AGENTS.md (not text)]"], /BAD/],
    ["in a folder of that name: named", { "AGENTS.md/x": "", "CLAUDE.md": "C" }, ".", [file("CLAUDE.md", "C"), "[Left out: AGENTS.md (a folder)]"]],
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
    const where = having({ "../out.md": "OUT", "AGENTS.md": "@link.md" });
    symlinkSync("../out.md", join(where.cwd, "link.md"));
    const { system } = await told(where);
    match(system, /\[Left out: link\.md \(outside the project\)\]/);
    rmSync(join(where.cwd, "AGENTS.md"));
    symlinkSync("../out.md", join(where.cwd, "AGENTS.md"));
    const again = await told(where);
    match(again.system, /\[Left out: AGENTS\.md \(outside the project\)\]/);
    ok(!/OUT$/m.test(system + again.system));
  });

  test("that a flag denies are not read", async () => {
    const { system } = await told(having({ "AGENTS.md": "SECRET @a.md", "a.md": "AAA" }), ["--deny-read=AGENTS.md"]);
    doesNotMatch(system, /SECRET|AAA/);
    match(system, /\[Left out: AGENTS\.md \(not to be read\)\]/);
  });

  test("of any length are cut, and only what is shown is read", async () => {
    const where = place();
    const fd = openSync(join(where.cwd, "AGENTS.md"), "w");
    writeSync(fd, `FIRST ${"head ".repeat(20_000)}`);
    ftruncateSync(fd, 5 * 2 ** 30); // NULs, which would make it no text, if anybody read that far
    writeSync(fd, `${"tail ".repeat(10_000)}LAST`, 5 * 2 ** 30);
    closeSync(fd);
    const { system } = await told(where);
    match(system, /FIRST head[\s\S]*\n\[… 53687\d{5} bytes left out …\]\n[\s\S]*tail LAST\n--- END FILE/);
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
  for (const [zone, iso, words] of [
    ["UTC", "2026-01-02T03:04:59Z", "Friday, 2026-01-02 03:04 (UTC+00:00)"],
    ["Asia/Kathmandu", "2026-12-31T20:30:00Z", "Friday, 2027-01-01 02:15 (UTC+05:45)"],
    ["America/St_Johns", "2026-03-01T02:00:00Z", "Saturday, 2026-02-28 22:30 (UTC-03:30)"],
  ] as const)
    test(`in ${zone} the time is local, and the last of all`, async () => {
      at(iso, zone);
      const { system } = await told(place());
      ok(system.endsWith(`\n\n--- TIME ---\n${words}\n--- END TIME ---`), system.slice(-200));
    });

  test("the prompt of a conversation is the same to the byte in every instance; the time goes with a later message", async () => {
    const where = having({
      "AGENTS.md": "Tabs.",
      ".zz/SOUL.md": "Dry.",
      "a.ts": "export const a = 1;\n",
      "package.json": "{}",
    });
    const config = join(where.cwd, "../map.json");
    writeFileSync(config, '{"symbols":{"map":"always","wait":600000,"waitAgain":600000}}');
    const toldAt = async (iso: string, ...args: string[]) => {
      at(iso);
      return told(where, [...args, "--config", config]);
    };
    const first = await toldAt("2026-01-02T03:04:05Z");
    match(first.system, /--- REPO MAP[\s\S]*03:04 \(/);
    const second = await toldAt("2026-01-02T03:04:59Z", "-c");
    equal(second.system, first.system);
    const third = await toldAt("2026-01-02T03:05:00Z", "-c");
    equal(third.system, first.system);
    const said = (messages: Told["messages"]) => messages.at(-1)!.content;
    const words = said(first.messages);
    equal(said(second.messages), words);
    equal(said(third.messages), `--- TIME ---\nFriday, 2026-01-02 03:05 (UTC+00:00)\n--- END TIME ---\n\n${words}`);
    equal((await toldAt("2026-01-02T03:05:30Z")).system, first.system.replace("03:04 (", "03:05 ("), "a new one");
  });

  test("in a conversation the time is told again after ten minutes", async (t) => {
    at("2026-01-02T03:04:00Z");
    const zz = await harness({ own: true }, t);
    for (const iso of ["2026-01-02T03:04:00Z", "2026-01-02T03:13:59Z", "2026-01-02T03:14:00Z"]) {
      at(iso);
      await zz.ask("hi");
    }
    const told = zz.requests.map(({ messages }) => /TIME ---\n\w+, \S+ (\S+)/.exec(messages.at(-1)!.text)?.[1]);
    deepEqual(told, [undefined, undefined, "03:14"]);
  });

  test("--prompt prints what is sent, byte for byte", async () => {
    const where = having({
      "AGENTS.md": "Tabs. See @more.md",
      "more.md": "More.",
      ".zz/SOUL.md": "Dry.",
      "../home/IDENTITY.md": "I am zz.",
      "../home/RELATIONS.md": "Bo reviews.",
      "../home/memory/INDEX.md": "- a note",
      "../home/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Forms\n---\nBody",
    });
    at("2026-01-02T03:04:05Z");
    const { system } = await told(where);
    const { stdout } = await zz(where, ["--prompt", "--json", "-m", "openai/m"]);
    const parts = JSON.parse(stdout);
    equal(parts.map(({ text }: { text: string }) => text).join("\n\n"), system);
    ok(parts.length > 8 && parts.every(({ tokens }: { tokens: number }) => tokens > 0));
    const plain = (await zz(where, ["--prompt", "-m", "openai/m"])).stdout;
    equal(plain.replace(/^\[[\w-]+: \w+, from .*\]\n/gm, "").replace(/\n\n\[about \d+ tokens in all\]\n$/, ""), system);
  });

  test("the model is told which it is, and whether it has tools", async () => {
    equal(layer((await told(place())).system, "RUNTIME"), "Model: openai/m\nTools: on");
    equal(layer((await told(place(), ["--no-tools"])).system, "RUNTIME"), "Model: openai/m\nTools: off");
    const where = having({ "../home/zz.config.json": '{"shell":{"sandbox":"off"}}' });
    match(layer((await told(where)).system, "SANDBOX")!, /^Off: commands/);
    equal(layer((await told(place())).system, "SANDBOX"), undefined);
  });

  test("the folder, the system and the shell stand before what may change", async () => {
    const where = place();
    const { system } = await told(where, [], { env: { SHELL: "/bin/zsh" } });
    match(layer(system, "SESSION")!, /^Folder: .*\(.*\)\nSystem: \w+ \S+, \w+\nShell: \/bin\/zsh$/);
    ok(layer(system, "SESSION")!.includes(where.cwd));
    has(system, "--- SESSION", "--- RUNTIME", "--- TIME");
  });
});
