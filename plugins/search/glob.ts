// glob: finds files by their names.
import { relative } from "node:path";
import type { Zz } from "zz";
import { notUtf8 } from "zz/text";
import { newYielder } from "./find-in-lines.ts";
import { shownName } from "./path.ts";
import { compilePattern } from "./pattern.ts";

const MAX_PATHS = 100;

export const glob = (zz: Zz) =>
  zz.tool({
    name: "glob",
    kind: "read",
    description:
      "Find files of the project by name: * and ? within a name, ** for any folders, {a,b}, " +
      "[a-z], as in src/**/*.{ts,tsx}. Ignored files are left out.",
    params: {
      pattern: "string such as **/*.ts",
      path: "string? the folder where the pattern begins; the project itself if left out",
    },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ pattern, path = "." }, { files, root, signal }) {
      const folderLength = relative(root, files.path(path)).length;
      const wantedPattern = pattern.startsWith(`${root}/`)
        ? pattern.slice(root.length + 1)
        : pattern;
      const prefixLength = folderLength && wantedPattern === pattern ? folderLength + 1 : 0;
      const fileNames = await files.list(path);
      const matchingPaths = await matching(wantedPattern);
      const resultRows = matchingPaths.slice(0, MAX_PATHS).map(shownName);
      if (matchingPaths.length > MAX_PATHS)
        resultRows.push(
          `[${matchingPaths.length - MAX_PATHS} more; narrow the pattern or the path]`,
        );
      resultRows.push(...notUtf8(root, matchingPaths, "of these cannot be opened"));
      return { text: resultRows.join("\n") || (await noMatchText()), data: matchingPaths };

      async function matching(pattern: string): Promise<string[]> {
        const matchesName = compilePattern(pattern);
        const yieldIfDue = newYielder(signal);
        const matched: string[] = [];
        for (const fileName of fileNames) {
          if (matchesName(fileName.slice(prefixLength))) matched.push(fileName);
          await yieldIfDue();
        }
        return matched;
      }

      /**
       * Suggests all folders, since most often a pattern for one folder was meant for all of them.
       */
      async function noMatchText(): Promise<string> {
        const deeperCount = wantedPattern.includes("/")
          ? 0
          : (await matching(`**/${wantedPattern}`)).length;
        return (
          "No file matches " +
          `'${pattern}'.${deeperCount ? ` '**/${pattern}' would match ${deeperCount}.` : ""}`
        );
      }
    },
  });
