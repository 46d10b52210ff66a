// /add and /drop: files whose current text the model has in every turn.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Span, Zz } from "zz";
import { sentenceOf, visible } from "zz/text";

const MAX_PINNED_CHARS = 60_000; // of all pinned files together
const MAX_FILE_CHARS = 24_000;
const TOKEN_BUDGET = 16_000; // tokens: all of that, with titles
const MAX_FILE_BYTES = 1024 * 1024;
const PREFACE =
  "Files that the person pinned, as they were when this turn began. " +
  "Read one again after it was changed.";

export default (zz: Zz) => {
  // relative to the project, or absolute outside it
  const pinned = zz.state({ files: [] as string[] });

  zz.layer({
    name: "pinned",
    slot: "turn",
    budget: TOKEN_BUDGET,
    async text(ctx) {
      const maxChars = Math.min(MAX_FILE_CHARS, Math.floor(MAX_PINNED_CHARS / pinned.files.length));
      const fileBlocks = await Promise.all(
        pinned.files.map((pinnedName) => showFile(pinnedName, maxChars, ctx)),
      );
      return fileBlocks.length ? [PREFACE, ...fileBlocks].join("\n") : undefined;
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
    complete: async (typedText, { files }) => choices(typedText, await files.list()),
    run: (argument, ctx) => addPins(pinned, argument, ctx),
  });

  zz.command({
    name: "drop",
    description: "unpin files",
    examples: { "/drop src/a.ts": "unpin a file", "/drop all": "unpin all" },
    usage: "FILE … | all",
    group: "conversation",
    complete: (typedText) =>
      choices(typedText, [...pinned.files, ...(typedText.includes(" ") ? [] : ["all"])]),
    run: (argument, ctx) => dropPins(pinned, argument, ctx),
  });
};

interface Pinned {
  files: string[];
}

async function addPins(pinned: Pinned, argument: string, ctx: Ctx): Promise<void> {
  const typedNames = namesIn(argument);
  if (!typedNames.length) return ctx.note(listPins(pinned));
  const addedNames: string[] = [];
  for (const typedName of typedNames)
    try {
      const pinnedName = await pinnable(typedName, ctx);
      if (pinned.files.includes(pinnedName)) ctx.note(`'${pinnedName}' is pinned already.`);
      else {
        pinned.files.push(pinnedName);
        addedNames.push(pinnedName);
      }
    } catch (error) {
      ctx.note(sentenceOf(error));
    }
  if (addedNames.length) ctx.note(`Pinned ${visible(addedNames.join(", "))}.`);
}

function dropPins(pinned: Pinned, argument: string, { root, note }: Ctx): void {
  const typedNames = namesIn(argument);
  if (!typedNames.length) return void note(`Say which, or "all". ${listPins(pinned)}`);
  const dropsAll = argument.trim() === "all" && !pinned.files.includes("all");
  const wantedNames = dropsAll
    ? pinned.files
    : typedNames.map((typedName) => displayName(path.resolve(root, typedName), root));
  for (const wantedName of wantedNames)
    if (!pinned.files.includes(wantedName))
      note(`'${visible(wantedName)}' is not pinned. ${listPins(pinned)}`);
  const dropped = pinned.files.filter((pinnedName) => wantedNames.includes(pinnedName));
  pinned.files = pinned.files.filter((pinnedName) => !dropped.includes(pinnedName));
  if (dropped.length || dropsAll)
    note(dropped.length ? `Dropped ${dropped.join(", ")}.` : listPins(pinned));
}

function listPins(pinned: Pinned): string {
  return pinned.files.length
    ? `Pinned: ${visible(pinned.files.join(", "))}.`
    : "Nothing is pinned. /add FILE pins a file.";
}

/**
 * The name to pin. The gate judges it as if the model read it; what needs an answer each time
 * cannot be pinned.
 */
async function pinnable(typedName: string, ctx: Ctx): Promise<string> {
  const pinRefusal = (reason: string) => new Error(`Cannot pin '${typedName}': ${reason}`);
  const fileStats = fs.statSync(path.resolve(ctx.root, typedName), { throwIfNoEntry: false });
  if (fileStats?.isDirectory()) throw pinRefusal("it is a folder. Name its files.");
  if (fileStats && fileStats.size > MAX_FILE_BYTES)
    throw pinRefusal(
      `${fileStats.size} bytes are too many (1 MB). Let the model search it instead.`,
    );
  const { failed, text } = await ctx.call("read_file", { path: typedName });
  if (failed) throw new Error(text.replace(/^Cannot read /, "Cannot pin "));
  try {
    const { bytes } = await ctx.files.read(typedName);
    if (bytes.subarray(0, 8_192).includes(0))
      throw pinRefusal("it is not text. Mention a picture with @ instead.");
  } catch (error) {
    if (String(error).includes("Cannot pin")) throw error;
    throw pinRefusal(
      "it is read again in every turn, so one yes is not enough. " +
        "Answer A, or start with --allow-read.",
    );
  }
  return displayName(ctx.files.path(typedName), ctx.root);
}

/**
 * A pinned file's current text, or why there is none. The lines shown count as read, so that the
 * model may edit them.
 */
async function showFile(pinnedName: string, maxChars: number, ctx: Ctx): Promise<string> {
  const block = (blockText: string) =>
    `--- FILE ${visible(pinnedName)} ---\n${blockText}\n--- END FILE ${visible(pinnedName)} ---`;
  try {
    const { size } = fs.statSync(ctx.files.path(pinnedName), { throwIfNoEntry: false }) ?? {
      size: 0,
    };
    if (size > MAX_FILE_BYTES) return block(`[${size} bytes are too many to show; search it]`);
    const { text, bytes, hash } = await ctx.files.read(pinnedName);
    if (bytes.subarray(0, 8_192).includes(0)) return block("[it is not text any more]");
    const wholeText = text.replace(/^\ufeff/, "").trimEnd();
    ctx.files.shown(pinnedName, linesLeft(wholeText, maxChars), hash);
    return block(cutMiddle(wholeText, maxChars));
  } catch (error) {
    return block(`[${sentenceOf(error)}]`);
  }
}

function cutMiddle(wholeText: string, maxChars: number): string {
  if (wholeText.length <= maxChars) return wholeText;
  const [headText, tailText] = endsOf(wholeText, maxChars);
  return (
    `${headText}\n[… ${wholeText.length - headText.length - tailText.length} characters left ` +
    `out; read the file for them …]\n${tailText}`
  );
}

/** Both ends of a text, not cut within a surrogate pair. */
const endsOf = (wholeText: string, maxChars: number): [head: string, tail: string] => [
  wholeText.slice(0, Math.floor(maxChars * 0.7)).replace(/[\ud800-\udbff]$/, ""),
  wholeText.slice(-Math.floor(maxChars * 0.2)).replace(/^[\udc00-\udfff]/, ""),
];

/** The lines that cut() leaves whole. */
function linesLeft(wholeText: string, maxChars: number): Span[] {
  if (wholeText.length <= maxChars) return [[1, Number.POSITIVE_INFINITY]];
  const [headLines, tailLines] = endsOf(wholeText, maxChars).map(
    (endText) => endText.split("\n").length - 1,
  ) as [number, number];
  const lineCount = wholeText.split("\n").length;
  return [
    [1, headLines],
    [lineCount - tailLines + 1, Number.POSITIVE_INFINITY],
  ];
}

const displayName = (absolutePath: string, root: string): string =>
  absolutePath.startsWith(root + path.sep)
    ? path.relative(root, absolutePath).replaceAll(path.sep, "/")
    : absolutePath;

/** Splits words; quoted names may contain spaces. */
const namesIn = (argument: string): string[] =>
  [...argument.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)]
    .map(([, doubleQuoted, singleQuoted, bareName]) => doubleQuoted ?? singleQuoted ?? bareName!)
    .filter(Boolean);

/** Choices for the last word; the words before it stay. */
function choices(typedText: string, choiceNames: string[]): Choice[] {
  const earlierWords = typedText.slice(
    0,
    typedText.length - /("[^"]*|\S*)$/.exec(typedText)![0].length,
  );
  return choiceNames.map((choiceName) => ({
    name: earlierWords + (/\s/.test(choiceName) ? `"${choiceName}"` : choiceName),
  }));
}
