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

const LEXER_OPTIONS = { gfm: true };
const MAX_CHARS = 100_000;
const WEB_ADDRESS = /\b[a-z][a-z\d+.-]*:\/\/[^\s)>]+|\bwww\.[^\s)>]+/gi;
const PATH_BEGINNING = /(?<![\w./@~+-])(?<mark>`?)/.source;
const PATH = /(?<path>(?:~\/|\.{1,2}\/|\/)?(?:[\w.@+-]+\/)*[\w.@+-]*[\w+-]\/?)/.source;
const LINE_SUFFIX = /(?:(?::|#L)(?<line>\d+)(?:-L?(?<end>\d+))?)?/.source;
const LINE_PHRASE = /[`*]{0,3},? \(?(?:at |on |in )?lines? (?<from>\d+)(?:(?:-|–| to )(?<to>\d+))?/
  .source;
/**
 * `src/a.ts:12-20`, `src/a.ts#L12`, `src/a.ts` (line 12), src/a.ts, lines 12–20; "line 12 of
 * `src/a.ts`" is left to the model.
 */
const PATH_MENTION = new RegExp(
  `${PATH_BEGINNING}${PATH}${LINE_SUFFIX}(?<after>${LINE_PHRASE})?`,
  "g",
);
const EXTENSION = /\w\.[a-z][a-z\d]{0,7}$|\/\.\w[\w.-]*$/i; // also ./.env
const CODE_SPAN = /`([^`\n]+)`/g;
const DECLARING_WORDS =
  "(?:export|async|new|class|function|const|let|interface|type|enum|def|fn|func)";
const IDENTIFIER = /[\p{L}_$][\p{L}\p{N}_$]*/u.source;
const QUALIFIED_NAME = String.raw`${IDENTIFIER}(?:(?:\.|\?\.|::|#|->)${IDENTIFIER})*`;
const CODE_SYMBOL = new RegExp(
  String.raw`^(?:${DECLARING_WORDS} )*(?<name>${QUALIFIED_NAME})(?<call>\(.*\))?;?$`,
  "u",
);
const CALL_MENTION =
  /(?<![\p{L}\p{N}_$./`])([\p{L}_$][\p{L}\p{N}_$]+(?:\.[\p{L}_$][\p{L}\p{N}_$]*)*)\(\)/gu;
/** Words of prose are not: rowTable, row_table, Row.add, RowTable, MAX_ROWS. */
const LOOKS_LIKE_CODE = /[a-z\d][A-Z]|[A-Za-z\d]_[A-Za-z\d]|\w\.\w/;

/** The names, each once; and the code in the answer's own blocks. */
export function namesIn(answerText: string): { names: Named[]; ownCode: string } {
  const namedByKey = new Map<string, Named>();
  const codeBlocks: string[] = [];
  const readNames = (passage: string) => {
    for (const mention of [...pathsIn(passage), ...symbolsIn(passage)])
      namedByKey.set(JSON.stringify(mention), mention);
  };
  walkTokens(new Lexer(LEXER_OPTIONS).lex(answerText.slice(0, MAX_CHARS)), (token: Token) => {
    if (token.type === "code") codeBlocks.push(token.text);
    else if (token.type === "table") {
      const { header, rows } = token as Tokens.Table;
      for (const tableCell of [header, ...rows].flat()) readNames(tableCell.text);
    } else if (
      token.type === "paragraph" ||
      token.type === "heading" ||
      (token.type === "text" && token.tokens)
    )
      readNames(token.raw);
  });
  return { names: [...namedByKey.values()], ownCode: codeBlocks.join("\n") };
}

function pathsIn(passage: string): Named[] {
  return [...passage.replace(WEB_ADDRESS, " ").matchAll(PATH_MENTION)].flatMap(({ groups }) => {
    const { mark, path = "", line, end, from, to } = groups!;
    if (!isPath(path, Boolean(mark))) return [];
    const pathMention: Named = {
      kind: "path",
      name: path,
      ...(!path.includes("/") && { weak: true as const }),
    };
    if (line ?? from) pathMention.line = Number(line ?? from);
    if (end ?? to) pathMention.end = Number(end ?? to);
    return [pathMention];
  });
}

/** In prose a name needs a folder and an extension: `Node.js` and `and/or` are no files. */
function isPath(pathText: string, isInCode: boolean): boolean {
  const [firstPart, ...laterParts] = pathText.split("/");
  // flags, packages, commands, hosts
  if (/^[-@]|^\/[^/]*$/.test(pathText) || /\w\.\w/.test(laterParts.length ? firstPart! : ""))
    return false;
  return laterParts.length > 0
    ? EXTENSION.test(pathText) || (isInCode && pathText.endsWith("/"))
    : isInCode && EXTENSION.test(pathText);
}

/**
 * `res.json` may be a member or a file: it is a file if the project has one of that name, and else
 * no claim if nothing is found.
 */
function symbolsIn(passage: string): Named[] {
  const callNames = [...passage.matchAll(CALL_MENTION)].map(([, callName]) => ({
    name: callName!,
  }));
  const codeNames = [...passage.matchAll(CODE_SPAN)].flatMap(([, codeText]) => {
    const { name: written = "", call } = CODE_SYMBOL.exec(codeText!)?.groups ?? {};
    const name = written.replace(/\?\.|::|#|->/g, ".");
    if (name.length < 3 || !(call || LOOKS_LIKE_CODE.test(name))) return [];
    return [{ name, ...(!call && /^\w+\.[a-z]+$/.test(written) && { weak: true as const }) }];
  });
  return [...codeNames, ...callNames].map((symbol) => ({ kind: "symbol", ...symbol }));
}
