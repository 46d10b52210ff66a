// Finding files and lines: the one lister, glob, grep with ripgrep and without, list_dir,
// read_file.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import type { Core, Options } from "../../../kernel/instance.ts";
import { processIo } from "../../../kernel/system/streams.ts";
import { processStartTime } from "../../../kernel/system/temporary-files.ts";
import { compilePattern } from "../../../plugins/search/pattern.ts";
import { standingClock } from "../../../sdk/testing.ts";
import { createZz } from "../../../zz.ts";
import { temporaryFolder } from "../../support/files.ts";
import { has, needs } from "../../support/needs.ts";
import { fc } from "../../support/property.ts";
import { put, shell, type Tree } from "../../support/repository.ts";
import { type Place, place } from "../../support/run.ts";
import { runs, some } from "../../support/runs.ts";
import { type Got, harness, play as playScript, rowsOf } from "../../support/script.ts";
import { waitFor } from "../../support/wait.ts";

const WAYS = ["rg", ""];
const named = (rg: string) => (rg ? "with ripgrep" : "without ripgrep");

const using = (ripgrep: string): Options => ({ settings: { search: { ripgrep } } });

/** Its clock stands: no search takes too long. */
function opened({ cwd: root, home }: Place, options: Options = {}): Promise<Core> {
  return createZz({
    root,
    home,
    save: false,
    io: Object.assign(processIo(), { clock: standingClock() }),
    ...options,
  });
}

/** These calls as a model would make them, and what comes back. */
async function play(where: Place, calls: [string, object][], options: Options = {}) {
  return playScript(await opened(where, options), calls);
}
const call = async (where: Place, tool: string, args: object, options?: Options): Promise<Got> =>
  (await play(where, [[tool, args]], options))[0]!;

/** By one instance for all questions about a project that stays as it is. */
function together(where: Place, tool: string, table: object[], options: Options = {}) {
  let core: Promise<Core> | undefined;
  const calls = table.map((args): [string, object] => [tool, args]);
  return rowsOf(() => (core ??= opened(where, options)), calls);
}

const APART = "regex.txt:2: axb c\nregex.txt-3- foo_bar-1\n--\nregex.txt:7: {a}";
const NUL_LATE = `${"text\n".repeat(1_700)}needle after 8 KB\0\nand beyond\n`;
const hard: Tree = {
  "plain.txt": "one needle\ntwo\nneedle three\n",
  "crlf.txt": "needle at end\r\nneedle\r\nbare\rneedle\r\n",
  "bom.txt": "\ufeffneedle first\nrest\n",
  "utf16.txt": Buffer.from("\ufeffneedle\n", "utf16le"),
  "latin1.txt": Buffer.concat([Buffer.from("caf"), Buffer.from([0xe9]), Buffer.from(" needle\n")]),
  "marked.txt": Buffer.concat([
    Buffer.from([0xff, 0xfe]),
    Buffer.from("needle under a UTF-16 mark\n"),
  ]),
  "early.bin": "needle\0\n",
  "late.bin": NUL_LATE,
  "edge.bin": `${"x".repeat(8_191)}\0needle\n`,
  "over.bin": `${"x".repeat(8_192)}\0needle\n`,
  "wide.txt": `${"y".repeat(5_000)}needle${"z".repeat(5_000)}\n`,
  "open.txt": "needle without an end",
  "empty.txt": "",
  "hollow.txt": "\n\n",
  "-dash.txt": "needle\n",
  "-": "needle\n",
  "with space.txt": "needle\n",
  "line\nbreak.txt": "needle\n",
  "ünï-日本-💡.txt": "Straße ÄRGER ärger 💡 needle\n",
  "[slug].txt": "needle\n",
  ".hidden/x.txt": "needle\n",
  "link.txt": "->plain.txt",
  "link-folder": "->sub",
  dangling: "->nowhere",
  ".gitignore": "*.log\nignored/\n",
  ".ignore": "plain.txt\n",
  ".rgignore": "crlf.txt\n",
  "a.log": "needle ignored\n",
  "tracked.log": "needle tracked all the same\n",
  "ignored/x.txt": "needle ignored\n",
  "sub/.gitignore": "!a.log\nx.txt\n",
  "sub/a.log": "needle back in\n",
  "sub/x.txt": "needle ignored\n",
  "dist/out.js": "needle in dist\n",
  "node_modules/x/index.js": "needle in a package\n",
  ".env": "SECRET=needle\n",
  "nested/.gitignore": "*.tmp\n",
  "nested/a.txt": "needle nested\n",
  "nested/a.tmp": "needle nested, ignored\n",
  "new.txt": "\ua7cc came with Unicode 16\n",
  "case.txt": "NEEDLE\nNeedle\n\u212Aelvin \u017Ft\n",
  "regex.txt": "a.b(c)\naxb c\nfoo_bar-1\n\tindent\nprice: 12\nprice: x\n{a}\n",
};
const gitted = place(hard);
const bare = place(hard);
before(
  () => void shell(gitted.cwd, "git init -q nested; git init -q; git add -f tracked.log plain.txt"),
);

