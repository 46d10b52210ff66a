// Files made to break what decodes them: small, and without end in time or memory.
import { constants, crc32, deflateRawSync, deflateSync } from "node:zlib";

const MB = 2 ** 20;
const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};

/** Deflated zeros: one piece of them, again and again. */
function deflatedZeros(megabytes: number): Buffer {
  const finishFlush = constants.Z_FULL_FLUSH;
  const piece = deflateRawSync(Buffer.alloc(MB), { finishFlush, level: 9 });
  return Buffer.concat([...Array<Buffer>(megabytes).fill(piece), deflateRawSync("")]);
}
const ZLIB = Buffer.from([0x78, 0xda]);

function png(width: number, height: number, data: Buffer, interlaced = 0): Buffer {
  const chunk = (type: string, body: Buffer) =>
    Buffer.concat([
      u32(body.length),
      Buffer.from(type),
      body,
      u32(crc32(Buffer.concat([Buffer.from(type), body]))),
    ]);
  const header = Buffer.concat([u32(width), u32(height), Buffer.from([8, 6, 0, 0, interlaced])]);
  const parts = [chunk("IHDR", header), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...parts]);
}
/** pngjs inflates an interlaced one without a limit. */
export const pngBomb = (megabytes: number): Buffer =>
  png(64, 64, Buffer.concat([ZLIB, deflatedZeros(megabytes)]), 1);
export const pngOfNoise = (): Buffer => png(64, 64, Buffer.alloc(500, 0xa7));

/** A progressive JPEG: each of its scans says of all blocks that nothing is in them, in a few
 * bytes. */
export function jpegOfScans(count: number, side = 3_968): Buffer {
  const segment = (marker: number, ...body: number[]) => [
    0xff,
    marker,
    0,
    body.length + 2,
    ...body,
  ];
  const blocks = (side / 8) ** 2;
  const size = [side >> 8, side & 255];
  // one code, "0": the next 2 ** 14 + n blocks are at their end
  const table = segment(0xc4, 0x10, 1, ...Array(15).fill(0), 0xe0);
  const dcTable = segment(0xc4, 0x00, 1, ...Array(15).fill(0), 0);
  const quantization = segment(0xdb, 0, ...Array(64).fill(1));
  const frame = segment(0xc2, 8, ...size, ...size, 1, 1, 0x11, 0);
  const codes = Math.ceil(blocks / 2 ** 14) + 1;
  const data = Array(Math.ceil((codes * 15) / 8)).fill(0);
  const scan = Buffer.from([...segment(0xda, 1, 1, 0, 1, 63, 0), ...data]);
  const head = Buffer.from([0xff, 0xd8, ...quantization, ...frame, ...dcTable, ...table]);
  return Buffer.concat([head, ...Array<Buffer>(count).fill(scan), Buffer.from([0xff, 0xd9])]);
}

type Parts = { content?: Buffer; filter?: string; more?: string; kids?: string };
/** A PDF of one page with this content. */
export function pdf({
  content = Buffer.from(""),
  filter = "",
  more = "",
  kids = "[3 0 R]",
}: Parts): Buffer {
  const objects = [
    `<< /Type /Catalog /Pages 2 0 R ${more} >>`,
    `<< /Type /Pages /Kids ${kids} /Count 1 >>`,
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    [`<< /Length ${content.length} ${filter} >>\nstream\n`, content, "\nendstream"],
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  const body = objects.flatMap((object, i) => [
    `${i + 1} 0 obj\n`,
    ...[object].flat(),
    "\nendobj\n",
  ]);
  const all = ["%PDF-1.4\n", ...body, "trailer << /Root 1 0 R /Size 6 >>\n%%EOF"];
  return Buffer.concat(all.map((part) => Buffer.from(part)));
}
export const pdfBomb = (megabytes: number): Buffer => {
  const zeros = Buffer.concat([ZLIB, deflatedZeros(megabytes)]);
  return pdf({ content: zeros, filter: "/Filter /FlateDecode" });
};
export const pdfTwicePacked = (megabytes: number): Buffer => {
  const content = deflateSync(Buffer.concat([ZLIB, deflatedZeros(megabytes)]), { level: 9 });
  return pdf({ content, filter: "/Filter [/FlateDecode /FlateDecode]" });
};
