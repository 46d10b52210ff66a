// run_command: judged by what would really run, and run in a sandbox if there is one; also --judge,
// to test a policy.

import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Ctx, GitDoubt, Kind, Need, Needs, Result, Verdict, Zz } from "zz";
import { clip, keptVariables, plural, removeTree, visible, withoutValues } from "zz/text";
import { familyOf } from "./command-family.ts";
import type { View } from "./copy-on-write.ts";
import type { Judged } from "./judge/judge-line.ts";
import { sandboxService } from "./sandbox-service.ts";
import { type Config, defaults, settings } from "./shell-settings.ts";

export { defaults, settings };

const GIT_TIMEOUT_MS = 10_000; // for git to list what a repository's configuration would run

export default (zz: Zz<typeof defaults>) => {
  const decisions = new WeakMap<object, Decision>();
  const state: ShellState = {
    offers: new Map(),
    tmp: privateTmp(zz),
    veil: (text) => zz.veil(text),
    fault: () => zz.configFault,
  };
  zz.tool({
    name: "run_command",
    description:
      "Run a shell command in the project and get its output and exit code. It has no input and no terminal. " +
      "In a sandbox it can write only in the project and has no network but the hosts named.",
    params: {
      command: "string what to run, as bash reads it",
      timeout_ms: `integer? ${describeLimits(zz.config)}`,
      hosts: "string[]? hosts that it has to reach",
      direct:
        "boolean? asked for beforehand and not on a copy: for .git, servers, files outside of the project",
    },
    editable: "command",
    family: familyOf,
    get timeout() {
      return limits(zz.config).maxMs + 10_000;
    },
    needs: async (args, ctx) => {
      const { needs, ...decision } = await decideCall(args, ctx, zz.config, state);
      decisions.set(args, decision);
      return needs;
    },
    preview: async ({ command, hosts }, ctx) => {
      const box = describeSandbox(await sandboxName(zz.config, ctx), networkAccess(ctx, hosts));
      const again = state.offers.size
        ? state.offers.get(JSON.stringify([command, hosts ?? []]))
        : undefined;
      const lines = [shownAsTyped(command), ...(again ? [again] : []), box];
      return `${lines.join("\n")}${await explainQuestion(zz.config, ctx)}`;
    },
    run: (args, ctx) => runCommand(args, ctx, zz.config, state, decisions.get(args)),
    render: ({ data }) => renderRow(data as Shown),
  });

  zz.service(
    "sandbox",
    sandboxService({
      find: (ctx) => sandboxName(zz.config, ctx),
      open: openServiceSandbox,
      openReader: async (ctx, folders) =>
        (await import("./reading-sandbox.ts")).openReadingSandbox(ctx, folders),
    }),
  );
  zz.layer({
    name: "sandbox",
    slot: "turn",
    text: ({ about }) =>
      zz.config.sandbox === "off" && about.tools.some(({ name }) => name === "run_command")
        ? "Off: commands can do whatever the person can."
        : undefined,
  });
  zz.flag({
    name: "judge",
    value: "COMMAND",
    group: "what tools may do",
    description:
      "say whether a command would run without a question, and what would really run; - reads a JSON string per line",
    run: async (argument, ctx) => {
      if (argument !== "-") return explainVerdict(String(argument), ctx, zz.config, state);
      for await (const line of createInterface({ input: zz.io.stdin }))
        if (line.trim())
          zz.io.stdout.write(
            `${JSON.stringify((await explainVerdict(parseJsonString(line), ctx, zz.config, state)).data)}\n`,
          );
      return { text: "" };
    },
  });
};

/** The default time limit of a command, and the highest that a call may set. */
function limits({ seconds, maxSeconds }: Config): { ms: number; maxMs: number } {
  const [ms, maxMs] = [seconds, maxSeconds].map((limit) =>
    limit > 0 ? limit * 1_000 : Number.POSITIVE_INFINITY,
  );
  return { ms: ms!, maxMs: Math.max(ms!, maxMs!) };
}

