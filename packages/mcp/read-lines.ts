// Reads a server's messages, one per line, from pieces of any length. Of a line that is too long,
// both ends are kept.

export type Message = {
  jsonrpc: "2.0";
  id?: string | number;
  method?: string;
  [field: string]: unknown;
};

const MAX_LINE_BYTES = 8_000_000; // longer lines are not parsed
const [HEAD_BYTES, TAIL_BYTES] = [512_000, 4_096]; // of a longer line, these are kept

/** What is kept of a line that is too long. */
type Cut = { head: string; tail: string; bytes: number };

/** Splits bytes into lines. */
export function lineReader(
  onLine: (line: string) => void,
  onCut: (cut: Cut) => void,
): { add(bytes: Buffer): void; end(): void } {
  let pieces: Buffer[] = [];
  let size = 0;
  let head: Buffer | undefined; // of a line that is being cut
  let tail: Buffer = Buffer.alloc(0);
  return { add, end: () => void (size && finish()) };

  function add(bytes: Buffer): void {
    let from = 0;
    for (let lineEnd = bytes.indexOf(10); lineEnd >= 0; lineEnd = bytes.indexOf(10, from)) {
      take(bytes.subarray(from, lineEnd));
      finish();
      from = lineEnd + 1;
    }
    const remaining = bytes.subarray(from);
    take(from ? Buffer.from(remaining) : remaining);
    if (from || head) release(bytes);
  }

  function take(bytes: Buffer): void {
    size += bytes.length;
    if (head) {
      // copied below: a view would keep the whole piece in memory
      const last = bytes.subarray(-TAIL_BYTES);
      tail = Buffer.from(
        last.length < TAIL_BYTES ? Buffer.concat([tail, last]).subarray(-TAIL_BYTES) : last,
      );
      return;
    }
    pieces.push(bytes);
    if (size <= MAX_LINE_BYTES) return;
    head = Buffer.concat(pieces, HEAD_BYTES);
    tail = Buffer.from(bytes.subarray(-TAIL_BYTES));
    pieces.forEach(release);
    pieces = [];
  }

  function finish(): void {
    if (head) onCut({ head: head.toString(), tail: tail.toString(), bytes: size });
    else {
      const line = Buffer.concat(pieces).toString();
      pieces.forEach(release);
      onLine(line);
    }
    [pieces, size, head, tail] = [[], 0, undefined, Buffer.alloc(0)];
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
  const [, idText] =
    /"id"\s*:\s*(\d+)\s*}[\s,\]]*$/.exec(tail) ??
    /^[\s[]*{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)/.exec(head) ??
    [];
  const onlyId = pending.size === 1 ? [...pending][0]! : undefined;
  const id = idText === undefined ? onlyId : Number(idText);
  if (id === undefined || !pending.has(id)) return undefined;
  const textStart = head.search(/"text"\s*:\s*"/);
  const text =
    textStart < 0 ? "" : textFrom(head.slice(head.indexOf('"', head.indexOf(":", textStart)) + 1));
  const note = `[The whole result has ${(bytes / 1e6).toFixed(1)} MB, more than zz takes in. The rest was left out: ask for less.]`;
  return {
    jsonrpc: "2.0",
    id,
    result: { content: [{ type: "text", text: `${text}\n${note}` }], contents: [], messages: [] },
  };
}

/** The text of a JSON string, up to its end or to where it was cut. */
function textFrom(json: string): string {
  const [body = ""] = /^(?:[^"\\]|\\u[\da-fA-F]{4}|\\[^u])*/.exec(json) ?? [];
  try {
    return JSON.parse(`"${body}"`).toWellFormed();
  } catch {
    return "";
  }
}
