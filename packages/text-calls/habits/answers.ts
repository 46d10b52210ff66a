// SEARCH/REPLACE blocks in an answer, as Aider taught models, become calls of edit_file. Examples
// in a text about such blocks look the same, so blocks count only if all of their files exist and
// contain what they search for.
import fs from "node:fs";
import type { Call, Ctx, Reply } from "zz";
import { tryTo } from "zz/text";
import { editsOfBlocks } from "./blocks.ts";

const BLOCK = /^<{5,9} ?SEARCH>?[ \t]*\r?\n[\s\S]*?^>{5,9} ?REPLACE[ \t]*$/gm;
const MAX_TEXT_CHARS = 1_000_000;
const MAX_FILE_BYTES = 4 * 1024 * 1024;

type Edit = { old_string: string; new_string: string };
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
  for (const match of text.matchAll(BLOCK)) {
    const block = blockAt(text, match.index, match[0], blocks.at(-1));
    if (!block) return reply;
    blocks.push(block);
  }
  const edits = new Map<string, Edit[]>();
  for (const { path, edit } of blocks) edits.set(path, [...(edits.get(path) ?? []), edit]);
  if (!edits.size || ![...edits].every(([path, fileEdits]) => isMeant(path, fileEdits, ctx)))
    return reply;
  const prose = blocks.reduceRight(
    (remaining, { from, to }) => remaining.slice(0, from) + remaining.slice(to),
    text,
  );
  const calls = [...edits].map(
    ([path, fileEdits]): Call => ({
      id: newId(),
      name: "edit_file",
      args: { path, edits: fileEdits },
    }),
  );
  return { ...reply, text: prose.replace(/\n{3,}/g, "\n\n").trim(), calls, finish: "calls" };
}

const newId = (): string => `call_${Math.random().toString(36).slice(2, 12)}`;
const FENCE = /^(`{3,}|~{3,})[\w+.-]*\s*$/;
const PATH = /^[#>*\s]*[`*"']*([\w@.][\w@./+-]*)[`*"':]*\s*$/;

/**
 * The block with its file, which is named on a line of its own before it, in front of the fence or
 * inside of it.
 */
function blockAt(
  text: string,
  index: number,
  block: string,
  before: Block | undefined,
): Block | undefined {
  const parsed = editsOfBlocks(block);
  if (typeof parsed === "string" || !parsed[0]) return undefined;
  const lines: { line: string; from: number }[] = [];
  const least = before?.to ?? 0;
  for (let end = index - 1; end > least && lines.length < 3; ) {
    const from = Math.max(least, text.lastIndexOf("\n", end - 1) + 1);
    lines.push({ line: text.slice(from, end).trimEnd(), from });
    end = from - 1;
  }
  const named = lines.findIndex(({ line }) => line && !FENCE.test(line));
  const path = PATH.exec(lines[named]?.line ?? "")?.[1] ?? before?.path;
  if (!path) return undefined;
  let used = PATH.test(lines[named]?.line ?? "") ? named : -1;
  if (FENCE.test(lines[used + 1]?.line ?? "")) used++;
  const ownLines = lines.slice(0, used + 1);
  const isFenced = ownLines.length
    ? ownLines.some(({ line }) => FENCE.test(line))
    : (before?.isOpen ?? false);
  const end = index + block.length;
  const closing =
    isFenced && /^\r?\n(`{3,}|~{3,})[ \t]*(?=\r?\n|$)/.exec(text.slice(end, end + 100));
  const to = end + (closing ? closing[0].length : 0);
  return {
    path,
    edit: parsed[0],
    from: ownLines.at(-1)?.from ?? index,
    to,
    isOpen: isFenced && !closing,
  };
}

/** Whether the file exists, may be read, and contains all that the edits replace. */
function isMeant(path: string, edits: Edit[], { files, permissions }: Ctx): boolean {
  const file = tryTo(() => files.path(path));
  if (!file || permissions.secret(path)) return false;
  const stat = tryTo(() => fs.statSync(file));
  if (!stat?.isFile() || stat.size > MAX_FILE_BYTES) return false;
  const text = (tryTo(() => fs.readFileSync(file, "utf8")) ?? "").replaceAll("\r\n", "\n");
  const holds = (old: string) => text.includes(old) || text.endsWith(old.replace(/\n$/, ""));
  return edits.every(({ old_string }) => old_string.trim() !== "" && holds(old_string));
}
