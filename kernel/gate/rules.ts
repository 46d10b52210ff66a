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
import { PACKAGE_FOLDER } from "../system/installation.ts";
import { followLinks } from "../system/open-real.ts";
import { findOnce, hasNameIn, isInsideByIdentity } from "../system/other-names.ts";
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
import { isInside, isInsideAny, jsonIn } from "../text/read-quietly.ts";
import { clean } from "../text/show-safely.ts";
import { mapValues, tryTo } from "../text/words.ts";
import { credentials, holdsSecret } from "./secret-files.ts";
import { behindDot, configuresRepository, runsByItself, whyNotProject } from "./sensitive-paths.ts";

const toRules = (verdict: Verdict | "only", from: Rule["from"], namesByKind: Rules = {}): Rule[] =>
  KINDS.flatMap((needKind): Rule[] => {
    const names = namesByKind[needKind];
    if (verdict !== "only")
      return names === true
        ? [{ verdict, kind: needKind, from }]
        : (names ?? []).map((name) => ({ verdict, kind: needKind, name, from }));
    return Array.isArray(names)
      ? [{ verdict: "deny", kind: needKind, but: names, why: `only ${names.join(", ")}`, from }]
      : [];
  });

/**
 * The rules of flags and settings, and those kept for this folder. Answers are added as they come.
 */
export function initialRules(pathScope: PathScope): Rule[] {
  const { root, home, allow, named, deny, settings } = pathScope;
  const givenRules = [
    ...toRules("deny", "flag", deny),
    ...toRules("allow", "flag", allow),
    ...toRules("allow", "flag", named),
    ...words<Verdict | "only">("only deny ask allow").flatMap((ruleVerb) =>
      toRules(ruleVerb, "settings", settings.permissions?.[ruleVerb]),
    ),
  ];
  for (const givenRule of givenRules) checkRule(pathScope, givenRule);
  return [...givenRules, ...readOnlyRules(pathScope), ...(keptRules(home)[root] ?? [])];
}

export const isSameRule = (firstRule: Rule, secondRule: Rule): boolean =>
  (["verdict", "kind", "name", "exact", "but", "from"] as const).every(
    (ruleField) => `${firstRule[ruleField]}` === `${secondRule[ruleField]}`,
  );

/** Refuses a rule that could never match: it looks in force, and is not. */
function checkRule(pathScope: PathScope, { verdict, kind, name, but, from }: Rule): void {
  for (const ruleName of but ?? [name ?? []].flat()) {
    const reason = whyRuleNeverMatches(pathScope, kind, ruleName);
    const ruleVerb = `${but ? "only" : verdict} ${kind}`;
    const ruleOrigin =
      from === "flag"
        ? `--${ruleVerb.replace(" ", "-")}='${clean(ruleName)}'`
        : `${ruleVerb} "${clean(ruleName)}" in the settings`;
    if (reason) throw usage(`Cannot use ${ruleOrigin}: ${reason}.`);
  }
}

export const whyRuleNeverMatches = (
  pathScope: PathScope,
  needKind: Kind,
  ruleName: string,
): string | undefined =>
  neverMatches(
    needKind,
    ruleName,
    (literalPath) => tryTo(() => fs.lstatSync(absolutePath(pathScope, literalPath))) !== undefined,
  );

/** Read-only projects as rules, for the sandbox. Not if something inside may be written. */
function readOnlyRules(pathScope: PathScope): Rule[] {
  const others = projectsOf(pathScope);
  const writable = [
    pathScope.root,
    ...others.flatMap(({ rights, folder }) => (rights === "write" ? [folder] : [])),
  ];
  const shut = others.filter(
    ({ rights, folder }) =>
      rights === "read" && !writable.some((writableFolder) => isInside(folder, writableFolder)),
  );
  return shut.map(({ folder: name }) => ({
    verdict: "deny",
    kind: "write",
    name,
    from: "settings",
  }));
}

