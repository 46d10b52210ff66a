// What the index lists and did not read: too large, minified, in another encoding, without a
// grammar that works. An answer that may lack something because of it says so.
import fs from "node:fs";
import type { Ctx } from "zz";
import type { Index } from "../index-view.ts";
import { isComponent, languageOf } from "../languages/table.ts";
import { mayRead } from "../may-read.ts";
import { isGenerated } from "../scan/generated-files.ts";
import { SCRIPT, toProjectPath } from "./answer-rows.ts";

const MAX_NAMED = 3; // files in a sentence
const MAX_LOOK_BYTES = 64_000_000; // of all files that are searched for one answer
const MAX_LOOK_MS = 400;
const MAX_WORDS = 8;

interface Unread {
  path: string;
  reason: string;
}
/** What an answer is about. */
export interface AnswerTopic {
  words?: string[]; // a file that has none of them lacks nothing
  anywhere?: boolean; // also as a part of a longer word
  path?: string | undefined; // of a file, or a folder
  like?: boolean; // only files whose language can use what the answer shows
  users?: boolean; // of the file at `path`
  imports?: boolean; // of all files
  map?: boolean;
}

const unreadByVersion = new WeakMap<object, Unread[]>(); // by the version of the index

/** The code that may be read and was not. */
export function unreadCode(index: Index, ctx: Ctx): Unread[] {
  let unreadFiles = unreadByVersion.get(index.version);
  if (!unreadFiles) {
    const unreadPaths = new Set(
      index.having(
        ',"unread":"',
        ',"parseError":"nested too deep',
        ',"parseError":"cannot be parsed',
      ),
    );
    unreadFiles = [...unreadPaths].sort().flatMap((path) => {
      const { unread, parseError } = (isCodeFile(path) && index.facts(path)) || {};
      const reason =
        unread ?? (/^(?:nested|cannot)/.test(parseError ?? "") ? parseError : undefined);
      return reason ? [{ path, reason: reason.replace(/\.$/, "") }] : [];
    });
    unreadByVersion.set(index.version, unreadFiles);
  }
  return unreadFiles.filter(({ path }) => mayRead(ctx, path));
}
const isCodeFile = (filePath: string) => SCRIPT.test(filePath) || !!languageOf(filePath);

/** The scripts and components that were not read and may use a thing of that name. */
export function unreadUsers(
  index: Index,
  symbolName: string,
  isGlobal: boolean,
  ctx: Ctx,
): Unread[] {
  const scripts = unreadCode(index, ctx).filter(({ path }) => familiesOf(path).includes("script"));
  return filesWithWords(scripts, { words: [symbolName], isImporting: !isGlobal }, ctx);
}

/** What the answer may lack, in a sentence; "": nothing. */
export function missingSentence(
  index: Index,
  topic: AnswerTopic,
  answer: { text: string; data?: unknown },
  ctx: Ctx,
): string {
  const unreadFiles = unreadCode(index, ctx);
  if (!unreadFiles.length) return "";
  if (/^Cannot .*\b(?:was|were) not read\b/.test(answer.text)) return ""; // said already
  const { words = [], path, users } = topic;
  const file = path === undefined ? "" : toProjectPath(path, ctx);
  const fileItself = unreadFiles.find((unreadFile) => unreadFile.path === file);
  if (fileItself && !users)
    return /not read/.test(answer.text)
      ? ""
      : `[Not read: ${listUnread([fileItself])}; grep searches it]`;
  const shown = new Set(answer.text.split("\n").map((row) => /^(.+?)(?::\d+:.*)?$/.exec(row)?.[1]));
  if (topic.map) {
    const others = unreadFiles.filter((unreadFile) => !isGenerated(unreadFile.path));
    const filesOnMap = others.filter((unreadFile) => shown.has(unreadFile.path));
    const likelyFiles = words.length
      ? filesWithWords(others, { words: words.slice(0, MAX_WORDS) }, ctx)
      : [];
    return sentence(
      [
        ...new Map(
          [...filesOnMap, ...likelyFiles].map((unreadFile) => [unreadFile.path, unreadFile]),
        ).values(),
      ],
      "Not read",
    );
  }
  if (topic.imports) {
    const importing = unreadFiles.filter((unreadFile) => !isGenerated(unreadFile.path));
    return sentence(importing, "Not read, so that what these import is not counted");
  }
  const answered = !users && topic.like ? pathsIn(answer.data) : [];
  const families = new Set((users ? [file] : answered).flatMap(familiesOf));
  const fitting = unreadFiles
    .filter((unreadFile) => !shown.has(unreadFile.path) && unreadFile.path !== file)
    .filter(
      (unreadFile) =>
        !families.size || familiesOf(unreadFile.path).some((family) => families.has(family)),
    );
  if (users)
    return sentence(
      filesWithWords(fitting, { words: importedAs(file), isImporting: SCRIPT.test(file) }, ctx),
      MAY_IMPORT,
    );
  const near = fitting.filter(
    (unreadFile) =>
      (!file || unreadFile.path.startsWith(`${file}/`)) &&
      !(topic.anywhere && isGenerated(unreadFile.path)),
  );
  const wanted = words.filter((topicWord) => /^\S+$/.test(topicWord));
  if (!wanted.length) return "";
  const having = filesWithWords(near, { words: wanted, anywhere: topic.anywhere ?? false }, ctx);
  return sentence(having, `Not read, though '${wanted[0]}' stands there`, "; grep shows where");
}
const MAY_IMPORT = "Not read, and may import it";

