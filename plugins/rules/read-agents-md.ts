// Reads the rules: AGENTS.md of the home; AGENTS.md, else CLAUDE.md, from the top of the repository
// down to the working folder; and the texts they reference.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { isInside, stampOf, tryTo } from "zz/text";

const RULE_FILES = ["AGENTS.md", "CLAUDE.md"];
const MAX_HOME_CHARS = 6_000;
const MAX_RULES_CHARS = 24_000; // of all rules together
const NAMED_FILES = { max: 16, maxChars: 6_000, room: 12_000 }; // that rules reference
const MAX_LEFT_OUT = 20; // files listed as left out
export const TOKEN_BUDGET = 12_500; // tokens: all of that, with titles
const PREFACE =
  "Rules for this project, the outermost first; where two differ, the later one holds.";
const CODE_BLOCK = /^ {0,3}(`{3,}|~{3,})[\s\S]*?^ {0,3}\1|`[^`\n]*`/gm;
/** `@path` and `[text](path)`. */
const REFERENCE = /(?<=^|[\s(])@([^\s()<>[\]"'`,;]+)|\]\(\s*<?([^\s()<>]+)/gm;

/** A text that may be used, with links followed. */
type Found = { file: string; size: number };
export type Rendered = Pick<Rendering, "top" | "stamps"> & { text: string };

/**
 * The repository as git finds it: the nearest folder with a .git in it, but not in another user's
 * folder.
 */
export function repositoryOf(root: string): string {
  const rootOwner = statsOf(root)?.uid;
  for (
    let parentFolder = root;
    statsOf(parentFolder)?.uid === rootOwner;
    parentFolder = path.dirname(parentFolder)
  ) {
    if (fs.existsSync(path.join(parentFolder, ".git"))) return parentFolder;
    if (parentFolder === path.dirname(parentFolder)) break;
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
  const homeFile = path.join(home, RULE_FILES[0]!);
  const file = tryTo(() => fs.realpathSync(homeFile));
  stamps.set(homeFile, stampOf(homeFile));
  if (!file || used.has(file)) return "";
  const fileStats = statsOf(file);
  if (!fileStats?.isFile()) return "";
  return readText({ file, size: fileStats.size }, MAX_HOME_CHARS, files.open) ?? "";
}

export function renderRules(top: string, { root, permissions, files, about }: Ctx): Rendered {
  const rendering: Rendering = {
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
  const folderRules = folders.flatMap((ruleFolder) =>
    ruleOf(rendering, ruleFolder, folders.length),
  );
  for (const { file } of folderRules) rendering.used.add(file);
  const ruleBlocks = folderRules.flatMap((folderRule) => [
    block(folderRule.name, folderRule.text),
    ...referencedBlocks(rendering, folderRule),
  ]);
  const homeRules = rulesOfHome(rendering, about.home);
  if (homeRules)
    ruleBlocks.unshift(
      block(`${RULE_FILES[0]} of the person's home, for every project`, homeRules),
    );
  const reasons = [...rendering.leftOut].map(
    ([leftOutName, leftOutReason]) => `${leftOutName.slice(0, 100)} (${leftOutReason})`,
  );
  const moreCount = reasons.length - MAX_LEFT_OUT;
  if (moreCount > 0) reasons.splice(MAX_LEFT_OUT, moreCount, `${moreCount} more`);
  if (reasons.length) ruleBlocks.push(`[Left out: ${reasons.join(", ")}]`);
  const text = ruleBlocks.length ? [PREFACE, ...ruleBlocks].join("\n") : "";
  return { top, text, stamps: rendering.stamps };
}

/** The rules of a folder: at most one file, the first that is not empty. */
function ruleOf(rendering: Rendering, ruleFolder: string, folderCount: number): Rule[] {
  for (const fileName of RULE_FILES) {
    const candidate = path.join(ruleFolder, fileName);
    const lookedUp = lookUp(rendering, candidate);
    if (lookedUp === NOT_THERE) continue;
    const name = shownPath(rendering, candidate);
    if (typeof lookedUp === "string") rendering.leftOut.set(name, lookedUp);
    else {
      const maxChars = Math.floor(MAX_RULES_CHARS / folderCount);
      const text = readText(lookedUp, maxChars, rendering.files.open);
      if (text) return [{ ...lookedUp, name, text }];
      if (text === undefined) rendering.leftOut.set(name, NOT_TEXT);
    }
  }
  return [];
}

/** Includes the files that a text references, but not those that they reference in turn. */
function referencedBlocks(rendering: Rendering, { file: ruleFile, name, text }: Rule): string[] {
  const references = [...text.replace(CODE_BLOCK, "").matchAll(REFERENCE)].flatMap(
    ([, mention, link]) => markdownPath(mention ?? link!),
  );
  return [...new Set(references)].flatMap((reference) => {
    const inclusion = include(rendering, reference, ruleFile);
    if (typeof inclusion !== "string")
      return [block(`${inclusion.name}, named in ${name}`, inclusion.text)];
    rendering.leftOut.set(reference, inclusion);
    return [];
  });
}

/** The text of a file that rules reference, or why it is left out. */
function include(
  rendering: Rendering,
  reference: string,
  ruleFile: string,
): { name: string; text: string } | string {
  const { used, included, files } = rendering;
  if (path.isAbsolute(reference) || reference.startsWith("~")) return "an absolute path";
  const lookedUp = lookUp(rendering, path.resolve(path.dirname(ruleFile), reference));
  if (typeof lookedUp === "string") return lookedUp;
  if (lookedUp.file === ruleFile) return "itself";
  if (used.has(lookedUp.file)) return "already here";
  const maxChars = Math.min(NAMED_FILES.maxChars, included.room);
  if (included.count === NAMED_FILES.max || maxChars < NAMED_FILES.maxChars / 10)
    return "no room; read it when it is needed";
  const text = readText(lookedUp, maxChars, files.open);
  if (text === undefined) return NOT_TEXT;
  used.add(lookedUp.file);
  included.count++;
  included.room -= text.length;
  return { name: shownPath(rendering, lookedUp.file), text };
}

/**
 * Accepts only files inside the repository, links followed, that hold no secrets, and of the
 * project only what may be read without asking.
 */
function lookUp({ top, root, stamps, permissions }: Rendering, wantedFile: string): Found | string {
  if (!isInside(top, wantedFile)) return OUTSIDE;
  stamps.set(wantedFile, stampOf(wantedFile));
  const fileStats = statsOf(wantedFile);
  if (!fileStats) return NOT_THERE;
  const realPath = fs.realpathSync(wantedFile);
  if (!isInside(top, realPath)) return OUTSIDE;
  if (!fileStats.isFile()) return fileStats.isDirectory() ? "a folder" : "not a regular file";
  const { verdict } = permissions.judge("read", realPath);
  const isAskedFor =
    verdict === "ask" && (isInside(root, realPath) || permissions.secret(realPath));
  if (verdict === "deny" || isAskedFor) return "not to be read";
  return { file: realPath, size: fileStats.size };
}

const shownPath = ({ root }: Rendering, absolutePath: string): string =>
  path.relative(root, absolutePath).replaceAll(path.sep, "/");

const [NOT_THERE, OUTSIDE, NOT_TEXT] = ["no such file", "outside the project", "not text"];

const block = (title: string, blockText: string): string =>
  `--- FILE ${title} ---\n${blockText}\n--- END FILE ${title} ---`;

/** A Markdown file's path, without the punctuation around it. */
function markdownPath(reference: string): string[] {
  const barePath = reference.replace(/[#?].*$/s, "").replace(/[.:!*_]+$/, "");
  if (!/\.mdx?$/i.test(barePath) || /^[a-z][a-z\d+.-]+:/i.test(barePath)) return [];
  try {
    return [decodeURIComponent(barePath)].filter((decodedPath) => !decodedPath.includes("\0"));
  } catch {
    return [barePath];
  }
}

/**
 * The whole text, or its head and tail; a long file is not read any further. Undefined if it is not
 * text.
 */
function readText(
  { file, size }: Found,
  maxChars: number,
  openFile: Ctx["files"]["open"],
): string | undefined {
  const descriptor = openFile(file);
  try {
    if (size <= maxChars * 4) {
      const wholeText = readPart(0, size);
      if (wholeText === undefined || wholeText.trim().length <= maxChars) return wholeText?.trim();
    }
    // at most 4 bytes a character
    const [headChars, tailChars] = [Math.floor(maxChars * 0.7), Math.floor(maxChars * 0.2)];
    const [headText, tailText] = [
      readPart(0, Math.min(size, headChars * 4)),
      readPart(Math.max(0, size - tailChars * 4), Math.min(size, tailChars * 4)),
    ];
    if (headText === undefined || tailText === undefined) return undefined;
    const keptHead = headText
      .trimStart()
      .slice(0, headChars)
      .replace(/[\ud800-\udbff\ufffd]$/, "");
    const keptTail = tailText
      .trimEnd()
      .slice(-tailChars)
      .replace(/^[\udc00-\udfff\ufffd]+/, "");
    const leftOutBytes = size - Buffer.byteLength(keptHead) - Buffer.byteLength(keptTail);
    return `${keptHead}\n[… ${leftOutBytes} bytes left out …]\n${keptTail}`;
  } finally {
    fs.closeSync(descriptor);
  }

  function readPart(partStart: number, partLength: number): string | undefined {
    const partBytes = Buffer.alloc(partLength);
    const bytesRead = fs.readSync(descriptor, partBytes, 0, partLength, partStart);
    return partBytes.subarray(0, bytesRead).includes(0)
      ? undefined
      : partBytes.toString("utf8", 0, bytesRead).replace(/^\ufeff/, "");
  }
}

function foldersBetween(topFolder: string, bottomFolder: string): string[] {
  return bottomFolder === topFolder
    ? [topFolder]
    : [...foldersBetween(topFolder, path.dirname(bottomFolder)), bottomFolder];
}

/** Undefined if it does not exist or must not be seen. */
const statsOf = (absolutePath: string): fs.Stats | undefined =>
  tryTo(() => fs.statSync(absolutePath, { throwIfNoEntry: false }));