/** The limits in words, for the model. */
function describeLimits(config: Config): string {
  const { ms, maxMs } = limits(config);
  const upperBound = Number.isFinite(maxMs) ? `, at most ${maxMs}` : "";
  return `${Number.isFinite(ms) ? ms : "no limit"} unless it says otherwise${upperBound}`;
}

/** The whole line: what feeds a command matters as much as its own words. */
const shownAsTyped = (command: string): string =>
  command
    .trim()
    .split("\n")
    .map((line, i) => `${i ? " " : "$"} ${line}`)
    .join("\n");

/** The state of the tool in one instance. */
interface ShellState {
  offers: Map<string, string>; // commands that are offered again, and why
  tmp(): Promise<string>; // the private /tmp that commands on a copy use in turn
  veil(text: string): string;
  fault(): string | undefined; // what is wrong in the settings
}

/** A private folder next to the views, so that it is swept with them if zz is killed. */
function privateTmp(zz: Zz<typeof defaults>): () => Promise<string> {
  let base: string | undefined;
  zz.defer(async () => {
    if (base !== undefined) removeTree(base);
  });
  return async () => {
    if (base === undefined || !fs.existsSync(base))
      base = (await import("./copy-on-write.ts")).makeWorkFolder(os.tmpdir(), ["tmp"]);
    return join(base, "tmp");
  };
}

async function judgeCommand(
  line: string,
  ctx: Ctx,
  { except }: Pick<Config, "except">,
): Promise<Judged> {
  const [{ judgeLine }, { secretsInGit }, { mayHoldPasswords }] = await Promise.all([
    import("./judge/judge-line.ts"),
    import("./judge/git-history.ts"),
    import("./guarded-files.ts"),
  ]);
  const { root, permissions } = ctx;
  const { rules } = permissions;
  const deniedNames = (needKind: Kind, namesIfUnnamed: string[] = []) =>
    rules.flatMap(({ verdict, kind: ruleKind, name }) => {
      if (!(isClosed(verdict, needKind) && ruleKind === needKind)) return [];
      if (name === undefined) return namesIfUnnamed;
      return [name];
    });
  const isClosed = (verdict: Verdict, needKind: Kind) =>
    verdict === "deny" || (verdict === "ask" && needKind === "read");
  const env = withVariables(allowedVariables(ctx));
  const lists = {
    find: ctx.programs.find,
    // git by another name is asked about
    repository: /git/i.test(line) ? await inspectRepository(ctx, env) : undefined,
    deny: deniedNames("run"),
    except,
    hidden: permissions.wide === undefined ? deniedNames("read", [root]) : [root],
    env,
  };
  let isMissing = false;
  const needsGit = () => void (isMissing = true);
  // Git's own settings are secret only if somebody put a password into them.
  const secret = (file: string) =>
    permissions.secret(file) &&
    (join(file) !== join(root, ".git/config") || mayHoldPasswords(root));
  const first = await judgeLine(line, root, { ...lists, fileFacts: { secret, needsGit } });
  if (!isMissing) return first;
  const fileFacts = { secret, git: await secretsInGit(ctx) };
  return judgeLine(line, root, { ...lists, fileFacts });
}

/** The repository as a git that the command starts would find it. */
function inspectRepository(
  { git, io, root, signal }: Ctx,
  command: NodeJS.ProcessEnv,
): Promise<GitDoubt> {
  const stop = AbortSignal.any([signal, io.clock.limit(GIT_TIMEOUT_MS)]);
  const silent = { why: "git gives no answer", reads: [] };
  return git.check(root, { stop, command }).catch(() => silent);
}

/** Variables that the person allowed by name; what a rule denies stays denied. */
function allowedVariables({ about: { home }, permissions }: Ctx): Record<string, string> {
  const kept = Object.entries(keptVariables(home));
  return Object.fromEntries(
    kept.filter(([name]) => permissions.judge("env", name).verdict !== "deny"),
  );
}
const withVariables = (variables: Record<string, string>): NodeJS.ProcessEnv => ({
  ...process.env,
  ...variables,
});

