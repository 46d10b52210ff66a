// The project as ts-morph reads it: through the gate, and with what a refactoring would change laid
// over the disk. Nothing is written here: the changes are handed to zz, which shows them.
import fs from "node:fs";
import path from "node:path";
import { InMemoryFileSystemHost, Node, Project, type SourceFile, ts } from "ts-morph";
import type { CompilerGate } from "zz";
import { isInside, tryTo } from "zz/text";

/** What one call asks for; paths are relative to the root. */
export interface RefactorRequest {
  action: string;
  root: string;
  names: string[]; // the scripts of the project that may be read
  hidden: string[]; // those that may not be read
  allFiles: string[]; // move: all files that are not ignored
  paths: string[]; // what it is about: files, or the folder or file that moves
  to?: string | undefined;
  name?: string | undefined;
  parameters?: string[] | undefined;
  value?: string | undefined;
  code?: string | undefined;
  line?: number | undefined;
}
/** `start` and `end` count in the file's text without its byte order mark. */
export type Edit = { file: string; start: number; end: number; text: string };
/**
 * `seen`: the uses that were looked at, as "path:line", for those that can be looked up elsewhere
 * too. `dropped`: what calls passed.
 */
export type Plan = { edits: Edit[]; summary: string; seen?: string[]; dropped?: string[] };
export type Change = { path: string; before: string; after: string };

export interface OpenProject extends RefactorRequest {
  project: Project;
  service: ts.LanguageService;
  disk: Disk;
}

const DEFAULTS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.Preserve,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  jsx: ts.JsxEmit.Preserve,
  strict: true,
};
const FORCED_OPTIONS: ts.CompilerOptions = {
  allowJs: true,
  checkJs: true,
  noEmit: true,
  skipLibCheck: true,
  resolveJsonModule: true,
};
const CHECK_MS = 3_000; // that files which do not change are looked through for problems
const MAX_TEXT = 1_000_000; // characters of a script; what is longer was made by a program

/**
 * The disk, read through the gate; what is written stays in memory. `moved`: a path seems to be
 * elsewhere.
 */
