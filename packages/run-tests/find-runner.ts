// Finds out how the project runs its tests: by its test script, its runner, or node itself.
import fs from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { Ctx } from "zz";

export type Runner = "node" | "vitest" | "jest" | "mocha";
export interface Wanted {
  path?: string | undefined;
  filter?: string | undefined;
}
interface Found {
  command: string; // quoted for a shell
  runner?: Runner | undefined; // undefined for a script of an unknown runner
  notes: string[];
  narrowed: boolean;
}
/** The part of a test script that runs the tests. */
interface Script {
  runner: Runner;
  settings: string[]; // NAME=value
  program: string[];
  args: string[];
  before: string; // the commands before it
}
type Package = {
  scripts?: Record<string, string>;
  packageManager?: string;
  [field: string]: unknown;
};

const RUNNERS: [runner: Runner, config: RegExp][] = [
  ["vitest", /^vitest\.(config|workspace)\.[cm]?[jt]s$/],
  ["jest", /^jest\.config\.([cm]?[jt]s|json)$/],
  ["mocha", /^\.mocharc(\.|$)/],
];
const LOCKS: [file: string, manager: string][] = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
];
const RUNNER_FILE = /(?:^|\/)(vitest|jest|mocha)(?:\.m?js)?$/;
const SETTING = /^[A-Za-z_]\w*=/;
const BEFORE_RUNNER =
  /^(npx|pnpx|bunx|npm|pnpm|yarn|bun|exec|x|cross-env|env|c8|nyc|--?[\w-]+(=.*)?)$/;
const WATCHES = /^(watch|dev|--watch(All)?)$/;
/** Words of a script that select tests. */
const PLACE = /[*?{]|[._-](test|spec)s?\.[cm]?[jt]sx?$|^(\.\/)?(tests?|specs?|__tests__|src)(\/|$)/;
/** The files that `node --test` runs as tests. */
const NODE_TEST = /(^|\/)(test|test-[^/]*|[^/]*[._-]test)\.[cm]?[jt]s$|(^|\/)test\/.*\.[cm]?[jt]s$/;
const MAX_FILES = 200;

export async function commandFor(wanted: Wanted, ctx: Ctx): Promise<Found> {
  const { root } = ctx;
  const path = wanted.path && placeOf(wanted.path, ctx);
  const filter = wanted.filter || undefined;
  const narrowed = Boolean(path || filter);
  const ownPackage = await packageOf(ctx);
  const script = /no test specified/.test(ownPackage.scripts?.test ?? "")
    ? undefined
    : ownPackage.scripts?.test;
  const parsed =
    script === undefined ? await withoutScript(ownPackage, ctx) : parse(script, ownPackage.scripts);
  if (script === undefined && !parsed)
    throw cannot(
      "found no test script in package.json, no vitest, jest or mocha, and no *.test.* file",
    );
  if (parsed && (script === undefined || narrowed || watches(parsed))) {
    const notes = parsed.before
      ? [`[Without what the test script does first: ${parsed.before}]`]
      : [];
    return {
      command: await direct(parsed, { path, filter }, ctx),
      runner: parsed.runner,
      notes,
      narrowed,
    };
  }
  if (narrowed)
    throw cannot(
      `${path ? "path" : "filter"} cannot be passed on: the test script '${script}' is of no runner that zz knows`,
      "Run all tests, without path and filter, or use run_command.",
    );
  const manager = managerOf(ownPackage, root);
  const command = shellWords(manager === "bun" ? ["bun", "run", "test"] : [manager, "test"]);
  return { command, runner: parsed?.runner, notes: [], narrowed };
}

const cannot = (reason: string, next = "Use run_command with the project's own command."): Error =>
  new Error(`Cannot run tests: ${reason}. ${next}`);

/** The path relative to the project, written so that it cannot be mistaken for an option. */
function placeOf(name: string, { root, files }: Ctx): string | undefined {
  const file = files.path(name);
  if (!fs.existsSync(file)) throw cannot(`there is no file or folder '${name}'`, "Check the path.");
  const relativePath = relative(root, file).replaceAll(sep, "/");
  return relativePath.startsWith("-") ? `./${relativePath}` : relativePath;
}

async function packageOf({ files, root }: Ctx): Promise<Package> {
  if (!fs.existsSync(join(root, "package.json"))) return {};
  try {
    return JSON.parse((await files.read("package.json")).text) ?? {};
  } catch (error) {
    throw cannot(`package.json cannot be read (${(error as Error).message})`, "Fix it.");
  }
}

function managerOf({ packageManager }: Package, root: string): string {
  const named = /^(npm|pnpm|yarn|bun)@/.exec(packageManager ?? "")?.[1];
  return named ?? LOCKS.find(([file]) => fs.existsSync(join(root, file)))?.[1] ?? "npm";
}

/**
 * A script's last command, if all of it is plain words and it runs a known runner; scripts that it
 * names are followed.
 */
function parse(
  script: string,
  scripts: Record<string, string> = {},
  depth = 0,
): Script | undefined {
  const parts = script.split("&&");
  const words = split(parts.pop()!);
  const before = parts.join("&&").trim();
  if (!words) return undefined;
  const start = words.findIndex((word) => !SETTING.test(word) && !BEFORE_RUNNER.test(word));
  const settings = words.slice(0, Math.max(0, start)).filter((word) => SETTING.test(word));
  const [, run, name = ""] = /^(?:npm|pnpm|yarn|bun) (run )?(\S+)$/.exec(words.join(" ")) ?? [];
  if (run && scripts[name] && depth < 5) {
    const inner = parse(scripts[name], scripts, depth + 1);
    return inner && { ...inner, before: [before, inner.before].filter(Boolean).join(" && ") };
  }
  if (start < 0) return undefined;
  const runnerWords = words.slice(start);
  const index = runnerWords.findIndex((word) => RUNNER_FILE.test(word));
  if (/^(node|tsx)$/.test(runnerWords[0]!)) {
    if (runnerWords.includes("--test"))
      return {
        runner: "node",
        settings,
        program: [runnerWords[0]!],
        args: runnerWords.slice(1),
        before,
      };
    if (index < 1 || !runnerWords.slice(1, index).every((word) => word.startsWith("-")))
      return undefined;
  } else if (index !== 0) return undefined;
  const [, runner] = RUNNER_FILE.exec(runnerWords[index]!) as unknown as [string, Runner];
  return {
    runner,
    settings,
    program: index ? runnerWords.slice(0, index + 1) : [],
    args: runnerWords.slice(index + 1),
    before,
  };
}

/** Whether the script watches files; vitest does unless it is told to run. */
function watches({ runner, args }: Script): boolean {
  if (runner === "vitest") return !args.some((word) => word === "run" || word === "--run");
  return args.some((word) => WATCHES.test(word));
}

/** The words of a command; undefined if a shell would do more than split it. */
function split(text: string): string[] | undefined {
  const words: string[] = [];
  for (let unread = text.trim(); unread; ) {
    const word = /^(?:'[^']*'|"(?:[^"\\$`]|\\["\\])*"|[^\s'"`$\\|&;<>()#])+(?=\s|$)/.exec(
      unread,
    )?.[0];
    if (word === undefined) return undefined;
    words.push(
      word.replace(
        /'([^']*)'|"((?:[^"\\]|\\.)*)"/g,
        (_, single, two) => single ?? two.replace(/\\(.)/g, "$1"),
      ),
    );
    unread = unread.slice(word.length).trim();
  }
  return words;
}