/** How a call may run: decided once, together with its needs, and kept until it runs. */
interface Decision {
  sandbox: string | undefined; // the sandbox's name; undefined if there is none
  strict: boolean; // only zz's own tables allow it: it may write nothing, and gets no network
  argv?: string[]; // without a sandbox: it runs unasked only without a shell
  judgement?: Judged;
  onView?: true; // on a copy-on-write view of the project: what it changed is asked for afterwards
}

/**
 * The judge alone is never enough: what runs unasked runs in the sandbox and can write nothing.
 * Without a sandbox, only plain commands run unasked; everything else is asked about, unless the
 * rules decide.
 */
async function decideCall(
  { command, hosts = [], direct = false }: { command: string; hosts?: string[]; direct?: boolean },
  ctx: Ctx,
  config: Config,
  state: ShellState,
): Promise<Decision & { needs: Needs & { unresolved?: boolean }; judgement: Judged }> {
  const wrong = state.fault();
  if (wrong) throw new Error(`Cannot run commands: the setting ${wrong}. Fix it.`);
  const [judged, sandbox] = await Promise.all([
    judgeCommand(command, ctx, config),
    sandboxName(config, ctx),
  ]);
  const { askedForDenied, askedInstead, judgeForCopy, needsOf, needsOnCopy } = await import(
    "./needs-of-command.ts"
  );
  const judge = (except: readonly string[]) =>
    judgeCommand(command, ctx, { except: [...config.except, ...except] });
  const mayOnCopy = config.effects === "ask" && sandbox && !hosts.length && !direct;
  const onCopy = mayOnCopy
    ? await judgeForCopy(command, judged, ctx, { judge, tmp: state.tmp })
    : undefined;
  if (onCopy)
    return {
      judgement: onCopy,
      needs: needsOnCopy(onCopy, ctx),
      sandbox,
      strict: true,
      onView: true,
    };
  const first = await askedInstead(judged, judge, ctx);
  const judgement = sandbox ? first : askedForDenied(first, ctx);
  const unasked = judgement.verdict === "allow";
  const chosen = judgement.simple.every(
    ({ text }) => ctx.permissions.judge("run", text).verdict === "allow",
  );
  const { plainCommand } = await import("./plain-command.ts");
  const argv =
    unasked && !sandbox ? plainCommand(command, judgement, ctx.programs.find) : undefined;
  const simple = judgement.simple.map((simpleCommand) =>
    unasked && !sandbox && !argv
      ? { ...simpleCommand, verdict: "open" as const, why: NO_SANDBOX }
      : simpleCommand,
  );
  return {
    judgement: { ...judgement, simple },
    needs: needsOf(command, { ...judgement, simple }, hosts),
    sandbox,
    strict: unasked && !chosen,
    ...(argv && { argv }),
  };
}
const NO_SANDBOX =
  "there is no sandbox here, so only plain commands that read run without a question";

/** Why no command can run on a copy, for the question; "" if one can. */
async function explainQuestion(
  { effects, sandbox }: Config,
  { permissions, programs, root, about }: Ctx,
): Promise<string> {
  if (effects !== "ask" || sandbox === "off" || permissions.wide !== undefined) return "";
  const reason = await (await import("./copy-on-write.ts")).whyNoView(programs, root, about.home);
  return reason
    ? `\nAsked before it runs, since there is no copy of the project to run it on: ${clip(reason, 200)}.`
    : "";
}

/**
 * The verdict on a line: the strictest of the judge and of the rules for everything that it needs.
 */
