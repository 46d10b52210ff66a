// What a plugin seems to add and to access, judging by its text. Not a proof: nothing is run, and
// code can hide what it does.
import { plain } from "./files.ts";

export type Look = { adds: string[]; reaches: string[] };

const CODE = /\.[cm]?[jt]sx?$/;
const EVENTS =
  "started phase requested received replied compacted retried thought planned decided changed called progressed asked noted answered failed";
const STEPS = "line request call preview render prompt";
const UNNAMED = "of a name that is made as it runs";

/** Matches the name of a module, however it is imported. */
const moduleName = (names: string) => new RegExp(`["'\`](?:node:)?(?:${names})(?:/[\\w/]+)?["'\`]`);
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
  [
    "modules named as it runs (import())",
    /\bimport\s*\((?!\s*(["'`])[^"'`$]*\1\s*[,)])|\brequire\s*\((?!\s*(["'`])[^"'`$]*\2\s*\))|\bcreateRequire\b/,
  ],
  ["globals by a name made as it runs", /\bglobal(?:This)?\s*\[/],
];

export function lookAt(names: string[], textOf: (name: string) => string): Look {
  const code = names.filter((name) => CODE.test(name) && !name.endsWith(".d.ts"));
  const texts = code.map((name) => uncommented(textOf(name)));
  const adds = new Set(texts.flatMap(addsOf));
  const reaches = REACHES.flatMap(([label, signs]) =>
    texts.some((text) => signs.test(text)) ? [label] : [],
  );
  const machineCode = names.filter((name) => /\.(node|wasm|so|dll|dylib|exe)$/.test(name));
  if (machineCode.length)
    reaches.push(
      `machine code that it brings (${machineCode
        .slice(0, 3)
        .map((name) => plain(name))
        .join(", ")})`,
    );
  return { adds: [...adds], reaches };
}

/**
 * Removes whole comment lines only: elsewhere, what looks like a comment may be part of a string.
 */
const uncommented = (text: string): string => text.replace(/^[^\S\n]*\/\/[^\n$`]*$/gm, "");

const SIGNS: Record<string, string> = { command: "/", flag: "--" };

function addsOf(text: string): string[] {
  const additions: string[] = [];
  for (const [, method, argumentText] of text.matchAll(
    /\.\s*(tool|command|layer|provider|flag|key)\s*(?:<[^>(]*>)?\(\s*(?=(\{.{0,400}))/gs,
  )) {
    const name = /[{,\s]name\s*:\s*(["'`])([^"'`$\n]{1,80})\1/.exec(
      argumentText!.split(/\.\s*(?:tool|command|layer|provider|flag|key)\s*\(/)[0]!,
    )?.[2];
    const sign = SIGNS[method!] ?? "";
    additions.push(name ? `${method} ${sign}${plain(name)}` : `${method} ${UNNAMED}`);
  }
  for (const [, verb, , name] of text.matchAll(/\.\s*(on|wrap)\s*\(\s*(["'`])(\w+)\2/g)) {
    if (verb === "wrap" && STEPS.split(" ").includes(name!))
      additions.push(`changes every ${name}`);
    if (verb === "on" && EVENTS.split(" ").includes(name!)) additions.push(`sees '${name}'`);
  }
  return additions;
}
