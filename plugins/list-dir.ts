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
      const counts = new Map<string, number>();
      const above = relative(root, folder).length;
      const listed = await files.list(path);
      for (const file of listed) {
        const [first = "", ...deeper] = file.slice(above && above + 1).split("/");
        const name = deeper.length ? `${first}/` : first;
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      const sorted = [...counts].sort(([a], [b]) => compare(a, b));
      const rows = sorted
        .slice(0, MAX_ROWS)
        .map(([name, count]) => row(files, folder, name, count));
      if (sorted.length > MAX_ROWS)
        rows.push(`[${sorted.length - MAX_ROWS} more; list a folder in it]`);
      if (!rows.length)
        rows.push(`'${path}' holds ${(await holdsFiles(folder)) ? "only ignored" : "no"} files.`);
      rows.push(...notUtf8(root, listed, "of these cannot be opened"));
      return { text: rows.join("\n"), data: [...counts.keys()] };
    },
    render: ({ data }) => plural((data as string[]).length, "entry", "entries"),
  });

function row(files: Ctx["files"], folder: string, name: string, count: number): string {
  if (name.endsWith("/")) return `${shownName(name)} (${plural(count, "file")})`;
  const target = tryTo(() => readlinkSync(`${folder}/${name}`)); // undefined if it is not a link
  if (target !== undefined) return `${shownName(name)} -> ${shownName(target)}`;
  // unreadable: just a name
  return shownName(name) + (tryTo(() => aboutBinary(files.open(`${folder}/${name}`))) ?? "");
}

function aboutBinary(file: number): string {
  try {
    const bytes = Buffer.alloc(CHECKED_BYTES);
    const read = readSync(file, bytes, 0, bytes.length, 0);
    return bytes.subarray(0, read).includes(0) ? ` (binary, ${fstatSync(file).size} bytes)` : "";
  } finally {
    closeSync(file);
  }
}

/** A name that contains a line break must not look like two names. */
const shownName = (name: string): string =>
  /[\0-\x1f\x7f]/.test(name) ? JSON.stringify(name) : name;

async function holdsFiles(folder: string): Promise<boolean> {
  for await (const dirent of await opendir(folder, { recursive: true }))
    if (!dirent.isDirectory()) return true;
  return false;
}
