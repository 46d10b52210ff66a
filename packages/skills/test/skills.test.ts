// Skills: what their front matter says, which message calls for which, and what the model is sent
// of them.
import { deepEqual, doesNotMatch, equal, match, ok, throws } from "node:assert/strict";
import fs, { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { say } from "../../../test/support/fake/openai.ts";
import { asks, having } from "../../../test/support/having.ts";
import { type Place, zz } from "../../../test/support/run.ts";
import { harness, kernel, play } from "../../../test/support/script.ts";
import { parseSkill } from "../front-matter.ts";
import { calledSkills } from "../match.ts";

const skill = (name: string, description: string, more = "", body = `Body of ${name}.`) =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\n\n${body}\n`;

for (const [what, head, expected] of [
  ["a colon in a plain text", "description: Use when: asked", { description: "Use when: asked" }],
  ["a # that is none", "description: C# and a#b", { description: "C# and a#b" }],
  [
    "double quotes",
    'description: "say \\"hi\\": \\u00e9\\n# no"',
    { description: 'say "hi": é\n# no' },
  ],
  ["single quotes", "description: 'it''s: so' # yes", { description: "it's: so" }],
  [
    "a plain text that goes on",
    "description: one\n  two\nname: a",
    { description: "one two", name: "a" },
  ],
  [
    "folded",
    "description: >\n  one\n  two\n\n  three\nname: a",
    { description: "one two\nthree", name: "a" },
  ],
  ["literal", "description: |\n  one\n    two\n  three", { description: "one\n  two\nthree" }],
  [
    "a block list",
    "triggers:\n  - pdf\n  - \"a, b\"\n  - 'c'\n",
    { triggers: ["pdf", "a, b", "c"] },
  ],
  ["a flow list over lines", "triggers: [\n  pdf,\n  form,\n]", { triggers: ["pdf", "form"] }],
  [
    "a map is passed over",
    "metadata:\n  author: x\n  v: 1\nname: a",
    { metadata: "author: x v: 1", name: "a" },
  ],
  ["nothing", "name:\ndescription: b", { name: [], description: "b" }],
  ["windows line ends and a BOM", "\r", {}],
] as const)
  test(`front matter: ${what}`, () => {
    deepEqual(parseSkill(`---\n${head}\n---\nbody\n`), { head: expected, body: "body" });
    const windows = `\ufeff---\n${head}\n---\nbody\n`.replace(/\r?\n/g, "\r\n");
    deepEqual(parseSkill(windows), { head: expected, body: "body" });
  });

for (const [what, text, error] of [
  ["none", "# Title\n", /does not begin with '---'/],
  ["never closed", "---\nname: a\n", /no second '---'/],
  ["no key", "---\nname: a\nwhat is this\n---\n", /line 3 .* not 'key: value'/],
  ["an open quotation mark", '---\nname: "a\n---\n', /line 2 .* never closed/],
  ["an open list", "---\nname: a\ntriggers: [a, b\n---\n", /line 3 .* '\[' that is never closed/],
] as const)
  test(`front matter that is broken: ${what}`, () => throws(() => parseSkill(text), error));

const SKILLS = [
  { name: "pdf-forms", triggers: ["pdf", "fill in a form"] },
  { name: "deploy", triggers: ["kubernetes", "roll out"] },
  { name: "cpp", triggers: ["c++", ".hpp"] },
  { name: "cn", triggers: ["部署"] },
  { name: "test", triggers: [] },
  { name: "snake", triggers: ["python3"] },
];
for (const [message, expected] of [
  ["read the PDF", "pdf-forms"],
  ["pdfs everywhere", ""],
  ["please fill in\n a form", "pdf-forms"],
  ["use pdf forms", "pdf-forms"],
  ["set up kubernets", "deploy"],
  ["roll it out", ""],
  ["port it to pythn3", "snake"],
  ["use the deploy skill", "deploy"],
  ["run the tests, the latest test", ""],
  ["is this C++?", "cpp"],
  ["请部署到服务器", "cn"],
  [`${"x ".repeat(1_000_000)}pdf`, "pdf-forms"],
] as const)
  test(`calledSkills() for ${JSON.stringify(message.slice(0, 40))}`, async () => {
    const called = await calledSkills(SKILLS, message);
    equal(called.map(({ name }) => name).join(), expected);
  });

async function told(where: Place, words: string, ...more: string[]) {
  const ran = await asks(where, [say("Good.")], [...more, "--once", words]);
  equal(ran.code, 0, ran.stderr);
  return { ...ran, system: ran.sent[0].messages[0].content as string };
}

/** What stands before everything that a turn may change. */
const steady = (system: string): string =>
  system.split(/\n\n--- (?:ACTIVE SKILLS|RUNTIME) ---/)[0]!;

describe("the prompt", () => {
  test("holds names and descriptions, and a text only when the message calls for it, behind all else", async () => {
    const where = having({
      "~/skills/pdf/SKILL.md": skill("pdf-forms", "Fills forms", "triggers: pdf, form\n"),
    });
    const plain = await told(where, "hello");
    match(
      plain.system,
      /--- SKILLS ---\n[^\n]+read_skill[^\n]+\n- pdf-forms: Fills forms\n--- END SKILLS ---/,
    );
    doesNotMatch(plain.system, /Body of/);
    const calling = await told(where, "read the pdf");
    ok(
      calling.system.startsWith(`${steady(plain.system)}\n\n--- ACTIVE SKILLS ---\n# pdf-forms`),
      "the prefix stays",
    );
    match(calling.system, /Body of pdf-forms\.\n--- END ACTIVE SKILLS ---\n\n--- RUNTIME ---/);
  });

  test("what is broken is named and left out, and the rest stays", async () => {
    const where = having({
      "~/skills/good/SKILL.md": skill("good", "Good one"),
      "~/skills/open/SKILL.md": '---\nname: "open\n---\n',
      "~/skills/huge/SKILL.md": skill("huge", "Huge", "", "x".repeat(5_000_000)),
      "~/skills/odd/SKILL.md": skill("an odd name", "Odd"),
      ".zz/skills/leaving/SKILL.md": "->/etc/passwd",
      ".zz/skills/secret/SKILL.md": "->../../../.env",
      ".env": skill("secret", "open-sesame"),
    });
    const { system, stderr } = await told(where, "hello");
    match(system, /- good: Good one/);
    doesNotMatch(system, /huge|root:|sesame/);
    for (const [name, why] of [
      ["open", /line 2 of its front matter opens a quotation mark/],
      ["huge", /\d+ bytes are too many/],
      ["odd", /'an odd name' is not a name/],
      ["leaving", /it is a link that leaves the project/],
      ["secret", /it is a link to what may hold secrets/],
    ] as const)
      match(stderr, new RegExp(`Skill '${name}' was left out: ${why.source}`));
  });

  test("a home where other agents keep skills has its own nevertheless", async () => {
    const where = having({ ".agents/skills/good/SKILL.md": skill("good", "Good one") });
    const listed = await zz(where, ["--home", ".agents", "--call", "list_skills", "{}"]);
    match(listed.stdout, /good: Good one \(home, /);
  });

  test("a thousand skills are cut by whole skills, with how many were left out", async () => {
    const one = (i: number) => skill(`s${i}`, `${"long ".repeat(20)}end${i}.`);
    const many = Array.from({ length: 300 }, (_, i) => [`~/skills/s${i}/SKILL.md`, one(i)]);
    const { system } = await told(having(Object.fromEntries(many)), "hello");
    const [, list = ""] = /--- SKILLS ---\n(.*)\n--- END SKILLS ---/s.exec(system) ?? [];
    const lines = list.split("\n").slice(1, -1);
    ok(list.length <= 6_400, `${list.length} characters`);
    for (const line of lines) match(line, /^- s\d+: .* end\d+\.$/);
    match(
      list,
      new RegExp(
        `\\[${300 - lines.length} more left out for want of room; list_skills lists all\\]$`,
      ),
    );
  });

  test("the project's go before the home's; the settings leave some out, and so does reading that is denied", async () => {
    const where = having({
      "~/skills/a/SKILL.md": skill("a", "A one"),
      "~/skills/b/SKILL.md": skill("b", "B one"),
      "~/skills/x/SKILL.md": skill("x", "From the home"),
      ".zz/skills/x/SKILL.md": skill("x", "From the project"),
      "zz.json": '{"skills":{"off":["a"]}}',
    });
    const { system } = await told(where, "hello", "--config", "zz.json");
    doesNotMatch(system, /A one|From the home/);
    match(system, /- x: From the project\n- b: B one\n/);
    const denied = await told(where, "hello", `--deny-read=${join(where.home, "skills/b")}`);
    doesNotMatch(denied.system, /B one/);
    match(denied.stderr, /Skill 'b' was left out: reading it is denied/);
  });
});

