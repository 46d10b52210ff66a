// Searches in the forms of other programs, where patterns are regular expressions and file types
// replace globs.
import { ownValue, tryTo } from "zz/text";
import { type Args, bareName, hasOwnName } from "./rename-arguments.ts";
import type { GivenCall } from "./values.ts";

const GLOBS_BY_TYPE: Record<string, string> = {
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
const POSIX_CLASSES: Record<string, string> = {
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
  const takeArgument = (...wantedKeys: string[]): unknown => {
    const matchingKey = Object.keys(args).find(
      (candidate) =>
        wantedKeys.some((wantedKey) => bareName(wantedKey) === bareName(candidate)) &&
        !hasOwnName(tool, candidate),
    );
    const takenValue = matchingKey === undefined ? undefined : args[matchingKey];
    if (matchingKey !== undefined) delete args[matchingKey];
    return takenValue;
  };
  if (args.path === "") delete args.path;
  const context = takeArgument("context", "c", "context_lines");
  if (context !== undefined) for (const side of ["before", "after"]) args[side] ??= context;
  if (typeof args.output === "string") args.output = ownValue(OUTPUTS, args.output) ?? args.output;
  if (
    isTrue(takeArgument("names_only", "files_with_matches", "files_only", "l")) ||
    original.MatchPerLine === false
  )
    args.output ??= "files";
  if (original.MatchPerLine === false) takeArgument("match_per_line");
  const isCaseSensitive = takeArgument("case_sensitive", "is_case_sensitive");
  if (isCaseSensitive !== undefined) args.ignore_case ??= !isTrue(isCaseSensitive);
  else if (/^(searchfilecontent|grepsearch)$/.test(name)) args.ignore_case ??= true;
  const isLiteral = takeArgument("literal", "fixed_strings", "fixed_string", "is_literal");
  if (isLiteral !== undefined) args.regex ??= !isTrue(isLiteral);
  mergeGlobs(args);
  if (typeof args.query !== "string") return;
  const isOwnCall = name === "grep" && "query" in original;
  if (typeof args.regex !== "boolean" && typeof args.regex !== "string" && !isOwnCall)
    args.regex = isPattern(args.query);
  if (!args.regex) delete args.regex;
  else
    args.query = args.query.replace(
      /\[:(\w+):\]/g,
      (matched, className: string) => ownValue(POSIX_CLASSES, className) ?? matched,
    );
}

const isTrue = (value: unknown): boolean => value === true || value === "true";

/**
 * Whether a query has to be a regular expression. Plain text is found faster as such, an invalid
 * pattern only so.
 */
const isPattern = (query: string): boolean =>
  query.length < MAX_PATTERN_CHARS &&
  /[\\^$.*+?()[\]{}|]/.test(query) &&
  tryTo(() => new RegExp(query.replace(/^\(\?i\)/, ""))) !== undefined;

/** A glob for what any of these find. */
export const oneGlob = (globs: string[]): string =>
  globs.length === 1 ? globs[0]! : `{${globs.join(",")}}`;

/** Makes one glob of a list, names separated by commas, or a file type. */
function mergeGlobs(args: Args): void {
  const { glob, type } = args;
  const isNames = typeof glob === "string" && glob.length < MAX_PATTERN_CHARS && !/[{}]/.test(glob);
  const globNames = isNames ? glob.split(/\s*,\s*/) : [];
  const globList = Array.isArray(glob) ? glob : globNames;
  if (globList.length && globList.every((globPart) => typeof globPart === "string"))
    args.glob = oneGlob(globList);
  const endingGlob =
    typeof type === "string" && args.glob === undefined && ownValue(GLOBS_BY_TYPE, type);
  if (!endingGlob) return;
  args.glob = `*.${endingGlob}`;
  delete args.type;
}
