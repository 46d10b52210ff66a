// Draws an image as sixels, at most so many pixels wide and high. It runs in a process of its own.
import type { Job } from "zz/text";

const MAX_DECODER_MB = 256;
const COLOUR_LEVELS = 6; // of each colour: 216 of the 256 that a terminal keeps

type How = { type: string; room: [width: number, height: number]; mostPixels: number };
export default (async (imageBytes, { type, room: [maxWidth, maxHeight], mostPixels }: How) => {
  const { default: encoder } = await import("sixel/lib/SixelEncoder.js");
  const decodedImage =
    type === "image/png" ? await decodePng(imageBytes) : await decodeJpeg(imageBytes, mostPixels);
  if (decodedImage.width * decodedImage.height > mostPixels)
    throw new Error("It is larger than its header says.");
  const scaleFactor = Math.min(1, maxWidth / decodedImage.width, maxHeight / decodedImage.height);
  const { data, width, height } =
    scaleFactor < 1 ? shrinkImage(decodedImage, scaleFactor) : decodedImage;
  const sixelBody = encoder.sixelEncode(dithered(data, width), width, height, palette());
  return { value: `${encoder.introducer(1)}${sixelBody}${encoder.FINALIZER}` };
}) satisfies Job;

interface Pixels {
  data: Uint8Array; // four bytes each
  width: number;
  height: number;
}

async function decodePng(imageBytes: Buffer): Promise<Pixels> {
  const { default: pngjs } = await import("pngjs");
  return pngjs.PNG.sync.read(imageBytes);
}

async function decodeJpeg(imageBytes: Buffer, mostPixels: number): Promise<Pixels> {
  const { default: jpeg } = await import("jpeg-js");
  const decoderLimits = { maxMemoryUsageInMB: MAX_DECODER_MB, maxResolutionInMP: mostPixels / 1e6 };
  return jpeg.decode(imageBytes, { useTArray: true, ...decoderLimits });
}

// the encoder's own choice of colours swaps them in plain pictures
const palette = (): [number, number, number][] =>
  Array.from({ length: COLOUR_LEVELS ** 3 }, (_, colourIndex) => [
    scaleLevel(Math.floor(colourIndex / COLOUR_LEVELS ** 2)),
    scaleLevel(Math.floor(colourIndex / COLOUR_LEVELS) % COLOUR_LEVELS),
    scaleLevel(colourIndex % COLOUR_LEVELS),
  ]);
const scaleLevel = (levelIndex: number): number =>
  Math.round((levelIndex * 255) / (COLOUR_LEVELS - 1));

// no pixel is half there
const roundAlpha = (alphaValue: number): number => (alphaValue < 128 ? 0 : 255);

// in which order the pixels of a square of four by four become brighter
const DITHER_ORDER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
/** The same picture in the colours of the palette. */
function dithered(pixelData: Uint8Array, imageWidth: number): Uint8Array {
  const drawnData = new Uint8Array(pixelData.length);
  for (let i = 0; i < pixelData.length; i++) {
    const [x, y] = [(i >> 2) % imageWidth, Math.floor((i >> 2) / imageWidth)];
    const threshold = (DITHER_ORDER[(y % 4) * 4 + (x % 4)]! + 0.5) / DITHER_ORDER.length;
    const levelIndex = Math.floor((pixelData[i]! * (COLOUR_LEVELS - 1)) / 255 + threshold);
    const isAlpha = i % 4 === 3;
    drawnData[i] = isAlpha
      ? roundAlpha(pixelData[i]!)
      : scaleLevel(Math.min(levelIndex, COLOUR_LEVELS - 1));
  }
  return drawnData;
}

/** Scales an image down: each pixel is the mean of those that it replaces. */
function shrinkImage(sourceImage: Pixels, scaleFactor: number): Pixels {
  const width = Math.max(1, Math.round(sourceImage.width * scaleFactor));
  const height = Math.max(1, Math.round(sourceImage.height * scaleFactor));
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    const [topRow, bottomRow] = findSpan(y, height, sourceImage.height);
    for (let x = 0; x < width; x++) {
      const [leftColumn, rightColumn] = findSpan(x, width, sourceImage.width);
      const channelSums = [0, 0, 0, 0];
      for (let sourceRow = topRow; sourceRow < bottomRow; sourceRow++)
        for (
          let byteOffset = (sourceRow * sourceImage.width + leftColumn) * 4,
            rowEnd = (sourceRow * sourceImage.width + rightColumn) * 4;
          byteOffset < rowEnd;
          byteOffset += 4
        )
          for (let channel = 0; channel < 4; channel++)
            channelSums[channel]! += sourceImage.data[byteOffset + channel]!;
      const pixelCount = (bottomRow - topRow) * (rightColumn - leftColumn);
      for (let channel = 0; channel < 4; channel++)
        data[(y * width + x) * 4 + channel] = channelSums[channel]! / pixelCount;
    }
  }
  return { data, width, height };
}

function findSpan(
  index: number,
  targetSize: number,
  sourceSize: number,
): [from: number, to: number] {
  const spanStart = Math.floor((index * sourceSize) / targetSize);
  return [spanStart, Math.max(spanStart + 1, Math.floor(((index + 1) * sourceSize) / targetSize))];
}