/** What must be in the answer; undefined: only that both ways give the same. */
type Row = [what: string, args: object, expected?: string | RegExp, not?: RegExp];
// biome-ignore format: one case a row.
const ROWS: Row[] = [
  ["a text", { query: "needle" }, /^"line\\nbreak\.txt":1: needle$/m, /early|edge|utf16|SECRET|ignored|link|node_m/],
  ["the 8,192nd byte still makes a file binary, the next does not", { query: "needle", path: "." }, /^over\.bin:1: /m],
  ["nothing of a binary file", { query: "needle", path: "early.bin" }, /^Cannot search 'early\.bin': it is not text\./],
  ["a mark of UTF-16 changes nothing", { query: "under a" }, /^marked\.txt:1: /],
  ["a BOM is no letter", { query: "^needle first$", regex: true }, /^bom\.txt:1: \ufeff?needle first$/],
  ["a lone CR ends no line", { query: "e\rneedle" }, /^crlf\.txt:3: bare\rneedle$/],
  ["a wide line is shown where the hit is", { query: "needle", path: "wide.txt" }, /^wide\.txt:1: …y{60}needlez{134}$/],
  ["a file behind a link", { query: "two", path: "link.txt" }, "plain.txt:2: two"],
  ["a nested .gitignore", { query: "needle", path: "sub" }, "sub/a.log:1: needle back in"],
  ["letters younger than a ripgrep may be, in any case", { query: "\ua7cd", ignore_case: true }],
  ["half a letter", { query: "\ud83d" }],
  ["what stands for broken bytes", { query: "caf\ufffd" }, /^latin1\.txt:1: /],
  ["lines around that meet", { query: "needle", path: "plain.txt", before: 5 }, /^.*:1: .*\n.*-2- two\n.*:3: .*$/],
  ["lines around that are apart", { query: "axb|^.a", regex: true, path: "regex.txt", after: 1 }, APART],
  ["too many lines around", { query: "two", after: 99 }, /^Cannot show 0 lines before and 99 after each hit: /],
  ["only files", { query: "needle", output: "files", path: "nested" }, "nested/a.txt"],
  ["k is not the Kelvin sign", { query: "kelvin", ignore_case: true }, /^Nothing holds/],
  ["(?i), as elsewhere", { query: "(?i)NEEDLE$", regex: true, path: "case.txt" }, /^case\.txt:1[\s\S]*:2/],
  ["a regex: looking ahead", { query: "price(?=: x)", regex: true }, "regex.txt:6: price: x"],
  ["a regex: empty lines", { query: "^$", regex: true, path: "." }, /^hollow\.txt:1: \nhollow\.txt:2: $/],
  ["a regex that is none", { query: "a(", regex: true }, /^Cannot search for 'a\(': .*Unterminated group\. Correct it/],
  ["a query of two lines", { query: "one\ntwo" }, /^Cannot search for more than one line: only single lines/],
  ["a regex of two lines", { query: "needle\\ntwo", regex: true }, /Only single lines are searched\.$/],
  ["a regex that was meant to be one", { query: "need.*three" }, /with regex it is a regular expression\.$/],
  ["a glob of two", { query: "needle", glob: "{-,[[]slug[]]}*" }, /^-:1: needle\n-dash\.txt:1: .*\n\[slug\]\.txt:1/],
  ["a secret that nobody allowed", { query: "SECRET" }, "Nothing holds 'SECRET'."],
];

