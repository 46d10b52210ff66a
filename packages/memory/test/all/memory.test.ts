// Memory: what of it the model is sent, and how notes are made, found and taken away.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, mock, test } from "node:test";
import { say } from "../../../../test/support/fake/openai.ts";
import { asks, at, having } from "../../../../test/support/having.ts";
import { type Place, place, type Ran, zz } from "../../../../test/support/run.ts";
import { harness } from "../../../../test/support/script.ts";
import { withIndexed, withNote } from "../../notes.ts";

const read = (where: Place, name: string): string => readFileSync(at(where, name), "utf8");

async function told(where: Place, words: string, ...more: string[]) {
  const ran = await asks(where, [say("Good.")], [...more, "--once", words]);
  equal(ran.code, 0, ran.stderr);
  return { ...ran, system: (ran.sent[0]?.messages[0].content ?? "") as string };
}
/** A tool, with all writing to memory allowed. */
const tool = (where: Place, name: string, args: object, ...flags: string[]): Promise<Ran> =>
  zz(where, [...flags, "--call", name, JSON.stringify(args)]);
const free = (where: Place) =>
  `--allow-write=${where.home},.zz/memory/topics/b.md,.zz/memory/INDEX.md`;
const freely = (where: Place, name: string, args: object) => tool(where, name, args, free(where));

