// Finds lines of memory by their words, or else by similar words.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { linesOf, MADE } from "./notes.ts";
import { filesOf, type LeftOut, MAX_FILE_BYTES, reason } from "./tree.ts";

export interface Hit {
  file: string;
  line: number; // from 1
  text: string;
}
export type Page = { file: string; lines: string[] };

/**
 * The files that can be read now, and the others with the reason: just deleted, not text, too
 * large, or denied.
 */
export async function pagesOf(ctx: Ctx): Promise<{ pages: Page[]; leftOut: LeftOut[] }> {
  const { files, leftOut } = filesOf(ctx);
  const pages: Page[] = [];
  for (const file of files)
    try {
      const { size } = fs.statSync(file);
      if (size > MAX_FILE_BYTES)
        throw new Error(`${size} bytes are too many (${MAX_FILE_BYTES} at most)`);
      const { text, bytes } = await ctx.files.read(file);
      if (bytes.includes(0)) throw new Error("it is not text");
      pages.push({ file, lines: linesOf(text) });
    } catch (error) {
      leftOut.push({ file, problem: reason(error) });
    }
  return { pages, leftOut };
}

/** Lines with all of the words; those with the exact phrase come first. */
export function byWords(pages: Page[], query: string): Hit[] {
  const phrase = query.trim().toLowerCase();
  const words = wordsOf(phrase);
  if (!words.length) return [];
  const hits = linesIn(pages).filter(({ text }) => {
    const line = text.toLowerCase();
    return words.every((word) => line.includes(word));
  });
  const isWhole = ({ text }: Hit) => text.toLowerCase().includes(phrase);
  return [...hits.filter(isWhole), ...hits.filter((hit) => !isWhole(hit))];
}

/** Lines with something similar to each of the words. */
export async function bySimilarity(pages: Page[], query: string, limit: number): Promise<Hit[]> {
  const words = wordsOf(query);
  if (!words.length) return [];
  const { default: Fuse } = await import("fuse.js");
  const fuse = new Fuse(linesIn(pages), { keys: ["text"], threshold: 0.3, ignoreLocation: true });
  return fuse.search({ $and: words.map((text) => ({ text })) }, { limit }).map(({ item }) => item);
}

/**
 * The words of a query, each once and not too many, since every line is searched for each of them.
 */
const wordsOf = (query: string): string[] =>
  [...new Set(query.slice(0, 2_000).match(/[\p{L}\p{N}]+/gu))].slice(0, MAX_WORDS);
const MAX_WORDS = 50;

/** All lines except blank ones and those in which the index repeats notes. */
const linesIn = (pages: Page[]): Hit[] =>
  pages.flatMap(({ file, lines }) =>
    lines.flatMap((text, i) =>
      !text.trim() || MADE.test(text) ? [] : [{ file, line: i + 1, text }],
    ),
  );

/** The file with this path, or the only one whose path ends with it. */
export function pageNamed(pages: Page[], root: string, name: string): Page | undefined {
  const absolutePath = path.resolve(root, name);
  const ends = pages.filter(({ file }) => file.endsWith(path.sep + path.normalize(name)));
  return (
    pages.find(({ file }) => file === absolutePath) ?? (ends.length === 1 ? ends[0] : undefined)
  );
}
