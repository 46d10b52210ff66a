// Converts what other names do not cover: values with another meaning, and calls that become
// several of zz's.
import { existsSync, statSync } from "node:fs";
import type { ChatRequest, Ctx } from "zz";
import { isObject, plural, tryTo } from "zz/text";
import { editsOfBlocks } from "./blocks.ts";
import { commandCall } from "./command-calls.ts";
import { type Args, bareName, renameArgs } from "./rename-arguments.ts";
import { grepCall, oneGlob } from "./searches.ts";
import { EDIT } from "./table.ts";

/**
 * A call as the model made it (`name` without case and punctuation), and its arguments under zz's
 * names.
 */
export interface GivenCall {
  args: Args;
  original: Args;
  name: string;
  tool: ChatRequest["tools"][number];
  tools: ChatRequest["tools"];
  ctx: Ctx;
}
export type AskedCall = [tool: string, args: Args];
/**
 * zz's calls; a sentence that says why there is none; undefined if the arguments are right or were
 * fixed in place.
 */
type Converted = AskedCall[] | string | undefined;

export const VALUES: Record<string, (request: GivenCall) => Converted | Promise<Converted>> = {
  read_file: readCalls,
  write_file: writeCall,
  edit_file: async (request) =>
    request.name.includes("notebook")
      ? (await import("./notebook.ts")).notebookEdit(request.args, request.ctx)
      : editCalls(request),
  edit_lines: insertCall,
  list_dir: listCall,
  glob: globCall,
  grep: grepCall,
  run_command: commandCall,
  find_references({ args }) {
    if (Array.isArray(args.path) && args.path.length === 1) args.path = args.path[0];
  },
  repo_map({ args }) {
    if (!Array.isArray(args.target_directories)) return;
    args.focus ??= args.target_directories;
    delete args.target_directories;
  },
  check_types({ args }) {
    if (typeof args.paths === "string") args.paths = [args.paths];
  },
  todo: todoCall,
};

const MAX_FILES = 20; // files that one call may read
const MAX_RANGE_CHARS = 100;

async function readCalls({ args, original, name, tools, ctx }: GivenCall): Promise<Converted> {
  if (name.startsWith("readm") || name === "readfiles") return manyReads(args, tools, ctx);
  const listedFiles = [
    original.files,
    original.paths,
    isObject(original.args) ? original.args.file : undefined,
  ].find(Boolean);
  if (listedFiles !== undefined && args.path === undefined) return listedReads(listedFiles);
  const isEntire = String(args.should_read_entire_file);
  if (/^(true|false)$/.test(isEntire)) {
    if (isEntire === "true") for (const field of ["start", "end", "limit"]) delete args[field];
    delete args.should_read_entire_file;
  }
  for (const rangeKey of ["view_range", "read_range", "line_range", "lines", "range"]) {
    if (args[rangeKey] === undefined) continue;
    const [start, end] = rangeOf(args[rangeKey]) ?? [];
    if (start === undefined) return `${rangeKey} must be two line numbers, such as [1, 50].`;
    delete args[rangeKey];
    Object.assign(args, { start: Math.max(1, start), ...(end !== -1 && { end }) });
  }
  if ("absolute_path" in original && /^\d+$/.test(String(args.start)))
    args.start = Number(args.start) + 1; // was 0-based
  return isFolder(args.path, ctx) && (original.command === "view" || name === "view")
    ? [["list_dir", { path: args.path }]]
    : undefined;
}

/** Reads a range such as [1, 50], "1-50" or "1:50". */
function rangeOf(rangeValue: unknown): [number, number] | undefined {
  if (String(rangeValue).length > MAX_RANGE_CHARS) return undefined;
  const listedParts = Array.isArray(rangeValue) ? rangeValue : [];
  const rangeParts =
    typeof rangeValue === "string"
      ? rangeValue.replace(/^\s*\[|\]\s*$/g, "").split(/\s*[-:,]\s*(?=-?\d+\s*$)/)
      : listedParts;
  const [startLine, endLine] = rangeParts.map((rangePart) =>
    /^\s*-?\d+\s*$/.test(String(rangePart)) ? Number(rangePart) : Number.NaN,
  );
  return rangeParts.length === 2 && Number.isInteger(startLine) && Number.isInteger(endLine)
    ? [startLine!, endLine!]
    : undefined;
}

