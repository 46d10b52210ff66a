// run_command: judged by what would really run, run in a sandbox where there is one; and --judge, to test a policy.
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Ctx, Kind, Need, Needs, Result, Verdict, Zz } from "zz";
import type { Judged } from "./judge.ts";
import { type Variables, variables, veiled } from "./variables.ts";

export const defaults = {
  sandbox: "auto" as "auto" | "required" | "off",
  except: [] as string[], // entries of the deny list that ask instead
};
type Config = Readonly<typeof defaults>;

const [LIMIT, LONGEST] = [120_000, 600_000];

export default (zz: Zz<typeof defaults>) => {
  checkSettings(zz.config);
  zz.tool({
    name: "run_command",
    description:
      "Run a shell command in the project and get its output and exit code. It has no input and no terminal. " +
      "In a sandbox it can write only in the project and has no network but the hosts named.",
    aliases: ["runCommand", "run_bash", "runBash", "bash", "shell", "exec", "execute_command", "run_terminal_cmd"],
    also: { command: ["cmd", "script", "code"], timeout_ms: ["timeout"], hosts: ["net", "network"] },
    params: {
      command: "string what to run, as bash reads it",
      timeout_ms: "integer? 120000 unless it says otherwise, at most 600000",
      hosts: "string[]? hosts that it has to reach",
    },
    timeout: LONGEST + 10_000,
    needs: async ({ command, hosts = [] }, ctx) => needsOf(command, await judged(command, ctx, zz.config), hosts),
    preview: async ({ command, hosts }, ctx) =>
      `${shown(command)}\n${sandboxLine(await sandboxName(zz.config), netOf(ctx, hosts))}`,
    run: (args, ctx) => run(args, ctx, zz.config),
  });

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
    description: "say whether a command would run unasked, and what would really run; '-' judges a JSON string a line",
    run: async (given, ctx) => {
      if (given !== "-") return verdictOf(String(given), ctx, zz.config);
      for await (const line of createInterface({ input: process.stdin }))
        if (line.trim())
          process.stdout.write(`${JSON.stringify((await verdictOf(commandIn(line), ctx, zz.config)).data)}\n`);
      return { text: "" };
    },
  });
};

/** A setting that is misspelt would leave a person without the protection that they asked for. */
function checkSettings(config: object): void {
  const refuse = (why: string) => new Error(`its settings cannot be used: ${why}.`);
  const { sandbox, except, ...others } = config as Record<string, unknown>;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw refuse(
      `there is no "${other}". There are: sandbox, except; allowed and denied commands go into "permissions"`,
    );
  if (!["auto", "required", "off"].includes(String(sandbox)))
    throw refuse(`"sandbox" is ${JSON.stringify(sandbox)}. It is "auto", "required" or "off"`);
  if (!Array.isArray(except) || except.some((entry) => typeof entry !== "string"))
    throw refuse(`"except" must be a list of texts, such as ["chmod"]`);
}

/** All of it: what feeds a command, and what stands around it, counts as much as its own words. */
const shown = (command: string): string =>
  command
    .trim()
    .split("\n")
    .map((line, i) => `${i ? " " : "$"} ${line}`)
    .join("\n");

async function judged(command: string, ctx: Ctx, { except }: Config): Promise<Judged> {
  const { judgeLine } = await import("./judge.ts");
  const { root, permissions } = ctx;
  const { rules } = permissions;
  const denied = (kind: Kind) =>
    rules.flatMap((rule) => (rule.verdict === "deny" && rule.kind === kind && rule.name ? [rule.name] : []));
  return judgeLine(command, root, {
    allow: [],
    deny: denied("run"),
    except,
    hidden: denied("read"),
    env: envOf(own(ctx)),
  });
}

/** The person gave these to commands on purpose, whatever they are called; what a rule denies stays denied. */
function own({ about: { home }, permissions }: Ctx): Variables {
  const kept = Object.entries(variables(home));
  return Object.fromEntries(kept.filter(([name]) => permissions.judge("env", name).verdict !== "deny"));
}
const envOf = (own: Variables): NodeJS.ProcessEnv => ({ ...process.env, ...own });

