// A row for each session, and how large and how old it is.
import type { Listed } from "zz";
import { clip, width } from "zz/text";

const BYTES_PER_TOKEN = 5; // of a session's file, counting all that it holds besides the texts
/**
 * About how many tokens a session has, estimated from its file's size, since reading all sessions
 * would take long.
 */
export function sizeOf(fileBytes: number): string {
  const tokenCount = fileBytes / BYTES_PER_TOKEN;
  const rounded =
    tokenCount < 950
      ? `${Math.max(1, Math.round(tokenCount / 100)) * 100}`
      : `${Math.round(tokenCount / 1_000)}k`;
  return `~${rounded} tokens`.padStart(12);
}

/** The row of a session. In a narrow terminal it shows less. */
export function lineOf(
  { id, used, bytes, title, model }: Listed,
  shortById: Map<string, string>,
  current: string | null,
  columns: number,
): string {
  const sizeCell = columns < 60 ? "" : `${sizeOf(bytes)}  `;
  const currentMark = id === current ? "*" : " ";
  const leadingCells = `${currentMark} ${shortById.get(id)}  ${timeOf(used, columns)}  ${sizeCell}`;
  const modelCell = columns < 60 ? "" : `  ${model.slice(0, 24)}`;
  const titleRoom = Math.max(8, columns - leadingCells.length - modelCell.length);
  const shownTitle = clip(title || "(no title)", titleRoom);
  return (
    `${leadingCells}${shownTitle}` +
    `${modelCell && " ".repeat(Math.max(0, titleRoom - width(shownTitle)))}${modelCell}`
  );
}
/** Local time; in a narrow terminal without the year. */
export function timeOf(timestamp: string, columns = 80): string {
  const localTime = new Date(timestamp);
  if (Number.isNaN(localTime.getTime())) return timestamp.slice(0, 16);
  const twoDigits = (timePart: number) => String(timePart).padStart(2, "0");
  const monthAndDay = `${twoDigits(localTime.getMonth() + 1)}-${twoDigits(localTime.getDate())}`;
  const hourAndMinute = `${twoDigits(localTime.getHours())}:${twoDigits(localTime.getMinutes())}`;
  return columns < 60 ? monthAndDay : `${localTime.getFullYear()}-${monthAndDay} ${hourAndMinute}`;
}
