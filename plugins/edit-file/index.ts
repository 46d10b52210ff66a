// edit_file: replaces old text with new text in one or several places of a file; makes all of the
// edits or none.
import { isUtf8 } from "node:buffer";
import { normalize } from "node:path";
import type { StandardSchema, Zz } from "zz";
import { plural, tryTo, visible } from "zz/text";
import type { Edit, How, Place } from "./cascade.ts";

const MAX_LINES_SHOWN = 20; // of an inexact match
const MAX_PLACES_LISTED = 8;

type Args = { path: string; edits: Edit[] };
/** Validates by hand, since models give one edit or many: all of them become one list of edits. */
const TOOL_PARAMS = {
  "~standard": {
    validate: (toolInput: unknown) => argumentsOf(toolInput as Record<string, unknown>),
    jsonSchema: { input: () => TOOL_SCHEMA },
  } as StandardSchema["~standard"] & { types?: { input: unknown; output: Args } },
};
const EDIT_PROPERTIES = {
  old_string: { type: "string", description: "the text as it is in the file" },
  new_string: { type: "string", description: "what it becomes; empty: it goes" },
  replace_all: { type: "boolean", description: "every place, not one" },
};
/** Each parameter is described once, since every word of a description costs tokens. */
const TERSE_PROPERTIES = Object.fromEntries(
  Object.entries(EDIT_PROPERTIES).map(([propertyName, { type }]) => [
    propertyName,
    { type, description: "as above" },
  ]),
);
const TOOL_SCHEMA = {
  type: "object",
  properties: {
    path: { type: "string", description: "relative to the project" },
    ...EDIT_PROPERTIES,
    edits: {
      type: "array",
      description: "several replacements, instead of the three above",
      items: {
        type: "object",
        properties: TERSE_PROPERTIES,
        required: ["old_string", "new_string"],
      },
    },
  },
  required: ["path"],
};

export default (zz: Zz) =>
  zz.tool({
    name: "edit_file",
    description:
      "Replace text in a file that was read: old_string, copied exactly and with enough lines " +
      "to stand in one place alone, becomes new_string. Or several edits: all are made or none.",
    params: TOOL_PARAMS,
    changes: true,
    needs: ({ path }) => ({ read: [path] }),
    join: ({ path, edits }, nextArguments) =>
      normalize(path) === normalize(nextArguments.path)
        ? { path, edits: [...edits, ...nextArguments.edits] }
        : undefined,
    async run({ path, edits }, { files, chat }) {
      const { text, bytes, seen } = await files.read(path);
      const editRefusal = (reason: string) => new Error(`Cannot edit '${path}': ${reason}`);
      if (!isUtf8(bytes) || bytes.subarray(0, 8_192).includes(0))
        throw editRefusal("it is not UTF-8 text. Leave it, or convert it first.");
      if (seen === undefined && chat.messages.length)
        throw editRefusal("it was not read in this conversation. Read it first.");
      const { applyEdits, HOW } = await import("./cascade.ts");
      let editedFile: ReturnType<typeof applyEdits>;
      try {
        editedFile = applyEdits(text, edits);
      } catch (error) {
        throw editRefusal((error as Error).message);
      }
      if (editedFile.text !== text) await files.write(path, Buffer.from(editedFile.text));
      return { text: resultText(path, editedFile, HOW), data: { path, places: editedFile.places } };
    },
  });

type Issue = { message: string; path: (string | number)[] };

function argumentsOf(toolInput: Record<string, unknown>): { value: Args } | { issues: Issue[] } {
  const issues: Issue[] = [];
  const addIssue = (path: Issue["path"], message: string) => void issues.push({ path, message });
  const inputFields = toolInput ?? {};
  const { path, old_string, new_string } = inputFields;
  if (typeof path !== "string") addIssue(["path"], "must be a string");
  const listedEdits = listFrom(inputFields.edits);
  if (!listedEdits) addIssue(["edits"], "must be a list of { old_string, new_string }");
  const edits = (listedEdits ?? []).flatMap((listedEdit, i) =>
    editFrom(listedEdit, ["edits", i], addIssue),
  );
  // some models fill in every parameter there is
  const isFiller = edits.length > 0 && !old_string;
  if (!isFiller && (old_string !== undefined || new_string !== undefined || !listedEdits?.length))
    edits.unshift(...editFrom(inputFields, [], addIssue));
  return issues.length ? { issues } : { value: { path: path as string, edits } };
}

