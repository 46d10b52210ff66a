// edit_file: replaces old text with new text in one or several places of a file; makes all of the
// edits or none.
import { isUtf8 } from "node:buffer";
import { normalize } from "node:path";
import type { StandardSchema, Zz } from "zz";
import { plural, visible } from "zz/text";
import type { Edit, How, Place } from "./cascade.ts";

const MAX_LINES_SHOWN = 20; // of an inexact match
const MAX_PLACES_LISTED = 8;

type Args = { path: string; edits: Edit[] };
/** Validates by hand, since models give one edit or many: all of them become one list of edits. */
const PARAMS = {
  "~standard": {
    validate: (input: unknown) => argumentsOf(input as Record<string, unknown>),
    jsonSchema: { input: () => SCHEMA },
  } as StandardSchema["~standard"] & { types?: { input: unknown; output: Args } },
};
const EDIT = {
  old_string: { type: "string", description: "the text as it is in the file" },
  new_string: { type: "string", description: "what it becomes; empty: it goes" },
  replace_all: { type: "boolean", description: "every place, not one" },
};
/** Each parameter is described once, since every word of a description costs tokens. */
const TERSE = Object.fromEntries(
  Object.entries(EDIT).map(([name, { type }]) => [name, { type, description: "as above" }]),
);
const SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string", description: "relative to the project" },
    ...EDIT,
    edits: {
      type: "array",
      description: "several replacements, instead of the three above",
      items: { type: "object", properties: TERSE, required: ["old_string", "new_string"] },
    },
  },
  required: ["path"],
};

export default (zz: Zz) =>
  zz.tool({
    name: "edit_file",
    description:
      "Replace text in a file that was read: old_string, copied exactly and with enough lines to stand in one place alone, becomes new_string. Or several edits: all are made or none.",
    params: PARAMS,
    changes: true,
    needs: ({ path }) => ({ read: [path] }),
    join: ({ path, edits }, next) =>
      normalize(path) === normalize(next.path)
        ? { path, edits: [...edits, ...next.edits] }
        : undefined,
    async run({ path, edits }, { files, chat }) {
      const { text, bytes, seen } = await files.read(path);
      const cannot = (reason: string) => new Error(`Cannot edit '${path}': ${reason}`);
      if (!isUtf8(bytes) || bytes.subarray(0, 8_192).includes(0))
        throw cannot("it is not UTF-8 text. Leave it, or convert it first.");
      if (seen === undefined && chat.messages.length)
        throw cannot("it was not read in this conversation. Read it first.");
      const { applyEdits, HOW } = await import("./cascade.ts");
      let done: ReturnType<typeof applyEdits>;
      try {
        done = applyEdits(text, edits);
      } catch (error) {
        throw cannot((error as Error).message);
      }
      if (done.text !== text) await files.write(path, Buffer.from(done.text));
      return { text: resultText(path, done, HOW), data: { path, places: done.places } };
    },
  });

type Issue = { message: string; path: (string | number)[] };

function argumentsOf(input: Record<string, unknown>): { value: Args } | { issues: Issue[] } {
  const issues: Issue[] = [];
  const wrong = (path: Issue["path"], message: string) => void issues.push({ path, message });
  const { path } = input ?? {};
  if (typeof path !== "string") wrong(["path"], "must be a string");
  const listed = listOf(input?.edits);
  if (!listed) wrong(["edits"], "must be a list of { old_string, new_string }");
  const edits = (listed ?? []).flatMap((edit, i) => editOf(edit, ["edits", i], wrong));
  const fields = input ?? {};
  // some models fill in every parameter there is
  const isFiller = edits.length > 0 && !fields.old_string;
  if (
    !isFiller &&
    (fields.old_string !== undefined || fields.new_string !== undefined || !listed?.length)
  )
    edits.unshift(...editOf(fields, [], wrong));
  return issues.length ? { issues } : { value: { path: path as string, edits } };
}

function editOf(
  input: unknown,
  location: Issue["path"],
  wrong: (path: Issue["path"], message: string) => void,
): Edit[] {
  if (typeof input !== "object" || input === null)
    return wrong(location, "must be { old_string, new_string }") ?? [];
  const { old_string, new_string, replace_all } = input as Record<string, unknown>;
  if (typeof old_string !== "string") wrong([...location, "old_string"], "must be a string");
  if (typeof new_string !== "string")
    wrong([...location, "new_string"], "must be a string, empty to delete");
  if (typeof old_string !== "string" || typeof new_string !== "string") return [];
  return [{ old_string, new_string, replace_all: replace_all === true || replace_all === "true" }];
}

/**
 * The edits of a list, of a single edit, or of either as JSON text; undefined if it is none of
 * these.
 */
function listOf(input: unknown): unknown[] | undefined {
  if (input === undefined || input === null || input === "") return [];
  if (Array.isArray(input)) return input;
  if (typeof input === "object") return [input];
  try {
    const parsed = JSON.parse(String(input));
    return typeof parsed === "object" && parsed !== null ? listOf(parsed) : undefined;
  } catch {
    return undefined;
  }
}

function resultText(
  path: string,
  { text, places }: { text: string; places: Place[] },
  words: Record<How, string>,
): string {
  const applied = places.filter((place) => place.how !== "already");
  if (!applied.length)
    return `Nothing to change: '${path}' has the new text already, at ${listPlaces(places)}.`;
  const editCount = new Set(places.map(({ edit }) => edit)).size;
  const lines = text.split(/\r?\n/);
  const loose = applied.filter(
    ({ how, end, start }) => how !== "exact" && how !== "line ends" && end >= start,
  );
  return [
    `Edited ${visible(path)}${editCount > 1 ? `, ${editCount} edits` : ""}: ${listPlaces(places, true)}.`,
    ...loose.flatMap(({ edit, start, end, how }) => [
      `old_string${editCount > 1 ? ` of edit ${edit}` : ""} was matched ${words[how]}; ${span(start, end)} now read${start === end ? "s" : ""}:`,
      ...lines
        .slice(start - 1, Math.min(end, start - 1 + MAX_LINES_SHOWN))
        .map((line, i) => `${start + i}\t${line}`),
      ...(end - start >= MAX_LINES_SHOWN
        ? [`[${plural(end - start + 1 - MAX_LINES_SHOWN, "more line")}]`]
        : []),
    ]),
  ].join("\n");
}

function listPlaces(places: Place[], withHow = false): string {
  const shown = places
    .slice(0, MAX_PLACES_LISTED)
    .map(
      ({ start, end, how }) =>
        span(start, end) + (withHow ? ` (${how === "already" ? "already so" : how})` : ""),
    );
  if (places.length > MAX_PLACES_LISTED)
    shown.push(plural(places.length - MAX_PLACES_LISTED, "more place"));
  return shown.join(", ");
}

function span(start: number, end: number): string {
  if (end < start) return `lines taken out before line ${start}`;
  return start === end ? `line ${start}` : `lines ${start}–${end}`;
}