export const keptRulesFile = (home: string): string => path.join(home, "permissions.json");
export function keptRules(home: string): Record<string, Rule[]> {
  const isRule = (rule: any) =>
    KINDS.includes(rule?.kind) &&
    /^(allow|ask|deny)$/.test(rule.verdict) &&
    typeof rule.name !== "number";
  return mapValues(jsonIn(keptRulesFile(home)) ?? {}, (rules) =>
    Array.isArray(rules) ? rules.filter(isRule) : [],
  );
}

/** The verdict on a need. Deny wins, then ask, then allow, then what the tool says about its need;
 * else reading projects is allowed and everything else asked for. A project that is only to be read
 * is not written. */
export function verdictFor(
  { rules, options }: Pick<Core, "rules" | "options">,
  needKind: Kind,
  need: Need,
  target = needTarget(options, needKind, needName(need)), // by now it may lead elsewhere
) {
  const {
    name,
    verdict,
    why,
    exact: byName = false,
  } = typeof need === "string" ? { name: need, verdict: undefined, why: "" } : need;
  const asked: ComparableNeed = {
    kind: needKind,
    named: isPathKind(needKind) ? absolutePath(options, name) : name,
    target,
    guard: isPathKind(needKind) ? guardOf(options, needKind, target) : undefined,
    byName,
  };
  const shut = needKind === "write" ? projectContaining(options, target) : undefined;
  if (shut?.rights === "read")
    return {
      verdict: "deny" as const,
      why: `the settings let project '${shut.id}' be read, not written`,
    };
  const findRule = (ruleVerdict: Rule["verdict"], exactly: boolean) =>
    rules.find(
      (rule) =>
        rule.kind === needKind &&
        rule.verdict === ruleVerdict &&
        ruleCovers(options, rule, asked, exactly),
    );
  const exactly = verdict === "ask" || asked.guard === "itself";
  const rule =
    findRule("deny", false) ??
    (verdict === "deny" ? undefined : (findRule("ask", false) ?? findRule("allow", exactly)));
  const by = rule && `by ${nameOfRule(rule)}${rule.why ? ` (${rule.why})` : ""}`;
  if (rule)
    return { verdict: rule.verdict, why: rule.verdict === "ask" ? `${ASKED_FOR} ${by}` : by! };
  if (verdict) return { verdict, why };
  const leadsTo = target !== asked.named ? `it leads to '${target}'` : "";
  return needKind === "read"
    ? judgeRead(options, asked, leadsTo)
    : { verdict: "ask" as const, why: leadsTo };
}

/** Without a rule: reading a project is allowed, except for what may hold secrets. */
function judgeRead(
  where: PathScope,
  { named, target }: ComparableNeed,
  leadsTo: string,
): { verdict: "allow" | "ask"; why: string } {
  const project = projectContaining(where, target);
  if (!project) return { verdict: "ask", why: leadsTo };
  if (isSecret(target) || isSecret(named)) return { verdict: "ask", why: "it may hold secrets" };
  if (project.id) return { verdict: "allow", why: `reading project '${project.id}'` };
  const wideReason = whyNotProject(where.root);
  return wideReason && !isFolder(target)
    ? { verdict: "ask", why: `'${where.root}' is ${wideReason}, and no project` }
    : { verdict: "allow", why: "reading the project" };
}

/** Listing a folder shows names only, and its name alone means little: src/secrets may be code. */
function isSecret(file: string): boolean {
  if (holdsSecret(file)) return !isFolder(file) || holdsSecret(path.join(file, "x"));
  if (configuresRepository(file)) return true;
  const location = behindDot(file);
  return (
    location !== undefined &&
    !/^\.zz(\/|$)/.test(location.name) &&
    isInsideAny(credentials(location.home), file)
  );
}
const isFolder = (filePath: string): boolean =>
  tryTo(() => fs.statSync(filePath))?.isDirectory() === true;

/** A need, as rules are compared with it: for a path, its name and where that leads. */
interface ComparableNeed {
  kind: Kind;
  named: string;
  target: string;
  guard: "itself" | "folder" | undefined;
  byName: boolean; // no rule for the whole kind covers it
}
export const isPathKind = (needKind: Kind): needKind is "read" | "write" =>
  needKind === "read" || needKind === "write";

/**
 * Allowed by name only: writing outside of the project and, unless all is allowed, guarded files
 * and what zz itself would run.
 */