class Disk extends InMemoryFileSystemHost {
  moved?: { from: string; to: string };
  readonly #gate: CompilerGate;
  readonly #root: string;
  constructor(fileGate: CompilerGate, root: string) {
    super();
    this.#gate = fileGate;
    this.#root = root;
  }
  /** Where the disk has it; undefined: it has moved away. */
  #real(filePath: string): string | undefined {
    const { from, to } = this.moved ?? {};
    if (to && isInside(to, filePath)) return from + filePath.slice(to.length);
    return from && isInside(from, filePath) ? undefined : filePath;
  }
  #is(filePath: string): fs.Stats | undefined {
    const realPath = this.#real(filePath);
    return realPath === undefined ? undefined : tryTo(() => fs.statSync(realPath));
  }
  override fileExistsSync(filePath: string): boolean {
    return this.#is(filePath)?.isFile() === true && this.#gate.mayLookUp(this.#real(filePath)!);
  }
  override directoryExistsSync(folderPath: string): boolean {
    return (
      this.#is(folderPath)?.isDirectory() === true &&
      (isInside(folderPath, this.#root) || this.#gate.mayList(folderPath))
    );
  }
  override readFileSync(filePath: string): string {
    const realPath = this.#real(filePath);
    const mayRead =
      realPath &&
      (path.basename(realPath) === "package.json"
        ? this.#gate.mayLookUp(realPath)
        : this.#gate.mayRead(realPath));
    if (!mayRead) throw new Error(`Cannot read '${filePath}'.`);
    return fs.readFileSync(realPath, "utf8");
  }
  override readDirSync(folderPath: string) {
    const dirents = this.directoryExistsSync(folderPath)
      ? fs.readdirSync(this.#real(folderPath)!, { withFileTypes: true })
      : [];
    return dirents.map((dirent) => ({
      name: path.posix.join(folderPath, dirent.name),
      isFile: dirent.isFile(),
      isDirectory: dirent.isDirectory(),
      isSymlink: dirent.isSymbolicLink(),
    }));
  }
  override realpathSync(filePath: string): string {
    return tryTo(() => fs.realpathSync(filePath)) ?? filePath;
  }
  override getCurrentDirectory(): string {
    return this.#root;
  }
}

export function openProject(request: RefactorRequest, fileGate: CompilerGate): OpenProject {
  const { root, names, paths } = request;
  const disk = new Disk(fileGate, root);
  const project = new Project({
    fileSystem: disk,
    compilerOptions: { ...optionsFor(path.join(root, paths[0]!), root, disk), ...FORCED_OPTIONS },
  });
  for (const scriptPath of names) {
    const absolutePath = path.join(root, scriptPath);
    if ((tryTo(() => fs.statSync(absolutePath).size) ?? MAX_TEXT) < MAX_TEXT)
      project.addSourceFileAtPathIfExists(absolutePath);
  }
  const program = project.getProgram().compilerObject;
  for (const requestedPath of paths) {
    const sourceFile = program.getSourceFile(path.join(root, requestedPath));
    const [syntaxError] = sourceFile ? program.getSyntacticDiagnostics(sourceFile) : [];
    if (syntaxError)
      throw new Error(
        `its syntax is broken at ${sentenceOf(syntaxError, root)} Correct that first.`,
      );
  }
  return { ...request, project, disk, service: project.getLanguageService().compilerObject };
}

export const sourceOf = (
  { project, root }: Pick<OpenProject, "project" | "root">,
  relativePath: string,
): SourceFile | undefined => project.getSourceFile(path.join(root, relativePath));

/**
 * Of the nearest tsconfig.json or jsconfig.json; where it only names others, of the first of them.
 */
function optionsFor(filePath: string, root: string, disk: Disk): ts.CompilerOptions {
  for (let folder = path.dirname(filePath); isInside(root, folder); folder = path.dirname(folder)) {
    const configPath = ["tsconfig.json", "jsconfig.json"]
      .map((fileName) => path.join(folder, fileName))
      .find((configFile) => disk.fileExistsSync(configFile));
    if (configPath) return tryTo(() => optionsIn(configPath, disk)) ?? DEFAULTS;
  }
  return DEFAULTS;
}

function optionsIn(configPath: string, disk: Disk): ts.CompilerOptions {
  const parseHost: ts.ParseConfigHost = {
    useCaseSensitiveFileNames: true,
    readDirectory: () => [],
    fileExists: (filePath) => disk.fileExistsSync(filePath),
    readFile: (filePath) => tryTo(() => disk.readFileSync(filePath)),
  };
  const { config: rawConfig } = ts.readConfigFile(configPath, parseHost.readFile);
  const configFolder = path.dirname(configPath);
  const [firstReference] =
    rawConfig?.files?.length === 0 && !rawConfig.include ? (rawConfig.references ?? []) : [];
  if (typeof firstReference?.path === "string") {
    const referencedPath = path.join(configFolder, firstReference.path);
    return optionsIn(
      referencedPath.endsWith(".json") ? referencedPath : `${referencedPath}/tsconfig.json`,
      disk,
    );
  }
  const { options } = ts.parseJsonConfigFileContent(
    rawConfig ?? {},
    parseHost,
    configFolder,
    {},
    configPath,
  );
  for (const optionName of [
    "noUnusedLocals",
    "noUnusedParameters",
    "outDir",
    "rootDir",
    "composite",
    "incremental",
  ])
    delete options[optionName];
  return { ...options, types: options.types ?? ["*"] }; // "*": all that are installed
}

/** How a file is written, for what is put into it. */
export function styleOf(sourceFile: SourceFile): ts.FormatCodeSettings {
  const sourceText = sourceFile.getFullText();
  const indents = sourceText.match(/^(?:\t| {2,8}(?=\S))/gm) ?? [];
  const ofSpaces = indents.filter((indent) => indent !== "\t").map(({ length }) => length);
  const isTabbed = indents.length > ofSpaces.length * 2;
  const indentSize = isTabbed || !ofSpaces.length ? 2 : Math.min(...ofSpaces);
  const semicolons =
    /;\r?$/m.test(sourceText) || !/\n/.test(sourceText)
      ? ts.SemicolonPreference.Ignore
      : ts.SemicolonPreference.Remove;
  return {
    ...ts.getDefaultFormatCodeSettings(/\r\n/.test(sourceText) ? "\r\n" : "\n"),
    indentSize,
    tabSize: indentSize,
    convertTabsToSpaces: !isTabbed,
    semicolons,
  };
}

export const editsOf = (changes: readonly ts.FileTextChanges[]): Edit[] =>
  changes.flatMap(({ fileName, textChanges }) =>
    textChanges.map(({ span: { start, length }, newText }) => ({
      file: fileName,
      start,
      end: start + length,
      text: newText,
    })),
  );

export function applyEdits(originalText: string, edits: Edit[]): string {
  const sortedEdits = edits.toSorted(
    (first, second) => first.start - second.start || first.end - second.end,
  );
  return sortedEdits.reduceRight(
    (newText, { start, end, text: insertedText }) =>
      newText.slice(0, start) + insertedText + newText.slice(end),
    originalText,
  );
}

/** Where a file will be. */
export const newPathBy =
  (moved?: Disk["moved"]) =>
  (oldPath: string): string =>
    moved && isInside(moved.from, oldPath) ? moved.to + oldPath.slice(moved.from.length) : oldPath;

/** Makes the edits in memory and refuses what would be wrong then and was not before. */
export function changesOf({ project, root, disk }: OpenProject, edits: Edit[]): Change[] {
  const programBefore = project.getProgram().compilerObject;
  const newPath = newPathBy(disk.moved);
  const editsByFile = Map.groupBy(edits, ({ file }) => file);
  const sourcePaths = project
    .getSourceFiles()
    .map((sourceFile) => sourceFile.getFilePath() as string);
  const movedFiles = sourcePaths.filter((filePath) => newPath(filePath) !== filePath);
  const changed = new Set([...editsByFile.keys(), ...movedFiles]);
  const projectFiles = sourcePaths.filter((filePath) => !filePath.includes("/node_modules/"));
  const deadline = performance.now() + CHECK_MS;
  const problems = disk.moved ? lostImports : problemsIn;
  const knownProblems = new Map<string, string[]>();
  for (const filePath of new Set([...changed, ...projectFiles]))
    if (disk.moved || changed.has(filePath) || performance.now() < deadline)
      knownProblems.set(filePath, problems(programBefore, filePath).map(problemKey));
  const rewrittenFiles = [...changed].map((file) => {
    const text = project.getSourceFileOrThrow(file).getFullText();
    return { file, text, after: applyEdits(text, editsByFile.get(file) ?? []) };
  });
  for (const movedFile of movedFiles) project.getSourceFileOrThrow(movedFile).forget();
  for (const { file, after } of rewrittenFiles)
    project.createSourceFile(newPath(file), after, { overwrite: true });
  const programAfter = project.getProgram().compilerObject;
  for (const [filePath, remainingKinds] of knownProblems)
    for (const problem of problems(programAfter, newPath(filePath))) {
      const problemIndex = remainingKinds.indexOf(problemKey(problem));
      if (problemIndex < 0) throw new Error(`it would be wrong at ${sentenceOf(problem, root)}`);
      remainingKinds.splice(problemIndex, 1);
    }
  return rewrittenFiles
    .filter(({ text, after }) => text !== after)
    .map(({ file, text, after }) => ({ path: path.relative(root, file), before: text, after }));
}

/**
 * Of a move only imports can be wrong, which takes a tenth of the time to see, so that all files
 * are looked at.
 */
function lostImports(program: ts.Program, filePath: string): ts.Diagnostic[] {
  const sourceFile = program.getSourceFile(filePath);
  // both are TypeScript's own, without a type
  const imports: ts.StringLiteralLike[] = (sourceFile as any)?.imports ?? [];
  const leadOf = (literal: ts.Node) =>
    (program as any).getResolvedModuleFromModuleSpecifier(literal, sourceFile)?.resolvedModule;
  const lostLiterals = imports.filter((literal) => literal.pos >= 0 && !leadOf(literal));
  return lostLiterals.map((literal) => ({
    category: ts.DiagnosticCategory.Error,
    code: 0,
    file: sourceFile,
    start: literal.getStart(sourceFile),
    length: 0,
    messageText: `nothing is at '${literal.text}'`,
  }));
}

const problemsIn = (program: ts.Program, filePath: string): ts.Diagnostic[] => {
  const sourceFile = program.getSourceFile(filePath);
  return sourceFile
    ? [
        ...program.getSyntacticDiagnostics(sourceFile),
        ...program.getSemanticDiagnostics(sourceFile),
      ]
    : [];
};
/** Whatever it is about. */
const problemKey = ({ code, messageText }: ts.Diagnostic): string =>
  `${code} ${ts.flattenDiagnosticMessageText(messageText, " ").replace(/'[^']*'/g, "''")}`;

function sentenceOf({ file, start = 0, messageText }: ts.Diagnostic, root: string): string {
  const lineNumber = file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
  const sentence = ts.flattenDiagnosticMessageText(messageText, " ").replace(/[.\s]*$/, ".");
  return `${path.relative(root, file?.fileName ?? "")}:${lineNumber}: ${sentence}`;
}

/** Whether it does nothing but give a value, whenever and however often that is. */
export function isPlain(node: Node | undefined): boolean {
  if (!node) return false;
  const { compilerNode } = node;
  if (ts.isFunctionLike(compilerNode) || Node.isIdentifier(node) || Node.isLiteralExpression(node))
    return true;
  if (PLAIN_WORDS.has(node.getKind())) return true;
  if (Node.isBinaryExpression(node)) {
    const operator = node.getOperatorToken().getKind();
    const assigns =
      operator >= ts.SyntaxKind.FirstAssignment && operator <= ts.SyntaxKind.LastAssignment;
    return !assigns && isPlain(node.getLeft()) && isPlain(node.getRight());
  }
  if (Node.isPrefixUnaryExpression(node))
    return !STEP_OPERATORS.has(node.getOperatorToken()) && isPlain(node.getOperand());
  if (Node.isPropertyAssignment(node))
    return !Node.isComputedPropertyName(node.getNameNode()) && isPlain(node.getInitializer());
  if (Node.isShorthandPropertyAssignment(node)) return true;
  if (COMPOSITE_KINDS.some((isComposite) => isComposite(node)))
    return node
      .forEachChildAsArray()
      .every((childNode) => Node.isTypeNode(childNode) || isPlain(childNode));
  return false;
}
const PLAIN_WORDS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.TrueKeyword,
  ts.SyntaxKind.FalseKeyword,
  ts.SyntaxKind.NullKeyword,
  ts.SyntaxKind.ThisKeyword,
]);
const STEP_OPERATORS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.PlusPlusToken,
  ts.SyntaxKind.MinusMinusToken,
]);
const COMPOSITE_KINDS = [
  Node.isObjectLiteralExpression,
  Node.isArrayLiteralExpression,
  Node.isParenthesizedExpression,
  Node.isAsExpression,
  Node.isSatisfiesExpression,
  Node.isNonNullExpression,
  Node.isConditionalExpression,
] as const;
