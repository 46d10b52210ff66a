// Converts what other names do not cover: values with another meaning, and calls that become
// several of zz's.
import { existsSync, statSync } from "node:fs";
import type { ChatRequest, Ctx } from "zz";
import { plural, tryTo } from "zz/text";
import { editsOfBlocks } from "./blocks.ts";
import { commandCall } from "./command-calls.ts";
import { type Args, bareName, isArgs, renameArgs } from "./rename-arguments.ts";
import { grepCall } from "./searches.ts";
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
  write_file: ({ args }) => writeCall(args),
  edit_file: (request) =>
    request.name.includes("notebook") ? notebookCall(request) : editCalls(request),
  edit_lines: insertCall,
  list_dir: listCall,
  glob: globCall,
  grep: grepCall,
  run_command: commandCall,
  find_references: ({ args }) => void onlyOne(args, "path"),
  repo_map: ({ args }) =>
    void (Array.isArray(args.target_directories) && rename(args, "target_directories", "focus")),
  check_types: ({ args }) =>
    void (typeof args.paths === "string" && Object.assign(args, { paths: [args.paths] })),
  todo: ({ args }) => todoCall(args),
};

const MAX_FILES = 20; // files that one call may read
const MAX_RANGE_CHARS = 100;

async function readCalls({ args, original, name, tools, ctx }: GivenCall): Promise<Converted> {
  if (name.startsWith("readm") || name === "readfiles") return manyReads(args, tools, ctx);
  const listed = [
    original.files,
    original.paths,
    isArgs(original.args) ? original.args.file : undefined,
  ].find(Boolean);
  if (listed !== undefined && args.path === undefined) return listedReads(listed);
  if (
    typeof args.should_read_entire_file === "boolean" ||
    /^(true|false)$/.test(String(args.should_read_entire_file))
  ) {
    if (String(args.should_read_entire_file) === "true")
      for (const field of ["start", "end", "limit"]) delete args[field];
    delete args.should_read_entire_file;
  }
  for (const range of ["view_range", "read_range", "line_range", "lines", "range"]) {
    if (args[range] === undefined) continue;
    const [start, end] = rangeOf(args[range]) ?? [];
    if (start === undefined) return `${range} must be two line numbers, such as [1, 50].`;
    delete args[range];
    Object.assign(args, { start: Math.max(1, start), ...(end !== -1 && { end }) });
  }
  if ("absolute_path" in original && /^\d+$/.test(String(args.start)))
    args.start = Number(args.start) + 1; // was 0-based
  return isFolder(args.path, ctx) && (original.command === "view" || name === "view")
    ? [["list_dir", { path: args.path }]]
    : undefined;
}

/** Reads a range such as [1, 50], "1-50" or "1:50". */
function rangeOf(range: unknown): [number, number] | undefined {
  if (String(range).length > MAX_RANGE_CHARS) return undefined;
  const listed = Array.isArray(range) ? range : [];
  const parts =
    typeof range === "string"
      ? range.replace(/^\s*\[|\]\s*$/g, "").split(/\s*[-:,]\s*(?=-?\d+\s*$)/)
      : listed;
  const [start, end] = parts.map((part) =>
    typeof part === "number" || /^-?\d+$/.test(String(part).trim()) ? Number(part) : Number.NaN,
  );
  return parts.length === 2 && Number.isInteger(start) && Number.isInteger(end)
    ? [start!, end!]
    : undefined;
}

function isFolder(path: unknown, { files }: Ctx): boolean {
  return typeof path === "string" && tryTo(() => statSync(files.path(path)).isDirectory()) === true;
}

