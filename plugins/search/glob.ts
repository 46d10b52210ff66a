// glob: files by their names.
import { relative } from "node:path";
import type { Zz } from "zz";
import { matcher } from "./pattern.ts";
import { oneLine } from "./show.ts";

const MOST = 100; // paths

export const glob = (zz: Zz<any>) =>
  zz.tool({
    name: "glob",
    description:
      "Find files of the project by name: * and ? within a name, ** for any folders, {a,b}, [a-z], as in src/**/*.{ts,tsx}. Ignored files are left out.",
    aliases: ["find_files", "file_search", "glob_search", "search_file_names"],
    params: {
      pattern: "string such as **/*.ts",
      path: "string? the folder where the pattern begins; the project itself if left out",
    },
    ...{ also: { pattern: ["query", "glob", "glob_pattern", "name"], path: ["folder", "directory", "dir"] } },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ pattern, path = "." }, { files, root }) {
      const above = relative(root, files.path(path)).length;
      const wanted = pattern.startsWith(`${root}/`) ? pattern.slice(root.length + 1) : pattern;
      const inside = above && wanted === pattern ? above + 1 : 0;
      const names = await files.list(path);
      const matching = (one: string) =>
        names.filter(
          (
            (fits) => (name) =>
              fits(name.slice(inside))
          )(matcher(one)),
        );
      const found = matching(wanted);
      const rows = found.slice(0, MOST).map(oneLine);
      if (found.length > MOST) rows.push(`[${found.length - MOST} more; narrow the pattern or the path]`);
      return { text: rows.join("\n") || nothing(), data: found };

      /** A pattern for one folder that was meant for all is what goes wrong most. */
      function nothing(): string {
        const deeper = wanted.includes("/") ? 0 : matching(`**/${wanted}`).length;
        return `No file matches '${pattern}'.${deeper ? ` '**/${pattern}' would match ${deeper}.` : ""}`;
      }
    },
  });
