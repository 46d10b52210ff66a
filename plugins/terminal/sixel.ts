// Images as sixels, for terminals with nothing better. The terminal is asked once, before the first image, whether it
// draws them. Meanwhile zz alone reads the keyboard; what was typed is put back into stdin.
import type { Ctx } from "zz";
import type { MediaFile } from "zz/text";
import { tryTo } from "zz/text";

const ASK = "\x1b[16t\x1b[c"; // asks for the size of a cell, and for the terminal's features; answered in this order
const ANSWERED = /\x1b\[\?([\d;]*)c/;
const CELL = /\x1b\[6;(\d+);(\d+)t/;
const ASK_MS = 300;
const SIXELS = "4"; // among the features
const PLAIN_CELL: Cell = [10, 20];
const MAX_CELL = 200; // pixels
const MAX_PIXELS = 16_000_000; // zz has to unpack them
const MAX_DECODER_MB = 256;
const MAX_COLOURS = 256;

export type Cell = [width: number, height: number]; // in pixels

/** The size of the terminal's cell; undefined if it draws no sixels, or cannot be asked. */
export async function askForSixels({ io, terminal }: Pick<Ctx, "io" | "terminal">): Promise<Cell | undefined> {
  if (!terminal || !io.stdin.isTTY) return undefined;
  const said = await terminal(() => ask(io)).catch(() => "");
  const can = ANSWERED.exec(said)?.[1]?.split(";") ?? [];
  if (!can.slice(1).includes(SIXELS)) return undefined; // the first number is the type of the terminal
  const [, height, width] = CELL.exec(said)?.map(Number) ?? [];
  const isCell = width && height && width <= MAX_CELL && height <= MAX_CELL;
  return isCell ? [width, height] : PLAIN_CELL;
}

/** Everything that arrives until the terminal has answered, or the time is up. */
function ask({ stdin: input, stderr, clock }: Ctx["io"]): Promise<string> {
  const stdin = input as NodeJS.ReadStream;
  return new Promise((resolve) => {
    let said = "";
    const hear = (bytes: Buffer | string) => {
      said += bytes.toString("latin1");
      if (ANSWERED.test(said)) end();
    };
    const cancel = clock.timer(ASK_MS, end);
    stdin.setRawMode(true);
    stdin.on("data", hear).on("report", hear).resume(); // what no key sends, the prompt keeps apart
    stderr.write(ASK);

    function end(): void {
      cancel();
      stdin.off("data", hear).off("report", hear).pause();
      stdin.setRawMode(false);
      const typed = said.replace(ANSWERED, "").replace(CELL, "");
      if (typed) stdin.unshift(Buffer.from(typed, "latin1"));
      resolve(said);
    }
  });
}

export function unfitForSixels({ type, width = 0, height = 0 }: MediaFile): string | undefined {
  if (type !== "image/png" && type !== "image/jpeg") return `it is ${type}, and only PNG and JPEG are drawn`;
  return width * height > MAX_PIXELS ? "it is too large to be drawn" : undefined;
}

/** The image as sixels; undefined if it cannot be decoded. */
export async function sixels(
  { type, base64 }: MediaFile,
  [wide, high]: [width: number, height: number], // at most, in pixels
): Promise<string | undefined> {
  const { default: encoder } = await import("sixel/lib/SixelEncoder.js");
  const bytes = Buffer.from(base64, "base64");
  const image = type === "image/png" ? await ofPng(bytes) : await ofJpeg(bytes);
  if (!image || image.width * image.height > MAX_PIXELS) return undefined;
  const scale = Math.min(1, wide / image.width, high / image.height);
  const { data, width, height } = scale < 1 ? shrunk(image, scale) : image;
  return encoder.image2sixel(data, width, height, MAX_COLOURS, 1);
}

interface Pixels {
  data: Uint8Array; // four bytes each
  width: number;
  height: number;
}

async function ofPng(bytes: Buffer): Promise<Pixels | undefined> {
  const { default: pngjs } = await import("pngjs");
  return tryTo(() => pngjs.PNG.sync.read(bytes));
}

async function ofJpeg(bytes: Buffer): Promise<Pixels | undefined> {
  const { default: jpeg } = await import("jpeg-js");
  const how = { useTArray: true, maxMemoryUsageInMB: MAX_DECODER_MB, maxResolutionInMP: MAX_PIXELS / 1e6 } as const;
  return tryTo(() => jpeg.decode(bytes, how));
}

/** Scales an image down: each pixel is the mean of those that it replaces. */
function shrunk(image: Pixels, scale: number): Pixels {
  const width = Math.max(1, Math.round(image.width * scale));
  const height = Math.max(1, Math.round(image.height * scale));
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const [top, bottom] = span(y, height, image.height);
    for (let x = 0; x < width; x++) {
      const [left, right] = span(x, width, image.width);
      const sum = [0, 0, 0, 0];
      for (let row = top; row < bottom; row++)
        for (let at = (row * image.width + left) * 4, end = (row * image.width + right) * 4; at < end; at += 4)
          for (let part = 0; part < 4; part++) sum[part]! += image.data[at + part]!;
      const count = (bottom - top) * (right - left);
      for (let part = 0; part < 4; part++) data[(y * width + x) * 4 + part] = sum[part]! / count;
    }
  }
  return { data, width, height };
}

function span(at: number, count: number, all: number): [from: number, to: number] {
  const from = Math.floor((at * all) / count);
  return [from, Math.max(from + 1, Math.floor(((at + 1) * all) / count))];
}