/** The message of a failure, and the answer that there is nothing, hold for what was read. */
export const qualifyText = (answerText: string): string =>
  answerText
    .replace(/': (?=(?:nothing|none|no code)\b)/, "': in what was read, ")
    .replace(/^Nothing imports/, "Nothing that was read imports");

function sentence(unreadFiles: Unread[], sentenceStart: string, sentenceEnd = ""): string {
  return unreadFiles.length ? `[${sentenceStart}: ${listUnread(unreadFiles)}${sentenceEnd}]` : "";
}

/** The first few with the reason, and how many more there are. */
export function listUnread(unreadFiles: Unread[]): string {
  const byReason = Map.groupBy(unreadFiles.slice(0, MAX_NAMED), ({ reason }) => reason);
  const reasonParts = [...byReason].map(
    ([reason, groupFiles]) => `${groupFiles.map(({ path }) => path).join(" and ")} (${reason})`,
  );
  return (
    reasonParts.join(", ") +
    (unreadFiles.length > MAX_NAMED ? ` and ${unreadFiles.length - MAX_NAMED} more` : "")
  );
}

/** Languages that use one another's things are one family. */
function familiesOf(filePath: string): string[] {
  if (SCRIPT.test(filePath)) return ["script"];
  if (isComponent(filePath)) return ["script", "markup"];
  const languageName = languageOf(filePath)?.name ?? "";
  return [
    ({ CSS: "markup", "C++": "C", Kotlin: "Java" } as Record<string, string>)[languageName] ??
      languageName,
  ];
}

/** The files that the data of an answer names. */
function pathsIn(answerData: unknown): string[] {
  if (!Array.isArray(answerData)) return [];
  return answerData.flatMap(({ path, places }: { path?: string; places?: { path: string }[] }) =>
    path ? [path] : (places ?? []).map((symbolUse) => symbolUse.path),
  );
}

/** What an import of the file has in it; nothing where that cannot be told. */
function importedAs(filePath: string): string[] {
  const [fileName = "", folderName] = filePath.split("/").reverse();
  const baseName = fileName.replace(/(?:\.d)?\.\w+$/, "");
  const isScript = SCRIPT.test(filePath) || isComponent(filePath);
  if (isScript ? baseName === "index" : /^(?:mod|main|lib|__init__)$/.test(baseName)) return [];
  return isScript || !folderName ? [baseName] : [baseName, folderName];
}

interface Wanted {
  words: string[]; // none: any file counts
  anywhere?: boolean;
  isImporting?: boolean; // only files that import something
}

/** Those whose bytes have one of the words, and those that would take too long to look into. */
function filesWithWords(unreadFiles: Unread[], criteria: Wanted, ctx: Ctx): Unread[] {
  const { clock } = ctx.io;
  const deadline = clock.now() + MAX_LOOK_MS;
  let remainingBytes = MAX_LOOK_BYTES;
  return unreadFiles.flatMap((unreadFile) => {
    const isHit = clock.now() < deadline ? searchFile(unreadFile.path) : undefined;
    if (isHit === undefined)
      return [{ ...unreadFile, reason: `${unreadFile.reason}, not searched` }];
    if (isHit) return [unreadFile];
    return [];
  });

  function searchFile(filePath: string): boolean | undefined {
    let fd: number | undefined;
    try {
      fd = ctx.files.open(ctx.files.path(filePath));
      remainingBytes -= fs.fstatSync(fd).size;
      return remainingBytes < 0 ? undefined : hasWord(fs.readFileSync(fd), criteria);
    } catch {
      return undefined;
    } finally {
      if (fd !== undefined) fs.closeSync(fd);
    }
  }
}

const IMPORT_SYNTAX = /\b(?:import|from|require)\s*\(?\s*["'`]|\bimport\s*\(/;

/** In any encoding that a text may have: UTF-16 has zeros between plain letters. */
function hasWord(
  fileBytes: Buffer,
  { words, anywhere = false, isImporting = false }: Wanted,
): boolean {
  const toPlainText = (content: Buffer) => content.toString("latin1").replaceAll("\0", "");
  const fileText = toPlainText(fileBytes);
  const wordForms = words
    .flatMap((word) => [
      Buffer.from(word),
      Buffer.from(word, "latin1"),
      encodeUtf16(word),
      encodeUtf16(word).swap16(),
    ])
    .map((wordForm) => toPlainText(wordForm).replace(/[^\w]/g, "\\$&"));
  const wordPattern = wordForms.join("|");
  const isThere =
    !words.length ||
    new RegExp(anywhere ? wordPattern : `(?<![\\w$])(?:${wordPattern})(?![\\w$])`).test(fileText);
  return isThere && (!isImporting || IMPORT_SYNTAX.test(fileText));
}
const encodeUtf16 = (word: string): Buffer => Buffer.from(word, "utf16le");
