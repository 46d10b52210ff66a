// glob: finds files by their names.
import { relative } from "node:path";
import type { Zz } from "zz";
import { notUtf8 } from "zz/text";
import { newYielder } from "./find-in-lines.ts";
import { shownName } from "./path.ts";
import { matcher } from "./pattern.ts";

const MAX_PATHS = 100;

export const glob = (zz: Zz<any>) =>
  zz.tool({
    name: "glob",
    kind: "read",
    description:
      "Find files of the project by name: * and ? within a name, ** for any folders, {a,b}, [a-z], as in src/**/*.{ts,tsx}. Ignored files are left out.",
    params: {
      pattern: "string such as **/*.ts",
      path: "string? the folder where the pattern begins; the project itself if left out",
    },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ pattern, path = "." }, { files, root, signal }) {
      const above = relative(root, files.path(path)).length;
      const wanted = pattern.startsWith(`${root}/`) ? pattern.slice(root.length + 1) : pattern;
      const inside = above && wanted === pattern ? above + 1 : 0;
      const names = await files.list(path);
      const paths = await matching(wanted);
      const rows = paths.slice(0, MAX_PATHS).map(shownName);
      if (paths.length > MAX_PATHS)
        rows.push(`[${paths.length - MAX_PATHS} more; narrow the pattern or the path]`);
      rows.push(...notUtf8(root, paths, "of these cannot be opened"));
      return { text: rows.join("\n") || (await noMatchText()), data: paths };

      async function matching(pattern: string): Promise<string[]> {
        const fits = matcher(pattern);
        const yieldIfDue = newYielder(signal);
        const matched: string[] = [];
        for (const name of names) {
          if (fits(name.slice(inside))) matched.push(name);
          await yieldIfDue();
        }
        return matched;
      }

      /**
       * Suggests all folders, since most often a pattern for one folder was meant for all of them.
       */
      async function noMatchText(): Promise<string> {
        const deeper = wanted.includes("/") ? 0 : (await matching(`**/${wanted}`)).length;
        return `No file matches '${pattern}'.${deeper ? ` '**/${pattern}' would match ${deeper}.` : ""}`;
      }
    },
  });
