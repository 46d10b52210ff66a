// Chapter 5 of the kernel: what a tool may touch. The innermost step of every call, on the final arguments.
import fs from "node:fs";
import path from "node:path";
import {
  type Core,
  clean,
  emit,
  fault,
  type Kind,
  type Need,
  type Needs,
  PACKAGE,
  type Permissions,
  type Place,
  type Rule,
  type Rules,
  type Tool,
  textOf,
  tryTo,
  until,
} from "../zz.ts";
import { ZZ } from "./files.ts";
import { writePrivate } from "./store.ts";

export const KINDS: Kind[] = ["read", "write", "run", "net", "env"];
/** Files inside the project that hold secrets: reading them is asked for all the same. */
const SECRET =
  /(^|\/)(\.env(\..*)?|\.envrc|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx)|\.npmrc|\.netrc|\.pypirc|\.git-credentials|zz\.config\.json|keys\.json)$/i;
/** Files that run by themselves some day: only their own name allows writing them, not a list that holds their folder. */
const GUARDED = /(^|\/)(\.git|\.zz)(\/|$)/i;

const toRules = (verdict: Rule["verdict"], from: Rule["from"], rules: Rules = {}): Rule[] =>
  KINDS.flatMap((kind) => {
    const given = rules[kind];
    return given === true ? [{ verdict, kind, from }] : (given ?? []).map((name) => ({ verdict, kind, name, from }));
  });

/** From the flags, the settings, and what was kept for this folder; answers are added as they come. */
export function firstRules({ root, home, allow, deny, settings: { permissions } }: Core["options"]): Rule[] {
  const flags = [...toRules("deny", "flag", deny), ...toRules("allow", "flag", allow)];
  const set = [...toRules("deny", "settings", permissions?.deny), ...toRules("allow", "settings", permissions?.allow)];
  return [...flags, ...set, ...(keptRules(home)[root] ?? [])];
}

const keptFile = (home: string): string => path.join(home, "permissions.json");
function keptRules(home: string): Record<string, Rule[]> {
  const isRule = (rule: any) =>
    KINDS.includes(rule?.kind) && /^(allow|deny)$/.test(rule.verdict) && typeof rule.name !== "number";
  const kept = Object.entries((tryTo(() => JSON.parse(textOf(keptFile(home)))) as object) ?? {});
  return Object.fromEntries(kept.map(([root, rules]) => [root, Array.isArray(rules) ? rules.filter(isRule) : []]));
}

export function permissions({ rules, options }: Core): Permissions {
  return {
    rules,
    judge: (kind, need) => judge({ rules, options }, kind, need),
    add(rule) {
      rules.push(rule);
      if (rule.from === "project") keep();
    },
    drop(rule) {
      rules.splice(rules.indexOf(rule), rules.includes(rule) ? 1 : 0);
      if (rule.from === "project") keep();
    },
  };

  function keep(): void {
    const { home, root } = options;
    const all = { ...keptRules(home), [root]: rules.filter((rule) => rule.from === "project") };
    writePrivate(keptFile(home), JSON.stringify(all, null, 2));
  }
}

/** Deny wins, then allow, then what the tool says of its need, then: reading the project is allowed, all else is asked. */
export function judge({ rules, options: { root, home } }: Pick<Core, "rules" | "options">, kind: Kind, need: Need) {
  const { name, verdict, why } = typeof need === "string" ? { name: need, verdict: undefined, why: "" } : need;
  const isFile = kind === "read" || kind === "write";
  const target = isFile ? realPath(root, name) : name;
  const guarded = verdict === "ask" || (kind === "write" && (GUARDED.test(target) || isOwn(home, target)));
  const ruled = (by: Rule["verdict"], exactly: boolean) =>
    rules.find((rule) => rule.kind === kind && rule.verdict === by && covers(rule, exactly));
  const rule = ruled("deny", false) ?? (verdict === "deny" ? undefined : ruled("allow", guarded));
  if (rule) return { verdict: rule.verdict, why: `by ${nameOfRule(rule)}` };
  if (verdict) return { verdict, why };
  const led = isFile && target !== path.resolve(root, name) ? `it leads to '${target}'` : "";
  if (kind !== "read" || !isInside(root, target)) return { verdict: "ask" as const, why: led };
  return SECRET.test(target)
    ? { verdict: "ask" as const, why: "it may hold secrets" }
    : { verdict: "allow" as const, why: "reading the project" };

  /** Writing outside of the project is allowed by name alone. */
  function covers({ name, verdict, exact = false }: Rule, exactly: boolean): boolean {
    if (name === undefined) return kind !== "write" || verdict === "deny" || isInside(root, target);
    const own = isFile ? realPath(root, name) : name;
    // A link in the project does not carry a rule for its name out of it.
    const left = isFile && verdict === "allow" && isInside(root, path.resolve(root, name)) && !isInside(root, own);
    if (left) return false;
    if (own === target || exactly || exact) return own === target;
    if (isFile) return isInside(own, target);
    if (kind === "run") return target.startsWith(`${own} `);
    if (kind === "net") return target.startsWith(`${own}:`) || (own.startsWith("*.") && target.endsWith(own.slice(1)));
    return own.endsWith("*") && target.startsWith(own.slice(0, -1));
  }
}