for (const where of [gitted, bare]) {
  const what = where === gitted ? "in a repository" : "without git";
  // with git each question starts more programs
  const rows = where === gitted ? some(ROWS, 5) : ROWS;
  const queries = rows.map(([, args]) => args);
  const ways = WAYS.map((rg) => together(where, "grep", queries, using(rg)));
  for (const [row, [about, , expected, not]] of rows.entries())
    (where === gitted ? needs("git") : test)(`grep ${what}: ${about}`, async () => {
      const texts = (await Promise.all(ways.map((nth) => nth(row)))).map(({ text }) => text);
      equal(texts[0], texts.at(-1), "with ripgrep and without");
      if (typeof expected === "string") equal(texts[0], expected);
      else if (expected) match(texts[0]!, expected);
      if (not) doesNotMatch(texts[0]!, not);
    });
}

needs("git")(
  "grep: in a repository what git tracks is found though it is ignored; without one it is not",
  async () => {
    const [found, none] = [
      "tracked.log:1: needle tracked all the same",
      "Nothing holds 'tracked all'.",
    ];
    for (const rg of WAYS)
      for (const where of [gitted, bare])
        equal(
          (await call(where, "grep", { query: "tracked all" }, using(rg))).text,
          where === gitted ? found : none,
        );
  },
);

for (const rg of WAYS)
  test(`grep ${named(rg)}: what is denied is neither shown nor counted`, async () => {
    const where = place({ "a.txt": "hit\n".repeat(100), "b/plan.txt": "hit\n", "c.txt": "hit\n" });
    const options = { ...using(rg), deny: { read: ["b"] } };
    const lines = (await call(where, "grep", { query: "hit" }, options)).text.split("\n");
    equal(lines[100], "[1 more hit in 1 file; narrow the query, the path or the glob]");
  });

for (const rg of WAYS)
  test(`grep ${named(rg)}: how long a regular expression takes tells nothing of what may not be read`, async () => {
    const secret = `TOKEN=h${"a".repeat(40)}`;
    const where = place({
      ".env": secret,
      "private/a.txt": secret,
      "b.txt": "TOKEN is set elsewhere\n",
    });
    const options = { ...using(rg), deny: { read: ["private"] } };
    for (const query of ["^TOKEN=h(([a-z]+)+)+!", "^TOKEN=h", "^TOKEN=x"])
      equal(
        (await call(where, "grep", { query, regex: true }, options)).text,
        `Nothing holds '${query}'.`,
      );
    const { text } = await call(where, "grep", { query: "^TOKEN", regex: true }, options);
    equal(text, "b.txt:1: TOKEN is set elsewhere");
  });

test("grep: ripgrep is used, whatever its own settings say", async () => {
  const where = place({ "a.txt": "needle\n", "b.txt": "\n", config: "--invert-match\n" });
  const tools = place({
    rg: '#!/bin/sh\necho "$@" >> "$0.log"\nRIPGREP_CONFIG_PATH="$PWD/config" exec rg "$@"\n',
  });
  const fake = join(tools.cwd, "rg");
  fs.chmodSync(fake, 0o755);
  equal((await call(where, "grep", { query: "needle" }, using(fake))).text, "a.txt:1: needle");
  match(fs.readFileSync(`${fake}.log`, "utf8"), /--no-config .*--fixed-strings -e needle -- \.\//);
});

for (const [what, script] of [
  ["is not there", undefined],
  ["dies half-way", "printf './a.txt\\0'; kill -9 $$"],
  ["cannot look at a file",
    'case "$*" in *--files-with-matches*) exit 2 ;; esac; printf "./a.txt\\0"'],
] as const) // biome-ignore format: a table
  test(`grep: a ripgrep that ${what} changes nothing`, async () => {
    const where = place({ "a.txt": "needle\n" });
    const fake = join(where.home, "rg");
    fs.mkdirSync(where.home, { recursive: true });
    if (script) fs.writeFileSync(fake, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    equal((await call(where, "grep", { query: "needle" }, using(fake))).text, "a.txt:1: needle");
  });

const TREES = runs(3, 20);

/** Pieces that are awkward next to one another. */
const PIECES = [..."abAéß💡\ufffd\u212a\u2028\u00a0\ufeff \t_-1.([\\$^", "ab", "{2}"];
const word = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 4 })
  .map((all) => all.join(""));
const long = fc.constantFrom(8_191, 8_192, 3_000).map((many) => "x".repeat(many));
const odd = fc.constantFrom([0xff], [0xff, 0xfe], [0xf0, 0x9f], [0xe2, 0x82], [0]);
const text = fc.oneof(
  { weight: 8, arbitrary: word },
  { weight: 4, arbitrary: fc.constantFrom("\n", "\r\n", "\r") },
  long,
);
const piece = fc.oneof({ weight: 13, arbitrary: text }, { weight: 1, arbitrary: odd });
const bytes = fc
  .array(piece, { maxLength: 20 })
  .map((all) => Buffer.concat(all.map((one) => Buffer.from(one as string))));
