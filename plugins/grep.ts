// grep: lines that hold a text.
import { existsSync } from "node:fs";
import vm from "node:vm";
import type { Zz } from "zz";

const MOST = 100; // hits
const WIDEST = 200; // characters a line

export default (zz: Zz) =>
  zz.tool({
    name: "grep",
    description:
      "Find the lines that hold a text, in all files of the project or under one path. Literal unless regex is true.",
    aliases: ["search", "search_files", "rg", "grep_search"],
    params: {
      query: "string what to find",
      path: "string? only under this file or folder",
      regex: "boolean? read query as a JavaScript regular expression",
    },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ query, path = ".", regex = false }, { files, signal, root }) {
      if (!existsSync(files.path(path)))
        throw new Error(`Cannot search '${path}': no such file or folder. Check the path.`);
      const pattern = regex ? new RegExp(query) : undefined;
      const hits: { path: string; line: number; text: string }[] = [];
      let more = 0;
      for (const file of await under(await files.list(), files.path(path), root)) {
        signal.throwIfAborted();
        const content = await files.read(file).catch(() => undefined); // gone, a folder link, too large: nothing to find
        if (!content || content.bytes.subarray(0, 8_192).includes(0)) continue;
        if (!pattern && !content.text.includes(query)) continue;
        const lines = content.text.split(/\r?\n/);
        const found = pattern && matching(pattern, lines);
        for (const [i, line] of lines.entries()) {
          if (!(found ? found.has(i) : line.includes(query))) continue;
          if (hits.length < MOST) hits.push({ path: file, line: i + 1, text: line.trim().slice(0, WIDEST) });
          else more++;
        }
      }
      const rows = hits.map((hit) => `${hit.path}:${hit.line}: ${hit.text}`);
      if (more) rows.push(`[${more} more hits; narrow the query or the path]`);
      return { text: rows.join("\n") || `Nothing holds '${query}'.`, data: hits };
    },
  });

/** In a context of its own, since nothing else stops a regular expression that backtracks for ever. */
function matching(pattern: RegExp, lines: string[]): Set<number> {
  try {
    const code = "lines.flatMap((line, i) => (pattern.test(line) ? [i] : []))";
    return new Set(vm.runInNewContext(code, { pattern, lines }, { timeout: 2_000 }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    throw new Error(`Cannot search for '${pattern.source}': the regular expression takes too long. Make it simpler.`);
  }
}

function under(files: string[], path: string, root: string): string[] {
  const folder = path.slice(root.length + 1);
  return files.filter((file) => !folder || file === folder || file.startsWith(`${folder}/`));
}
