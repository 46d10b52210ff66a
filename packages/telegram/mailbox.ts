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
const fileOf = (home: string, token: string, end: string): string =>
  path.join(folderIn(home), `${token}.${end}`);

export function openLetter(home: string, token: string, letter: Omit<Letter, "pid">): void {
  mkdirSync(folderIn(home), { recursive: true, mode: 0o700 });
  writeWhole(fileOf(home, token, "json"), JSON.stringify({ ...letter, pid: process.pid }), 0o600);
}

export function closeLetter(home: string, token: string): void {
  for (const end of ["json", "answer"]) rmSync(fileOf(home, token, end), { force: true });
}

/** The first answer, if there is one. */
export function readAnswer(home: string, token: string): Given | undefined {
  return parsed<Given>(textOf(fileOf(home, token, "answer")));
}

/** False: nobody waits for it, or another answer was first. */
export function answerLetter(home: string, token: string, key: string, given: Given): boolean {
  const letter = parsed<Letter>(textOf(fileOf(home, token, "json")));
  if (letter?.key !== key) return false;
  if (!isAlive(letter.pid)) closeLetter(home, token);
  else
    return (
      tryTo(() => {
        writeFileSync(fileOf(home, token, "answer"), JSON.stringify(given), { flag: "wx" });
        return true;
      }) ?? false
    );
  return false;
}

/** The question that has this message. */
export function letterWith(home: string, key: string, message: number): string | undefined {
  const names = tryTo(() => readdirSync(folderIn(home))) ?? [];
  return names
    .filter((name) => name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length))
    .find((token) => {
      const letter = parsed<Letter>(textOf(fileOf(home, token, "json")));
      return letter?.key === key && letter.message === message;
    });
}

const isAlive = (pid: number): boolean => tryTo(() => process.kill(pid, 0)) ?? false;
const parsed = <T>(text: string): T | undefined =>
  text ? (tryTo(() => JSON.parse(text)) as T | undefined) : undefined;
