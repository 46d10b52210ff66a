// What may be touched: rules from flags, settings and answers, and the verdict on a need.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import {
  KINDS,
  type Kind,
  type Need,
  type Rule,
  type Rules,
  type Verdict,
  words,
} from "../contract.ts";
import type { Core, PathScope } from "../instance.ts";
import { followLinks } from "../system/atomic-write.ts";
import { PACKAGE_FOLDER } from "../system/installation.ts";
import { hasNameIn, isInsideByIdentity } from "../system/other-names.ts";
import { absolutePath, projectContaining, projectsOf, realPath } from "../system/real-paths.ts";
import { usage } from "../text/faults.ts";
import {
  anyCase,
  fitsHost,
  fitsText,
  fitsWords,
  isPattern,
  neverMatches,
  pathPattern,
} from "../text/name-patterns.ts";
import { isInside, textOf } from "../text/read-quietly.ts";
import { clean } from "../text/show-safely.ts";
import { tryTo } from "../text/words.ts";
import { credentials, holdsSecret } from "./secret-files.ts";
import { behindDot, runsByItself, whyNotProject } from "./sensitive-paths.ts";

const toRules = (verdict: Verdict | "only", from: Rule["from"], rules: Rules = {}): Rule[] =>
  KINDS.flatMap((kind): Rule[] => {
    const given = rules[kind];
    if (verdict !== "only")
      return given === true
        ? [{ verdict, kind, from }]
        : (given ?? []).map((name) => ({ verdict, kind, name, from }));
    return Array.isArray(given)
      ? [{ verdict: "deny", kind, but: given, why: `only ${given.join(", ")}`, from }]
      : [];
  });

/**
 * The rules of flags and settings, and those kept for this folder. Answers are added as they come.
 */
export function initialRules(where: PathScope): Rule[] {
  const { root, home, allow, deny, settings } = where;
  const said = [
    ...toRules("deny", "flag", deny),
    ...toRules("allow", "flag", allow),
    ...words<Verdict | "only">("only deny ask allow").flatMap((verb) =>
      toRules(verb, "settings", settings.permissions?.[verb]),
    ),
  ];
  for (const rule of said) checkRule(where, rule);
  return [...said, ...readOnly(where), ...(keptRules(home)[root] ?? [])];
}

export const isSame = (one: Rule, two: Rule): boolean =>
  (["verdict", "kind", "name", "exact", "but", "from"] as const).every(
    (key) => `${one[key]}` === `${two[key]}`,
  );

/** Refuses a rule that could never match: it looks in force, and is not. */
function checkRule(where: PathScope, { verdict, kind, name, but, from }: Rule): void {
  for (const one of but ?? [name ?? []].flat()) {
    const why = whyRuleNeverMatches(where, kind, one);
    const verb = `${but ? "only" : verdict} ${kind}`;
    const said =
      from === "flag"
        ? `--${verb.replace(" ", "-")}='${clean(one)}'`
        : `${verb} "${clean(one)}" in the settings`;
    if (why) throw usage(`Cannot use ${said}: ${why}.`);
  }
}

export const whyRuleNeverMatches = (
  where: PathScope,
  kind: Kind,
  name: string,
): string | undefined =>
  neverMatches(
    kind,
    name,
    (one) => tryTo(() => fs.lstatSync(absolutePath(where, one))) !== undefined,
  );

/** Read-only projects as rules, for the sandbox. Not if something inside may be written. */
function readOnly(where: PathScope): Rule[] {
  const others = projectsOf(where);
  const writable = [
    where.root,
    ...others.flatMap(({ rights, folder }) => (rights === "write" ? [folder] : [])),
  ];
  const shut = others.filter(
    ({ rights, folder }) => rights === "read" && !writable.some((at) => isInside(folder, at)),
  );
  return shut.map(({ folder: name }) => ({
    verdict: "deny",
    kind: "write",
    name,
    from: "settings",
  }));
}

