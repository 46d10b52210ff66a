// Images on the terminal, by the bytes that are written to it.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import jpeg from "jpeg-js";
import pngjs from "pngjs";
import decodeImage from "../../../plugins/terminal/decode-image.ts";
import * as images from "../../../plugins/terminal/images.ts";
import { standingClock } from "../../../sdk/clock.ts";
import { mediaIn } from "../../../sdk/media.ts";
import { running } from "../../support/children.ts";
import { call, say } from "../../support/fake/openai.ts";
import { jpegOfScans } from "../../support/hostile.ts";
import { JPEG, png } from "../../support/media.ts";
import { repl } from "../../support/repl.ts";
import { place } from "../../support/run.ts";
import { waitFor } from "../../support/wait.ts";

const { drawOne, MAX_IMAGE_COLUMNS, MAX_IMAGE_ROWS, protocolOf } = images;
const TERMINALS: [env: NodeJS.ProcessEnv, draws: images.Protocol | undefined][] = [
  [{ TERM: "xterm-kitty", KITTY_WINDOW_ID: "1" }, "kitty"],
  [{ TERM: "xterm-256color", KITTY_WINDOW_ID: "1" }, "kitty"],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "ghostty" }, "kitty"],
  [{ TERM: "xterm-256color", KONSOLE_VERSION: "230800" }, "kitty"],
  [{ TERM: "xterm-256color", KONSOLE_VERSION: "200400" }, undefined],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app" }, "iterm2"],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "WezTerm" }, "iterm2"],
  [{ TERM: "xterm-256color", TERM_PROGRAM: "vscode", KITTY_WINDOW_ID: "1" }, undefined],
  [{ TERM: "xterm-256color" }, undefined],
  [{ TERM: "dumb", KITTY_WINDOW_ID: "1" }, undefined],
  [{ TERM: "tmux-256color", KITTY_WINDOW_ID: "1" }, undefined],
  [{ TERM: "xterm-kitty", TMUX: "/tmp/tmux,1,0" }, undefined],
  [{}, undefined],
];
for (const [env, draws] of TERMINALS)
  test(`protocolOf() of ${JSON.stringify(env)} is ${draws}`, () => {
    const found = protocolOf((name) => env[name]);
    equal(found, draws);
  });

const KITTY =
  /^\x1b_Ga=T,f=100,q=2,[cr]=\d+,m=[01];[A-Za-z0-9+/=]+\x1b\\(\x1b_Gm=[01];[A-Za-z0-9+/=]+\x1b\\)*$/;
const ITERM =
  /^\x1b\]1337;File=inline=1;size=\d+;width=\d+;height=\d+;preserveAspectRatio=1:[A-Za-z0-9+/=]+\x07$/;

const SIZES: [
  width: number,
  height: number,
  columns: number,
  size: string,
  box: [number, number],
][] = [
  [1, 1, 80, "r=1", [1, 1]],
  [5_000, 50, 80, "c=60", [60, 1]],
  [4_000, 3_000, 40, "c=39", [39, 15]],
  [4_000, 3_000, 1, "c=1", [1, 1]],
];
for (const [width, height, columns, size, [wide, high]] of SIZES)
  test(`An image of ${width} × ${height} on ${columns} columns takes ${wide} × ${high}`, () => {
    const image = { ...mediaIn(png())!, width, height };
    match(drawOne("kitty", image, columns), new RegExp(`,${size},`));
    match(drawOne("iterm2", image, columns), new RegExp(`;width=${wide};height=${high};`));
    ok(wide <= MAX_IMAGE_COLUMNS && high <= MAX_IMAGE_ROWS);
  });

test("A long image goes to kitty in pieces, of which only the last says so", () => {
  const image = { ...mediaIn(png())!, base64: Buffer.alloc(9_000, 7).toString("base64") };
  const text = drawOne("kitty", image, 80);
  match(text, KITTY);
  equal(text.match(/m=[01];/g)!.join(""), "m=1;m=1;m=0;");
  equal(text.replace(/\x1b_G[^;]*;|\x1b\\/g, ""), image.base64);
});

const PNG = png(40, 30);
function red(width: number, height: number): Buffer {
  const image = new pngjs.PNG({ width, height });
  for (let i = 0; i < image.data.length; i += 4) image.data.set([200, 40, 80, 255], i);
  return pngjs.PNG.sync.write(image);
}
const COMMANDS = Buffer.from("\x1b\\\x07\x1b]0;owned\x07");
function project(settings: object = {}) {
  const real = jpeg.encode({ data: Buffer.alloc(16 * 8 * 4, 200), width: 16, height: 8 }).data;
  const images = { "dot.png": PNG, "half.png": PNG.subarray(0, 40), "real.png": red(40, 30) };
  const files = {
    ...images,
    "photo.jpg": JPEG,
    "real.jpg": real,
    "bad.png": Buffer.concat([PNG, COMMANDS]),
  };
  return place(files, settings);
}
const drawings = (raw: string): string[] => raw.match(/\x1b_G.*?\x1b\\|\x1b\]1337;.*?\x07/gs) ?? [];
const BASE64 = PNG.toString("base64");
const NAMES = `TERM_PROGRAM LC_TERMINAL KITTY_WINDOW_ID KONSOLE_VERSION TMUX STY ZELLIJ`.split(" ");
const NONE = Object.fromEntries(NAMES.map((name) => [name, ""]));
const IN_KITTY = { ...NONE, TERM: "xterm-kitty" };
const IN_ITERM = { ...NONE, TERM_PROGRAM: "iTerm.app" };