/** What a command does that cannot be told from its words hangs on the rest of the line: that is asked for, and allowed, as a whole. */
function needsOf(command: string, { simple, reads, writes }: Judged, hosts: string[]): Needs {
  const run = simple.map(({ text, verdict, why }): Need => {
    if (verdict === "open") return text;
    return { name: verdict === "ask" ? command.trim() : text, verdict, why };
  });
  return {
    run,
    ...(reads.length && { read: reads }),
    ...(writes.length && { write: writes }),
    ...(hosts.length && { net: hosts }),
  };
}

/** By the judge and by the rules in force: the weakest of all that the line needs. */
async function verdictOf(command: string, ctx: Ctx, config: Config): Promise<Result> {
  const judgement = await judged(command, ctx, config);
  const needs = Object.entries(needsOf(command, judgement, [])) as [Kind, Need[]][];
  const all = needs.flatMap(([kind, list]) =>
    list.map((need) => {
      const name = typeof need === "string" ? need : need.name;
      const { verdict, why } = ctx.permissions.judge(kind, need);
      return {
        verdict,
        why: why || (kind === "run" ? `'${name}' is on no list` : `it needs ${kind} access to '${name}'`),
      };
    }),
  );
  const order: Verdict[] = ["deny", "ask", "allow"];
  const worst = order.map((verdict) => all.find((one) => one.verdict === verdict)).find(Boolean);
  const { verdict, why: reason } = worst ?? judgement;
  const { runs } = judgement;
  const text = `${verdict}: ${reason}\nruns: ${runs.join(", ") || "nothing"}`;
  return { text, data: { command, verdict, runs, reason } };
}

function commandIn(line: string): string {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "string") return value;
  } catch {}
  throw new Error(
    `Cannot judge '${line.slice(0, 60)}': it is not a JSON string. Write one a line, as in "git status".`,
  );
}

async function sandboxName({ sandbox }: Config): Promise<string | undefined> {
  return sandbox === "off" ? undefined : (await import("./sandbox.ts")).findSandbox();
}

function sandboxLine(sandbox: string | undefined, net: Net): string {
  if (!sandbox) return "No sandbox here (bubblewrap is missing or switched off): it can do whatever you can.";
  const reach =
    net === "all" ? "all of the network" : net === "none" ? "no network" : `of the network ${net.join(", ")}`;
  return `Sandbox ${sandbox}: it writes only in the project; ${reach}.`;
}

/** A git status that runs unasked must not run what a repository's configuration names. */
const GIT = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "core.fsmonitor", GIT_CONFIG_VALUE_0: "false" };

async function run(
  { command, timeout_ms = LIMIT, hosts = [] }: { command: string; timeout_ms?: number; hosts?: string[] },
  ctx: Ctx,
  config: Config,
): Promise<Result> {
  if (!command.trim()) throw new Error("Cannot run '': there is no command. Give one.");
  if (timeout_ms < 1) throw new Error(`Cannot run it for ${timeout_ms} ms. Give a timeout_ms from 1 to ${LONGEST}.`);
  const { cleanEnv, runJob } = await import("./exec.ts");
  const name = await sandboxName(config);
  if (!name && config.sandbox === "required")
    throw new Error("Cannot run it: the settings require a sandbox, and there is none here. Install bubblewrap.");
  const net = netOf(ctx, hosts);
  const given = own(ctx);
  const mayHave = (variable: string) =>
    Object.hasOwn(given, variable) || ctx.permissions.judge("env", variable).verdict === "allow";
  const sandbox = name ? await openedSandbox(ctx, net) : undefined;
  try {
    const outcome = await runJob({
      command,
      cwd: ctx.root,
      env: { ...GIT, ...cleanEnv(envOf(given), mayHave) },
      timeoutMs: Math.min(timeout_ms, LONGEST),
      signal: ctx.signal,
      ...(sandbox && { sandbox }),
      onTail: (line) => ctx.progress(veiled(line, given)),
      keepIn: await outputsFolder(),
    });
    const { exit, signal, timedOut, file } = outcome;
    const [text, stdout, stderr] = [outcome.text, outcome.stdout, outcome.stderr].map((one) => veiled(one, given));
    if (file) ctx.permissions.add({ verdict: "allow", kind: "read", name: file, from: "answer" });
    const failed = exit !== 0;
    const limits = failed && name ? `\n[${sandboxLine(name, net)}]` : "";
    return { text: text + limits, data: { exit, signal, timedOut, stdout, stderr, file }, failed };
  } finally {
    sandbox?.close();
  }
}

