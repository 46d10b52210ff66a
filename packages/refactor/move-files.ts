// A file or folder that moves, and what leads to it and from it.
import fs from "node:fs";
import path from "node:path";
import { type SourceFile, ts } from "ts-morph";
import { isInside, tryTo } from "zz/text";
import { type Edit, editsOf, newPathBy, type OpenProject, type Plan, sourceOf } from "./project.ts";

/** Where a file will be. */
type NewPath = ReturnType<typeof newPathBy>;

/** Calls whose first argument is a module, as seen from the file. */
const MODULE_CALLS = /^(import|require(\.\w+)?|import\.meta\.resolve|(jest|vi)\.\w+)$/;
const SCRIPT_END = /\.([cm]?)js(x?)$/;
const FILE_ENDINGS = [
  "",
  ".ts",
  ".tsx",
  ".mts",
  ".cts",
  ".d.ts",
  ".js",
  ".jsx",
  ".mjs",
  ".cjs",
  ".json",
];

export function move(openedProject: OpenProject): Plan {
  const { root, names, paths, service, disk, project } = openedProject;
  const [from, to] = [path.join(root, paths[0]!), path.join(root, openedProject.to!)];
  const newPath = newPathBy({ from, to });
  const edits: Edit[] = [];
  const isFollowed = new Set<string>(); // by file and place
  const aliases = aliasesOf(openedProject);
  for (const scriptPath of names) {
    const sourceFile = sourceOf(openedProject, scriptPath);
    for (const literalEdit of sourceFile ? literalsOf(sourceFile) : []) {
      const text = RELATIVE.test(literalEdit.text)
        ? newSpecifier(literalEdit, newPath)
        : newAliased(literalEdit, aliases, newPath);
      if (text === undefined) continue;
      isFollowed.add(`${literalEdit.file} ${literalEdit.start}`);
      if (text !== literalEdit.text) edits.push({ ...literalEdit, text });
    }
  }
  // What is not a path to a file: aliases of scripts, packages.
  for (const renameEdit of editsOf(service.getEditsForFileRename(from, to, {}, {})))
    if (
      !isFollowed.has(`${renameEdit.file} ${renameEdit.start}`) &&
      project.getSourceFile(renameEdit.file) &&
      isInside(root, renameEdit.file) &&
      !renameEdit.file.includes("/node_modules/")
    )
      edits.push(renameEdit);
  for (const scriptPath of names) checkPatterns(openedProject, scriptPath, newPath);
  disk.moved = { from, to };
  return { edits, summary: `Moved ${paths[0]} to ${openedProject.to}` };
}

/**
 * The paths that lead to other files: TypeScript would write "./a.js" for "./a.ts", and misses
 * styles, mocks and workers. Also names, which may be aliases.
 */
function literalsOf(sourceFile: SourceFile): Edit[] {
  const file = sourceFile.getFilePath();
  const literals: Edit[] = [];
  const visitNode = (node: ts.Node): void => {
    if (
      ts.isStringLiteralLike(node) &&
      isModulePath(node, sourceFile.compilerNode) &&
      (RELATIVE.test(node.text) || !ts.isNewExpression(node.parent))
    )
      literals.push({ file, start: node.getStart() + 1, end: node.getEnd() - 1, text: node.text });
    ts.forEachChild(node, visitNode);
  };
  // not by ts-morph's own nodes: those of 800 files take a minute and a gigabyte
  visitNode(sourceFile.compilerNode);
  return literals;
}

const RELATIVE = /^\.\.?(\/|$)/;

function isModulePath(node: ts.Node, sourceFile: ts.SourceFile): boolean {
  const { parent } = node;
  if (
    ts.isImportDeclaration(parent) ||
    ts.isExportDeclaration(parent) ||
    ts.isExternalModuleReference(parent)
  )
    return true;
  if (ts.isLiteralTypeNode(parent)) return ts.isImportTypeNode(parent.parent);
  if (ts.isNewExpression(parent))
    return parent.arguments?.[1]?.getText(sourceFile) === "import.meta.url";
  return (
    ts.isCallExpression(parent) &&
    parent.arguments[0] === node &&
    MODULE_CALLS.test(parent.expression.getText(sourceFile))
  );
}