const name = fc.constantFrom(
  "a.ts",
  "b.ts",
  "c.log",
  "d e.md",
  "-f",
  "ü.txt",
  "g\nh",
  ".i",
  "[j].ts",
);
const folder = fc.constantFrom(
  "",
  "sub/",
  "sub/deep/",
  "dist/",
  ".dot/",
  "node_modules/",
  "other/",
);
const rules = fc.array(
  fc.constantFrom(
    "*.log",
    "/a.ts",
    "!c.log",
    "sub/",
    "deep",
    "*",
    "!*.ts",
    "!*/",
    "**/b.ts",
    "d\\ e.md",
    "# x",
    "-f",
  ),
  { maxLength: 4 },
);
const at = (name: fc.Arbitrary<string>) => fc.tuple(folder, name).map((parts) => parts.join(""));
const tree = fc.record({
  files: fc.dictionary(at(name), bytes, { maxKeys: 8 }),
  ignores: fc.dictionary(at(fc.constantFrom(".gitignore", ".ignore", ".rgignore")), rules, {
    maxKeys: 3,
  }),
  links: fc.dictionary(
    at(fc.constantFrom("l1", "l2")),
    fc.constantFrom("a.ts", "sub", "..", "gone"),
    { maxKeys: 2 },
  ),
  // with git each question costs eight programs
  git: fc.constantFrom("", "", "", "init", "add", "nested"),
});
const ATOMS = String.raw`a b A . \w \W \d \s \S \b \B [ab] [^a] [\w-] [A-Z] [^\s] \. \( é 💡 \t { ] (a|b) (?:ab) (?=b) \u00e9 \-`;
const atom = fc.constantFrom(...ATOMS.split(" "));
const times = fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{1,2}", "*?");
const repeated = fc
  .tuple(atom, times)
  .map(([one, times]) => (/^(\\[bB]|\(\?=b\)|\{)$/.test(one) ? one : one + times));
const atoms = fc.array(repeated, { minLength: 1, maxLength: 4 }).map((all) => all.join(""));
const regex = fc
  .tuple(fc.constantFrom("", "^"), atoms, fc.constantFrom("", "$", "|b$"))
  .map((all) => all.join(""));
const [flag, glob, path] = [
  fc.boolean(),
  fc.constantFrom("*.ts", "sub/**", "*"),
  fc.constantFrom(".", "sub"),
];
const asked = { query: fc.oneof(word, regex), regex: flag, ignore_case: flag, glob, path };
const query = fc.record(asked, { requiredKeys: ["query"] });

needs("git")("grep: at random, the answer with ripgrep is the answer without", async () => {
  let hits = 0;
  const queries = fc.uniqueArray(query, {
    minLength: 6,
    maxLength: 6,
    selector: JSON.stringify as any,
  });
  const same = fc.asyncProperty(tree, queries, async (made, queries) => {
    const where = place();
    build(where.cwd, made);
    const calls = queries.map((args): [string, object] => ["grep", args]);
    const answers = await Promise.all(WAYS.map((rg) => play(where, calls, using(rg))));
    const [first, second] = answers.map((all) => all.map(({ text }) => text));
    deepEqual(first, second);
    hits += first!.filter((text) => /^.*:\d+: /.test(text)).length;
    fs.rmSync(where.cwd, { recursive: true });
  });
  await fc.assert(same, { numRuns: TREES });
  ok(hits > 0, "no answer had a hit");
});

type Made = typeof tree extends fc.Arbitrary<infer T> ? T : never;
function build(cwd: string, { files, ignores, links, git: how }: Made): void {
  put(cwd, files);
  for (const [at, lines] of Object.entries(ignores)) put(cwd, { [at]: lines.join("\n") });
  for (const [at, to] of Object.entries(links))
    if (!fs.existsSync(join(cwd, at))) put(cwd, { [at]: `->${to}` });
  if (how === "nested" && fs.existsSync(join(cwd, "sub")))
    shell(cwd, "git init -q --template= sub");
  if (how) shell(cwd, `git init -q --template=${how === "add" ? "; git add -f ." : ""}`);
}

const stopped = new Error("stopped by the test");
/** By hand: whether it has read a file yet, and what stops it. */
async function grepping(where: Place, rg: string, args: object) {
  const [core, stop, seen] = [
    await opened(where, using(rg)),
    new AbortController(),
    { isReading: false },
  ];
  const { files } = core.ctx();
  const open = (file: string) => {
    seen.isReading = true;
    return files.open(file);
  };
  const own = {
    signal: { value: stop.signal },
    files: { value: Object.create(files, { open: { value: open } }) },
  };
  const running = Promise.resolve(
    core.tools.get("grep")!.value.run(args, Object.create(core.ctx(), own)),
  );
  const end = rejects(running, stopped);
  return {
    seen,
    end: () => {
      stop.abort(stopped);
      return end;
    },
  };
}
const many = Array.from({ length: 40 }, (_, i) => [`${i}`, "no such thing here\n".repeat(50_000)]);
for (const [what, args, files] of [
  [
    "an endless regular expression",
    { query: "(a+)+$", regex: true },
    { "a.txt": `${"a".repeat(20_000)}!\n` },
  ],
  ["many large files, by text", { query: "zebra", ignore_case: true }, Object.fromEntries(many)],
] as [string, object, Tree][])
  test(`grep stops at Ctrl+C, and lets other work go on until then: in ${what}`, async () => {
    const { seen, end } = await grepping(place(files), "", args);
    await waitFor("a turn of its own while grep reads", () => seen.isReading);
    await end();
  });

test("grep stops at Ctrl+C in ripgrep, which ends too", async (_t) => {
  const where = place({ "a.txt": "x\n" });
  const tools = temporaryFolder("zz-fake-"); // not in the project or right above it
  const [fake, pids] = [join(tools, "rg"), join(tools, "pids")];
  fs.writeFileSync(fake, `#!/bin/sh\necho $$ >> ${pids}\nexec sleep 300\n`, { mode: 0o755 });
  const { end } = await grepping(where, fake, { query: "x" });
  const started = () =>
    fs.existsSync(pids) ? fs.readFileSync(pids, "utf8").trim().split("\n") : [];
  await waitFor("one for the hits, one for the files", () => started().length === 2);
  await end();
  // one look: between two it may end
  const runs = (pid: string): boolean => processStartTime(Number(pid)) !== "";
  await waitFor("the end of both", () => !started().some(runs));
});

const APART_MS = 2_000; // for a line that takes long

const [SHORT, LONG] = [60, 20_000].map((length) => `${"a".repeat(length)}!\n`) as [string, string];
const SLOW = "Cannot search for '(a+)+$': the regular expression takes too long. Make it simpler.";
const PASSED =
  "b.txt:1: xaaa\n[ignored, for the regular expression takes too long on it: a.min.js:1]";
for (const [rg, what, files, query, expected] of [
  ["rg", "with ripgrep: one that takes for ever is given up", { "a.txt": SHORT }, "(a+)+$", SLOW],
  ["", "without ripgrep: one that takes for ever is given up", { "a.txt": SHORT }, "(a+)+$", SLOW],
  ["", "a very long line is ignored, and said", { "a.min.js": LONG, "b.txt": "xaaa\n" }, "x?(a+)+$",
    PASSED],
] as [string, string, Record<string, string>, string, string][]) // biome-ignore format: a table
  test(`grep: a regular expression has two seconds for a line: ${what}`, async (t) => {
    const clock = standingClock();
    const it = await harness({ own: true, clock, files, settings: { search: { ripgrep: rg } } }, t);
    const said = it.call("grep", { query, regex: true });
    await clock.waits(APART_MS);
    await clock.pass(APART_MS);
    equal((await said).text, expected);
  });

const list = async (where: Place, path?: string) => (await opened(where)).ctx().files.list(path);

test("the lister: links are listed, also those that lead nowhere; what is gone is not", async () => {
  const links = { link: "->a.txt", lost: "->nowhere", folder: "->.." };
  for (const how of has("git") ? ["git", "walk"] : ["walk"]) {
    const where = place({ "a.txt": "", "gone.txt": "", ...links, s: "", "src/x": "" });
    if (how === "git") shell(where.cwd, "git init -q; git add .");
    fs.rmSync(join(where.cwd, "gone.txt"));
    deepEqual(await list(where), ["a.txt", "folder", "link", "lost", "s", "src/x"], how);
    deepEqual(await list(where, "src"), ["src/x"], how);
  }
});

const NAMED =
  "a.ts b.tsx c.js .eslintrc src/a.ts src/deep/b.ts src/deep/.hidden/c.ts app/[slug]/page.tsx app/s/page.tsx " +
  "app/(group)/page.tsx app/[...rest]/page.tsx {a,b}.txt a.txt *.md x.md ü💡.txt dist/out.ts node_modules/x/i.ts log/a.log";
const named_ = place({
  ...Object.fromEntries(NAMED.split(" ").map((name) => [name, ""])),
  ".gitignore": "*.log\n",
});
// biome-ignore format: one case a row.
const GLOBS: [what: string, args: object, expected: string | RegExp][] = [
  ["** is any folders, none too", { pattern: "**/*.ts" }, "a.ts\nsrc/a.ts\nsrc/deep/.hidden/c.ts\nsrc/deep/b.ts"],
  ["brackets that are a name", { pattern: "app/[...rest]/*.tsx" }, "app/[...rest]/page.tsx\napp/s/page.tsx"],
  ["from a folder on, at any depth", { pattern: "**/b.ts", path: "src" }, "src/deep/b.ts"],
  ["? and what is not in a class", { pattern: "[!b].?s" }, "a.ts\nc.js"],
  ["what is ignored is left out", { pattern: "**/*.log" }, "No file matches '**/*.log'."],
  ["nothing, but deeper down", { pattern: "page.tsx" }, "No file matches 'page.tsx'. '**/page.tsx' would match 4."],
  ["a folder that is missing", { pattern: "*", path: "gone" }, /^Cannot list 'gone': no such folder/],
  ["braces without end", { pattern: "{a,b}".repeat(20) }, /^Cannot use that pattern: its braces have too many /],
];
const globs = GLOBS.map(([, args]) => args);
const nthGlob = together(named_, "glob", globs);
for (const [row, [what, , expected]] of GLOBS.entries())
  test(`glob: ${what}`, async () => {
    const { text } = await nthGlob(row);
    if (typeof expected === "string") equal(text, expected);
    else match(text, expected);
  });

test("glob: 100 paths, and how many more", async () => {
  const names = Array.from({ length: 103 }, (_, i) => `f${String(i).padStart(3, "0")}`);
  const where = place(Object.fromEntries(names.map((name) => [name, ""])));
  const lines = (await call(where, "glob", { pattern: "*" })).text.split("\n");
  deepEqual(
    [lines.length, lines[99], lines[100]],
    [101, "f099", "[3 more; narrow the pattern or the path]"],
  );
});

test("glob: a pattern of many stars comes to an end on a long name", () => {
  equal(compilePattern("*a".repeat(20) + "b")("a".repeat(250)), false);
  equal(compilePattern("**/a/".repeat(10) + "b")("a/".repeat(60) + "c"), false);
});

test("list_dir: links show where they lead", async () => {
  const where = place({
    "a.txt": "",
    link: "->a.txt",
    up: "->../..",
    lost: "->nowhere",
    "sub/l": "->../a.txt",
  });
  const { text } = await call(where, "list_dir", {});
  equal(text, "a.txt\nlink -> a.txt\nlost -> nowhere\nsub/ (1 file)\nup -> ../..");
  equal((await call(where, "list_dir", { path: "sub" })).text, "l -> ../a.txt");
});

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAE0lEQVR4nGP4z8DAwMDAxAADCgAQGgEDfHwxGwAAAABJRU5ErkJggg==",
  "base64",
);
const BIG = Buffer.concat([PNG, Buffer.alloc(5 << 20)]);
test("read_file: a picture comes as its bytes, one too large does not, nor does a BOM", async () => {
  const where = place({
    "a.png": PNG,
    "big.png": BIG,
    "none.png": Buffer.from([0, 1, 2]),
    "bom.txt": "\ufeffa\n",
  });
  const paths = ["a.png", "big.png", "none.png", "bom.txt"];
  const calls = paths.map((path): [string, object] => ["read_file", { path }]);
  const [a, ...others] = await play(where, calls);
  equal(a!.text, `[image a.png, 2×3, ${PNG.length} bytes]`);
  equal(a!.images![0]!.type, "image/png");
  deepEqual(Buffer.from(a!.images![0]!.base64, "base64"), PNG);
  const large = `Cannot read 'big.png': ${BIG.length} bytes are too many for a picture (5 MB). Make it smaller.`;
  const said = others.map(({ text }) => text);
  deepEqual(said, [large, "Cannot read 'none.png': it is not text. Choose a text file.", "1\ta"]);
  ok(others.every(({ images }) => !images));
});
