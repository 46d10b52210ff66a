// list_dir: what is in a folder, without what git ignores.
import type { Zz } from "zz";

const MOST = 200;

export default (zz: Zz) =>
  zz.tool({
    name: "list_dir",
    description: "List the files and folders in a folder of the project; ignored ones are left out.",
    aliases: ["listDir", "ls", "list_files", "list_directory"],
    params: { path: "string? a folder; the project itself if left out" },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ path = "." }, { files, root }) {
      const prefix = files.path(path).slice(root.length + 1);
      const found = new Map<string, number>();
      for (const file of await files.list(path)) {
        const [first = "", ...deeper] = file.slice(prefix ? prefix.length + 1 : 0).split("/");
        const name = deeper.length ? `${first}/` : first;
        found.set(name, (found.get(name) ?? 0) + 1);
      }
      const rows = [...found]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, count]) => (name.endsWith("/") ? `${name} (${count} ${count === 1 ? "file" : "files"})` : name));
      const more = rows.length - MOST;
      const shown = more > 0 ? [...rows.slice(0, MOST), `[${more} more; list a folder in it]`] : rows;
      return { text: shown.join("\n") || `'${path}' holds no files.`, data: [...found.keys()] };
    },
  });
