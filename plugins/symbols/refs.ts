// What a name means: its uses, its renaming, and what is wrong in a file, by TypeScript's language service. It loads no more
// files than can matter and keeps what it loaded. Slow at the first question; made to run in a worker.
import { readdirSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path/posix";
import { getHeapStatistics } from "node:v8";
import { getLibFiles } from "@ts-morph/common";
import { ts } from "ts-morph";

/** A declaration as the index has it: on this line it begins, though its name may stand on a later one. */
export interface At {
  path: string; // relative to the project
  line: number; // from 1
  name: string; // also "default", "constructor", "#private", "some-key"
}
export interface Place {
  path: string;
  line: number; // from 1
  column: number; // from 1
  start: number; // in UTF-16 units of the text as it is read, in which a byte order mark is one
  end: number;
  text: string; // the line, trimmed, at most 120 characters
  kind: "definition" | "import" | "export" | "write" | "read" | "type" | "comment";
}
/** The places of one symbol; under another name it is a group of its own. */
export interface Group {
  symbol: string; // as TypeScript writes it: "function foo(): void"
  places: Place[];
}
export interface Edit {
  path: string;
  start: number;
  end: number;
  text: string;
}
type Change = Edit & { before: number }; // what stands there before the new name
export interface Renaming {
  edits: Edit[]; // by path, then from the start; none overlaps another
  refused?: string; // why there are none
}
export interface Problem {
  path: string;
  line: number;
  column: number;
  code: number;
  message: string;
  category: "error" | "warning" | "suggestion" | "message";
}
export interface Service {
  references(at: At): Group[];
  rename(at: At, to: string): Renaming;
  check(paths: string[]): Problem[];
  /** Every code file there is: before the first question, and whenever one came or went. */
  update(names: string[]): void;
  /** For idle time: one step towards answers at once, of about 50 ms but for the first. False: nothing is left to do. */
  warm(): boolean;
  close(): void;
}

/** One tsconfig.json or jsconfig.json, or none. */
interface Config {
  path: string; // "": none
  options: ts.CompilerOptions;
  cache: ts.ModuleResolutionCache;
  parts: Config[]; // it only names these
  files?: Set<string>; // what it is for, where another names it
}
/** What is loaded under one config. */
interface Slice {
  config: Config;
  roots: Set<string>;
  full: Set<string>; // parsed with the JSDoc, which holds references too; without, parsing takes 40 % less
  docs: Map<string, { version: string; format: unknown; source: Source }>;
  service: ts.LanguageService;
  program?: ts.Program; // as it was last
  seen: number; // how many it then had in full
  isMoved: boolean; // an import may lead elsewhere than it did
  cold: ts.Node[]; // what warm() has not looked at, the next last
}
/** `imports` is there once a program has it. */
type Source = ts.SourceFile & { imports?: readonly ts.StringLiteralLike[] };
interface Found {
  name: ts.Node;
  within: ts.Node[]; // from the file down to what it is the name of
}
/** One name that is another: imported, exported, inherited. "default" stands for `export =` as well. */
interface Link {
  how: "import" | "all" | "export" | "extends";
  from: string;
  to: string;
  module?: string; // the specifier
  isAmbient?: boolean; // within `declare module "name"`
}
type Acquired = [string, unknown, unknown, unknown, unknown, string, ts.ScriptKind | undefined, ParseOptions];
type ParseOptions = ts.CreateSourceFileOptions;

const LIB = "/zz-typescript-lib/";
const FEW = 2_000; // files: of more, only what a question needs is loaded
const LARGEST = 1_000_000; // bytes of a file that is loaded unasked
const KEPT = 2; // slices
const STEP = 40; // ms
const PATIENCE = 10_000; // ms that a rename looks for new problems
const LONGEST = 120; // characters
const K = ts.SyntaxKind;
const JSDOC = { all: ts.JSDocParsingMode.ParseAll, none: ts.JSDocParsingMode.ParseNone };

/** Not in the types, though TypeScript's own tools are made of them. */
const inner = ts as unknown as {
  getNameTable(source: ts.SourceFile): Map<ts.__String, number>;
  getTouchingPropertyName(source: ts.SourceFile, at: number): ts.Node;
  isPartOfTypeNode(node: ts.Node): boolean;
  isInJSDoc(node: ts.Node): boolean;
  isIdentifierText(text: string, target: ts.ScriptTarget): boolean;
  isStringANonContextualKeyword(text: string): boolean;
  unescapeLeadingUnderscores(text: ts.__String): string;
  getEmitDeclarations(options: ts.CompilerOptions): boolean;
  getEmitModuleResolutionKind(options: ts.CompilerOptions): ts.ModuleResolutionKind;
  getEmitScriptTarget(options: ts.CompilerOptions): ts.ScriptTarget;
  getSetExternalModuleIndicator(options: ts.CompilerOptions): (source: ts.SourceFile) => void;
  getImpliedNodeFormatForFileWorker(file: string, cache: unknown, host: unknown, options: ts.CompilerOptions): unknown;
};

/**
 * `usersOf`: the files that hold one of these names as an identifier, a string or in JSDoc; one too many costs time, one too
 * few a wrong answer. `globals`: the files whose declarations are seen without an import. `importsOf`: what a file imports
 * from, where that is known.
 */
export function openService(
  project: string,
  usersOf: (names: Set<string>) => string[],
  globals: () => string[],
  importsOf: (path: string) => string[] | undefined = () => undefined,
): Service {
  const root = realpathSync.native(project).replaceAll("\\", "/").replace(/\/$/, "");
  const libs = new Map(getLibFiles().map(({ fileName, text }) => [LIB + fileName, text]));
  const stats = new Map<string, Stats | undefined>(); // as they are for one question
  const importers = new Map<string, Set<string>>(); // likewise
  const links = new WeakMap<ts.SourceFile, Link[]>();
  const tables = new WeakMap<ts.SourceFile, Map<ts.__String, number>>();
  const specifiers = new Map<string, { version: string; found: string[] }>();
  const configs = new Map<string, Config>(); // by path, and by the folder that they are for
  const settings = new Map<string, string>(); // files that a config came from or could have, as they were
  const installed = new Map<string, string>(); // what changes with the packages, as it was
  let names = new Set<string>(); // absolute, as all paths in here
  let slices: Slice[] = []; // the one asked last comes first
  let isThorough = false;

  const disk = {
    useCaseSensitiveFileNames: ts.sys.useCaseSensitiveFileNames,
    getCurrentDirectory: () => root,
    fileExists: (path: string) => libs.has(path) || statOf(path)?.isFile() === true,
    directoryExists: (path: string) => statOf(path)?.isDirectory() === true,
    readFile: (path: string) => (disk.fileExists(path) ? textOf(path) : undefined),
    realpath: (path: string) => tried(() => realpathSync.native(path)) ?? path,
    readDirectory: (): string[] => [],
    getDirectories: (path: string) =>
      (tried(() => readdirSync(path)) ?? []).filter((name) => disk.directoryExists(`${path}/${name}`)),
  };
  return { references: shallow(references), rename: shallow(thoroughly), check: shallow(check), update, warm, close };

  /** TypeScript calls itself for what is within, and what is within may go deep. */
  function shallow<A extends unknown[], T>(ask: (...args: A) => T): (...args: A) => T {
    return (...args) => {
      try {
        return ask(...args);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        close();
        throw new Error("Cannot tell what that means: the code is nested too deep. Use grep instead.");
      }
    };
  }
  function update(list: string[]): void {
    const next = new Set(list.map(absolute));
    if (next.size === names.size && [...next].every((file) => names.has(file))) return;
    names = next;
    forgetModules();
  }
  function close(): void {
    for (const { service } of slices) service.dispose();
    slices = [];
  }

  // ── Questions ────────────────────────────────────────────────────────────────────────────────────────────

  function references(at: At): Group[] {
    const target = load(at);
    const { service, program } = target.slice;
    const found = service.findReferences(target.file, target.position) ?? [];
    const groups = found.map(({ definition, references }) => {
      const places = references.filter((one) => isOurs(one.fileName)).map((one) => placeOf(program!, one));
      return { symbol: short(definition.name), places };
    });
    const known = new Set(groups.flatMap(({ places }) => places.map(({ path, start }) => `${path}:${start}`)));
    const more = inScripts(target).filter(({ path, start }) => !known.has(`${path}:${start}`));
    if (more.length) groups.push({ symbol: groups[0]?.symbol ?? at.name, places: more });
    return groups.filter(({ places }) => places.length);
  }

  /** What requires a script's name: TypeScript does not look there, but does know what a name stands for. */
  function inScripts({ slice, file, position, files, words }: Target): Place[] {
    const program = slice.program!;
    const checker = program.getTypeChecker();
    const source = program.getSourceFile(file)!;
    if (!words.size || !isScript(file) || ts.isExternalModule(source)) return [];
    const target = meant(inner.getTouchingPropertyName(source, position));
    const places: Place[] = [];
    for (const one of target ? files.filter(isScript) : []) {
      const aliases = linksOf(slice, one).filter(({ from }) => words.has(from));
      const called = new Set([...words, ...aliases.map(({ to }) => to)]);
      const visit = (node: ts.Node): void => {
        if (ts.isIdentifier(node) && called.has(node.text) && meant(node) === target) {
          const textSpan = { start: node.getStart(), length: node.getWidth() };
          places.push(placeOf(program, { fileName: one, textSpan, isWriteAccess: false }));
        }
        ts.forEachChild(node, visit);
      };
      visit(program.getSourceFile(one)!);
    }
    return places;

    function meant(node: ts.Node): ts.Symbol | undefined {
      const symbol = checker.getSymbolAtLocation(node);
      return symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    }
  }

  function thoroughly(at: At, to: string): Renaming {
    isThorough = true;
    try {
      return rename(at, to);
    } finally {
      isThorough = false;
    }
  }
  function rename(at: At, to: string): Renaming {
    const target = load(at);
    const { slice, file, position } = target;
    const { canRename, localizedErrorMessage } = slice.service.getRenameInfo(
      file,
      position,
      {},
    ) as ts.RenameInfoFailure;
    if (!canRename) return refuse(UNCHANGEABLE[localizedErrorMessage] ?? localizedErrorMessage);
    const wrong = wrongName(at.name, to);
    if (wrong) return refuse(wrong);
    const spans = spansOf(slice.service, file, position);
    const outside = spans.find(({ fileName }) => !names.has(fileName));
    if (outside) return refuse(`it also stands in '${relative(outside.fileName)}', outside the project's code.`);
    const edits = spans.map((span) => editOf(span, to)).sort(byPlace);
    const why = collision(target, edits, at.name, to);
    return why
      ? refuse(why)
      : { edits: edits.map(({ path, start, end, text }) => ({ path: relative(path), start, end, text })) };

    function refuse(why: string): Renaming {
      return { edits: [], refused: `Cannot rename '${at.name}' to '${to}': ${why}` };
    }
  }

  /** What would go wrong: another thing is called so where it is seen, or the types no longer fit. */
  function collision(target: Target, edits: Change[], from: string, to: string): string | undefined {
    const { slice, file, position, files } = target;
    const byFile = Map.groupBy(edits, ({ path }) => path);
    const overlay = new Map([...byFile].map(([path, own]) => [path, applied(textOf(path), own)]));
    const roots = new Set([...files, ...byFile.keys(), ...[...usersOf(new Set([to])), ...globals()].map(absolute)]);
    const service = newService(slice, roots, overlay);
    try {
      const before = new Set(edits.map(({ path, start }) => `${path}:${start}`));
      for (const span of spansOf(service, file, moved(byFile.get(file)!, position))) {
        const start = movedBack(byFile.get(span.fileName) ?? [], span.textSpan.start);
        if (!before.delete(`${span.fileName}:${start}`))
          return `'${to}' is taken: at ${whereIs(span.fileName, start)} it means something that this would become one with. Choose another name.`;
      }
      for (const place of before) {
        const [, path, start] = /^(.*):(\d+)$/.exec(place)!;
        return `'${to}' is taken: at ${whereIs(path!, Number(start))} it would mean something else. Choose another name.`;
      }
      return newProblem(slice.program!, service.getProgram()!, byFile, [from, to]);
    } finally {
      service.dispose();
    }
  }

  function newProblem(
    before: ts.Program,
    after: ts.Program,
    edits: Map<string, Change[]>,
    names: string[],
  ): string | undefined {
    const until = performance.now() + PATIENCE;
    for (const file of [...edits.keys(), ...passingOn(after, new Set(edits.keys()))]) {
      const known = diagnose(before, file).map((one) => kindOf(one, names));
      for (const one of diagnose(after, file)) {
        const at = known.indexOf(kindOf(one, names));
        if (at < 0) {
          const place = whereIs(file, movedBack(edits.get(file) ?? [], one.start ?? 0));
          return `it would be wrong at ${place}: ${problemOf(one).message} Choose another name.`;
        }
        known.splice(at, 1);
      }
      if (performance.now() > until) return undefined;
    }
    return undefined;
  }

  function check(paths: string[]): Problem[] {
    begin();
    const found: Problem[] = [];
    for (const [, files] of Map.groupBy(new Set(paths.map(codeFile)), configOf)) {
      const program = grow(sliceOf(files[0]!), files, false);
      for (const file of files) found.push(...diagnose(program, file).map(problemOf));
    }
    return found.sort((a, b) => compare(a.path, b.path) || a.line - b.line || a.column - b.column || a.code - b.code);
  }

  function diagnose(program: ts.Program, file: string): ts.Diagnostic[] {
    const source = program.getSourceFile(file);
    if (!source) return [];
    const isDeclared = inner.getEmitDeclarations(program.getCompilerOptions()) && !isScript(file);
    return [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
      ...(isDeclared ? program.getDeclarationDiagnostics(source) : []),
    ];
  }

  function problemOf({ file, start = 0, messageText, code, category }: ts.Diagnostic): Problem {
    const { line, character } = file!.getLineAndCharacterOfPosition(start);
    const place = { path: relative(file!.fileName), line: line + 1, column: character + 1 };
    return {
      ...place,
      code,
      message: ts.flattenDiagnosticMessageText(messageText, "\n"),
      category: CATEGORIES[category],
    };
  }

  function placeOf(program: ts.Program, { fileName, textSpan, ...reference }: ts.ReferenceEntry): Place {
    const source = program.getSourceFile(fileName)!;
    const { line, character } = source.getLineAndCharacterOfPosition(textSpan.start);
    const starts = source.getLineStarts();
    return {
      ...{ path: relative(fileName), line: line + 1, column: character + 1 },
      ...{ start: textSpan.start, end: textSpan.start + textSpan.length },
      text: source.text
        .slice(starts[line], starts[line + 1])
        .trim()
        .slice(0, LONGEST),
      kind: kindOfPlace(inner.getTouchingPropertyName(source, textSpan.start), reference),
    };
  }

  // ── Which files can matter ───────────────────────────────────────────────────────────────────────────────

  /** Where the name stands, with all loaded that could use it. */
  function load(at: At): Target {
    begin();
    const file = codeFile(at.path);
    const slice = sliceOf(file);
    const source = document(slice, file)!;
    const found = locate(source, at.line, at.name);
    if (!found)
      throw new Error(
        `Cannot find '${at.name}' at ${at.path}:${at.line}: nothing there is called so. Look it up again.`,
      );
    const { files, words } = candidates(slice, file, source, found);
    grow(slice, files, true);
    return { slice, file, position: found.name.getStart(source), files, words };
  }

  function codeFile(path: string): string {
    if (!/\.[cm]?[jt]sx?$/.test(path))
      throw new Error(`Cannot look into '${path}': it is neither TypeScript nor JavaScript. Name a code file.`);
    const file = absolute(path);
    if (!disk.fileExists(file))
      throw new Error(`Cannot look into '${path}': there is no such file. Name one that exists.`);
    return file;
  }

  /** The files that hold the name, or another one under which it is passed on. */
  function candidates(slice: Slice, file: string, source: ts.SourceFile, { name, within }: Found): Candidates {
    if (isLocal(source, name, within, linksOf(slice, file))) return { files: [file], words: new Set() };
    const isConstructor = ts.isConstructorDeclaration(within.at(-1)!);
    const called = isConstructor ? wordOf((within.at(-2) as ts.ClassLikeDeclaration).name) : wordOf(name);
    const known = new Set<string>();
    const mains = new Set<string>(); // files whose default export is meant
    const files = new Set([file]);
    let isAnywhere = false;
    if (called === undefined || called === "default") mains.add(file);
    else pass(called);
    let [size, asked] = [-1, 0];
    while (!isAnywhere && size !== known.size + mains.size + files.size) {
      size = known.size + mains.size + files.size;
      if (asked !== known.size) for (const user of usersOf(known)) files.add(absolute(user));
      asked = known.size;
      for (const main of mains) for (const user of importersOf(slice, main)) files.add(user);
      for (const one of files) for (const link of linksOf(slice, one, isConstructor)) follow(one, link);
    }
    return { files: [...(isAnywhere ? names : files)], words: known };

    function pass(word: string): void {
      if (/^#?[\p{L}_$][\p{L}\p{N}_$]{0,47}$/u.test(word)) known.add(word);
      else isAnywhere = true; // in no index
    }
    function follow(one: string, { how, from, to, module, isAmbient }: Link): void {
      const isMain = from === "default" || how === "all";
      if (isAmbient && (isMain || to === "default") && (known.has(from) || known.has(to))) isAnywhere = true;
      const target = module !== undefined && isMain ? resolve(slice, module, one) : undefined;
      if (to === "default" ? mains.has(one) : known.has(to)) inwards();
      if (isMain ? target !== undefined && mains.has(target) : known.has(from)) outwards();

      function inwards(): void {
        if (how === "extends") return;
        if (!isMain) return void (from !== to && pass(from));
        if (target === undefined || !names.has(target)) return;
        if (how === "import" || how === "export" || linksOf(slice, target).some(isMainExport)) mains.add(target);
      }
      function outwards(): void {
        const isPassed = how === "export" || how === "extends" || isConstructor;
        if (to === "default") mains.add(one);
        else if (
          isPassed ||
          linksOf(slice, one).some((link) => link.how === "export" && !link.module && link.from === to)
        )
          pass(to);
      }
    }
  }

  function linksOf(slice: Slice, file: string, withHeirs = false): Link[] {
    const source = document(slice, file);
    if (!source) return [];
    const found = links.get(source) ?? readLinks(source);
    links.set(source, found);
    return withHeirs ? [...found, ...readHeirs(source)] : found;
  }

  function importersOf(slice: Slice, file: string): Set<string> {
    if (!importers.size)
      for (const one of names)
        for (const module of modulesOf(slice, one)) {
          const target = resolve(slice, module, one) ?? "";
          importers.set(target, (importers.get(target) ?? new Set()).add(one));
        }
    return importers.get(file) ?? new Set();
  }
  function modulesOf(slice: Slice, file: string): string[] {
    const listed = importsOf(relative(file));
    if (listed) return listed;
    const version = versionOf(file);
    const doc = slice.docs.get(file);
    if (doc && doc.version === docVersion(slice, file) && doc.source.imports)
      return doc.source.imports.map(({ text }) => text);
    const known = specifiers.get(file);
    if (version === undefined || known?.version === version) return known?.found ?? [];
    const found = ts.preProcessFile(textOf(file), true, true).importedFiles.map(({ fileName }) => fileName);
    specifiers.set(file, { version, found });
    return found;
  }
  /** In either mode, where there are two: one file too many does no harm. */
  function resolve(slice: Slice, module: string, file: string): string | undefined {
    const { options, cache } = configFor(slice, file);
    const isPlain = inner.getEmitModuleResolutionKind(options) < ts.ModuleResolutionKind.Node16;
    for (const mode of isPlain ? [undefined] : ([ts.ModuleKind.ESNext, ts.ModuleKind.CommonJS] as const)) {
      const { resolvedModule } = ts.resolveModuleName(module, file, options, disk, cache, undefined, mode);
      if (resolvedModule) return resolvedModule.resolvedFileName;
    }
    return undefined;
  }

  // ── What is loaded ───────────────────────────────────────────────────────────────────────────────────────

  /** The disk may have changed since the last question: configs, packages, the files themselves. */
  function begin(): void {
    stats.clear();
    importers.clear();
    if (isChanged(settings)) {
      settings.clear();
      configs.clear();
      close();
    }
    if (isChanged(installed)) forgetModules();
  }
  function isChanged(seen: Map<string, string>): boolean {
    return [...seen].some(([path, stamp]) => stampOf(path) !== stamp);
  }
  function forgetModules(): void {
    for (const path of installed.keys()) installed.set(path, stampOf(path));
    for (const config of [...configs.values()].flatMap((config) => [config, ...config.parts])) {
      config.cache = newCache(config.options);
      if (config.files) config.files = filesOf(config.path);
    }
    for (const slice of slices) slice.isMoved = true;
  }

  /** The program with these files in it; `full`: and their JSDoc. A new one loses all types, so it is made only if it must. */
  function grow(slice: Slice, files: string[], full: boolean): ts.Program {
    if (full) for (const file of files) slice.full.add(file);
    const wanted = [...globals().map(absolute), ...files].filter(disk.fileExists);
    const isMissing = (file: string) => !slice.roots.has(file) && !slice.program?.getSourceFile(file);
    const isGrowing = slice.full.size !== slice.seen || wanted.some(isMissing);
    if (slice.program && isGrowing && names.size <= FEW) addAll(slice);
    do for (const file of wanted.filter(isMissing)) slice.roots.add(file);
    while (current(slice) && wanted.some(isMissing)); // once more if a file is no longer imported
    return slice.program!;
  }
  function addAll({ roots, full }: Slice): void {
    for (const file of names) {
      full.add(file);
      if ((statOf(file)?.size ?? LARGEST) < LARGEST) roots.add(file);
    }
  }
  function current(slice: Slice): ts.Program {
    const program = slice.service.getProgram()!;
    if (program !== slice.program) slice.cold = program.getSourceFiles().filter(({ fileName }) => names.has(fileName));
    [slice.program, slice.seen, slice.isMoved] = [program, slice.full.size, false];
    return program;
  }

  function warm(): boolean {
    if (!names.size || names.size > FEW) return false;
    begin();
    const slice = slices[0] ?? sliceOf(`${root}/index.ts`);
    const { program } = slice;
    addAll(slice);
    return grow(slice, [], false) !== program || warmTypes(slice, slice.program!);
  }
  /** The types that a search for a property asks for: of what it is read from, and of what an object is made for. */
  function warmTypes(slice: Slice, program: ts.Program): boolean {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    if (used_heap_size > (heap_size_limit * 2) / 3) return false;
    const checker = program.getTypeChecker();
    const until = performance.now() + STEP;
    for (let node = slice.cold.pop(); node; node = slice.cold.pop()) {
      const next = node;
      ts.forEachChild(next, (child) => void slice.cold.push(child));
      if (ts.isSourceFile(next)) tableOf(next);
      if (WARMED.has(next.kind)) tried(() => touch(checker, next));
      if (performance.now() > until) return true;
    }
    return false;
  }

  function sliceOf(file: string): Slice {
    const config = configOf(file);
    const slice = slices.find((slice) => slice.config === config) ?? newSlice(config);
    slices = [slice, ...slices.filter((other) => other !== slice)];
    for (const { service } of slices.splice(KEPT)) service.dispose();
    return slice;
  }
  function newSlice(config: Config): Slice {
    const [roots, full, docs] = [new Set<string>(), new Set<string>(), new Map()];
    const slice = { config, roots, full, docs, seen: 0, isMoved: false, cold: [] } as unknown as Slice;
    slice.service = newService(slice, roots);
    return slice;
  }

  function newService(slice: Slice, roots: Set<string>, overlay = new Map<string, string>()): ts.LanguageService {
    const { config } = slice;
    const acquire = (...[file, , , , , version, kind, how]: Acquired) =>
      overlay.has(file)
        ? parse(file, overlay.get(file)!, version, kind, { ...how, jsDocParsingMode: JSDOC.all })
        : parsed(slice, file, version, kind, how);
    const host = {
      ...disk,
      useCaseSensitiveFileNames: () => disk.useCaseSensitiveFileNames,
      getCompilationSettings: () => config.options,
      getDefaultLibFileName: (options: ts.CompilerOptions) => LIB + ts.getDefaultLibFileName(options),
      // In one order, whenever they came: types depend on it, in rare cases.
      getScriptFileNames: () =>
        [...[...names].filter((file) => roots.has(file)), ...[...roots].filter((file) => !names.has(file))].filter(
          disk.fileExists,
        ),
      getScriptVersion: (file: string) => (overlay.has(file) ? "overlay" : (docVersion(slice, file) ?? "")),
      getScriptSnapshot: (file: string) => (disk.fileExists(file) ? lazily(() => textOf(file)) : undefined),
      getModuleResolutionCache: () => config.cache,
      hasInvalidatedResolutions: () => slice.isMoved,
      hasChangedAutomaticTypeDirectiveNames: () => slice.isMoved,
      resolveModuleNameLiterals(
        literals: readonly ts.StringLiteralLike[],
        file: string,
        _: unknown,
        options: ts.CompilerOptions,
        source: ts.SourceFile,
      ) {
        const own = configFor(slice, file);
        return literals.map((literal) => {
          const mode = ts.getModeForUsageLocation(source, literal, options);
          return ts.resolveModuleName(literal.text, file, own.options, disk, own.cache, undefined, mode);
        });
      },
    };
    const registry = {
      getKeyForCompilationSettings: () => "",
      acquireDocumentWithKey: acquire,
      updateDocumentWithKey: acquire,
      releaseDocumentWithKey: () => {},
    };
    return ts.createLanguageService(host, registry as unknown as ts.DocumentRegistry);
  }

  /** A file's tree, as the program will have it. */
  function document(slice: Slice, file: string): ts.SourceFile | undefined {
    slice.full.add(file); // who asks for it looks for names in it
    const version = docVersion(slice, file);
    if (version === undefined) return undefined;
    const known = slice.docs.get(file);
    if (known?.version === version) return known.source;
    const { options, cache } = slice.config;
    const format = inner.getImpliedNodeFormatForFileWorker(file, cache.getPackageJsonInfoCache(), disk, options);
    return parsed(slice, file, version, undefined, {
      ...(typeof format === "object" ? format : { impliedNodeFormat: format as ts.ResolutionMode }),
      languageVersion: inner.getEmitScriptTarget(options),
      setExternalModuleIndicator: inner.getSetExternalModuleIndicator(options),
    });
  }
  function parsed(slice: Slice, file: string, version: string, kind: ts.ScriptKind | undefined, how: ParseOptions) {
    const known = slice.docs.get(file);
    const format = how.impliedNodeFormat;
    if (known?.version === version && known.format === format) return known.source;
    const jsDocParsingMode = isScript(file) || slice.full.has(file) ? JSDOC.all : JSDOC.none;
    const source = parse(file, textOf(file), version, kind, { ...how, jsDocParsingMode });
    slice.docs.set(file, { version, format, source });
    return source;
  }
  /** What the parser cannot take, nested too deep, is as good as empty. */
  function parse(file: string, text: string, version: string, kind: ts.ScriptKind | undefined, how: ParseOptions) {
    const make = (text: string) =>
      ts.createLanguageServiceSourceFile(file, ts.ScriptSnapshot.fromString(text), how, version, false, kind);
    const source = tried(() => make(text)) ?? make("");
    return Object.assign(source, { nameTable: { get: asker(source) } });
  }
  /**
   * TypeScript asks each file whether it holds a name, for which it walks every tree once; here it looks in the text first.
   * In its table stands the name of `it["name"]`, but not that of `It["name"]`: references agree with it, a renaming must not.
   */
  function asker(source: ts.SourceFile): (name: ts.__String) => number | undefined {
    return (name) => {
      if (!holds(source.text, inner.unescapeLeadingUnderscores(name))) return undefined;
      return isThorough ? -1 : tableOf(source).get(name);
    };
  }
  function tableOf(source: ts.SourceFile & { nameTable?: unknown }): Map<ts.__String, number> {
    const { nameTable } = source;
    source.nameTable = undefined; // or there would be nothing to make
    const table = tables.get(source) ?? inner.getNameTable(source);
    source.nameTable = nameTable;
    tables.set(source, table);
    return table;
  }
  function docVersion({ full }: Slice, file: string): string | undefined {
    const version = versionOf(file);
    return version && full.has(file) ? `${version}+` : version;
  }

  // ── Settings ─────────────────────────────────────────────────────────────────────────────────────────────

  /** How a file's imports are resolved: by its own config, whoever asks; a package in a monorepo has its own paths. */
  function configFor(slice: Slice, file: string): Config {
    if (!isOurs(file)) return slice.config;
    const own = configOf(file);
    return own.path ? own : slice.config;
  }
  function configOf(file: string): Config {
    const config = configIn(dirname(file));
    return config.parts.find(({ files }) => files?.has(file)) ?? config;
  }
  function configIn(folder: string): Config {
    let found = configs.get(folder);
    if (found) return found;
    const own = ["tsconfig.json", "jsconfig.json"].map((name) => `${folder}/${name}`);
    for (const path of own) settings.set(path, stampOf(path));
    const path = own.find(disk.fileExists);
    if (path) found = readConfig(path);
    else if (folder === root || !folder.startsWith(`${root}/`)) found = newConfig("", WITHOUT);
    else found = configIn(dirname(folder));
    configs.set(folder, found);
    return found;
  }
  function readConfig(path: string, isPart = false): Config {
    const json = ts.readJsonConfigFile(path, disk.readFile);
    const { options, projectReferences = [], raw } = readOptions(path, json, disk.readDirectory);
    for (const source of [path, ...(json.extendedSourceFiles ?? [])]) settings.set(source, stampOf(source));
    const defaults = versionInstalled(dirname(path)) < 6 ? BEFORE_6 : {};
    const declaration = options.declaration ?? options.composite ?? false;
    const config = newConfig(path, { ...defaults, ...options, declaration, ...FORCED });
    if (isPart || raw?.files?.length !== 0) return config;
    const parts = projectReferences
      .map((reference) => ts.resolveProjectReferencePath(reference))
      .filter(disk.fileExists);
    config.parts = parts.map((part) => ({ ...readConfig(part, true), files: filesOf(part) }));
    return config;
  }
  function filesOf(path: string): Set<string> {
    return new Set(readOptions(path, ts.readJsonConfigFile(path, disk.readFile), ts.sys.readDirectory).fileNames);
  }
  function readOptions(path: string, json: ts.TsConfigSourceFile, readDirectory: typeof ts.sys.readDirectory) {
    return ts.parseJsonSourceFileConfigFileContent(json, { ...disk, readDirectory }, dirname(path), undefined, path);
  }
  function newConfig(path: string, options: ts.CompilerOptions): Config {
    for (const folder of new Set([root, dirname(path || `${root}/.`)]))
      for (const name of INSTALLED) installed.set(`${folder}/${name}`, stampOf(`${folder}/${name}`));
    return { path, options, cache: newCache(options), parts: [] };
  }
  function newCache(options: ts.CompilerOptions): ts.ModuleResolutionCache {
    const canonical = (path: string) => (disk.useCaseSensitiveFileNames ? path : path.toLowerCase());
    return ts.createModuleResolutionCache(root, canonical, options);
  }
  /** The project's own TypeScript; 6 where it has none. */
  function versionInstalled(folder: string): number {
    const text = disk.readFile(`${folder}/node_modules/typescript/package.json`);
    if (text) return Number.parseInt(tried(() => JSON.parse(text).version) ?? "6", 10);
    return folder.startsWith(`${root}/`) ? versionInstalled(dirname(folder)) : 6;
  }

  // ── The disk ─────────────────────────────────────────────────────────────────────────────────────────────

  function absolute(path: string): string {
    return `${root}/${path}`;
  }
  function relative(file: string): string {
    return file.startsWith(`${root}/`) ? file.slice(root.length + 1) : file;
  }
  function isOurs(file: string): boolean {
    return file.startsWith(`${root}/`) && !file.includes("/node_modules/");
  }
  function statOf(path: string): Stats | undefined {
    if (stats.has(path)) return stats.get(path);
    const found = tried(() => statSync(path, { throwIfNoEntry: false }));
    stats.set(path, found);
    return found;
  }
  function stampOf(path: string): string {
    const { mtimeMs, ctimeMs, size } = statOf(path) ?? {};
    return `${mtimeMs}:${ctimeMs}:${size}`;
  }
  function versionOf(file: string): string | undefined {
    return libs.has(file) ? "lib" : disk.fileExists(file) ? stampOf(file) : undefined;
  }
  function textOf(file: string): string {
    return libs.get(file) ?? tried(() => readFileSync(file, "utf8")) ?? ""; // gone in between
  }
  function whereIs(file: string, start: number): string {
    const before = textOf(file).slice(0, start);
    return `${relative(file)}:${before.split(/\r\n?|\n/).length}`;
  }
}

interface Candidates {
  files: string[];
  words: Set<string>; // the name, and those under which it is passed on
}
interface Target extends Candidates {
  slice: Slice;
  file: string;
  position: number;
}

const FORCED: ts.CompilerOptions = {
  ...{ allowJs: true, noEmit: true, skipLibCheck: true, composite: false, incremental: false, rootDir: undefined },
  ...{ outDir: undefined, outFile: undefined, declarationDir: undefined, tsBuildInfoFile: undefined },
};
const WITHOUT: ts.CompilerOptions = {
  ...{ target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, strict: true, jsx: ts.JsxEmit.Preserve },
  ...{ moduleResolution: ts.ModuleResolutionKind.Bundler, allowImportingTsExtensions: true, resolveJsonModule: true },
  ...{ lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"], types: ["*"], ...FORCED },
};
/** What a project that has an older TypeScript means by saying nothing. */
const BEFORE_6: ts.CompilerOptions = { strict: false, types: ["*"], noUncheckedSideEffectImports: false };
const INSTALLED = [
  "package.json",
  ...["", "/.package-lock.json", "/.modules.yaml"].map((name) => `node_modules${name}`),
];
const CATEGORIES = ["warning", "error", "suggestion", "message"] as const;
const UNCHANGEABLE: Record<string, string> = {
  "You cannot rename this element.": "it is not a name that could be another. Rename what it stands for.",
  "You cannot rename elements that are defined in the standard TypeScript library.":
    "it is defined in the standard library. Choose a name of the project's own.",
  "You cannot rename elements that are defined in a 'node_modules' folder.":
    "it is defined in a package. Choose a name of the project's own.",
  "You cannot rename elements that are defined in another 'node_modules' folder.":
    "it is defined in a package. Choose a name of the project's own.",
};

/** As a word, and not as a part of another. */
function holds(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!isPart(text.charCodeAt(at - 1)) && !isPart(text.charCodeAt(at + word.length))) return true;
  return false;
}
const isPart = (code: number): boolean => ts.isIdentifierPart(code, ts.ScriptTarget.Latest);

function tried<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
const isScript = (file: string): boolean => /\.[cm]?jsx?$/.test(file);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byPlace = (a: Edit, b: Edit): number => compare(a.path, b.path) || a.start - b.start;
const short = (text: string): string => text.replace(/\s+/g, " ").slice(0, LONGEST);
const isMainExport = ({ how, to, module }: Link): boolean => how === "export" && to === "default" && !module;

// ── Trees ──────────────────────────────────────────────────────────────────────────────────────────────────

function lazily(read: () => string): ts.IScriptSnapshot {
  return {
    getText: (start, end) => read().slice(start, end),
    getLength: () => read().length,
    getChangeRange: () => undefined,
  };
}

/** The first that is called so, of what begins on this line; failing that, whatever is called so there. */
function locate(source: ts.SourceFile, line: number, name: string): Found | undefined {
  const starts = source.getLineStarts();
  if (!(line >= 1 && line <= starts.length)) return undefined;
  const [from, to] = [starts[line - 1]!, starts[line] ?? source.end + 1];
  const begins = (node: ts.Node) => isBetween(node.getStart(source), from, to);
  let [found, use]: (Found | undefined)[] = [];
  let first = Number.POSITIVE_INFINITY;
  visit(source, []);
  return found ?? use;

  function visit(node: ts.Node, within: ts.Node[]): void {
    if (node.end < from || node.pos > first) return;
    const inside = [...within, node];
    const own = nameOf(node, source);
    if (own && wordOf(own) === name) {
      const start = own.getStart(source);
      const isHere =
        isBetween(start, from, to) || (start >= to && inside.some((one) => begins(one) || partsOf(one).some(begins)));
      if (isHere && start < first) [found, first] = [{ name: own, within: inside }, start];
    } else if (!use && wordOf(node) === name && begins(node)) use = { name: node, within };
    ts.forEachChild(node, (child) => visit(child, inside));
  }
}
const isBetween = (at: number, from: number, to: number): boolean => at >= from && at < to;
const partsOf = (node: ts.Node): readonly ts.Node[] => (node as { modifiers?: ts.NodeArray<ts.Node> }).modifiers ?? [];

/** What a declaration is called by: a name, a keyword, what a script assigns to. */
function nameOf(node: ts.Node, source: ts.SourceFile): ts.Node | undefined {
  if (ts.isConstructorDeclaration(node)) return keyword(node, K.ConstructorKeyword, source);
  if (ts.isExportAssignment(node))
    return keyword(node, node.isExportEquals ? K.ExportKeyword : K.DefaultKeyword, source);
  if (ts.isBinaryExpression(node)) return node.operatorToken.kind === K.EqualsToken ? assigned(node.left) : undefined;
  if (ts.isPropertyAccessExpression(node) || ts.isMetaProperty(node) || ts.isJsxAttribute(node)) return undefined;
  const { name } = node as { name?: ts.Node };
  if (name) return ts.isComputedPropertyName(name) ? name.expression : name;
  return partsOf(node).find(({ kind }) => kind === K.DefaultKeyword);
}
function assigned(left: ts.Expression): ts.Node | undefined {
  if (ts.isPropertyAccessExpression(left)) return left.name;
  return ts.isElementAccessExpression(left) ? left.argumentExpression : undefined;
}
function keyword(node: ts.Node, kind: ts.SyntaxKind, source: ts.SourceFile): ts.Node | undefined {
  return node.getChildren(source).find((child) => child.kind === kind);
}
function wordOf(name: ts.Node | undefined): string | undefined {
  if (!name) return undefined;
  if (ts.isIdentifier(name) || ts.isPrivateIdentifier(name) || ts.isStringLiteralLike(name)) return name.text;
  if (ts.isNumericLiteral(name)) return name.text;
  return WORDS[name.kind];
}
const WORDS: Partial<Record<ts.SyntaxKind, string>> = {
  [K.ConstructorKeyword]: "constructor",
  [K.DefaultKeyword]: "default",
  [K.ExportKeyword]: "default", // of `export =`
};

/** No other file can see it. */
function isLocal(source: ts.SourceFile, name: ts.Node, within: ts.Node[], links: Link[]): boolean {
  const owner = within.at(-1)!;
  if (!LOCALS.has(owner.kind) || (owner as { name?: ts.Node }).name !== name) return false;
  if (ts.isParameter(owner) && partsOf(owner).length) return false; // may be a property
  if (ts.isBindingElement(owner) && !owner.propertyName && ts.isObjectBindingPattern(within.at(-2)!)) return false;
  if (within.slice(0, -1).some((node) => ts.isFunctionLike(node) || ts.isClassStaticBlockDeclaration(node)))
    return true;
  if (ts.isTypeParameterDeclaration(owner)) return ts.isTypeAliasDeclaration(within.at(-2)!);
  if (ts.isFunctionExpression(owner) || ts.isClassExpression(owner)) return true;
  if (!ts.isExternalModule(source) || within.some(ts.isModuleDeclaration)) return false;
  if (partsOf(within[1]!).some(({ kind }) => kind === K.ExportKeyword)) return false;
  const text = wordOf(name);
  return !links.some(({ how, from, module }) => how === "export" && !module && from === text);
}
const LOCALS = new Set([
  ...[K.VariableDeclaration, K.BindingElement, K.Parameter, K.TypeParameter, K.TypeAliasDeclaration],
  ...[K.FunctionDeclaration, K.FunctionExpression, K.ClassDeclaration, K.ClassExpression, K.InterfaceDeclaration],
  K.EnumDeclaration,
]);

/** Every name under which a file passes on another. */
function readLinks(source: ts.SourceFile): Link[] {
  const found: Link[] = [];
  const isJs = isScript(source.fileName);
  for (const statement of source.statements) read(statement);
  return found;

  function read(node: ts.Statement, isAmbient?: true): void {
    const add = (how: Link["how"], from: string | undefined, to: string | undefined, module?: string) =>
      from !== undefined &&
      to !== undefined &&
      found.push({ how, from, to, ...(module !== undefined && { module }), ...(isAmbient && { isAmbient }) });
    if (ts.isImportDeclaration(node)) {
      const { name, namedBindings } = node.importClause ?? {};
      const module = wordOf(node.moduleSpecifier);
      if (name) add("import", "default", name.text, module);
      if (namedBindings && ts.isNamespaceImport(namedBindings)) add("all", "*", namedBindings.name.text, module);
      else
        for (const { propertyName, name } of namedBindings?.elements ?? [])
          add("import", wordOf(propertyName ?? name), name.text, module);
    } else if (ts.isImportEqualsDeclaration(node)) {
      const { name, moduleReference: from } = node;
      const isExported = partsOf(node).some(({ kind }) => kind === K.ExportKeyword);
      if (ts.isExternalModuleReference(from)) add("import", "default", name.text, wordOf(from.expression));
      else add("export", lastWord(from), name.text);
      if (isExported) add("export", name.text, name.text);
    } else if (ts.isExportDeclaration(node)) {
      if (!node.exportClause || !ts.isNamedExports(node.exportClause)) return;
      for (const { propertyName, name } of node.exportClause.elements)
        add("export", wordOf(propertyName ?? name), wordOf(name), wordOf(node.moduleSpecifier));
    } else if (ts.isExportAssignment(node)) add("export", lastWord(node.expression), "default");
    else if (ts.isNamespaceExportDeclaration(node)) add("export", node.name.text, "default");
    else if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node)) {
      if (partsOf(node).some(({ kind }) => kind === K.DefaultKeyword)) add("export", wordOf(node.name), "default");
    } else if (ts.isModuleDeclaration(node)) {
      const { body } = node;
      if (!body || !ts.isModuleBlock(body)) return;
      for (const statement of body.statements)
        read(statement, ts.isStringLiteral(node.name) || isAmbient ? true : undefined);
    } else if (isJs && ts.isVariableStatement(node)) {
      for (const { name, initializer } of node.declarationList.declarations) {
        const module = initializer && required(initializer);
        if (module === undefined) continue;
        if (ts.isIdentifier(name)) add("import", "default", name.text, module);
        else
          for (const part of name.elements)
            if (ts.isBindingElement(part))
              add("import", wordOf(part.propertyName ?? part.name), wordOf(part.name), module);
      }
    } else if (isJs && ts.isExpressionStatement(node)) {
      const targets: ts.Expression[] = [];
      let value = node.expression;
      for (; ts.isBinaryExpression(value) && value.operatorToken.kind === K.EqualsToken; value = value.right)
        targets.push(value.left);
      const from = lastWord(value) ?? wordOf((value as { name?: ts.Node }).name);
      for (const target of targets) add("export", from, exportedAs(target));
    }
  }
}
/** Of `a.b.c`, the c. */
function lastWord(node: ts.Node): string | undefined {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isQualifiedName(node)) return node.right.text;
  return ts.isPropertyAccessExpression(node) ? node.name.text : undefined;
}
function required(value: ts.Expression): string | undefined {
  while (ts.isPropertyAccessExpression(value)) value = value.expression;
  if (!ts.isCallExpression(value) || !ts.isIdentifier(value.expression) || value.expression.text !== "require")
    return undefined;
  return wordOf(value.arguments[0]);
}
function exportedAs(target: ts.Expression): string | undefined {
  const text = ts.isPropertyAccessExpression(target) ? target.name.text : undefined;
  const owner = text !== undefined && (target as ts.PropertyAccessExpression).expression;
  if (!owner) return undefined;
  if (ts.isIdentifier(owner) && owner.text === "module" && text === "exports") return "default";
  return ["exports", undefined].includes(lastWord(owner)) ? text : undefined;
}

