// Separates pastes and the terminal's own reports from keys in its input; long pastes are stored,
// and shown by a short name in the line.
import type { Zz } from "zz";
import { clean } from "zz/text";

// a terminal sends these around a paste
const [PASTE_START, PASTE_END] = ["\x1b[200~", "\x1b[201~"];
const CTRL_C = Buffer.from("\x03");
const LOST_END_MS = 500; // after a pause like this Ctrl+C ends a paste
// what follows Escape within this time belongs to it: the rest of a key or of a marker, or Alt
const ESCAPE_MS = 50;
const STARTED_KEY = /\x1b+(?:\[[[\d;?<=>]*|O\d?)?$/; // the markers begin like keys

/**
 * What a terminal says of itself when a program asks: its features, size, colours, version, place
 * of the cursor, keyboard and graphics. Whoever asked may be gone when the answer comes, and nobody
 * typed it. F3 with Shift, Ctrl or Alt looks like a place of the cursor in the first row.
 */
const STRING_CONTENT = "[^\\x07\\x1b\\x03\\r]*";
// colours and the like; features; graphics
const STRINGS = String.raw`\x1b(?:\]\d+;|P[\d;]*[$+>!|]|_G)`;
const REPORT_PATTERN = new RegExp(
  [
    String.raw`\x1b\[(?:[?>=][\d;]*[cunRtS]|\??[\d;]+\$y|\d[\d;]*[nt]|(?!1;[2-8]R)\d+;\d+R)`,
    String.raw`${STRINGS}${STRING_CONTENT}(?:\x07|\x1b\\)`,
  ].join("|"),
  "g",
);
/** A beginning that no hand types: what belongs to it may take its time, and is never typed. */
const STARTED_REPORT = new RegExp(
  String.raw`(?:\x1b\[(?:[?>=]|\d+;)[\d;]*\$?|${STRINGS}${STRING_CONTENT}\x1b?)$`,
);
const STARTED_STRING = /\x1b(?:\]\d*|P[\d;]*|_)$/; // or a key with Alt
const MAX_REPORT_BYTES = 4_096;
const REPORT_MS = 1_000;

/** Reads the terminal's input, however its bytes are split. */
interface PasteReader {
  readonly clock: Zz["io"]["clock"];
  onKeys(inputBytes: Buffer): void;
  onPaste(pastedText: string): void;
  onReport?(reportText: string): void; // what the terminal said of itself
  paste: Buffer[] | undefined; // the pieces of one that has not ended
  heldBack: Buffer; // bytes that may be the beginning of a key or of a marker
  stopHolding(): void;
  lastReadAt: number;
}

type Hears = Pick<PasteReader, "clock" | "onKeys" | "onPaste" | "onReport">;
export const openPasteReader = (listeners: Hears): PasteReader => ({
  ...listeners,
  paste: undefined,
  heldBack: Buffer.alloc(0),
  stopHolding: () => {},
  lastReadAt: 0,
});

export function readInput(reader: PasteReader, inputBytes: Buffer): void {
  reader.stopHolding();
  const pauseLength = reader.clock.now() - reader.lastReadAt;
  reader.lastReadAt = reader.clock.now();
  // its end was lost
  if (reader.paste && pauseLength > LOST_END_MS && inputBytes.equals(CTRL_C))
    inputBytes = Buffer.from(PASTE_END);
  let remaining: Buffer = Buffer.concat([reader.heldBack, inputBytes]);
  for (;;) {
    const nextMarker = reader.paste ? PASTE_END : PASTE_START;
    const markerIndex = remaining.indexOf(nextMarker);
    if (markerIndex < 0) break;
    deliver(
      reader,
      reader.paste
        ? remaining.subarray(0, markerIndex)
        : withoutReports(reader, remaining.subarray(0, markerIndex)),
    );
    remaining = remaining.subarray(markerIndex + nextMarker.length);
    if (reader.paste) reader.onPaste(Buffer.concat(reader.paste).toString("utf8"));
    reader.paste = reader.paste ? undefined : [];
  }
  if (!reader.paste) remaining = withoutReports(reader, remaining);
  const complete =
    remaining.length - (reader.paste ? startedEndLength(remaining) : startedKeyLength(remaining));
  deliver(reader, remaining.subarray(0, complete));
  reader.heldBack = Buffer.from(remaining.subarray(complete));
  if (reader.heldBack.length && !reader.paste)
    reader.stopHolding = isStartedReport(reader.heldBack)
      ? reader.clock.timer(REPORT_MS, () => void (reader.heldBack = Buffer.alloc(0)))
      : reader.clock.timer(ESCAPE_MS, () => deliverHeldBack(reader));
}

function withoutReports({ onReport }: PasteReader, inputBytes: Buffer): Buffer {
  if (!inputBytes.includes(ESCAPE_BYTE)) return inputBytes;
  const typedKeys = inputBytes.toString("latin1").replace(REPORT_PATTERN, (reportText) => {
    onReport?.(reportText);
    return "";
  });
  return Buffer.from(typedKeys, "latin1");
}
const ESCAPE_BYTE = 0x1b;
const isStartedReport = (inputBytes: Buffer): boolean =>
  STARTED_REPORT.test(inputBytes.toString("latin1"));

/**
 * Keeps reports from whatever reads a terminal; who asks for one hears the event "report". Returns
 * what ends that.
 */
export function keepReportsFrom(stdin: NodeJS.ReadStream, clock: PasteReader["clock"]): () => void {
  const { push } = stdin;
  const pushBytes = (inputBytes: Buffer) => void push.call(stdin, inputBytes);
  const onPaste = (pastedText: string) =>
    pushBytes(Buffer.from(PASTE_START + pastedText + PASTE_END));
  const reader = openPasteReader({
    clock,
    onKeys: pushBytes,
    onPaste,
    onReport: (reportText) => stdin.emit("report", reportText),
  });
  stdin.push = (inputBytes, ...encoding) => {
    if (!Buffer.isBuffer(inputBytes)) return push.call(stdin, inputBytes, ...encoding);
    readInput(reader, inputBytes);
    if (!reader.paste && !isStartedReport(reader.heldBack)) {
      reader.stopHolding();
      deliverHeldBack(reader); // readline waits for the rest of a key itself
    }
    return true;
  };
  return () => {
    stdin.push = push;
    reader.stopHolding();
    if (reader.heldBack.length) stdin.unshift(reader.heldBack); // its rest may come yet
  };
}

function deliverHeldBack(reader: PasteReader): void {
  const heldBytes = reader.heldBack;
  reader.heldBack = Buffer.alloc(0);
  deliver(reader, heldBytes);
}

function deliver({ paste, onKeys }: PasteReader, inputBytes: Buffer): void {
  if (!inputBytes.length) return;
  if (paste) paste.push(Buffer.from(inputBytes));
  else onKeys(inputBytes);
}

/** How many of the last bytes may be the beginning of the marker that ends a paste. */
function startedEndLength(inputBytes: Buffer): number {
  for (
    let startLength = Math.min(PASTE_END.length - 1, inputBytes.length);
    startLength > 0;
    startLength--
  )
    if (
      inputBytes.toString("latin1", inputBytes.length - startLength) ===
      PASTE_END.slice(0, startLength)
    )
      return startLength;
  return 0;
}

const MAX_KEY_BYTES = 32;
/**
 * How many of the last bytes may be the beginning of a key, or of the marker that begins a paste.
 */
function startedKeyLength(inputBytes: Buffer): number {
  const readLast = (maxBytes: number) =>
    inputBytes.toString("latin1", Math.max(0, inputBytes.length - maxBytes));
  const startedKey =
    STARTED_KEY.exec(readLast(MAX_KEY_BYTES)) ?? STARTED_STRING.exec(readLast(MAX_KEY_BYTES));
  return Math.max(
    startedKey?.[0].length ?? 0,
    STARTED_REPORT.exec(readLast(MAX_REPORT_BYTES))?.[0].length ?? 0,
  );
}

/** The pasted text with plain line ends and no control characters. */
export const normalizePaste = (pastedText: string): string =>
  clean(pastedText.replace(/\r\n?/g, "\n"));

const MAX_INLINE_CHARS = 400; // a longer paste is shown by its size
const MAX_INLINE_LINES = 8;
const MAX_KEPT_PASTES = 10;

/** Long pastes, so that the last few can be sent again from the history. */
export interface Pastes {
  count: number;
  readonly byName: Map<string, string>; // the name shown in the line
}

export const newPastes = (): Pastes => ({ count: 0, byName: new Map() });

/** What a paste puts into the line: its text, or the name of a long one. */
export function textInLine(storedPastes: Pastes, pastedText: string): string {
  const lineCount = pastedText.split("\n").length;
  if (pastedText.length <= MAX_INLINE_CHARS && lineCount <= MAX_INLINE_LINES) return pastedText;
  const pasteName =
    `[paste ${++storedPastes.count}: ` +
    `${lineCount > 1 ? `${lineCount} lines` : `${pastedText.length} characters`}]`;
  storedPastes.byName.set(pasteName, pastedText);
  if (storedPastes.byName.size > MAX_KEPT_PASTES)
    storedPastes.byName.delete(storedPastes.byName.keys().next().value!);
  return pasteName;
}

/** The line with the names of pastes replaced by their texts. */
export function expandPastes({ byName }: Pastes, typedLine: string): string {
  for (const [pasteName, pastedText] of byName)
    typedLine = typedLine.replace(pasteName, () => pastedText);
  return typedLine;
}
