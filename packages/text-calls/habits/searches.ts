// Searches in the forms of other programs, where patterns are regular expressions and file types
// replace globs.
import { tryTo } from "zz/text";
import { type Args, bareName, hasOwnName } from "./rename-arguments.ts";
import type { GivenCall } from "./values.ts";

const TYPES: Record<string, string> = {
  ts: "{ts,tsx,mts,cts}",
  typescript: "{ts,tsx,mts,cts}",
  js: "{js,jsx,mjs,cjs,vue}",
  javascript: "{js,jsx,mjs,cjs}",
  py: "{py,pyi}",
  python: "{py,pyi}",
  rs: "rs",
  rust: "rs",
  go: "go",
  java: "java",
  kt: "{kt,kts}",
  kotlin: "{kt,kts}",
  c: "{c,h}",
  cpp: "{cpp,cc,cxx,hpp,hh,hxx,h,inl}",
  cs: "cs",
  csharp: "cs",
  rb: "{rb,rake,gemspec}",
  ruby: "{rb,rake}",
  php: "php",
  swift: "swift",
  html: "{html,htm}",
  css: "{css,scss}",
  json: "json",
  yaml: "{yaml,yml}",
  toml: "toml",
  md: "{md,markdown,mdx}",
  markdown: "{md,markdown,mdx}",
  sh: "{sh,bash,zsh}",
  sql: "sql",
  xml: "xml",
  lua: "lua",
  svelte: "svelte",
  vue: "vue",
  tsx: "tsx",
  jsx: "jsx",
  txt: "txt",
  scala: "scala",
  proto: "proto",
  dart: "dart",
};
const MAX_PATTERN_CHARS = 1_000;
const OUTPUTS: Record<string, string> = {
  content: "lines",
  files_with_matches: "files",
  count_matches: "count",
};
const POSIX: Record<string, string> = {
  space: "\\s",
  digit: "\\d",
  alpha: "A-Za-z",
  alnum: "A-Za-z0-9",
  upper: "A-Z",
  lower: "a-z",
  word: "\\w",
  punct: "!-\\/:-@\\[-`{-~",
  xdigit: "0-9A-Fa-f",
  blank: " \\t",
};

export function grepCall({ args, original, name, tool }: GivenCall): undefined {
  const take = (...keys: string[]): unknown => {
    const key = Object.keys(args).find(
      (candidate) =>
        keys.some((wanted) => bareName(wanted) === bareName(candidate)) &&
        !hasOwnName(tool, candidate),
    );
    const value = key === undefined ? undefined : args[key];
    if (key !== undefined) delete args[key];
    return value;
  };
  if (args.path === "") delete args.path;
  const context = take("context", "c", "context_lines");
  if (context !== undefined) for (const side of ["before", "after"]) args[side] ??= context;
  if (typeof args.output === "string") args.output = wordOf(OUTPUTS, args.output) ?? args.output;
  if (
    isTrue(take("names_only", "files_with_matches", "files_only", "l")) ||
    original.MatchPerLine === false
  )
    args.output ??= "files";
  if (original.MatchPerLine === false) take("match_per_line");
  const isCase = take("case_sensitive", "is_case_sensitive");
  if (isCase !== undefined) args.ignore_case ??= !isTrue(isCase);
  else if (/^(searchfilecontent|grepsearch)$/.test(name)) args.ignore_case ??= true;
  const isLiteral = take("literal", "fixed_strings", "fixed_string", "is_literal");
  if (isLiteral !== undefined) args.regex ??= !isTrue(isLiteral);
  globOf(args);
  if (typeof args.query !== "string") return;
  const isOwn = name === "grep" && "query" in original;
  if (typeof args.regex !== "boolean" && typeof args.regex !== "string" && !isOwn)
    args.regex = isPattern(args.query);
  if (!args.regex) delete args.regex;
  else
    args.query = args.query.replace(
      /\[:(\w+):\]/g,
      (matched, set: string) => wordOf(POSIX, set) ?? matched,
    );
}

const wordOf = (words: Record<string, string>, word: string): string | undefined =>
  Object.hasOwn(words, word) ? words[word] : undefined;
const isTrue = (value: unknown): boolean => value === true || value === "true";

/**
 * Whether a query has to be a regular expression. Plain text is found faster as such, an invalid
 * pattern only so.
 */
const isPattern = (query: string): boolean =>
  query.length < MAX_PATTERN_CHARS &&
  /[\\^$.*+?()[\]{}|]/.test(query) &&
  tryTo(() => new RegExp(query.replace(/^\(\?i\)/, ""))) !== undefined;

/** Makes one glob of a list, names separated by commas, or a file type. */
function globOf(args: Args): void {
  const { glob, type } = args;
  const isNames = typeof glob === "string" && glob.length < MAX_PATTERN_CHARS && !/[{}]/.test(glob);
  const names = isNames ? glob.split(/\s*,\s*/) : [];
  const list = Array.isArray(glob) ? glob : names;
  if (list.length && list.every((part) => typeof part === "string"))
    args.glob = list.length === 1 ? list[0] : `{${list.join(",")}}`;
  const ends =
    typeof type === "string" &&
    args.glob === undefined &&
    Object.hasOwn(TYPES, type) &&
    TYPES[type];
  if (!ends) return;
  args.glob = `*.${ends}`;
  delete args.type;
}