/** Who is made by calling another's constructor. */
function readHeirs(source: ts.SourceFile): Link[] {
  const found: Link[] = [];
  visit(source);
  return found;

  function visit(node: ts.Node): void {
    if (ts.isClassLike(node) && !node.members.some(ts.isConstructorDeclaration)) {
      const base = node.heritageClauses?.find(({ token }) => token === K.ExtendsKeyword)?.types[0];
      const from = base && lastWord(base.expression);
      if (from) found.push({ how: "extends", from, to: wordOf(node.name) ?? "default" });
    }
    ts.forEachChild(node, visit);
  }
}

function touch(checker: ts.TypeChecker, node: ts.Node): void {
  if (ts.isPropertyAccessExpression(node)) checker.getSymbolAtLocation(node.name);
  else if (ts.isObjectBindingPattern(node)) checker.getTypeAtLocation(node);
  else checker.getContextualType(node as ts.Expression);
}
const WARMED = new Set([
  ...[K.PropertyAccessExpression, K.ObjectBindingPattern, K.ObjectLiteralExpression, K.JsxAttributes],
]);

function kindOfPlace(node: ts.Node, is: { isDefinition?: boolean; isWriteAccess?: boolean }): Place["kind"] {
  const { parent } = node;
  if (inner.isInJSDoc(node)) return "comment";
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) return "import";
  if (ts.isImportEqualsDeclaration(parent)) return "import";
  if (ts.isExportSpecifier(parent) || ts.isExportAssignment(parent)) return "export";
  if (is.isDefinition) return "definition";
  if (inner.isPartOfTypeNode(node)) return "type";
  return is.isWriteAccess ? "write" : "read";
}