/** A list from a single value, a list, or a list as JSON. */
function listOf(value: unknown): unknown[] {
  const list =
    typeof value === "string" && /^\s*\[/.test(value)
      ? (tryTo(() => JSON.parse(value)) ?? value)
      : value;
  if (Array.isArray(list)) return list;
  if (list === undefined) return [];
  return [list];
}

/** One read for each of [{ path, line_ranges: [[1, 50]] }] or { path }. */
function listedReads(listed: unknown): Converted {
  const files = listOf(listed);
  const reads = files.flatMap((file): AskedCall[] | undefined => {
    const { path, line_range, line_ranges, lineRanges, ...otherArgs }: Args = isArgs(file)
      ? file
      : { path: file };
    if (typeof path !== "string") return [["read_file", { path, ...otherArgs }]];
    const manyRanges = line_ranges ?? lineRanges;
    const single = line_range === undefined ? [] : [line_range].flat(0);
    const ranges = Array.isArray(manyRanges) ? manyRanges : single;
    if (!ranges.length) return [["read_file", { path, ...otherArgs }]];
    return ranges.map((range): AskedCall => {
      const [start, end] = rangeOf(range) ?? [];
      return [
        "read_file",
        start === undefined
          ? { path, line_range: range, ...otherArgs }
          : { path, start, end, ...otherArgs },
      ];
    });
  }) as AskedCall[];
  return reads.length ? reads : "it names no file. Give a path.";
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
  const wanted = [paths, include, files].flatMap((source) => listOf(source));
  if (wanted.some(isArgs)) return listedReads(wanted);
  if (!wanted.length) return "it names no file. Give paths.";
  const patternOf = (path: unknown) =>
    isFolder(path, ctx)
      ? `${String(path).replace(/\/+$/, "")}/**/*`.replace(/^\.\//, "")
      : /[*?{[]/.test(String(path)) && String(path);
  const reads = new Map<string, AskedCall>();
  for (const path of wanted) {
    const isThere =
      typeof path === "string" &&
      tryTo(() => existsSync(ctx.files.path(path))) &&
      !isFolder(path, ctx);
    const pattern =
      typeof path === "string" &&
      !isThere &&
      tools.some(({ name }) => name === "glob") &&
      patternOf(path);
    if (!pattern) reads.set(JSON.stringify(path), ["read_file", { path, ...otherArgs }]);
    else {
      const { data, failed } = await ctx.call("glob", { pattern });
      const fileNames = !failed && Array.isArray(data) ? data : [];
      if (!fileNames.length || fileNames.length + reads.size > MAX_FILES)
        reads.set(pattern, ["glob", { pattern, ...otherArgs }]);
      else
        for (const name of fileNames)
          reads.set(JSON.stringify(name), ["read_file", { path: name, ...otherArgs }]);
    }
  }
  return [...reads.values()];
}

function writeCall(args: Args): Converted {
  if (args.append === true || /^(a|append)$/.test(String(args.mode)))
    return "it writes whole files and cannot append. Use edit_lines after the last line, or send all of the content.";
  if (args.append === false) delete args.append;
}

async function notebookCall({ args, ctx }: GivenCall): Promise<Converted> {
  const { notebookEdit } = await import("./notebook.ts");
  return notebookEdit(args, ctx);
}

const DRY = /^(dryrun|preview|previewonly)$/;
const PATTERN = /^(useregex|isregex|regex)$/;

async function editCalls({ args, original, name, ctx }: GivenCall): Promise<Converted> {
  for (const [key, value] of Object.entries(args)) {
    if (String(value) !== "true" || !(DRY.test(bareName(key)) || PATTERN.test(bareName(key))))
      continue;
    const limitation = DRY.test(bareName(key))
      ? "it always makes the edit"
      : "it takes plain text, no patterns";
    return `${limitation}, so ${key} cannot be true. Nothing was changed. Send the call without it.`;
  }
  if (args.code_edit !== undefined || args.code !== undefined) return sketchCall(args, ctx);
  if (args.diff !== undefined && args.old_string === undefined) return diffCall(args);
  if (name === "searchandreplace") {
    if (args.start_line !== undefined || args.end_line !== undefined)
      return "it cannot be limited to lines. Nothing was changed. Use edit_lines, or name more of the text.";
    args.replace_all ??= true;
  }
  if (name.startsWith("strreplace") || original.command === "str_replace")
    if (typeof args.old_string === "string") args.new_string ??= "";
  const wrong = await unexpectedCount(args, ctx);
  if (wrong) return wrong;
  const parsed =
    typeof args.edits === "string" ? tryTo(() => JSON.parse(args.edits as string)) : args.edits;
  const listed = Array.isArray(parsed) ? parsed : undefined;
  const edits = isArgs(parsed) ? [parsed] : listed;
  if (edits) return listedEdits(args, edits);
  return makesNewFile(args)
    ? [["create_file", { path: args.path, content: args.new_string }]]
    : undefined;
}

/**
 * Checks a given number of occurrences, which means that all of them are replaced, and that there
 * are no others.
 */
async function unexpectedCount(args: Args, { files }: Ctx): Promise<string | undefined> {
  const { path, old_string: old, expected_replacements } = args;
  const expected = Number(expected_replacements);
  if (!(expected > 1)) return undefined;
  args.replace_all ??= true;
  // the tool reports why it cannot
  const file = await files.read(String(path)).catch(() => undefined);
  const count = file && typeof old === "string" && old ? file.text.split(old).length - 1 : 0;
  if (!count) return undefined;
  if (count !== expected)
    return `old_string stands in ${plural(count, "place")} of '${path}', not in ${expected}. Nothing was changed. Read the file again.`;
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
  const byPath = new Map<unknown, unknown[]>();
  const unknownFields: Args = {};
  for (const edit of edits) {
    const { path = args.path, ...fields } = isArgs(edit)
      ? renameArgs(edit, {
          params: { ...EDIT, path: "file_path file" },
          idle: "expected_replacements=1",
        })
      : { edit };
    const plain = "edit" in fields ? fields.edit : { ...fields };
    if (isArgs(plain))
      for (const key of Object.keys(plain))
        if (!Object.hasOwn(EDIT, key)) {
          // unknown, and reported
          if (!/^(startline|endline)$/.test(bareName(key)))
            unknownFields[`edits.${key}`] = plain[key];
          delete plain[key];
        }
    byPath.set(path, [...(byPath.get(path) ?? []), plain]);
  }
  if (byPath.size < 2)
    return [
      [
        "edit_file",
        {
          ...args,
          path: [...byPath.keys()][0] ?? args.path,
          edits,
          ...unknownFields,
          ...onlyEdits(byPath),
        },
      ],
    ];
  return [...byPath].map(
    ([path, edits]): AskedCall => ["edit_file", { ...args, path, edits, ...unknownFields }],
  );
}
const onlyEdits = (byPath: Map<unknown, unknown[]>): Args =>
  byPath.size ? { edits: [...byPath.values()][0] } : {};

/**
 * A sketch of a file makes a new file. "existing code" for left-out parts would need a model that
 * fills them in.
 */
function sketchCall({ path, code_edit, code, ...otherArgs }: Args, { files }: Ctx): Converted {
  const content = code_edit ?? code;
  const isThere = typeof path === "string" && tryTo(() => existsSync(files.path(path))) !== false;
  if (isThere || typeof path !== "string" || /\.\.\.\s*existing code/i.test(String(content)))
    return `it takes old_string and new_string, no ${code_edit === undefined ? "code" : "code_edit"}. Nothing was changed. Copy the text to replace exactly.`;
  return [["create_file", { path, content, ...otherArgs }]];
}

/** Edits from SEARCH/REPLACE blocks or a diff. */
function diffCall({ diff, ...args }: Args): Converted {
  if (typeof diff !== "string") return "diff must be a text of SEARCH/REPLACE blocks.";
  if (/^\s*(\*\*\* Begin Patch|diff --git |--- .*\n\+\+\+ )/.test(diff))
    return [["apply_patch", { patch: diff, ...argsWithoutPath(args) }]];
  if (/^@@ .*@@/.test(diff))
    return [
      [
        "apply_patch",
        { patch: `--- a/${args.path}\n+++ b/${args.path}\n${diff}`, ...argsWithoutPath(args) },
      ],
    ];
  const edits = editsOfBlocks(diff);
  if (typeof edits === "string") return `${edits} Nothing was changed.`;
  const [first] = edits;
  if (edits.length === 1 && !first!.old_string)
    return [
      ["write_file", { path: args.path, content: first!.new_string, ...argsWithoutPath(args) }],
    ];
  return [["edit_file", { ...args, edits }]];
}
const argsWithoutPath = ({ path: _, ...otherArgs }: Args): Args => otherArgs;

async function insertCall({ args, original, name, ctx }: GivenCall): Promise<Converted> {
  const line = ["insert_line", "line", "line_number"]
    .map((field) => args[field])
    .find((number) => number !== undefined);
  for (const field of ["insert_line", "line", "line_number"])
    if (name !== "replacelines") delete args[field];
  if (line === undefined) return undefined;
  const lineNumber = typeof line === "string" && /^\d+$/.test(line) ? Number(line) : line;
  if (!Number.isInteger(lineNumber)) return "start must be the number of a line.";
  const isAfter = original.command === "insert"; // whether `at` is the line before it
  const last = Number(lineNumber) === 0 && !isAfter ? await lineCount(args.path, ctx) : undefined;
  const namedStart = isAfter ? Number(lineNumber) + 1 : Number(lineNumber);
  const start = last === undefined ? namedStart : last + 1;
  Object.assign(args, { start, end: start - 1 });
}

/** The number of lines of a file, for appending. */
async function lineCount(path: unknown, { files }: Ctx): Promise<number | undefined> {
  if (typeof path !== "string") return undefined;
  const text = await files.read(path).then(
    (file) => file.text,
    () => undefined,
  );
  return text === undefined ? undefined : text.replace(/\n$/, "").split("\n").length;
}

function listCall({ args, tools }: GivenCall): Converted {
  if (args.path === "") delete args.path;
  const { path, recursive, ...otherArgs } = args;
  if (String(recursive) !== "true" || !tools.some(({ name }) => name === "glob")) return undefined;
  return [["glob", { pattern: "**/*", ...(path !== undefined && { path }), ...otherArgs }]];
}

function globCall({ args, name }: GivenCall): Converted {
  if (args.path === "") delete args.path;
  const patterns = listOf(args.pattern);
  if (patterns.length && patterns.every((part) => typeof part === "string"))
    args.pattern = patterns.length === 1 ? patterns[0] : `{${patterns.join(",")}}`;
  const { pattern } = args;
  if (typeof pattern !== "string") return undefined;
  const isFuzzy = name === "filesearch" && !/[*?{[]/.test(pattern);
  const isAnywhere = /^(find|findfile|filesearch|findbyname)$/.test(name) && !pattern.includes("/");
  if (isFuzzy) args.pattern = `**/*${pattern}*`;
  else if (isAnywhere) args.pattern = `**/${pattern}`;
}

function onlyOne(args: Args, name: string): void {
  const { [name]: value } = args;
  if (Array.isArray(value) && value.length === 1) args[name] = value[0];
}

function rename(args: Args, from: string, to: string): void {
  args[to] ??= args[from];
  delete args[from];
}

/** A list of steps in any form, as zz's steps and the numbers of those that are done. */
function todoCall(args: Args): Converted {
  const { set } = args;
  const rows = typeof set === "string" ? set.split("\n").filter((row) => row.trim()) : set;
  if (!Array.isArray(rows)) return undefined;
  const steps = rows.map((row) => {
    if (typeof row !== "string") {
      const { content, step, title, text, description, task, status, done, completed } = isArgs(row)
        ? row
        : {};
      const isDone =
        /^(completed|done|complete)$/i.test(String(status)) || done === true || completed === true;
      return { text: content ?? step ?? title ?? text ?? description ?? task, isDone };
    }
    const [, mark, text] = /^(?:[-*]|\d+\.)?\s*\[(.)\]\s*(.*)$/.exec(row.trim()) ?? [];
    return { text: text ?? row, isDone: /x/i.test(mark ?? "") };
  });
  const done = steps.flatMap(({ isDone }, i) => (isDone ? i + 1 : []));
  Object.assign(args, { set: steps.map(({ text }) => text), ...(done.length && { done }) });
}
