// Images as sixels, for terminals with nothing better. The terminal is asked once, before the first
// image, whether it draws them. Meanwhile zz alone reads the keyboard; what was typed is put back
// into stdin.
import type { Ctx } from "zz";
import type { MediaFile } from "zz/text";
import { decode } from "zz/text";

// asks for the size of a cell, and for the terminal's features; answered in this order
const ASK_TERMINAL = "\x1b[16t\x1b[c";
const ANSWERED = /\x1b\[\?([\d;]*)c/;
const CELL_SIZE = /\x1b\[6;(\d+);(\d+)t/;
const MAX_ASK_MS = 300;
const SIXEL_FEATURE = "4"; // among the features
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
  const terminalReply = await terminal(() => askTerminal(io)).catch(() => "");
  const featureCodes = ANSWERED.exec(terminalReply)?.[1]?.split(";") ?? [];
  // the first number is the type of the terminal
  if (!featureCodes.slice(1).includes(SIXEL_FEATURE)) return undefined;
  const [, cellHeight, cellWidth] = CELL_SIZE.exec(terminalReply)?.map(Number) ?? [];
  const isValidCell = cellWidth && cellHeight && cellWidth <= MAX_CELL && cellHeight <= MAX_CELL;
  return isValidCell ? [cellWidth, cellHeight] : PLAIN_CELL;
}

/** Everything that arrives until the terminal has answered, or the time is up. */
function askTerminal({ stdin: inputStream, stderr, clock }: Ctx["io"]): Promise<string> {
  const stdin = inputStream as NodeJS.ReadStream;
  return new Promise((resolve) => {
    let replyText = "";
    const collectReply = (replyBytes: Buffer | string) => {
      replyText += replyBytes.toString("latin1");
      if (ANSWERED.test(replyText)) stopListening();
    };
    const cancelTimer = clock.timer(MAX_ASK_MS, stopListening);
    stdin.setRawMode(true);
    // what no key sends, the prompt keeps apart
    stdin.on("data", collectReply).on("report", collectReply).resume();
    stderr.write(ASK_TERMINAL);

    function stopListening(): void {
      cancelTimer();
      stdin.off("data", collectReply).off("report", collectReply).pause();
      stdin.setRawMode(false);
      const typedText = replyText.replace(ANSWERED, "").replace(CELL_SIZE, "");
      if (typedText) stdin.unshift(Buffer.from(typedText, "latin1"));
      resolve(replyText);
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
  const imageJob = {
    job: "decode-image",
    near: import.meta.url,
    bytes: Buffer.from(base64, "base64"),
  };
  const request = { type, room, mostPixels: MAX_PIXELS };
  return (await decode<string>({ ...imageJob, how: request }, ctx)).value;
}
