// The type of a picture, PDF or sound, by its bytes: a file's name may say anything.
import fs from "node:fs";

/** broken: why it is not a complete file of its type. */
export type Media = { type: string; width?: number; height?: number; broken?: string };
export type MediaFile = Media & { base64: string; bytes: number };

const BYTES_PER_MB = 1024 * 1024;
const SIZE_LIMITS: [begins: string, noun: string, mostBytes: number][] = [
  ["image/", "an image", 20 * BYTES_PER_MB],
  ["application/pdf", "a PDF", 32 * BYTES_PER_MB],
  ["audio/", "a sound", 25 * BYTES_PER_MB],
];
export const MAX_MEDIA_BYTES = 32 * BYTES_PER_MB;

type Look = (mediaBytes: Buffer) => Pick<Media, "width" | "height" | "broken">;
const FORMATS: [type: string, begins: RegExp, look: Look][] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/, inspectPng],
  ["image/jpeg", /^\xff\xd8\xff/, inspectJpeg],
  ["image/gif", /^GIF8[79]a/, inspectGif],
  ["image/webp", /^RIFF.{4}WEBP/s, inspectWebp],
  ["application/pdf", /^%PDF-\d/, inspectPdf],
  ["audio/wav", /^RIFF.{4}WAVE/s, holding("fmt ", "data")],
  ["audio/mpeg", /^(ID3[\x02-\x04]|\xff[\xf2\xf3\xfa\xfb])/, inspectMp3],
  ["audio/flac", /^fLaC[\0\x80]/, holding()],
  ["audio/ogg", /^OggS\0/, holding()],
  ["audio/mp4", /^.{4}ftypM4[AB] /s, holding("moov")],
  ["audio/aac", /^\xff[\xf0\xf1\xf8\xf9]/, holding()],
  ["audio/aiff", /^FORM.{4}AIF[FC]/s, holding("COMM")],
];
const HEAD_BYTES = 64;
const CUT_OFF = "is cut off";

const formatOf = (mediaBytes: Buffer) =>
  FORMATS.find(([, startPattern]) =>
    startPattern.test(mediaBytes.toString("latin1", 0, HEAD_BYTES)),
  );

/** An image, a PDF or a sound, by its bytes; undefined: unknown. */
export function mediaOf(mediaBytes: Uint8Array): Media | undefined {
  const buffer = Buffer.from(mediaBytes.buffer, mediaBytes.byteOffset, mediaBytes.byteLength);
  const [type, , lookInside] = formatOf(buffer) ?? [];
  if (!type || !lookInside) return undefined;
  try {
    return { type, ...lookInside(buffer) };
  } catch {
    return { type, broken: CUT_OFF }; // it would read beyond the end
  }
}

/** The same for bytes to be sent: throws why they cannot be. */
export function mediaIn(mediaBytes: Uint8Array): MediaFile | undefined {
  const media = mediaOf(mediaBytes);
  if (!media) return undefined;
  checkSize(media.type, mediaBytes.length);
  if (media.broken)
    throw new Error(`it begins as ${media.type}, but ${media.broken}. Get a whole copy of it.`);
  return { ...media, bytes: mediaBytes.length, base64: Buffer.from(mediaBytes).toString("base64") };
}

/**
 * Reads an open file. A file that is too large is refused before, one that grows meanwhile during
 * reading.
 */
export function readMedia(descriptor: number): MediaFile | undefined {
  const fileStat = fs.fstatSync(descriptor);
  if (fileStat.isDirectory()) throw new Error("it is a folder. Name a file.");
  if (!fileStat.isFile()) throw new Error("it is not a regular file. Name another.");
  if (!fileStat.size) throw new Error("it is empty. Name another.");
  const headBytes = Buffer.alloc(HEAD_BYTES);
  const [mediaType = "image/"] =
    formatOf(headBytes.subarray(0, fs.readSync(descriptor, headBytes, 0, HEAD_BYTES, 0))) ?? [];
  const maxBytes = checkSize(mediaType, fileStat.size);
  const readPieces: Buffer[] = [];
  for (let offset = 0; offset <= maxBytes; ) {
    const readPiece = Buffer.alloc(Math.min(BYTES_PER_MB, maxBytes + 1 - offset));
    const readLength = fs.readSync(descriptor, readPiece, 0, readPiece.length, offset);
    if (!readLength) break;
    readPieces.push(readPiece.subarray(0, readLength));
    offset += readLength;
  }
  const fileBytes = Buffer.concat(readPieces);
  checkSize(mediaType, fileBytes.length);
  return mediaIn(fileBytes);
}

function checkSize(mediaType: string, byteCount: number): number {
  const [, noun, maxBytes] = SIZE_LIMITS.find(([typePrefix]) => mediaType.startsWith(typePrefix))!;
  if (byteCount <= maxBytes) return maxBytes;
  throw new Error(
    `${Math.ceil(byteCount / BYTES_PER_MB)} MB are too many for ${noun} ` +
      `(${maxBytes / BYTES_PER_MB} MB). Make it smaller.`,
  );
}