export const keptFile = (home: string): string => path.join(home, "permissions.json");
export function keptRules(home: string): Record<string, Rule[]> {
  const isRule = (rule: any) =>
    KINDS.includes(rule?.kind) &&
    /^(allow|ask|deny)$/.test(rule.verdict) &&
    typeof rule.name !== "number";
  const kept = Object.entries((tryTo(() => JSON.parse(textOf(keptFile(home)))) as object) ?? {});
  return Object.fromEntries(
    kept.map(([root, rules]) => [root, Array.isArray(rules) ? rules.filter(isRule) : []]),
  );
}

/** The verdict on a need. Deny wins, then ask, then allow, then what the tool says about its need;
 * else reading projects is allowed and everything else asked for. A project that is only to be read
 * is not written. */
export function verdictFor(
  { rules, options }: Pick<Core, "rules" | "options">,
  kind: Kind,
  need: Need,
  target = needTarget(options, kind, needName(need)), // by now it may lead elsewhere
) {
  const {
    name,
    verdict,
    why,
    exact: byName = false,
  } = typeof need === "string" ? { name: need, verdict: undefined, why: "" } : need;
  const asked = { ...askedFor(options, kind, name, target), byName };
  const shut = kind === "write" ? projectContaining(options, asked.target) : undefined;
  if (shut?.rights === "read")
    return {
      verdict: "deny" as const,
      why: `the settings let project '${shut.id}' be read, not written`,
    };
  const ruled = (by: Rule["verdict"], exactly: boolean) =>
    rules.find(
      (rule) =>
        rule.kind === kind && rule.verdict === by && ruleCovers(options, rule, asked, exactly),
    );
  const exactly = verdict === "ask" || asked.guard === "itself";
  const rule =
    ruled("deny", false) ??
    (verdict === "deny" ? undefined : (ruled("ask", false) ?? ruled("allow", exactly)));
  const by = rule && `by ${nameOfRule(rule)}${rule.why ? ` (${rule.why})` : ""}`;
  if (rule)
    return { verdict: rule.verdict, why: rule.verdict === "ask" ? `${ASKED_FOR} ${by}` : by! };
  if (verdict) return { verdict, why };
  const led = asked.target !== asked.named ? `it leads to '${asked.target}'` : "";
  return kind === "read" ? judgeRead(options, asked, led) : { verdict: "ask" as const, why: led };
}

/** Without a rule: reading a project is allowed, except for what may hold secrets. */
function judgeRead(
  where: PathScope,
  { named, target }: ComparableNeed,
  led: string,
): { verdict: "allow" | "ask"; why: string } {
  const isHere = isInside(where.root, target);
  const other = isHere ? undefined : projectContaining(where, target);
  if (!isHere && !other) return { verdict: "ask", why: led };
  if (isSecret(target) || isSecret(named)) return { verdict: "ask", why: "it may hold secrets" };
  const wide =
    other || projectContaining(where, target)?.id ? undefined : whyNotProject(where.root);
  if (wide && !isFolder(target))
    return { verdict: "ask", why: `'${where.root}' is ${wide}, and no project` };
  return { verdict: "allow", why: other ? `reading project '${other.id}'` : "reading the project" };
}

/** Listing a folder shows names only, and its name alone means little: src/secrets may be code. */
function isSecret(file: string): boolean {
  if (holdsSecret(file)) return !isFolder(file) || holdsSecret(path.join(file, "x"));
  const at = behindDot(file);
  return (
    at !== undefined &&
    !/^\.zz(\/|$)/.test(at.name) &&
    credentials(at.home).some((one) => isInside(one, file))
  );
}
const isFolder = (file: string): boolean => tryTo(() => fs.statSync(file))?.isDirectory() === true;

/** A need, as rules are compared with it: for a path, its name and where that leads. */
interface ComparableNeed {
  kind: Kind;
  named: string;
  target: string;
  guard?: "itself" | "folder" | undefined;
  byName?: boolean; // no rule for the whole kind covers it
}

function askedFor(
  where: PathScope,
  kind: Kind,
  name: string,
  target = needTarget(where, kind, name),
): ComparableNeed {
  if (kind !== "read" && kind !== "write") return { kind, named: name, target };
  return { kind, named: absolutePath(where, name), target, guard: guardOf(where, kind, target) };
}

/**
 * Allowed by name only: writing outside of the project and, unless all is allowed, guarded files
 * and what zz itself would run.
 */