function editFrom(
  editInput: unknown,
  location: Issue["path"],
  addIssue: (issuePath: Issue["path"], message: string) => void,
): Edit[] {
  if (typeof editInput !== "object" || editInput === null)
    return addIssue(location, "must be { old_string, new_string }") ?? [];
  const { old_string, new_string, replace_all } = editInput as Record<string, unknown>;
  if (typeof old_string !== "string") addIssue([...location, "old_string"], "must be a string");
  if (typeof new_string !== "string")
    addIssue([...location, "new_string"], "must be a string, empty to delete");
  if (typeof old_string !== "string" || typeof new_string !== "string") return [];
  return [{ old_string, new_string, replace_all: replace_all === true || replace_all === "true" }];
}

/**
 * The edits of a list, of a single edit, or of either as JSON text; undefined if it is none of
 * these.
 */
function listFrom(listInput: unknown): unknown[] | undefined {
  if (listInput === undefined || listInput === null || listInput === "") return [];
  if (Array.isArray(listInput)) return listInput;
  if (typeof listInput === "object") return [listInput];
  const parsedInput: unknown = tryTo(() => JSON.parse(String(listInput)));
  return typeof parsedInput === "object" && parsedInput ? listFrom(parsedInput) : undefined;
}

function resultText(
  filePath: string,
  { text, places }: { text: string; places: Place[] },
  methodWords: Record<How, string>,
): string {
  const applied = places.filter((editPlace) => editPlace.how !== "already");
  if (!applied.length)
    return `Nothing to change: '${filePath}' has the new text already, at ${listPlaces(places)}.`;
  const editCount = new Set(places.map(({ edit }) => edit)).size;
  const fileLines = text.split(/\r?\n/);
  const loosePlaces = applied.filter(
    ({ how, end, start }) => how !== "exact" && how !== "line ends" && end >= start,
  );
  return [
    `Edited ${visible(filePath)}${editCount > 1 ? `, ${editCount} edits` : ""}: ` +
      `${listPlaces(places, true)}.`,
    ...loosePlaces.flatMap(({ edit, start, end, how }) => [
      `old_string${editCount > 1 ? ` of edit ${edit}` : ""} was matched ${methodWords[how]}; ` +
        `${lineRange(start, end)} now read${start === end ? "s" : ""}:`,
      ...fileLines
        .slice(start - 1, Math.min(end, start - 1 + MAX_LINES_SHOWN))
        .map((shownLine, i) => `${start + i}\t${shownLine}`),
      ...(end - start >= MAX_LINES_SHOWN
        ? [`[${plural(end - start + 1 - MAX_LINES_SHOWN, "more line")}]`]
        : []),
    ]),
  ].join("\n");
}

function listPlaces(editPlaces: Place[], withHow = false): string {
  const shownPlaces = editPlaces
    .slice(0, MAX_PLACES_LISTED)
    .map(
      ({ start, end, how }) =>
        lineRange(start, end) + (withHow ? ` (${how === "already" ? "already so" : how})` : ""),
    );
  if (editPlaces.length > MAX_PLACES_LISTED)
    shownPlaces.push(plural(editPlaces.length - MAX_PLACES_LISTED, "more place"));
  return shownPlaces.join(", ");
}

function lineRange(firstLine: number, lastLine: number): string {
  if (lastLine < firstLine) return `lines taken out before line ${firstLine}`;
  return firstLine === lastLine ? `line ${firstLine}` : `lines ${firstLine}–${lastLine}`;
}