/** What zz itself goes by: a tool that could write it could allow itself anything. A checkout's plugins are its code. */
function isOwn(home: string, file: string): boolean {
  const names = [
    "sessions",
    "permissions.json",
    "zz.config.json",
    "keys.json",
    "history",
    ...(home === PACKAGE ? [] : ["plugins", "prompts"]),
  ];
  return names.some((name) => isInside(realPath(home, name), file));
}

export const nameOf = (need: Need): string => (typeof need === "string" ? need : need.name);
const accessTo = (kind: Kind, name: string): string => `${kind} access to "${name}"`;
const RULE_FROM = {
  settings: "the settings",
  project: "what was kept for this project",
  answer: "an answer in this session",
};
const nameOfRule = ({ verdict, kind, name, from }: Rule): string =>
  from === "flag" ? flagOf(verdict, kind, name === undefined ? [] : [name]) : RULE_FROM[from];
/** As it would be typed. What a list cannot hold needs the flag without one. */
function flagOf(verdict: Rule["verdict"], kind: Kind, names: string[]): string {
  const flag = `--${verdict}-${kind}`;
  const list = names.join(",");
  if (!list || names.some((name) => /[,'\x00-\x1f]/.test(name))) return flag;
  return `${flag}=${/^[\w./:@%+=*~,-]+$/.test(list) ? list : `'${list}'`}`;
}

/** What the rules leave open. */
export type Open = { kind: Kind; name: string; why: string; whole: boolean }; // whole: no list may allow it

/** Judges what a call needs and asks the person for what the rules leave open. Returns the sentence of a refusal. */
export async function gate(place: Place, tool: Tool, args: unknown, needs: Needs): Promise<string | undefined> {
  const open = new Map<string, Open>();
  for (const kind of KINDS)
    for (const need of needs[kind] ?? []) {
      const refusal = await weigh(place.core, tool.name, kind, need, open);
      if (refusal) return refusal;
    }
  if (!open.size) return undefined;
  const text = (await tool.preview?.(args, place.ctx)) ?? "";
  return (await confirm(place, tool.name, [...open.values()], clean(text))).refusal;
}

export async function weigh(core: Core, tool: string, kind: Kind, need: Need, open: Map<string, Open>) {
  const name = nameOf(need);
  const { verdict, why } = judge(core, kind, need);
  if (verdict !== "ask") await emit(core, "decided", { tool, kind, name, allowed: verdict === "allow", why });
  else open.set(`${kind} ${name}`, { kind, name, why, whole: typeof need !== "string" });
  return verdict === "deny"
    ? `Refused: ${accessTo(kind, name)} is denied${why.startsWith("by ") ? " " : ": "}${why}.`
    : undefined;
}

type Keys = Record<string, string>; // what each does
type Confirmed = { key: string; refusal?: string };

/** Puts it to the person; nobody there means no. `more` are keys beyond yes, no and always. */
export async function confirm(
  place: Place,
  tool: string,
  open: Open[],
  text: string,
  more: Keys = {},
): Promise<Confirmed> {
  const { core, ctx } = place;
  const accesses = open.map(({ kind, name }) => accessTo(kind, name)).join(" and ");
  const flags = KINDS.flatMap((kind) => {
    const own = open.filter((one) => one.kind === kind);
    return own.length ? flagOf("allow", kind, own.some(({ whole }) => whole) ? [] : own.map(({ name }) => name)) : [];
  }).join(" ");
  if (!core.ask) {
    await decide(false, "nobody is there to ask");
    return { key: "n", refusal: `Refused: requires ${accesses}; run again with ${flags}.` };
  }
  const rules = new Map(open.map((one) => always(core, one)).map((rule) => [`${rule.kind} ${rule.name}`, rule]));
  const lasting = [...rules.values()].map(({ kind, name }) =>
    name === "." ? "edits in this project" : `${kind} "${name}"`,
  );
  const keys: Keys = { y: "yes", n: "no", ...more, A: `always ${lasting.join(", ")}, this session` };
  const { key, because } = await inTurn(core, async () => {
    const granted = open.every((one) => judge(core, one.kind, needOf(one)).verdict === "allow"); // by an answer meanwhile
    const key = granted && !text ? "y" : await until(ctx.signal, core.ask!(question(keys), Object.keys(keys).join("")));
    const because =
      key === "n" && tool !== ZZ ? (await until(ctx.signal, core.ask!("Why not? (Enter: no reason) "))).trim() : "";
    return { key, because };
  });
  if (key === "A") core.rules.push(...rules.values());
  if (key === "r") await decide(false, "the person sent it back");
  else if (key in keys && key !== "n") await decide(true, key === "e" ? "the person edited it" : "the person said yes");
  if (key in keys && key !== "n") return { key };
  await decide(false, "the person said no");
  return { key: "n", refusal: `Refused: the person said no to ${accesses}${because ? `: ${because}` : "."}` };

  async function decide(allowed: boolean, why: string): Promise<void> {
    for (const { kind, name } of open) await emit(core, "decided", { tool, kind, name, allowed, why });
  }

  function question(keys: Keys): string {
    const oneLine = (text: string) => inner(clean(text).replaceAll("\n", "␊"));
    return [
      `┏ ${tool} requests ${oneLine(accesses)}.`,
      ...open.flatMap(({ why }) => (why ? [`┠ ${oneLine(why)}.`] : [])),
      ...(text ? text.split("\n").map((line) => `┃ ${inner(line)}`) : []),
      `┠ ${oneLine(flags)} skips this question.`,
      `┗ Allow? [${Object.keys(keys).join("/")}] (${Object.entries(keys)
        .map(([key, does]) => `${key} = ${oneLine(does)}`)
        .join(", ")}) `,
    ].join("\n");
  }
}

/** A line that nobody could read is shown by its ends. */
const inner = (line: string): string =>
  line.length > LONGEST_LINE
    ? `${line.slice(0, LONGEST_LINE / 2)} [… ${line.length - LONGEST_LINE} characters …] ${line.slice(-LONGEST_LINE / 2)}`
    : line;
const LONGEST_LINE = 4_000;

/** Writing in the project is one permission; all else goes by its name. */
function always({ options: { root } }: Core, { kind, name }: Open): Rule {
  const wide = kind === "write" && isInside(root, realPath(root, name)) && !GUARDED.test(name);
  return { verdict: "allow", kind, from: "answer", ...(wide ? { name: "." } : { name, exact: true }) };
}
const needOf = ({ name, why, whole }: Open): Need => (whole ? { name, verdict: "ask", why } : name);

/** Calls that run side by side ask one after the other. */
function inTurn<T>(core: Core, act: () => Promise<T>): Promise<T> {
  const acted = Promise.resolve(core.asking).then(act);
  core.asking = acted.catch(() => {});
  return acted;
}

export const isInside = (folder: string, file: string): boolean =>
  file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);

const DEEPEST_PATH = 1_000;

/** Absolute, with links followed as far as the path exists: what a path really names. */
export function realPath(root: string, name: string): string {
  if (name.includes("\0"))
    throw fault(`Cannot use path '${name.replaceAll("\0", "\\0")}': it holds a NUL byte. Leave it out.`);
  if (name.split("/").length > DEEPEST_PATH)
    throw fault(`Cannot use path '${name.slice(0, 60)}…': it is nested too deep. Check it.`);
  let existing = path.resolve(root, name);
  const missing: string[] = [];
  for (let links = 0; ; ) {
    const real = tryTo(() => fs.realpathSync.native(existing));
    const parent = path.dirname(existing);
    if (real !== undefined || parent === existing) return path.join(real ?? existing, ...missing);
    const to = links++ < 40 ? tryTo(() => fs.readlinkSync(existing)) : undefined; // a link that leads nowhere yet
    if (to === undefined) missing.unshift(path.basename(existing));
    existing = to === undefined ? parent : path.resolve(parent, to);
  }
}
