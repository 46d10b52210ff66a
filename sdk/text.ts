// zz/text: functions that zz itself uses, for plugins.
import type { Ctx, PluginIo } from "../kernel/contract.ts";
import { CHARS_PER_TOKEN, plural } from "../kernel/text/words.ts";
import type { DecodeContext, Decoding } from "./decode.ts";

export {
  deltasOf,
  type EventPiece,
  eventPieces,
} from "../kernel/conversation/server-sent-events.ts";
export { runsByItself } from "../kernel/gate/sensitive-paths.ts";
export { checkSettings } from "../kernel/settings/plugin-settings.ts";
export { acquireLock, updatePrivateFile } from "../kernel/system/locks.ts";
export { SYSTEM_FOLDERS } from "../kernel/system/other-programs.ts";
export { removeTree, temporaryFolder } from "../kernel/system/temporary-files.ts";
export { nearest, unknown } from "../kernel/text/did-you-mean.ts";
/** `import { plural, clip } from "zz/text"`: functions that zz itself uses, for plugins. They need
 * only Node, and string-width for terminals. */
export { codeOf, errnoSentence, fault, sentenceOf, usage } from "../kernel/text/faults.ts";
export { joinHalves } from "../kernel/text/join-continuation.ts";
export { wrongInSchema } from "../kernel/text/json-schema.ts";
export { fitsStars } from "../kernel/text/name-patterns.ts";
export {
  entriesOf,
  expandHome,
  fileBeside,
  fileToWrite,
  isInside,
  isInsideAny,
  repositoryTop,
  stampOf,
  textOf,
  whoReads,
} from "../kernel/text/read-quietly.ts";
export { clean, cleanRendered, visible } from "../kernel/text/show-safely.ts";
export {
  anyOf,
  byName,
  CHARS_PER_TOKEN,
  compare,
  isDeep,
  isObject,
  jsonOrText,
  ownValue,
  partsOf,
  plural,
  shorten,
  sumUsage,
  tryTo,
  writtenTextOf as wordsOf,
} from "../kernel/text/words.ts";
export { addressesOf, isNamed, isPlainlyLocal, lookupAmong, whyNotPublic } from "./address.ts";
export type { Decoded, Decoding, Job } from "./decode.ts";
export { makeFolder, writeWhole } from "./files.ts";
export { codeBlocks, readJson } from "./json-in-answers.ts";
export {
  MAX_MEDIA_BYTES,
  type Media,
  type MediaFile,
  mediaIn,
  mediaOf,
  readMedia,
} from "./media.ts";
export {
  type News,
  PROBE_MS,
  pacing,
  type RequestCount,
  type Sent,
  TRANSIT_MS,
} from "./pacing.ts";
export { type Picker, type PickerRow, pickRow } from "./picker.ts";
export { type RateLimit, rateLimitIn, spanOf } from "./rate-limits.ts";
export { shortSchema } from "./short-schema.ts";
export { keptVariables, MIN_VALUE_CHARS, withoutValues } from "./variables.ts";
export { clip, ERASE_BELOW, rewrapsLines, terminalColumns, width, wrap } from "./width.ts";
export { workedMs, workLimit } from "./work-limit.ts";

/**
 * What a job in a process of its own makes of strangers' bytes. Throws why it cannot, as what
 * follows "Cannot read 'x': ".
 */
export const decode = async <Value>(
  decoding: Decoding,
  ctx: DecodeContext,
): Promise<{ value: Value; bytes: Buffer[] }> =>
  (await import("./decode.ts")).decode<Value>(decoding, ctx);

/**
 * A terminal as a picker gets it: the streams of the terminal outlive the picker, which ends its
 * output.
 */
export const pickerStreams = (
  input: NodeJS.ReadableStream,
  outputStream: NodeJS.WritableStream,
) => ({
  input,
  output: Object.create(outputStream, { end: { value: () => {} } }) as NodeJS.WritableStream,
});

/** Where a picker is shown; it erases itself if the person leaves it. One for each. */
export function pickerContext(
  signal?: AbortSignal,
  { stdin, stderr }: Pick<PluginIo, "stdin" | "stderr"> = process,
) {
  let hasLeft = false;
  const seeKey = (_: unknown, pressedKey?: { name?: string; ctrl?: boolean }) =>
    void (hasLeft =
      pressedKey?.name === "escape" ||
      (pressedKey?.ctrl === true && /^[cd]$/.test(pressedKey.name ?? "")));
  stdin.on("keypress", seeKey);
  return {
    ...pickerStreams(stdin, stderr),
    ...(signal && { signal }),
    get clearPromptOnDone(): boolean {
      stdin.off("keypress", seeKey); // it is asked for at the end
      return hasLeft || signal?.aborted === true;
    },
  };
}

/** Whether the person wants words instead of signs and drawings: `display.plain`, or TERM=dumb. */
export const wantsWords = (io: PluginIo, ctx: Pick<Ctx, "settings"> | undefined): boolean =>
  io.variable("TERM") === "dumb" ||
  ctx?.settings.list().find(({ name }) => name === "display.plain")?.value === true;

/**
 * A question of zz without the frame around it and without the keys and flags that answer it: for
 * programs that have buttons.
 */
export const withoutFrame = (question: string): string =>
  question
    .split("\n")
    .filter((questionLine) => !/^┗ |^┠ .*skips this question\.$/.test(questionLine))
    .map((questionLine) => questionLine.replace(/^[┏┠┃] ?/, ""))
    .join("\n");

/** Turns each run of white space into one space. */
export const oneLine = (spacedText: string): string => spacedText.replace(/\s+/g, " ").trim();

/** `12,345`. toLocaleString() gives the same, after 10 ms of loading what it knows of languages. */
export const thousands = (count: number): string =>
  String(count).replace(/(?<=^-?\d+)(?=(\d{3})+$)/g, ",");

/** `512 bytes`, `3.1 kB`, `31 MB`. */
export function sizeInWords(byteCount: number): string {
  if (byteCount < 1e3) return plural(byteCount, "byte");
  const unit = Math.floor(Math.log10(byteCount) / 3);
  const amount = byteCount / 1e3 ** unit;
  return `${amount.toFixed(amount < 10 ? 1 : 0)} ${"kMGT"[unit - 1]}B`;
}

/** The approximate number of tokens in a text. */
export const tokensOf = (sourceText: string): number =>
  Math.ceil(sourceText.length / CHARS_PER_TOKEN);

/** A note on files whose names are not UTF-8: in a list some bytes of such a name are replaced, so
 * that what it shows is not the name of a file. */
export function notUtf8(
  root: string,
  fileNames: readonly string[],
  outcomeWords: string,
): string[] {
  const { lstatSync } = process.getBuiltinModule("node:fs");
  const lostNames = fileNames.filter(
    (fileName) =>
      fileName.includes("\ufffd") && !lstatSync(`${root}/${fileName}`, { throwIfNoEntry: false }),
  );
  return lostNames.length
    ? [
        `[${plural(lostNames.length, "file")} ${outcomeWords}, ` +
          `for ${lostNames.length === 1 ? "its name is" : "their names are"} not UTF-8]`,
      ]
    : [];
}
