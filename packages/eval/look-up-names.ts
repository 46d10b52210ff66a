// What the disk and the index of symbols say of the names in an answer.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { nearest, plural, tryTo } from "zz/text";
import type { Named } from "./names-in-answer.ts";

export interface Finding {
  sign: "bad" | "open" | "good"; // not found, unknown, found
  name: string;
  message: string;
}
type Verdict = [sign: Finding["sign"], message: string];
interface Place {
  path: string;
  line: number;
}
type Definition = Place & { name: string };

const AT_ONCE = 8;
const PATH_ENDINGS = ["", ".ts", ".tsx", ".js", ".mjs", ".py", "/index.ts", "/index.js"];
const MODULES = [
  "fs",
  "fs/promises",
  "path",
  "http",
  "child_process",
  "stream",
  "events",
  "util",
  "os",
  "url",
  "crypto",
];

export async function check(mentions: Named[], ownCode: string, ctx: Ctx): Promise<Finding[]> {
  const projectFiles = await ctx.files.list();
  const findings: (Finding | undefined)[] = [];
  for (let batchStart = 0; batchStart < mentions.length; batchStart += AT_ONCE) {
    ctx.signal.throwIfAborted();
    findings.push(
      ...(await Promise.all(mentions.slice(batchStart, batchStart + AT_ONCE).map(checkOne))),
    );
  }
  return findings.filter((finding) => finding !== undefined);

  async function checkOne(mention: Named): Promise<Finding | undefined> {
    const { kind, name, line, end, weak } = mention;
    const verdict =
      kind === "path"
        ? await checkPath(mention, projectFiles, ctx)
        : await checkSymbol(name, ownCode, ctx);
    if (weak && verdict[0] !== "good") return undefined;
    const lineSpan = line ? `:${line}${end ? `–${end}` : ""}` : "";
    return {
      sign: verdict[0],
      name: kind === "path" ? `${name}${lineSpan}` : `\`${name}\``,
      message: verdict[1],
    };
  }
}

async function checkPath(
  { name, line, end = line }: Named,
  projectFiles: string[],
  ctx: Ctx,
): Promise<Verdict> {
  const absolutePath = name.startsWith("~")
    ? undefined
    : tryTo(() => ctx.files.path(path.resolve(ctx.root, name)));
  if (absolutePath === undefined) return ["open", "it is outside the project"];
  const relativePath = path.relative(ctx.root, absolutePath).split(path.sep).join("/");
  const { verdict } = ctx.permissions.judge("read", relativePath);
  if (verdict !== "allow")
    return ["open", `reading it ${verdict === "ask" ? "must be asked for" : "is denied"}`];
  if (fs.statSync(absolutePath, { throwIfNoEntry: false })?.isDirectory())
    return ["good", "a folder"];
  const candidates = relativePath ? PATH_ENDINGS.map((ending) => `${relativePath}${ending}`) : [];
  const matches = projectFiles.filter((projectFile) =>
    candidates.some(
      (candidate) => projectFile === candidate || projectFile.endsWith(`/${candidate}`),
    ),
  );
  const matchedFile = matches[0] ?? (fs.existsSync(absolutePath) ? relativePath : undefined);
  if (!matchedFile) {
    const nearestPath = nearest(relativePath, projectFiles);
    return ["bad", `it is not there${nearestPath ? `; nearest: ${nearestPath}` : ""}`];
  }
  const otherPath = matchedFile === path.posix.normalize(name) ? "" : matchedFile;
  if (!line)
    return [
      "good",
      [otherPath || "it is there", matches.length > 1 ? `and ${matches.length - 1} more` : ""]
        .join(" ")
        .trim(),
    ];
  const fileLines = (await ctx.files.read(matchedFile)).text.replace(/\n$/, "").split("\n");
  const pathPrefix = otherPath && `${otherPath}: `;
  if (end! > fileLines.length)
    return ["bad", `${pathPrefix}it has ${plural(fileLines.length, "line")}`];
  return ["good", `${pathPrefix}\`${fileLines[line - 1]!.trim().slice(0, 100)}\``];
}

async function checkSymbol(symbolName: string, ownCode: string, ctx: Ctx): Promise<Verdict> {
  const { data } = await ctx.call("find_definition", { symbol: symbolName });
  const similar = (data as Definition[] | undefined) ?? [];
  const definitions = similar.filter(
    (definition) => definition.name === symbolName || definition.name.endsWith(`.${symbolName}`),
  );
  if (definitions.length) return ["good", placesOf(definitions)];
  const wordPlaces = await placesOfWord(symbolName, ctx);
  if (wordPlaces.length)
    return ["good", `no definition of it, but ${placesOf(wordPlaces)} names it`];
  const lastPart = symbolName.slice(symbolName.lastIndexOf(".") + 1);
  if (isOfNode(lastPart)) return ["good", "JavaScript's own, or Node's"];
  if (hasWord(ownCode, lastPart))
    return ["open", "nowhere in the project; the answer's own code has it"];
  const [nearestMatch] = similar;
  return [
    "bad",
    "nowhere in the " +
      "project" +
      `${nearestMatch ? `; nearest: ${nearestMatch.name}, ${placesOf([nearestMatch])}` : ""}`,
  ];
}

/** Where it is written: also in what is no code, or of no language that the index knows. */
async function placesOfWord(symbolName: string, ctx: Ctx): Promise<Place[]> {
  const namePattern = symbolName.replaceAll("$", "\\$").replaceAll(".", "(?:\\??\\.|::|#|->)");
  const { failed, data } = await ctx.call("grep", {
    query: `(?<![\\w$])${namePattern}(?![\\w$])`,
    regex: true,
  });
  return failed ? [] : ((data as Place[] | undefined) ?? []);
}

const placesOf = ([firstPlace, ...otherPlaces]: Place[]): string =>
  `${firstPlace!.path}:${firstPlace!.line}` +
  `${otherPlaces.length ? ` and ${otherPlaces.length} more` : ""}`;

const hasWord = (codeText: string, soughtWord: string): boolean =>
  codeText.split(/[^\p{L}\p{N}_$]+/u).includes(soughtWord);

let nodesOwn: Set<string> | undefined;
function isOfNode(symbolName: string): boolean {
  nodesOwn ??= new Set(
    [globalThis, ...MODULES.map((module) => process.getBuiltinModule(module)!)].flatMap(membersOf),
  );
  return nodesOwn.has(symbolName);
}

/** By their descriptors, so that no getter is called. */
function membersOf(owner: object): string[] {
  const members = Object.entries(Object.getOwnPropertyDescriptors(owner));
  return members.flatMap(([memberName, { value }]) =>
    typeof value === "function" || ["JSON", "Math", "console"].includes(memberName)
      ? [
          memberName,
          ...Object.getOwnPropertyNames(value),
          ...Object.getOwnPropertyNames(value.prototype ?? {}),
        ]
      : [memberName],
  );
}
