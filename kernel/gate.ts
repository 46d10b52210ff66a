// Chapter 5 of the kernel: what a tool may touch. The innermost step of every call, on the final arguments.
import fs from "node:fs";
import os from "node:os";
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
  usage,
} from "../zz.ts";
import { ZZ } from "./files.ts";
import { writePrivate } from "./store.ts";

export const KINDS: Kind[] = ["read", "write", "run", "net", "env"];
/** Files inside the project that hold secrets: reading them is asked for all the same. */
const SECRET =
  /(^|\/)(\.env(\..*)?|\.envrc|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx)|\.npmrc|\.netrc|\.pypirc|\.git-credentials|zz\.config\.json|keys\.json|env\.json)$/i;
/** Files that run by themselves some day: only their own name allows writing them, not a list that holds their folder. */
const GUARDED = /(^|\/)(\.git|\.zz)(\/|$)/i;

/** Where paths are looked for: the project, zz's home, and what the settings name. */
type Where = Core["options"];

const toRules = (verdict: Rule["verdict"], from: Rule["from"], rules: Rules = {}): Rule[] =>
  KINDS.flatMap((kind) => {
    const given = rules[kind];
    return given === true ? [{ verdict, kind, from }] : (given ?? []).map((name) => ({ verdict, kind, name, from }));
  });

/** From the flags, the settings, and what was kept for this folder; answers are added as they come. */
export function firstRules(where: Where): Rule[] {
  const { root, home, allow, deny, settings } = where;
  const { permissions } = settings;
  const flags = [...toRules("deny", "flag", deny), ...toRules("allow", "flag", allow)];
  const set = [...toRules("deny", "settings", permissions?.deny), ...toRules("allow", "settings", permissions?.allow)];
  return [...flags, ...set, ...readOnly(where), ...(keptRules(home)[root] ?? [])];
}

