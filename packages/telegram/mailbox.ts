// Answers for questions of another zz: one process alone hears from Telegram, and hands them on by
// files of the home. A question's file says which message it is and which process waits.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { textOf, tryTo, writeWhole } from "zz/text";

interface Letter {
  key: string; // of the chat
  message: number;
  pid: number;
}
export type Given = { option: number } | { words: string };

const folderIn = (home: string): string => path.join(home, "telegram-answers");
const letterFileOf = (home: string, token: string, extension: string): string =>
  path.join(folderIn(home), `${token}.${extension}`);

export function openLetter(home: string, token: string, letter: Omit<Letter, "pid">): void {
  mkdirSync(folderIn(home), { recursive: true, mode: 0o700 });
  writeWhole(
    letterFileOf(home, token, "json"),
    JSON.stringify({ ...letter, pid: process.pid }),
    0o600,
  );
}

export function closeLetter(home: string, token: string): void {
  for (const extension of ["json", "answer"])
    rmSync(letterFileOf(home, token, extension), { force: true });
}

/** The first answer, if there is one. */
export function readAnswer(home: string, token: string): Given | undefined {
  return parseJson<Given>(textOf(letterFileOf(home, token, "answer")));
}

/** False: nobody waits for it, or another answer was first. */
export function answerLetter(
  home: string,
  token: string,
  chatKey: string,
  phoneAnswer: Given,
): boolean {
  const openedLetter = parseJson<Letter>(textOf(letterFileOf(home, token, "json")));
  if (openedLetter?.key !== chatKey) return false;
  if (!isAlive(openedLetter.pid)) closeLetter(home, token);
  else
    return (
      tryTo(() => {
        writeFileSync(letterFileOf(home, token, "answer"), JSON.stringify(phoneAnswer), {
          flag: "wx",
        });
        return true;
      }) ?? false
    );
  return false;
}

/** The question that has this message. */
export function letterWith(home: string, chatKey: string, message: number): string | undefined {
  const fileNames = tryTo(() => readdirSync(folderIn(home))) ?? [];
  return fileNames
    .filter((fileName) => fileName.endsWith(".json"))
    .map((fileName) => fileName.slice(0, -".json".length))
    .find((token) => {
      const openedLetter = parseJson<Letter>(textOf(letterFileOf(home, token, "json")));
      return openedLetter?.key === chatKey && openedLetter.message === message;
    });
}

const isAlive = (processId: number): boolean => tryTo(() => process.kill(processId, 0)) ?? false;
const parseJson = <T>(jsonText: string): T | undefined =>
  jsonText ? (tryTo(() => JSON.parse(jsonText)) as T | undefined) : undefined;
