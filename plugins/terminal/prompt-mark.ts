// The prompt: the project, its git branch, how full the model's window is, how long zz has been
// running, and whether edits are made without a question.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { repositoryTop, terminalColumns } from "zz/text";
import { shortenToColumns } from "./shorten-for-rows.ts";

const [NARROW, VERY_NARROW] = [60, 40]; // columns below which it shows less, and nothing

export async function promptOf(
  { root, chat, io, permissions }: Ctx,
  startTime: number,
): Promise<string> {
  const columns = terminalColumns(io);
  // even in few columns
  const unasked = permissions.judge("write", ".").verdict === "allow" ? ["auto-apply"] : [];
  if (columns < VERY_NARROW) return unasked.map((noticeWord) => `${noticeWord} `).join("");
  const minutes = Math.floor((Date.now() - startTime) / 60_000);
  const context =
    chat.window && chat.used ? [`${Math.round((100 * chat.used) / chat.window)} %`] : [];
  const folderParts =
    columns < NARROW ? [] : [shortenToColumns(path.basename(root), 20), await branchOf(root)];
  const timeParts = minutes && columns >= NARROW ? [`${minutes} min`] : [];
  const promptParts = [...folderParts, ...context, ...timeParts, ...unasked].filter(Boolean);
  return promptParts.length ? `${promptParts.join(" · ")} ` : "";
}

/**
 * The git branch of a folder, read from its files, since no program is run for a prompt. These
 * files may be anything: one that never ends or never answers is not waited for, and only a
 * branch's name or a commit's hash is shown.
 */
export async function branchOf(projectFolder: string): Promise<string> {
  const topFolder = repositoryTop(projectFolder);
  if (topFolder === undefined) return "";
  const gitPath = path.join(topFolder, ".git");
  const linkedFolder = /^gitdir: (.*)/.exec(await firstBytes(gitPath))?.[1]?.trim();
  const headContent = await firstBytes(
    path.join(linkedFolder ? path.resolve(topFolder, linkedFolder) : gitPath, "HEAD"),
  );
  const branchMatch = /^(?:ref: refs\/heads\/(?!\.)(.+)|([0-9a-f]{7})[0-9a-f]{33,57})$/m.exec(
    headContent,
  );
  return shortenToColumns(branchMatch?.[1] ?? branchMatch?.[2] ?? "", 30);
}

/** The beginning of a file; "" if it cannot be read, or is a pipe or a device. */
async function firstBytes(filePath: string): Promise<string> {
  const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
  const fileHandle = await fs.promises.open(filePath, O_RDONLY | O_NONBLOCK).catch(() => undefined);
  try {
    if (!fileHandle || !(await fileHandle.stat()).isFile()) return "";
    const { buffer, bytesRead } = await fileHandle.read(Buffer.alloc(4096), 0, 4096, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return "";
  } finally {
    await fileHandle?.close();
  }
}