/** What may only be read, as rules too: the sandbox holds commands to them. Not where something in it may be written. */
function readOnly(where: Where): Rule[] {
  const others = projectsOf(where);
  const writable = [where.root, ...others.flatMap(({ rights, folder }) => (rights === "write" ? [folder] : []))];
  const shut = others.filter(({ rights, folder }) => rights === "read" && !writable.some((at) => isInside(folder, at)));
  return shut.map(({ folder: name }) => ({ verdict: "deny", kind: "write", name, from: "settings" }));
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

/**
 * A project that is to be read is not written. Deny wins, then allow, then what the tool says of its need, then: reading
 * the projects is allowed, all else is asked.
 */
export function judge({ rules, options }: Pick<Core, "rules" | "options">, kind: Kind, need: Need) {
  const { root } = options;
  const { name, verdict, why } = typeof need === "string" ? { name: need, verdict: undefined, why: "" } : need;
  const isFile = kind === "read" || kind === "write";
  const target = isFile ? realPath(options, name) : name;
  const guard = kind === "write" ? guardOf(options, target) : undefined;
  const shut = kind === "write" ? holderOf(options, target) : undefined;
  if (shut?.rights === "read")
    return { verdict: "deny" as const, why: `the settings let project '${shut.id}' be read, not written` };
  const ruled = (by: Rule["verdict"], exactly: boolean) =>
    rules.find((rule) => rule.kind === kind && rule.verdict === by && covers(rule, exactly));
  const exactly = verdict === "ask" || guard === "itself";
  const rule = ruled("deny", false) ?? (verdict === "deny" ? undefined : ruled("allow", exactly));
  if (rule) return { verdict: rule.verdict, why: `by ${nameOfRule(rule)}` };
  if (verdict) return { verdict, why };
  const led = isFile && target !== placeOf(options, name) ? `it leads to '${target}'` : "";
  const other = kind !== "read" || isInside(root, target) ? undefined : holderOf(options, target);
  if (kind !== "read" || !(other || isInside(root, target))) return { verdict: "ask" as const, why: led };
  return SECRET.test(target)
    ? { verdict: "ask" as const, why: "it may hold secrets" }
    : { verdict: "allow" as const, why: other ? `reading project '${other.id}'` : "reading the project" };

  /**
   * Writing outside of the project is allowed by name alone; and so, unless all is allowed, is what has a guard, and what
   * becomes a part of zz: it would run outside of the sandbox that commands run in.
   */
  function covers({ name, verdict, exact = false }: Rule, exactly: boolean): boolean {
    if (name === undefined && kind === "run" && PLUGIN.test(target)) return verdict === "deny" || isAll(options);
    if (name === undefined)
      return kind !== "write" || verdict === "deny" || (isInside(root, target) && (!guard || isAll(options)));
    const own = isFile ? realPath(options, name) : name;
    // A link in a project does not carry a rule for its name out of it.
    const from = isFile && verdict === "allow" ? holderOf(options, placeOf(options, name)) : undefined;
    if (from && from.id !== holderOf(options, own)?.id) return false;
    if (own === target || exactly || exact) return own === target;
    if (isFile) return isInside(own, target) && !(verdict === "allow" && guard && isInside(own, root));
    if (kind === "run") return target.startsWith(`${own} `);
    if (kind === "net") return target.startsWith(`${own}:`) || (own.startsWith("*.") && target.endsWith(own.slice(1)));
    return own.endsWith("*") && target.startsWith(own.slice(0, -1));
  }
}

const PLUGIN = /^plugin [\w-]+$/;

/** --allow-all, or every --allow-KIND without a list. */
const isAll = ({ allow }: Where): boolean => KINDS.every((kind) => allow?.[kind] === true);

/** What a rule for all of the project does not let be written: the file itself must be named, or a folder around it. */
function guardOf({ home }: Where, file: string): "itself" | "folder" | undefined {
  const isOwn = (names: string[]) => names.some((name) => isInside(followed(path.join(home, name)), file));
  if (GUARDED.test(file) || isOwn(home === PACKAGE ? RULING : [...RULING, ...CODE])) return "itself";
  return isOwn(TOLD) ? "folder" : undefined;
}
/** What zz itself goes by: a tool that could write it could allow itself anything. A checkout's plugins are its code. */
const RULING = [
  "sessions",
  "permissions.json",
  "trust.json",
  "known-plugins.json",
  "plugins.lock.json",
  "zz.config.json",
  "keys.json",
  "env.json",
  "history",
  "debug.log",
];
const CODE = ["plugins", "prompts"];
/** What the model is told from then on. */
const TOLD = ["skills", "memory", "MEMORY.md", "IDENTITY.md", "SOUL.md", "RELATIONS.md"];

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
  else open.set(`${kind} ${name}`, { kind, name, why, whole: typeof need !== "string" && !PLUGIN.test(name) });
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
      ...(text ? text.split("\n").flatMap((line) => barred(inner(line))) : []),
      `┠ ${oneLine(flags)} skips this question.`,
      `┗ Allow? [${Object.keys(keys).join("/")}] (${Object.entries(keys)
        .map(([key, does]) => `${key} = ${oneLine(does)}`)
        .join(", ")}) `,
    ].join("\n");
  }
}