async function explainVerdict(
  command: string,
  ctx: Ctx,
  config: Config,
  state: ShellState,
): Promise<Result> {
  const {
    judgement,
    sandbox,
    onView,
    needs: allNeeds,
  } = await decideCall({ command }, ctx, config, state);
  const { unresolved: _, ...named } = allNeeds;
  const needs = Object.entries(named) as [Kind, Need[]][];
  const { whyNotOnCopy } = await import("./not-on-a-copy.ts");
  const beyond = onView ? undefined : whyNotOnCopy(judgement.simple);
  const answers = needs.flatMap(([needKind, list]) =>
    list.map((need, i) => {
      const name = typeof need === "string" ? need : need.name;
      const { verdict, why } = ctx.permissions.judge(needKind, need);
      if (why) return { verdict, why };
      if (needKind !== "run") return { verdict, why: `it needs ${needKind} access to '${name}'` };
      if (judgement.simple[i]?.why === NO_SANDBOX) return { verdict, why: NO_SANDBOX };
      return { verdict, why: beyond ?? `'${name}' is not on any list` };
    }),
  );
  const order: Verdict[] = ["deny", "ask", "allow"];
  const worst = order
    .map((verdict) => answers.find((answer) => answer.verdict === verdict))
    .find(Boolean);
  const { verdict, why: reason } = worst ?? judgement;
  const { runs } = judgement;
  const allowedWay = onView ? "copy" : "unasked";
  const otherWay = verdict === "ask" ? "beforehand" : "never";
  const treatment: keyof typeof WAYS = verdict === "allow" ? allowedWay : otherWay;
  const text = `${verdict}: ${WAYS[treatment]}: ${reason}\nruns: ${runs.join(", ") || "nothing"}`;
  return {
    text,
    data: { command, verdict, way: treatment, runs, reason, sandbox: sandbox !== undefined },
  };
}

/** What can happen to a command, in words. */
const WAYS = {
  unasked: "runs without a question",
  copy: "runs at once on a copy",
  beforehand: "asked for before it runs",
  never: "never runs",
} as const;

function parseJsonString(line: string): string {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "string") return value;
  } catch {}
  throw new Error(
    `Cannot judge '${line.slice(0, 60)}': it is not a JSON string. Write one a line, as in "git status".`,
  );
}

async function sandboxName(
  { sandbox }: Config,
  { programs }: Pick<Ctx, "programs">,
): Promise<string | undefined> {
  return sandbox === "off" ? undefined : (await import("./open-sandbox.ts")).findSandbox(programs);
}

function describeSandbox(sandbox: string | undefined, net: NetworkAccess, strict = false): string {
  if (!sandbox)
    return "No sandbox here (bubblewrap is missing or switched off): it can do whatever you can.";
  return `Sandbox ${sandbox}: it writes ${strict ? "nothing, since nobody was asked" : "only in the project"}; ${describeNetwork(net, strict)}.`;
}

function describeNetwork(net: NetworkAccess, strict: boolean): string {
  if (net === "all") return "all of the network";
  if (net !== "none") return `of the network ${net.join(", ")}`;
  return strict ? "no network" : "no network, unless you allow a host that it tries";
}

/** A git that runs unasked must not run anything that a repository's configuration names. */
const GIT = gitVariables({ "core.fsmonitor": "false" });
/**
 * Nor does it show more than its plain form, whatever the person's own configuration says: it stays
 * in this repository.
 */
const GIT_UNASKED = gitVariables({
  "core.fsmonitor": "false",
  "submodule.recurse": "false",
  "diff.submodule": "short",
  "status.submoduleSummary": "false",
  "grep.fallbackToNoIndex": "false",
});
function gitVariables(gitSettings: Record<string, string>): Record<string, string> {
  const pairs = Object.entries(gitSettings);
  const named = pairs.map(([key, value], i) => ({
    [`GIT_CONFIG_KEY_${i}`]: key,
    [`GIT_CONFIG_VALUE_${i}`]: value,
  }));
  return Object.assign({ GIT_OPTIONAL_LOCKS: "0", GIT_CONFIG_COUNT: `${pairs.length}` }, ...named);
}

/** Without a network, package managers need not try again and again, for up to minutes. */
const WITHOUT_RETRIES = {
  npm_config_fetch_retries: "0",
  YARN_HTTP_RETRY: "0",
  PIP_RETRIES: "0",
  UV_HTTP_RETRIES: "0",
  CARGO_NET_RETRY: "0",
  BUNDLE_RETRY: "0",
};

