// What README.md, docs/ and the READMEs of packages print as code leads somewhere: flags, commands,
// tools, settings and their defaults, files, variables. One instance with all examples knows them.
import { deepEqual, equal, ok } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Flag } from "../../kernel/contract.ts";
import { parseFlags } from "../../kernel/program/parse-flags.ts";
import { KERNEL_FLAGS, UNLISTED_FLAGS } from "../../kernel/settings/flag-table.ts";
import { asZod, checkAgainstSchema } from "../../kernel/text/json-schema.ts";
import { COMMANDS, WORDS } from "../../plugins/names/other-names.ts";
import { inRoot, PAGES, page, snippets } from "../support/pages.ts";
import { ROOT } from "../support/run.ts";
import { sit } from "../support/sit.ts";

interface Claim {
  page: string;
  text: string;
}

// CHANGELOG.md tells of the past, so it is not among them.
const READMES = readdirSync(join(ROOT, "packages")).map((name) => `packages/${name}/README.md`);
const CLAIMING: [page: string, text: string][] = [
  ...PAGES,
  ...["CONTRIBUTING.md", "SECURITY.md", ...READMES].map(
    (name) => [name, inRoot(name)] as [string, string],
  ),
];
const BLOCK = /^ *```(\w+)\n(.*?)^ *```$/gms;
const SPAN = /(`+)(?!`)(.+?)(?<!`)\1(?!`)/gs;

/** What is fenced: samples of files, of a shell and of what zz prints. */
const blocks: (Claim & { kind: string })[] = CLAIMING.flatMap(([page, text]) =>
  [...text.matchAll(BLOCK)].map(([, kind, text]) => ({ page, kind: kind!, text: text! })),
);

/** What stands between backticks in a sentence or a table. */
const spans: Claim[] = CLAIMING.flatMap(([page, text]) =>
  [...text.replace(BLOCK, "").matchAll(SPAN)].map(([, , code]) => ({
    page,
    text: code!.replaceAll("\\|", "|").replace(/\s+/g, " ").trim(),
  })),
);

/** Every line that starts zz, and its arguments as a shell would give them. */
function zzCommands(): (Claim & { args: string[] })[] {
  const lines = blocks.flatMap(({ page, kind, text }) => {
    const prompt = { sh: "", console: "$ " }[kind];
    if (prompt === undefined) return [];
    const typed = text.split("\n").filter((line) => line.trim().startsWith(prompt));
    return typed.map((line) => ({ page, text: line.trim().slice(prompt.length) }));
  });
  return [...lines, ...spans].flatMap(({ page, text }) =>
    commandsIn(text).map((args) => ({ page, text, args })),
  );
}

function commandsIn(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const word of shellWords(line))
    if (OPERATOR.test(word)) commands.push([]);
    else commands.at(-1)!.push(word);
  return commands.flatMap((command) => {
    const start = command.findIndex((word) => !/^[A-Z_]+=/.test(word) && word !== "npx");
    return command[start] === "zz" ? [command.slice(start + 1)] : [];
  });
}

const OPERATOR = /^(?:&&|\|\||[|;<>]|\$\()$/;
const PART = /'[^']*'|"(?:\\.|[^"\\])*"|\$\(|&&|\|\||[|;<>]|#.*$|[^\s'"|;<>]+|\s+/g;

