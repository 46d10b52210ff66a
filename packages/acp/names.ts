// Maps the editor's names of sessions to zz's, in a file of the home: the editor gets a name before
// zz has one.
import type { Ctx } from "zz";

const FILE = "acp.json";
const MAX_NAMES = 1_000;

type Names = Record<string, string>; // zz's names, by the editor's

export function namesIn(ctx: Ctx): Names {
  let names: Names = {};
  ctx.keep(FILE, (text) => {
    names = parsed(text);
    return text;
  });
  return names;
}

export function keepName(ctx: Ctx, editorName: string, name: string): void {
  ctx.keep(FILE, (text) => {
    const allNames = { ...parsed(text), [editorName]: name };
    return `${JSON.stringify(Object.fromEntries(Object.entries(allNames).slice(-MAX_NAMES)), null, 2)}\n`;
  });
}

function parsed(text: string): Names {
  try {
    const names = JSON.parse(text);
    return Object.fromEntries(
      Object.entries(names).filter(([, name]) => typeof name === "string"),
    ) as Names;
  } catch {
    return {};
  }
}
