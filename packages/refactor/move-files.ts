// A file or folder that moves, and what leads to it and from it.
import fs from "node:fs";
import path from "node:path";
import { type SourceFile, ts } from "ts-morph";
import { isInside, tryTo } from "zz/text";
import { type Edit, editsOf, type OpenProject, type Plan, sourceOf } from "./project.ts";

/** Calls whose first argument is a module, as seen from the file. */
const LEADS = /^(import|require(\.\w+)?|import\.meta\.resolve|(jest|vi)\.\w+)$/;
const SCRIPT_END = /\.([cm]?)js(x?)$/;
const ENDS = ["", ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".json"];

export function move(opened: OpenProject): Plan {
  const { root, paths, to, service, disk, project } = opened;
  const [from, target] = [path.join(root, paths[0]!), path.join(root, to!)];
  const edits: Edit[] = [];
  const isFollowed = new Set<string>(); // by file and place
  const aliases = aliasesOf(opened);
  for (const name of opened.names) {
    const source = sourceOf(opened, name);
    for (const edit of source ? literalsOf(source) : []) {
      const text = RELATIVE.test(edit.text)
        ? newSpecifier(edit, from, target)
        : newAliased(edit, aliases, from, target);
      if (text === undefined) continue;
      isFollowed.add(`${edit.file} ${edit.start}`);
      if (text !== edit.text) edits.push({ ...edit, text });
    }
  }
  // What is not a path to a file: aliases of scripts, packages.
  for (const edit of editsOf(service.getEditsForFileRename(from, target, {}, {})))
    if (!isFollowed.has(`${edit.file} ${edit.start}`) && project.getSourceFile(edit.file))
      if (isInside(root, edit.file) && !edit.file.includes("/node_modules/")) edits.push(edit);
  for (const name of opened.names) checkPatterns(opened, name, from, target);
  disk.moved = { from, to: target };
  return { edits, summary: `Moved ${paths[0]} to ${to}` };
}

/**
 * The paths that lead to other files: TypeScript would write "./a.js" for "./a.ts", and misses
 * styles, mocks and workers. Also names, which may be aliases.
 */
function literalsOf(source: SourceFile): Edit[] {
  const [file, literals] = [source.getFilePath() as string, [] as Edit[]];
  const visit = (node: ts.Node): void => {
    if (
      ts.isStringLiteralLike(node) &&
      isLead(node, source.compilerNode) &&
      (RELATIVE.test(node.text) || !ts.isNewExpression(node.parent))
    )
      literals.push({ file, start: node.getStart() + 1, end: node.getEnd() - 1, text: node.text });
    ts.forEachChild(node, visit);
  };
  // not by ts-morph's own nodes: those of 800 files take a minute and a gigabyte
  visit(source.compilerNode);
  return literals;
}

const RELATIVE = /^\.\.?(\/|$)/;

function isLead(node: ts.Node, source: ts.SourceFile): boolean {
  const { parent } = node;
  if (
    ts.isImportDeclaration(parent) ||
    ts.isExportDeclaration(parent) ||
    ts.isExternalModuleReference(parent)
  )
    return true;
  if (ts.isLiteralTypeNode(parent)) return ts.isImportTypeNode(parent.parent);
  if (ts.isNewExpression(parent))
    return parent.arguments?.[1]?.getText(source) === "import.meta.url";
  return (
    ts.isCallExpression(parent) &&
    parent.arguments[0] === node &&
    LEADS.test(parent.expression.getText(source))
  );
}

