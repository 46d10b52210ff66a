// Questions at a terminal in a one-shot, outside of a conversation.
import type { Zz } from "zz";
import { isPlain, putQuestion, RESIZED } from "./page-questions.ts";
import { keyMeant, timeAfter, waitForQuiet } from "./prompt-rows.ts";
import { SETTLED_MS } from "./redraw-on-resize.ts";

/** Asks for one of the keys, or without keys for a line. */
export async function askInOneShot(
  zz: Zz,
  question: string,
  keys: string | undefined,
  unframed: boolean,
): Promise<string> {
  const { io } = zz;
  const { stderr } = io;
  const stdin = io.stdin as NodeJS.ReadStream;
  let onTyped: (typed: string) => void = () => {};
  const onInput = (bytes: Buffer) => onTyped(bytes.toString("utf8"));
  stdin
    .setRawMode(true) // also without keys: a long question is shown page by page
    .on("data", onInput)
    .resume();
  let cancel = () => {};
  const onResize = () => {
    cancel();
    cancel = io.clock.timer(SETTLED_MS, () => onTyped(RESIZED));
  };
  stderr.on("resize", onResize);
  try {
    const write = (text: string) => void stderr.write(text);
    const size = () => ({ columns: stderr.columns ?? 80, rows: stderr.rows ?? 24 });
    const settle = () => waitForQuiet(io, (onNoise) => (onTyped = onNoise));
    const press = async (settled: boolean) => {
      if (settled) await settle();
      return new Promise<string>((resolve) => (onTyped = resolve));
    };
    const soon = (key: string) =>
      new Promise<string>((resolve) => {
        const stop = io.clock.timer(timeAfter(key), () => resolve(""));
        onTyped = (typed) => {
          stop();
          resolve(typed);
        };
      });
    if (keys !== undefined) await settle();
    const typed = await putQuestion(question, keys, {
      size,
      write,
      press,
      soon,
      plain: isPlain(zz),
      unframed,
    });
    if (typed === "\x03") process.kill(process.pid, "SIGINT");
    if (keys === undefined) {
      stdin.setRawMode(false);
      return typed === "on" ? (await press(false)).trim() : "";
    }
    const key = keyMeant(typed, keys);
    write(`${key}\n`);
    return key;
  } finally {
    cancel();
    stderr.off("resize", onResize);
    stdin.off("data", onInput).pause().setRawMode(false);
  }
}