describe("the prompt", () => {
  test("holds both indexes, and of the tree only what is there", async () => {
    const where = having({
      "~/memory/INDEX.md": "# Mine\n- likes tea\n",
      "~/memory/core/a.md": "deep secret of core\n",
      "~/memory/other/b.md": "",
      ".zz/memory/INDEX.md": "\ufeff# Ours\r\n- builds with make\r\n",
      "~/MEMORY.md": "not this, there is an index\n",
    });
    const { system } = await told(where, "hello");
    const [layer = ""] = /--- MEMORY ---.*--- END MEMORY ---/s.exec(system) ?? [];
    match(layer, /# \.zz\/memory\/INDEX\.md\n# Ours\r?\n- builds with make\n\n# \//);
    match(layer, /\n\n# \/.*\/memory\/INDEX\.md\n# Mine\n- likes tea\n/);
    match(layer, /\[More in .*\/memory: core\/ \(1\)\]\n/);
    doesNotMatch(system, /deep secret|not this|other\/|topics\/ \(/);
  });

  test("without an index, MEMORY.md whole; reading that is denied keeps it out", async () => {
    const text = "- likes tea\n- and cake\n";
    const where = having({ "~/memory/MEMORY.md": text, ".zz/MEMORY.md": text });
    const flag = `--deny-read=${join(where.home, "memory")}`;
    match((await told(where, "hello")).system, /memory\/MEMORY\.md\n- likes tea\n- and cake\n/);
    const { system, stderr } = await told(where, "hello", flag);
    match(system, /# \.zz\/MEMORY\.md\n- likes tea\n- and cake\n--- END MEMORY ---/);
    match(stderr, /was left out: reading it is denied/);
  });

  test("what is long is cut, head and tail, and what is huge is named", async () => {
    const lines = Array.from({ length: 400_000 }, (_, i) => `- fact ${i}`).join("\n");
    const { system, stderr } = await told(having({ "~/memory/INDEX.md": lines }), "hello");
    const [layer = ""] = /--- MEMORY ---.*--- END MEMORY ---/s.exec(system) ?? [];
    match(layer, /\n- fact 0\n- fact 1\n/);
    match(layer, /\[… \d+ characters left out …\]/);
    match(layer, /- fact 399999\n--- END/);
    ok(layer.length < 8_400 && layer.length > 6_500, `${layer.length} characters`);
    match(
      stderr,
      /Memory '.*INDEX\.md' has \d+ bytes: only its beginning and its end are in the prompt/,
    );
  });

  for (const [what, content, why] of [
    ["a FIFO", "|", /it is not a regular file/],
    ["a link out of the project", "->/etc/passwd", /it is a link that leaves the project/],
    ["a link to a secret of the project", "->../../.env", /it may hold secrets/],
  ] as const)
    test(`an index that is ${what} is named, and the turn goes on`, async () => {
      const where = having({ ".zz/memory/INDEX.md": content, ".env": "open-sesame" });
      const { system, stderr } = await told(where, "hello");
      match(stderr, new RegExp(`Memory '\\.zz/memory/INDEX\\.md' was left out: ${why.source}`));
      doesNotMatch(system, /MEMORY ---|root:|sesame/);
    });
});

for (const [what, text, expected] of [
  ["at the end", "# Mine\n\n- a\n\n", "# Mine\n\n- a\n- n\n"],
  ["windows line ends", "# Mine\r\n- a", "# Mine\n- a\n- n\n"],
] as const)
  test(`withNote(): ${what}`, () => equal(withNote(text, "T", "- n"), expected));

const TWO = "# B\n\n- 2026-01-02: one\n- 2026-02-03: two\n";
const LINE = "- [topics/b](topics/b.md): 2 notes, last 2026-02-03: two\n";
for (const [what, index, text, expected] of [
  [
    "a new line",
    "# Mine\n- [a](topics/a.md): mine\n",
    TWO,
    `# Mine\n- [a](topics/a.md): mine\n${LINE}`,
  ],
  [
    "kept up to date",
    `# Mine\n${LINE.replace("2 notes", "1 note")}- end\n`,
    TWO,
    `# Mine\n${LINE}- end\n`,
  ],
  [
    "a person's own line stays",
    "- [B](topics/b.md): all about b\n",
    TWO,
    "- [B](topics/b.md): all about b\n",
  ],
  ["gone", `# Mine\n${LINE}- end\n`, undefined, "# Mine\n- end\n"],
  ["gone, a person's own line", "- [B](topics/b.md)\n", undefined, "- [B](topics/b.md)\n"],
] as const)
  test(`withIndexed(): ${what}`, () => equal(withIndexed(index, "topics/b.md", text), expected));

describe("remember", () => {
  before(() => mock.timers.enable({ apis: ["Date"], now: new Date(2026, 0, 2, 23, 59, 59) }));
  after(() => mock.timers.reset());
  const day = "2026-01-02";
  const ours = { ".zz/memory/INDEX.md": "# Ours\n" };
  const note = (title: string, text: string) => `# ${title}\n\n- ${day}: ${text}\n`;
  const daily = `daily/${day}`;
  for (const [what, files, args, file, content, index] of [
    ["under today, in the home", {}, { text: "Likes tea." }, `~/memory/${daily}.md`, note(day, "Likes tea."), `- [${daily}](${daily}.md): 1 note, last ${day}: Likes tea.`],
    ["in core/", {}, { text: "a", topic: "core/Person" }, "~/memory/core/person.md", note("Person", "a"), "(core/person.md)"],
    ["a topic that would leave", {}, { text: "a", topic: "../../etc/x" }, "~/memory/topics/etc-x.md", note("../../etc/x", "a"), "(topics/etc-x.md)"],
    ["a topic in another script", {}, { text: "a", topic: "部署" }, "~/memory/topics/部署.md", note("部署", "a"), "(topics/部署.md)"],
    ["in the project, where it has a memory", ours, { text: "a", topic: "b" }, ".zz/memory/topics/b.md", note("b", "a"), "(topics/b.md)"],
    ["in a lone MEMORY.md", { "~/MEMORY.md": "- old\n" }, { text: "a", topic: "b" }, "~/MEMORY.md", `- old\n- ${day}: a\n`, undefined],
  ] as [string, Record<string, string>, object, string, string, string | undefined][]) // biome-ignore format: a table
    test(what, async () => {
      const where = having(files);
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
    equal(
      read(where, "~/memory/topics/x.md"),
      `# x\n\n- ${day}: Likes tea.\n- ${day}: And cake.\n`,
    );
    match(read(where, "~/memory/INDEX.md"), /: 2 notes, last .*: And cake\.\n$/);
  });

  test("is asked for with the diff of note and index, and a no leaves nothing", async (t) => {
    const run = await harness(
      { own: true, script: [{ call: ["remember", { text: "Likes tea.", topic: "x" }] }] },
      t,
    );
    match((await run.ask("go")).results[0]!.text, /Refused: the person said no/);
    match(
      run.questions[0]!,
      /wants to change \S*topics\/x\.md and \S*INDEX\.md[\s\S]*: Likes tea\./,
    );
    ok(!existsSync(join(run.home, "memory")));
  });

  for (const [what, files, args, error] of [
    ["nothing", {}, { text: "  " }, /Cannot remember that: it is empty/],
    ["a novel", {}, { text: "x".repeat(2_001) }, /2001 characters are too many/],
    [
      "into 5 MB",
      { "~/memory/topics/x.md": "x".repeat(5e6) },
      { text: "a", topic: "x" },
      /5000000 bytes, too many/,
    ],
  ] as const)
    test(`fails: ${what}`, async () => {
      const ran = await freely(having(files), "remember", args);
      equal(ran.code, 1);
      match(ran.stderr, error);
    });
});

const NOTES = {
  "~/memory/INDEX.md":
    "# Mine\n- [topics/build](topics/build.md): 2 notes, last 2026-02-03: The CI uses make.\n",
  "~/memory/topics/build.md":
    "# Build\n\n- 2026-01-02: Node 24 is needed.\n- 2026-02-03: The CI uses make.\n",
  "~/memory/core/person.md": "# Person\n\n- 2026-01-01: Prefers Kubernetes to make.\n",
  ".zz/memory/topics/部署.md": "- 2026-01-01: 部署到服务器\n",
  "~/memory/topics/bytes.md": Buffer.from([1, 0, 2]),
  "~/memory/topics/huge.md": "make\n".repeat(1_000_000),
  ".zz/memory/topics/leaving.md": "->/etc/passwd",
};

describe("recall", () => {
  const where = having(NOTES);
  for (const [query, expected] of [
    [
      "ci make",
      /^\/.*topics\/build\.md:4\n {2}3\t- 2026-01-02: Node 24 is needed\.\n> 4\t- 2026-02-03: The CI/,
    ],
    ["make", /person\.md:3[\s\S]*build\.md:4/],
    ["部署", /^\.zz\/memory\/topics\/部署\.md:1\n/],
    ["kubernets", /^No exact match. The nearest:\n\/.*core\/person\.md:3/],
    ["zebra crossing", /^Nothing like 'zebra crossing' in 4 files of memory\./],
    ["topics/build.md", /^# Build\n\n- 2026-01-02/],
    [
      "make",
      /\[Left out: \.zz\/memory\/topics\/leaving\.md: it is a link that leaves the project\]/,
    ],
    ["make", /\[Left out: .*bytes\.md: it is not text\]/],
  ] as const)
    test(`${query}: ${String(expected).slice(0, 50)}`, async () => {
      const ran = await tool(where, "recall", { query });
      equal(ran.code, 0, ran.stderr);
      match(ran.stdout, expected);
      doesNotMatch(ran.stdout, /INDEX\.md:|root:/);
    });

  for (const [name, to] of [
    [".zz/memory/deep", "->../../keep"],
    [".zz/memory/.env.md", "->../../.env"],
    [".zz/memory/id_rsa.txt", "->../../keys/id_rsa"],
  ] as const)
    test(`no secret of the project is recalled behind the link ${name}`, async () => {
      const secrets = {
        ".env": "open-sesame",
        "keep/x.md": "->../.env",
        "keys/id_rsa": "open-sesame",
      };
      const { stdout } = await tool(having({ ...secrets, [name]: to }), "recall", {
        query: "open-sesame",
      });
      doesNotMatch(stdout, /^(> )?\d+\topen-sesame/m);
    });
});

describe("forget", () => {
  test("by its words, by its place, and the last of a file, as the index tells", async () => {
    const where = having(NOTES);
    const [topic, count] = [
      "~/memory/topics/build.md",
      () => /(\d) note/.exec(read(where, "~/memory/INDEX.md"))?.[1],
    ];
    const byWords = await freely(where, "forget", { what: "ci uses" });
    match(
      byWords.stdout,
      /^Forgot .*build\.md:4: - 2026-02-03: The CI uses make\./,
      byWords.stderr,
    );
    equal(read(where, topic), "# Build\n\n- 2026-01-02: Node 24 is needed.\n");
    equal(count(), "1");
    match(
      (await freely(where, "forget", { what: "topics/build.md:3" })).stdout,
      /^Forgot .*build\.md:3:/,
    );
    deepEqual([existsSync(at(where, topic)), count()], [false, undefined]);
  });

  test("not what none or several have, a place past the end, nor when nobody is there to ask", async () => {
    const where = having(NOTES);
    for (const [what, error] of [
      [
        "make",
        /2 lines have these words\. Name one by its place:\n.*person\.md:3 .*\n.*build\.md:4/,
      ],
      ["zebra", /no note has these words/],
      ["topics/build.md:99", /nothing on that line/],
    ] as const)
      match((await freely(where, "forget", { what })).stderr, error);
    equal((await tool(where, "forget", { what: "ci uses" })).code, 4);
    equal(read(where, "~/memory/topics/build.md"), NOTES["~/memory/topics/build.md"]);
  });
});

test("remembered on a y, recalled, undone; the prompt stays as it was", async (t) => {
  const script = [
    { call: ["remember", { text: "Likes tea.", topic: "x" }] as [string, object] },
    "Noted.",
    "Good.",
  ];
  const run = await harness(
    { own: true, home: { "memory/INDEX.md": "# Mine\n" }, script, answer: "yes" },
    t,
  );
  const file = join(run.home, "memory/topics/x.md");
  await run.ask("remember tea");
  match((await run.command("/memory tea")).join(), /topics\/x\.md:3/);
  await run.ask("next");
  match((await run.command("/undo")).join(), /Undid \d+ changes?:/);
  ok(!existsSync(file));
  equal(new Set(run.requests.map(({ system }) => system)).size, 1);
});
