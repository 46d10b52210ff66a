// /env, set_env, delete_env: variables for commands. The model knows only their names, and names
// replace values in everything it is sent. They are kept in env.json of the home, { "NAME": "value"
// }, which every plugin that runs commands reads.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Message, Needs, Result, Zz } from "zz";
import {
  codeOf,
  compare,
  errnoSentence,
  keptVariables,
  MIN_VALUE_CHARS,
  partsOf,
  stampOf,
  tryTo,
  usage,
  whoReads,
  withoutValues,
} from "zz/text";

type Variables = ReadonlyMap<string, string>;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NAME_RULE = "a name is made of letters, digits and _, and begins with no digit";
const MAX_VALUE_CHARS = 100_000; // a system's limit is 128 KB
const MAX_SHOWN_CHARS = 2_000; // of a value that the model sets: the question shows all of it
const MIN_SECRET_LINE_CHARS = 16; // the same for one line of a multi-line value
const NO_TIMEOUT = 2 ** 31 - 1; // ms; the person takes their time

/** These decide what runs, or how it reads its input: only the person sets them. */
const STEERING = [
  /^([A-Z0-9]*PATH|HOME|PWD|OLDPWD|SHELL|ENV|IFS|TMPDIR|TMP|TEMP|USER|LOGNAME|PS\d)$/i,
  /^(ZDOTDIR|INPUTRC|TERM|TERMINFO|TERMCAP|EXECIGNORE|FUNCNEST|GLOBIGNORE|SHELLOPTS|BASHOPTS)$/i,
  /^(POSIXLY_CORRECT|TEXTDOMAIN\w*|COMSPEC|PATHEXT|SYSTEMROOT|WINDIR|VIMINIT|EXINIT|PHPRC)$/i,
  /(PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|OPTIONS|OPTS|FLAGS|PRELOAD|PROXY)$/i,
  /(_COMMAND|_WRAPPER|_RUNNER|_SHELL|_LINKER)$/i,
  /^(LD|DYLD|GIT|SSH|SUDO|BASH|ZSH|NODE|NPM|PNPM|YARN|COREPACK|BUN|DENO|PIP|UV|CONDA|GEM)_/i,
  /^(BUNDLE|JAVA|JDK|MAVEN|GRADLE|CARGO|RUSTC|RUSTUP|CGO|CMAKE|MAKE|OPENSSL|SSL|CURL|DOCKER)_/i,
  /^(XDG|MALLOC|GLIBC|GCONV|LUA|PHP|JULIA|ERL|ELECTRON|RIPGREP|LESS|VIM|ZZ)_/i,
  /^(PYTHON|PERL|RUBY|LUA_?INIT)\w*$/i,
  /^(CC|CXX|CPP|LD|AR|AS|NM|MAKE|MAKEFILES|RUSTC|RUSTDOC|LESS(OPEN|CLOSE)?)$/i,
  /^(GO(BIN|ENV|PROXY|ROOT|TOOLCHAIN|TOOLDIR)|WGETRC|NETRC|KUBECONFIG|HOSTALIASES)$/i,
  /^(REQUESTS_CA_BUNDLE|AWS_(SHARED_CREDENTIALS|CONFIG)_FILE)$/i,
];
const HARMLESS = /^NODE_ENV$/;
const steers = (name: string): boolean =>
  !HARMLESS.test(name) && STEERING.some((pattern) => pattern.test(name));

/**
 * Words, and addresses without a password or a query: files are full of them, and they are not
 * secret.
 */
