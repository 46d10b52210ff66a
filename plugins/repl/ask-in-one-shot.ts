// Questions at a terminal in a one-shot, outside of a conversation.
import type { Zz } from "zz";
import { isPlain, putQuestion, RESIZED } from "./page-questions.ts";
import { keyMeant, typedSoon, waitForQuiet } from "./prompt-rows.ts";
import { SETTLED_MS } from "./redraw-on-resize.ts";

/** Asks for one of the keys, or without keys for a line. */
export async function askInOneShot(
  zz: Zz,
  question: string,
  offeredKeys: string | undefined,
  unframed: boolean,
): Promise<string> {
  const { io } = zz;
  const { stderr } = io;
  const stdin = io.stdin as NodeJS.ReadStream;
  let onTyped: (typedText: string) => void = () => {};
  const onInput = (inputBytes: Buffer) => onTyped(inputBytes.toString("utf8"));
  stdin
    .setRawMode(true) // also without keys: a long question is shown page by page
    .on("data", onInput)
    .resume();
  let cancelRedraw = () => {};
  const onResize = () => {
    cancelRedraw();
    cancelRedraw = io.clock.timer(SETTLED_MS, () => onTyped(RESIZED));
  };
  stderr.on("resize", onResize);
  try {
    const write = (shownText: string) => void stderr.write(shownText);
    const size = () => ({ columns: stderr.columns ?? 80, rows: stderr.rows ?? 24 });
    const waitUntilQuiet = () => waitForQuiet(io, (onNoise) => (onTyped = onNoise));
    const press = async (settled: boolean) => {
      if (settled) await waitUntilQuiet();
      return new Promise<string>((resolve) => (onTyped = resolve));
    };
    const soon = (pressedKey: string) =>
      typedSoon(io, pressedKey, (listener) => (onTyped = listener));
    if (offeredKeys !== undefined) await waitUntilQuiet();
    const typedAnswer = await putQuestion(question, offeredKeys, {
      size,
      write,
      press,
      soon,
      plain: isPlain(zz),
      unframed,
    });
    if (typedAnswer === "\x03") process.kill(process.pid, "SIGINT");
    if (offeredKeys === undefined) {
      stdin.setRawMode(false);
      return typedAnswer === "on" ? (await press(false)).trim() : "";
    }
    const answerKey = keyMeant(typedAnswer, offeredKeys);
    write(`${answerKey}\n`);
    return answerKey;
  } finally {
    cancelRedraw();
    stderr.off("resize", onResize);
    stdin.off("data", onInput).pause().setRawMode(false);
  }
}
