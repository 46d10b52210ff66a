// /paste, with stand-ins for the programs of the clipboard, and /detach.
import { deepEqual, match } from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { png } from "../../support/media.ts";
import { repl } from "../../support/repl.ts";
import { type Place, place } from "../../support/run.ts";

const PNG = png(40, 30);
const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PNG.toString("base64")}` } };

/** A clipboard that holds these; a program fails for what it does not hold, as the real ones do. */
function clipboard(where: Place, program: string, holds: { image?: Buffer; text?: string }): Record<string, string> {
  const bin = join(where.cwd, "..", "bin");
  mkdirSync(bin);
  for (const [name, content] of Object.entries(holds)) writeFileSync(join(bin, name), content);
  const give = (name: string) => (existsSync(join(bin, name)) ? `exec cat '${join(bin, name)}'` : "exit 1");
  const script = `#!/bin/sh\ncase "$*" in *image/png*) ${give("image")};; *) ${give("text")};; esac\n`;
  if (program) writeFileSync(join(bin, program), script, { mode: 0o755 });
  return {
    PATH: `${bin}:/usr/bin:/bin`,
    WAYLAND_DISPLAY: program === "wl-paste" ? "w" : "",
    DISPLAY: program === "xclip" ? ":9" : "",
  };
}

/** Words, wherever the edge of the screen breaks them. */
const says = (words: string): RegExp =>
  new RegExp(words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replaceAll(" ", "\\s+"));

const start = (t: TestContext, program: string, holds: Parameters<typeof clipboard>[2]) => {
  const where = place();
  return repl(t, { where, env: clipboard(where, program, holds), rows: 40 });
};

for (const program of ["wl-paste", "xclip"])
  test(`/paste takes an image through ${program}; it goes with the next message, and only with that`, async (t) => {
    const zz = await start(t, program, { image: PNG, text: "not this" });
    await zz.say(
      "/paste",
      says("With your next message: the clipboard (image/png, 40 × 30, 1 KB). /detach takes it back."),
    );
    await zz.say("what is it?");
    deepEqual(await zz.asked(1), [{ type: "text", text: "what is it?" }, image]);
    await zz.say("and now?", /Good\.[\s\S]*Good\./);
    deepEqual(await zz.asked(2), "and now?");
    await zz.leave();
  });

test("/paste of a text says that it is one, and it goes before the message", async (t) => {
  const zz = await start(t, "wl-paste", { text: "one\ntwo\n" });
  await zz.say("/paste", says("With your next message: a text of 2 lines, since the clipboard holds no image."));
  await zz.say("what is it?");
  deepEqual(await zz.asked(1), "--- CLIPBOARD ---\none\ntwo\n--- END CLIPBOARD ---\n\nwhat is it?");
  await zz.leave();
});

const REFUSED: [what: string, program: string, holds: Parameters<typeof clipboard>[2], why: RegExp][] = [
  ["without a program", "", {}, /Cannot paste: there is no wl-paste, xclip, pngpaste or osascript\s+here\./],
  ["of an empty clipboard", "wl-paste", {}, /Cannot paste: the clipboard holds neither an image nor a text\./],
  [
    "of half an image",
    "wl-paste",
    { image: PNG.subarray(0, 40) },
    /Cannot paste: it begins as image\/png, but is cut off\./,
  ],
  [
    "of what is no text either",
    "wl-paste",
    { text: "a\0b" },
    /Cannot paste: the clipboard holds neither an image nor a text\./,
  ],
];
for (const [what, program, holds, why] of REFUSED)
  test(`/paste ${what} is told in a sentence`, async (t) => {
    const zz = await start(t, program, holds);
    match(await zz.say("/paste", why), why);
    await zz.say("hello");
    deepEqual(await zz.asked(1), "hello");
    await zz.leave();
  });

test("/detach takes back the last one, one of several, or all", async (t) => {
  const zz = await start(t, "wl-paste", { image: PNG });
  await zz.say("/detach", /Nothing is attached\./);
  await zz.say("/paste", /With your next message: the clipboard/);
  await zz.say("/paste", /2 attachments \(1: the clipboard[^;]*; 2: the\s+clipboard/);
  await zz.say("/detach 3", /Cannot detach '3': there is no such one\./);
  await zz.say(
    "/detach 1",
    says("Taken back: the clipboard (image/png, 40 × 30, 1 KB). With your next message: the clipboard"),
  );
  await zz.say("/paste", /2 attachments[\s\S]*2 attachments/);
  await zz.say("/detach all", /Taken back: 2 attachments[\s\S]*Nothing is attached\./);
  await zz.say("hello");
  deepEqual(await zz.asked(1), "hello");
  await zz.leave();
});

test("What -a names waits for the first message of a conversation, and is told", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "dot.png"), PNG);
  const zz = await repl(t, { where, args: ["-a", "dot.png"], rows: 40 });
  await zz.sees(/With your next message: dot\.png \(image\/png, 40 × 30, 1 KB\)\./);
  await zz.say("what is it?");
  deepEqual(await zz.asked(1), [{ type: "text", text: "what is it?" }, image]);
  await zz.leave();
});
