// What is in the clipboard: an image, else its text. The first program that is there and has
// something gives it.
import type { Programs } from "zz";
import { MAX_MEDIA_BYTES, mediaIn, plural } from "zz/text";
import type { Attachment } from "./index.ts";
import { attachmentOf } from "./load.ts";

const LIMIT_MS = 5_000;
const MAX_TEXT_CHARS = 100_000;

/** A program that gives the clipboard's image, and one that gives its text. */
type Means = { image: string[]; text: string[]; fits: unknown; decode?(output: Buffer): Buffer };

export async function clipboard(programs: Programs, signal: AbortSignal): Promise<Attachment> {
  const { env, platform } = process;
  const isMacSystem = platform === "darwin";
  const allMeans: Means[] = [
    {
      image: ["wl-paste", "--type", "image/png"],
      text: ["wl-paste", "--no-newline"],
      fits: env.WAYLAND_DISPLAY,
    },
    {
      image: ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
      text: ["xclip", "-selection", "clipboard", "-out"],
      fits: env.DISPLAY,
    },
    { image: ["pngpaste", "-"], text: ["pbpaste"], fits: isMacSystem },
    {
      image: ["osascript", "-e", "the clipboard as «class PNGf»"],
      text: ["pbpaste"],
      fits: isMacSystem,
      decode: fromHex,
    },
  ];
  const usableMeans = allMeans.filter(
    ({ fits, image: [programName = ""] }) => fits && programs.find(programName),
  );
  if (!usableMeans.length)
    throw new Error(
      "Cannot paste: there is no wl-paste, xclip, pngpaste or osascript here. " +
        "Save the image, and name it with @FILE.",
    );
  for (const { image, decode = (output: Buffer) => output } of usableMeans) {
    const imageBytes = decode(await outputOf(programs, image, signal));
    const clipboardMedia = imageBytes.length ? mediaOf(imageBytes) : undefined;
    if (clipboardMedia) return attachmentOf("the clipboard", clipboardMedia);
  }
  for (const { text } of usableMeans) {
    const textBytes = programs.find(text[0]!)
      ? await outputOf(programs, text, signal)
      : Buffer.alloc(0);
    const clipboardText = textBytes.includes(0) ? "" : textBytes.toString("utf8").trimEnd();
    if (!clipboardText) continue;
    if (clipboardText.length > MAX_TEXT_CHARS)
      throw new Error("Cannot paste: the clipboard's text is too long. Save it to a file.");
    const label =
      `a text of ${plural(clipboardText.split("\n").length, "line")}, ` +
      "since the clipboard holds no image";
    return { label, what: `--- CLIPBOARD ---\n${clipboardText}\n--- END CLIPBOARD ---` };
  }
  throw new Error("Cannot paste: the clipboard holds neither an image nor a text. Copy one first.");
}

function mediaOf(imageBytes: Buffer): ReturnType<typeof mediaIn> {
  try {
    return mediaIn(imageBytes);
  } catch (error) {
    throw new Error(`Cannot paste: ${(error as Error).message}`);
  }
}

/** «data PNGf89504E47…» */
const fromHex = (output: Buffer): Buffer =>
  Buffer.from(/«data PNGf([0-9A-F]+)»/.exec(output.toString("utf8"))?.[1] ?? "", "hex");

/** Empty where it fails, says nothing, or takes too long. */
function outputOf(
  programs: Programs,
  [programName = "", ...programArgs]: string[],
  signal: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve) => {
    const childProcess = programs.start(programName, programArgs, {
      stdio: ["ignore", "pipe", "ignore"],
      timeout: LIMIT_MS,
      signal,
    });
    const pieces: Buffer[] = [];
    let outputSize = 0;
    childProcess.stdout!.on("data", (piece: Buffer) => {
      outputSize += piece.length;
      if (outputSize > 2 * MAX_MEDIA_BYTES + 64) childProcess.kill();
      else pieces.push(piece);
    });
    childProcess.on("error", () => resolve(Buffer.alloc(0)));
    childProcess.on("close", (exitCode) =>
      resolve(exitCode === 0 ? Buffer.concat(pieces) : Buffer.alloc(0)),
    );
  });
}
