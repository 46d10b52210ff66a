// Rules: AGENTS.md, else CLAUDE.md, from the top of the repository down to the working folder, and the texts they name.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Zz } from "zz";

const NAMES = ["AGENTS.md", "CLAUDE.md"];
const ROOM = 24_000; // characters of all rules together
const DRAWN = { most: 16, each: 6_000, room: 12_000 }; // files that they name
const TOLD = 20; // of those left out
const BUDGET = 11_000; // tokens: all of that, with titles
const PREFACE = "Rules for this project, the outermost first; where two differ, the later one holds.";
const CODE = /^ {0,3}(`{3,}|~{3,})[\s\S]*?^ {0,3}\1|`[^`\n]*`/gm;
/** `@path` and `[text](path)`. */
const REFERENCE = /(?<=^|[\s(])@([^\s()<>[\]"'`,;]+)|\]\(\s*<?([^\s()<>]+)/gm;

/** A text that may be used, by what it really is. */
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
      const same = last?.top === top && [...last.stamps].every(([file, stamp]) => stampOf(file) === stamp);
      if (!same) last = render(top, ctx);
      return last!.text;
    },
  });
};

/** As git finds it: the nearest folder with a .git in it. One that lies in somebody else's folder is none of ours. */
function topOf(root: string): string {
  const owner = statOf(root)?.uid;
  for (let folder = root; statOf(folder)?.uid === owner; folder = path.dirname(folder)) {
    if (fs.existsSync(path.join(folder, ".git"))) return folder;
    if (folder === path.dirname(folder)) break;
  }
  return root;
}

function render(top: string, { root, permissions }: Ctx): Rendered {
  const stamps = new Map<string, string>(); // of every file that was looked at, or looked for
  const leftOut = new Map<string, string>(); // why, by name
  const rules = foldersBetween(top, root).flatMap(ruleOf);
  const used = new Set(rules.map(({ file }) => file));
  const drawn = { count: 0, room: DRAWN.room };
  const parts = rules.flatMap(({ file, name, text }) => [block(name, text), ...named(file, name, text)]);
  const why = [...leftOut].map(([name, why]) => `${name.slice(0, 100)} (${why})`);
  const more = why.length - TOLD;
  if (more > 0) why.splice(TOLD, more, `${more} more`);
  if (why.length) parts.push(`[Left out: ${why.join(", ")}]`);
  return { top, text: parts.length ? [PREFACE, ...parts].join("\n") : "", stamps };

  /** At most one of a folder, the first that says anything. */
  function ruleOf(folder: string, _: number, { length }: string[]) {
    for (const one of NAMES) {
      const path_ = path.join(folder, one);
      const found = look(path_);
      const name = shown(path_);
      const text = typeof found === "string" ? found : textIn(found, Math.floor(ROOM / length));
      if (typeof found !== "string" && text !== undefined) {
        if (text) return [{ file: found.file, name, text }];
      } else if (found !== GONE) leftOut.set(name, text ?? BINARY);
    }
    return [];
  }

  /** What a text names is drawn in; what that names is not. */
  function named(from: string, name: string, text: string): string[] {
    const references = [...text.replace(CODE, "").matchAll(REFERENCE)].flatMap(([, at, link]) => pathIn(at ?? link!));
    return [...new Set(references)].flatMap((reference) => {
      const taken = draw(reference, from);
      if (typeof taken !== "string") return [block(`${taken.name}, named in ${name}`, taken.text)];
      leftOut.set(reference, taken);
      return [];
    });
  }

  /** A text, or why there is none. */
  function draw(reference: string, from: string): { name: string; text: string } | string {
    if (path.isAbsolute(reference) || reference.startsWith("~")) return "an absolute path";
    const found = look(path.resolve(path.dirname(from), reference));
    if (typeof found === "string") return found;
    if (found.file === from) return "itself";
    if (used.has(found.file)) return "already here";
    const most = Math.min(DRAWN.each, drawn.room);
    if (drawn.count === DRAWN.most || most < DRAWN.each / 10) return "no room; read it when it is needed";
    const text = textIn(found, most);
    if (text === undefined) return BINARY;
    used.add(found.file);
    drawn.count++;
    drawn.room -= text.length;
    return { name: shown(found.file), text };
  }

  /** What may be read is inside, after all links; of the project itself, what the gate lets be read unasked. */
  function look(file: string): Found | string {
    if (!isInside(top, file)) return OUTSIDE;
    stamps.set(file, stampOf(file));
    const stat = statOf(file);
    if (!stat) return GONE;
    const real = fs.realpathSync(file);
    if (!isInside(top, real)) return OUTSIDE;
    if (!stat.isFile()) return stat.isDirectory() ? "a folder" : "not a regular file";
    const { verdict } = permissions.judge("read", real);
    if (verdict === "deny" || (verdict === "ask" && isInside(root, real))) return "not to be read";
    return { file: real, size: stat.size };
  }

  function shown(file: string): string {
    return path.relative(root, file).replaceAll(path.sep, "/");
  }
}

const [GONE, OUTSIDE, BINARY] = ["no such file", "outside the project", "not text"];

const block = (title: string, text: string): string => `--- FILE ${title} ---\n${text}\n--- END FILE ${title} ---`;

/** A Markdown file's path, without what stands around it. */
function pathIn(reference: string): string[] {
  const bare = reference.replace(/[#?].*$/s, "").replace(/[.:!*_]+$/, "");
  if (!/\.mdx?$/i.test(bare) || /^[a-z][a-z\d+.-]+:/i.test(bare)) return [];
  try {
    return [decodeURIComponent(bare)].filter((name) => !name.includes("\0"));
  } catch {
    return [bare];
  }
}

/** The whole text, or its head and tail; of a long file no more is read than that. Undefined: it is not text. */
function textIn({ file, size }: Found, most: number): string | undefined {
  const fd = fs.openSync(file, "r");
  try {
    if (size <= most * 4) {
      const whole = part(0, size);
      if (whole === undefined || whole.trim().length <= most) return whole?.trim();
    }
    const [first, last] = [Math.floor(most * 0.7), Math.floor(most * 0.2)]; // a character has four bytes at most
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
    const left = size - Buffer.byteLength(before) - Buffer.byteLength(after);
    return `${before}\n[… ${left} bytes left out …]\n${after}`;
  } finally {
    fs.closeSync(fd);
  }

  function part(from: number, length: number): string | undefined {
    const bytes = Buffer.alloc(length);
    const read = fs.readSync(fd, bytes, 0, length, from);
    return bytes.subarray(0, read).includes(0) ? undefined : bytes.toString("utf8", 0, read).replace(/^\ufeff/, "");
  }
}

function foldersBetween(top: string, bottom: string): string[] {
  return bottom === top ? [top] : [...foldersBetween(top, path.dirname(bottom)), bottom];
}

function isInside(folder: string, file: string): boolean {
  const way = path.relative(folder, file);
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

/** Undefined where there is nothing, and where nobody may look. */
function statOf(file: string): fs.Stats | undefined {
  try {
    return fs.statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function stampOf(file: string): string {
  const { mtimeMs, size, ino } = statOf(file) ?? {};
  return `${mtimeMs} ${size} ${ino}`;
}
