// What a plugin seems to add and to access, judging by its text. Not a proof: nothing is run, and
// code can hide what it does.
import { plain } from "./files.ts";

export type Look = { adds: string[]; reaches: string[] };

const CODE_FILE = /\.[cm]?[jt]sx?$/;
const EVENT_NAMES =
  "started phase requested received replied compacted retried thought planned decided changed " +
  "configured reloaded called progressed typed asked resumed noted answered failed";
const STEP_NAMES = "line words offer request fetch call gate preview render prompt";
const UNNAMED = "of a name that is made as it runs";

/** Matches the name of a module, however it is imported. */
const moduleName = (namePattern: string) =>
  new RegExp(`["'\`](?:node:)?(?:${namePattern})(?:/[\\w/]+)?["'\`]`);
/** A text in quotes that nothing is put into; the quote is the group of that number. */
const fixedText = (quoteGroup: number): string => `(["'\`])[^"'\`$]*\\${quoteGroup}`;
const COMPUTED_IMPORT = new RegExp(
  [
    String.raw`\bimport\s*\((?!\s*${fixedText(1)}\s*[,)])`,
    String.raw`\brequire\s*\((?!\s*${fixedText(2)}\s*\))`,
    String.raw`\bcreateRequire\b`,
  ].join("|"),
);
const REACHES: [what: string, signs: RegExp][] = [
  ["files, past zz (node:fs)", moduleName("fs")],
  ["other programs (node:child_process)", moduleName("child_process")],
  ["the network (node:http, net …)", moduleName("https?|http2|net|tls|dgram|dns|undici|ws")],
  ["the network (fetch)", /\b(?:fetch|WebSocket|EventSource|XMLHttpRequest)\s*\(/],
  ["threads (node:worker_threads)", moduleName("worker_threads|cluster")],
  [
    "environment variables (process.env)",
    /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|\benv\b[^;\n]*\}\s*=\s*process\b/,
  ],
  ["code that is made as it runs (eval)", /\beval\s*\(|\bFunction\s*\(|\.constructor\s*\(/],
  ["SQLite files (node:sqlite)", moduleName("sqlite")],
  ["Node's inside (node:vm, module, inspector …)", moduleName("vm|module|inspector|v8|repl|wasi")],
  [
    "Node's inside by its name (process.getBuiltinModule, binding …)",
    /\bprocess\s*\.\s*(?:binding|dlopen|getBuiltinModule|_linkedBinding)\b|\.node["'`]/,
  ],
  ["modules named as it runs (import())", COMPUTED_IMPORT],
  ["globals by a name made as it runs", /\bglobal(?:This)?\s*\[/],
];

export function lookAt(fileNames: string[], readFileText: (fileName: string) => string): Look {
  const codeFiles = fileNames.filter(
    (fileName) => CODE_FILE.test(fileName) && !fileName.endsWith(".d.ts"),
  );
  const codeTexts = codeFiles.map((fileName) => uncommented(readFileText(fileName)));
  const foundAdditions = new Set(codeTexts.flatMap(findAdditions));
  const reaches = REACHES.flatMap(([reachLabel, reachSigns]) =>
    codeTexts.some((codeText) => reachSigns.test(codeText)) ? [reachLabel] : [],
  );
  const machineCode = fileNames.filter((fileName) =>
    /\.(node|wasm|so|dll|dylib|exe)$/.test(fileName),
  );
  if (machineCode.length)
    reaches.push(
      `machine code that it brings (${machineCode
        .slice(0, 3)
        .map((fileName) => plain(fileName))
        .join(", ")})`,
    );
  return { adds: [...foundAdditions], reaches };
}

/**
 * Removes whole comment lines only: elsewhere, what looks like a comment may be part of a string.
 */
const uncommented = (codeText: string): string => codeText.replace(/^[^\S\n]*\/\/[^\n$`]*$/gm, "");

const NAME_PREFIXES: Record<string, string> = { command: "/", flag: "--" };

function findAdditions(codeText: string): string[] {
  const additions: string[] = [];
  for (const [, method, argumentText] of codeText.matchAll(
    /\.\s*(tool|command|layer|provider|flag|key)\s*(?:<[^>(]*>)?\(\s*(?=(\{.{0,400}))/gs,
  )) {
    const addedName = /[{,\s]name\s*:\s*(["'`])([^"'`$\n]{1,80})\1/.exec(
      argumentText!.split(/\.\s*(?:tool|command|layer|provider|flag|key)\s*\(/)[0]!,
    )?.[2];
    const namePrefix = NAME_PREFIXES[method!] ?? "";
    additions.push(
      addedName ? `${method} ${namePrefix}${plain(addedName)}` : `${method} ${UNNAMED}`,
    );
  }
  for (const [, verb, , eventOrStep] of codeText.matchAll(
    /\.\s*(on|wrap)\s*\(\s*(["'`])(\w+)\2/g,
  )) {
    if (verb === "wrap" && STEP_NAMES.split(" ").includes(eventOrStep!))
      additions.push(`changes every ${eventOrStep}`);
    if (verb === "on" && EVENT_NAMES.split(" ").includes(eventOrStep!))
      additions.push(`sees '${eventOrStep}'`);
  }
  return additions;
}
