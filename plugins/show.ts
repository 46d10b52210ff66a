// /show and Ctrl+O: what a tool gave, in full, page by page: the last result, or the Nth last.
import fs from "node:fs";
import type { Call, Choice, Ctx, Zz } from "zz";
import {
  clip,
  oneLine,
  plural,
  sentenceOf,
  terminalColumns,
  tryTo,
  wantsWords,
  width,
  wrap,
} from "zz/text";

// of an output that was kept in a file; nobody pages through more
const MAX_FILE_BYTES = 4 * 1024 * 1024;
const MAX_CHOICES = 20;

export default (zz: Zz) => {
  const outputFiles = new Map<string, string>(); // by call, where all of a long output is kept
  zz.on("called", ({ call, result }) => {
    const outputFile = (result.data as { file?: unknown } | undefined)?.file;
    if (typeof outputFile === "string") outputFiles.set(call.id, outputFile);
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
    run: (argument, ctx) => showResult(argument, ctx, outputFiles),
  });
  zz.key({
    name: "ctrl+o",
    description: "what the last call gave, in full (/show N: an earlier one)",
    press: (_, ctx) =>
      showResult("", ctx, outputFiles).catch((error) => ctx.note(sentenceOf(error))),
  });
};

interface Shown {
  call: Pick<Call, "id" | "name"> & Partial<Pick<Call, "args">>;
  text: string;
}

/** The last first. */
function resultsOf({ chat }: Ctx): Shown[] {
  const callsById = new Map<string, Call>();
  const results: Shown[] = [];
  for (const message of chat.messages) {
    if (message.role === "assistant")
      for (const call of message.calls ?? []) callsById.set(call.id, call);
    if (message.role !== "tool") continue;
    const { id, name, text } = message;
    results.unshift({ call: callsById.get(id) ?? { id, name }, text });
  }
  return results;
}

async function showResult(
  argument: string,
  ctx: Ctx,
  outputFiles: ReadonlyMap<string, string>,
): Promise<void> {
  const results = resultsOf(ctx);
  if (!results.length)
    throw new Error("Cannot show a result: no tool was called in this conversation.");
  const wantedNumber = argument || "1";
  const wantedResult = /^[1-9]\d*$/.test(wantedNumber)
    ? results[Number(wantedNumber) - 1]
    : undefined;
  if (!wantedResult)
    throw new Error(
      `Cannot show '${argument}': say a number from 1 (the last) to ${results.length}.`,
    );
  const outputFile = outputFiles.get(wantedResult.call.id);
  const wholeText = (outputFile && beginningOf(outputFile)) || wantedResult.text;
  const columns = terminalColumns(ctx.io);
  const wrappedRows = wrap(
    wholeText.trimEnd().split("\n").map(withoutTabs).join("\n"),
    columns - 1,
  );
  const titleSign = wantsWords(ctx.io, ctx) ? "" : "■ ";
  const resultPage = [
    clip(`${titleSign}${titleOf(wantedResult)}`, columns - 1),
    ...wrappedRows,
  ].join("\n");
  const fitsScreen = wrappedRows.length < (ctx.io.stderr.rows || 24) - 3;
  if (fitsScreen || !ctx.ask) return ctx.note(resultPage);
  await ctx.ask(`${resultPage}\n── ${plural(wrappedRows.length, "row")} · Enter goes back `, "q");
}

const titleOf = ({ call: { name, args = {} } }: Shown): string => {
  const [firstArgument = ""] = Object.values(args);
  const argumentText =
    typeof firstArgument === "string" ? firstArgument : JSON.stringify(firstArgument);
  return oneLine(`${name} ${argumentText.slice(0, 500)}`);
};

/**
 * Tabs as the spaces that a terminal makes of them: otherwise it would wrap what was wrapped
 * before.
 */
function withoutTabs(outputLine: string): string {
  const [firstCell = "", ...laterCells] = outputLine.split("\t");
  let columns = width(firstCell);
  return laterCells.reduce((rowSoFar, nextCell) => {
    const spaceCount = TAB_COLUMNS - (columns % TAB_COLUMNS);
    columns += spaceCount + width(nextCell);
    return rowSoFar + " ".repeat(spaceCount) + nextCell;
  }, firstCell);
}
const TAB_COLUMNS = 8;

/** As much as anybody reads; undefined when it is gone. */
const beginningOf = (outputFile: string): string | undefined =>
  tryTo(() => {
    const descriptor = fs.openSync(outputFile, "r");
    try {
      const buffer = Buffer.alloc(MAX_FILE_BYTES);
      const bytesRead = fs.readSync(descriptor, buffer, 0, buffer.length, 0);
      return (
        buffer.toString("utf8", 0, bytesRead) +
        (bytesRead === buffer.length ? `\n[… all of it is in ${outputFile}]` : "")
      );
    } finally {
      fs.closeSync(descriptor);
    }
  });
