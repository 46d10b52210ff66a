// -t, -p, --save: templates filled in and kept, with the whole program.
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fillTemplate } from "../../../kernel/conversation/prompt-files.ts";
import type { Script } from "../../../test/support/fake/http.ts";
import { fakeOpenAI, say } from "../../../test/support/fake/openai.ts";
import { type Place, place, zz } from "../../../test/support/run.ts";

const TRANSLATE = `---\ndescription: translate\n---\nTranslate into $lang, \${tone:-plainly}. Prices in $$lang stay.\n`;

function home(prompts: Record<string, string> = { "tr.md": TRANSLATE }): Place {
  return place(
    {},
    {},
    Object.fromEntries(Object.entries(prompts).map(([name, text]) => [`prompts/${name}`, text])),
  );
}
const read = (where: Place, name: string) =>
  readFileSync(join(where.home, "prompts", `${name}.md`), "utf8");

type More = { input?: string; script?: Script };
async function asked(where: Place, args: string[], { input, script = [say("Hallo.")] }: More = {}) {
  const fake = await fakeOpenAI(script);
  after(() => fake.close());
  const settings = { model: "openai/m", providers: { openai: { url: fake.url, key: "x" } } };
  writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
  const ran = await zz(where, args, { ...(input !== undefined && { input }) });
  const sent = fake.requests.map((request) => request.body);
  return { ...ran, sent, said: sent.map(({ messages }) => messages.at(-1).content as string) };
}

describe("fillTemplate() with named places", () => {
  const ROWS: [body: string, rest: string, named: Record<string, string>, text: string][] = [
    ["In $lang.", "lang=German", {}, "In German."],
    ['In $lang: "$@"', 'lang="Swiss German" the words', {}, 'In Swiss German: "the words"'],
    [`In \${lang:-English} and \${tone:-}.`, "", {}, "In English and ."],
    [`In \${lang:-English}.`, "", { lang: "" }, "In English."],
    ["In $lang", "a.ts lang=German b.ts", {}, "In German\n\na.ts  b.ts"],
    ["$1", "lang=German", {}, "lang=German"], // no place of that name
    ["Pay $$lang, $HOME, $9x and $.", "", {}, "Pay $lang, $HOME, x and $."],
    ["$a$b", "", { a: "$b", b: "1" }, "$b1"], // what is filled in is not looked at again
  ];
  for (const [body, rest, named, text] of ROWS)
    test(`${JSON.stringify(body)} with ${JSON.stringify(rest)}`, () =>
      equal(fillTemplate(body, rest, named), text));

  const WRONG: [body: string, rest: string, named: Record<string, string>, message: RegExp][] = [
    ["$lang", "", {}, /^Cannot fill in '\/tr': it needs lang\. Add lang=VALUE after the name\.$/],
    ["$lang", "", { lagn: "a" }, /there is no place 'lagn'\. Did you mean 'lang'\?$/],
  ];
  for (const [body, rest, named, message] of WRONG)
    test(`${JSON.stringify(body)} with ${JSON.stringify([rest, named])} is refused`, () =>
      throws(() => fillTemplate(body, rest, named, "tr"), { message }));
});

describe("-t and -p", { concurrency: 2 }, () => {
  test("takes KEY=VALUE, and what is piped in before it", async () => {
    const args = ["--once", "--template", "tr", "--param", "lang=A=B"];
    const ran = await asked(home(), args, { input: "Hello.\n" });
    deepEqual([ran.stdout, ran.stderr, ran.code], ["Hallo.\n", "", 0]);
    match(
      ran.said[0]!,
      /^--- STDIN ---\nHello\.\n--- END STDIN ---\n\nTranslate into A=B, plainly\./,
    );
  });

  test("lets the words say it as well", async () =>
    match(
      (await asked(home(), ["--once", "-t", "tr", "lang=German", "be quick"])).said[0]!,
      /^Translate into German/,
    ));

  test("a text that begins like a command is no command", async () => {
    const where = home({ "a.md": "---\ndescription: a\n---\n/quit $x" });
    const ran = await asked(where, ["--once", "-t", "a", "-p", "x", "1"]);
    deepEqual([ran.stdout, ran.said], ["Hallo.\n", ["/quit 1"]]);
  });

  test("a project's template is there once the person trusts it", async () => {
    const where = home();
    mkdirSync(join(where.cwd, ".zz", "prompts"), { recursive: true });
    const text = '---\ndescription: theirs\noptions: {"seed": 7}\n---\nTheirs, in $lang.';
    writeFileSync(join(where.cwd, ".zz", "prompts", "theirs.md"), text);
    const untrusted = await asked(where, ["--once", "-t", "theirs", "-p", "lang", "German"]);
    deepEqual([untrusted.code, untrusted.sent.length], [2, 0]);
    match(untrusted.stderr, /there is no template 'theirs'/);
    await zz(where, ["--trust"]);
    const ran = await asked(where, ["--once", "-t", "theirs", "-p", "lang", "German"]);
    deepEqual([ran.said, ran.sent[0]?.seed], [["Theirs, in German."], 7]);
  });
});

