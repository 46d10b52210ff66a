// Reads a server's messages, one per line, from pieces of any length. Of a line that is too long,
// both ends are kept.
import { sizeInWords } from "zz/text";

export type Message = {
  jsonrpc: "2.0";
  id?: string | number;
  method?: string;
  [fieldName: string]: unknown;
};

const MAX_LINE_BYTES = 8_000_000; // longer lines are not parsed
const [HEAD_BYTES, TAIL_BYTES] = [512_000, 4_096]; // of a longer line, these are kept

/** What is kept of a line that is too long. */
type Cut = { head: string; tail: string; bytes: number };

/** Splits bytes into lines. What `take` gets is a part of one line, whatever it holds. */
export function lineReader(
  onWholeLine: (wholeLine: string) => void,
  onOverlong: (overlongCut: Cut) => void,
) {
  let pieces: Buffer[] = [];
  let lineBytes = 0;
  let lineHead: Buffer | undefined; // of a line that is being cut
  let lineTail: Buffer = Buffer.alloc(0);
  return { add, take: takePiece, end: () => void (lineBytes && finishLine()) };

  function add(addedBytes: Buffer): void {
    let lineStart = 0;
    for (
      let lineEnd = addedBytes.indexOf(10);
      lineEnd >= 0;
      lineEnd = addedBytes.indexOf(10, lineStart)
    ) {
      takePiece(addedBytes.subarray(lineStart, lineEnd));
      finishLine();
      lineStart = lineEnd + 1;
    }
    const remaining = addedBytes.subarray(lineStart);
    takePiece(lineStart ? Buffer.from(remaining) : remaining);
    if (lineStart || lineHead) release(addedBytes);
  }

  function takePiece(pieceBytes: Buffer): void {
    lineBytes += pieceBytes.length;
    if (lineHead) {
      // copied below: a view would keep the whole piece in memory
      const pieceEnd = pieceBytes.subarray(-TAIL_BYTES);
      lineTail = Buffer.from(
        pieceEnd.length < TAIL_BYTES
          ? Buffer.concat([lineTail, pieceEnd]).subarray(-TAIL_BYTES)
          : pieceEnd,
      );
      return;
    }
    pieces.push(pieceBytes);
    if (lineBytes <= MAX_LINE_BYTES) return;
    lineHead = Buffer.concat(pieces, HEAD_BYTES);
    lineTail = Buffer.from(pieceBytes.subarray(-TAIL_BYTES));
    pieces.forEach(release);
    pieces = [];
  }

  function finishLine(): void {
    if (lineHead)
      onOverlong({ head: lineHead.toString(), tail: lineTail.toString(), bytes: lineBytes });
    else {
      const wholeLine = Buffer.concat(pieces).toString();
      pieces.forEach(release);
      onWholeLine(wholeLine);
    }
    [pieces, lineBytes, lineHead, lineTail] = [[], 0, undefined, Buffer.alloc(0)];
  }
}

/**
 * Frees a buffer's memory at once; the collector would wait for 64 MB of it. A pool that other
 * buffers share stays.
 */
function release({ buffer, length }: Buffer): void {
  if (length && buffer.byteLength === length) (buffer as ArrayBuffer).transfer(0);
}

/**
 * Makes a result of a message that was cut, if it answers a pending request: the first text in it,
 * and a note.
 */
export function salvage(
  { head, tail, bytes }: Cut,
  pending: ReadonlySet<string | number>,
): Message | undefined {
  const [, matchedId] =
    /"id"\s*:\s*(\d+)\s*}[\s,\]]*$/.exec(tail) ??
    /^[\s[]*{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)/.exec(head) ??
    [];
  const pendingId = pending.size === 1 ? [...pending][0]! : undefined;
  const id = matchedId === undefined ? pendingId : Number(matchedId);
  if (id === undefined || !pending.has(id)) return undefined;
  const textStart = head.search(/"text"\s*:\s*"/);
  const firstText =
    textStart < 0 ? "" : textFrom(head.slice(head.indexOf('"', head.indexOf(":", textStart)) + 1));
  const text =
    `${firstText}\n[The whole result has ${sizeInWords(bytes)}, more than zz takes in. ` +
    "The rest was left out: ask for less.]";
  return {
    jsonrpc: "2.0",
    id,
    result: { content: [{ type: "text", text }], contents: [{ uri: "", text }], messages: [] },
  };
}

/** The text of a JSON string, up to its end or to where it was cut. */
function textFrom(cutJson: string): string {
  const [stringBody = ""] = /^(?:[^"\\]|\\u[\da-fA-F]{4}|\\[^u])*/.exec(cutJson) ?? [];
  try {
    return JSON.parse(`"${stringBody}"`).toWellFormed();
  } catch {
    return "";
  }
}