const start = (
  t: TestContext,
  env: Record<string, string>,
  path: string,
  tool = "show_image",
  settings = {},
) =>
  repl(t, {
    where: project(settings),
    env,
    rows: 40,
    script: [call([tool, { path }]), say("Good.")],
  });

for (const [name, env, shape] of [
  ["kitty", IN_KITTY, KITTY],
  ["iTerm2", IN_ITERM, ITERM],
] as const)
  test(`show_image draws an image in ${name}, and the model is not sent it`, async (t) => {
    const zz = await start(t, env, "dot.png");
    await zz.say("show it", /show_image dot\.png · 40 × 30[\s\S]*Good\./);
    const [drawing = "", ...more] = drawings(zz.raw());
    match(drawing, shape);
    deepEqual([drawing.includes(BASE64), more], [true, []]);
    const { messages } = zz.fake.requests[1]!.body;
    equal(messages.at(-1).content, "The person sees 'dot.png' (40 × 30).");
    doesNotMatch(JSON.stringify(messages), /image_url/);
  });

test("What read_file gives, and what is attached, is drawn once", async (t) => {
  const zz = await start(t, IN_KITTY, "dot.png", "read_file");
  await zz.say("look at @dot.png", "Good.");
  equal(drawings(zz.raw()).length, 2);
  await zz.say("and now?", /Good\.[\s\S]*Good\./);
  equal(drawings(zz.raw()).length, 2);
});

/** What a terminal says of itself when it is asked. */
const answering = (zz: Awaited<ReturnType<typeof start>>, answer: string) => {
  let done = false;
  zz.onData(() => {
    if (!done && (done = zz.raw().includes("\x1b[c"))) zz.type(answer);
  });
};
const SIXEL = /\x1bP0;1;q"1;1;(\d+);(\d+)[^\x1b]*\x1b\\/g;

for (const [what, path, size] of [
  ["a PNG", "real.png", [40, 30]],
  ["a JPEG", "real.jpg", [16, 8]],
] as const)
  test(`show_image draws ${what} as sixels where the terminal says that it has them, and keeps what is typed`, async (t) => {
    const zz = await start(t, NONE, path);
    answering(zz, "later\x1b[6;16;6t\x1b[?62;4;22c");
    await zz.say("show it", "Good.");
    const sizes = Array.from(zz.raw().matchAll(SIXEL), (all) => all.slice(1).map(Number));
    deepEqual(sizes, [size], zz.screen());
    await zz.sees("› later");
    const count = zz.raw().split("\x1b[16t").length;
    zz.type("\x15and again\r");
    await zz.sees(/Good\.[\s\S]*Good\./);
    equal(zz.raw().split("\x1b[16t").length, count, "it is asked once");
  });

test("A terminal that does not answer for 300 ms is asked once and draws nothing", async (t) => {
  const clock = standingClock();
  const script = [call(["show_image", { path: "dot.png" }]), say("Good.")];
  const zz = await repl(t, { where: project(), env: NONE, rows: 40, script, clock });
  zz.type("show it\r");
  await clock.waits(300);
  await clock.pass(300);
  await zz.sees("Good.");
  match(
    zz.fake.requests[1]!.body.messages.at(-1).content,
    /there is no terminal here that draws images/,
  );
  equal(zz.raw().match(SIXEL), null);
  equal(zz.raw().split("\x1b[16t").length, 2);
});

test("What cannot be decoded is told to the model", async (t) => {
  const zz = await start(t, NONE, "photo.jpg");
  answering(zz, "\x1b[?62;4c");
  await zz.say("show it", "Good.");
  const seen = zz.fake.requests[1]!.body.messages.at(-1).content;
  match(seen, /^Cannot show 'photo\.jpg': it is damaged\. open_file opens it/);
});

