// /undo, /redo and /changes; --undo and --redo after a one-shot.
import { stripVTControlCharacters } from "node:util";
import type { Choice, Ctx, Result, Zz } from "zz";
import { terminalColumns, visible, width, wrap } from "zz/text";

const UNDO_EXAMPLES = {
  "/undo": "take back the last change",
  "/undo 3": "take back the last three",
  "/undo turn": "take back everything that the last turn did",
  "/undo src/a.ts": "take back the last change to one file",
};

export default (zz: Zz) => {
  const group = "files and undo";
  for (const [name, usage, summaryLine, examples] of [
    ["undo", "[N | turn | FILE]", "take back the last change to files, or more", UNDO_EXAMPLES],
    [
      "redo",
      "[N]",
      "redo what was undone",
      { "/redo": "redo the last one", "/redo 2": "redo the last two" },
    ],
  ] as const) {
    const undoOrRedo = (undoTarget: string, { files }: Ctx) => files[name](undoTarget || "1");
    zz.command({
      name,
      usage,
      description: summaryLine,
      examples,
      group,
      ...(name === "undo" && {
        complete: (typedText, ctx) =>
          undoable(ctx).filter((choice) => choice.name.includes(typedText)),
      }),
      run: async (argument, ctx) => ctx.note((await undoOrRedo(argument, ctx)).text),
    });
    zz.flag({
      name,
      value: "N",
      optional: true,
      group: "files and undo",
      description: `${summaryLine}, in the last session that changed files here (${usage})`,
      run: (flagValue, ctx) => undoOrRedo(flagValue === true ? "1" : String(flagValue), ctx),
    });
  }
  zz.command({
    name: "changes",
    usage: "[N]",
    description: "what was changed here; N: that change as a diff",
    examples: { "/changes": "list the changes", "/changes 3": "show the change with that number" },
    group,
    complete: (typedText, { files }) =>
      files
        .changes()
        .map(({ id, did, path }) => ({ name: String(id), description: `${did} ${visible(path)}` }))
        .filter(({ name }) => name.startsWith(typedText))
        .reverse(),
    run: (argument, ctx) =>
      argument ? showDiff(zz, argument, ctx) : ctx.note(listChanges(ctx).text),
  });
  zz.flag({
    name: "changes",
    group: "files and undo",
    description: "list what the last session that changed files here did",
    run: (_, ctx) => listChanges(ctx),
  });
};

/** The last change of each file, latest first. */
function undoable({ files }: Ctx): Choice[] {
  const openChanges = files.changes().filter(({ undone }) => !undone);
  const lastByPath = new Map(
    openChanges.map(({ path, did, turn }) => [path, `${did} in turn ${turn}`]),
  );
  const wholeTurn = { name: "turn", description: "everything that the last turn did" };
  return openChanges.length
    ? [
        wholeTurn,
        ...[...lastByPath].map(([name, description]) => ({ name, description })).reverse(),
      ]
    : [];
}

/** Shows a change in colours, or page by page if it is longer than the screen. */
async function showDiff(zz: Zz, argument: string, { files, io, ask, note }: Ctx): Promise<void> {
  const colouredDiff = await files
    .diff(/^\d+$/.test(argument) ? Number(argument) : Number.NaN)
    .catch((error: Error) => {
      throw new Error(error.message.replace("NaN", `'${argument}'`));
    });
  const plainDiff = stripVTControlCharacters(colouredDiff);
  if (!ask) return note(plainDiff);
  const columns = terminalColumns(io);
  const rowCount = plainDiff.split("\n").flatMap((diffRow) => wrap(diffRow, columns)).length;
  const isShort = rowCount < (io.stderr.rows || 24) - 2;
  if (isShort && plainDiff.split("\n").every((diffRow) => width(diffRow) <= columns))
    io.stderr.write(`${zz.veil(colouredDiff)}\n`);
  else if (isShort)
    note(plainDiff); // wrapped between words
  else await ask(`${plainDiff}\n── Enter goes back `, "q");
}

function listChanges({ files }: Ctx): Result {
  const changes = files.changes();
  const turnDigits = Math.max(0, ...changes.map(({ turn }) => String(turn).length));
  const changeRows = changes.map(
    ({ id, turn, tool, did, path, undone }) =>
      `${String(id).padStart(3)}  turn ${String(turn).padEnd(turnDigits)}  ${did.padEnd(7)}  ` +
      `${visible(path)}  (${tool}${undone ? ", undone" : ""})`,
  );
  return { text: changeRows.join("\n") || "Nothing was changed.", data: changes };
}