test("building the prompt again reads no skill of which nothing changed", async (t) => {
  const home = {
    "skills/a/SKILL.md": skill("a", "A one"),
    "skills/b/SKILL.md": skill("b", "B one"),
  };
  const { ctx } = await harness({ own: true, home }, t);
  const opened: string[] = [];
  for (const name of ["openSync", "readFileSync"] as const) {
    const open = fs[name] as (...given: unknown[]) => unknown;
    t.mock.method(fs, name, (...given: unknown[]) => {
      opened.push(String(given[0]));
      return open(...given);
    });
  }
  const reads = async () => {
    opened.length = 0;
    match((await ctx.about.prompt()).map(({ text }) => text).join(), /- a: A one\n- b: B one/);
    return opened.filter((file) => file.endsWith("SKILL.md")).length;
  };
  ok((await reads()) >= 2);
  equal(await reads(), 0);
});

const tools = having({
  "~/skills/pdf/SKILL.md": skill("pdf", "Fills forms"),
  "~/skills/pdf/ref/fields.md": "the fields",
  "~/skills/pdf/logo.bin": Buffer.from([0, 1, 2]),
  "~/skills/pdf/.env": "KEY=1",
  "~/skills/pdf/away.md": "->/etc/passwd",
  "~/skills/bad/SKILL.md": "no front matter",
  ".zz/skills/here/SKILL.md": skill("here", "In the project"),
  "made/SKILL.md": skill("made", "Made elsewhere"),
  "made/more/notes.md": "notes",
  "made/logo.bin": Buffer.from([0, 1, 2]),
  "none/readme.md": "nothing",
});