/** What takes files by a pattern has to take the same ones then. */
function checkPatterns(openedProject: OpenProject, scriptPath: string, newPath: NewPath): void {
  const { root, allFiles } = openedProject;
  const sourceFile = sourceOf(openedProject, scriptPath)?.compilerNode;
  if (!sourceFile || !PATTERNS.test(sourceFile.text)) return;
  const isTaken = (pattern: string, patternFile: string, candidate: string) => {
    const [fixedPrefix = ""] = /^[^*?[{(!+@]*\//.exec(pattern) ?? [];
    const baseFolder = pattern.startsWith("/")
      ? path.join(root, fixedPrefix)
      : path.resolve(path.dirname(patternFile), fixedPrefix);
    const globRemainder = pattern.slice(fixedPrefix.length);
    return (
      isInside(baseFolder, candidate) &&
      path.matchesGlob(path.relative(baseFolder, candidate), globRemainder)
    );
  };
  const isTakenOtherwise = (pattern: string, otherFile: string) => {
    const movedPath = newPath(otherFile);
    if (/^(\.\.?)?\//.test(pattern))
      return (
        isTaken(pattern, sourceFile.fileName, otherFile) !==
        isTaken(pattern, newPath(sourceFile.fileName), movedPath)
      );
    // it begins with an alias, which may lead to any folder
    const anywhere = `/${pattern.replace(/^[^/]*/, "**")}`;
    return movedPath !== otherFile && isTaken(anywhere, "", otherFile);
  };
  const visitNode = (node: ts.Node): void => {
    const pattern = patternOf(node, sourceFile)?.replace(/^!/, "");
    if (pattern && allFiles.some((file) => isTakenOtherwise(pattern, path.join(root, file)))) {
      const { line } = sourceFile.getLineAndCharacterOfPosition(node.getStart());
      throw new Error(
        `'${scriptPath}' takes files by '${pattern}' at line ${line + 1}, ` +
          "and would no longer take the same. Edit that first.",
      );
    }
    ts.forEachChild(node, visitNode);
  };
  visitNode(sourceFile);
}
const PATTERNS = /\bimport\.meta\.glob|\brequire\.context\(|\bimport\(|\brequire\(|\bURL\(/;

/** Templates lead to whatever their values make of them. */
function patternOf(node: ts.Node, sourceFile: ts.SourceFile): string | undefined {
  if (ts.isTemplateExpression(node) && isModulePath(node, sourceFile))
    return (
      node.head.text +
      node.templateSpans
        .map(({ literal }) => `*${literal.text}`)
        .join("")
        .replace(QUERY_SUFFIX, "")
    );
  if (!ts.isStringLiteralLike(node)) return undefined;
  const argument = ts.isArrayLiteralExpression(node.parent) ? node.parent : node;
  const { parent } = argument;
  if (!ts.isCallExpression(parent) || parent.arguments[0] !== argument) return undefined;
  const calleeText = parent.expression.getText(sourceFile);
  if (calleeText === "require.context") return `${node.text.replace(/\/$/, "")}/**`;
  if (!/^import\.meta\.glob(Eager)?$/.test(calleeText)) return undefined;
  const baseFolder = readBaseFolder(parent.arguments[1], sourceFile);
  const isSeenFromBase = baseFolder && !node.text.replace(/^!/, "").startsWith("/");
  return isSeenFromBase
    ? `${baseFolder.replace(/\/$/, "")}/${node.text.replace(/^!?(\.\/)?/, "")}`
    : node.text;
}

/** `base` of the options: the folder from which the patterns go, as seen from the file. */
function readBaseFolder(
  options: ts.Node | undefined,
  sourceFile: ts.SourceFile,
): string | undefined {
  if (!options || !ts.isObjectLiteralExpression(options)) return undefined;
  for (const property of options.properties)
    if (
      ts.isPropertyAssignment(property) &&
      /^(["']?)base\1$/.test(property.name.getText(sourceFile))
    )
      return ts.isStringLiteralLike(property.initializer) ? property.initializer.text : undefined;
  return undefined;
}

/**
 * The path from where the file will be, written as it was: with or without its ending. Undefined:
 * it leads to no file.
 */
function newSpecifier({ file, text }: Edit, newPath: NewPath): string | undefined {
  const [querySuffix = ""] = QUERY_SUFFIX.exec(text) ?? []; // for a bundler: ?raw, ?url
  const resolvedPath = path.resolve(path.dirname(file), text.replace(QUERY_SUFFIX, ""));
  const possibleEndings = [
    ...FILE_ENDINGS,
    ...FILE_ENDINGS.map((fileEnding) => `/index${fileEnding}`),
  ]; // what the text leaves out
  const asScript = resolvedPath.replace(SCRIPT_END, ".$1ts$2"); // imported as what it is built to
  const existingFile = [...possibleEndings.map((ending) => resolvedPath + ending), asScript].find(
    (candidate) => tryTo(() => fs.statSync(candidate))?.isFile(),
  );
  if (!existingFile) return undefined;
  const newFile = newPath(existingFile);
  if (newFile === existingFile && newPath(file) === file) return text;
  let goalPath = newFile.replace(/\.[^./]+$/, "");
  if (existingFile.startsWith(resolvedPath)) {
    const leftOut = existingFile.slice(resolvedPath.length);
    if (newFile.endsWith(leftOut)) goalPath = newFile.slice(0, newFile.length - leftOut.length);
  } else goalPath += path.extname(resolvedPath);
  const specifier = path.relative(path.dirname(newPath(file)), goalPath) || ".";
  return (specifier.startsWith(".") ? specifier : `./${specifier}`) + querySuffix;
}
const QUERY_SUFFIX = /[?#].*$/s;

/** "@/*" for "src/*": `name` is what stands before the star, `folder` what that means. */
type Alias = { name: string; folder: string };
function aliasesOf({ root, project }: OpenProject): Alias[] {
  const { paths = {}, baseUrl, pathsBasePath = baseUrl ?? root } = project.getCompilerOptions();
  return Object.entries(paths).flatMap(([aliasPattern, folders]) =>
    folders
      .filter((folderPattern) => aliasPattern.endsWith("*") && folderPattern.endsWith("/*"))
      .map((folderPattern) => ({
        name: aliasPattern.slice(0, -1),
        folder: path.resolve(String(pathsBasePath), folderPattern.slice(0, -1)),
      })),
  );
}

/**
 * What TypeScript does not follow by an alias: queries, and files that are no scripts. Undefined:
 * it leads to no such file.
 */
function newAliased({ file, text }: Edit, aliases: Alias[], newPath: NewPath): string | undefined {
  for (const { name, folder } of aliases) {
    if (!text.startsWith(name)) continue;
    const inFolder = text.slice(name.length); // the name itself may be "#"
    const [querySuffix = ""] = QUERY_SUFFIX.exec(inFolder) ?? [];
    const resolvedPath = path.join(folder, inFolder.replace(QUERY_SUFFIX, ""));
    const fileEnding = FILE_ENDINGS.find((ending) =>
      tryTo(() => fs.statSync(resolvedPath + ending))?.isFile(),
    );
    if (
      fileEnding === undefined ||
      (!querySuffix && FILE_ENDINGS.includes(fileEnding || path.extname(resolvedPath)))
    )
      continue;
    const movedPath = newPath(resolvedPath + fileEnding);
    if (movedPath === resolvedPath + fileEnding) return text;
    const goalPath = movedPath.endsWith(fileEnding)
      ? movedPath.slice(0, movedPath.length - fileEnding.length)
      : movedPath;
    if (isInside(folder, goalPath))
      return `${name}${path.relative(folder, goalPath)}${querySuffix}`;
    const relativePath = path.relative(path.dirname(newPath(file)), goalPath);
    return `${relativePath.startsWith(".") ? relativePath : `./${relativePath}`}${querySuffix}`;
  }
  return undefined;
}