function checkTime(ms: number, maxMs: number): void {
  const upperBound = Number.isFinite(maxMs) ? ` to ${maxMs}` : "";
  if (ms < 1) throw new Error(`Cannot run it for ${ms} ms. Give a timeout_ms from 1${upperBound}.`);
}

/** Without a sandbox runs only what was judged so, where the settings let it. */
function checkWithoutSandbox(decision: Decision | undefined, { sandbox }: Config): void {
  if (!decision)
    throw new Error("Cannot run it: nothing was decided about this call. Call the tool again.");
  if (sandbox === "required")
    throw new Error(
      "Cannot run it: the settings require a sandbox, and there is none here. Install bubblewrap.",
    );
}

async function runCommand(
  {
    command,
    timeout_ms,
    hosts = [],
  }: { command: string; timeout_ms?: number; hosts?: string[]; direct?: boolean },
  ctx: Ctx,
  config: Config,
  state: ShellState,
  decision?: Decision,
): Promise<Result> {
  if (!command.trim()) throw new Error("Cannot run '': there is no command. Give one.");
  const { ms, maxMs } = limits(config);
  if (timeout_ms !== undefined) checkTime(timeout_ms, maxMs);
  const { runJob } = await import("./run-process.ts");
  const decided: Decision = decision ?? { sandbox: await sandboxName(config, ctx), strict: true };
  const { sandbox: name, strict, argv, onView } = decided;
  if (!name) checkWithoutSandbox(decision, config);
  const net = strict ? "none" : networkAccess(ctx, hosts);
  const allowed = allowedVariables(ctx);
  const variables = await environmentFor(strict || argv !== undefined, allowed, ctx);
  const env = {
    ...(strict || argv ? GIT_UNASKED : GIT),
    ...(name && net === "none" && WITHOUT_RETRIES),
    ...variables,
  };
  const view = onView && (await import("./copy-on-write.ts")).openView(ctx.programs, ctx.root);
  let sandbox: Awaited<ReturnType<typeof openSandboxForCall>> | undefined;
  try {
    const simple = strict ? [] : (decided.judgement?.simple ?? []);
    const lost = simple.length
      ? await (await import("./git-undo.ts")).filesBefore(simple, ctx)
      : undefined;
    sandbox = name ? await openSandboxForCall(ctx, net, strict, view, state) : undefined;
    const outcome = await runJob({
      programs: ctx.programs,
      clock: ctx.io.clock,
      command,
      cwd: ctx.root,
      env: strict ? ctx.git.env(env) : env,
      timeoutMs: Math.min(timeout_ms ?? ms, maxMs),
      maxTimeoutMs: maxMs,
      signal: ctx.signal,
      ...(sandbox && { sandbox }),
      ...(argv && { argv }),
      caps: { upper: config.maxCopyMB * 2 ** 20 },
      onTail: (lines) => ctx.progress(withoutValues(lines, allowed)),
      veil: (text) => withoutValues(state.veil(text), allowed),
      keepIn: join(ctx.about.home, "outputs"),
    });
    const { exit, signal, timedOut, file, aborted } = outcome;
    const undoable = (await lost?.()) ?? "";
    const [text, stdout, stderr] = [outcome.text, outcome.stdout, outcome.stderr].map(
      // also from zz's own notes, such as the name of a host that was refused
      (output) => withoutValues(output, allowed),
    );
    if (file) ctx.permissions.add({ verdict: "allow", kind: "read", name: file, from: "answer" });
    const unwanted =
      sandbox && !view
        ? await (await import("./unreadable-files.ts")).unwantedFiles(ctx, sandbox)
        : [];
    const failed = exit !== 0 || unwanted.length > 0;
    const unwantedNote = unwanted
      .map(
        (unwantedFile) =>
          `\n[It made '${visible(unwantedFile)}', which the rules forbid. Look at it.]`,
      )
      .join("");
    const data = { exit, signal, timedOut, stdout, stderr, file };
    const isStopped = timedOut === true || aborted === true || exit === null;
    const again = failed && sandbox && net !== "all" && !isStopped ? await runAgain(text) : "";
    if (typeof again !== "string") return again;
    if (view) {
      const { keepChanges } = await import("./keep-changes.ts");
      const { unkept, ...kept } = await keepChanges(view, ctx, {
        line: shownAsTyped(command),
        failed,
        isStopped,
      });
      const fullText = text + kept.text + (again && `\n[${again}]`);
      return { ...kept, text: fullText, data: { ...data, ...(unkept && { unkept }) } };
    }
    const sandboxNote = failed && name ? `\n[${describeSandbox(name, net, strict)}]` : "";
    const notes = [undoable, again].map((note) => note && `\n[${note}]`).join("");
    return { text: text + sandboxNote + unwantedNote + notes, data, failed };
  } finally {
    sandbox?.close();
    view?.close();
  }

  async function runAgain(output = ""): Promise<Result | string> {
    const {
      findMissingAccess,
      describeLookups: lookupWords,
      offerRerun,
    } = await import("./offer-rerun.ts");
    const lookups = (sandbox?.lookups?.() ?? []).filter(
      (host) => ctx.permissions.judge("net", host).verdict !== "deny",
    );
    const lack = findMissingAccess(command, output, ctx.root, lookups);
    const call = { command, hosts, ...(timeout_ms !== undefined && { timeout_ms }) };
    if (view)
      return lack ? offerRerun(lack, call, ctx, state.offers, "copy") : lookupWords(lookups);
    const others =
      lack && "hosts" in lack
        ? lack.hosts.filter((host) => net === "none" || !net.includes(host))
        : [];
    return others.length ? offerRerun({ hosts: others }, call, ctx, state.offers, "sandbox") : "";
  }
}

