// grep: lines that hold a text.
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
    async run({ query, path = ".", regex = false }, { files, signal }) {
      const pattern = regex ? new RegExp(query) : undefined;
      const hits: { path: string; line: number; text: string }[] = [];
      let more = 0;
      for (const file of await files.list().then((all) => under(all, path))) {
        signal.throwIfAborted();
        const content = await files.read(file).catch(() => undefined); // gone, a folder link, too large: nothing to find
        if (!content || content.bytes.subarray(0, 8_192).includes(0)) continue;
        if (!pattern && !content.text.includes(query)) continue;
        for (const [i, line] of content.text.split("\n").entries()) {
          if (!(pattern ? pattern.test(line) : line.includes(query))) continue;
          if (hits.length < MOST) hits.push({ path: file, line: i + 1, text: line.trim().slice(0, WIDEST) });
          else more++;
        }
      }
      const rows = hits.map((hit) => `${hit.path}:${hit.line}: ${hit.text}`);
      if (more) rows.push(`[${more} more hits; narrow the query or the path]`);
      return { text: rows.join("\n") || `Nothing holds '${query}'.`, data: hits };
    },
  });

function under(files: string[], path: string): string[] {
  const folder = path.replace(/^\.\/?/, "").replace(/\/+$/, "");
  return files.filter((file) => !folder || file === folder || file.startsWith(`${folder}/`));
}
