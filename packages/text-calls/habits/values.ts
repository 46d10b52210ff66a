// Converts what other names do not cover: values with another meaning, and calls that become
// several of zz's.
import { existsSync, statSync } from "node:fs";
import type { ChatRequest, Ctx } from "zz";
import { plural, tryTo } from "zz/text";
import { editsOfBlocks } from "./blocks.ts";
import { commandCall } from "./commands.ts";
import { type Args, bare, isArgs, renamed } from "./names.ts";
import { grepCall } from "./searches.ts";
import { EDIT } from "./table.ts";

/**
 * A call as the model made it (`name` without case and punctuation), and its arguments under zz's
 * names.
 */
export interface Given {
  args: Args;
  given: Args;
  name: string;
  tool: ChatRequest["tools"][number];
  tools: ChatRequest["tools"];
  ctx: Ctx;
}
export type Asked = [tool: string, args: Args];
/**
 * zz's calls; a sentence that says why there is none; undefined if the arguments are right or were
 * fixed in place.
 */
type Made = Asked[] | string | undefined;

export const VALUES: Record<string, (given: Given) => Made | Promise<Made>> = {
  read_file: readCalls,
  write_file: ({ args }) => writeCall(args),
  edit_file: (given) => (given.name.includes("notebook") ? notebookCall(given) : editCalls(given)),
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

async function readCalls({ args, given, name, tools, ctx }: Given): Promise<Made> {
  if (name.startsWith("readm") || name === "readfiles") return manyReads(args, tools, ctx);
  const listed = [given.files, given.paths, isArgs(given.args) ? given.args.file : undefined].find(
    Boolean,
  );
  if (listed !== undefined && args.path === undefined) return listedReads(listed);
  if (
    typeof args.should_read_entire_file === "boolean" ||
    /^(true|false)$/.test(String(args.should_read_entire_file))
  ) {
    if (String(args.should_read_entire_file) === "true")
      for (const one of ["start", "end", "limit"]) delete args[one];
    delete args.should_read_entire_file;
  }
  for (const range of ["view_range", "read_range", "line_range", "lines", "range"]) {
    if (args[range] === undefined) continue;
    const [start, end] = rangeOf(args[range]) ?? [];
    if (start === undefined) return `${range} must be two line numbers, such as [1, 50].`;
    delete args[range];
    Object.assign(args, { start: Math.max(1, start), ...(end !== -1 && { end }) });
  }
  if ("absolute_path" in given && /^\d+$/.test(String(args.start)))
    args.start = Number(args.start) + 1; // was 0-based
  return isFolder(args.path, ctx) && (given.command === "view" || name === "view")
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
  const [start, end] = parts.map((one) =>
    typeof one === "number" || /^-?\d+$/.test(String(one).trim()) ? Number(one) : Number.NaN,
  );
  return parts.length === 2 && Number.isInteger(start) && Number.isInteger(end)
    ? [start!, end!]
    : undefined;
}

function isFolder(path: unknown, { files }: Ctx): boolean {
  return typeof path === "string" && tryTo(() => statSync(files.path(path)).isDirectory()) === true;
}

/** A list from a single value, a list, or a list as JSON. */
function listOf(given: unknown): unknown[] {
  const list =
    typeof given === "string" && /^\s*\[/.test(given)
      ? (tryTo(() => JSON.parse(given)) ?? given)
      : given;
  if (Array.isArray(list)) return list;
  if (list === undefined) return [];
  return [list];
}

/** One read for each of [{ path, line_ranges: [[1, 50]] }] or { path }. */
function listedReads(listed: unknown): Made {
  const files = listOf(listed);
  const reads = files.flatMap((file): Asked[] | undefined => {
    const { path, line_range, line_ranges, lineRanges, ...more }: Args = isArgs(file)
      ? file
      : { path: file };
    if (typeof path !== "string") return [["read_file", { path, ...more }]];
    const many = line_ranges ?? lineRanges;
    const single = line_range === undefined ? [] : [line_range].flat(0);
    const ranges = Array.isArray(many) ? many : single;
    if (!ranges.length) return [["read_file", { path, ...more }]];
    return ranges.map((range): Asked => {
      const [start, end] = rangeOf(range) ?? [];
      return [
        "read_file",
        start === undefined ? { path, line_range: range, ...more } : { path, start, end, ...more },
      ];
    });
  }) as Asked[];
  return reads.length ? reads : "it names no file. Give a path.";
}

/**
 * Reads the files that glob finds for patterns and folders; if there are too many, it only lists
 * their names.
 */
async function manyReads(
  { paths, include, files, ...more }: Args,
  tools: Given["tools"],
  ctx: Ctx,
): Promise<Made> {
  const wanted = [paths, include, files].flatMap((some) => listOf(some));
  if (wanted.some(isArgs)) return listedReads(wanted);
  if (!wanted.length) return "it names no file. Give paths.";
  const patternOf = (path: unknown) =>
    isFolder(path, ctx)
      ? `${String(path).replace(/\/+$/, "")}/**/*`.replace(/^\.\//, "")
      : /[*?{[]/.test(String(path)) && String(path);
  const reads = new Map<string, Asked>();
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
    if (!pattern) reads.set(JSON.stringify(path), ["read_file", { path, ...more }]);
    else {
      const { data, failed } = await ctx.call("glob", { pattern });
      const found = !failed && Array.isArray(data) ? data : [];
      if (!found.length || found.length + reads.size > MAX_FILES)
        reads.set(pattern, ["glob", { pattern, ...more }]);
      else
        for (const name of found)
          reads.set(JSON.stringify(name), ["read_file", { path: name, ...more }]);
    }
  }
  return [...reads.values()];
}

function writeCall(args: Args): Made {
  if (args.append === true || /^(a|append)$/.test(String(args.mode)))
    return "it writes whole files and cannot append. Use edit_lines after the last line, or send all of the content.";
  if (args.append === false) delete args.append;
}

async function notebookCall({ args, ctx }: Given): Promise<Made> {
  const { notebookEdit } = await import("./notebook.ts");
  return notebookEdit(args, ctx);
}

const DRY = /^(dryrun|preview|previewonly)$/;
const PATTERN = /^(useregex|isregex|regex)$/;

async function editCalls({ args, given, name, ctx }: Given): Promise<Made> {
  for (const [key, value] of Object.entries(args)) {
    if (String(value) !== "true" || !(DRY.test(bare(key)) || PATTERN.test(bare(key)))) continue;
    const only = DRY.test(bare(key))
      ? "it always makes the edit"
      : "it takes plain text, no patterns";
    return `${only}, so ${key} cannot be true. Nothing was changed. Send the call without it.`;
  }
  if (args.code_edit !== undefined || args.code !== undefined) return sketchCall(args, ctx);
  if (args.diff !== undefined && args.old_string === undefined) return diffCall(args);
  if (name === "searchandreplace") {
    if (args.start_line !== undefined || args.end_line !== undefined)
      return "it cannot be limited to lines. Nothing was changed. Use edit_lines, or name more of the text.";
    args.replace_all ??= true;
  }
  if (name.startsWith("strreplace") || given.command === "str_replace")
    if (typeof args.old_string === "string") args.new_string ??= "";
  const wrong = await unexpectedCount(args, ctx);
  if (wrong) return wrong;
  const parsed =
    typeof args.edits === "string" ? tryTo(() => JSON.parse(args.edits as string)) : args.edits;
  const listed = Array.isArray(parsed) ? parsed : undefined;
  const edits = isArgs(parsed) ? [parsed] : listed;
  if (edits) return listedEdits(args, edits);
  return created(args)
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
const created = ({ path, old_string, new_string, replace_all, edits, ...more }: Args): boolean =>
  old_string === "" &&
  typeof new_string === "string" &&
  new_string !== "" &&
  edits === undefined &&
  !Object.keys(more).length;

/** A list of edits, each of which may name its own file. */
function listedEdits({ edits: _, ...args }: Args, edits: unknown[]): Made {
  const byPath = new Map<unknown, unknown[]>();
  const more: Args = {};
  for (const edit of edits) {
    const { path = args.path, ...rest } = isArgs(edit)
      ? renamed(edit, {
          params: { ...EDIT, path: "file_path file" },
          idle: "expected_replacements=1",
        })
      : { edit };
    const plain = "edit" in rest ? rest.edit : { ...rest };
    if (isArgs(plain))
      for (const key of Object.keys(plain))
        if (!Object.hasOwn(EDIT, key)) {
          // unknown, and reported
          if (!/^(startline|endline)$/.test(bare(key))) more[`edits.${key}`] = plain[key];
          delete plain[key];
        }
    byPath.set(path, [...(byPath.get(path) ?? []), plain]);
  }
  if (byPath.size < 2)
    return [
      [
        "edit_file",
        { ...args, path: [...byPath.keys()][0] ?? args.path, edits, ...more, ...only(byPath) },
      ],
    ];
  return [...byPath].map(
    ([path, edits]): Asked => ["edit_file", { ...args, path, edits, ...more }],
  );
}
const only = (byPath: Map<unknown, unknown[]>): Args =>
  byPath.size ? { edits: [...byPath.values()][0] } : {};

/**
 * A sketch of a file makes a new file. "existing code" for left-out parts would need a model that
 * fills them in.
 */
function sketchCall({ path, code_edit, code, ...more }: Args, { files }: Ctx): Made {
  const content = code_edit ?? code;
  const isThere = typeof path === "string" && tryTo(() => existsSync(files.path(path))) !== false;
  if (isThere || typeof path !== "string" || /\.\.\.\s*existing code/i.test(String(content)))
    return `it takes old_string and new_string, no ${code_edit === undefined ? "code" : "code_edit"}. Nothing was changed. Copy the text to replace exactly.`;
  return [["create_file", { path, content, ...more }]];
}

/** Edits from SEARCH/REPLACE blocks or a diff. */
function diffCall({ diff, ...args }: Args): Made {
  if (typeof diff !== "string") return "diff must be a text of SEARCH/REPLACE blocks.";
  if (/^\s*(\*\*\* Begin Patch|diff --git |--- .*\n\+\+\+ )/.test(diff))
    return [["apply_patch", { patch: diff, ...others(args) }]];
  if (/^@@ .*@@/.test(diff))
    return [
      [
        "apply_patch",
        { patch: `--- a/${args.path}\n+++ b/${args.path}\n${diff}`, ...others(args) },
      ],
    ];
  const edits = editsOfBlocks(diff);
  if (typeof edits === "string") return `${edits} Nothing was changed.`;
  const [first] = edits;
  if (edits.length === 1 && !first!.old_string)
    return [["write_file", { path: args.path, content: first!.new_string, ...others(args) }]];
  return [["edit_file", { ...args, edits }]];
}
const others = ({ path: _, ...more }: Args): Args => more;

async function insertCall({ args, given, name, ctx }: Given): Promise<Made> {
  const line = ["insert_line", "line", "line_number"]
    .map((one) => args[one])
    .find((one) => one !== undefined);
  for (const one of ["insert_line", "line", "line_number"])
    if (name !== "replacelines") delete args[one];
  if (line === undefined) return undefined;
  const at = typeof line === "string" && /^\d+$/.test(line) ? Number(line) : line;
  if (!Number.isInteger(at)) return "start must be the number of a line.";
  const isAfter = given.command === "insert"; // whether `at` is the line before it
  const last = Number(at) === 0 && !isAfter ? await lineCount(args.path, ctx) : undefined;
  const namedStart = isAfter ? Number(at) + 1 : Number(at);
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

function listCall({ args, tools }: Given): Made {
  if (args.path === "") delete args.path;
  const { path, recursive, ...more } = args;
  if (String(recursive) !== "true" || !tools.some(({ name }) => name === "glob")) return undefined;
  return [["glob", { pattern: "**/*", ...(path !== undefined && { path }), ...more }]];
}

function globCall({ args, name }: Given): Made {
  if (args.path === "") delete args.path;
  const patterns = listOf(args.pattern);
  if (patterns.length && patterns.every((one) => typeof one === "string"))
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
function todoCall(args: Args): Made {
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