function ruleCovers(
  where: PathScope,
  { name, but = [], verdict, exact = false, from: by }: Rule,
  asked: ComparableNeed,
  exactly: boolean,
): boolean {
  const { kind, target, guard } = asked;
  const isDenial = verdict !== "allow";
  const fits = (name: string) =>
    ruleCovers(
      where,
      { verdict: "allow", kind, name, from: by },
      { ...asked, guard: undefined },
      false,
    );
  if (but.some(fits)) return false;
  if (
    kind === "run" &&
    PLUGIN.test(target) &&
    !isDenial &&
    (name === undefined || /^\s*\S*[*?]/.test(name))
  )
    return isAll(where);
  if (name === undefined && !isDenial && asked.byName) return false;
  if (name === undefined)
    return isDenial || kind === "net" || kind === "run" || kind === "env"
      ? true
      : (kind === "read" || isInside(where.root, target)) && (!guard || isAll(where));
  if (kind !== "read" && kind !== "write") {
    if (exactly || exact) return name === target;
    return isDenial ? fitsName(kind, anyCase(name), anyCase(target)) : fitsName(kind, name, target);
  }
  const place = rulePath(where, name);
  const own = realPath(where, place);
  // A link in a project does not extend a rule beyond it.
  const from = isDenial ? undefined : projectContaining(where, place);
  if (from && from.id !== projectContaining(where, own)?.id) return false;
  if (own === target || exactly || exact) return own === target;
  if (isDenial) return denies(where, name, asked);
  if (isInside(own, target))
    return !guard || !(isInside(own, where.root) || holdsHomeOf(own, target));
  return !guard && isPattern(name) && allows(where, name, asked);
}

export const ASKED_FOR = "asked for";
const holdsHomeOf = (folder: string, file: string): boolean =>
  isInside(folder, behindDot(file)?.home ?? "");

/**
 * By any name of a path, ignoring case: nobody should need to know how a disk compares names, or
 * that a file has others.
 */
function denies(where: PathScope, name: string, { named, target }: ComparableNeed): boolean {
  const fits = denialOf(where, name);
  if (fits(named) || (target !== named && fits(target))) return true;
  const place = realPath(where, rulePath(where, name));
  return (
    isInsideByIdentity(place, target) ||
    hasNameIn(isPattern(name) ? beginOf(where, name).base : place, fits, target, name)
  );
}

/** Whether a denial covers a path by its names, literally or as a pattern. */
export function denialOf(where: PathScope, name: string): (file: string) => boolean {
  const place = rulePath(where, name);
  const own = [...new Set([place, realPath(where, place)])].map(anyCase);
  const { base, rest, isLoose } = beginOf(where, name);
  const begins = [...new Set([base, followLinks(base)])].map(anyCase);
  const pattern = isPattern(name) ? pathPattern(anyCase(rest)) : () => false;
  return (file) => {
    const plain = anyCase(file);
    if (own.some((folder) => isInside(folder, plain))) return true;
    const below = begins.filter((folder) => isInside(folder, plain));
    return (
      below.some((folder) => pattern(plain.slice(folder.length))) ||
      (isLoose && !below.length && pattern(plain))
    );
  };
}

/**
 * The part before the first `*` or `?` is resolved like any path; the rest is matched against the
 * names below.
 */
function allows(where: PathScope, name: string, { target }: ComparableNeed): boolean {
  const { base, rest } = beginOf(where, name);
  const real = followLinks(base);
  if (projectContaining(where, base)?.id !== projectContaining(where, real)?.id) return false;
  return isInside(real, target) && pathPattern(rest)(target.slice(real.length));
}

/**
 * A pattern without a folder matches in every folder of its project; a denial by it matches
 * everywhere.
 */
function beginOf(where: PathScope, name: string): { base: string; rest: string; isLoose: boolean } {
  const bare = name.replace(/\/+$/, "");
  const whole = rulePath(where, bare);
  const isOther = !/^~(\/|$)/.test(bare) && whole !== path.resolve(where.root, bare); // id:path
  const inner = isOther ? bare.slice(bare.indexOf(":") + 1) : bare;
  const isLoose = !inner.includes("/");
  const begin = isLoose
    ? whole.slice(0, whole.length - inner.length)
    : whole.slice(0, whole.search(/[*?]/));
  const base = begin.slice(0, begin.lastIndexOf(path.sep)) || path.sep;
  return {
    base,
    rest: isLoose ? `**/${inner}` : whole.slice(base.length),
    isLoose: isLoose && !isOther,
  };
}