function inspectPng(imageBytes: Buffer): ReturnType<Look> {
  const [width, height] = [imageBytes.readUInt32BE(16), imageBytes.readUInt32BE(20)];
  if (imageBytes.toString("latin1", 12, 16) !== "IHDR" || !width || !height)
    return { broken: "has no header" };
  let isDrawn = false;
  for (let offset = 8; ; offset += 12 + imageBytes.readUInt32BE(offset)) {
    const chunkName = imageBytes.toString("latin1", offset + 4, offset + 8);
    isDrawn ||= chunkName === "IDAT";
    if (chunkName === "IEND") return isDrawn ? { width, height } : { broken: "holds no picture" };
  }
}

/** The size is in the header of the first frame; every segment before it has a length. */
function inspectJpeg(imageBytes: Buffer): ReturnType<Look> {
  for (
    let offset = 2;
    imageBytes.readUInt8(offset) === 0xff;
    offset += 2 + imageBytes.readUInt16BE(offset + 2)
  ) {
    while (imageBytes[offset + 1] === 0xff) offset++;
    const marker = imageBytes.readUInt8(offset + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame)
      return {
        width: imageBytes.readUInt16BE(offset + 7),
        height: imageBytes.readUInt16BE(offset + 5),
      };
  }
  return { broken: "holds no picture" };
}

function inspectGif(imageBytes: Buffer): ReturnType<Look> {
  const [width, height] = [imageBytes.readUInt16LE(6), imageBytes.readUInt16LE(8)];
  const packedFlags = imageBytes.readUInt8(10);
  // after the colour table
  const firstBlock = imageBytes.readUInt8(
    13 + (packedFlags & 0x80 ? 3 * 2 ** ((packedFlags & 7) + 1) : 0),
  );
  if (firstBlock !== 0x21 && firstBlock !== 0x2c) return { broken: "holds no picture" };
  return imageBytes.lastIndexOf(0x3b) > 13 ? { width, height } : { broken: CUT_OFF };
}

function inspectWebp(imageBytes: Buffer): ReturnType<Look> {
  if (imageBytes.readUInt32LE(4) + 8 > imageBytes.length + 1) return { broken: CUT_OFF };
  const chunkName = imageBytes.toString("latin1", 12, 16);
  if (chunkName === "VP8X")
    return { width: imageBytes.readUIntLE(24, 3) + 1, height: imageBytes.readUIntLE(27, 3) + 1 };
  if (chunkName === "VP8 ")
    return {
      width: imageBytes.readUInt16LE(26) & 0x3fff,
      height: imageBytes.readUInt16LE(28) & 0x3fff,
    };
  if (chunkName !== "VP8L") return { broken: "holds no picture" };
  const sizeBits = imageBytes.readUInt32LE(21);
  return { width: (sizeBits & 0x3fff) + 1, height: ((sizeBits >> 14) & 0x3fff) + 1 };
}

function inspectPdf(pdfBytes: Buffer): ReturnType<Look> {
  if (!pdfBytes.includes(" obj")) return { broken: "holds no document" };
  return pdfBytes.includes("%%EOF") ? {} : { broken: CUT_OFF };
}

/** Without a tag in front, one frame must lead to the next. */
function inspectMp3(soundBytes: Buffer): ReturnType<Look> {
  if (soundBytes.toString("latin1", 0, 3) === "ID3") return holding()(soundBytes);
  const [headerFlags, rateBits] = [soundBytes.readUInt8(1), soundBytes.readUInt8(2)];
  const isMpeg1 = (headerFlags & 8) !== 0; // MPEG 1; else 2, with half the rates
  const kilobits = (isMpeg1 ? KILOBITS_1 : KILOBITS_2)[rateBits >> 4];
  const sampleRate = SAMPLE_RATES[(rateBits >> 2) & 3];
  if (!kilobits || !sampleRate) return { broken: "holds no sound" };
  const frameLength = Math.floor((144_000 * kilobits) / sampleRate) + ((rateBits >> 1) & 1);
  const leadsOn =
    soundBytes.length === frameLength ||
    (soundBytes[frameLength] === 0xff && soundBytes[frameLength + 1] === headerFlags);
  return leadsOn || soundBytes.toString("latin1", frameLength, frameLength + 3) === "TAG"
    ? {}
    : { broken: "holds no sound" };
}
const KILOBITS_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const KILOBITS_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const SAMPLE_RATES = [44_100, 48_000, 32_000];

/** Has more than a header, and these parts. */
function holding(...neededParts: string[]): Look {
  return (soundBytes) => {
    if (soundBytes.length <= HEAD_BYTES / 2) return { broken: CUT_OFF };
    return neededParts.every((neededPart) => soundBytes.includes(neededPart))
      ? {}
      : { broken: "holds no sound" };
  };
}