/** Every star through which what these files export can be had. */
function passingOn(program: ts.Program, files: Set<string>): Set<string> {
  const checker = program.getTypeChecker();
  const found = new Set<string>();
  const stars = program.getSourceFiles().flatMap(({ fileName, statements }) =>
    statements.flatMap((node) => {
      if (!ts.isExportDeclaration(node) || node.exportClause || !node.moduleSpecifier) return [];
      const target = checker.getSymbolAtLocation(node.moduleSpecifier)?.valueDeclaration;
      return target && ts.isSourceFile(target) ? [[fileName, target.fileName] as const] : [];
    }),
  );
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const [from, to] of stars) if (files.has(to) || found.has(to)) found.add(from);
  }
  return new Set([...found].filter((file) => !files.has(file)));
}

// ── Renaming ───────────────────────────────────────────────────────────────────────────────────────────────

function wrongName(from: string, to: string): string | undefined {
  if (from === to) return "it is called so already. Choose another name.";
  if (!isIdentifier(from))
    return /^[^"'`\\\r\n]+$/.test(to) ? undefined : "a key cannot hold quotes. Choose another name.";
  if (from.startsWith("#") !== to.startsWith("#"))
    return "a private name begins with '#', and no other does. Choose a name of the same kind.";
  if (!isIdentifier(to)) return `'${to}' is not an identifier. Use letters, digits, _ and $ only.`;
  if (inner.isStringANonContextualKeyword(to)) return `'${to}' is a keyword. Choose another name.`;
  return undefined;
}
const isIdentifier = (text: string): boolean => inner.isIdentifierText(text.replace(/^#/, ""), ts.ScriptTarget.ESNext);

function spansOf(service: ts.LanguageService, file: string, position: number): readonly ts.RenameLocation[] {
  const how = { providePrefixAndSuffixTextForRename: true };
  const found = service.findRenameLocations(file, position, false, false, how) ?? [];
  return [...new Map(found.map((span) => [`${span.fileName}:${span.textSpan.start}`, span])).values()];
}
function editOf({ fileName, textSpan, prefixText = "", suffixText = "" }: ts.RenameLocation, to: string): Change {
  const { start, length } = textSpan;
  return { path: fileName, start, end: start + length, text: prefixText + to + suffixText, before: prefixText.length };
}
function applied(text: string, edits: Edit[]): string {
  return edits.reduceRight((text, { start, end, text: put }) => text.slice(0, start) + put + text.slice(end), text);
}
/** Where a place is after the edits; of an edit itself, its new name. */
function moved(edits: Change[], at: number): number {
  let by = 0;
  for (const { start, end, text, before } of edits) {
    if (start > at) break;
    if (start === at) return at + by + before;
    by += text.length - (end - start);
  }
  return at + by;
}
/** Where it was before them; within an edit, where that begins. */
function movedBack(edits: Edit[], at: number): number {
  let by = 0;
  for (const { start, end, text } of edits) {
    if (start + by > at) break;
    if (at < start + by + text.length) return start;
    by += text.length - (end - start);
  }
  return at - by;
}
/** Its own kind of problem, whatever the thing is called. */
function kindOf({ code, messageText }: ts.Diagnostic, names: string[]): string {
  const text = ts.flattenDiagnosticMessageText(messageText, "\n");
  return `${code} ${names.reduce((text, name) => text.replaceAll(name, "_"), text)}`;
}
