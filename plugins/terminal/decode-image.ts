// Draws an image as sixels, at most so many pixels wide and high. It runs in a process of its own.
import type { Job } from "zz/text";

const MAX_DECODER_MB = 256;
const LEVELS = 6; // of each colour: 216 of the 256 that a terminal keeps

type How = { type: string; room: [width: number, height: number]; mostPixels: number };
export default (async (bytes, { type, room: [wide, high], mostPixels }: How) => {
  const { default: encoder } = await import("sixel/lib/SixelEncoder.js");
  const image = type === "image/png" ? await ofPng(bytes) : await ofJpeg(bytes, mostPixels);
  if (image.width * image.height > mostPixels)
    throw new Error("It is larger than its header says.");
  const scale = Math.min(1, wide / image.width, high / image.height);
  const { data, width, height } = scale < 1 ? shrunk(image, scale) : image;
  const body = encoder.sixelEncode(dithered(data, width), width, height, palette());
  return { value: `${encoder.introducer(1)}${body}${encoder.FINALIZER}` };
}) satisfies Job;

interface Pixels {
  data: Uint8Array; // four bytes each
  width: number;
  height: number;
}

async function ofPng(bytes: Buffer): Promise<Pixels> {
  const { default: pngjs } = await import("pngjs");
  return pngjs.PNG.sync.read(bytes);
}

async function ofJpeg(bytes: Buffer, mostPixels: number): Promise<Pixels> {
  const { default: jpeg } = await import("jpeg-js");
  const limits = { maxMemoryUsageInMB: MAX_DECODER_MB, maxResolutionInMP: mostPixels / 1e6 };
  return jpeg.decode(bytes, { useTArray: true, ...limits });
}

// the encoder's own choice of colours swaps them in plain pictures
const palette = (): [number, number, number][] =>
  Array.from({ length: LEVELS ** 3 }, (_, n) => [
    level(Math.floor(n / LEVELS ** 2)),
    level(Math.floor(n / LEVELS) % LEVELS),
    level(n % LEVELS),
  ]);
const level = (n: number): number => Math.round((n * 255) / (LEVELS - 1));

const opaque = (alpha: number): number => (alpha < 128 ? 0 : 255); // no pixel is half there

// in which order the pixels of a square of four by four become brighter
const ORDER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
/** The same picture in the colours of the palette. */
function dithered(data: Uint8Array, width: number): Uint8Array {
  const drawn = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i++) {
    const [x, y] = [(i >> 2) % width, Math.floor((i >> 2) / width)];
    const more = (ORDER[(y % 4) * 4 + (x % 4)]! + 0.5) / ORDER.length;
    const part = Math.floor((data[i]! * (LEVELS - 1)) / 255 + more);
    const isAlpha = i % 4 === 3;
    drawn[i] = isAlpha ? opaque(data[i]!) : level(Math.min(part, LEVELS - 1));
  }
  return drawn;
}

/** Scales an image down: each pixel is the mean of those that it replaces. */
function shrunk(image: Pixels, scale: number): Pixels {
  const width = Math.max(1, Math.round(image.width * scale));
  const height = Math.max(1, Math.round(image.height * scale));
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const [top, bottom] = span(y, height, image.height);
    for (let x = 0; x < width; x++) {
      const [start, right] = span(x, width, image.width);
      const sum = [0, 0, 0, 0];
      for (let row = top; row < bottom; row++)
        for (
          let offset = (row * image.width + start) * 4, end = (row * image.width + right) * 4;
          offset < end;
          offset += 4
        )
          for (let part = 0; part < 4; part++) sum[part]! += image.data[offset + part]!;
      const count = (bottom - top) * (right - start);
      for (let part = 0; part < 4; part++) data[(y * width + x) * 4 + part] = sum[part]! / count;
    }
  }
  return { data, width, height };
}

function span(index: number, count: number, total: number): [from: number, to: number] {
  const from = Math.floor((index * total) / count);
  return [from, Math.max(from + 1, Math.floor(((index + 1) * total) / count))];
}
