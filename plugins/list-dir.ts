// list_dir: the contents of a folder, without what git ignores.
import { closeSync, fstatSync, readlinkSync, readSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { relative } from "node:path";
import type { Ctx, Zz } from "zz";
import { compare, notUtf8, plural, tryTo } from "zz/text";

const MAX_ROWS = 200;
const CHECKED_BYTES = 8_000; // of a file: text holds no zero byte

export default (zz: Zz) =>
  zz.tool({
    name: "list_dir",
    kind: "read",
    description:
      "List the files and folders in a folder of the project; ignored ones are left out.",
    params: { path: "string? a folder; the project itself if left out" },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ path = "." }, { files, root }) {
      const folder = files.path(path);
      const prefixLength = relative(root, folder).length;
      const listedFiles = await files.list(path);
      const filesByEntry = Map.groupBy(listedFiles, (listedFile) => {
        const [firstPart = "", ...deeperParts] = listedFile
          .slice(prefixLength && prefixLength + 1)
          .split("/");
        return deeperParts.length ? `${firstPart}/` : firstPart;
      });
      const sortedEntries = [...filesByEntry].sort(([first], [second]) => compare(first, second));
      const entryRows = sortedEntries
        .slice(0, MAX_ROWS)
        .map(([entryName, { length }]) => entryRow(files, folder, entryName, length));
      if (sortedEntries.length > MAX_ROWS)
        entryRows.push(`[${sortedEntries.length - MAX_ROWS} more; list a folder in it]`);
      if (!entryRows.length)
        entryRows.push(
          `'${path}' holds ${(await holdsFiles(folder)) ? "only ignored" : "no"} files.`,
        );
      entryRows.push(...notUtf8(root, listedFiles, "of these cannot be opened"));
      return { text: entryRows.join("\n"), data: [...filesByEntry.keys()] };
    },
    render: ({ data }) => plural((data as string[]).length, "entry", "entries"),
  });

function entryRow(
  files: Ctx["files"],
  folder: string,
  entryName: string,
  fileCount: number,
): string {
  if (entryName.endsWith("/")) return `${shownName(entryName)} (${plural(fileCount, "file")})`;
  // undefined if it is not a link
  const linkTarget = tryTo(() => readlinkSync(`${folder}/${entryName}`));
  if (linkTarget !== undefined) return `${shownName(entryName)} -> ${shownName(linkTarget)}`;
  // unreadable: just a name
  return (
    shownName(entryName) + (tryTo(() => aboutBinary(files.open(`${folder}/${entryName}`))) ?? "")
  );
}

function aboutBinary(descriptor: number): string {
  try {
    const firstBytes = Buffer.alloc(CHECKED_BYTES);
    const bytesRead = readSync(descriptor, firstBytes, 0, firstBytes.length, 0);
    return firstBytes.subarray(0, bytesRead).includes(0)
      ? ` (binary, ${fstatSync(descriptor).size} bytes)`
      : "";
  } finally {
    closeSync(descriptor);
  }
}

/** A name that contains a line break must not look like two names. */
const shownName = (entryName: string): string =>
  /[\0-\x1f\x7f]/.test(entryName) ? JSON.stringify(entryName) : entryName;

async function holdsFiles(folder: string): Promise<boolean> {
  for await (const folderEntry of await opendir(folder, { recursive: true }))
    if (!folderEntry.isDirectory()) return true;
  return false;
}
