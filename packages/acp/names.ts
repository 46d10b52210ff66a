// Maps the editor's names of sessions to zz's, in a file of the home: the editor gets a name before
// zz has one. With a name stands what was asked last under a key of the client's own.
import type { Ctx } from "zz";

const FILE = "acp.json";
const MAX_NAMES = 1_000; // those used longest ago go

interface Named {
  id: string; // zz's own
  last?: string; // the key of the last prompt that had one
}
type Names = Record<string, Named>; // by the editor's name

function entriesIn(ctx: Ctx): Names {
  let names: Names = {};
  ctx.keep(FILE, (text) => {
    names = parsed(text);
    return text;
  });
  return names;
}

/** zz's names, by the editor's. */
export const namesIn = (ctx: Ctx): Record<string, string> =>
  Object.fromEntries(Object.entries(entriesIn(ctx)).map(([name, { id }]) => [name, id]));

export const lastKeyOf = (ctx: Ctx, editorName: string): string | undefined =>
  entriesIn(ctx)[editorName]?.last;

export function keepName(ctx: Ctx, editorName: string, id: string, key?: string): void {
  ctx.keep(FILE, (text) => {
    const { [editorName]: before, ...others } = parsed(text);
    const last = key ?? before?.last;
    const names: Names = { ...others, [editorName]: last === undefined ? { id } : { id, last } };
    const kept = Object.entries(names).slice(-MAX_NAMES);
    return `${JSON.stringify(Object.fromEntries(kept.map(written)), null, 2)}\n`;
  });
}

const written = ([name, { id, last }]: [string, Named]): [string, string | Named] => [
  name,
  last === undefined ? id : { id, last },
];

function parsed(text: string): Names {
  try {
    return Object.fromEntries(
      Object.entries(JSON.parse(text)).flatMap(([name, value]) => {
        const entry = typeof value === "string" ? { id: value } : (Object(value) as Named);
        return typeof entry.id === "string" ? [[name, entry]] : [];
      }),
    );
  } catch {
    return {};
  }
}
