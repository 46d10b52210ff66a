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
const ALWAYS: ts.CompilerOptions = {
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
  constructor(gate: CompilerGate, root: string) {
    super();
    this.#gate = gate;
    this.#root = root;
  }
  /** Where the disk has it; undefined: it has moved away. */
  #real(file: string): string | undefined {
    const { from, to } = this.moved ?? {};
    if (to && isInside(to, file)) return from + file.slice(to.length);
    return from && isInside(from, file) ? undefined : file;
  }
  #is(file: string): fs.Stats | undefined {
    const real = this.#real(file);
    return real === undefined ? undefined : tryTo(() => fs.statSync(real));
  }
  override fileExistsSync(file: string): boolean {
    return this.#is(file)?.isFile() === true && this.#gate.mayLookUp(this.#real(file)!);
  }
  override directoryExistsSync(folder: string): boolean {
    return (
      this.#is(folder)?.isDirectory() === true &&
      (isInside(folder, this.#root) || this.#gate.mayList(folder))
    );
  }
  override readFileSync(file: string): string {
    const real = this.#real(file);
    const mayRead =
      real &&
      (path.basename(real) === "package.json"
        ? this.#gate.mayLookUp(real)
        : this.#gate.mayRead(real));
    if (!mayRead) throw new Error(`Cannot read '${file}'.`);
    return fs.readFileSync(real, "utf8");
  }
  override readDirSync(folder: string) {
    const names = this.directoryExistsSync(folder)
      ? fs.readdirSync(this.#real(folder)!, { withFileTypes: true })
      : [];
    return names.map((dirent) => ({
      name: path.posix.join(folder, dirent.name),
      isFile: dirent.isFile(),
      isDirectory: dirent.isDirectory(),
      isSymlink: dirent.isSymbolicLink(),
    }));
  }
  override realpathSync(file: string): string {
    return tryTo(() => fs.realpathSync(file)) ?? file;
  }
  override getCurrentDirectory(): string {
    return this.#root;
  }
}

export function openProject(order: RefactorRequest, gate: CompilerGate): OpenProject {
  const { root, names, paths } = order;
  const disk = new Disk(gate, root);
  const project = new Project({
    fileSystem: disk,
    compilerOptions: { ...optionsFor(path.join(root, paths[0]!), root, disk), ...ALWAYS },
  });
  for (const name of names) {
    const file = path.join(root, name);
    if ((tryTo(() => fs.statSync(file).size) ?? MAX_TEXT) < MAX_TEXT)
      project.addSourceFileAtPathIfExists(file);
  }
  const program = project.getProgram().compilerObject;
  for (const name of paths) {
    const source = program.getSourceFile(path.join(root, name));
    const [broken] = source ? program.getSyntacticDiagnostics(source) : [];
    if (broken)
      throw new Error(`its syntax is broken at ${sentenceOf(broken, root)} Correct that first.`);
  }
  return { ...order, project, disk, service: project.getLanguageService().compilerObject };
}

export const sourceOf = (
  { project, root }: Pick<OpenProject, "project" | "root">,
  name: string,
): SourceFile | undefined => project.getSourceFile(path.join(root, name));

/**
 * Of the nearest tsconfig.json or jsconfig.json; where it only names others, of the first of them.
 */
function optionsFor(file: string, root: string, disk: Disk): ts.CompilerOptions {
  for (let folder = path.dirname(file); isInside(root, folder); folder = path.dirname(folder)) {
    const config = ["tsconfig.json", "jsconfig.json"]
      .map((name) => path.join(folder, name))
      .find((configFile) => disk.fileExistsSync(configFile));
    if (config) return tryTo(() => optionsIn(config, disk)) ?? DEFAULTS;
  }
  return DEFAULTS;
}

function optionsIn(config: string, disk: Disk): ts.CompilerOptions {
  const host: ts.ParseConfigHost = {
    useCaseSensitiveFileNames: true,
    readDirectory: () => [],
    fileExists: (file) => disk.fileExistsSync(file),
    readFile: (file) => tryTo(() => disk.readFileSync(file)),
  };
  const { config: raw } = ts.readConfigFile(config, host.readFile);
  const folder = path.dirname(config);
  const [first] = raw?.files?.length === 0 && !raw.include ? (raw.references ?? []) : [];
  if (typeof first?.path === "string") {
    const to = path.join(folder, first.path);
    return optionsIn(to.endsWith(".json") ? to : `${to}/tsconfig.json`, disk);
  }
  const { options } = ts.parseJsonConfigFileContent(raw ?? {}, host, folder, {}, config);
  for (const name of [
    "noUnusedLocals",
    "noUnusedParameters",
    "outDir",
    "rootDir",
    "composite",
    "incremental",
  ])
    delete options[name];
  return { ...options, types: options.types ?? ["*"] }; // "*": all that are installed
}

/** How a file is written, for what is put into it. */
export function styleOf(source: SourceFile): ts.FormatCodeSettings {
  const text = source.getFullText();
  const indents = text.match(/^(?:\t| {2,8}(?=\S))/gm) ?? [];
  const tabs = indents.filter((indent) => indent === "\t").length;
  const least = Math.min(
    ...indents.filter((indent) => indent !== "\t").map(({ length }) => length),
  );
  const isTabbed = tabs * 2 > indents.length;
  const indentSize = isTabbed || !Number.isFinite(least) ? 2 : least;
  const semicolons =
    /;\r?$/m.test(text) || !/\n/.test(text)
      ? ts.SemicolonPreference.Ignore
      : ts.SemicolonPreference.Remove;
  return {
    ...ts.getDefaultFormatCodeSettings(/\r\n/.test(text) ? "\r\n" : "\n"),
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

export function applyEdits(text: string, edits: Edit[]): string {
  const sorted = [...edits].sort((a, b) => a.start - b.start || a.end - b.end);
  return sorted.reduceRight(
    (newText, { start, end, text: put }) => newText.slice(0, start) + put + newText.slice(end),
    text,
  );
}

/** Makes the edits in memory and refuses what would be wrong then and was not before. */
export function changesOf(opened: OpenProject, { edits }: Plan): Change[] {
  const { project, root, disk } = opened;
  const before = project.getProgram().compilerObject;
  const { from, to } = disk.moved ?? {};
  const newPath = (file: string) =>
    from && isInside(from, file) ? to + file.slice(from.length) : file;
  const byFile = Map.groupBy(edits, ({ file }) => file);
  const files = project.getSourceFiles().map((sourceFile) => sourceFile.getFilePath() as string);
  const movedFiles = files.filter((file) => newPath(file) !== file);
  const changed = new Set([...byFile.keys(), ...movedFiles]);
  const others = files.filter((file) => !file.includes("/node_modules/"));
  const until = performance.now() + CHECK_MS;
  const problems = disk.moved ? lostImports : problemsIn;
  const knownProblems = new Map<string, string[]>();
  for (const file of new Set([...changed, ...others]))
    if (disk.moved || changed.has(file) || performance.now() < until)
      knownProblems.set(file, problems(before, file).map(problemKey));
  const texts = [...changed].map((file) => {
    const text = project.getSourceFileOrThrow(file).getFullText();
    return { file, text, after: applyEdits(text, byFile.get(file) ?? []) };
  });
  for (const file of movedFiles) project.getSourceFileOrThrow(file).forget();
  for (const { file, after } of texts)
    project.createSourceFile(newPath(file), after, { overwrite: true });
  const after = project.getProgram().compilerObject;
  for (const [file, remainingKinds] of knownProblems)
    for (const problem of problems(after, newPath(file))) {
      const index = remainingKinds.indexOf(problemKey(problem));
      if (index < 0) throw new Error(`it would be wrong at ${sentenceOf(problem, root)}`);
      remainingKinds.splice(index, 1);
    }
  return texts
    .filter(({ text, after }) => text !== after)
    .map(({ file, text, after }) => ({ path: path.relative(root, file), before: text, after }));
}

/**
 * Of a move only imports can be wrong, which takes a tenth of the time to see, so that all files
 * are looked at.
 */
function lostImports(program: ts.Program, file: string): ts.Diagnostic[] {
  const inner = program as unknown as {
    getResolvedModuleFromModuleSpecifier(
      literal: ts.Node,
      of: ts.SourceFile,
    ): ts.ResolvedModuleWithFailedLookupLocations | undefined;
  };
  const source = program.getSourceFile(file) as
    | (ts.SourceFile & { imports?: ts.StringLiteralLike[] })
    | undefined;
  const lost = (source?.imports ?? []).filter(
    (literal) =>
      literal.pos >= 0 &&
      !inner.getResolvedModuleFromModuleSpecifier(literal, source!)?.resolvedModule,
  );
  const [category, code] = [ts.DiagnosticCategory.Error, 0];
  return lost.map((literal) => ({
    category,
    code,
    file: source,
    start: literal.getStart(source),
    length: 0,
    messageText: `nothing is at '${literal.text}'`,
  }));
}

const problemsIn = (program: ts.Program, file: string): ts.Diagnostic[] => {
  const source = program.getSourceFile(file);
  return source
    ? [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    : [];
};
/** Whatever it is about. */
const problemKey = ({ code, messageText }: ts.Diagnostic): string =>
  `${code} ${ts.flattenDiagnosticMessageText(messageText, " ").replace(/'[^']*'/g, "''")}`;

function sentenceOf({ file, start = 0, messageText }: ts.Diagnostic, root: string): string {
  const line = file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
  const text = ts.flattenDiagnosticMessageText(messageText, " ").replace(/[.\s]*$/, ".");
  return `${path.relative(root, file?.fileName ?? "")}:${line}: ${text}`;
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
    return !STEPS.has(node.getOperatorToken()) && isPlain(node.getOperand());
  if (Node.isPropertyAssignment(node))
    return !Node.isComputedPropertyName(node.getNameNode()) && isPlain(node.getInitializer());
  if (Node.isShorthandPropertyAssignment(node)) return true;
  if (PARTS.some((is) => is(node)))
    return node.forEachChildAsArray().every((part) => Node.isTypeNode(part) || isPlain(part));
  return false;
}
const PLAIN_WORDS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.TrueKeyword,
  ts.SyntaxKind.FalseKeyword,
  ts.SyntaxKind.NullKeyword,
  ts.SyntaxKind.ThisKeyword,
]);
const STEPS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.PlusPlusToken,
  ts.SyntaxKind.MinusMinusToken,
]);
const PARTS = [
  Node.isObjectLiteralExpression,
  Node.isArrayLiteralExpression,
  Node.isParenthesizedExpression,
  Node.isAsExpression,
  Node.isSatisfiesExpression,
  Node.isNonNullExpression,
  Node.isConditionalExpression,
] as const;
