// What the pages claim: the words that they print as code. CHANGELOG.md tells of the past, so it is
// not among them.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { inRoot, PAGES } from "./pages.ts";
import { ROOT } from "./run.ts";

export interface Claim {
  page: string;
  text: string;
}

const READMES = readdirSync(join(ROOT, "packages")).map((name) => `packages/${name}/README.md`);
const CLAIMING: [page: string, text: string][] = [
  ...PAGES,
  ...["CONTRIBUTING.md", "SECURITY.md", ...READMES].map(
    (name) => [name, inRoot(name)] as [string, string],
  ),
];
const BLOCK = /^ *```(\w+)\n(.*?)^ *```$/gms;
const SPAN = /(`+)(?!`)(.+?)(?<!`)\1(?!`)/gs;

/** What is fenced: samples of files, of a shell and of what zz prints. */
export const blocks: (Claim & { kind: string })[] = CLAIMING.flatMap(([page, text]) =>
  [...text.matchAll(BLOCK)].map(([, kind, text]) => ({ page, kind: kind!, text: text! })),
);

/** What stands between backticks in a sentence or a table. */
export const spans: Claim[] = CLAIMING.flatMap(([page, text]) =>
  [...text.replace(BLOCK, "").matchAll(SPAN)].map(([, , code]) => ({
    page,
    text: code!.replaceAll("\\|", "|").replace(/\s+/g, " ").trim(),
  })),
);

/** Every line that starts zz, and its arguments as a shell would give them. */
export function zzCommands(): (Claim & { args: string[] })[] {
  const lines = blocks.flatMap(({ page, kind, text }) => {
    const prompt = { sh: "", console: "$ " }[kind];
    if (prompt === undefined) return [];
    const typed = text.split("\n").filter((line) => line.trim().startsWith(prompt));
    return typed.map((line) => ({ page, text: line.trim().slice(prompt.length) }));
  });
  return [...lines, ...spans].flatMap(({ page, text }) =>
    commandsIn(text).map((args) => ({ page, text, args })),
  );
}

function commandsIn(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const word of shellWords(line))
    if (OPERATOR.test(word)) commands.push([]);
    else commands.at(-1)!.push(word);
  return commands.flatMap((command) => {
    const start = command.findIndex((word) => !/^[A-Z_]+=/.test(word) && word !== "npx");
    return command[start] === "zz" ? [command.slice(start + 1)] : [];
  });
}

const OPERATOR = /^(?:&&|\|\||[|;<>]|\$\()$/;
const PART = /'[^']*'|"(?:\\.|[^"\\])*"|\$\(|&&|\|\||[|;<>]|#.*$|[^\s'"|;<>]+|\s+/g;

function shellWords(line: string): string[] {
  const words: string[] = [];
  let isOpen = false; // what comes next belongs to the last word
  for (const [part] of line.matchAll(PART)) {
    if (part.startsWith("#")) break;
    const isWord = part.trim() !== "" && !OPERATOR.test(part);
    const text = /^['"]/.test(part) ? part.slice(1, -1) : part;
    if (isOpen && isWord) words.push(words.pop()! + text);
    else if (part.trim()) words.push(text);
    isOpen = isWord;
  }
  return words;
}
