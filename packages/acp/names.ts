// Maps the editor's names of sessions to zz's, in a file of the home: the editor gets a name before
// zz has one. With a name stands what was asked last under a key of the client's own.
import { join } from "node:path";
import type { Ctx } from "zz";
import { textOf, tryTo } from "zz/text";

const NAMES_FILE = "acp.json";
const MAX_NAMES = 1_000; // those used longest ago go

interface Named {
  id: string; // zz's own
  last?: string; // the key of the last prompt that had one
}
type Names = Record<string, Named>; // by the editor's name

const entriesIn = ({ about }: Ctx): Names => parseNames(textOf(join(about.home, NAMES_FILE)));

/** zz's names, by the editor's. */
export const namesIn = (ctx: Ctx): Record<string, string> =>
  Object.fromEntries(Object.entries(entriesIn(ctx)).map(([name, { id }]) => [name, id]));

export const lastKeyOf = (ctx: Ctx, editorName: string): string | undefined =>
  entriesIn(ctx)[editorName]?.last;

export function keepName(ctx: Ctx, editorName: string, id: string, promptKey?: string): void {
  ctx.keep(NAMES_FILE, (storedText) => {
    const { [editorName]: namedBefore, ...others } = parseNames(storedText);
    const last = promptKey ?? namedBefore?.last;
    const updatedNames: Names = { ...others, [editorName]: { id, last } };
    const keptEntries = Object.entries(updatedNames).slice(-MAX_NAMES);
    return `${JSON.stringify(Object.fromEntries(keptEntries.map(written)), null, 2)}\n`;
  });
}

const written = ([editorName, { id, last }]: [string, Named]): [string, string | Named] => [
  editorName,
  last === undefined ? id : { id, last },
];

const parseNames = (storedText: string): Names =>
  Object.fromEntries(
    Object.entries(Object(tryTo(() => JSON.parse(storedText)))).flatMap(
      ([editorName, storedValue]) => {
        const namedSession =
          typeof storedValue === "string" ? { id: storedValue } : (Object(storedValue) as Named);
        return typeof namedSession.id === "string" ? [[editorName, namedSession]] : [];
      },
    ),
  );
