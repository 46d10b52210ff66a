// The type of a picture, PDF or sound, by its bytes: a file's name may say anything.
import fs from "node:fs";

/** broken: why it is not a complete file of its type. */
export type Media = { type: string; width?: number; height?: number; broken?: string };
export type MediaFile = Media & { base64: string; bytes: number };

const MB = 1024 * 1024;
const LIMITS: [begins: string, noun: string, mostBytes: number][] = [
  ["image/", "an image", 20 * MB],
  ["application/pdf", "a PDF", 32 * MB],
  ["audio/", "a sound", 25 * MB],
];
export const MAX_MEDIA_BYTES = 32 * MB;

type Look = (bytes: Buffer) => Pick<Media, "width" | "height" | "broken">;
const FORMATS: [type: string, begins: RegExp, look: Look][] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/, png],
  ["image/jpeg", /^\xff\xd8\xff/, jpeg],
  ["image/gif", /^GIF8[79]a/, gif],
  ["image/webp", /^RIFF.{4}WEBP/s, webp],
  ["application/pdf", /^%PDF-\d/, pdf],
  ["audio/wav", /^RIFF.{4}WAVE/s, holding("fmt ", "data")],
  ["audio/mpeg", /^(ID3[\x02-\x04]|\xff[\xf2\xf3\xfa\xfb])/, mp3],
  ["audio/flac", /^fLaC[\0\x80]/, holding()],
  ["audio/ogg", /^OggS\0/, holding()],
  ["audio/mp4", /^.{4}ftypM4[AB] /s, holding("moov")],
  ["audio/aac", /^\xff[\xf0\xf1\xf8\xf9]/, holding()],
  ["audio/aiff", /^FORM.{4}AIF[FC]/s, holding("COMM")],
];
const HEAD_BYTES = 64;
const CUT_OFF = "is cut off";

const formatOf = (bytes: Buffer) =>
  FORMATS.find(([, begins]) => begins.test(bytes.toString("latin1", 0, HEAD_BYTES)));

/** An image, a PDF or a sound, by its bytes; undefined: unknown. */
export function mediaOf(mediaBytes: Uint8Array): Media | undefined {
  const bytes = Buffer.from(mediaBytes.buffer, mediaBytes.byteOffset, mediaBytes.byteLength);
  const [type, , look] = formatOf(bytes) ?? [];
  if (!type || !look) return undefined;
  try {
    return { type, ...look(bytes) };
  } catch {
    return { type, broken: CUT_OFF }; // it would read beyond the end
  }
}

/** The same for bytes to be sent: throws why they cannot be. */
export function mediaIn(bytes: Uint8Array): MediaFile | undefined {
  const media = mediaOf(bytes);
  if (!media) return undefined;
  checkSize(media.type, bytes.length);
  if (media.broken)
    throw new Error(`it begins as ${media.type}, but ${media.broken}. Get a whole copy of it.`);
  return { ...media, bytes: bytes.length, base64: Buffer.from(bytes).toString("base64") };
}

/**
 * Reads an open file. A file that is too large is refused before, one that grows meanwhile during
 * reading.
 */
export function readMedia(fd: number): MediaFile | undefined {
  const stat = fs.fstatSync(fd);
  if (stat.isDirectory()) throw new Error("it is a folder. Name a file.");
  if (!stat.isFile()) throw new Error("it is not a regular file. Name another.");
  if (!stat.size) throw new Error("it is empty. Name another.");
  const head = Buffer.alloc(HEAD_BYTES);
  const [type = "image/"] =
    formatOf(head.subarray(0, fs.readSync(fd, head, 0, HEAD_BYTES, 0))) ?? [];
  const maxBytes = checkSize(type, stat.size);
  const pieces: Buffer[] = [];
  for (let offset = 0; offset <= maxBytes; ) {
    const piece = Buffer.alloc(Math.min(MB, maxBytes + 1 - offset));
    const length = fs.readSync(fd, piece, 0, piece.length, offset);
    if (!length) break;
    pieces.push(piece.subarray(0, length));
    offset += length;
  }
  const bytes = Buffer.concat(pieces);
  checkSize(type, bytes.length);
  return mediaIn(bytes);
}