/** Of the person's variables, those that a command gets. */
async function environmentFor(
  isUnasked: boolean,
  allowed: Record<string, string>,
  { permissions }: Ctx,
) {
  const { cleanEnv, neededEnv } = await import("./command-variables.ts");
  const mayHave = (name: string) =>
    Object.hasOwn(allowed, name) || permissions.judge("env", name).verdict === "allow";
  return (isUnasked ? neededEnv : cleanEnv)(withVariables(allowed), mayHave);
}

type Shown = { exit: number | null; stdout: string; stderr: string; unkept?: string };
function renderRow({ exit, stdout, stderr, unkept }: Shown): string {
  const shown = [stdout, stderr].join("\n");
  const omittedLines = [...shown.matchAll(/^\[… (\d+) lines?, /gm)].reduce(
    (sum, [, count]) => sum + Number(count) - 2,
    0,
  );
  const lines = shown.split("\n").filter((line) => line.trim()).length + omittedLines;
  const exitWords = exit ? `exit ${exit}` : "";
  const end = exit === null ? "killed" : exitWords;
  return [end, lines ? plural(lines, "line") : "no output", unkept].filter(Boolean).join(" · ");
}

/** Opens a sandbox that allows what the rules allow, and hides what must not be read. */
async function openSandboxForCall(
  ctx: Ctx,
  net: NetworkAccess,
  readonly: boolean,
  view: View | undefined,
  state: ShellState,
) {
  const { openSandbox } = await import("./open-sandbox.ts");
  const write = ctx.permissions.rules.flatMap(({ verdict, kind, name }) =>
    verdict === "allow" && kind === "write" && name ? [ctx.permissions.place(name)] : [],
  );
  const { findUnreadableFiles } = await import("./unreadable-files.ts");
  const closed = await findUnreadableFiles(ctx, view !== undefined);
  const visibility = view
    ? { ...(await hiddenOnCopy(ctx, view, closed.hide)), tmp: await state.tmp() }
    : await hiddenHome(ctx, closed.hide);
  return {
    keep: closed.keep,
    absent: closed.absent,
    ...(await openSandbox({
      programs: ctx.programs,
      root: ctx.root,
      write,
      ...closed,
      net,
      readonly,
      ...visibility,
    })),
  };
}

/** What commands that were asked for do not see of the home. */
async function hiddenHome({ permissions, root }: Ctx, closed: string[]) {
  const { hideHomeExceptNeeded: homeBut } = await import("./toolchains.ts");
  const allowed = permissions.rules.flatMap(({ verdict, kind, name }) =>
    verdict === "allow" && /^(read|write)$/.test(kind) && name ? [permissions.place(name)] : [],
  );
  const { hide, show } = homeBut(root, allowed, permissions.secret);
  return { hide: [...closed, ...hide], show };
}

/**
 * Opens a sandbox for a program that keeps running. Nothing is restored, since others may change
 * the project, too.
 */
async function openServiceSandbox(
  ctx: Ctx,
  { hosts, write, readonly }: { hosts: string[]; write: string[]; readonly: boolean },
) {
  const [{ openSandbox }, { findUnreadableFiles }] = await Promise.all([
    import("./open-sandbox.ts"),
    import("./unreadable-files.ts"),
  ]);
  const isDenied = ctx.permissions.rules.some(
    ({ verdict, kind }) => verdict === "deny" && kind === "net",
  );
  const net = hosts.includes("*") && !isDenied ? "all" : networkAccess(ctx, hosts);
  const { programs, root } = ctx;
  return openSandbox({
    programs,
    root,
    write,
    ...(await findUnreadableFiles(ctx)),
    net,
    readonly,
    service: true,
  });
}

/**
 * What commands on a view, which run unreviewed, cannot see: all but the project, the system and
 * PATH's programs.
 */
async function hiddenOnCopy(ctx: Ctx, view: View, hide: string[]) {
  const [{ outsidePaths: outsideOf }, { toolchains }, { secretsInGit }] = await Promise.all([
    import("./copy-on-write.ts"),
    import("./toolchains.ts"),
    import("./judge/git-history.ts"),
  ]);
  const { index, history } = await secretsInGit(ctx);
  const isDenied = ctx.permissions.rules.some(
    ({ verdict, kind }) => verdict !== "allow" && kind === "read",
  );
  const { mayHoldPasswords, repositoryPaths: repository } = await import("./guarded-files.ts");
  const git =
    index || history || isDenied || mayHoldPasswords(ctx.root)
      ? [join(ctx.root, ".git"), ...repository(ctx.root).write]
      : [];
  const outside = outsideOf(ctx.root);
  const programs = toolchains(ctx.root, [...outside, ...hide], ctx.permissions.secret);
  return {
    view,
    hide: [...hide, ...git, ...outside, view.workFolder, ...programs.hide],
    show: programs.show,
  };
}

type NetworkAccess = "none" | "all" | string[];

/**
 * The hosts that the rules allow, and those granted to this call by name. A pattern that might
 * match a denied host is left out.
 */
function networkAccess({ permissions }: Ctx, granted: string[] = []): NetworkAccess {
  const rules = permissions.rules.filter(({ kind }) => kind === "net");
  const named = (verdict: Verdict) =>
    rules.flatMap((rule) => (rule.verdict === verdict && !rule.but ? [rule.name] : []));
  const [denied, asked, allowed] = [named("deny"), named("ask"), named("allow")];
  const isLimited = rules.some(({ but }) => but);
  if (denied.includes(undefined)) return "none";
  if (allowed.includes(undefined) && !denied.length && !asked.length && !isLimited) return "all";
  const covers = (names: typeof denied, host: string) =>
    (/[*?]/.test(host) && names.length > 0) ||
    names.some((pattern) => pattern === undefined || permissions.matches("net", pattern)(host));
  const isShut = (host: string) => isLimited && permissions.judge("net", host).verdict === "deny";
  const open = allowed.filter((name) => name !== undefined).filter((name) => !covers(asked, name));
  const hosts = [...open, ...granted].filter((host) => !covers(denied, host) && !isShut(host));
  return hosts.length ? hosts.map((host) => host.replace(/:\*+$/, "")) : "none";
}
