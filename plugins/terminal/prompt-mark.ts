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
  since: number,
): Promise<string> {
  const columns = terminalColumns(io);
  // even in few columns
  const unasked = permissions.judge("write", ".").verdict === "allow" ? ["auto-apply"] : [];
  if (columns < VERY_NARROW) return unasked.map((word) => `${word} `).join("");
  const minutes = Math.floor((Date.now() - since) / 60_000);
  const context =
    chat.window && chat.used ? [`${Math.round((100 * chat.used) / chat.window)} %`] : [];
  const folder =
    columns < NARROW ? [] : [shortenToColumns(path.basename(root), 20), await branchOf(root)];
  const time = minutes && columns >= NARROW ? [`${minutes} min`] : [];
  const parts = [...folder, ...context, ...time, ...unasked].filter(Boolean);
  return parts.length ? `${parts.join(" · ")} ` : "";
}

/**
 * The git branch of a folder, read from its files, since no program is run for a prompt. These
 * files may be anything: one that never ends or never answers is not waited for, and only a
 * branch's name or a commit's hash is shown.
 */
export async function branchOf(folder: string): Promise<string> {
  const top = repositoryTop(folder);
  if (top === undefined) return "";
  const git = path.join(top, ".git");
  const linked = /^gitdir: (.*)/.exec(await firstBytes(git))?.[1]?.trim();
  const head = await firstBytes(path.join(linked ? path.resolve(top, linked) : git, "HEAD"));
  const branch = /^(?:ref: refs\/heads\/(?!\.)(.+)|([0-9a-f]{7})[0-9a-f]{33,57})$/m.exec(head);
  return shortenToColumns(branch?.[1] ?? branch?.[2] ?? "", 30);
}

/** The beginning of a file; "" if it cannot be read, or is a pipe or a device. */
async function firstBytes(file: string): Promise<string> {
  const { O_RDONLY, O_NONBLOCK = 0 } = fs.constants;
  const open = await fs.promises.open(file, O_RDONLY | O_NONBLOCK).catch(() => undefined);
  try {
    if (!open || !(await open.stat()).isFile()) return "";
    const { buffer, bytesRead } = await open.read(Buffer.alloc(4096), 0, 4096, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return "";
  } finally {
    await open?.close();
  }
}
