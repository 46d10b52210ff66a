// What images, PDFs and sounds are, by their bytes.
import { deepEqual, equal, throws } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Media, mediaIn, mediaOf, readMedia } from "../../sdk/media.ts";
import { temporaryFolder } from "../support/files.ts";
import { FLAC, GIF, JPEG, OGG, PDF, png, TAGGED, WAV, WEBP } from "../support/media.ts";

const text = (words: string): Buffer => Buffer.from(words, "latin1");
const begun = (rest: string): Buffer => Buffer.concat([png().subarray(0, 33), text(rest)]);
const cutOff = (type: string): Media => ({ type, broken: "is cut off" });

// biome-ignore format: one case a row.
const ROWS: [what: string, bytes: Buffer, is: Media | undefined][] = [
  ["a PNG", png(), { type: "image/png", width: 3, height: 2 }],
  ["a JPEG", JPEG, { type: "image/jpeg", width: 9, height: 7 }],
  ["a GIF", GIF, { type: "image/gif", width: 5, height: 4 }],
  ["a WebP", WEBP, { type: "image/webp", width: 5, height: 4 }],
  ["a PDF", PDF, { type: "application/pdf" }],
  ["a WAV", WAV, { type: "audio/wav" }],
  ["an MP3 with a tag", TAGGED, { type: "audio/mpeg" }],
  ["a FLAC", FLAC, { type: "audio/flac" }],
  ["an Ogg", OGG, { type: "audio/ogg" }],
  ["a PNG and more after it", Buffer.concat([png(), text("PK\x03\x04")]), { type: "image/png", width: 3, height: 2 }],
  ["a PNG's first eight bytes", png().subarray(0, 8), cutOff("image/png")],
  ["a PNG without a picture", begun("\0\0\0\0IEND\0\0\0\0"), { type: "image/png", broken: "holds no picture" }],
  ["a PNG whose chunk is longer than all", begun("\xff\xff\xff\xffIDAT"), cutOff("image/png")],
  ["a JPEG without a frame", text("\xff\xd8\xff\xe0\0\x04abno mo"), { type: "image/jpeg", broken: "holds no picture" }],
  ["a PDF of two words", text("%PDF-1.7\n%%EOF\n"), { type: "application/pdf", broken: "holds no document" }],
  ["half a PDF", PDF.subarray(0, 30), cutOff("application/pdf")],
  [
    "a frame that leads off",
    text(`\xff\xfb\x14${"x".repeat(200)}`),
    { type: "audio/mpeg", broken: "holds no sound" },
  ],
  ["a pointer of Git LFS", text("version https://git-lfs.github.com/spec/v1\n"), undefined],
  ["words about Ogg and FLAC", text(`OggS, fLaC and so on ${"x".repeat(90)}`), undefined],
];
for (const [what, bytes, is] of ROWS)
  test(`mediaOf() tells of ${what}: ${is ? is.type + (is.broken ? ` that ${is.broken}` : "") : "nothing"}`, () =>
    deepEqual(mediaOf(bytes), is));

test("mediaOf() of bytes without sense neither throws nor hangs", () => {
  for (const [, bytes] of ROWS)
    for (let i = 0; i < 300; i++) {
      const other = Buffer.from(bytes);
      for (let j = 0; j < 3 && other.length; j++)
        other[(i * 7 + j * 13) % other.length] = (i * 31 + j * 101) & 255;
      mediaOf(other.subarray(0, other.length - (i % 5)));
    }
});

test("mediaIn() refuses what is not whole", () => {
  throws(
    () => mediaIn(png().subarray(0, 33)),
    /: it begins as image\/png, but is cut off\. Get a whole copy of it\.$/,
  );
  equal(mediaIn(text("hello")), undefined);
});

const folder = temporaryFolder("zz-media-");
const put = (name: string, bytes: Buffer, size?: number): string => {
  writeFileSync(join(folder, name), bytes);
  if (size) truncateSync(join(folder, name), size);
  return join(folder, name);
};
function read(file: string): ReturnType<typeof readMedia> {
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return readMedia(fd);
  } finally {
    closeSync(fd);
  }
}

test("readMedia() goes by what is in a file, whatever its name", () => {
  for (const name of ["a.png", "b.pdf", "c.jpg.exe", "d", "e.txt\u202egnp"])
    equal(read(put(name, png()))?.type, "image/png", name);
  equal(read(put("x.png", text("no picture")))?.type, undefined);
});

test("readMedia() refuses what is not a file, and a PDF that is none", () => {
  throws(
    () => read(put("none.pdf", text("%PDF-1.7\nhello\n"))),
    /^Error: it begins as application\/pdf, but holds no document\./,
  );
  const [inner, fifo] = [join(folder, "folder.png"), join(folder, "fifo.png")];
  mkdirSync(inner);
  execFileSync("mkfifo", [fifo]);
  throws(() => read(inner), /^Error: it is a folder\. Name a file\.$/);
  throws(() => read(fifo), /^Error: it is not a regular file\. Name another\.$/);
});
