// /sessions search: conversations by what was said in them.
import type { Ctx, Listed } from "zz";
import { clip, terminalColumns, tryTo } from "zz/text";
import { shortIds } from "./choose-session.ts";
import { lineOf } from "./session-rows.ts";

type Line = { header: Listed; id: number; text: string };
const MAX_FOUND = 12; // sessions
const MAX_FUZZY_CHARS = 200; // of a line that is searched for something similar
/** Lines with all the words; similar lines only if there are none. */
export async function search(searchWords: string, { sessions, io, note }: Ctx): Promise<void> {
  if (!searchWords)
    throw new Error("Cannot search for nothing: give words, /sessions search WORDS.");
  const headers = sessions.list();
  const shortById = shortIds(headers);
  const saidLines = headers.flatMap((header) => linesOf(header, sessions));
  const exactHits = saidLines.filter(({ text }) => hasAllWords(text, searchWords));
  const foundLines = exactHits.length ? exactHits : await similar(saidLines, searchWords);
  if (!foundLines.length)
    return note(`Nothing like '${searchWords}' was said in ${headers.length} conversations.`);
  const columns = terminalColumns(io) - 1;
  const bySession = [...Map.groupBy(foundLines, ({ header }) => header.id).values()];
  const shownRows = bySession.slice(0, MAX_FOUND).flatMap((sessionLines) => {
    const saidPlaces = sessionLines.filter(({ id }) => id).slice(0, 2);
    const saidQuotes = saidPlaces.map(({ id, text }) =>
      clip(`     #${id} ${startingNear(text, searchWords)}`, columns),
    );
    return [lineOf(sessionLines[0]!.header, shortById, null, columns), ...saidQuotes];
  });
  if (bySession.length > MAX_FOUND)
    shownRows.push(`${bySession.length - MAX_FOUND} more conversations; give more words.`);
  note(shownRows.join("\n"));
}
/** A session's title, and every line that was said in it. */
function linesOf(header: Listed, sessions: Ctx["sessions"]): Line[] {
  const saved = tryTo(() => sessions.read(header.id));
  if (!saved) return []; // damaged: --sessions leaves it out as well
  const matches = saved.entries.flatMap(({ id, message }) =>
    message && message.role !== "tool"
      ? message.text
          .split("\n")
          .flatMap((saidText) => (saidText.trim() ? [{ header, id, text: saidText.trim() }] : []))
      : [],
  );
  return [{ header, id: 0, text: header.title }, ...matches];
}
function hasAllWords(searchedText: string, searchWords: string): boolean {
  const lowerText = searchedText.toLowerCase();
  return searchWords
    .toLowerCase()
    .split(/\s+/)
    .every((searchWord) => lowerText.includes(searchWord));
}
async function similar(saidLines: Line[], searchWords: string): Promise<Line[]> {
  const { default: Fuse } = await import("fuse.js");
  const searchable = saidLines.map((line) => ({ line, text: line.text.slice(0, MAX_FUZZY_CHARS) }));
  const fuse = new Fuse(searchable, {
    keys: ["text"],
    threshold: 0.3,
    ignoreLocation: true,
    minMatchCharLength: 3,
  });
  return fuse.search(searchWords, { limit: 50 }).map(({ item }) => item.line);
}
/** The line, from a little before the first of the words. */
function startingNear(lineText: string, searchWords: string): string {
  const wordOffset = lineText.toLowerCase().indexOf(searchWords.toLowerCase().split(/\s+/)[0]!);
  return wordOffset > 20 ? `…${lineText.slice(wordOffset - 15)}` : lineText;
}
