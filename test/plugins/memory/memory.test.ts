// Memory: what of it the model is sent, and how notes are made, found and taken away.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, mock, type TestContext, test } from "node:test";
import { withIndexed, withNote } from "../../../plugins/memory/notes.ts";
import { call, fakeOpenAI, say } from "../../support/fake/openai.ts";
import { type Place, place, type Ran, zz } from "../../support/run.ts";
import { harness, kernel, play } from "../../support/script.ts";

/** A fresh place; names that begin with ~/ are in the home, a value of `->x` makes a link to x, `|` a FIFO. */
function placed(files: Record<string, string | Buffer>): Place {
  const where = place();
  for (const [name, content] of Object.entries(files)) {
    const file = at(where, name);
    mkdirSync(dirname(file), { recursive: true });
    if (content === "|") execFileSync("mkfifo", [file]);
    else if (typeof content === "string" && content.startsWith("->")) symlinkSync(content.slice(2), file);
    else writeFileSync(file, content);
  }
  return where;
}
const at = (where: Place, name: string): string =>
  name.startsWith("~/") ? join(where.home, name.slice(2)) : join(where.cwd, name);
const read = (where: Place, name: string): string => readFileSync(at(where, name), "utf8");

const asks = (url: string, ...more: string[]) => ["-m", "openai/m", "--base-url", url, "--key", "x", ...more];
async function told(t: TestContext, where: Place, words: string, ...more: string[]) {
  const fake = await fakeOpenAI([say("Good.")]);
  t.after(fake.close);
  const ran = await zz(where, [...asks(fake.url, ...more), "--once", words]);
  equal(ran.code, 0, ran.stderr);
  return { ...ran, system: (fake.requests[0]?.body.messages[0].content ?? "") as string };
}
/** A tool, with all writing to memory allowed. */
const tool = (where: Place, name: string, args: object, ...flags: string[]): Promise<Ran> =>
  zz(where, [...flags, "--call", name, JSON.stringify(args)]);
const free = (where: Place) => `--allow-write=${where.home},.zz/memory/topics/b.md,.zz/memory/INDEX.md`;
const freely = (where: Place, name: string, args: object) => tool(where, name, args, free(where));

// ── the prompt ──

