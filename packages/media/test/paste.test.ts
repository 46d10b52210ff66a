// /paste, with stand-ins for the programs of the clipboard, and /detach.
import { deepEqual, match } from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { png } from "../../../test/support/media.ts";
import { repl, sharedRepl } from "../../../test/support/repl.ts";
import { type Place, place } from "../../../test/support/run.ts";

const PNG = png(40, 30);
const image = {
  type: "image_url",
  image_url: { url: `data:image/png;base64,${PNG.toString("base64")}` },
};

/**
 * A clipboard that holds what lies in its folder; a program fails for what it does not hold, as the
 * real ones do.
 */
function clipboard({ cwd }: Place, program: string): Record<string, string> {
  const bin = join(cwd, "..", "bin");
  mkdirSync(bin);
  const script = `#!/bin/sh\ncase "$*" in *image/png*) exec cat '${bin}/image';; *) exec cat '${bin}/text';; esac 2> /dev/null\n`;
  if (program) writeFileSync(join(bin, program), script, { mode: 0o755 });
  return {
    PATH: `${bin}:/usr/bin:/bin`,
    WAYLAND_DISPLAY: program === "wl-paste" ? "w" : "",
    DISPLAY: program === "xclip" ? ":0" : "",
  };
}
function holds({ cwd }: Place, content: { image?: Buffer; text?: string }): void {
  for (const name of ["image", "text"] as const) {
    const file = join(cwd, "..", "bin", name);
    rmSync(file, { force: true });
    if (content[name] !== undefined) writeFileSync(file, content[name]);
  }
}

const CLIP = `the clipboard (image/png, 40 × 30, ${PNG.length} bytes)`;
/** Words, wherever the edge of the screen breaks them. */
const says = (words: string): RegExp =>
  new RegExp(words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replaceAll(" ", "\\s+"));

const where = place();
const again = await sharedRepl({ where, env: clipboard(where, "wl-paste"), rows: 40 });

test("/paste takes an image; it goes with the next message, and only with that", async () => {
  holds(where, { image: PNG, text: "not this" });
  const zz = await again();
  await zz.say("/paste", says(`With your next message: ${CLIP}. /detach takes it back.`));
  await zz.say("what is it?");
  deepEqual(await zz.asked(1), [{ type: "text", text: "what is it?" }, image]);
  await zz.say("and now?", /Good\.[\s\S]*Good\./);
  deepEqual(await zz.asked(2), "and now?");
});

for (const program of ["wl-paste", "xclip"])
  test(`Ctrl+V attaches the image that ${program} gives, and leaves the line as it is`, async (t) => {
    const where = place();
    const zz = await repl(t, { where, env: clipboard(where, program), rows: 40 });
    holds(where, { image: PNG });
    await zz.hit("what is \x16", says(`With your next message: ${CLIP}.`));
    await zz.hit("this?", /› what is this\?$/);
    await zz.say("", "Good.");
    deepEqual(await zz.asked(1), [{ type: "text", text: "what is this?" }, image]);
  });

test("/paste without a program is told in a sentence", async (t) => {
  const where = place();
  const zz = await repl(t, { where, env: clipboard(where, ""), rows: 40 });
  await zz.say(
    "/paste",
    /Cannot paste: there is no wl-paste, xclip, pngpaste or osascript\s+here\./,
  );
});

test("/paste of a text says that it is one, and it goes before the message", async () => {
  holds(where, { text: "one\ntwo\n" });
  const zz = await again();
  await zz.say(
    "/paste",
    says("With your next message: a text of 2 lines, since the clipboard holds no image."),
  );
  await zz.say("what is it?");
  deepEqual(await zz.asked(1), "--- CLIPBOARD ---\none\ntwo\n--- END CLIPBOARD ---\n\nwhat is it?");
});

const NEITHER = /Cannot paste: the clipboard holds neither an image nor a text\./;
for (const [what, content, why] of [
  [
    "half an image",
    { image: PNG.subarray(0, 40) },
    /Cannot paste: it begins as image\/png, but is cut off\./,
  ],
  ["what is no text either", { text: "a\0b" }, NEITHER],
] as const)
  test(`/paste of ${what} is told in a sentence`, async () => {
    holds(where, content);
    const zz = await again();
    match(await zz.say("/paste", why), why);
    await zz.say("hello");
    deepEqual(await zz.asked(1), "hello");
  });

test("/detach takes back the last one, one of several, or all", async () => {
  holds(where, { image: PNG });
  const zz = await again();
  await zz.say("/detach", /Nothing is attached\./);
  await zz.say("/paste", /With your next message: the clipboard/);
  await zz.say("/paste", /2 attachments \(1: the clipboard[^;]*; 2: the\s+clipboard/);
  await zz.say("/detach 3", /Cannot detach '3': no such attachment\./);
  await zz.say("/detach 1", says(`Taken back: ${CLIP}. With your next message: the clipboard`));
  await zz.say("/paste", /2 attachments[\s\S]*2 attachments/);
  await zz.say("/detach all", /Taken back: 2 attachments[\s\S]*Nothing is attached\./);
  await zz.say("hello");
  deepEqual(await zz.asked(1), "hello");
});

test("What -a names waits for the first message of a conversation, and is told", async (t) => {
  const where = place({ "dot.png": PNG });
  const zz = await repl(t, { where, args: ["-a", "dot.png"], rows: 40 });
  await zz.sees(/With your next message: dot\.png \(image\/png, 40 × 30, \d+ bytes\)\./);
  await zz.say("what is it?");
  deepEqual(await zz.asked(1), [{ type: "text", text: "what is it?" }, image]);
});