describe("the tools", () => {
  const x = (more: object = {}) => ({ name: "x", content: skill("x", "X"), ...more });
  const secret = /requires read access to ".*\.env"/;
  const outside = /outside of the skill's folder/;
  const home = (name: string) =>
    new RegExp(`Refused: requires write access to ".*home/skills/${name}/SKILL\\.md"`);
  for (const [what, args, expected, code] of [
    ["read_skill: its text and its other files", { name: "pdf" }, /Body of pdf\.\n\n\[Other files.*logo\.bin, ref\/fields\.md\]/, 0],
    ["read_skill: a file of it", { name: "pdf", file: "ref/fields.md" }, /^the fields\n$/, 0],
    ["read_skill: no such skill", { name: "pfd" }, /Cannot use skill 'pfd': there is none of that name\. There are: here, pdf\./, 1],
    ["read_skill: out of the folder", { name: "pdf", file: "../bad/SKILL.md" }, outside, 1],
    ["read_skill: a link that leaves", { name: "pdf", file: "away.md" }, outside, 1],
    ["read_skill: what may hold secrets is asked for", { name: "pdf", file: ".env" }, secret, 4],
    ["list_skills", {}, / {2}here: In the project \(project, .*\n {2}pdf: Fills forms \(home, .*\n! bad: left out, since it does not begin/, 0],
    ["install_skill: a name that leaves", { name: "../x", content: "" }, /letters, digits, - and _/, 1],
    ["install_skill: no front matter", x({ content: "# X" }), /Cannot install skill 'x': it does not begin with '---'/, 1],
    ["install_skill: a line nobody can be shown", x({ content: skill("x", "X", "", "y".repeat(5_000)) }), /line of more than 4000/, 1],
    ["install_skill: from outside is asked for", { name: "x", path: "/etc/hostname" }, /requires read access to "\/etc\/hostname"/, 4],
    ["install_skill: writing in the project allowed is not enough", x({ where: "project" }), /requires write access to ".zz\/skills\/x\//, 4],
    ["uninstall_skill: nobody to ask", { name: "pdf" }, home("pdf"), 4],
  ] as [string, object, RegExp, number][]) // biome-ignore format: a table
    test(what, async () => {
      const ran = await zz(tools, [
        "--allow-write=.",
        "--call",
        what.split(":")[0]!,
        JSON.stringify(args),
      ]);
      match(ran.stdout + ran.stderr, expected);
      equal(ran.code, code, ran.stderr);
      ok(existsSync(join(tools.home, "skills/pdf/SKILL.md")));
      ok(!existsSync(join(tools.home, "skills/x")) && !existsSync(join(tools.cwd, ".zz/skills/x")));
    });

  test("install_skill shows the whole text, writes into the home, and is undone and done again", async (t) => {
    const text = skill(
      "new",
      "A new one",
      "",
      Array.from({ length: 300 }, (_, i) => `line ${i}`).join("\n"),
    );
    const script = [
      { call: ["install_skill", { name: "new", content: text }] as [string, object] },
      "Done.",
    ];
    const run = await harness({ own: true, answer: "yes", script }, t);
    const file = join(run.home, "skills/new/SKILL.md");
    match(
      (await run.ask("go")).results[0]!.text,
      /^Installed skill 'new' in .*home\/skills\/new \(1 file\)\./,
    );
    for (const line of text.trimEnd().split("\n"))
      ok(run.questions[0]!.includes(`┃ ${line}`), line);
    equal(readFileSync(file, "utf8"), text);
    await run.command("/undo");
    ok(!existsSync(dirname(file)));
    await run.command("/redo");
    equal(readFileSync(file, "utf8"), text);
  });

  test("a folder is installed with its text files, and uninstalled whole; of a linked one the link alone", async () => {
    const where = having({
      "~/skills/linked": "->../../project/real",
      "real/SKILL.md": skill("linked", "Linked"),
    });
    const core = await kernel.createZz({ root: tools.cwd, home: where.home, save: false });
    core.ask = async () => "y";
    const does = async (tool: string, args: object) => (await play(core, [[tool, args]]))[0]!.text;
    const left =
      /\(2 files\)[\s\S]*Left out, since only text can be shown before it is asked for: logo\.bin\./;
    match(await does("install_skill", { name: "made", path: "made" }), left);
    const folder = join(where.home, "skills/made");
    equal(readFileSync(join(folder, "more/notes.md"), "utf8"), "notes");
    ok(!existsSync(join(folder, "logo.bin")));
    match(
      await does("uninstall_skill", { name: "made" }),
      /Uninstalled skill 'made' from .* \(2 files\)/,
    );
    ok(!existsSync(join(folder, "SKILL.md")) && !existsSync(join(folder, "more/notes.md")));
    match(await does("uninstall_skill", { name: "linked" }), /\(a link\)/);
    ok(
      !existsSync(join(where.home, "skills/linked")) &&
        existsSync(join(where.cwd, "real/SKILL.md")),
    );
  });
});

test("/skill puts one in force until it is off; /context shows it; the prefix stays; a resumed session has it", async (t) => {
  const run = await harness(
    { own: true, home: { "skills/pdf/SKILL.md": skill("pdf", "Fills forms") }, live: true },
    t,
  );
  await run.ask("one");
  match((await run.command("/skill pdf")).join(), /is in use for this conversation/);
  await run.ask("two");
  match((await run.command("/context")).join("\n"), /prompt: active-skills/);
  const [first, second] = run.requests;
  equal(second!.system, first!.system);
  match(
    second!.messages.at(-1)!.text,
    /^--- ACTIVE SKILLS ---\n# pdf \(the person asked for it[\s\S]*\n\ntwo$/,
  );
  await run.restart();
  await run.ask("three");
  const third = run.requests.at(-1)!;
  equal(third.system, first!.system);
  for (const [i, { text }] of second!.messages.entries()) equal(third.messages[i]!.text, text);
  await run.command("/skill pdf off");
  await run.ask("four");
  match(run.requests.at(-1)!.messages.at(-1)!.text, /--- ACTIVE SKILLS ---\nNothing any more/);
});
