// Images as sixels, for terminals with nothing better. The terminal is asked once, before the first
// image, whether it draws them. Meanwhile zz alone reads the keyboard; what was typed is put back
// into stdin.
import type { Ctx } from "zz";
import type { MediaFile } from "zz/text";
import { decode } from "zz/text";

// asks for the size of a cell, and for the terminal's features; answered in this order
const ASK = "\x1b[16t\x1b[c";
const ANSWERED = /\x1b\[\?([\d;]*)c/;
const CELL = /\x1b\[6;(\d+);(\d+)t/;
const ASK_MS = 300;
const SIXELS = "4"; // among the features
const PLAIN_CELL: Cell = [10, 20];
const MAX_CELL = 200; // pixels
const MAX_PIXELS = 16_000_000; // they have to be unpacked

export type Cell = [width: number, height: number]; // in pixels

/** The size of the terminal's cell; undefined if it draws no sixels, or cannot be asked. */
export async function askForSixels({
  io,
  terminal,
}: Pick<Ctx, "io" | "terminal">): Promise<Cell | undefined> {
  if (!terminal || !io.stdin.isTTY) return undefined;
  const reply = await terminal(() => ask(io)).catch(() => "");
  const can = ANSWERED.exec(reply)?.[1]?.split(";") ?? [];
  // the first number is the type of the terminal
  if (!can.slice(1).includes(SIXELS)) return undefined;
  const [, height, width] = CELL.exec(reply)?.map(Number) ?? [];
  const isCell = width && height && width <= MAX_CELL && height <= MAX_CELL;
  return isCell ? [width, height] : PLAIN_CELL;
}

/** Everything that arrives until the terminal has answered, or the time is up. */
function ask({ stdin: input, stderr, clock }: Ctx["io"]): Promise<string> {
  const stdin = input as NodeJS.ReadStream;
  return new Promise((resolve) => {
    let reply = "";
    const hear = (bytes: Buffer | string) => {
      reply += bytes.toString("latin1");
      if (ANSWERED.test(reply)) end();
    };
    const cancel = clock.timer(ASK_MS, end);
    stdin.setRawMode(true);
    stdin.on("data", hear).on("report", hear).resume(); // what no key sends, the prompt keeps apart
    stderr.write(ASK);

    function end(): void {
      cancel();
      stdin.off("data", hear).off("report", hear).pause();
      stdin.setRawMode(false);
      const typed = reply.replace(ANSWERED, "").replace(CELL, "");
      if (typed) stdin.unshift(Buffer.from(typed, "latin1"));
      resolve(reply);
    }
  });
}

export function unfitForSixels({ type, width = 0, height = 0 }: MediaFile): string | undefined {
  if (type !== "image/png" && type !== "image/jpeg")
    return `it is ${type}, and only PNG and JPEG are drawn`;
  return width * height > MAX_PIXELS ? "it is too large to be drawn" : undefined;
}

/** The image as sixels. */
export async function sixels(
  { type, base64 }: MediaFile,
  room: [width: number, height: number], // at most, in pixels
  ctx: Ctx,
): Promise<string> {
  const image = {
    job: "decode-image",
    near: import.meta.url,
    bytes: Buffer.from(base64, "base64"),
  };
  const request = { type, room, mostPixels: MAX_PIXELS };
  return (await decode<string>({ ...image, how: request }, ctx)).value;
}
