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
const STRING = "[^\\x07\\x1b\\x03\\r]*";
// colours and the like; features; graphics
const STRINGS = String.raw`\x1b(?:\]\d+;|P[\d;]*[$+>!|]|_G)`;
const REPORT = new RegExp(
  [
    String.raw`\x1b\[(?:[?>=][\d;]*[cunRtS]|\??[\d;]+\$y|\d[\d;]*[nt]|(?!1;[2-8]R)\d+;\d+R)`,
    String.raw`${STRINGS}${STRING}(?:\x07|\x1b\\)`,
  ].join("|"),
  "g",
);
/** A beginning that no hand types: what belongs to it may take its time, and is never typed. */
const STARTED_REPORT = new RegExp(
  String.raw`(?:\x1b\[(?:[?>=]|\d+;)[\d;]*\$?|${STRINGS}${STRING}\x1b?)$`,
);
const STARTED_STRING = /\x1b(?:\]\d*|P[\d;]*|_)$/; // or a key with Alt
const MAX_REPORT_BYTES = 4_096;
const REPORT_MS = 1_000;

/** Reads the terminal's input, however its bytes are split. */
interface PasteReader {
  readonly clock: Zz["io"]["clock"];
  onKeys(bytes: Buffer): void;
  onPaste(text: string): void;
  onReport?(report: string): void; // what the terminal said of itself
  paste: Buffer[] | undefined; // the pieces of one that has not ended
  heldBack: Buffer; // bytes that may be the beginning of a key or of a marker
  stopHolding(): void;
  lastReadAt: number;
}

type Hears = Pick<PasteReader, "clock" | "onKeys" | "onPaste" | "onReport">;
export const openPasteReader = (hears: Hears): PasteReader => ({
  ...hears,
  paste: undefined,
  heldBack: Buffer.alloc(0),
  stopHolding: () => {},
  lastReadAt: 0,
});

export function readInput(reader: PasteReader, bytes: Buffer): void {
  reader.stopHolding();
  const pause = reader.clock.now() - reader.lastReadAt;
  reader.lastReadAt = reader.clock.now();
  // its end was lost
  if (reader.paste && pause > LOST_END_MS && bytes.equals(CTRL_C)) bytes = Buffer.from(PASTE_END);
  let remaining: Buffer = Buffer.concat([reader.heldBack, bytes]);
  for (;;) {
    const marker = reader.paste ? PASTE_END : PASTE_START;
    const markerIndex = remaining.indexOf(marker);
    if (markerIndex < 0) break;
    deliver(
      reader,
      reader.paste
        ? remaining.subarray(0, markerIndex)
        : withoutReports(reader, remaining.subarray(0, markerIndex)),
    );
    remaining = remaining.subarray(markerIndex + marker.length);
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

function withoutReports({ onReport }: PasteReader, bytes: Buffer): Buffer {
  if (!bytes.includes(ESCAPE)) return bytes;
  const keys = bytes.toString("latin1").replace(REPORT, (report) => {
    onReport?.(report);
    return "";
  });
  return Buffer.from(keys, "latin1");
}
const ESCAPE = 0x1b;
const isStartedReport = (bytes: Buffer): boolean => STARTED_REPORT.test(bytes.toString("latin1"));

/**
 * Keeps reports from whatever reads a terminal; who asks for one hears the event "report". Returns
 * what ends that.
 */
export function keepReportsFrom(stdin: NodeJS.ReadStream, clock: PasteReader["clock"]): () => void {
  const { push } = stdin;
  const put = (bytes: Buffer) => void push.call(stdin, bytes);
  const onPaste = (text: string) => put(Buffer.from(PASTE_START + text + PASTE_END));
  const reader = openPasteReader({
    clock,
    onKeys: put,
    onPaste,
    onReport: (report) => stdin.emit("report", report),
  });
  stdin.push = (bytes, ...encoding) => {
    if (!Buffer.isBuffer(bytes)) return push.call(stdin, bytes, ...encoding);
    readInput(reader, bytes);
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
  const bytes = reader.heldBack;
  reader.heldBack = Buffer.alloc(0);
  deliver(reader, bytes);
}

function deliver({ paste, onKeys }: PasteReader, bytes: Buffer): void {
  if (!bytes.length) return;
  if (paste) paste.push(Buffer.from(bytes));
  else onKeys(bytes);
}

/** How many of the last bytes may be the beginning of the marker that ends a paste. */
function startedEndLength(bytes: Buffer): number {
  for (let length = Math.min(PASTE_END.length - 1, bytes.length); length > 0; length--)
    if (bytes.toString("latin1", bytes.length - length) === PASTE_END.slice(0, length))
      return length;
  return 0;
}

const MAX_KEY_BYTES = 32;
/**
 * How many of the last bytes may be the beginning of a key, or of the marker that begins a paste.
 */
function startedKeyLength(bytes: Buffer): number {
  const end = (maxBytes: number) => bytes.toString("latin1", Math.max(0, bytes.length - maxBytes));
  const key = STARTED_KEY.exec(end(MAX_KEY_BYTES)) ?? STARTED_STRING.exec(end(MAX_KEY_BYTES));
  return Math.max(
    key?.[0].length ?? 0,
    STARTED_REPORT.exec(end(MAX_REPORT_BYTES))?.[0].length ?? 0,
  );
}

/** The pasted text with plain line ends and no control characters. */
export const normalizePaste = (pasted: string): string => clean(pasted.replace(/\r\n?/g, "\n"));

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
export function textInLine(pastes: Pastes, text: string): string {
  const lines = text.split("\n").length;
  if (text.length <= MAX_INLINE_CHARS && lines <= MAX_INLINE_LINES) return text;
  const name = `[paste ${++pastes.count}: ${lines > 1 ? `${lines} lines` : `${text.length} characters`}]`;
  pastes.byName.set(name, text);
  if (pastes.byName.size > MAX_KEPT_PASTES)
    pastes.byName.delete(pastes.byName.keys().next().value!);
  return name;
}

/** The line with the names of pastes replaced by their texts. */
export function expandPastes({ byName }: Pastes, line: string): string {
  for (const [name, text] of byName) line = line.replace(name, () => text);
  return line;
}
