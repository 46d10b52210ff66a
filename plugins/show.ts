// /show and Ctrl+O: what a tool gave, in full, page by page: the last result, or the Nth last.
import fs from "node:fs";
import type { Call, Choice, Ctx, Zz } from "zz";
import {
  clip,
  oneLine,
  plural,
  sentenceOf,
  terminalColumns,
  wantsWords,
  width,
  wrap,
} from "zz/text";

// of an output that was kept in a file; nobody pages through more
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_CHOICES = 20;

export default (zz: Zz) => {
  const files = new Map<string, string>(); // by call, where all of a long output is kept
  zz.on("called", ({ call, result }) => {
    const file = (result.data as { file?: unknown } | undefined)?.file;
    if (typeof file === "string") files.set(call.id, file);
  });
  zz.command({
    name: "show",
    usage: "[N]",
    description: "what the last call gave, in full, or the Nth last",
    examples: {
      "/show": "page through what the last call gave",
      "/show 3": "what the third last one gave",
    },
    group: "conversation",
    complete: (_, ctx): Choice[] =>
      resultsOf(ctx)
        .slice(0, MAX_CHOICES)
        .map((result, i) => ({ name: String(i + 1), description: titleOf(result) })),
    run: (argument, ctx) => show(argument, ctx, files),
  });
  zz.key({
    name: "ctrl+o",
    description: "what the last call gave, in full (/show N: an earlier one)",
    press: (_, ctx) => show("", ctx, files).catch((error) => ctx.note(sentenceOf(error))),
  });
};

interface Shown {
  call: Pick<Call, "id" | "name"> & Partial<Pick<Call, "args">>;
  text: string;
}

/** The last first. */
function resultsOf({ chat }: Ctx): Shown[] {
  const calls = new Map<string, Call>();
  const results: Shown[] = [];
  for (const message of chat.messages) {
    if (message.role === "assistant")
      for (const call of message.calls ?? []) calls.set(call.id, call);
    if (message.role !== "tool") continue;
    const { id, name, text } = message;
    results.unshift({ call: calls.get(id) ?? { id, name }, text });
  }
  return results;
}

async function show(argument: string, ctx: Ctx, files: ReadonlyMap<string, string>): Promise<void> {
  const results = resultsOf(ctx);
  if (!results.length)
    throw new Error("Cannot show a result: no tool was called in this conversation.");
  const wanted = argument || "1";
  const result = /^[1-9]\d*$/.test(wanted) ? results[Number(wanted) - 1] : undefined;
  if (!result)
    throw new Error(
      `Cannot show '${argument}': say a number from 1 (the last) to ${results.length}.`,
    );
  const file = files.get(result.call.id);
  const wholeText = (file && beginningOf(file)) || result.text;
  const columns = terminalColumns(ctx.io);
  const rows = wrap(wholeText.trimEnd().split("\n").map(withoutTabs).join("\n"), columns - 1);
  const sign = wantsWords(ctx.io, ctx) ? "" : "■ ";
  const text = [clip(`${sign}${titleOf(result)}`, columns - 1), ...rows].join("\n");
  const fits = rows.length < (ctx.io.stderr.rows || 24) - 3;
  if (fits || !ctx.ask) return ctx.note(text);
  await ctx.ask(`${text}\n── ${plural(rows.length, "row")} · Enter goes back `, "q");
}

const titleOf = ({ call: { name, args = {} } }: Shown): string => {
  const [first = ""] = Object.values(args);
  const argumentText = typeof first === "string" ? first : JSON.stringify(first);
  return oneLine(`${name} ${argumentText.slice(0, 500)}`);
};

/**
 * Tabs as the spaces that a terminal makes of them: otherwise it would wrap what was wrapped
 * before.
 */
function withoutTabs(line: string): string {
  const [first = "", ...cells] = line.split("\t");
  let columns = width(first);
  return cells.reduce((row, cell) => {
    const spaces = TAB_COLUMNS - (columns % TAB_COLUMNS);
    columns += spaces + width(cell);
    return row + " ".repeat(spaces) + cell;
  }, first);
}
const TAB_COLUMNS = 8;

/** As much as anybody reads; undefined when it is gone. */
function beginningOf(file: string): string | undefined {
  try {
    const fd = fs.openSync(file, "r");
    try {
      const buffer = Buffer.alloc(MAX_FILE_BYTES);
      const count = fs.readSync(fd, buffer, 0, buffer.length, 0);
      return (
        buffer.toString("utf8", 0, count) +
        (count === buffer.length ? `\n[… all of it is in ${file}]` : "")
      );
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return undefined;
  }
}
