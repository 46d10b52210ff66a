// What the code defines and where it is used, read from the files at each call by TypeScript's parser.
import type { Ctx, Zz } from "zz";
import type { Found } from "./scan.ts";

const MOST = 40;

export default (zz: Zz) => {
  zz.tool({
    name: "find_definition",
    description: "Find where a function, class, type or constant is defined, by its name or by words for it.",
    aliases: ["findDefinition", "goto_definition"],
    params: { symbol: "string a name, or a few words such as 'turn loop'" },
    needs: () => ({ read: ["."] }),
    async run({ symbol }, ctx) {
      const all = await definitions(ctx);
      const { bestFor } = await import("./match.ts");
      const { exact, near } = await bestFor(symbol, all);
      if (exact.length) return { text: exact.map(row).join("\n"), data: exact };
      if (!near.length)
        throw new Error(`Cannot find a definition of '${symbol}': nothing is named like that. Try grep.`);
      return { text: [`No definition is named '${symbol}'. Nearest:`, ...near.map(row)].join("\n"), data: near };
    },
  });

  zz.tool({
    name: "find_references",
    description: "Find where a name is used in the code, without comments and strings.",
    aliases: ["findReferences", "find_usages"],
    params: { symbol: "string the name" },
    needs: () => ({ read: ["."] }),
    async run({ symbol }, ctx) {
      const name = symbol.trim().replace(/\(\)$/, "").split(".").at(-1)!;
      const { uses } = await import("./scan.ts");
      const hits = (await code(ctx, name)).flatMap(tried(({ path, text }) => uses(path, text, name)));
      if (!hits.length)
        throw new Error(`Cannot find a use of '${symbol}': no code names it. find_definition suggests names.`);
      const rows = hits.slice(0, MOST).map(({ path, line, text }) => `${path}:${line}: ${text}`);
      if (hits.length > MOST) rows.push(`[${hits.length - MOST} more]`);
      return { text: rows.join("\n"), data: hits };
    },
  });

  zz.tool({
    name: "get_structure",
    description: "Show what each code file defines, for the whole project or under one path.",
    aliases: ["getStructure"],
    params: { path: "string? a file or a folder" },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ path = "." }, ctx) {
      const byFile = Map.groupBy(await definitions(ctx, path), (found) => found.path);
      const rows = [...byFile].map(([file, found]) => {
        const names = found.filter(({ exported }) => exported).map(({ name, line }) => `${name}:${line}`);
        return `${file} (${found.length}) ${names.slice(0, 12).join(" ")}${names.length > 12 ? " …" : ""}`;
      });
      if (!rows.length) return `No code under '${path}'.`;
      const more = rows.length - 2 * MOST;
      return {
        text: [...rows.slice(0, 2 * MOST), ...(more > 0 ? [`[${more} more files]`] : [])].join("\n"),
        data: [...byFile.keys()],
      };
    },
  });

  zz.tool({
    name: "get_todos",
    description: "List TODO, FIXME and HACK comments in the code.",
    aliases: ["getTodos"],
    params: { path: "string? a file or a folder" },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ path = "." }, ctx) {
      const { todos } = await import("./scan.ts");
      const found = (await code(ctx, /TODO|FIXME|HACK/, path)).flatMap(tried(({ path, text }) => todos(path, text)));
      const rows = found.slice(0, MOST).map(({ path, line, text }) => `${path}:${line}: ${text}`);
      if (found.length > MOST) rows.push(`[${found.length - MOST} more]`);
      return { text: rows.join("\n") || "No TODO, FIXME or HACK in comments.", data: found };
    },
  });
};

const CODE = /\.[cm]?[jt]sx?$/;
const LARGEST = 1_000_000;

/** The code files under a path, those that hold the word alone. */
async function code(
  { files, signal, root }: Ctx,
  word?: string | RegExp,
  path = ".",
): Promise<{ path: string; text: string }[]> {
  const folder = files.path(path).slice(root.length + 1);
  const found: { path: string; text: string }[] = [];
  for (const file of await files.list()) {
    signal.throwIfAborted();
    if (!CODE.test(file) || (folder && file !== folder && !file.startsWith(`${folder}/`))) continue;
    const { text } = await files.read(file).catch(() => ({ text: "" })); // deleted in between
    if (text.length > LARGEST) continue;
    if (word === undefined || (typeof word === "string" ? text.includes(word) : word.test(text)))
      found.push({ path: file, text });
  }
  return found;
}

async function definitions(ctx: Ctx, path?: string): Promise<Found[]> {
  const { scan } = await import("./scan.ts");
  return (await code(ctx, undefined, path)).flatMap(tried(({ path, text }) => scan(path, text)));
}

/** One file that is nested too deep for the parser does not take the others with it. */
function tried<T>(read: (file: { path: string; text: string }) => T[]): (file: { path: string; text: string }) => T[] {
  return (file) => {
    try {
      return read(file);
    } catch (error) {
      if (error instanceof RangeError) return [];
      throw error;
    }
  };
}

const row = ({ path, line, signature, doc }: Found): string =>
  `${path}:${line}: ${signature}${doc ? `  // ${doc}` : ""}`;
