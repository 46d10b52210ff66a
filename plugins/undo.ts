// /undo, /redo and /changes; --undo and --redo after a one-shot.
import { stripVTControlCharacters } from "node:util";
import type { Choice, Ctx, Result, Zz } from "zz";
import { terminalColumns, visible, width, wrap } from "zz/text";

const UNDO = {
  "/undo": "take back the last change",
  "/undo 3": "take back the last three",
  "/undo turn": "take back everything that the last turn did",
  "/undo src/a.ts": "take back the last change to one file",
};

export default (zz: Zz) => {
  const group = "files and undo";
  for (const [name, usage, does, examples] of [
    ["undo", "[N | turn | FILE]", "take back the last change to files, or more", UNDO],
    [
      "redo",
      "[N]",
      "redo what was undone",
      { "/redo": "redo the last one", "/redo 2": "redo the last two" },
    ],
  ] as const) {
    const undoOrRedo = (target: string, { files }: Ctx) => files[name](target || "1");
    zz.command({
      name,
      usage,
      description: does,
      examples,
      group,
      ...(name === "undo" && {
        complete: (typed, ctx) => undoable(ctx).filter((choice) => choice.name.includes(typed)),
      }),
      run: async (argument, ctx) => ctx.note((await undoOrRedo(argument, ctx)).text),
    });
    zz.flag({
      name,
      value: "N",
      optional: true,
      group: "files and undo",
      description: `${does}, in the last session that changed files here (${usage})`,
      run: (value, ctx) => undoOrRedo(value === true ? "1" : String(value), ctx),
    });
  }
  zz.command({
    name: "changes",
    usage: "[N]",
    description: "what was changed here; N: that change as a diff",
    examples: { "/changes": "list the changes", "/changes 3": "show the change with that number" },
    group,
    complete: (typed, { files }) =>
      files
        .changes()
        .map(({ id, did, path }) => ({ name: String(id), description: `${did} ${visible(path)}` }))
        .filter(({ name }) => name.startsWith(typed))
        .reverse(),
    run: (argument, ctx) => (argument ? showDiff(zz, argument, ctx) : ctx.note(list(ctx).text)),
  });
  zz.flag({
    name: "changes",
    group: "files and undo",
    description: "list what the last session that changed files here did",
    run: (_, ctx) => list(ctx),
  });
};

/** The last change of each file, latest first. */
function undoable({ files }: Ctx): Choice[] {
  const open = files.changes().filter(({ undone }) => !undone);
  const last = new Map(open.map(({ path, did, turn }) => [path, `${did} in turn ${turn}`]));
  const wholeTurn = { name: "turn", description: "everything that the last turn did" };
  return open.length
    ? [wholeTurn, ...[...last].map(([name, description]) => ({ name, description })).reverse()]
    : [];
}

/** Shows a change in colours, or page by page if it is longer than the screen. */
async function showDiff(zz: Zz, argument: string, { files, io, ask, note }: Ctx): Promise<void> {
  const diff = await files
    .diff(/^\d+$/.test(argument) ? Number(argument) : Number.NaN)
    .catch((error: Error) => {
      throw new Error(error.message.replace("NaN", `'${argument}'`));
    });
  const plain = stripVTControlCharacters(diff);
  if (!ask) return note(plain);
  const columns = terminalColumns(io);
  const rows = plain.split("\n").flatMap((row) => wrap(row, columns)).length;
  const isShort = rows < (io.stderr.rows || 24) - 2;
  if (isShort && plain.split("\n").every((row) => width(row) <= columns))
    io.stderr.write(`${zz.veil(diff)}\n`);
  else if (isShort)
    note(plain); // wrapped between words
  else await ask(`${plain}\n── Enter goes back `, "q");
}

function list({ files }: Ctx): Result {
  const changes = files.changes();
  const turns = Math.max(0, ...changes.map(({ turn }) => String(turn).length));
  const rows = changes.map(
    ({ id, turn, tool, did, path, undone }) =>
      `${String(id).padStart(3)}  turn ${String(turn).padEnd(turns)}  ${did.padEnd(7)}  ${visible(path)}  (${tool}${undone ? ", undone" : ""})`,
  );
  return { text: rows.join("\n") || "Nothing was changed.", data: changes };
}
