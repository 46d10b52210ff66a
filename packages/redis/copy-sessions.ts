// --store-copy: sessions from one place to another. What is there already stays; a session that
// went on is added to.
import type { Result, SessionStore } from "zz";

export function copySessions(sourceStore: SessionStore, targetStore: SessionStore): Result {
  const targetIds = new Set(targetStore.ids());
  const copyCounts = { copied: 0, continued: 0, same: 0 };
  const leftOutLines: string[] = [];
  for (const id of sourceStore.ids())
    try {
      copyCounts[copySession(id, sourceStore, targetStore, targetIds.has(id))]++;
    } catch (error) {
      leftOutLines.push(`${id}: ${(error as Error).message}`);
    }
  const titles = new Map(sourceStore.list().map((session) => [session.id, session.title]));
  for (const { id, title } of targetStore.list())
    if (titles.has(id) && titles.get(id) !== title) targetStore.rename(id, titles.get(id)!);
  const { copied, continued, same } = copyCounts;
  const reportLines = [
    `${sourceStore.where} to ${targetStore.where}: ${copied} copied, ` +
      `${continued} continued, ${same} there already.`,
  ];
  if (leftOutLines.length) reportLines.push(`${leftOutLines.length} left out:`, ...leftOutLines);
  return { text: reportLines.join("\n"), failed: leftOutLines.length > 0 };
}

function copySession(
  id: string,
  sourceStore: SessionStore,
  targetStore: SessionStore,
  isKnown: boolean,
): "copied" | "continued" | "same" {
  const sourceLines = linesOf(sourceStore.read(id));
  if (!sourceLines.length) throw new Error("it is empty");
  const targetSession = targetStore.open(id, !isKnown, () => {});
  try {
    const targetLines = isKnown ? linesOf(targetSession.read()) : [];
    const isSameStart = targetLines.every(
      (targetLine, i) => i >= sourceLines.length || targetLine === sourceLines[i],
    );
    if (!isSameStart)
      throw new Error(
        `it went on in another way in ${targetStore.where}. Copy it under another home`,
      );
    const addedLines = sourceLines.slice(targetLines.length);
    for (let i = 0; i < addedLines.length; i += BATCH_LINES)
      targetSession.append(addedLines.slice(i, i + BATCH_LINES));
    if (!isKnown) return "copied";
    return addedLines.length ? "continued" : "same";
  } finally {
    targetSession.close();
  }
}
const BATCH_LINES = 200; // lines at a time

/** Whole lines: what a crash tore is left out. */
const linesOf = (bytes: Buffer): string[] => bytes.toString("utf8").split("\n").slice(0, -1);