function shellWords(line: string): string[] {
  const words: string[] = [];
  let isOpen = false; // what comes next belongs to the last word
  for (const [part] of line.matchAll(PART)) {
    if (part.startsWith("#")) break;
    const isWord = part.trim() !== "" && !OPERATOR.test(part);
    const text = /^['"]/.test(part) ? part.slice(1, -1) : part;
    if (isOpen && isWord) words.push(words.pop()! + text);
    else if (part.trim()) words.push(text);
    isOpen = isWord;
  }
  return words;
}

const clock = { after() {} }; // the instance serves all tests of this file
const EXAMPLES = readdirSync(join(ROOT, "plugins/examples")).filter((name) => name.endsWith(".ts"));
const { it } = await sit(clock, {
  plugins: EXAMPLES.map((name) => join(ROOT, "plugins/examples", name)),
  settings: { web: { engine: "brave", key: "not-a-key-of-anyone" } },
});
test.after(() => it.close());
const { about, settings } = it.ctx;
const FLAGS: Flag[] = [...KERNEL_FLAGS, ...about.flags];

/** All claims are so; those that are not are named with their pages. */
function noneWrong(claims: Claim[], isSo: (text: string) => boolean): void {
  const failing = claims.filter(({ text }) => !isSo(text));
  deepEqual([...new Set(failing.map(({ page, text }) => `${page}: ${text}`))], []);
}

test("every line with zz in it is a command line that zz accepts", () => {
  const commands = zzCommands();
  ok(commands.length > 200, String(commands.length));
  const refused = commands.flatMap(({ page, text, args }) => {
    const isName = args.length === 1 && /^--[a-z-]+$/.test(args[0]!); // the flag as such
    try {
      const flags = isName ? FLAGS.map((flag) => ({ ...flag, value: undefined })) : FLAGS;
      const { unknown } = parseFlags(args, flags as Flag[]);
      return unknown.map((flag) => `${page}: ${flag} of ${text}`);
    } catch (error) {
      return `${page}: ${text}: ${(error as Error).message}`;
    }
  });
  deepEqual(refused, []);
});

/** Flags of other programs, and places for one. */
const OTHER_FLAGS =
  "--dangerously-skip-permissions --output-format --sandbox --yes --without --permission " +
  "--ignore-scripts --omit --flag --deny-KIND";

test("every flag is in the table of flags", () => {
  const all = [...FLAGS, ...UNLISTED_FLAGS];
  const names = all.flatMap(({ name, short }) => [`--${name}`, `-${short}`]);
  const known = new Set([...names, ...OTHER_FLAGS.split(" ")]);
  const flags = spans.filter(({ text }) => /^(-[a-zA-Z]|--[a-z])/.test(text));
  ok(flags.length > 250, String(flags.length));
  const namesIn = (text: string) => text.match(/(?<!\S)(?:--[a-z][\w-]*|-[a-zA-Z]\b)/g)!;
  noneWrong(flags, (text) => namesIn(text).every((name) => known.has(name)));
});

/** What begins with a slash and is no command of zz: folders, what a page has the reader make, and
 * what is sent to the bot. */
const OTHER_SLASHES = /^\/(tmp|proc|etc|usr|notes__summary|translate|stop|who|leave)\b/;

test("every slash command is there or is another agent's name, and takes the word after it", async () => {
  const commands = new Map(about.commands.map((command) => [command.name, command]));
  const typed = spans.filter(({ text }) => /^\/[a-z][\w-]*(?=$|[\s[=])/.test(text));
  ok(typed.length > 300, String(typed.length));
  const named = typed.filter(({ text }) => !OTHER_SLASHES.test(text));
  const nameOf = (text: string) => /^\/([\w-]+)/.exec(text)![1]!;
  noneWrong(named, (text) => commands.has(nameOf(text)) || Object.hasOwn(COMMANDS, nameOf(text)));
  const missing: string[] = [];
  for (const { page, text } of named) {
    const [, name = "", word] = /^\/([\w-]+) ([a-z][\w-]+)(?=\s|$)/.exec(text) ?? [];
    const command = commands.get(name);
    if (!command || !word) continue;
    const { usage, examples, description } = command;
    if (JSON.stringify([usage, examples, description]).includes(word)) continue;
    const offered = await about.complete(name, word);
    if (!offered.some((choice) => choice.name.startsWith(word))) missing.push(`${page}: ${text}`);
  }
  deepEqual(missing, []);
});

test("every word alone on the command line that a page names is obeyed", () => {
  const words = zzCommands().flatMap(({ page, args }) =>
    args.length === 1 && /^[a-z]+$/.test(args[0]!) ? { page, text: args[0]! } : [],
  );
  ok(words.length > 10, String(words.length));
  noneWrong(words, (text) => text === "words" || Object.hasOwn(WORDS, text));
});

const SOURCE = ["zz.ts", ...sourceFiles()]
  .map((file) => readFileSync(join(ROOT, file), "utf8"))
  .join("\n");

function sourceFiles(): string[] {
  return ["kernel", "sdk", "plugins", "packages", "build"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ts|js|json)$/.test(name) && !/(^|\/)(node_modules|test)\//.test(name))
      .map((name) => join(folder, name)),
  );
}

test("every tool is there, and every other name in snake_case stands in the source", () => {
  const tools = new Set(about.tools.map(({ name }) => name));
  const names = spans.filter(({ text }) => /^[a-z]+(_[a-z]+)+$/.test(text));
  ok(names.filter(({ text }) => tools.has(text)).length > 100);
  const isSample = (text: string) => text === "api_token"; // a setting of a plugin in docs/plugins.md
  const inSource = (text: string) => new RegExp(`\\b${text}\\b`).test(SOURCE);
  noneWrong(names, (text) => tools.has(text) || isSample(text) || inSource(text));
});

/** Of other programs, which a project must not set, and of a sample. */
const OTHER_VARIABLES = ["WORK_API_KEY", "DATABASE_URL"];
const BY_PATTERN = /^(NODE_OPTIONS|GIT_SSH_COMMAND|LD_PRELOAD)$/; // `NODE_*`, `LD_*` and the like

test("every variable stands in the source", () => {
  const names = spans.flatMap(({ page, text }) =>
    (text.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b/g) ?? []).map((text) => ({ page, text })),
  );
  ok(names.length > 60, String(names.length));
  const known = (text: string) => OTHER_VARIABLES.includes(text) || BY_PATTERN.test(text);
  noneWrong(names, (text) => known(text) || SOURCE.includes(text));
});