describe("the prompt", () => {
  test("says nothing of memory when there is none", async (t) => {
    const { system, stderr } = await told(t, place(), "hello");
    doesNotMatch(system, /--- MEMORY ---/);
    equal(stderr, "");
  });

  test("holds both indexes, and of the tree only what is there", async (t) => {
    const where = placed({
      "~/memory/INDEX.md": "# Mine\n- likes tea\n",
      "~/memory/core/a.md": "deep secret of core\n",
      "~/memory/other/b.md": "",
      ".zz/memory/INDEX.md": "\ufeff# Ours\r\n- builds with make\r\n",
      "~/MEMORY.md": "not this, there is an index\n",
    });
    const { system } = await told(t, where, "hello");
    const [layer = ""] = /--- MEMORY ---.*--- END MEMORY ---/s.exec(system) ?? [];
    match(
      layer,
      /# \.zz\/memory\/INDEX\.md\n# Ours\r?\n- builds with make\n\n# \/.*\/memory\/INDEX\.md\n# Mine\n- likes tea\n/,
    );
    match(layer, /\[More in .*\/memory: core\/ \(1\)\]\n/);
    doesNotMatch(system, /deep secret|not this|other\/|topics\/ \(/);
  });

  for (const name of ["~/MEMORY.md", "~/memory/MEMORY.md", ".zz/MEMORY.md"])
    test(`without an index, ${name} whole`, async (t) => {
      const { system } = await told(t, placed({ [name]: "- likes tea\n- and cake\n" }), "hello");
      match(system, /MEMORY\.md\n- likes tea\n- and cake\n--- END MEMORY ---/);
    });

  test("what is long is cut, head and tail, and what is huge is named", async (t) => {
    const lines = Array.from({ length: 400_000 }, (_, i) => `- fact ${i}`).join("\n");
    const { system, stderr } = await told(t, placed({ "~/memory/INDEX.md": lines }), "hello");
    const [layer = ""] = /--- MEMORY ---.*--- END MEMORY ---/s.exec(system) ?? [];
    match(layer, /\n- fact 0\n- fact 1\n/);
    match(layer, /\[… \d+ characters left out …\]/);
    match(layer, /- fact 399999\n--- END/);
    ok(layer.length < 8_400 && layer.length > 6_500, `${layer.length} characters`);
    match(stderr, /Memory '.*INDEX\.md' has \d+ bytes: only its beginning and its end are in the prompt/);
    const short = await told(t, placed({ "~/MEMORY.md": lines.slice(0, 20_000) }), "hello");
    match(short.system, /- fact 0\n.*\[… \d+ characters left out …\]\n/s);
    equal(short.stderr, "");
  });

  for (const [what, content, why] of [
    ["binary", Buffer.from([1, 0, 2]), /it is not text/],
    ["a FIFO", "|", /it is not a regular file/],
    ["a link out of the project", "->/etc/passwd", /it is a link that leaves the project/],
    ["a link to nothing", "->nowhere", /it is a link that leads nowhere/],
    ["a link to a secret of the project", "->../../.env", /it may hold secrets/],
    ["a link to one by other letters", "->../../sub/Server.PEM", /it may hold secrets/],
    ["a link to git's own file", "->../../.git/config", /it may hold secrets/],
  ] as const)
    test(`an index that is ${what} is named, and the turn goes on`, async (t) => {
      const secrets = { ".env": "open-sesame", "sub/Server.PEM": "open-sesame", ".git/config": "open-sesame" };
      const where = placed({ ".zz/memory/INDEX.md": content, ...secrets });
      const { system, stderr } = await told(t, where, "hello");
      match(stderr, new RegExp(`Memory '\\.zz/memory/INDEX\\.md' was left out: ${why.source}`));
      doesNotMatch(system, /MEMORY ---|root:|sesame/);
    });

  test("an index that may not be read is named", { skip: process.getuid?.() === 0 && "root reads all" }, async (t) => {
    const where = placed({ "~/memory/INDEX.md": "x" });
    chmodSync(at(where, "~/memory/INDEX.md"), 0);
    match((await told(t, where, "hello")).stderr, /was left out: permission denied/);
  });

  test("reading that is denied keeps it out", async (t) => {
    const where = placed({ "~/memory/INDEX.md": "likes tea" });
    const { system, stderr } = await told(t, where, "hello", `--deny-read=${join(where.home, "memory")}`);
    doesNotMatch(system, /likes tea/);
    match(stderr, /was left out: reading it is denied/);
  });

  test("in the folder that the home lies in, it stands there once", async (t) => {
    const where = place();
    mkdirSync(join(where.cwd, ".zz/memory"), { recursive: true });
    writeFileSync(join(where.cwd, ".zz/memory/INDEX.md"), "likes tea\n");
    const { system } = await told(t, { ...where, home: join(where.cwd, ".zz") }, "hello");
    equal(system.split("likes tea").length, 2);
  });
});

// ── notes ──

for (const [what, text, expected] of [
  ["a new file", undefined, "# T\n\n- n\n"],
  ["an empty one", "\n", "# T\n\n- n\n"],
  ["at the end", "# Mine\n\n- a\n\n", "# Mine\n\n- a\n- n\n"],
  ["windows line ends", "# Mine\r\n- a", "# Mine\n- a\n- n\n"],
] as const)
  test(`withNote(): ${what}`, () => equal(withNote(text, "T", "- n"), expected));

const TWO = "# B\n\n- 2026-01-02: one\n- 2026-02-03: two\n";
const LINE = "- [topics/b](topics/b.md): 2 notes, last 2026-02-03: two\n";
for (const [what, index, text, expected] of [
  ["a new index", undefined, TWO, `# Memory\n\n${LINE}`],
  ["a new line", "# Mine\n- [a](topics/a.md): mine\n", TWO, `# Mine\n- [a](topics/a.md): mine\n${LINE}`],
  [
    "kept up to date",
    `# Mine\n${LINE.replace("2 notes", "1 note").replace("two", "x")}- end\n`,
    TWO,
    `# Mine\n${LINE}- end\n`,
  ],
  ["a person's own line stays", "- [B](topics/b.md): all about b\n", TWO, "- [B](topics/b.md): all about b\n"],
  ["gone", `# Mine\n${LINE}- end\n`, undefined, "# Mine\n- end\n"],
  ["gone, a person's own line", "- [B](topics/b.md)\n", undefined, "- [B](topics/b.md)\n"],
  ["no notes", "# Mine\n", "# B\n\nprose\n", "# Mine\n"],
] as const)
  test(`withIndexed(): ${what}`, () => equal(withIndexed(index, "topics/b.md", text), expected));

// ── remember ──

describe("remember", () => {
  before(() => mock.timers.enable({ apis: ["Date"], now: new Date(2026, 0, 2, 23, 59, 59) }));
  after(() => mock.timers.reset());
  const day = "2026-01-02";
  const ours = { ".zz/memory/INDEX.md": "# Ours\n" };
  const note = (title: string, text: string) => `# ${title}\n\n- ${day}: ${text}\n`;
  const [topic, daily] = ["topics/build-system", `daily/${day}`];
  for (const [what, files, args, file, content, index] of [
    ["under today, in the home", {}, { text: "Likes tea." }, `~/memory/${daily}.md`, note(day, "Likes tea."), `- [${daily}](${daily}.md): 1 note, last ${day}: Likes tea.`],
    ["under a topic", {}, { text: "a\n  b", topic: "Build System" }, `~/memory/${topic}.md`, note("Build System", "a b"), `- [${topic}](${topic}.md): 1 note, last ${day}: a b`],
    ["in core/", {}, { text: "a", topic: "core/Person" }, "~/memory/core/person.md", note("Person", "a"), "(core/person.md)"],
    ["a topic that would leave", {}, { text: "a", topic: "../../etc/x" }, "~/memory/topics/etc-x.md", note("../../etc/x", "a"), "(topics/etc-x.md)"],
    ["a topic in another script", {}, { text: "a", topic: "部署" }, "~/memory/topics/部署.md", note("部署", "a"), "(topics/部署.md)"],
    ["in the project, where it has a memory", ours, { text: "a", topic: "b" }, ".zz/memory/topics/b.md", note("b", "a"), "(topics/b.md)"],
    ["in the home all the same", ours, { text: "a", topic: "b", where: "home" }, "~/memory/topics/b.md", note("b", "a"), "(topics/b.md)"],
    ["in a lone MEMORY.md", { "~/MEMORY.md": "- old\n" }, { text: "a", topic: "b" }, "~/MEMORY.md", `- old\n- ${day}: a\n`, undefined],
  ] as [string, Record<string, string>, object, string, string, string | undefined][]) // biome-ignore format: a table
    test(what, async () => {
      const where = placed(files);
      const ran = await freely(where, "remember", args);
      equal(ran.code, 0, ran.stderr);
      match(ran.stdout, /^Remembered in .*:\d+\.\n$/);
      equal(read(where, file), content);
      const front = file.startsWith("~/") ? "~/memory/INDEX.md" : ".zz/memory/INDEX.md";
      if (index) ok(read(where, front).includes(index), read(where, front));
      else ok(!existsSync(at(where, front)));
    });

  test("twice is once", async () => {
    const where = place();
    await freely(where, "remember", { text: "Likes tea.", topic: "x" });
    const again = await freely(where, "remember", { text: "Likes  tea.", topic: "x" });
    match(again.stdout, /^Nothing to add/);
    await freely(where, "remember", { text: "And cake.", topic: "x" });
    equal(read(where, "~/memory/topics/x.md"), `# x\n\n- ${day}: Likes tea.\n- ${day}: And cake.\n`);
    match(read(where, "~/memory/INDEX.md"), /: 2 notes, last .*: And cake\.\n$/);
  });

  test("is asked for with the diff of note and index, and a no leaves nothing", async () => {
    const where = place();
    const asked: string[] = [];
    let key = "n";
    const core = await kernel.createZz({ root: where.cwd, home: where.home, save: false });
    core.ask = async (question) => {
      asked.push(question);
      return question.startsWith("Why not") ? "" : key;
    };
    const [no] = await play(core, [["remember", { text: "Likes tea.", topic: "x" }]]);
    match(no!.text, /Refused: the person said no/);
    match(asked[0]!, /write access to ".*topics\/x\.md", ".*INDEX\.md"/);
    match(asked[0]!, /: Likes tea\./);
    ok(!existsSync(join(where.home, "memory")));
    key = "y";
    await play(core, [["remember", { text: "Likes tea.", topic: "x" }]]);
    match(read(where, "~/memory/topics/x.md"), /Likes tea/);
  });

  test("is undone and done again, in the home", async () => {
    const where = placed({ "~/memory/INDEX.md": "# Mine\n" });
    await freely(where, "remember", { text: "Likes tea.", topic: "x" });
    const undone = await zz(where, ["--undo"]);
    equal(undone.code, 0, undone.stderr);
    equal(read(where, "~/memory/INDEX.md"), "# Mine\n");
    ok(!existsSync(at(where, "~/memory/topics")));
    await zz(where, ["--redo"]);
    match(read(where, "~/memory/INDEX.md"), /Likes tea/);
  });

  for (const [what, files, args, error] of [
    ["nothing", {}, { text: "  " }, /Cannot remember that: it is empty/],
    ["a novel", {}, { text: "x".repeat(2_001) }, /2001 characters are too many/],
    ["no topic in it", {}, { text: "a", topic: "../.." }, /'\.\.\/\.\.' is not a topic/],
    ["nowhere", {}, { text: "a", where: "moon" }, /'moon' is not a place/],
    ["into bytes", { "~/memory/topics/x.md": Buffer.from([1, 0]) }, { text: "a", topic: "x" }, /x\.md' is not text/],
    [
      "into 5 MB",
      { "~/memory/topics/x.md": "x".repeat(5_000_000) },
      { text: "a", topic: "x" },
      /5000000 bytes, too many/,
    ],
    ["into a folder", { "~/memory/topics/x.md/y": "" }, { text: "a", topic: "x" }, /it is a folder/],
  ] as const)
    test(`fails: ${what}`, async () => {
      const ran = await freely(placed(files), "remember", args);
      equal(ran.code, 1);
      match(ran.stderr, error);
    });
});

// ── recall and forget ──

const NOTES = {
  "~/memory/INDEX.md": "# Mine\n- [topics/build](topics/build.md): 2 notes, last 2026-02-03: The CI uses make.\n",
  "~/memory/topics/build.md": "# Build\n\n- 2026-01-02: Node 24 is needed.\n- 2026-02-03: The CI uses make.\n",
  "~/memory/core/person.md": "# Person\n\n- 2026-01-01: Prefers Kubernetes to make.\n",
  ".zz/memory/topics/部署.md": "- 2026-01-01: 部署到服务器\n",
  "~/memory/topics/bytes.md": Buffer.from([1, 0, 2]),
  "~/memory/topics/huge.md": "make\n".repeat(1_000_000),
  ".zz/memory/topics/leaving.md": "->/etc/passwd",
};

describe("recall", () => {
  const where = placed(NOTES);
  for (const [query, expected] of [
    [
      "ci make",
      /^\/.*topics\/build\.md:4\n {2}3\t- 2026-01-02: Node 24 is needed\.\n> 4\t- 2026-02-03: The CI uses make\.\n\[Left out/,
    ],
    ["uses MAKE", /build\.md:4/],
    ["make", /person\.md:3[\s\S]*build\.md:4/],
    ["部署", /^\.zz\/memory\/topics\/部署\.md:1\n/],
    ["kubernets", /^No exact match. The nearest:\n\/.*core\/person\.md:3/],
    ["zebra crossing", /^Nothing like 'zebra crossing' in 4 files of memory\./],
    ["?!", /^Nothing like/],
    ["topics/build.md", /^# Build\n\n- 2026-01-02/],
    ["make", /\[Left out: \.zz\/memory\/topics\/leaving\.md: it is a link that leaves the project\]/],
    ["make", /\[Left out: .*bytes\.md: it is not text\]/],
    ["make", /\[Left out: .*huge\.md: 5000000 bytes are too many/],
  ] as const)
    test(`${query}: ${String(expected).slice(0, 50)}`, async () => {
      const ran = await tool(where, "recall", { query });
      equal(ran.code, 0, ran.stderr);
      match(ran.stdout, expected);
      doesNotMatch(ran.stdout, /INDEX\.md:|root:/);
    });

  for (const [name, to] of [
    [".zz/memory/topics/env.md", "->../../../.env"],
    [".zz/memory/deep", "->../../keep"],
    [".zz/memory/.env.md", "->../../.env"],
    [".zz/memory/id_rsa.txt", "->../../keys/id_rsa"],
  ] as const)
    test(`no secret of the project is recalled behind the link ${name}`, async () => {
      const secrets = { ".env": "open-sesame", "keep/x.md": "->../.env", "keys/id_rsa": "open-sesame" };
      const { stdout } = await tool(placed({ ...secrets, [name]: to }), "recall", { query: "open-sesame" });
      doesNotMatch(stdout, /^(> )?\d+\topen-sesame/m);
    });

  test("the model recalls what lies in the home without a question", async (t) => {
    const fake = await fakeOpenAI([call(["recall", { query: "node 24" }]), say("Done.")]);
    t.after(fake.close);
    equal((await zz(where, [...asks(fake.url), "--once", "hello"])).code, 0);
    match(fake.requests[1]!.body.messages.at(-1).content, /build\.md:3\n/);
  });

  test("nothing there", async () => match((await tool(place(), "recall", { query: "x" })).stdout, /in 0 files/));

  test("a file that is deleted in between is named", async () => {
    const gone = placed(NOTES);
    const core = await kernel.createZz({ root: gone.cwd, home: gone.home, save: false });
    const { value } = core.tools.get("recall")!;
    core.tools.set("recall", {
      owner: "memory",
      value: {
        ...value,
        run(args, ctx) {
          const files = Object.create(ctx.files, {
            read: {
              value: (name: string) => {
                rmSync(at(gone, "~/memory/topics/build.md"), { force: true });
                return ctx.files.read(name);
              },
            },
          });
          return value.run(args, Object.create(ctx, { files: { value: files } }));
        },
      },
    });
    const [got] = await play(core, [["recall", { query: "kubernetes" }]]);
    match(got!.text, /person\.md:3[\s\S]*\[Left out: .*build\.md: (it is gone|Cannot read .*no such file)/);
  });
});

describe("forget", () => {
  for (const [what, args, said, file, content] of [
    [
      "by its words",
      "ci uses",
      /^Forgot .*build\.md:4: - 2026-02-03: The CI uses make\./,
      "~/memory/topics/build.md",
      "# Build\n\n- 2026-01-02: Node 24 is needed.\n",
    ],
    [
      "by its place",
      "topics/build.md:3",
      /^Forgot .*build\.md:3:/,
      "~/memory/topics/build.md",
      "# Build\n\n- 2026-02-03: The CI uses make.\n",
    ],
    ["the last of a file", "core/person.md:3", /^Forgot/, "~/memory/core/person.md", undefined],
  ] as const)
    test(what, async () => {
      const where = placed(NOTES);
      const ran = await freely(where, "forget", { what: args });
      equal(ran.code, 0, ran.stderr);
      match(ran.stdout, said);
      if (content === undefined) ok(!existsSync(at(where, file)));
      else equal(read(where, file), content);
      const notes = /(\d) note/.exec(read(where, "~/memory/INDEX.md"))?.[1];
      equal(notes, content === undefined ? "2" : "1");
    });

  for (const [what, args, error] of [
    [
      "what several have",
      "make",
      /2 lines have these words\. Name one by its place:\n.*person\.md:3 .*\n.*build\.md:4/,
    ],
    ["what none has", "zebra", /no note has these words/],
    ["a place with nothing", "topics/build.md:2", /nothing on that line/],
    ["a place past the end", "topics/build.md:99", /nothing on that line/],
    ["a place elsewhere", "/etc/passwd:1", /no note has these words/],
  ] as const)
    test(`fails: ${what}`, async () => {
      const where = placed(NOTES);
      const ran = await freely(where, "forget", { what: args });
      equal(ran.code, 1);
      match(ran.stderr, error);
      deepEqual(read(where, "~/memory/topics/build.md"), NOTES["~/memory/topics/build.md"]);
    });

  test("nobody to ask: refused", async () => {
    const where = placed(NOTES);
    equal((await tool(where, "forget", { what: "ci uses" })).code, 4);
    equal(read(where, "~/memory/topics/build.md"), NOTES["~/memory/topics/build.md"]);
  });
});

// ── /memory ──

for (const [line, expected] of [
  ["/memory", /# .*memory\/INDEX\.md\n# Mine\n[\s\S]*\[More in .*: core\/ \(1\), topics\/ \(3\)\]/],
  ["/memory ci make", /build\.md:4\n/],
] as const)
  test(`${line} in one-shot`, async (t) => match((await told(t, placed(NOTES), line)).stderr, expected));

test("/memory without any says where it would lie", async (t) =>
  match(
    (await told(t, place(), "/memory")).stderr,
    /Nothing is remembered yet\. Notes would be kept in \.zz\/memory and \/.*home\/memory/,
  ));

test("remembered on a y, recalled, undone; the prompt stays as it was", async (t) => {
  const script = [{ call: ["remember", { text: "Likes tea.", topic: "x" }] as [string, object] }, "Noted.", "Good."];
  const run = await harness({ own: true, home: { "memory/INDEX.md": "# Mine\n" }, script, answer: "yes" }, t);
  const file = join(run.home, "memory/topics/x.md");
  await run.ask("remember tea");
  match((await run.command("/memory tea")).join(), /topics\/x\.md:3/);
  await run.ask("next");
  match((await run.command("/undo")).join(), /Undone:/);
  ok(!existsSync(file));
  equal(new Set(run.requests.map(({ system }) => system)).size, 1);
});
