// --context TEXT|@FILE: additional text for the model.
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { Zz } from "zz";
import { codeOf, errnoSentence, usage } from "zz/text";

const MAX_FILE_BYTES = 1024 * 1024;
const NOT_TEXT = "it is not text (UTF-8). Name a text file.";
const WHY: Record<string, string> = {
  ENOENT: "no such file. Check the path; a text that begins with @ needs a space before it.",
  ENOTDIR: "a part of the path is not a folder. Check the path.",
  EACCES: "permission denied. Check its mode.",
  ERR_ENCODING_INVALID_ENCODED_DATA: NOT_TEXT,
};

export default (zz: Zz) => {
  const texts: string[] = [];
  zz.flag({
    name: "context",
    value: "TEXT|@FILE",
    many: true,
    group: "asking",
    description: "tell the model this too, or what the file holds",
    set: (value) => void texts.push(textOf(String(value), zz.io.cwd())),
  });
  zz.layer({ name: "context", slot: "memory", budget: 8_000, text: () => texts.join("\n\n") });
};

/** The person named it, so it does not go through the gate. */
function textOf(argument: string, cwd: string): string {
  const refuse = (reason: string) => usage(`Cannot use --context '${argument}': ${reason}`);
  if (!argument.trim()) throw refuse("it is empty. Give it a text, or @FILE.");
  if (!argument.startsWith("@")) return argument.trim();
  if (argument === "@") throw refuse("it names no file. Write it as @FILE.");
  const file = path.resolve(cwd, argument.slice(1));
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) throw refuse("it is a folder. Name a file.");
    if (!stat.isFile()) throw refuse("it is not a regular file. Name another.");
    if (stat.size > MAX_FILE_BYTES)
      throw refuse(`${stat.size} bytes are too many (1 MB). Cut it down first.`);
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
    if (text.includes("\0")) throw refuse(NOT_TEXT);
    return text.trim();
  } catch (error) {
    const { exit, message } = error as { exit?: number; message: string };
    if (exit) throw error;
    throw refuse(WHY[codeOf(error)] ?? (errnoSentence(error) || `${message}.`));
  }
}
