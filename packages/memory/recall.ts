// Finds lines of memory by their words, or else by similar words.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { linesOf, MADE } from "./notes.ts";
import { filesOf, type LeftOut, MAX_FILE_BYTES, reason } from "./tree.ts";

export type Page = { file: string; lines: string[] };
export interface Hit {
  page: Page;
  line: number; // from 1
  text: string;
}

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
  const exactPhrase = query.trim().toLowerCase();
  const queryWords = wordsOf(exactPhrase);
  if (!queryWords.length) return [];
  const matchingLines = linesIn(pages).filter(({ text }) => {
    const lowerCaseLine = text.toLowerCase();
    return queryWords.every((queryWord) => lowerCaseLine.includes(queryWord));
  });
  const isWhole = ({ text }: Hit) => text.toLowerCase().includes(exactPhrase);
  return [
    ...matchingLines.filter(isWhole),
    ...matchingLines.filter((lineHit) => !isWhole(lineHit)),
  ];
}

/** Lines with something similar to each of the words. */
export async function bySimilarity(pages: Page[], query: string, limit: number): Promise<Hit[]> {
  const queryWords = wordsOf(query);
  if (!queryWords.length) return [];
  const { default: Fuse } = await import("fuse.js");
  const fuzzySearch = new Fuse(linesIn(pages), {
    keys: ["text"],
    threshold: 0.3,
    ignoreLocation: true,
  });
  return fuzzySearch
    .search({ $and: queryWords.map((text) => ({ text })) }, { limit })
    .map(({ item }) => item);
}

/**
 * The words of a query, each once and not too many, since every line is searched for each of them.
 */
const wordsOf = (query: string): string[] =>
  [...new Set(query.slice(0, 2_000).match(/[\p{L}\p{N}]+/gu))].slice(0, MAX_WORDS);
const MAX_WORDS = 50;

/** All lines except blank ones and those in which the index repeats notes. */
const linesIn = (pages: Page[]): Hit[] =>
  pages.flatMap((page) =>
    page.lines.flatMap((text, i) =>
      !text.trim() || MADE.test(text) ? [] : [{ page, line: i + 1, text }],
    ),
  );

/** The file with this path, or the only one whose path ends with it. */
export function pageNamed(pages: Page[], projectRoot: string, pageName: string): Page | undefined {
  const absolutePath = path.resolve(projectRoot, pageName);
  const endingPages = pages.filter(({ file }) =>
    file.endsWith(path.sep + path.normalize(pageName)),
  );
  return (
    pages.find(({ file }) => file === absolutePath) ??
    (endingPages.length === 1 ? endingPages[0] : undefined)
  );
}
