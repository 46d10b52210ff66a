// Finds out how the project runs its tests: by its test script, its runner, or node itself.
import fs from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { Ctx } from "zz";
import { ownValue } from "zz/text";

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
  [fieldName: string]: unknown;
};

const RUNNERS: [runner: Runner, config: RegExp][] = [
  ["vitest", /^vitest\.(config|workspace)\.[cm]?[jt]s$/],
  ["jest", /^jest\.config\.([cm]?[jt]s|json)$/],
  ["mocha", /^\.mocharc(\.|$)/],
];
const LOCK_FILES: [file: string, manager: string][] = [
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

export async function commandFor(wantedTests: Wanted, ctx: Ctx): Promise<Found> {
  const { root } = ctx;
  const path = wantedTests.path && placeOf(wantedTests.path, ctx);
  const filter = wantedTests.filter || undefined;
  const narrowed = Boolean(path || filter);
  const ownPackage = await packageOf(ctx);
  const script = /no test specified/.test(ownPackage.scripts?.test ?? "")
    ? undefined
    : ownPackage.scripts?.test;
  const parsedScript =
    script === undefined ? await withoutScript(ownPackage, ctx) : parse(script, ownPackage.scripts);
  if (script === undefined && !parsedScript)
    throw cannot(
      "found no test script in package.json, no vitest, jest or mocha, and no *.test.* file",
    );
  if (parsedScript && (script === undefined || narrowed || watches(parsedScript))) {
    const notes = parsedScript.before
      ? [`[Without what the test script does first: ${parsedScript.before}]`]
      : [];
    return {
      command: await buildCommand(parsedScript, { path, filter }, ctx),
      runner: parsedScript.runner,
      notes,
      narrowed,
    };
  }
  if (narrowed)
    throw cannot(
      `${path ? "path" : "filter"} cannot be passed on: ` +
        `the test script '${script}' is of no runner that zz knows`,
      "Run all tests, without path and filter, or use run_command.",
    );
  const manager = managerOf(ownPackage, root);
  const command = shellWords(manager === "bun" ? ["bun", "run", "test"] : [manager, "test"]);
  return { command, runner: parsedScript?.runner, notes: [], narrowed };
}

const cannot = (
  reason: string,
  nextStep = "Use run_command with the project's own command.",
): Error => new Error(`Cannot run tests: ${reason}. ${nextStep}`);

/** The path relative to the project, written so that it cannot be mistaken for an option. */
function placeOf(givenPath: string, { root, files }: Ctx): string | undefined {
  const absolutePath = files.path(givenPath);
  if (!fs.existsSync(absolutePath))
    throw cannot(`there is no file or folder '${givenPath}'`, "Check the path.");
  const relativePath = relative(root, absolutePath).replaceAll(sep, "/");
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

function managerOf({ packageManager }: Package, rootFolder: string): string {
  const namedManager = /^(npm|pnpm|yarn|bun)@/.exec(packageManager ?? "")?.[1];
  return (
    namedManager ??
    LOCK_FILES.find(([lockFile]) => fs.existsSync(join(rootFolder, lockFile)))?.[1] ??
    "npm"
  );
}

/**
 * A script's last command, if all of it is plain words and it runs a known runner; scripts that it
 * names are followed.
 */
function parse(
  script: string,
  scripts: Record<string, string> = {},
  nestingDepth = 0,
): Script | undefined {
  const scriptParts = script.split("&&");
  const commandWords = splitWords(scriptParts.pop()!);
  const before = scriptParts.join("&&").trim();
  if (!commandWords) return undefined;
  const runnerStart = commandWords.findIndex(
    (word) => !SETTING.test(word) && !BEFORE_RUNNER.test(word),
  );
  const [, runWord, scriptName = ""] =
    /^(?:npm|pnpm|yarn|bun) (run )?(\S+)$/.exec(commandWords.join(" ")) ?? [];
  const scriptText = ownValue(scripts, scriptName);
  if (runWord && scriptText && nestingDepth < 5) {
    const inner = parse(scriptText, scripts, nestingDepth + 1);
    return inner && { ...inner, before: [before, inner.before].filter(Boolean).join(" && ") };
  }
  if (runnerStart < 0) return undefined;
  const settings = commandWords.slice(0, runnerStart).filter((word) => SETTING.test(word));
  const runnerWords = commandWords.slice(runnerStart);
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
  return {
    runner: RUNNER_FILE.exec(runnerWords[index]!)![1] as Runner,
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
function splitWords(commandText: string): string[] | undefined {
  const foundWords: string[] = [];
  for (let unreadText = commandText.trim(); unreadText; ) {
    const nextWord = /^(?:'[^']*'|"(?:[^"\\$`]|\\["\\])*"|[^\s'"`$\\|&;<>()#])+(?=\s|$)/.exec(
      unreadText,
    )?.[0];
    if (nextWord === undefined) return undefined;
    foundWords.push(
      nextWord.replace(
        /'([^']*)'|"((?:[^"\\]|\\.)*)"/g,
        (_, singleQuoted, doubleQuoted) => singleQuoted ?? doubleQuoted.replace(/\\(.)/g, "$1"),
      ),
    );
    unreadText = unreadText.slice(nextWord.length).trim();
  }
  return foundWords;
}

async function withoutScript(
  ownPackage: Package,
  { root, files }: Ctx,
): Promise<Script | undefined> {
  const blank = { settings: [], program: [], args: [], before: "" };
  const entries = fs.readdirSync(root);
  const dependencies = {
    ...(ownPackage.dependencies as object),
    ...(ownPackage.devDependencies as object),
  };
  const [runner] =
    RUNNERS.find(
      ([runnerName, config]) =>
        runnerName in ownPackage || entries.some((entry) => config.test(entry)),
    ) ??
    RUNNERS.find(([runnerName]) => runnerName in dependencies) ??
    [];
  if (runner) return { ...blank, runner };
  const isThere = (await files.list()).some((projectFile) => NODE_TEST.test(projectFile));
  return isThere ? { ...blank, runner: "node", program: ["node"], args: ["--test"] } : undefined;
}

/** The command that starts the runner itself, with the options from the script. */
async function buildCommand(
  { runner, settings, program, args }: Script,
  wantedTests: Wanted,
  ctx: Ctx,
): Promise<string> {
  const { path, filter } = wantedTests;
  const keptArgs = args.filter(
    (scriptArg) => !WATCHES.test(scriptArg) && scriptArg !== "run" && !(path && isPlace(scriptArg)),
  );
  const placeArgs = path ? await placesFor(runner, path, ctx) : [];
  const named = filter ? [`${FILTER_OPTIONS[runner]}=${pattern(filter)}`] : [];
  const start = program.length ? program : findBinary(runner, ctx.root);
  const index = keptArgs.indexOf("--test") + 1; // node accepts no options after the first file
  const runnerArgs =
    runner === "vitest" ? ["run", ...named, ...keptArgs] : keptArgs.toSpliced(index, 0, ...named);
  return [...settings.map(setting), shellWords([...start, ...runnerArgs, ...placeArgs])].join(" ");
}
const FILTER_OPTIONS: Record<Runner, string> = {
  node: "--test-name-pattern",
  vitest: "--testNamePattern",
  jest: "--testNamePattern",
  mocha: "--grep",
};
const isPlace = (scriptArg: string): boolean => !scriptArg.startsWith("-") && PLACE.test(scriptArg);

/**
 * The runner's own file, since npx asks the network for what is not installed, even with
 * --no-install.
 */
function findBinary(runner: Runner, rootFolder: string): string[] {
  if (fs.existsSync(join(rootFolder, ".pnp.cjs"))) return ["yarn", runner];
  for (let searchFolder = rootFolder; ; searchFolder = dirname(searchFolder)) {
    const binaryFile = join(searchFolder, "node_modules/.bin", runner);
    if (fs.existsSync(binaryFile)) return [relative(rootFolder, binaryFile).replaceAll(sep, "/")];
    if (searchFolder === dirname(searchFolder))
      throw cannot(
        `${runner} is not installed`,
        "Install it first: npm install, or as the project does it.",
      );
  }
}

async function placesFor(
  runner: Runner,
  testPath: string,
  { root, files }: Ctx,
): Promise<string[]> {
  const isFolder = fs.statSync(join(root, testPath)).isDirectory();
  if (runner === "vitest") return [testPath];
  if (runner === "mocha") return isFolder ? ["--recursive", testPath] : [testPath];
  if (runner === "jest")
    return isFolder ? [`${literal(testPath)}/`] : ["--runTestsByPath", testPath];
  const testFiles = isFolder
    ? (await files.list(testPath)).filter((projectFile) => NODE_TEST.test(projectFile))
    : [testPath];
  if (!testFiles.length) throw cannot(`there is no test file in '${testPath}'`, "Check the path.");
  if (testFiles.length > MAX_FILES)
    throw cannot(`'${testPath}' holds ${testFiles.length} test files`, "Choose a folder in it.");
  // node reads names as globs
  return testFiles.map((testFile) => testFile.replace(/[*?[{}()!]/g, "[$&]"));
}

/** All runners take a regular expression. A text that does not match itself is taken literally. */
function pattern(filter: string): string {
  try {
    if (new RegExp(filter).test(filter.replace(/^\^|\$$/g, ""))) return filter;
  } catch {} // not a regular expression
  return literal(filter);
}
const literal = (literalText: string): string => literalText.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

const setting = (settingWord: string): string =>
  settingWord.replace(/(?<==).*/s, (value) => quoteWord(value));
const shellWords = (unquotedWords: string[]): string => unquotedWords.map(quoteWord).join(" ");
const quoteWord = (shellWord: string): string =>
  /^[\w@%+=:,./-]+$/.test(shellWord) ? shellWord : `'${shellWord.replaceAll("'", "'\\''")}'`;
