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
const ENDS = ["", ".ts", ".tsx", ".js", ".mjs", ".py", "/index.ts", "/index.js"];
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

export async function check(names: Named[], ownCode: string, ctx: Ctx): Promise<Finding[]> {
  const files = await ctx.files.list();
  const findings: (Finding | undefined)[] = [];
  for (let start = 0; start < names.length; start += AT_ONCE) {
    ctx.signal.throwIfAborted();
    findings.push(...(await Promise.all(names.slice(start, start + AT_ONCE).map(checkOne))));
  }
  return findings.filter((finding) => finding !== undefined);

  async function checkOne(named: Named): Promise<Finding | undefined> {
    const { kind, name, line, end, weak } = named;
    const verdict =
      kind === "path" ? await checkPath(named, files, ctx) : await checkSymbol(name, ownCode, ctx);
    if (weak && verdict[0] !== "good") return undefined;
    const spot = line ? `:${line}${end ? `–${end}` : ""}` : "";
    return {
      sign: verdict[0],
      name: kind === "path" ? `${name}${spot}` : `\`${name}\``,
      message: verdict[1],
    };
  }
}

async function checkPath(
  { name, line, end = line }: Named,
  files: string[],
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
  const candidates = relativePath ? ENDS.map((ending) => `${relativePath}${ending}`) : [];
  const matches = files.filter((file) =>
    candidates.some((candidate) => file === candidate || file.endsWith(`/${candidate}`)),
  );
  const file = matches[0] ?? (fs.existsSync(absolutePath) ? relativePath : undefined);
  if (!file) {
    const near = nearest(relativePath, files);
    return ["bad", `it is not there${near ? `; nearest: ${near}` : ""}`];
  }
  const where = file === path.posix.normalize(name) ? "" : file;
  if (!line)
    return [
      "good",
      [where || "it is there", matches.length > 1 ? `and ${matches.length - 1} more` : ""]
        .join(" ")
        .trim(),
    ];
  const lines = (await ctx.files.read(file)).text.replace(/\n$/, "").split("\n");
  const start = where && `${where}: `;
  if (end! > lines.length) return ["bad", `${start}it has ${plural(lines.length, "line")}`];
  return ["good", `${start}\`${lines[line - 1]!.trim().slice(0, 100)}\``];
}

async function checkSymbol(name: string, ownCode: string, ctx: Ctx): Promise<Verdict> {
  const { data } = await ctx.call("find_definition", { symbol: name });
  const similar = (data as Definition[] | undefined) ?? [];
  const definitions = similar.filter(
    (definition) => definition.name === name || definition.name.endsWith(`.${name}`),
  );
  if (definitions.length) return ["good", placesOf(definitions)];
  const places = await placesOfWord(name, ctx);
  if (places.length) return ["good", `no definition of it, but ${placesOf(places)} names it`];
  const last = name.slice(name.lastIndexOf(".") + 1);
  if (isOfNode(last)) return ["good", "JavaScript's own, or Node's"];
  if (hasWord(ownCode, last))
    return ["open", "nowhere in the project; the answer's own code has it"];
  const [near] = similar;
  return [
    "bad",
    `nowhere in the project${near ? `; nearest: ${near.name}, ${placesOf([near])}` : ""}`,
  ];
}

/** Where it is written: also in what is no code, or of no language that the index knows. */
async function placesOfWord(name: string, ctx: Ctx): Promise<Place[]> {
  const dotted = name.replaceAll("$", "\\$").replaceAll(".", "(?:\\??\\.|::|#|->)");
  const { failed, data } = await ctx.call("grep", {
    query: `(?<![\\w$])${dotted}(?![\\w$])`,
    regex: true,
  });
  return failed ? [] : ((data as Place[] | undefined) ?? []);
}

const placesOf = ([first, ...others]: Place[]): string =>
  `${first!.path}:${first!.line}${others.length ? ` and ${others.length} more` : ""}`;

const hasWord = (text: string, word: string): boolean =>
  text.split(/[^\p{L}\p{N}_$]+/u).includes(word);

let nodesOwn: Set<string> | undefined;
function isOfNode(name: string): boolean {
  nodesOwn ??= new Set(
    [globalThis, ...MODULES.map((module) => process.getBuiltinModule(module)!)].flatMap(membersOf),
  );
  return nodesOwn.has(name);
}

/** By their descriptors, so that no getter is called. */
function membersOf(from: object): string[] {
  const members = Object.entries(Object.getOwnPropertyDescriptors(from));
  return members.flatMap(([name, { value }]) =>
    typeof value === "function" || name === "JSON" || name === "Math" || name === "console"
      ? [
          name,
          ...Object.getOwnPropertyNames(value),
          ...Object.getOwnPropertyNames(value.prototype ?? {}),
        ]
      : [name],
  );
}
