// grep: lines by what they hold.
import { statSync } from "node:fs";
import { relative } from "node:path";
import type { Zz } from "zz";
import { breather, finder, type Hit, isBinary, MOST, reader } from "./lines.ts";
import { matcher } from "./pattern.ts";
import { askRipgrep } from "./ripgrep.ts";
import { count, oneLine } from "./show.ts";

const WIDEST = 200; // characters a line
const BEFORE = 60; // of them before the hit, where a line is wider
const HANDFUL = 1 << 18; // characters looked through at a time

export const grep = (zz: Zz<{ ripgrep: string }>) =>
  zz.tool({
    name: "grep",
    description:
      "Find the lines that hold a text, in all files of the project or under one path. Literal unless regex is true. Ignored and binary files are left out.",
    aliases: ["search", "search_files", "rg", "grep_search", "ripgrep", "search_text"],
    params: {
      query: "string what to find, within one line",
      path: "string? only under this file or folder",
      regex: "boolean? read query as a JavaScript regular expression",
      glob: "string? only in files of these names, such as *.ts or src/**",
      ignore_case: "boolean? take a for A",
    },
    ...{
      also: {
        query: ["pattern", "text", "search"],
        path: ["file", "folder", "directory", "dir", "file_path"],
        glob: ["include", "include_pattern", "filter"],
        ignore_case: ["ignoreCase", "case_insensitive", "-i"],
      },
    },
    needs: ({ path = "." }) => ({ read: [path] }),
    async run({ query, path = ".", regex = false, glob, ignore_case = false }, { files, permissions, signal, root }) {
      if (!query) throw new Error("Cannot search for nothing. Say what to find.");
      if (query.includes("\n"))
        throw new Error(
          "Cannot search for more than one line: only single lines are searched. Search for one of them.",
        );
      const asked = { query, regex, ignoreCase: ignore_case };
      const breathe = breather(signal);
      const { may, find } = finder(asked, signal);
      const where = files.path(path);
      const stat = statSync(where, { throwIfNoEntry: false });
      if (!stat) throw new Error(`Cannot search '${path}': no such file or folder. Check the path.`);
      const isFolder = stat.isDirectory();
      // Ripgrep first: it takes longest.
      const [can, listed] = isFolder
        ? await Promise.all([askRipgrep(zz.config.ripgrep, { ...asked, glob }, where, root, signal), files.list(path)])
        : [undefined, []];
      signal.throwIfAborted();
      const names = wanted(listed);

      const hits: (Hit & { path: string })[] = [];
      const stuck: string[] = [];
      let [more, moreFiles, size] = [0, 0, 0];
      let handful: { name: string; text: string }[] = [];
      if (!isFolder) await take(relative(root, where), await one());
      const bytesOf = reader();
      for (const name of names) {
        if (can?.get(name) === false) continue;
        const bytes = bytesOf(`${root}/${name}`);
        if (bytes) await take(name, bytes);
        await breathe();
      }
      await look();
      return { text: answer(), data: hits.map(({ path, line, text, at }) => ({ path, line, text: shown(text, at) })) };

      function wanted(all: string[]): string[] {
        if (!glob) return all;
        const fits = matcher(glob.includes("/") ? glob : `**/${glob}`);
        const below = relative(root, where).length + 1; // from the project, or from the path: models mean either
        return all.filter((name) => fits(name) || (below > 1 && fits(name.slice(below))));
      }

      async function one(): Promise<Buffer> {
        const bytes = Buffer.from((await files.read(path)).bytes);
        if (isBinary(bytes)) throw new Error(`Cannot search '${path}': it is not text. Choose a text file.`);
        return bytes;
      }

      async function take(name: string, bytes: Buffer): Promise<void> {
        if (!may(bytes)) return;
        const text = bytes.toString();
        handful.push({ name, text });
        size += text.length;
        if (size > HANDFUL) await look();
      }

      async function look(): Promise<void> {
        const found = await find(handful.map(({ text }) => text));
        for (const [i, { count: many, hits: here, stuck: lines }] of found.entries()) {
          const { name } = handful[i]!;
          stuck.push(...lines.map((line) => `${oneLine(name)}:${line}`));
          if (!many || !(await mayShow(name))) continue;
          const left = many - (MOST - hits.length);
          hits.push(...here.slice(0, MOST - hits.length).map((hit) => ({ path: name, ...hit })));
          more += Math.max(0, left);
          if (left > 0) moreFiles++;
        }
        [handful, size] = [[], 0];
      }

      /** A search comes upon files that nobody named, and some of them hold secrets. */
      async function mayShow(name: string): Promise<boolean> {
        if (!isFolder || permissions.judge("read", name).verdict === "allow") return true;
        return files.read(name).then(
          () => true, // the person said yes to it
          () => false,
        );
      }

      function answer(): string {
        const rows = hits.map(({ path, line, text, at }) => `${oneLine(path)}:${line}: ${shown(text, at)}`);
        if (more)
          rows.push(
            `[${count(more, "more hit")} in ${count(moreFiles, "file")}; narrow the query, the path or the glob]`,
          );
        if (!rows.length) rows.push(nothing());
        if (stuck.length)
          rows.push(`[passed over, for the regular expression takes too long on it: ${stuck.join(", ")}]`);
        return rows.join("\n");
      }

      function nothing(): string {
        if (isFolder && !names.length)
          return `Nothing to search: ${glob ? `no file matches '${glob}'` : `'${path}' holds no files, or only ignored ones`}.`;
        if (regex) return `Nothing holds '${query}'.${/\\[nr]/.test(query) ? " Only single lines are searched." : ""}`;
        const hint = /[\\^$*+?|]|\[.+\]/.test(query) ? " as it stands; with regex it is a regular expression" : "";
        return `Nothing holds '${query}'${hint}.`;
      }
    },
  });

/** A wide line is cut so that the hit can be seen. */
function shown(line: string, at: number): string {
  const text = line.trim();
  const begins = at - (line.length - line.trimStart().length);
  const from = begins + BEFORE < WIDEST ? 0 : Math.max(0, Math.min(begins - BEFORE, text.length - WIDEST));
  return (from ? "…" : "") + text.slice(from, from + WIDEST);
}