/** The path that a rule's name stands for: `~` is the home, unless a file here has that name. */
export function rulePath(where: PathScope, name: string): string {
  const isTilde =
    /^~(\/|$)/.test(name) && tryTo(() => fs.lstatSync(path.join(where.root, "~"))) === undefined;
  return absolutePath(where, isTilde ? os.homedir() + name.slice(1) : name);
}

/** Commands are compared by words, hosts with or without a port, variables by their letters. */
export function fitsName(kind: Kind, name: string, target: string): boolean {
  if (name === target) return true;
  if (kind === "run")
    return target.startsWith(`${name} `) || (isPattern(name) && fitsWords(name, target));
  return kind === "net" ? fitsHost(name, target) : fitsText(name, target);
}

export const PLUGIN = /^plugin [\w-]+$/;

/** Whether everything is allowed: --allow-all, or every --allow-KIND without a list. */
const isAll = ({ allow }: PathScope): boolean => KINDS.every((kind) => allow?.[kind] === true);

/**
 * What a rule for the whole project, or for a folder around a home, does not cover: it must be
 * named, or its folder.
 */
export function guardOf(
  where: PathScope,
  kind: "read" | "write",
  file: string,
): "itself" | "folder" | undefined {
  const { home, root } = where;
  const isOwn = (names: string[]) =>
    names.some((name) => isInside(cachedRealPath(path.join(home, name)), file));
  const isWrite = kind === "write";
  if (
    isWrite &&
    (runsByItself(file) || isOwn(home === PACKAGE_FOLDER ? OWN_STATE : [...OWN_STATE, ...CODE]))
  )
    return "itself";
  if (isWrite && isOwn(TOLD_TO_MODEL)) return "folder";
  return behindDot(file) && (!isInside(root, file) || whyNotProject(root)) ? "folder" : undefined;
}
/** Cached, since thousands of files may be judged in a row. */
function cachedRealPath(place: string): string {
  if (!led.size) setImmediate(() => led.clear());
  if (!led.has(place)) led.set(place, followLinks(place));
  return led.get(place)!;
}
const led = new Map<string, string>();

/**
 * What zz itself is controlled by: a tool that could write it could allow itself anything. A
 * checkout's plugins are zz's code.
 */
const OWN_STATE = [
  "sessions",
  "permissions.json",
  "trust.json",
  "plugins.lock.json",
  "zz.config.json",
  "keys.json",
  "env.json",
  "history",
  "debug.log",
  "mcp-tools.json",
  "mcp-credentials.json",
];
const CODE = ["plugins", "prompts"];
// the model would read it
const TOLD_TO_MODEL = ["skills", "memory", "MEMORY.md", "IDENTITY.md", "SOUL.md", "RELATIONS.md"];

export const needTarget = (at: PathScope, kind: Kind, name: string): string =>
  kind === "read" || kind === "write" ? realPath(at, name) : name;
export const needName = (need: Need): string => (typeof need === "string" ? need : need.name);

const RULE_FROM = {
  settings: "the settings",
  project: "what was kept for this project",
  answer: "an answer in this session",
};
const nameOfRule = ({ verdict, kind, name, but, from }: Rule): string =>
  from === "flag"
    ? flagOf(but ? "only" : verdict, kind, but ?? [name ?? []].flat())
    : RULE_FROM[from];
/** The flag as it would be typed. Names that a list cannot hold need the flag without a list. */
export function flagOf(verdict: Verdict | "only", kind: Kind, names: string[]): string {
  const flag = `--${verdict}-${kind}`;
  const list = names.join(",");
  if (!list || names.some((name) => /[,'\x00-\x1f]/.test(name))) return flag;
  return `${flag}=${/^[\w./:@%+=*~,-]+$/.test(list) ? list : `'${list}'`}`;
}
