// Claims about files, folders and lines.
import path from "node:path";
import { plural } from "zz/text";
import type { Claim } from "./claims.ts";
import { at, containsName, definitionOf, type Facts, lastOf, locate, missing, type Verdict } from "./facts.ts";
import { linesOf, mentionPlace, nearestPath, type Place, placeInCode, placeInProse } from "./texts.ts";

export async function pathVerdict(facts: Facts, claim: Claim): Promise<Verdict> {
  const place = locate(facts, claim.name);
  if (place.why) return claim.weak ? undefined : ["open", place.why];
  if (place.folder) return claim.line ? ["bad", "it is a folder"] : ["good", "a folder"];
  if (!place.files.length) return missingPath(facts, claim);
  const verdicts: Verdict[] = [];
  for (const file of place.files.slice(0, 5)) verdicts.push(await spotVerdict(facts, claim, file));
  const good = verdicts.find((one) => one?.[0] === "good");
  const more = !claim.line && !claim.symbol && place.files.length > 1 ? ` and ${place.files.length - 1} more` : "";
  return good ? [good[0], `${good[1]}${more}`] : verdicts[0];
}

function missingPath(facts: Facts, { weak, ...claim }: Claim): Verdict {
  const { name } = claim;
  const [top = ""] = name.replace(/^\.\//, "").split("/");
  if (weak && !facts.texts.names.some((other) => other.startsWith(`${top}/`))) return undefined;
  if (GENERATED.test(name)) return ["open", "it is not there; it may be made by a run"];
  const source = SOURCES_OF.flatMap(([end, others]) =>
    end.test(name) ? others.map((other) => name.replace(end, other)) : [],
  );
  const existing = source.flatMap((other) => locate(facts, other).files)[0];
  if (existing) return ["open", `it is not there, but ${existing} is, of which it may be made`];
  const mention = mentionPlace(facts.texts, name.replace(/^\.\//, "").replace(/\/$/, ""));
  if (mention) return ["open", `it is not there, but ${at(mention)} names it`];
  const near = nearestPath(name, facts.texts.names);
  return missing(claim, `there is no such file${near ? `; nearest: ${near}` : ""}`);
}

async function spotVerdict(
  facts: Facts,
  { name, line, end = line, about, symbol }: Claim,
  file: string,
): Promise<Verdict> {
  const here = path.posix.normalize(name) === file ? "" : file;
  if (!line && !symbol) return ["good", here || "it is there"];
  const text = await textOf(facts, file);
  if (text === undefined) return ["open", `${here || "it"} cannot be read`];
  const lines = linesOf(text);
  const where = here && `${here}: `;
  if (line && end! > lines.length) {
    const real = symbol && placeIn(facts, symbol, file, text);
    const message = `${where}it has ${plural(lines.length, "line")}${real ? `; \`${symbol}\` is at ${at(real)}` : ""}`;
    return about && line - ROUGH_LINES < lines.length ? ["good", message] : ["bad", message];
  }
  const known = symbol && (placeInCode(facts.texts, lastOf(symbol)) || placeInProse(facts.texts, lastOf(symbol)));
  if (symbol && known) return symbolAt(facts, symbol, file, text, line, end, about); // else its own claim reports it
  return ["good", line ? `${where}\`${lines[line - 1]!.trim().slice(0, 100)}\`` : here || "it is there"];
}

function symbolAt(
  facts: Facts,
  symbol: string,
  file: string,
  text: string,
  line?: number,
  end?: number,
  about?: true,
): Verdict {
  const real = placeIn(facts, symbol, file, text);
  const name = lastOf(symbol);
  if (!real) {
    const other = definitionOf(facts, symbol) ?? placeInCode(facts.texts, name);
    return other ? ["bad", `\`${symbol}\` is not in it, but at ${at(other)}`] : ["open", `\`${symbol}\` is not in it`];
  }
  if (!line) return ["good", `\`${symbol}\` is at ${at(real)}`];
  const slack = about ? ROUGH_LINES : NEAR_LINES;
  const part = linesOf(text).slice(Math.max(0, line - 1 - slack), end! + slack);
  const isInside = (facts.index.get(symbol) ?? []).some(
    (one) => one.path === file && one.line <= line && line <= one.end,
  );
  if (isInside || part.some((row) => containsName(row, name))) return ["good", `\`${symbol}\` is there`];
  return ["bad", `\`${symbol}\` is at ${at(real)}`];
}

/** Where the symbol is defined in that file, or else first mentioned. */
function placeIn(facts: Facts, symbol: string, file: string, text: string): Place | undefined {
  const own = facts.index.get(symbol)?.find((one) => one.path === file);
  if (own) return own;
  const name = lastOf(symbol);
  const line = linesOf(text).findIndex((row) => containsName(row, name));
  return line < 0 ? undefined : { path: file, line: line + 1 };
}

async function textOf(facts: Facts, file: string): Promise<string | undefined> {
  const known = facts.texts.byName.get(file);
  if (known !== undefined) return known;
  const text = (await facts.ctx.files.read(file).catch(() => undefined))?.text;
  if (text !== undefined) facts.texts.byName.set(file, text);
  return text;
}
const NEAR_LINES = 2; // a symbol this near to the claimed line counts as on it
const ROUGH_LINES = 10; // the same if the answer says "around"
const GENERATED =
  /(?:^|\/)(?:node_modules|dist|build|out|target|coverage|tmp|logs?|\.next|\.cache|\.venv)(?:\/|$)|(?:^|\/)\.env(?:\.|$)|\.log$/;
const SOURCES_OF: [RegExp, string[]][] = [
  [/\.js$/, [".ts", ".tsx"]],
  [/\.mjs$/, [".mts"]],
  [/\.jsx$/, [".tsx"]],
];
