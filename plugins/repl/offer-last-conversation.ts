// Offers the folder's last conversation once: Tab on the empty line continues it, any other input
// starts a new one.
import type { Ctx } from "zz";
import { clip, oneLine, plural, terminalColumns, tryTo, width } from "zz/text";

const COMMAND = "sessions"; // continues another conversation

/** The row that offers it, and the line that continues it; undefined if there is none. */
export function lastConversation({
  about,
  chat,
  io,
  root,
  sessions,
}: Ctx): { row: string; line: string } | undefined {
  if (chat.messages.length || !about.commands.some(({ name }) => name === COMMAND))
    return undefined;
  const savedSessions = tryTo(() => sessions.list()) ?? []; // a store may be out of reach
  const lastSession = savedSessions.find(
    (session) => session.root === root && session.id !== chat.id && session.title && !session.held,
  );
  if (!lastSession) return undefined;
  const [offerStart, offerEnd] = ["Tab continues “", `” (${timeAgo(lastSession.used)})`];
  const titleWidth = terminalColumns(io) - 1 - width(offerStart + offerEnd);
  return {
    row: `${offerStart}${clip(oneLine(lastSession.title), Math.max(titleWidth, 8))}${offerEnd}`,
    line: `/${COMMAND} load ${lastSession.id}`,
  };
}

/** Roughly how long ago that was. */
function timeAgo(timestamp: string): string {
  const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(timestamp)) / 60_000));
  if (!(minutes >= 1)) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return `${plural(Math.floor(minutes / 60 / 24), "day")} ago`;
}
