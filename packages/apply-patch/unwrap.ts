// What surrounds a patch: ``` blocks, and a command that it is piped into.
import { quote, unusable } from "./unusable.ts";

const PATCH_START =
  /^(\*\*\*\s*(Begin Patch|(Add|Update|Delete) File:)|diff --git |--- \S|Index: |rename from |@@)/i;
const isFence = (sentLine: string): boolean => /^(`{3,}|~{3,}) ?[\w+-]*$/.test(sentLine.trimEnd());
const HEREDOC = /<<-?\s*\\?(["']?)(\w+)\1/;

export function unwrap(sentText: string): string[] {
  const sentLines = sentText.replace(/^\uFEFF/, "").split("\n");
  if (sentLines.at(-1) === "") sentLines.pop();
  // CRLF in every line comes from how the patch was sent, not from its content.
  const isCrlf =
    sentLines.length > 1 && sentLines.slice(0, -1).every((sentLine) => sentLine.endsWith("\r"));
  return unfence(
    unheredoc(
      unfence(isCrlf ? sentLines.map((sentLine) => sentLine.replace(/\r$/, "")) : sentLines),
    ),
  );
}

/** The contents of ``` blocks, if the patch is in them. */
function unfence(sentLines: string[]): string[] {
  const fenceIndex = sentLines.findIndex(isFence);
  if (fenceIndex < 0) return sentLines;
  const startIndex = sentLines.findIndex((sentLine) => PATCH_START.test(sentLine));
  let isInFence = startIndex >= 0 && startIndex < fenceIndex;
  const [fencedLines, outside]: [string[], string[]] = [[], []];
  for (const sentLine of sentLines)
    if (isFence(sentLine)) isInFence = !isInFence;
    else (isInFence ? fencedLines : outside).push(sentLine);
  return outside.some((sentLine) => PATCH_START.test(sentLine))
    ? sentLines.filter((sentLine) => !isFence(sentLine))
    : fencedLines;
}

/** `apply_patch <<'EOF'` … `EOF` */
function unheredoc(sentLines: string[]): string[] {
  const commandIndex = sentLines.findIndex((sentLine) => sentLine.trim());
  const commandLine = sentLines[commandIndex] ?? "";
  const heredocTag = PATCH_START.test(commandLine) ? undefined : HEREDOC.exec(commandLine)?.[2];
  if (!heredocTag) return sentLines;
  if (/\bcd\s/.test(commandLine))
    throw unusable(
      `${quote(commandLine)} changes the folder`,
      "Send the patch alone, with paths relative to the project.",
    );
  const closePattern = new RegExp(`^\\s*${heredocTag}["')\\s]*$`);
  const endIndex = sentLines.findIndex(
    (sentLine, i) => i > commandIndex && closePattern.test(sentLine),
  );
  if (endIndex >= 0 && sentLines.slice(endIndex).some((sentLine) => PATCH_START.test(sentLine)))
    throw unusable(
      `there is more of it after the line ${quote(sentLines[endIndex]!)}`,
      "Send the patch alone, without a command.",
    );
  return sentLines.slice(commandIndex + 1, endIndex < 0 ? undefined : endIndex);
}
