// Answers for questions of another zz: one process alone hears from Telegram, and hands them on by
// files of the home. A question's file says which message it is and which process waits.
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { entriesOf, makeFolder, textOf, tryTo, writeWhole } from "zz/text";

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
  makeFolder(folderIn(home), 0o700);
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
export const readAnswer = (home: string, token: string): Given | undefined =>
  tryTo(() => JSON.parse(textOf(letterFileOf(home, token, "answer"))));

const readLetter = (home: string, token: string): Letter | undefined =>
  tryTo(() => JSON.parse(textOf(letterFileOf(home, token, "json"))));

/** False: nobody waits for it, or another answer was first. */
export function answerLetter(
  home: string,
  token: string,
  chatKey: string,
  phoneAnswer: Given,
): boolean {
  const openedLetter = readLetter(home, token);
  if (openedLetter?.key !== chatKey) return false;
  if (!isAlive(openedLetter.pid)) {
    closeLetter(home, token);
    return false;
  }
  const isFirst = tryTo(() => {
    const answerFile = letterFileOf(home, token, "answer");
    writeFileSync(answerFile, JSON.stringify(phoneAnswer), { flag: "wx" });
    return true;
  });
  return isFirst ?? false;
}

/** The question that has this message. */
export function letterWith(home: string, chatKey: string, message: number): string | undefined {
  return entriesOf(folderIn(home))
    .filter((fileName) => fileName.endsWith(".json"))
    .map((fileName) => fileName.slice(0, -".json".length))
    .find((token) => {
      const openedLetter = readLetter(home, token);
      return openedLetter?.key === chatKey && openedLetter.message === message;
    });
}

const isAlive = (processId: number): boolean => tryTo(() => process.kill(processId, 0)) ?? false;