function ruleCovers(
  where: PathScope,
  { name, but = [], verdict, exact = false, from: ruleOrigin }: Rule,
  asked: ComparableNeed,
  exactly: boolean,
): boolean {
  const { kind, target, guard } = asked;
  const isDenial = verdict !== "allow";
  const isException = (name: string) =>
    ruleCovers(
      where,
      { verdict: "allow", kind, name, from: ruleOrigin },
      { ...asked, guard: undefined },
      false,
    );
  if (but.some(isException)) return false;
  if (
    kind === "run" &&
    PLUGIN_NEED.test(target) &&
    !isDenial &&
    (name === undefined || /^\s*\S*[*?]/.test(name))
  )
    return allowsEverything(where);
  if (name === undefined) return isDenial || (!asked.byName && coversAll(where, asked));
  if (!isPathKind(kind)) {
    if (exactly || exact) return name === target;
    return isDenial ? fitsName(kind, anyCase(name), anyCase(target)) : fitsName(kind, name, target);
  }
  const literalPath = rulePath(where, name);
  const ruleTarget = realPath(where, literalPath);
  // A link in a project does not extend a rule beyond it.
  const from = isDenial ? undefined : projectContaining(where, literalPath);
  if (from && from.id !== projectContaining(where, ruleTarget)?.id) return false;
  if (ruleTarget === target || exactly || exact) return ruleTarget === target;
  if (isDenial) return deniesPath(where, name, asked);
  if (isInside(ruleTarget, target))
    return !guard || !(isInside(ruleTarget, where.root) || holdsHomeOf(ruleTarget, target));
  return !guard && isPattern(name) && allowsPath(where, name, asked);
}

/** What an allowance of a whole kind covers. */
const coversAll = (where: PathScope, { kind, target, guard }: ComparableNeed): boolean =>
  !isPathKind(kind) ||
  ((kind === "read" || isInside(where.root, target)) && (!guard || allowsEverything(where)));

export const ASKED_FOR = "asked for";
const holdsHomeOf = (outerFolder: string, filePath: string): boolean =>
  isInside(outerFolder, behindDot(filePath)?.home ?? "");

/**
 * By any name of a path, ignoring case: nobody should need to know how a disk compares names, or
 * that a file has others.
 */
function deniesPath(where: PathScope, name: string, { named, target }: ComparableNeed): boolean {
  const fits = denialOf(where, name);
  if (fits(named) || (target !== named && fits(target))) return true;
  const ruleTarget = realPath(where, rulePath(where, name));
  return (
    isInsideByIdentity(ruleTarget, target) ||
    hasNameIn(isPattern(name) ? patternStart(where, name).base : ruleTarget, fits, target, name)
  );
}

/** Whether a denial covers a path by its names, literally or as a pattern. */
export function denialOf(pathScope: PathScope, ruleName: string): (filePath: string) => boolean {
  const literalPath = rulePath(pathScope, ruleName);
  const coveredPaths = [...new Set([literalPath, realPath(pathScope, literalPath)])].map(anyCase);
  const { base, rest, isLoose } = patternStart(pathScope, ruleName);
  const startFolders = [...new Set([base, followLinks(base)])].map(anyCase);
  const pattern = isPattern(ruleName) ? pathPattern(anyCase(rest)) : () => false;
  return (filePath) => {
    const plain = anyCase(filePath);
    if (isInsideAny(coveredPaths, plain)) return true;
    const below = startFolders.filter((startFolder) => isInside(startFolder, plain));
    return (
      below.some((startFolder) => pattern(plain.slice(startFolder.length))) ||
      (isLoose && !below.length && pattern(plain))
    );
  };
}

/**
 * The part before the first `*` or `?` is resolved like any path; the rest is matched against the
 * names below.
 */
function allowsPath(pathScope: PathScope, ruleName: string, { target }: ComparableNeed): boolean {
  const { base, rest } = patternStart(pathScope, ruleName);
  const realBase = followLinks(base);
  if (projectContaining(pathScope, base)?.id !== projectContaining(pathScope, realBase)?.id)
    return false;
  return isInside(realBase, target) && pathPattern(rest)(target.slice(realBase.length));
}

