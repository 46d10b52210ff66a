// Rules: AGENTS.md of the home; AGENTS.md, else CLAUDE.md, from the top of the repository down to
// the working folder; and the texts they reference.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { isInside, stampOf, tryTo } from "zz/text";

const NAMES = ["AGENTS.md", "CLAUDE.md"];
const MAX_HOME_CHARS = 6_000;
const MAX_RULES_CHARS = 24_000; // of all rules together
const NAMED_FILES = { max: 16, maxChars: 6_000, room: 12_000 }; // that rules reference
const MAX_LEFT_OUT = 20; // files listed as left out
const BUDGET = 12_500; // tokens: all of that, with titles
const PREFACE =
  "Rules for this project, the outermost first; where two differ, the later one holds.";
const CODE = /^ {0,3}(`{3,}|~{3,})[\s\S]*?^ {0,3}\1|`[^`\n]*`/gm;
/** `@path` and `[text](path)`. */
const REFERENCE = /(?<=^|[\s(])@([^\s()<>[\]"'`,;]+)|\]\(\s*<?([^\s()<>]+)/gm;

/** A text that may be used, with links followed. */
type Found = { file: string; size: number };
type Rendered = { top: string; text: string; stamps: Map<string, string> };

export default (zz: Zz) => {
  let last: Rendered | undefined;
  zz.layer({
    name: "rules",
    slot: "rules",
    budget: BUDGET,
    text(ctx) {
      const top = topOf(ctx.root);
      const isUnchanged =
        last?.top === top && [...last.stamps].every(([file, stamp]) => stampFor(file) === stamp);
      if (!isUnchanged) last = render(top, ctx);
      return last!.text;
    },
  });
};

/**
 * The repository as git finds it: the nearest folder with a .git in it, but not in another user's
 * folder.
 */
function topOf(root: string): string {
  const owner = statOf(root)?.uid;
  for (let folder = root; statOf(folder)?.uid === owner; folder = path.dirname(folder)) {
    if (fs.existsSync(path.join(folder, ".git"))) return folder;
    if (folder === path.dirname(folder)) break;
  }
  return root;
}

type Rule = Found & { name: string; text: string };
/** What is gathered while the rules are read. */
interface Rendering {
  top: string;
  root: string;
  permissions: Ctx["permissions"];
  files: Ctx["files"];
  stamps: Map<string, string>; // of every file that was examined or looked for
  leftOut: Map<string, string>; // why, by name
  used: Set<string>;
  included: { count: number; room: number };
}

/** The person's own rules; "" if there are none, or the project is the home. */
function rulesOfHome({ stamps, used, files }: Rendering, home: string): string {
  const named = path.join(home, NAMES[0]!);
  const file = tryTo(() => fs.realpathSync(named));
  stamps.set(named, stampFor(named));
  const stat = file && !used.has(file) ? statOf(file) : undefined;
  if (!file || !stat?.isFile()) return "";
  return textIn({ file, size: stat.size }, MAX_HOME_CHARS, files.open) ?? "";
}

function render(top: string, { root, permissions, files, about }: Ctx): Rendered {
  const state: Rendering = {
    top,
    root,
    permissions,
    files,
    stamps: new Map(),
    leftOut: new Map(),
    used: new Set(),
    included: { count: 0, room: NAMED_FILES.room },
  };
  const folders = foldersBetween(top, root);
  const rules = folders.flatMap((folder) => ruleOf(state, folder, folders.length));
  for (const { file } of rules) state.used.add(file);
  const parts = rules.flatMap((rule) => [block(rule.name, rule.text), ...named(state, rule)]);
  const own = rulesOfHome(state, about.home);
  if (own) parts.unshift(block(`${NAMES[0]} of the person's home, for every project`, own));
  const reasons = [...state.leftOut].map(([name, reason]) => `${name.slice(0, 100)} (${reason})`);
  const moreCount = reasons.length - MAX_LEFT_OUT;
  if (moreCount > 0) reasons.splice(MAX_LEFT_OUT, moreCount, `${moreCount} more`);
  if (reasons.length) parts.push(`[Left out: ${reasons.join(", ")}]`);
  const { stamps } = state;
  return { top, text: parts.length ? [PREFACE, ...parts].join("\n") : "", stamps };
}

/** The rules of a folder: at most one file, the first that is not empty. */
function ruleOf(state: Rendering, folder: string, folderCount: number): Rule[] {
  for (const fileName of NAMES) {
    const candidate = path.join(folder, fileName);
    const looked = look(state, candidate);
    const name = shown(state, candidate);
    const text =
      typeof looked === "string"
        ? looked
        : textIn(looked, Math.floor(MAX_RULES_CHARS / folderCount), state.files.open);
    if (typeof looked !== "string" && text !== undefined) {
      if (text) return [{ ...looked, name, text }];
    } else if (looked !== GONE) state.leftOut.set(name, text ?? BINARY);
  }
  return [];
}

/** Includes the files that a text references, but not those that they reference in turn. */
function named(state: Rendering, { file: from, name, text }: Rule): string[] {
  const references = [...text.replace(CODE, "").matchAll(REFERENCE)].flatMap(([, mention, link]) =>
    pathIn(mention ?? link!),
  );
  return [...new Set(references)].flatMap((reference) => {
    const inclusion = include(state, reference, from);
    if (typeof inclusion !== "string")
      return [block(`${inclusion.name}, named in ${name}`, inclusion.text)];
    state.leftOut.set(reference, inclusion);
    return [];
  });
}

/** The text of a file that rules reference, or why it is left out. */
function include(
  state: Rendering,
  reference: string,
  from: string,
): { name: string; text: string } | string {
  const { used, included, files } = state;
  if (path.isAbsolute(reference) || reference.startsWith("~")) return "an absolute path";
  const looked = look(state, path.resolve(path.dirname(from), reference));
  if (typeof looked === "string") return looked;
  if (looked.file === from) return "itself";
  if (used.has(looked.file)) return "already here";
  const maxChars = Math.min(NAMED_FILES.maxChars, included.room);
  if (included.count === NAMED_FILES.max || maxChars < NAMED_FILES.maxChars / 10)
    return "no room; read it when it is needed";
  const text = textIn(looked, maxChars, files.open);
  if (text === undefined) return BINARY;
  used.add(looked.file);
  included.count++;
  included.room -= text.length;
  return { name: shown(state, looked.file), text };
}

/**
 * Accepts only files inside the repository, links followed, that hold no secrets, and of the
 * project only what may be read without asking.
 */
function look({ top, root, stamps, permissions }: Rendering, file: string): Found | string {
  if (!isInside(top, file)) return OUTSIDE;
  stamps.set(file, stampFor(file));
  const stat = statOf(file);
  if (!stat) return GONE;
  const real = fs.realpathSync(file);
  if (!isInside(top, real)) return OUTSIDE;
  if (!stat.isFile()) return stat.isDirectory() ? "a folder" : "not a regular file";
  const { verdict } = permissions.judge("read", real);
  const isAskedFor = verdict === "ask" && (isInside(root, real) || permissions.secret(real));
  if (verdict === "deny" || isAskedFor) return "not to be read";
  return { file: real, size: stat.size };
}

function shown({ root }: Rendering, file: string): string {
  return path.relative(root, file).replaceAll(path.sep, "/");
}

const [GONE, OUTSIDE, BINARY] = ["no such file", "outside the project", "not text"];

const block = (title: string, text: string): string =>
  `--- FILE ${title} ---\n${text}\n--- END FILE ${title} ---`;

/** A Markdown file's path, without the punctuation around it. */
function pathIn(reference: string): string[] {
  const bare = reference.replace(/[#?].*$/s, "").replace(/[.:!*_]+$/, "");
  if (!/\.mdx?$/i.test(bare) || /^[a-z][a-z\d+.-]+:/i.test(bare)) return [];
  try {
    return [decodeURIComponent(bare)].filter((name) => !name.includes("\0"));
  } catch {
    return [bare];
  }
}

/**
 * The whole text, or its head and tail; a long file is not read any further. Undefined if it is not
 * text.
 */
function textIn(
  { file, size }: Found,
  maxChars: number,
  open: Ctx["files"]["open"],
): string | undefined {
  const fd = open(file);
  try {
    if (size <= maxChars * 4) {
      const wholeText = part(0, size);
      if (wholeText === undefined || wholeText.trim().length <= maxChars) return wholeText?.trim();
    }
    // at most 4 bytes a character
    const [first, last] = [Math.floor(maxChars * 0.7), Math.floor(maxChars * 0.2)];
    const [head, tail] = [
      part(0, Math.min(size, first * 4)),
      part(Math.max(0, size - last * 4), Math.min(size, last * 4)),
    ];
    if (head === undefined || tail === undefined) return undefined;
    const before = head
      .trimStart()
      .slice(0, first)
      .replace(/[\ud800-\udbff\ufffd]$/, "");
    const after = tail
      .trimEnd()
      .slice(-last)
      .replace(/^[\udc00-\udfff\ufffd]+/, "");
    const leftOutBytes = size - Buffer.byteLength(before) - Buffer.byteLength(after);
    return `${before}\n[… ${leftOutBytes} bytes left out …]\n${after}`;
  } finally {
    fs.closeSync(fd);
  }

  function part(from: number, length: number): string | undefined {
    const bytes = Buffer.alloc(length);
    const read = fs.readSync(fd, bytes, 0, length, from);
    return bytes.subarray(0, read).includes(0)
      ? undefined
      : bytes.toString("utf8", 0, read).replace(/^\ufeff/, "");
  }
}

function foldersBetween(top: string, bottom: string): string[] {
  return bottom === top ? [top] : [...foldersBetween(top, path.dirname(bottom)), bottom];
}

/** Undefined if it does not exist or must not be seen. */
const statOf = (file: string): fs.Stats | undefined =>
  tryTo(() => fs.statSync(file, { throwIfNoEntry: false }));

/** Changes whenever the file does, also if it becomes readable or unreadable. */
const stampFor = (file: string): string => tryTo(() => stampOf(file)) ?? "";