/** What takes files by a pattern has to take the same ones then. */
function checkPatterns(opened: OpenProject, name: string, from: string, target: string): void {
  const { root, allFiles } = opened;
  const source = sourceOf(opened, name)?.compilerNode;
  if (!source || !PATTERNS.test(source.text)) return;
  const newPath = (file: string) =>
    isInside(from, file) ? target + file.slice(from.length) : file;
  const isTaken = (pattern: string, by: string, file: string) => {
    const [fixed = ""] = /^[^*?[{(!+@]*\//.exec(pattern) ?? [];
    const folder = pattern.startsWith("/")
      ? path.join(root, fixed)
      : path.resolve(path.dirname(by), fixed);
    const rest = pattern.slice(fixed.length);
    return isInside(folder, file) && path.matchesGlob(path.relative(folder, file), rest);
  };
  const visit = (node: ts.Node): void => {
    const pattern = patternOf(node, source)?.replace(/^!/, "");
    const isElsewhere = pattern && !/^(\.\.?)?\//.test(pattern);
    for (const otherFile of pattern ? allFiles.map((file) => path.join(root, file)) : []) {
      const [before, after] = [
        isElsewhere ? pattern.replace(/^[^/]*/, "**") : pattern!,
        newPath(otherFile),
      ];
      if (isElsewhere && after === otherFile) continue;
      if (
        isElsewhere
          ? !isTaken(`/${before}`, "", otherFile)
          : isTaken(before, source.fileName, otherFile) ===
            isTaken(before, newPath(source.fileName), after)
      )
        continue;
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      throw new Error(
        `'${name}' takes files by '${pattern}' at line ${line + 1}, and would no longer take the same. Edit that first.`,
      );
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}
const PATTERNS = /\bimport\.meta\.glob|\brequire\.context\(|\bimport\(|\brequire\(|\bURL\(/;

/** Templates lead to whatever their values make of them. */
function patternOf(node: ts.Node, source: ts.SourceFile): string | undefined {
  if (ts.isTemplateExpression(node) && isLead(node, source))
    return (
      node.head.text +
      node.templateSpans
        .map(({ literal }) => `*${literal.text}`)
        .join("")
        .replace(QUERY, "")
    );
  if (!ts.isStringLiteralLike(node)) return undefined;
  const argument = ts.isArrayLiteralExpression(node.parent) ? node.parent : node;
  const { parent } = argument;
  if (!ts.isCallExpression(parent) || parent.arguments[0] !== argument) return undefined;
  const callee = parent.expression.getText(source);
  if (callee === "require.context") return `${node.text.replace(/\/$/, "")}/**`;
  if (!/^import\.meta\.glob(Eager)?$/.test(callee)) return undefined;
  const base = baseOf(parent.arguments[1], source);
  const isSeenFromBase = base && !node.text.replace(/^!/, "").startsWith("/");
  return isSeenFromBase
    ? `${base.replace(/\/$/, "")}/${node.text.replace(/^!?(\.\/)?/, "")}`
    : node.text;
}

/** `base` of the options: the folder from which the patterns go, as seen from the file. */
function baseOf(options: ts.Node | undefined, source: ts.SourceFile): string | undefined {
  if (!options || !ts.isObjectLiteralExpression(options)) return undefined;
  for (const one of options.properties)
    if (ts.isPropertyAssignment(one) && /^(["']?)base\1$/.test(one.name.getText(source)))
      return ts.isStringLiteralLike(one.initializer) ? one.initializer.text : undefined;
  return undefined;
}

/**
 * The path from where the file will be, written as it was: with or without its ending. Undefined:
 * it leads to no file.
 */
function newSpecifier(edit: Edit, from: string, target: string): string | undefined {
  const newPath = (file: string) =>
    isInside(from, file) ? target + file.slice(from.length) : file;
  const [query = ""] = QUERY.exec(edit.text) ?? []; // for a bundler: ?raw, ?url
  const meant = path.resolve(
    path.dirname(edit.file),
    edit.text.slice(0, edit.text.length - query.length),
  );
  const tails = [...ENDS, ...ENDS.map((end) => `/index${end}`)]; // what the text leaves out
  const asScript = meant.replace(SCRIPT_END, ".$1ts$2"); // imported as what it is built to
  const existingFile = [...tails.map((tail) => meant + tail), asScript].find((file) =>
    tryTo(() => fs.statSync(file))?.isFile(),
  );
  if (!existingFile) return undefined;
  if (newPath(existingFile) === existingFile && newPath(edit.file) === edit.file) return edit.text;
  const [tail, newFile] = [
    existingFile.startsWith(meant) ? existingFile.slice(meant.length) : "",
    newPath(existingFile),
  ];
  const withoutEnd = newFile.replace(/\.[^./]+$/, "");
  const bare = newFile.endsWith(tail) ? newFile.slice(0, newFile.length - tail.length) : withoutEnd;
  const goal = existingFile.startsWith(meant) ? bare : withoutEnd + path.extname(meant);
  const specifier = path.relative(path.dirname(newPath(edit.file)), goal) || ".";
  return (specifier.startsWith(".") ? specifier : `./${specifier}`) + query;
}
const QUERY = /[?#].*$/s;

/** "@/*" for "src/*": `name` is what stands before the star, `folder` what that means. */
type Alias = { name: string; folder: string };
function aliasesOf({ root, project }: OpenProject): Alias[] {
  const { paths = {}, baseUrl, pathsBasePath = baseUrl ?? root } = project.getCompilerOptions();
  return Object.entries(paths).flatMap(([name, folders]) =>
    folders
      .filter((folder) => name.endsWith("*") && folder.endsWith("/*"))
      .map((folder) => ({
        name: name.slice(0, -1),
        folder: path.resolve(String(pathsBasePath), folder.slice(0, -1)),
      })),
  );
}

/**
 * What TypeScript does not follow by an alias: queries, and files that are no scripts. Undefined:
 * it leads to no such file.
 */
function newAliased(
  { file, text }: Edit,
  aliases: Alias[],
  from: string,
  target: string,
): string | undefined {
  const [query = ""] = QUERY.exec(text) ?? [];
  for (const { name, folder } of aliases) {
    if (!text.startsWith(name)) continue;
    const meant = path.join(folder, text.slice(name.length, text.length - query.length));
    const end = ENDS.find((one) => tryTo(() => fs.statSync(meant + one))?.isFile());
    if (end === undefined || (!query && ENDS.includes(end || path.extname(meant)))) continue;
    if (!isInside(from, meant + end)) return text;
    const now = target + (meant + end).slice(from.length);
    const goal = now.endsWith(end) ? now.slice(0, now.length - end.length) : now;
    if (isInside(folder, goal)) return `${name}${path.relative(folder, goal)}${query}`;
    const way = path.relative(path.dirname(file), goal);
    return `${way.startsWith(".") ? way : `./${way}`}${query}`;
  }
  return undefined;
}
