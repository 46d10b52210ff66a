// /undo, /redo and /changes; --undo and --redo after a one-shot.
import type { Ctx, Result, Zz } from "zz";

export default (zz: Zz) => {
  const group = "files and undo";
  for (const [name, does] of [
    ["undo", "take back the last change to files: [n | turn | FILE]"],
    ["redo", "make again what was undone: [n]"],
  ] as const) {
    const travel = (what: string, { files }: Ctx) => files[name](what || "1");
    zz.command({ name, description: does, group, run: async (rest, ctx) => ctx.note((await travel(rest, ctx)).text) });
    zz.flag({
      name,
      value: "N",
      optional: true,
      description: `${does}, of this folder's last session`,
      run: (value, ctx) => travel(value === true ? "1" : String(value), ctx),
    });
  }
  zz.command({
    name: "changes",
    description: "what was changed in this conversation",
    group,
    run: (_, ctx) => ctx.note(list(ctx).text),
  });
  zz.flag({ name: "changes", description: "what this folder's last session changed", run: (_, ctx) => list(ctx) });
};

function list({ files }: Ctx): Result {
  const changes = files.changes();
  const rows = changes.map(
    ({ id, turn, tool, did, path, undone }) =>
      `${String(id).padStart(3)}  turn ${turn}  ${did.padEnd(7)}  ${path}  (${tool}${undone ? ", undone" : ""})`,
  );
  return { text: rows.join("\n") || "Nothing was changed.", data: changes };
}