/** Where a terminal would break a line, each row keeps its bar: no text stands where the words of a question do. */
function barred(line: string): string[] {
  const room = Math.max((process.stderr.columns || Number.POSITIVE_INFINITY) - 2, 10);
  const rows: string[] = [];
  let [row, width, paint] = ["", 0, ""];
  for (const [piece, style] of line.matchAll(/(\x1b\[[\d;]*m|\x1b\]8;;[!-~]*\x1b\\)|./gsu)) {
    if (style) paint = /^\x1b\[0?m$/.test(style) ? "" : paint + style;
    const wide = style || /\p{M}/u.test(piece) ? 0 : WIDE.test(piece) ? 2 : 1;
    if (width + wide > room) {
      rows.push(paint ? `${row}\x1b[0m` : row);
      [row, width] = [paint, 0];
    }
    row += piece;
    width += wide;
  }
  return [...rows, row].map((row) => `┃ ${row}`);
}
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** A line that nobody could read is shown by its ends. */
const inner = (line: string): string =>
  line.length > LONGEST_LINE
    ? `${line.slice(0, LONGEST_LINE / 2)} [… ${line.length - LONGEST_LINE} characters …] ${line.slice(-LONGEST_LINE / 2)}`
    : line;
const LONGEST_LINE = 4_000;

/** Writing in the project is one permission; all else goes by its name. */
function always({ options }: Core, { kind, name }: Open): Rule {
  const target = kind === "write" ? realPath(options, name) : "";
  const wide = kind === "write" && isInside(options.root, target) && !guardOf(options, target);
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
export function realPath(where: Where, name: string): string {
  if (name.includes("\0"))
    throw fault(`Cannot use path '${name.replaceAll("\0", "\\0")}': it holds a NUL byte. Leave it out.`);
  if (name.split("/").length > DEEPEST_PATH)
    throw fault(`Cannot use path '${name.slice(0, 60)}…': it is nested too deep. Check it.`);
  return followed(placeOf(where, name));
}

export function followed(file: string): string {
  let existing = file;
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

// ── other projects ──

/** Another folder that the settings name. The project itself has no id. */
type Project = { id: string; folder: string; rights: "read" | "write" };
const PROJECT_ID = /^[A-Za-z0-9][A-Za-z0-9._-]+$/; // a single letter is a drive on Windows
const LIKE = '{ "path": "~/lib", "rights": "read" }, or "write", with "about" for a line on it';

function projectsOf({ settings: { projects = {} } }: Where): Project[] {
  checkProjects(projects); // also what was set since
  return Object.entries(projects as Record<string, { path: string; rights: Project["rights"] }>).map(
    ([id, { path: name, rights }]) => ({
      id,
      folder: followed(path.resolve(name.replace(/^~(?=\/|$)/, os.homedir()))),
      rights,
    }),
  );
}

/** A right that is misspelt must not be taken for another. */
function checkProjects(given: unknown): void {
  const refuse = (what: string, why: string) => usage(`Cannot use ${what} in the settings: ${why}. Mend it.`);
  const isMap = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isMap(given)) throw refuse('"projects"', `they must be by id, as in { "lib": ${LIKE} }`);
  for (const [id, project] of Object.entries(given as object)) {
    const { path: name, rights, about = "", ...others } = Object(project);
    const shown = `project '${clean(id).replaceAll("\n", "␊")}'`;
    if (!PROJECT_ID.test(id)) throw refuse(shown, "an id is two or more letters, digits, '.', '_' or '-'");
    const isPath = typeof name === "string" && /^(~?\/|~$)/.test(name);
    const isRight = ["read", "write"].includes(rights);
    if (!isPath || !isRight || typeof about !== "string" || Object.keys(others).length)
      throw refuse(shown, `it must be like ${LIKE}`);
  }
}

/** What a name stands for, links not followed. `id:path` lies in another project, unless a file here is called so. */
export function placeOf(where: Where, name: string): string {
  const [first = "", id] = /^([^/:]+):[^/]*/.exec(name) ?? [];
  const other = id === undefined ? undefined : projectsOf(where).find((project) => project.id === id);
  const isHere = other && tryTo(() => fs.lstatSync(path.join(where.root, first))) !== undefined;
  return other && !isHere ? path.join(other.folder, name.slice(other.id.length + 1)) : path.resolve(where.root, name);
}

/** The innermost of all projects that a file lies in, this one included. */
export function holderOf(where: Where, file: string): Project | undefined {
  const here: Project = { id: "", folder: where.root, rights: "write" };
  return [here, ...projectsOf(where)]
    .filter(({ folder }) => isInside(folder, file))
    .sort((a, b) => b.folder.length - a.folder.length)[0];
}

/** The shortest name by which a file is found again. */
export function shortName(where: Where, file: string): string {
  const { root } = where;
  const { id, folder } = isInside(root, file) ? { id: "", folder: root } : (holderOf(where, file) ?? {});
  const name = folder === undefined ? file : (id && `${id}:`) + path.relative(folder, file);
  return placeOf(where, name) === file ? name : file;
}
