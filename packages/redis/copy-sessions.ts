// --store-copy: sessions from one place to another. What is there already stays; a session that
// went on is added to.
import type { Result, SessionStore } from "zz";

export function copySessions(from: SessionStore, to: SessionStore): Result {
  const known = new Set(to.ids());
  const counts = { copied: 0, continued: 0, same: 0 };
  const left: string[] = [];
  for (const id of from.ids())
    try {
      counts[copySession(id, from, to, known.has(id))]++;
    } catch (error) {
      left.push(`${id}: ${(error as Error).message}`);
    }
  const titles = new Map(from.list().map((session) => [session.id, session.title]));
  for (const { id, title } of to.list())
    if (titles.has(id) && titles.get(id) !== title) to.rename(id, titles.get(id)!);
  const { copied, continued, same } = counts;
  const lines = [
    `${from.where} to ${to.where}: ${copied} copied, ${continued} continued, ${same} there already.`,
  ];
  if (left.length) lines.push(`${left.length} left out:`, ...left);
  return { text: lines.join("\n"), failed: left.length > 0 };
}

function copySession(
  id: string,
  from: SessionStore,
  to: SessionStore,
  isKnown: boolean,
): "copied" | "continued" | "same" {
  const lines = linesOf(from.read(id));
  if (!lines.length) throw new Error("it is empty");
  const kept = to.open(id, !isKnown, () => {});
  try {
    const there = isKnown ? linesOf(kept.read()) : [];
    const isSame = there.every((line, i) => i >= lines.length || line === lines[i]);
    if (!isSame)
      throw new Error(`it went on in another way in ${to.where}. Copy it under another home`);
    const added = lines.slice(there.length);
    for (let i = 0; i < added.length; i += BATCH) kept.append(added.slice(i, i + BATCH));
    if (!isKnown) return "copied";
    return added.length ? "continued" : "same";
  } finally {
    kept.close();
  }
}
const BATCH = 200; // lines at a time

/** Whole lines: what a crash tore is left out. */
const linesOf = (bytes: Buffer): string[] => bytes.toString("utf8").split("\n").slice(0, -1);
