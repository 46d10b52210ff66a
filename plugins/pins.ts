// /add and /drop: files whose current text the model has in every turn.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Span, Zz } from "zz";
import { sentenceOf, visible } from "zz/text";

const MAX_PINNED_CHARS = 60_000; // of all pinned files together
const MAX_FILE_CHARS = 24_000;
const BUDGET = 16_000; // tokens: all of that, with titles
const MAX_FILE_BYTES = 1024 * 1024;
const PREFACE =
  "Files that the person pinned, as they were when this turn began. Read one again after it was changed.";

export default (zz: Zz) => {
  // relative to the project, or absolute outside it
  const pinned = zz.state({ files: [] as string[] });

  zz.layer({
    name: "pinned",
    slot: "turn",
    budget: BUDGET,
    async text(ctx) {
      const maxChars = Math.min(MAX_FILE_CHARS, Math.floor(MAX_PINNED_CHARS / pinned.files.length));
      const parts = await Promise.all(pinned.files.map((name) => shown(name, maxChars, ctx)));
      return parts.length ? [PREFACE, ...parts].join("\n") : undefined;
    },
  });

  zz.command({
    name: "add",
    description: "pin files: the model gets their current text in every turn",
    examples: {
      "/add src/a.ts docs/b.md": "keep both files before the model",
      "/add": "list the pinned files",
    },
    usage: "[FILE …]",
    group: "conversation",
    complete: async (typed, { files }) => choices(typed, await files.list()),
    run: (argument, ctx) => addPins(pinned, argument, ctx),
  });

  zz.command({
    name: "drop",
    description: "unpin files",
    examples: { "/drop src/a.ts": "unpin a file", "/drop all": "unpin all" },
    usage: "FILE … | all",
    group: "conversation",
    complete: (typed) => choices(typed, [...pinned.files, ...(typed.includes(" ") ? [] : ["all"])]),
    run: (argument, ctx) => dropPins(pinned, argument, ctx),
  });
};

interface Pinned {
  files: string[];
}

async function addPins(pinned: Pinned, argument: string, ctx: Ctx): Promise<void> {
  const names = namesIn(argument);
  if (!names.length) return ctx.note(listed(pinned));
  const added: string[] = [];
  for (const name of names)
    try {
      const file = await pinnable(name, ctx);
      if (pinned.files.includes(file)) ctx.note(`'${file}' is pinned already.`);
      else {
        pinned.files.push(file);
        added.push(file);
      }
    } catch (error) {
      ctx.note(sentenceOf(error));
    }
  if (added.length) ctx.note(`Pinned ${visible(added.join(", "))}.`);
}

function dropPins(pinned: Pinned, argument: string, { root, note }: Ctx): void {
  const names = namesIn(argument);
  if (!names.length) return void note(`Say which, or "all". ${listed(pinned)}`);
  const dropsAll = argument.trim() === "all" && !pinned.files.includes("all");
  const wanted = dropsAll
    ? pinned.files
    : names.map((name) => nameOf(path.resolve(root, name), root));
  for (const name of wanted)
    if (!pinned.files.includes(name)) note(`'${visible(name)}' is not pinned. ${listed(pinned)}`);
  const dropped = pinned.files.filter((name) => wanted.includes(name));
  pinned.files = pinned.files.filter((name) => !dropped.includes(name));
  if (dropped.length || dropsAll)
    note(dropped.length ? `Dropped ${dropped.join(", ")}.` : listed(pinned));
}

function listed(pinned: Pinned): string {
  return pinned.files.length
    ? `Pinned: ${visible(pinned.files.join(", "))}.`
    : "Nothing is pinned. /add FILE pins a file.";
}

/**
 * The name to pin. The gate judges it as if the model read it; what needs an answer each time
 * cannot be pinned.
 */
async function pinnable(name: string, ctx: Ctx): Promise<string> {
  const refuse = (reason: string) => new Error(`Cannot pin '${name}': ${reason}`);
  const stat = fs.statSync(path.resolve(ctx.root, name), { throwIfNoEntry: false });
  if (stat?.isDirectory()) throw refuse("it is a folder. Name its files.");
  if (stat && stat.size > MAX_FILE_BYTES)
    throw refuse(`${stat.size} bytes are too many (1 MB). Let the model search it instead.`);
  const { failed, text } = await ctx.call("read_file", { path: name });
  if (failed) throw new Error(text.replace(/^Cannot read /, "Cannot pin "));
  try {
    const { bytes } = await ctx.files.read(name);
    if (bytes.subarray(0, 8_192).includes(0))
      throw refuse("it is not text. Mention a picture with @ instead.");
  } catch (error) {
    if (String(error).includes("Cannot pin")) throw error;
    throw refuse(
      `it is read again in every turn, so one yes is not enough. Answer A, or start with --allow-read.`,
    );
  }
  return nameOf(ctx.files.path(name), ctx.root);
}

/**
 * A pinned file's current text, or why there is none. The lines shown count as read, so that the
 * model may edit them.
 */
async function shown(name: string, maxChars: number, ctx: Ctx): Promise<string> {
  const block = (text: string) =>
    `--- FILE ${visible(name)} ---\n${text}\n--- END FILE ${visible(name)} ---`;
  try {
    const { size } = fs.statSync(ctx.files.path(name), { throwIfNoEntry: false }) ?? { size: 0 };
    if (size > MAX_FILE_BYTES) return block(`[${size} bytes are too many to show; search it]`);
    const { text, bytes, hash } = await ctx.files.read(name);
    if (bytes.subarray(0, 8_192).includes(0)) return block("[it is not text any more]");
    const wholeText = text.replace(/^\ufeff/, "").trimEnd();
    ctx.files.shown(name, linesLeft(wholeText, maxChars), hash);
    return block(cut(wholeText, maxChars));
  } catch (error) {
    return block(`[${sentenceOf(error)}]`);
  }
}

function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const [head, tail] = ends(text, maxChars);
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out; read the file for them …]\n${tail}`;
}

/** Both ends of a text, not cut within a surrogate pair. */
const ends = (text: string, maxChars: number): [head: string, tail: string] => [
  text.slice(0, Math.floor(maxChars * 0.7)).replace(/[\ud800-\udbff]$/, ""),
  text.slice(-Math.floor(maxChars * 0.2)).replace(/^[\udc00-\udfff]/, ""),
];

/** The lines that cut() leaves whole. */
function linesLeft(text: string, maxChars: number): Span[] {
  if (text.length <= maxChars) return [[1, Number.POSITIVE_INFINITY]];
  const [head, tail] = ends(text, maxChars).map((part) => part.split("\n").length - 1) as [
    number,
    number,
  ];
  const lineCount = text.split("\n").length;
  return [
    [1, head],
    [lineCount - tail + 1, Number.POSITIVE_INFINITY],
  ];
}

const nameOf = (file: string, root: string): string =>
  file.startsWith(root + path.sep) ? path.relative(root, file).replaceAll(path.sep, "/") : file;

/** Splits words; quoted names may contain spaces. */
const namesIn = (argument: string): string[] =>
  [...argument.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
    .map(([, doubleQuoted, singleQuoted, bare]) => doubleQuoted ?? singleQuoted ?? bare!)
    .filter(Boolean);

/** Choices for the last word; the words before it stay. */
function choices(typed: string, names: string[]): Choice[] {
  const before = typed.slice(0, typed.length - /("[^"]*|\S*)$/.exec(typed)![0].length);
  return names.map((name) => ({ name: before + (/\s/.test(name) ? `"${name}"` : name) }));
}
