// SEARCH/REPLACE blocks in an answer, as Aider taught models, become calls of edit_file. Examples
// in a text about such blocks look the same, so blocks count only if all of their files exist and
// contain what they search for.
import fs from "node:fs";
import type { Call, Ctx, Reply } from "zz";
import { tryTo } from "zz/text";
import { makeCallId } from "../check-calls.ts";
import { type Edit, editsOfBlocks } from "./blocks.ts";

const SEARCH_BLOCK = /^<{5,9} ?SEARCH>?[ \t]*\r?\n[\s\S]*?^>{5,9} ?REPLACE[ \t]*$/gm;
const MAX_TEXT_CHARS = 1_000_000;
const MAX_FILE_BYTES = 4 * 1024 * 1024;

interface Block {
  path: string;
  edit: Edit;
  from: number; // including the line of its file, and its fence
  to: number;
  isOpen: boolean; // whether its fence is not closed yet
}

/** The reply with its blocks as calls; the same reply if it has none. */
export function withBlocks(reply: Reply, ctx: Ctx): Reply {
  const { text } = reply;
  if (text.length > MAX_TEXT_CHARS) return reply;
  const blocks: Block[] = [];
  for (const blockMatch of text.matchAll(SEARCH_BLOCK)) {
    const block = blockAt(text, blockMatch.index, blockMatch[0], blocks.at(-1));
    if (!block) return reply;
    blocks.push(block);
  }
  const blocksByPath = [...Map.groupBy(blocks, ({ path }) => path)];
  if (
    !blocks.length ||
    !blocksByPath.every(([filePath, fileBlocks]) => isMeant(filePath, fileBlocks, ctx))
  )
    return reply;
  const proseText = blocks.reduceRight(
    (remaining, { from, to }) => remaining.slice(0, from) + remaining.slice(to),
    text,
  );
  const calls = blocksByPath.map(
    ([path, fileBlocks]): Call => ({
      id: makeCallId(),
      name: "edit_file",
      args: { path, edits: fileBlocks.map(({ edit }) => edit) },
    }),
  );
  return { ...reply, text: proseText.replace(/\n{3,}/g, "\n\n").trim(), calls, finish: "calls" };
}

const FENCE_LINE = /^(`{3,}|~{3,})[\w+.-]*\s*$/;
const PATH_LINE = /^[#>*\s]*[`*"']*([\w@.][\w@./+-]*)[`*"':]*\s*$/;

/**
 * The block with its file, which is named on a line of its own before it, in front of the fence or
 * inside of it.
 */
function blockAt(
  replyText: string,
  blockStart: number,
  blockText: string,
  earlierBlock: Block | undefined,
): Block | undefined {
  const parsedEdits = editsOfBlocks(blockText);
  if (typeof parsedEdits === "string") return undefined;
  const linesAbove: { line: string; from: number }[] = [];
  const leastIndex = earlierBlock?.to ?? 0;
  for (let lineEnd = blockStart - 1; lineEnd > leastIndex && linesAbove.length < 3; ) {
    const from = Math.max(leastIndex, replyText.lastIndexOf("\n", lineEnd - 1) + 1);
    linesAbove.push({ line: replyText.slice(from, lineEnd).trimEnd(), from });
    lineEnd = from - 1;
  }
  const pathIndex = linesAbove.findIndex(({ line }) => line && !FENCE_LINE.test(line));
  const namedPath = PATH_LINE.exec(linesAbove[pathIndex]?.line ?? "")?.[1];
  const path = namedPath ?? earlierBlock?.path;
  if (!path) return undefined;
  let lastUsed = namedPath ? pathIndex : -1;
  if (FENCE_LINE.test(linesAbove[lastUsed + 1]?.line ?? "")) lastUsed++;
  const ownLines = linesAbove.slice(0, lastUsed + 1);
  const isFenced = ownLines.length
    ? ownLines.some(({ line }) => FENCE_LINE.test(line))
    : (earlierBlock?.isOpen ?? false);
  const blockEnd = blockStart + blockText.length;
  const closing =
    isFenced &&
    /^\r?\n(`{3,}|~{3,})[ \t]*(?=\r?\n|$)/.exec(replyText.slice(blockEnd, blockEnd + 100));
  const to = blockEnd + (closing ? closing[0].length : 0);
  return {
    path,
    edit: parsedEdits[0]!,
    from: ownLines.at(-1)?.from ?? blockStart,
    to,
    isOpen: isFenced && !closing,
  };
}

/** Whether the file exists, may be read, and contains all that the edits replace. */
function isMeant(filePath: string, fileBlocks: Block[], { files, permissions }: Ctx): boolean {
  const absolutePath = tryTo(() => files.path(filePath));
  if (!absolutePath || permissions.secret(filePath)) return false;
  const fileStats = tryTo(() => fs.statSync(absolutePath));
  if (!fileStats?.isFile() || fileStats.size > MAX_FILE_BYTES) return false;
  const fileText = (tryTo(() => fs.readFileSync(absolutePath, "utf8")) ?? "").replaceAll(
    "\r\n",
    "\n",
  );
  const hasText = (oldText: string) =>
    fileText.includes(oldText) || fileText.endsWith(oldText.replace(/\n$/, ""));
  return fileBlocks.every(
    ({ edit: { old_string } }) => old_string.trim() !== "" && hasText(old_string),
  );
}