/**
 * A pattern without a folder matches in every folder of its project; a denial by it matches
 * everywhere.
 */
function patternStart(
  pathScope: PathScope,
  ruleName: string,
): { base: string; rest: string; isLoose: boolean } {
  const bare = ruleName.replace(/\/+$/, "");
  const absoluteRule = rulePath(pathScope, bare);
  // id:path
  const isOther = !/^~(\/|$)/.test(bare) && absoluteRule !== path.resolve(pathScope.root, bare);
  const inner = isOther ? bare.slice(bare.indexOf(":") + 1) : bare;
  const isLoose = !inner.includes("/");
  const literalPart = isLoose
    ? absoluteRule.slice(0, absoluteRule.length - inner.length)
    : absoluteRule.slice(0, absoluteRule.search(/[*?]/));
  const base = literalPart.slice(0, literalPart.lastIndexOf(path.sep)) || path.sep;
  return {
    base,
    rest: isLoose ? `**/${inner}` : absoluteRule.slice(base.length),
    isLoose: isLoose && !isOther,
  };
}

/** The path that a rule's name stands for: `~` is the home, unless a file here has that name. */
export function rulePath(pathScope: PathScope, ruleName: string): string {
  const isTilde =
    /^~(\/|$)/.test(ruleName) &&
    tryTo(() => fs.lstatSync(path.join(pathScope.root, "~"))) === undefined;
  return absolutePath(pathScope, isTilde ? os.homedir() + ruleName.slice(1) : ruleName);
}

/** Commands are compared by words, hosts with or without a port, variables by their letters. */
export function fitsName(needKind: Kind, name: string, target: string): boolean {
  if (name === target) return true;
  if (needKind === "run")
    return target.startsWith(`${name} `) || (isPattern(name) && fitsWords(name, target));
  return needKind === "net" ? fitsHost(name, target) : fitsText(name, target);
}

export const PLUGIN_NEED = /^plugin [\w-]+$/;

/** Whether everything is allowed: --allow-all, or every --allow-KIND without a list. */
const allowsEverything = ({ allow }: PathScope): boolean =>
  KINDS.every((needKind) => allow?.[needKind] === true);

/**
 * What a rule for the whole project, or for a folder around a home, does not cover: it must be
 * named, or its folder.
 */
export function guardOf(
  pathScope: PathScope,
  pathKind: "read" | "write",
  filePath: string,
): "itself" | "folder" | undefined {
  const { home, root } = pathScope;
  const isOwnFile = (ownNames: string[]) =>
    ownNames.some((ownName) => isInside(realPathOnce(path.join(home, ownName)), filePath));
  const isWrite = pathKind === "write";
  if (
    isWrite &&
    (runsByItself(filePath) ||
      isOwnFile(home === PACKAGE_FOLDER ? OWN_STATE : [...OWN_STATE, ...OWN_CODE]))
  )
    return "itself";
  if (isWrite && isOwnFile(TOLD_TO_MODEL)) return "folder";
  return behindDot(filePath) && (!isInside(root, filePath) || whyNotProject(root))
    ? "folder"
    : undefined;
}
const realPathOnce = (filePath: string): string =>
  findOnce(`where ${filePath} leads`, () => followLinks(filePath));

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
const OWN_CODE = ["plugins", "prompts"];
// the model would read it
const TOLD_TO_MODEL = ["skills", "memory", "MEMORY.md", "IDENTITY.md", "SOUL.md", "RELATIONS.md"];

export const needTarget = (pathScope: PathScope, needKind: Kind, name: string): string =>
  isPathKind(needKind) ? realPath(pathScope, name) : name;
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
export function flagOf(verdict: Verdict | "only", needKind: Kind, ruleNames: string[]): string {
  const flagName = `--${verdict}-${needKind}`;
  const list = ruleNames.join(",");
  if (!list || ruleNames.some((ruleName) => /[,'\x00-\x1f]/.test(ruleName))) return flagName;
  return `${flagName}=${/^[\w./:@%+=*~,-]+$/.test(list) ? list : `'${list}'`}`;
}
