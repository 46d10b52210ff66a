// Small whole files of each kind, and what spoils each of them.
import { deflateSync } from "node:zlib";

const u32 = (value: number): Buffer => Buffer.from([value >> 24, value >> 16, value >> 8, value]);
const chunk = (name: string, data: Buffer) =>
  Buffer.concat([u32(data.length), Buffer.from(name), data, u32(0)]);
const text = (...parts: string[]): Buffer => Buffer.from(parts.join(""), "latin1");

/** An RGB picture of one colour. Its checksums are wrong, but nothing here checks them. */
export function png(width = 3, height = 2): Buffer {
  const header = Buffer.concat([u32(width), u32(height), Buffer.from([8, 2, 0, 0, 0])]);
  const rows = Buffer.alloc((1 + 3 * width) * height);
  const parts = [
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ];
  return Buffer.concat([text("\x89PNG\r\n\x1a\n"), ...parts]);
}
export const JPEG = text(
  "\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x07\0\x09\x03",
  "\0".repeat(9),
  "\xff\xd9",
);
export const GIF = text("GIF89a\x05\0\x04\0\0\0\0", "\x2crest of it\x3b");
export const WEBP = text("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x04\0\0\x03\0\0");
export const PDF = text(
  "%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n",
);
const RATE = "\x40\x1f\0\0";
export const WAV = text(
  "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0",
  RATE,
  RATE,
  "\x01\0\x08\0data\x04\0\0\0",
  "\x80".repeat(4),
);
/** Two frames of MPEG 1, layer III, 32 kbit/s at 48 kHz: 96 bytes each. */
export const MP3 = text("\xff\xfb\x14\0", "\0".repeat(92), "\xff\xfb\x14\0", "\0".repeat(92));
export const TAGGED = text("ID3\x04\0\0\0\0\0\x0a", "\0".repeat(60));
export const FLAC = text("fLaC", "\0".repeat(60));
export const OGG = text("OggS", "\0".repeat(60));