async function withoutScript(
  ownPackage: Package,
  { root, files }: Ctx,
): Promise<Script | undefined> {
  const blank = { settings: [], program: [], args: [], before: "" };
  const entries = fs.readdirSync(root);
  const needs = {
    ...(ownPackage.dependencies as object),
    ...(ownPackage.devDependencies as object),
  };
  const [runner] =
    RUNNERS.find(
      ([name, config]) => name in ownPackage || entries.some((file) => config.test(file)),
    ) ??
    RUNNERS.find(([name]) => name in needs) ??
    [];
  if (runner) return { ...blank, runner };
  const isThere = (await files.list()).some((file) => NODE_TEST.test(file));
  return isThere ? { ...blank, runner: "node", program: ["node"], args: ["--test"] } : undefined;
}

/** The command that starts the runner itself, with the options from the script. */
async function direct(
  { runner, settings, program, args }: Script,
  wanted: Wanted,
  ctx: Ctx,
): Promise<string> {
  const { path, filter } = wanted;
  const kept = args.filter(
    (word) => !WATCHES.test(word) && word !== "run" && !(path && isPlace(word)),
  );
  const places = path ? await placesFor(runner, path, ctx) : [];
  const named = filter ? [`${NAMED[runner]}=${pattern(filter)}`] : [];
  const start = program.length ? program : binary(runner, ctx.root);
  const index = kept.indexOf("--test") + 1; // node accepts no options after the first file
  const words =
    runner === "vitest" ? ["run", ...named, ...kept] : kept.toSpliced(index, 0, ...named);
  return [...settings.map(setting), shellWords([...start, ...words, ...places])].join(" ");
}
const NAMED: Record<Runner, string> = {
  node: "--test-name-pattern",
  vitest: "--testNamePattern",
  jest: "--testNamePattern",
  mocha: "--grep",
};
const isPlace = (word: string): boolean => !word.startsWith("-") && PLACE.test(word);

/**
 * The runner's own file, since npx asks the network for what is not installed, even with
 * --no-install.
 */
function binary(runner: Runner, root: string): string[] {
  if (fs.existsSync(join(root, ".pnp.cjs"))) return ["yarn", runner];
  for (let folder = root; ; folder = dirname(folder)) {
    const file = join(folder, "node_modules/.bin", runner);
    if (fs.existsSync(file)) return [relative(root, file).replaceAll(sep, "/")];
    if (folder === dirname(folder))
      throw cannot(
        `${runner} is not installed`,
        "Install it first: npm install, or as the project does it.",
      );
  }
}

async function placesFor(runner: Runner, path: string, { root, files }: Ctx): Promise<string[]> {
  const isFolder = fs.statSync(join(root, path)).isDirectory();
  if (runner === "vitest") return [path];
  if (runner === "mocha") return isFolder ? ["--recursive", path] : [path];
  if (runner === "jest") return isFolder ? [`${literal(path)}/`] : ["--runTestsByPath", path];
  const tests = isFolder ? (await files.list(path)).filter((file) => NODE_TEST.test(file)) : [path];
  if (!tests.length) throw cannot(`there is no test file in '${path}'`, "Check the path.");
  if (tests.length > MAX_FILES)
    throw cannot(`'${path}' holds ${tests.length} test files`, "Choose a folder in it.");
  return tests.map((file) => file.replace(/[*?[{}()!]/g, "[$&]")); // node reads names as globs
}

/** All runners take a regular expression. A text that does not match itself is taken literally. */
function pattern(filter: string): string {
  try {
    if (new RegExp(filter).test(filter.replace(/^\^|\$$/g, ""))) return filter;
  } catch {} // not a regular expression
  return literal(filter);
}
const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

function setting(word: string): string {
  const index = word.indexOf("=") + 1;
  return word.slice(0, index) + quote(word.slice(index));
}
const shellWords = (words: string[]): string => words.map(quote).join(" ");
const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