const KEPT = 24 * 60 * 60 * 1000; // ms that a long output stays readable

async function outputsFolder(): Promise<string> {
  const [{ tmpdir }, { readdir, rm, stat }] = await Promise.all([import("node:os"), import("node:fs/promises")]);
  const folder = join(tmpdir(), `zz-outputs-${process.getuid?.() ?? ""}`);
  for (const name of await readdir(folder).catch(() => [])) {
    const file = join(folder, name);
    const made = await stat(file).catch(() => undefined);
    if (made && Date.now() - made.mtimeMs > KEPT) await rm(file, { force: true });
  }
  return folder;
}

/** What the rules allow, the sandbox allows; what they do not let be read is hidden in it. */
async function openedSandbox(ctx: Ctx, net: Net) {
  const { openSandbox } = await import("./sandbox.ts");
  const write = ctx.permissions.rules.flatMap(({ verdict, kind, name }) =>
    verdict === "allow" && kind === "write" && name ? [ctx.files.path(name)] : [],
  );
  const { hide, pin } = await hidden(ctx);
  return openSandbox({ root: ctx.root, write, hide, pin, keep: kept(ctx), net });
}

/** Where writing is denied, and a home that lies in the project: what is written there zz goes by. */
function kept({ root, about: { home }, permissions: { rules } }: Ctx): string[] {
  const denied = rules.filter(({ verdict, kind }) => verdict === "deny" && kind === "write");
  const all = denied.some(({ name }) => name === undefined);
  return [
    ...(all ? [root, `${root}/.git`] : denied.map(({ name }) => resolve(root, name!))),
    ...(home.startsWith(`${root}/`) ? [home] : []),
  ];
}

type Net = "none" | "all" | string[];

/** What the rules allow, and what was granted to this call by name. */
function netOf({ permissions: { rules } }: Ctx, granted: string[] = []): Net {
  const named = (verdict: string) => rules.filter((rule) => rule.kind === "net" && rule.verdict === verdict);
  const denied = named("deny").map(({ name }) => name);
  const allowed = named("allow").map(({ name }) => name);
  if (denied.includes(undefined)) return "none";
  if (allowed.includes(undefined) && !denied.length) return "all";
  const hosts = [...allowed, ...granted].flatMap((name) => (name === undefined || denied.includes(name) ? [] : [name]));
  return hosts.length ? hosts : "none";
}

/** Secrets lie in dotfiles and in keys; the kernel says which of them may be read. */
const CANDIDATE = /^\.|^id_|\.(pem|key|p12|pfx)$|^zz\.config\.json$/;

async function hidden({ root, about: { home }, permissions }: Ctx): Promise<{ hide: string[]; pin: string[] }> {
  const { readdir } = await import("node:fs/promises");
  const own = ["zz.config.json", "permissions.json", "trust.json", "keys.json", "env.json", "history", "sessions"].map(
    (name) => join(home, name),
  );
  const denied = permissions.rules.flatMap(({ verdict, kind, name }) =>
    verdict === "deny" && kind === "read" && name ? [resolve(root, name)] : [],
  );
  const found: string[] = [];
  await walk(root);
  return { hide: [...own, ...denied, ...found], pin: denied };

  async function walk(folder: string): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      const file = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== "node_modules" && entry.name !== ".git") await walk(file);
      } else if (CANDIDATE.test(entry.name) && permissions.judge("read", file).verdict !== "allow") found.push(file);
    }
  }
}
