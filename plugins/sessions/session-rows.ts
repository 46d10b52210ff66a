// A row for each session, and how large and how old it is.
import type { Listed } from "zz";
import { clip, width } from "zz/text";

const BYTES_PER_TOKEN = 5; // of a session's file, counting all that it holds besides the texts
/**
 * About how many tokens a session has, estimated from its file's size, since reading all sessions
 * would take long.
 */
export function sizeOf(bytes: number): string {
  const tokens = bytes / BYTES_PER_TOKEN;
  const rounded =
    tokens < 950
      ? `${Math.max(1, Math.round(tokens / 100)) * 100}`
      : `${Math.round(tokens / 1_000)}k`;
  return `~${rounded} tokens`.padStart(12);
}

/** The row of a session. In a narrow terminal it shows less. */
export function lineOf(
  { id, used, bytes, title, model }: Listed,
  short: Map<string, string>,
  current: string | null,
  columns: number,
): string {
  const size = columns < 60 ? "" : `${sizeOf(bytes)}  `;
  const head = `${id === current ? "*" : " "} ${short.get(id)}  ${timeOf(used, columns)}  ${size}`;
  const name = columns < 60 ? "" : `  ${model.slice(0, 24)}`;
  const room = Math.max(8, columns - head.length - name.length);
  const shown = clip(title || "(no title)", room);
  return `${head}${shown}${name && " ".repeat(Math.max(0, room - width(shown)))}${name}`;
}
/** Local time; in a narrow terminal without the year. */
export function timeOf(timestamp: string, columns = 80): string {
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return timestamp.slice(0, 16);
  const two = (part: number) => String(part).padStart(2, "0");
  const day = `${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const hour = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return columns < 60 ? day : `${time.getFullYear()}-${day} ${hour}`;
}
