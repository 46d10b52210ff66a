// What surrounds a patch: ``` blocks, and a command that it is piped into.
import { quote, unusable } from "./unusable.ts";

const START =
  /^(\*\*\*\s*(Begin Patch|(Add|Update|Delete) File:)|diff --git |--- \S|Index: |rename from |@@)/i;
const isFence = (line: string): boolean => /^(`{3,}|~{3,}) ?[\w+-]*$/.test(line.trimEnd());
const HEREDOC = /<<-?\s*\\?(["']?)(\w+)\1/;

export function unwrap(text: string): string[] {
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  if (lines.at(-1) === "") lines.pop();
  // CRLF in every line comes from how the patch was sent, not from its content.
  const isCrlf = lines.length > 1 && lines.slice(0, -1).every((line) => line.endsWith("\r"));
  return unfence(unheredoc(unfence(isCrlf ? lines.map((line) => line.replace(/\r$/, "")) : lines)));
}

/** The contents of ``` blocks, if the patch is in them. */
function unfence(lines: string[]): string[] {
  const fence = lines.findIndex(isFence);
  if (fence < 0) return lines;
  const start = lines.findIndex((line) => START.test(line));
  let inside = start >= 0 && start < fence;
  const [kept, outside]: [string[], string[]] = [[], []];
  for (const line of lines)
    if (isFence(line)) inside = !inside;
    else (inside ? kept : outside).push(line);
  return outside.some((line) => START.test(line)) ? lines.filter((line) => !isFence(line)) : kept;
}

/** `apply_patch <<'EOF'` … `EOF` */
function unheredoc(lines: string[]): string[] {
  const index = lines.findIndex((line) => line.trim());
  const first = lines[index] ?? "";
  const tag = START.test(first) ? undefined : HEREDOC.exec(first)?.[2];
  if (!tag) return lines;
  if (/\bcd\s/.test(first))
    throw unusable(
      `${quote(first)} changes the folder`,
      "Send the patch alone, with paths relative to the project.",
    );
  const close = new RegExp(`^\\s*${tag}["')\\s]*$`);
  const end = lines.findIndex((line, i) => i > index && close.test(line));
  if (end >= 0 && lines.slice(end).some((line) => START.test(line)))
    throw unusable(
      `there is more of it after the line ${quote(lines[end]!)}`,
      "Send the patch alone, without a command.",
    );
  return lines.slice(index + 1, end < 0 ? undefined : end);
}
