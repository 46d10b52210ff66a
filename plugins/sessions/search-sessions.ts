// /sessions search: conversations by what was said in them.
import type { Ctx, Listed, Saved } from "zz";
import { clip, terminalColumns } from "zz/text";
import { shortIds } from "./choose-session.ts";
import { lineOf } from "./session-rows.ts";

type Line = { header: Listed; id: number; text: string };
const MAX_FOUND = 12; // sessions
const MAX_FUZZY_CHARS = 200; // of a line that is searched for something similar
/** Lines with all the words; similar lines only if there are none. */
export async function search(words: string, { sessions, io, note }: Ctx): Promise<void> {
  if (!words) throw new Error("Cannot search for nothing: give words, /sessions search WORDS.");
  const headers = sessions.list();
  const short = shortIds(headers);
  const lines = headers.flatMap((header) => linesOf(header, sessions));
  const exact = lines.filter(({ text }) => holds(text, words));
  const hits = exact.length ? exact : await similar(lines, words);
  if (!hits.length)
    return note(`Nothing like '${words}' was said in ${headers.length} conversations.`);
  const columns = terminalColumns(io) - 1;
  const bySession = [...Map.groupBy(hits, ({ header }) => header.id).values()];
  const shown = bySession.slice(0, MAX_FOUND).flatMap((sessionLines) => {
    const places = sessionLines.filter(({ id }) => id).slice(0, 2);
    const quotes = places.map(({ id, text }) =>
      clip(`     #${id} ${startingNear(text, words)}`, columns),
    );
    return [lineOf(sessionLines[0]!.header, short, null, columns), ...quotes];
  });
  if (bySession.length > MAX_FOUND)
    shown.push(`${bySession.length - MAX_FOUND} more conversations; give more words.`);
  note(shown.join("\n"));
}
/** A session's title, and every line that was said in it. */
function linesOf(header: Listed, sessions: Ctx["sessions"]): Line[] {
  let saved: Saved;
  try {
    saved = sessions.read(header.id);
  } catch {
    return []; // damaged: --sessions leaves it out as well
  }
  const matches = saved.entries.flatMap(({ id, message }) =>
    message && message.role !== "tool"
      ? message.text
          .split("\n")
          .flatMap((text) => (text.trim() ? [{ header, id, text: text.trim() }] : []))
      : [],
  );
  return [{ header, id: 0, text: header.title }, ...matches];
}
function holds(text: string, words: string): boolean {
  const low = text.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => low.includes(word));
}
async function similar(lines: Line[], words: string): Promise<Line[]> {
  const { default: Fuse } = await import("fuse.js");
  const docs = lines.map((line) => ({ line, text: line.text.slice(0, MAX_FUZZY_CHARS) }));
  const fuse = new Fuse(docs, {
    keys: ["text"],
    threshold: 0.3,
    ignoreLocation: true,
    minMatchCharLength: 3,
  });
  return fuse.search(words, { limit: 50 }).map(({ item }) => item.line);
}
/** The line, from a little before the first of the words. */
function startingNear(text: string, words: string): string {
  const index = text.toLowerCase().indexOf(words.toLowerCase().split(/\s+/)[0]!);
  return index > 20 ? `…${text.slice(index - 15)}` : text;
}
