// What a terminal costs: Markdown, keys.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { highlight } from "../../plugins/terminal/highlight.ts";
import { renderMarkdown } from "../../plugins/terminal/render-markdown.ts";
import { themeOf } from "../../plugins/terminal/theme.ts";
import type { Figure } from "../support/bench.ts";
import { having } from "../support/having.ts";
import { figure, timed, worked } from "../support/machine.ts";
import { repl } from "../support/repl.ts";
import { ROOT } from "../support/run.ts";
import type { Terminal } from "../support/terminal.ts";

const SIZE = 1_000_000;
const PROSE = `## Heading of a part

Some **bold words** and *emphasis* with \`code\` and a [link](https://a.example/b) in a paragraph of words &amp; more that
goes on over several lines of the source, as it does here and there, until it ends.

- the first **item** of a list that is long enough to be wrapped at eighty columns, with \`code\` and a last word
- second
  - nested _one_

`;
const TABLE =
  "| Name | Meaning |\n|---|--:|\n| `a` | words that make it **wide** enough to be wrapped |\n\n";
const code = () => readFileSync(join(ROOT, "zz.ts"), "utf8");
const repeated = (piece: string) => piece.repeat(Math.ceil(SIZE / piece.length));

const MARKDOWN: Record<string, () => string> = {
  prose: () => repeated(PROSE),
  "one block of code": () => `\`\`\`ts\n${repeated(code())}\n\`\`\``,
  "tables and code": () =>
    repeated(`${TABLE}\`\`\`ts\n${code().slice(0, 850)}\n\`\`\`\n\nwords\n\n`),
  "one table": () =>
    `| a | b **c** |\n|---|---|\n${repeated("| some words here | `x` and more words |\n")}`,
};

export const figures: Figure[] = [
  ...Object.entries(MARKDOWN).map(([kind, make]) =>
    figure(`Markdown: ${kind}`, "ms", 7, "1 MB of it is rendered.", async () => {
      const [markdown, dark] = [make(), themeOf("dark")];
      return () => worked(() => renderMarkdown(markdown, { width: 80, theme: dark, highlight }));
    })),
  figure("key", "ms", 40, "From a key to its echo, with 10,000 entries of history.",
    async (bench) => {
      const entry = (i: number) => `${JSON.stringify(`entry ${i} with a few words more`)}\n`;
      const where = having({
        "~/history": Array.from({ length: 10_000 }, (_, i) => entry(i)).join(""),
      });
      const term = await repl(bench as TestContext, { where, process: true });
      let typed = 0;
      return () => {
        const before = term.raw().length;
        const echoed = when(term, () => term.raw().length > before);
        return timed(() => {
          term.type("the quick brown fox jumps over the lazy dog"[typed++ % 43]!);
          return echoed;
        });
      };
    }),
]; // biome-ignore format: a table

/** As soon as a piece is written after which it is so. */
const when = (term: Pick<Terminal, "onData">, isSo: () => boolean) =>
  new Promise<void>((resolve) => term.onData(() => isSo() && resolve()));
