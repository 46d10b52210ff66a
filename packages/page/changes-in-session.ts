// What tools changed in files, from the entries of a session: each names the bytes that it put in
// the place of others, and the whole file only where no earlier one has it.
import type { Entry } from "zz";
import { tryTo } from "zz/text";

export interface FileChange {
  entry: number; // its id
  path: string;
  tool: string;
  before?: string; // undefined: it did not exist
  after?: string; // undefined: it was deleted
  note?: string; // instead of texts
}

type Content = { text: string } | { base64: string };
type Saved = Entry & {
  path: string;
  tool: string;
  was: string | null;
  is: string | null;
  base?: Content;
  place: number;
  cut: number;
  put: Content;
  moves?: string;
};

const MAX_BYTES = 500_000; // of a file whose difference is shown

/** Changes by the id of their entry. `hides` says of which files nothing may be shown. */
export function changesIn(
  entries: readonly Entry[],
  hides: (path: string) => boolean,
): Map<number, FileChange> {
  const files = new Map<string, Buffer>();
  const changes = entries.filter((entry): entry is Saved => entry.type === "change");
  return new Map(
    changes.flatMap((saved) => {
      const change = tryTo(() => changeOf(saved, files, hides));
      return change ? [[saved.id, change]] : []; // of a damaged line, nothing
    }),
  );
}

function changeOf(
  saved: Saved,
  files: Map<string, Buffer>,
  hides: (path: string) => boolean,
): FileChange {
  const { id, path, tool, was, is, base, place, cut, put, moves } = saved;
  const change: FileChange = { entry: id, path, tool };
  const before = base ? bytesOf(base) : (files.get(path) ?? Buffer.alloc(0));
  const after = Buffer.concat([
    before.subarray(0, place),
    bytesOf(put),
    before.subarray(place + cut),
  ]);
  files.set(path, after);
  const texts = [was === null ? undefined : before, is === null ? undefined : after];
  if (hides(path)) return { ...change, note: "may hold secrets: not shown" };
  if (moves !== undefined) return { ...change, note: "many files at once: not shown" };
  if (texts.some((bytes) => bytes && bytes.length > MAX_BYTES))
    return { ...change, note: "too large to be shown" };
  if (texts.some((bytes) => bytes?.includes(0))) return { ...change, note: "not a text" };
  const [old, next] = texts.map((bytes) => bytes?.toString("utf8"));
  if (old !== undefined) change.before = old;
  if (next !== undefined) change.after = next;
  return change;
}

const bytesOf = (content: Content): Buffer =>
  "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");