function checkSize(type: string, size: number): number {
  const [, noun, maxBytes] = LIMITS.find(([begins]) => type.startsWith(begins))!;
  if (size <= maxBytes) return maxBytes;
  throw new Error(
    `${Math.ceil(size / MB)} MB are too many for ${noun} (${maxBytes / MB} MB). Make it smaller.`,
  );
}

function png(bytes: Buffer): ReturnType<Look> {
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  if (bytes.toString("latin1", 12, 16) !== "IHDR" || !width || !height)
    return { broken: "has no header" };
  let isDrawn = false;
  for (let offset = 8; ; offset += 12 + bytes.readUInt32BE(offset)) {
    const chunk = bytes.toString("latin1", offset + 4, offset + 8);
    isDrawn ||= chunk === "IDAT";
    if (chunk === "IEND") return isDrawn ? { width, height } : { broken: "holds no picture" };
  }
}

/** The size is in the header of the first frame; every segment before it has a length. */
function jpeg(bytes: Buffer): ReturnType<Look> {
  for (
    let offset = 2;
    bytes.readUInt8(offset) === 0xff;
    offset += 2 + bytes.readUInt16BE(offset + 2)
  ) {
    while (bytes[offset + 1] === 0xff) offset++;
    const marker = bytes.readUInt8(offset + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame)
      return { width: bytes.readUInt16BE(offset + 7), height: bytes.readUInt16BE(offset + 5) };
  }
  return { broken: "holds no picture" };
}

function gif(bytes: Buffer): ReturnType<Look> {
  const [width, height] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  const packed = bytes.readUInt8(10);
  // after the colour table
  const first = bytes.readUInt8(13 + (packed & 0x80 ? 3 * 2 ** ((packed & 7) + 1) : 0));
  if (first !== 0x21 && first !== 0x2c) return { broken: "holds no picture" };
  return bytes.lastIndexOf(0x3b) > 13 ? { width, height } : { broken: CUT_OFF };
}

function webp(bytes: Buffer): ReturnType<Look> {
  if (bytes.readUInt32LE(4) + 8 > bytes.length + 1) return { broken: CUT_OFF };
  const form = bytes.toString("latin1", 12, 16);
  if (form === "VP8X")
    return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (form === "VP8 ")
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  const bits = form === "VP8L" ? bytes.readUInt32LE(21) : undefined;
  return bits === undefined
    ? { broken: "holds no picture" }
    : { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
}

function pdf(bytes: Buffer): ReturnType<Look> {
  if (!bytes.includes("%%EOF"))
    return { broken: bytes.includes(" obj") ? CUT_OFF : "holds no document" };
  return bytes.includes(" obj") ? {} : { broken: "holds no document" };
}

/** Without a tag in front, one frame must lead to the next. */
function mp3(bytes: Buffer): ReturnType<Look> {
  if (bytes.toString("latin1", 0, 3) === "ID3") return holding()(bytes);
  const [, flags, rates] = [bytes[0], bytes.readUInt8(1), bytes.readUInt8(2)];
  const isOne = (flags & 8) !== 0; // MPEG 1; else 2, with half the rates
  const kilobits = (isOne ? KILOBITS_1 : KILOBITS_2)[rates >> 4];
  const hertz = HERTZ[(rates >> 2) & 3];
  if (!kilobits || !hertz) return { broken: "holds no sound" };
  const length =
    Math.floor(((isOne ? 144 : 72) * kilobits * 1_000) / (isOne ? hertz : hertz / 2)) +
    ((rates >> 1) & 1);
  const leadsOn =
    bytes.length === length || (bytes[length] === 0xff && bytes[length + 1] === flags);
  return leadsOn || bytes.toString("latin1", length, length + 3) === "TAG"
    ? {}
    : { broken: "holds no sound" };
}
const KILOBITS_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const KILOBITS_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const HERTZ = [44_100, 48_000, 32_000];

/** Has more than a header, and these parts. */
function holding(...parts: string[]): Look {
  return (bytes) => {
    if (bytes.length <= HEAD_BYTES / 2) return { broken: CUT_OFF };
    return parts.every((part) => bytes.includes(part)) ? {} : { broken: "holds no sound" };
  };
}