test("every file of the project that a page names is there", () => {
  const files = spans.filter(
    ({ page, text }) =>
      /^(kernel|sdk|plugins|packages|test|docs|build|prompts)\/[\w./-]+$/.test(text) &&
      !/NAME|translate\.md/.test(text) &&
      page !== "SECURITY.md", // test/security/security-md.test.ts has it
  );
  ok(files.length > 100, String(files.length));
  noneWrong(files, (text) => existsSync(join(ROOT, text)));
});

/** Parts of settings, and what stands in files of other programs. */
const OTHER_JSON =
  /^\{"(zz|x|cluster|sandbox|hosts|write|only|module|engines|type|fast|private)"|"(hooks|agent_servers|zz-plugin)"/;

test("every sample of settings is one that zz takes", async () => {
  const schema = await asZod(settings.schema());
  const inline = spans.filter(({ text }) => /^"[\w$]+": /.test(text) && !text.includes("…}"));
  const samples = [
    ...inline.map(({ page, text }) => ({ page, text: `{${text}}` })),
    ...blocks.filter(({ kind }) => kind === "json"),
  ].filter(
    ({ page, text }) =>
      !OTHER_JSON.test(text) && !text.includes(": … }") && !page.startsWith("packages/"),
  );
  ok(samples.length > 30, String(samples.length));
  for (const { page, text } of samples) {
    const { misfits = [] } = await checkAgainstSchema(schema, JSON.parse(text));
    deepEqual(misfits, [], `${page}: ${text}`);
  }
});

test("docs/settings.md has the default of every setting, and pages name no other settings", () => {
  const known = new Map(settings.list().map((setting) => [setting.name, setting]));
  const [, section = ""] = /^## All settings\n(.*?)^## /ms.exec(page("docs/settings.md"))!;
  let compared = 0;
  for (const [, names = "", defaults = ""] of section.matchAll(/^\| (`.*?) \| (.*?) \| /gm)) {
    const shown = defaults.split(", ").map(readDefault);
    for (const [index, name] of [...names.matchAll(/`([\w.$-]+)`/g)]
      .map(([, name]) => name!)
      .entries()) {
      const setting = known.get(name);
      if (!setting || name === "openai.model") continue; // "": the wire's own
      const none = ["", undefined].includes(setting.default as string) ? "–" : setting.default;
      const value = Array.isArray(none) && !none.length ? "–" : none;
      equal(value, shown.length > 1 ? shown[index] : shown[0], name);
      compared++;
    }
  }
  ok(compared > 80, String(compared));
  const sections = new Set([...known.keys()].map((name) => name.split(".")[0]!));
  const named = spans.filter(({ text }) => {
    const [, section, last] = /^([a-z][\w-]*)(?:\.\w+)*\.(\w+)$/.exec(text) ?? [];
    return section && sections.has(section) && !["json", "ts"].includes(last!);
  });
  ok(named.length > 100, String(named.length));
  const isFree = (text: string) => /^(models|providers|permissions|display\.colours)\./.test(text);
  noneWrong(named, (text) => known.has(text) || isFree(text) || section.includes(`\`${text}\``));

  function readDefault(text: string): unknown {
    if (text === "on" || text === "off") return text === "on";
    return /^[\d.]+$/.test(text) ? Number(text) : text.replaceAll("`", "");
  }
});

test("every ctx.… and zz.… of a page is in the contract, or in the handle of scripts", () => {
  const members = spans.filter(
    ({ text }) => /^(ctx|zz)\.[a-z]/.test(text) && !/\.(ts|mjs|js)$/.test(text),
  );
  ok(members.length > 50, String(members.length));
  const nameOf = (text: string) => /^\w+\.(?:\w+\.)*(\w+)/.exec(text)![1]!;
  noneWrong(members, (text) => new RegExp(`\\b${nameOf(text)}\\b[?<(:]`).test(SOURCE));
});

/** The samples that nothing runs as they are, and why. */
const NOT_RUN: [words: string, why: string][] = [
  ["zz --phones=remove Alice", "packages/telegram/test/all/pairing.test.ts has who is paired"],
  ["npm pack\nnpm install -g", "test/all/e2e/packages.test.ts packs and installs"],
  ["zz --telegram ", "packages/telegram/test has a Bot API of its own; it needs a token"],
  ['"store": "redis://user@', "a setting, checked above; packages/redis/test/all has servers"],
  ['"mcpServers"', "settings, checked above; packages/mcp/test has servers"],
  ["kernel/program/  ", "a drawing, which test/kernel/rooms.test.ts compares with the folders"],
  ["export const overloaded", "its types are checked; what fault() takes is in test/kernel"],
];

test("every sample is run by a test: one that asks for it by its words", () => {
  const sources = ["test", "packages"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.ts$/.test(name) && !name.includes("node_modules"))
      .map((name) => readFileSync(join(ROOT, folder, name), "utf8"))
      .filter((text) => text.includes("snippet")),
  );
  const strings = sources
    .flatMap((text) => text.match(/"(?:\\.|[^"\\\n])+"|'[^'\n]+'/g) ?? [])
    .map((text) => text.slice(1, -1).replaceAll("\\n", "\n").replaceAll('\\"', '"'))
    .filter((text) => text.length > 4);
  const isAsked = (sample: string) =>
    strings.some(
      (words) =>
        sample.includes(words) &&
        snippets.every(({ text }) => text === sample || !text.includes(words)),
    );
  const unread = snippets.filter(
    ({ text }) => !NOT_RUN.some(([words]) => text.includes(words)) && !isAsked(text),
  );
  deepEqual(
    unread.map(({ page, text }) => `${page}:\n${text}`),
    [],
  );
});