describe("--save", { concurrency: 2 }, () => {
  test("keeps words, system, model, options, schema and tools; -t asks with all of it", async () => {
    const where = home();
    const words = ["--system", 'You "read"\ninvoices.', "--schema", "vendor, total float"];
    const flags = ["-m", "openai/n", "-o", "temperature", "0", "-o", "user", "5", "--no-tools"];
    const saved = await asked(where, [
      ...words,
      ...flags,
      "--save",
      "inv",
      "From",
      "$who, read it.",
    ]);
    match(saved.stdout, /^Saved as .*prompts\/inv\.md\. zz -t inv asks with it\.\n$/);
    deepEqual([saved.stderr, saved.code, saved.sent.length], ["", 0, 0]);
    match(
      read(where, "inv"),
      /^---\ndescription: From \$who, read it\.\n.*schema: vendor, total float\n.*\nFrom /s,
    );
    const script = [say('{"vendor": "ACME", "total": 1}')];
    const ran = await asked(where, ["-t", "inv", "-p", "who", "Ann"], { input: "ACME 1", script });
    deepEqual([ran.stdout, ran.stderr, ran.code], ['{"vendor":"ACME","total":1}\n', "", 0]);
    const [body] = ran.sent;
    deepEqual([body.model, body.temperature, body.user, body.tools], ["n", 0, 5, undefined]);
    ok(body.messages[0].content.startsWith('You "read"\ninvoices.'));
    match(body.messages[1].content, /STDIN[\s\S]*ACME 1[\s\S]*From Ann, read it\.$/);
  });

  test("keeps -x, and may have no words of its own", async () => {
    const where = home();
    const saved = await asked(where, ["-x", "--save", "code"]);
    equal(saved.code, 0, saved.stderr);
    const ran = await asked(where, ["-t", "code"], {
      input: "a loop",
      script: [say("So:\n```\nfor\n```\n")],
    });
    deepEqual([ran.stdout, ran.said, ran.code], ["for\n", ["a loop"], 0]);
    const bare = await asked(where, ["--once", "-t", "code"]);
    deepEqual([bare.code, bare.sent.length], [2, 0]);
    match(bare.stderr, /^Nothing to ask/);
  });

  test("what it does not keep, it names", async () => {
    const saved = await asked(home(), ["--allow-run=ls", "-u", "--save", "a", "hi"]);
    match(saved.stdout, /Not kept: --usage, --allow-run\.|Not kept: --allow-run, --usage\./);
  });
});

describe("templates that cannot be used or kept", { concurrency: 2 }, () => {
  const WRONG: [name: string, args: string[], message: RegExp, front?: string][] = [
    ["a template that is not there", ["--once", "-t", "tz"], /there is no template 'tz'\. Did you mean 'tr'\?\n$/],
    ["-p without a template", ["-p", "lang", "x", "hi"], /^Cannot use -p lang: it fills in a template\./],
    ["front matter with a list of options", ["--once", "-t", "a"], /its 'options' are not a JSON object/, "options: [1]"],
    ["front matter with a wrong schema", ["--once", "-t", "a"], /no type 'flaot'/, "schema: a flaot"],
    ["nothing to keep", ["--save", "b"], /there is nothing to keep\. Add words/],
    ["a name with a slash", ["--save", "../b", "hi"], /a name has letters, digits, _ and -/],
    ["the name of a command", ["--save", "undo", "hi"], /'\/undo' is there already/],
    ["a template of a template", ["-t", "tr", "--save", "b", "hi"], /-t is a template already/],
  ]; // biome-ignore format: a table
  for (const [name, args, message, front = ""] of WRONG)
    test(`${name}: refused, and nothing is asked or written`, async () => {
      const where = home({ "tr.md": TRANSLATE, "a.md": `---\ndescription: a\n${front}\n---\nhi` });
      const ran = await asked(where, args);
      deepEqual([ran.stdout, ran.code, ran.sent.length, read(where, "tr")], ["", 2, 0, TRANSLATE]);
      match(ran.stderr, message);
      ok(!existsSync(join(where.home, "prompts", "b.md")));
    });
});
