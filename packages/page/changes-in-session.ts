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
  hides: (filePath: string) => boolean,
): Map<number, FileChange> {
  const fileContents = new Map<string, Buffer>();
  const changes = entries.filter((entry): entry is Saved => entry.type === "change");
  return new Map(
    changes.flatMap((savedEntry) => {
      const fileChange = tryTo(() => changeOf(savedEntry, fileContents, hides));
      return fileChange ? [[savedEntry.id, fileChange]] : []; // of a damaged line, nothing
    }),
  );
}

function changeOf(
  savedEntry: Saved,
  fileContents: Map<string, Buffer>,
  hides: (filePath: string) => boolean,
): FileChange {
  const { id, path, tool, was, is, base, place, cut, put, moves } = savedEntry;
  const fileChange: FileChange = { entry: id, path, tool };
  const bytesBefore = base ? bytesOf(base) : (fileContents.get(path) ?? Buffer.alloc(0));
  const bytesAfter = Buffer.concat([
    bytesBefore.subarray(0, place),
    bytesOf(put),
    bytesBefore.subarray(place + cut),
  ]);
  fileContents.set(path, bytesAfter);
  const bothSides = [was === null ? undefined : bytesBefore, is === null ? undefined : bytesAfter];
  if (hides(path)) return { ...fileChange, note: "may hold secrets: not shown" };
  if (moves !== undefined) return { ...fileChange, note: "many files at once: not shown" };
  if (bothSides.some((sideBytes) => sideBytes && sideBytes.length > MAX_BYTES))
    return { ...fileChange, note: "too large to be shown" };
  if (bothSides.some((sideBytes) => sideBytes?.includes(0)))
    return { ...fileChange, note: "not a text" };
  const [before, after] = bothSides.map((sideBytes) => sideBytes?.toString("utf8"));
  return { ...fileChange, before, after };
}

const bytesOf = (content: Content): Buffer =>
  "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");