const PLAIN_VALUE = /^[A-Za-z]+$|^https?:\/\/[^@?#\s]+$/;

const VERB_HELP = {
  set: "keep a variable for commands; without a value it is asked for, unseen",
  unset: "forget one",
  list: "their names, and where they come from",
};

export default (zz: Zz) => {
  const kept = variablesReader(zz);
  zz.layer({
    name: "env",
    slot: "turn", // what commands have may change from turn to turn
    text: (ctx) => {
      const names = [...kept(ctx).all.keys()].filter(
        (name) => ctx.permissions.judge("env", name).verdict !== "deny",
      );
      return names.length ? `Variables that commands have: ${names.sort().join(", ")}.` : undefined;
    },
  });
  zz.command({
    name: "env",
    usage: "[set NAME [VALUE] | unset NAME | list]",
    description: "variables for commands; the model is told only their names",
    examples: {
      "/env set GH_TOKEN": "enter a value, unseen",
      "/env set STAGE test": "set a plain value",
      "/env unset GH_TOKEN": "forget it",
      "/env list": "list their names",
    },
    group: "settings",
    complete,
    async run(typedWords, ctx) {
      await runCommand(typedWords, ctx);
      tryTo(() => kept(ctx)); // the new value is a secret from now on
    },
  });
  // Handles a pasted value of several lines here, since the prompt would send it as a message.
  zz.wrap(
    "line",
    async (line, next, ctx) => {
      const [, typed] = /^\s*\/env\s+(set\s[^\n]*\n.*)$/s.exec(line) ?? [];
      if (typed === undefined || !ctx.terminal) return next(line);
      await runCommand(typed.trim(), ctx);
      return "";
    },
    { order: "first", limit: NO_TIMEOUT },
  );
  addTools(zz);
  hideValues(zz, kept);
};

function addTools(zz: Zz): void {
  zz.tool({
    name: "set_env",
    kind: "change",
    description:
      "Keep an environment variable for commands, from now on and in every project. " +
      "Values of others are never shown to you.",
    aliases: ["self_set_env"],
    also: { name: ["key", "variable"] },
    params: { name: "string letters, digits and _", value: "string what commands get" },
    needs: ({ name, value }) => {
      checkSet(name, value);
      return asks(`set ${name}`);
    },
    preview: ({ name, value }) => `${name}=${value}`,
    run: ({ name, value }, ctx) => {
      keep(name, value, ctx);
      return `${name} is set; commands have it from now on.`;
    },
  });
  zz.tool({
    name: "delete_env",
    kind: "change",
    description: "Forget an environment variable that was kept for commands.",
    aliases: ["self_delete_env", "unset_env"],
    also: { name: ["key", "variable"] },
    params: { name: "string the variable" },
    needs: ({ name }, ctx) => {
      if (steers(name)) throw refuse("delete", name, ONLY_PERSON);
      if (!read(fileOf(ctx)).has(name)) throw refuse("delete", name, NOT_KEPT);
      return asks(`delete ${name}`);
    },
    run: ({ name }, ctx) => {
      keep(name, undefined, ctx);
      return `${name} is deleted; commands no longer have it.`;
    },
  });
}

/** Hides values in the results of tools, and in everything that is sent to the model. */
function hideValues(zz: Zz, kept: (ctx: Ctx) => Kept): void {
  zz.wrap(
    "call",
    async (toolCall, next, ctx) => {
      const { name, args } = toolCall;
      const before = tryTo(() => kept(ctx));
      const hiddenVariable = before && placeholderIn(args, before.all);
      if (hiddenVariable) return { text: cannotUse(name, hiddenVariable), failed: true };
      const result = await next(toolCall);
      // the call may have set one
      const { all, pattern, hide } = tryTo(() => kept(ctx)) ?? before ?? NOTHING;
      if (isPrinted(args, ctx))
        return changed(result, (resultText) => withoutValues(resultText, Object.fromEntries(all)));
      return pattern ? changed(result, hide) : result;
    },
    "first", // so that nothing that handles the result later sees a value
  );
  // Values also arrive in other ways: in a file that is mentioned or pinned, in rules, in what the
  // person types.
  zz.wrap("request", async (request, next, ctx) => {
    const { pattern, hide } = tryTo(() => kept(ctx)) ?? NOTHING;
    if (!pattern) return next(request);
    const hideNews = (layerNews: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(layerNews).map(([layerName, layerText]) => [layerName, hide(layerText)]),
      );
    const messages = request.messages.map((message): Message => {
      if (message.role === "assistant") return message;
      const text = hide(message.text);
      return message.role === "user" && message.news
        ? { ...message, text, news: hideNews(message.news) }
        : { ...message, text };
    });
    return next({ ...request, system: hide(request.system), messages });
  });
}

// ── storage ──

const fileOf = ({ about }: Ctx): string => path.join(about.home, "env.json");

const read = (envFile: string): Map<string, string> =>
  new Map(Object.entries(keptVariables(path.dirname(envFile))));

interface Kept {
  all: Variables;
  pattern: RegExp | undefined; // any of the values
  hide(plainText: string): string;
}
const NOTHING: Kept = { all: new Map(), pattern: undefined, hide: (plainText) => plainText };

/**
 * Reads the file again only when it has changed, since every turn and every call needs the
 * variables.
 */
function variablesReader(zz: Zz): (ctx: Ctx) => Kept {
  let envFile: string | undefined;
  let [lastStamp, lastKept] = ["", NOTHING];
  return (ctx) => {
    envFile ??= fileOf(ctx);
    const newStamp = stampOf(envFile);
    if (newStamp !== lastStamp) lastKept = newStamp ? buildKept(read(envFile), zz) : NOTHING;
    lastStamp = newStamp;
    return lastKept;
  };
}

function buildKept(variables: Variables, zz: Zz): Kept {
  // for everything that is printed and saved
  for (const [name, value] of variables) zz.secret(value, placeholder(name));
  const names = new Map<string, string>();
  for (const [name, value] of variables)
    for (const secretPart of secretsIn(value).flatMap(partsOf)) names.set(secretPart, name);
  const longest = [...names.keys()].sort((first, second) => second.length - first.length);
  const pattern = longest.length ? new RegExp(longest.map(literal).join("|"), "g") : undefined;
  return {
    all: variables,
    pattern,
    hide: (text) =>
      pattern ? text.replace(pattern, (secret) => placeholder(names.get(secret)!)) : text,
  };
}
const placeholder = (name: string): string => `[value of ${name}]`;
const literal = (rawText: string): string => rawText.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** Whether a call reads the kept output of a command, in which even a plain word may be a value. */
function isPrinted(args: unknown, { about: { home } }: Ctx): boolean {
  return (JSON.stringify(args) ?? "").includes(
    JSON.stringify(path.join(home, "outputs")).slice(1, -1),
  );
}

/**
 * The texts to hide: a whole value, and each of its long lines, since a tool may number lines. An
 * existing path is not secret. The tool that runs a command hides all values in its output, plain
 * ones too.
 */
function secretsIn(value: string): string[] {
  if (
    value.length < MIN_VALUE_CHARS ||
    PLAIN_VALUE.test(value) ||
    (path.isAbsolute(value) && fs.existsSync(value))
  )
    return [];
  return [
    value,
    ...value.split(/\r?\n/).filter((valueLine) => valueLine.length >= MIN_SECRET_LINE_CHARS),
  ];
}

function changed(result: Result, hide: (plainText: string) => string): Result {
  return {
    ...result,
    text: hide(result.text),
    ...(result.data !== undefined && { data: within(result.data) }),
  };

  function within(data: unknown): unknown {
    if (typeof data === "string") return hide(data);
    if (Array.isArray(data)) return data.map(within);
    if (!data || typeof data !== "object" || Object.getPrototypeOf(data) !== Object.prototype)
      return data;
    return Object.fromEntries(
      Object.entries(data).map(([childKey, child]) => [childKey, within(child)]),
    );
  }
}

/**
 * The variable whose `[value of NAME]` is in a call: a file or a command would get that text
 * instead of the value.
 */
function placeholderIn(args: unknown, variables: Variables): string | undefined {
  if (!variables.size) return undefined;
  const callText = JSON.stringify(args) ?? "";
  return callText.includes("[value of ")
    ? [...variables.keys()].find((name) => callText.includes(placeholder(name)))
    : undefined;
}
const cannotUse = (toolName: string, name: string): string =>
  `Cannot call '${toolName}': '${placeholder(name)}' stands for a text that you are not shown. ` +
  `In a command write $${name}; in an edit leave that part as it is.`;

/** Writes all or nothing; variables that another zz sets meanwhile stay. */
function keep(name: string, newValue: string | undefined, ctx: Ctx): void {
  const envFile = fileOf(ctx);
  try {
    ctx.keep("env.json", () => {
      const variables = read(envFile);
      if (newValue === undefined && !variables.delete(name)) throw refuse("delete", name, NOT_KEPT);
      if (newValue !== undefined) variables.set(name, newValue);
      const sorted = [...variables].sort(([firstName], [two]) => compare(firstName, two));
      return JSON.stringify(Object.fromEntries(sorted), null, 2);
    });
  } catch (error) {
    const code = codeOf(error);
    const reason = NEXT_STEPS[code] || errnoSentence(error) || `${(error as Error).message}.`;
    throw code ? new Error(`Cannot write '${envFile}': ${reason}`) : error;
  }
}

/** Next steps if env.json cannot be written. */
const NEXT_STEPS: Record<string, string> = {
  EROFS: "the file system is read-only. --home names another place.",
  EISDIR: "it is a folder. Move it away.",
};

// ── tools ──

const ONLY_PERSON = "it changes how programs run, so that only the person does that, by /env";
const NOT_KEPT = "it is not kept. /env list shows what is";
const refuse = (verb: string, name: string, reason: string): Error =>
  new Error(`Cannot ${verb} '${name}': ${reason}.`);

/**
 * The need to set or delete a variable. A rule that lets commands see a variable must not let the
 * model set it, so the need has more than the variable's name.
 */
const asks = (actionName: string): Needs => ({
  env: [{ name: actionName, verdict: "ask", why: ASKING_REASON }],
});
const ASKING_REASON = "it holds for every command from now on, in every project";

function checkSet(name: string, newValue: string): void {
  if (!NAME.test(name)) throw refuse("set", name, NAME_RULE);
  if (steers(name)) throw refuse("set", name, ONLY_PERSON);
  if (newValue.length > MAX_SHOWN_CHARS)
    throw refuse(
      "set",
      name,
      `${newValue.length} characters are too many to be shown (${MAX_SHOWN_CHARS}). Shorten it`,
    );
  const [invisible] = /(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/u.exec(newValue) ?? [];
  if (invisible === undefined) return;
  const codePoint = invisible.codePointAt(0)!.toString(16).padStart(4, "0");
  throw refuse(
    "set",
    name,
    `its value holds U+${codePoint}, which nobody can be shown. Leave it out`,
  );
}

// ── commands ──

async function runCommand(typedWords: string, ctx: Ctx): Promise<void> {
  const [, verb = "", argument = ""] = /^(\S*)\s*(.*)$/s.exec(typedWords) ?? [];
  if (verb === "set") return set(argument, ctx);
  if (verb === "unset" && argument) return unset(argument.trim(), ctx);
  if (!verb || verb === "list") return ctx.note(list(ctx));
  throw usage(
    `Cannot run '/env ${verb}': use /env set NAME [VALUE], /env unset NAME or /env list.`,
  );
}

/** Sets a variable. The value is the rest of the line, verbatim. */
async function set(assignment: string, ctx: Ctx): Promise<void> {
  const [, name = "", typed = ""] = /^([^\s=]*)[\s=]?(.*)$/s.exec(assignment) ?? [];
  if (!NAME.test(name)) throw usage(`Cannot set '${name}': ${NAME_RULE}.`);
  if (/\[paste \d+: \d+ (lines|characters)\]/.test(typed))
    throw usage(
      `Cannot set '${name}': of a paste that long only its size stands in the line. ` +
        `/env set ${name} asks for it.`,
    );
  const value = typed.trim() || (await askHidden(name, ctx));
  if (!value) return ctx.note("Nothing was changed.");
  if (value.includes("\0") || value.length > MAX_VALUE_CHARS)
    throw usage(
      `Cannot set '${name}': a value holds no NUL, and at most ${MAX_VALUE_CHARS} characters.`,
    );
  keep(name, value, ctx);
  const envFile = fileOf(ctx);
  ctx.note(`${name} is kept in ${envFile}, ${whoReads(envFile)}; commands have it from now on.`);
  if (steers(name))
    ctx.note(
      "It changes how programs run, all that commands start. What bash reads a line by, " +
        "such as IFS and BASH_ENV, is left out where the model's commands run.",
    );
}

function unset(name: string, ctx: Ctx): void {
  if (!read(fileOf(ctx)).has(name)) throw usage(`Cannot unset '${name}': ${NOT_KEPT}.`);
  keep(name, undefined, ctx);
  const startNote =
    process.env[name] === undefined ? "" : "; commands have what zz was started with";
  ctx.note(`${name} is forgotten${startNote}.`);
}

/** Lists the names of variables, never their values. */
function list(ctx: Ctx): string {
  const envFile = fileOf(ctx);
  const rows = [...read(envFile).keys()].map((name): [string, string] => {
    const isDenied = ctx.permissions.judge("env", name).verdict === "deny";
    const over = process.env[name] === undefined ? "" : ", instead of what zz was started with";
    return [
      name,
      `kept in ${envFile}${over}${isDenied ? "; denied, so the model's commands go without" : ""}`,
    ];
  });
  for (const { kind, verdict, name = "" } of ctx.permissions.rules)
    if (
      kind === "env" &&
      verdict === "allow" &&
      name in process.env &&
      !rows.some(([rowName]) => rowName === name)
    )
      rows.push([name, "zz was started with it, and commands may see it"]);
  if (!rows.length) return `No variables are kept for commands. /env set NAME enters one.`;
  const nameWidth = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, origin]) => `${name.padEnd(nameWidth)}  ${origin}`).join("\n");
}

function complete(typedWords: string, ctx: Ctx): Choice[] {
  const [, verb = "", name] = /^(\S*)(?:\s+(.*))?$/s.exec(typedWords) ?? [];
  if (name === undefined)
    return Object.entries(VERB_HELP).flatMap(([word, description]) =>
      word.startsWith(verb) ? [{ name: word === "list" ? word : `${word} `, description }] : [],
    );
  const keptNames =
    verb === "set" || verb === "unset"
      ? [...(tryTo(() => read(fileOf(ctx))) ?? new Map()).keys()]
      : [];
  return keptNames
    .filter((candidate) => candidate.startsWith(name))
    .map((candidate) => ({ name: `${verb} ${candidate}` }));
}

/**
 * Asks for a value without showing it. Returns undefined or an empty text if the person left the
 * question.
 */
async function askHidden(name: string, ctx: Ctx): Promise<string | undefined> {
  if (!ctx.ask)
    throw usage(
      `Cannot ask for '${name}': there is no terminal to ask on. Give it: /env set ${name} VALUE.`,
    );
  return (await ctx.ask(`Value of ${name}:`, { secret: true })).trim();
}