function isFolder(filePath: unknown, { files }: Ctx): boolean {
  return (
    typeof filePath === "string" &&
    tryTo(() => statSync(files.path(filePath)).isDirectory()) === true
  );
}

/** A list from a single value, a list, or a list as JSON. */
function parseList(value: unknown): unknown[] {
  const parsedList =
    typeof value === "string" && /^\s*\[/.test(value)
      ? (tryTo(() => JSON.parse(value)) ?? value)
      : value;
  if (Array.isArray(parsedList)) return parsedList;
  if (parsedList === undefined) return [];
  return [parsedList];
}

/** One read for each of [{ path, line_ranges: [[1, 50]] }] or { path }. */
function listedReads(listedFiles: unknown): Converted {
  const fileReads = parseList(listedFiles).flatMap((listedFile): AskedCall[] => {
    const { path, line_range, line_ranges, lineRanges, ...otherArgs }: Args = isObject(listedFile)
      ? listedFile
      : { path: listedFile };
    const manyRanges = line_ranges ?? lineRanges;
    const singleRange = line_range === undefined ? [] : [line_range];
    const allRanges = Array.isArray(manyRanges) ? manyRanges : singleRange;
    if (typeof path !== "string" || !allRanges.length)
      return [["read_file", { path, ...otherArgs }]];
    return allRanges.map((lineRange): AskedCall => {
      const [start, end] = rangeOf(lineRange) ?? [];
      return [
        "read_file",
        start === undefined
          ? { path, line_range: lineRange, ...otherArgs }
          : { path, start, end, ...otherArgs },
      ];
    });
  });
  return fileReads.length ? fileReads : "it names no file. Give a path.";
}

/**
 * Reads the files that glob finds for patterns and folders; if there are too many, it only lists
 * their names.
 */
async function manyReads(
  { paths, include, files, ...otherArgs }: Args,
  tools: GivenCall["tools"],
  ctx: Ctx,
): Promise<Converted> {
  const wantedFiles = [paths, include, files].flatMap((listValue) => parseList(listValue));
  if (wantedFiles.some(isObject)) return listedReads(wantedFiles);
  if (!wantedFiles.length) return "it names no file. Give paths.";
  const patternOf = (wantedPath: string) =>
    isFolder(wantedPath, ctx)
      ? `${wantedPath.replace(/\/+$/, "")}/**/*`.replace(/^\.\//, "")
      : /[*?{[]/.test(wantedPath) && wantedPath;
  const callsByName = new Map<string, AskedCall>();
  for (const path of wantedFiles) {
    const isThere =
      typeof path === "string" &&
      tryTo(() => existsSync(ctx.files.path(path))) &&
      !isFolder(path, ctx);
    const pattern =
      typeof path === "string" &&
      !isThere &&
      tools.some(({ name }) => name === "glob") &&
      patternOf(path);
    if (!pattern) callsByName.set(JSON.stringify(path), ["read_file", { path, ...otherArgs }]);
    else {
      const { data, failed } = await ctx.call("glob", { pattern });
      const fileNames = !failed && Array.isArray(data) ? data : [];
      if (!fileNames.length || fileNames.length + callsByName.size > MAX_FILES)
        callsByName.set(pattern, ["glob", { pattern, ...otherArgs }]);
      else
        for (const fileName of fileNames)
          callsByName.set(JSON.stringify(fileName), [
            "read_file",
            { path: fileName, ...otherArgs },
          ]);
    }
  }
  return [...callsByName.values()];
}

function writeCall({ args }: GivenCall): Converted {
  if (args.append === true || /^(a|append)$/.test(String(args.mode)))
    return (
      "it writes whole files and cannot append. " +
      "Use edit_lines after the last line, or send all of the content."
    );
  if (args.append === false) delete args.append;
}

const LIMITATIONS: [parameter: RegExp, limitation: string][] = [
  [/^(dryrun|preview|previewonly)$/, "it always makes the edit"],
  [/^(useregex|isregex|regex)$/, "it takes plain text, no patterns"],
];

async function editCalls({ args, original, name, ctx }: GivenCall): Promise<Converted> {
  for (const [argumentName, value] of Object.entries(args)) {
    const [, limitation] =
      LIMITATIONS.find(([parameter]) => parameter.test(bareName(argumentName))) ?? [];
    if (limitation && String(value) === "true")
      return (
        `${limitation}, so ${argumentName} cannot be true. ` +
        "Nothing was changed. Send the call without it."
      );
  }
  if (args.code_edit !== undefined || args.code !== undefined) return sketchCall(args, ctx);
  if (args.diff !== undefined && args.old_string === undefined) return diffCall(args);
  if (name === "searchandreplace") {
    if (args.start_line !== undefined || args.end_line !== undefined)
      return (
        "it cannot be limited to lines. Nothing was changed. " +
        "Use edit_lines, or name more of the text."
      );
    args.replace_all ??= true;
  }
  const isReplace = name.startsWith("strreplace") || original.command === "str_replace";
  if (isReplace && typeof args.old_string === "string") args.new_string ??= "";
  const countProblem = await unexpectedCount(args, ctx);
  if (countProblem) return countProblem;
  const parsedEdits =
    typeof args.edits === "string" ? tryTo(() => JSON.parse(args.edits as string)) : args.edits;
  if (typeof parsedEdits === "object" && parsedEdits)
    return listedEdits(args, [parsedEdits].flat());
  return makesNewFile(args)
    ? [["create_file", { path: args.path, content: args.new_string }]]
    : undefined;
}

/**
 * Checks a given number of occurrences, which means that all of them are replaced, and that there
 * are no others.
 */
async function unexpectedCount(args: Args, { files }: Ctx): Promise<string | undefined> {
  const { path, old_string: oldText, expected_replacements } = args;
  const expected = Number(expected_replacements);
  if (!(expected > 1)) return undefined;
  args.replace_all ??= true;
  // the tool reports why it cannot
  const targetFile = await files.read(String(path)).catch(() => undefined);
  const foundCount =
    targetFile && typeof oldText === "string" && oldText
      ? targetFile.text.split(oldText).length - 1
      : 0;
  if (!foundCount) return undefined;
  if (foundCount !== expected)
    return (
      `old_string stands in ${plural(foundCount, "place")} of '${path}', not in ${expected}. ` +
      "Nothing was changed. Read the file again."
    );
  delete args.expected_replacements;
  return undefined;
}

/** Whether an edit replaces an empty text, which makes a new file in other programs. */
const makesNewFile = ({
  path,
  old_string,
  new_string,
  replace_all,
  edits,
  ...otherArgs
}: Args): boolean =>
  old_string === "" &&
  typeof new_string === "string" &&
  new_string !== "" &&
  edits === undefined &&
  !Object.keys(otherArgs).length;

/** A list of edits, each of which may name its own file. */
function listedEdits({ edits: _, ...args }: Args, edits: unknown[]): Converted {
  const editsByPath = new Map<unknown, unknown[]>();
  const unknownFields: Args = {};
  for (const edit of edits) {
    const { path = args.path, ...fields } = isObject(edit)
      ? renameArgs(edit, {
          params: { ...EDIT, path: "file_path file" },
          idle: "expected_replacements=1",
        })
      : { edit };
    const plainEdit = "edit" in fields ? fields.edit : { ...fields };
    if (isObject(plainEdit))
      for (const fieldName of Object.keys(plainEdit))
        if (!Object.hasOwn(EDIT, fieldName)) {
          // unknown, and reported
          if (!/^(startline|endline)$/.test(bareName(fieldName)))
            unknownFields[`edits.${fieldName}`] = plainEdit[fieldName];
          delete plainEdit[fieldName];
        }
    editsByPath.set(path, [...(editsByPath.get(path) ?? []), plainEdit]);
  }
  if (!edits.length) editsByPath.set(args.path, []);
  return [...editsByPath].map(
    ([path, edits]): AskedCall => ["edit_file", { ...args, path, edits, ...unknownFields }],
  );
}

/**
 * A sketch of a file makes a new file. "existing code" for left-out parts would need a model that
 * fills them in.
 */
function sketchCall({ path, code_edit, code, ...otherArgs }: Args, { files }: Ctx): Converted {
  const content = code_edit ?? code;
  const isThere = typeof path === "string" && tryTo(() => existsSync(files.path(path))) !== false;
  if (isThere || typeof path !== "string" || /\.\.\.\s*existing code/i.test(String(content)))
    return (
      "it takes old_string and new_string, " +
      `no ${code_edit === undefined ? "code" : "code_edit"}. ` +
      "Nothing was changed. Copy the text to replace exactly."
    );
  return [["create_file", { path, content, ...otherArgs }]];
}

/** Edits from SEARCH/REPLACE blocks or a diff. */
function diffCall({ diff, ...args }: Args): Converted {
  if (typeof diff !== "string") return "diff must be a text of SEARCH/REPLACE blocks.";
  const { path, ...otherArgs } = args;
  if (/^\s*(\*\*\* Begin Patch|diff --git |--- .*\n\+\+\+ )/.test(diff))
    return [["apply_patch", { patch: diff, ...otherArgs }]];
  if (/^@@ .*@@/.test(diff))
    return [["apply_patch", { patch: `--- a/${path}\n+++ b/${path}\n${diff}`, ...otherArgs }]];
  const edits = editsOfBlocks(diff);
  if (typeof edits === "string") return `${edits} Nothing was changed.`;
  const [firstEdit] = edits;
  if (edits.length === 1 && !firstEdit!.old_string)
    return [["write_file", { path, content: firstEdit!.new_string, ...otherArgs }]];
  return [["edit_file", { ...args, edits }]];
}

async function insertCall({ args, original, name, ctx }: GivenCall): Promise<Converted> {
  const { insert_line, line, line_number } = args;
  const namedLine = insert_line ?? line ?? line_number;
  if (name !== "replacelines")
    for (const field of ["insert_line", "line", "line_number"]) delete args[field];
  if (namedLine === undefined) return undefined;
  const lineNumber =
    typeof namedLine === "string" && /^\d+$/.test(namedLine) ? Number(namedLine) : namedLine;
  if (!Number.isInteger(lineNumber)) return "start must be the number of a line.";
  const isAfter = original.command === "insert"; // whether `at` is the line before it
  const lastLine =
    Number(lineNumber) === 0 && !isAfter ? await lineCount(args.path, ctx) : undefined;
  const namedStart = isAfter ? Number(lineNumber) + 1 : Number(lineNumber);
  const start = lastLine === undefined ? namedStart : lastLine + 1;
  Object.assign(args, { start, end: start - 1 });
}

/** The number of lines of a file, for appending. */
async function lineCount(filePath: unknown, { files }: Ctx): Promise<number | undefined> {
  if (typeof filePath !== "string") return undefined;
  const file = await files.read(filePath).catch(() => undefined);
  return file?.text.replace(/\n$/, "").split("\n").length;
}

function listCall({ args, tools }: GivenCall): Converted {
  if (args.path === "") delete args.path;
  const { path, recursive, ...otherArgs } = args;
  if (String(recursive) !== "true" || !tools.some(({ name }) => name === "glob")) return undefined;
  return [["glob", { pattern: "**/*", ...(path !== undefined && { path }), ...otherArgs }]];
}

function globCall({ args, name }: GivenCall): Converted {
  if (args.path === "") delete args.path;
  const patterns = parseList(args.pattern);
  if (patterns.length && patterns.every((patternPart) => typeof patternPart === "string"))
    args.pattern = oneGlob(patterns);
  const { pattern } = args;
  if (typeof pattern !== "string") return undefined;
  const isFuzzy = name === "filesearch" && !/[*?{[]/.test(pattern);
  const isAnywhere = /^(find|findfile|filesearch|findbyname)$/.test(name) && !pattern.includes("/");
  if (isFuzzy) args.pattern = `**/*${pattern}*`;
  else if (isAnywhere) args.pattern = `**/${pattern}`;
}

/** A list of steps in any form, as zz's steps and the numbers of those that are done. */
function todoCall({ args }: GivenCall): Converted {
  const { set } = args;
  const stepRows =
    typeof set === "string" ? set.split("\n").filter((stepRow) => stepRow.trim()) : set;
  if (!Array.isArray(stepRows)) return undefined;
  const parsedSteps = stepRows.map((stepRow) => {
    if (typeof stepRow !== "string") {
      const { content, step, title, text, description, task, status, done, completed } = Object(
        stepRow,
      ) as Args;
      const isDone =
        /^(completed|done|complete)$/i.test(String(status)) || done === true || completed === true;
      return { text: content ?? step ?? title ?? text ?? description ?? task, isDone };
    }
    const [, doneMark, stepText] = /^(?:[-*]|\d+\.)?\s*\[(.)\]\s*(.*)$/.exec(stepRow.trim()) ?? [];
    return { text: stepText ?? stepRow, isDone: /x/i.test(doneMark ?? "") };
  });
  const done = parsedSteps.flatMap(({ isDone }, i) => (isDone ? i + 1 : []));
  Object.assign(args, { set: parsedSteps.map(({ text }) => text), ...(done.length && { done }) });
}