test("Sixels say the size of the scaled image, and the palette in percent", async () => {
  const { value } = await decodeImage(red(100, 50), {
    type: "image/png",
    room: [50, 400],
    mostPixels: 5_000,
  });
  match(value, /^\x1bP0;1;q"1;1;50;25#0;2;0;0;0#1;2;0;0;20/);
});

test("Ctrl+C ends an image that takes long to decode, and what decodes it", async (t) => {
  const where = project();
  writeFileSync(join(where.cwd, "scans.jpg"), jpegOfScans(20_000));
  const script = [call(["show_image", { path: "scans.jpg" }]), say("Good.")];
  const zz = await repl(t, { where, env: NONE, rows: 40, cols: 43, script });
  answering(zz, "\x1b[6;17;7t\x1b[?62;4c");
  zz.type("show it\r");
  const decoders = () => running('"room":[294,340]');
  await waitFor("what decodes it", () => decoders().length);
  await zz.hit("\x03", /Stopped\.[\s\S]*›$/); // what is typed before is only queued
  await waitFor("its end", () => !decoders().length);
  await zz.say("go on", "Good.");
});

const UNSHOWN: [
  what: string,
  env: Record<string, string>,
  path: string,
  why: RegExp,
  settings?: object,
][] = [
  ["on a terminal that cannot", NONE, "dot.png",
    /there is no terminal here that draws images\. open_file opens it/],
  ["with display.images off", IN_KITTY, "dot.png", /the person turned images off/,
    { display: { images: "off" } }],
  ["of half a PNG", IN_KITTY, "half.png", /it begins as image\/png, but is cut off/],
]; // biome-ignore format: a table
for (const [what, env, path, why, settings] of UNSHOWN)
  test(`show_image ${what} tells the model why not, and draws nothing`, async (t) => {
    const zz = await start(t, env, path, "show_image", settings);
    await zz.say("show it", "Good.");
    match(zz.fake.requests[1]!.body.messages.at(-1).content, why);
    deepEqual(drawings(zz.raw()), []);
  });

test("An image that holds control characters is drawn as base64 alone", async (t) => {
  const zz = await start(t, IN_ITERM, "bad.png");
  await zz.say("show it", "Good.");
  const [drawing = "", ...more] = drawings(zz.raw());
  match(drawing, ITERM);
  deepEqual(more, []);
  doesNotMatch(zz.raw(), /\x1b\]0;owned/);
});

/** The colour of each pixel that sixels draw, by their grammar alone. */
function pixelsOf(sixels: string): Map<string, string> {
  const [palette, pixels] = [new Map<string, string>(), new Map<string, string>()];
  let [x, y, colour] = [0, 0, ""];
  const piece = /#(\d+)(?:;2;([\d;]+))?|(?:!(\d+))?([?-~])|\$|-/g;
  for (const [text, number, rgb, times = "1", sixel] of sixels
    .slice(sixels.indexOf("#"))
    .matchAll(piece)) {
    if (number) colour = number;
    if (rgb) palette.set(number!, rgb);
    if (text === "$" || text === "-") x = 0;
    if (text === "-") y += 6;
    for (let n = 0; sixel && n < Number(times); n++, x++)
      for (let row = 0; row < 6; row++)
        if ((sixel.charCodeAt(0) - 63) & (1 << row)) pixels.set(`${x},${y + row}`, colour);
  }
  return new Map([...pixels].map(([place, number]) => [place, palette.get(number)!]));
}

const DRAWN: [what: string, colour: (x: number, y: number) => number[]][] = [
  ["two halves", (x) => (x < 32 ? [255, 0, 0] : [0, 0, 255])],
  ["one colour", () => [20, 200, 120]],
  ["a gradient", (x, y) => [x * 4, y * 4, 255 - x * 4]],
  ["stripes", (_, y) => (y % 16 < 8 ? [0, 0, 0] : [255, 255, 255])],
  ["black and white", (x, y) => ((x ^ y) & 8 ? [0, 0, 0] : [255, 255, 255])],
];
for (const [what, colour] of DRAWN)
  test(`Sixels of ${what} have the colours of the picture in each square of eight pixels`, async () => {
    const image = new pngjs.PNG({ width: 64, height: 64 });
    for (let i = 0; i < 64 * 64; i++)
      image.data.set([...colour(i % 64, Math.floor(i / 64)), 255], i * 4);
    const how = { type: "image/png", room: [64, 64] as [number, number], mostPixels: 10_000 };
    const { value } = (await decodeImage(pngjs.PNG.sync.write(image), how)) as { value: string };
    const pixels = pixelsOf(value);
    const mean = (look: (x: number, y: number) => number[], left: number, top: number) =>
      [0, 1, 2].map((part) => {
        const values = Array.from({ length: 64 }, (_, i) => look(left + (i % 8), top + (i >> 3)));
        return values.reduce((sum, value) => sum + value[part]!, 0) / 64;
      });
    const drawn = (x: number, y: number) =>
      (pixels.get(`${x},${y}`) ?? "0;0;0").split(";").map((percent) => Number(percent) * 2.55);
    for (let left = 0; left < 64; left += 8)
      for (let top = 0; top < 64; top += 8)
        for (const [part, value] of mean(drawn, left, top).entries())
          ok(Math.abs(value - mean(colour, left, top)[part]!) < 16, `${what} at ${left},${top}`);
  });
