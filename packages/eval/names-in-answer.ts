// The files and symbols that an answer names.
import { Lexer, type Token, type Tokens, walkTokens } from "marked";

export interface Named {
  kind: "path" | "symbol";
  /** A symbol with its owners, separated by dots. */
  name: string;
  line?: number;
  end?: number;
  /** It may mean something else, so that it is not told of when nothing of that name is found. */
  weak?: true;
}

const LEXER = { gfm: true };
const MAX_CHARS = 100_000;
const URL = /\b[a-z][a-z\d+.-]*:\/\/[^\s)>]+|\bwww\.[^\s)>]+/gi;
/**
 * `src/a.ts:12-20`, `src/a.ts#L12`, `src/a.ts` (line 12), src/a.ts, lines 12–20; "line 12 of
 * `src/a.ts`" is left to the model.
 */
const PATH =
  /(?<![\w./@~+-])(?<mark>`?)(?<path>(?:~\/|\.{1,2}\/|\/)?(?:[\w.@+-]+\/)*[\w.@+-]*[\w+-]\/?)(?:(?::|#L)(?<line>\d+)(?:-L?(?<end>\d+))?)?(?<after>[`*]{0,3},? \(?(?:at |on |in )?lines? (?<from>\d+)(?:(?:-|–| to )(?<to>\d+))?)?/g;
const EXTENSION = /\w\.[a-z][a-z\d]{0,7}$|\/\.\w[\w.-]*$/i; // also ./.env
const CODE = /`([^`\n]+)`/g;
const SYMBOL =
  /^(?:(?:export|async|new|class|function|const|let|interface|type|enum|def|fn|func) )*(?<name>[\p{L}_$][\p{L}\p{N}_$]*(?:(?:\.|\?\.|::|#|->)[\p{L}_$][\p{L}\p{N}_$]*)*)(?<call>\(.*\))?;?$/u;
const CALL =
  /(?<![\p{L}\p{N}_$./`])([\p{L}_$][\p{L}\p{N}_$]+(?:\.[\p{L}_$][\p{L}\p{N}_$]*)*)\(\)/gu;
/** Words of prose are not: rowTable, row_table, Row.add, RowTable, MAX_ROWS. */
const LOOKS_LIKE_CODE = /[a-z\d][A-Z]|[A-Za-z\d]_[A-Za-z\d]|\w\.\w/;

/** The names, each once; and the code in the answer's own blocks. */
export function namesIn(answer: string): { names: Named[]; ownCode: string } {
  const names = new Map<string, Named>();
  const blocks: string[] = [];
  const read = (text: string) => {
    for (const named of [...pathsIn(text), ...symbolsIn(text)])
      names.set(JSON.stringify(named), named);
  };
  walkTokens(new Lexer(LEXER).lex(answer.slice(0, MAX_CHARS)), (token: Token) => {
    if (token.type === "code") blocks.push(token.text);
    else if (token.type === "table")
      for (const cell of [token as Tokens.Table].flatMap(({ header, rows }) =>
        [header, ...rows].flat(),
      ))
        read(cell.text);
    else if (
      token.type === "paragraph" ||
      token.type === "heading" ||
      (token.type === "text" && token.tokens)
    )
      read(token.raw);
  });
  return { names: [...names.values()], ownCode: blocks.join("\n") };
}

function pathsIn(text: string): Named[] {
  return [...text.replace(URL, " ").matchAll(PATH)].flatMap(({ groups }) => {
    const { mark, path = "", line, end, from, to } = groups!;
    if (!isPath(path, Boolean(mark))) return [];
    const named: Named = {
      kind: "path",
      name: path,
      ...(!path.includes("/") && { weak: true as const }),
    };
    if (line ?? from) named.line = Number(line ?? from);
    if (end ?? to) named.end = Number(end ?? to);
    return [named];
  });
}

/** In prose a name needs a folder and an extension: `Node.js` and `and/or` are no files. */
function isPath(path: string, isCode: boolean): boolean {
  const [first, ...parts] = path.split("/");
  // flags, packages, commands, hosts
  if (/^[-@]|^\/[^/]*$/.test(path) || /\w\.\w/.test(parts.length ? first! : "")) return false;
  return parts.length > 0
    ? EXTENSION.test(path) || (isCode && path.endsWith("/"))
    : isCode && EXTENSION.test(path);
}

/**
 * `res.json` may be a member or a file: it is a file if the project has one of that name, and else
 * no claim if nothing is found.
 */
function symbolsIn(text: string): Named[] {
  const calls = [...text.matchAll(CALL)].map(([, name]) => ({ name: name! }));
  const codes = [...text.matchAll(CODE)].flatMap(([, code]) => {
    const { name: written = "", call } = SYMBOL.exec(code!)?.groups ?? {};
    const name = written.replace(/\?\.|::|#|->/g, ".");
    if (name.length < 3 || !(call || LOOKS_LIKE_CODE.test(name))) return [];
    return [{ name, ...(!call && /^\w+\.[a-z]+$/.test(written) && { weak: true as const }) }];
  });
  return [...codes, ...calls].map((symbol) => ({ kind: "symbol", ...symbol }));
}
