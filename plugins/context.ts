// --context TEXT|@FILE: additional text for the model.
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { Zz } from "zz";
import { codeOf, errnoSentence, usage } from "zz/text";

const MAX_FILE_BYTES = 1024 * 1024;
const NOT_TEXT = "it is not text (UTF-8). Name a text file.";
const REASON_BY_CODE: Record<string, string> = {
  ENOENT: "no such file. Check the path; a text that begins with @ needs a space before it.",
  ENOTDIR: "a part of the path is not a folder. Check the path.",
  EACCES: "permission denied. Check its mode.",
  ERR_ENCODING_INVALID_ENCODED_DATA: NOT_TEXT,
};

export default (zz: Zz) => {
  const contextTexts: string[] = [];
  zz.flag({
    name: "context",
    value: "TEXT|@FILE",
    many: true,
    group: "asking",
    description: "tell the model this too, or what the file holds",
    set: (flagValue) => void contextTexts.push(readContext(String(flagValue), zz.io.cwd())),
  });
  zz.layer({
    name: "context",
    slot: "memory",
    budget: 8_000,
    text: () => contextTexts.join("\n\n"),
  });
};

/** The person named it, so it does not go through the gate. */
function readContext(argument: string, workFolder: string): string {
  const refusalFor = (reason: string) => usage(`Cannot use --context '${argument}': ${reason}`);
  if (!argument.trim()) throw refusalFor("it is empty. Give it a text, or @FILE.");
  if (!argument.startsWith("@")) return argument.trim();
  if (argument === "@") throw refusalFor("it names no file. Write it as @FILE.");
  const contextFile = path.resolve(workFolder, argument.slice(1));
  try {
    const fileStats = statSync(contextFile);
    if (fileStats.isDirectory()) throw refusalFor("it is a folder. Name a file.");
    if (!fileStats.isFile()) throw refusalFor("it is not a regular file. Name another.");
    if (fileStats.size > MAX_FILE_BYTES)
      throw refusalFor(`${fileStats.size} bytes are too many (1 MB). Cut it down first.`);
    const fileText = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(contextFile));
    if (fileText.includes("\0")) throw refusalFor(NOT_TEXT);
    return fileText.trim();
  } catch (error) {
    const { exit, message } = error as { exit?: number; message: string };
    if (exit) throw error;
    throw refusalFor(REASON_BY_CODE[codeOf(error)] ?? (errnoSentence(error) || `${message}.`));
  }
}
