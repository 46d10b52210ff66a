// The questions to a language server, and what of its answers is taken: places in the project, in
// the shape that is expected. Anything else counts as a server that failed.
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type {
  CallHierarchyItem,
  Diagnostic,
  DocumentSymbol,
  Hover,
  Location,
  Range,
  SymbolInformation,
  WorkspaceEdit,
} from "vscode-languageserver-protocol";
import type { Called, LanguageServer, Point, Spot } from "zz";
import { isInside, tryTo } from "zz/text";
import { type Client, ServerOver, ServerRefused } from "./server-client.ts";

/** Also which URI a file has, for what is told to it. */
export interface OpenServer extends LanguageServer {
  uriOf(sourceFile: string): string;
}
interface ServerInfo {
  name: string;
  root: string;
  isSafe: boolean;
  languageIdOf(sourceFile: string): string;
}

const MAX_PLACES = 200_000;
const UNKNOWN_METHOD = -32601;

export function openServer(client: Client, serverInfo: ServerInfo): OpenServer {
  const { name, root, isSafe, languageIdOf } = serverInfo;
  const uriOf = (sourceFile: string) => pathToFileURL(path.join(root, sourceFile)).href;
  const positionIn = ({ path: sourceFile, line, character }: Point) => ({
    textDocument: { uri: uriOf(sourceFile) },
    position: { line, character },
  });
  const ask = <T>(method: string, params: object) =>
    client.ask<T>(`textDocument/${method}`, params);
  const spotsOf = (answer: unknown, isAnywhere = false): Spot[] =>
    takeList<Location>(answer).flatMap(
      ({ uri, range }) => buildSpot(root, uri, range, isAnywhere) ?? [],
    );

  const findCalls = async (point: Point, direction: CallDirection) => {
    if (!client.can("callHierarchyProvider"))
      throw new Error(`${name} does not know who calls whom.`);
    const callItems = takeList<CallHierarchyItem>(
      await ask("prepareCallHierarchy", positionIn(point)),
    );
    try {
      return await callsOf(root, client, callItems, direction);
    } catch (error) {
      if ((error as { code?: number }).code !== UNKNOWN_METHOD) throw error;
      throw new Error(`${name} cannot tell ${direction} calls.`);
    }
  };

  return withoutTypeErrors({
    name,
    isSafe,
    uriOf,
    references: async (point) =>
      spotsOf(
        await ask("references", { ...positionIn(point), context: { includeDeclaration: true } }),
      ),
    definition: async (point) => {
      const answer = await ask<Location | Location[] | null>("definition", positionIn(point));
      return spotsOf([answer || []].flat(), true);
    },
    rename: async (point, newName) =>
      editsOf(root, await ask("rename", { ...positionIn(point), newName })),
    mayRename: (point) =>
      whyNotRenamed(client, name, () => ask("prepareRename", positionIn(point))),
    hover: async (point) => textOfHover(await ask<Hover | null>("hover", positionIn(point))),
    problems: (sourceFile) => problemsIn(client, root, uriOf(sourceFile)),
    callers: (point) => findCalls(point, "incoming"),
    callees: (point) => findCalls(point, "outgoing"),
    async symbols(file) {
      const answer = await ask("documentSymbol", { textDocument: { uri: uriOf(file) } });
      return takeList<DocumentSymbol | SymbolInformation>(answer).flatMap((symbol) =>
        namesIn(root, file, symbol),
      );
    },
    ...openTexts(client, uriOf, languageIdOf),
  });
}

async function problemsIn(
  client: Client,
  projectRoot: string,
  uri: string,
): ReturnType<LanguageServer["problems"]> {
  if (!client.can("diagnosticProvider")) return [];
  const { items } =
    (await client.ask<{ items?: unknown }>("textDocument/diagnostic", { textDocument: { uri } })) ??
    {};
  return takeList<Diagnostic>(items ?? []).flatMap(({ range, message, code = 0, severity = 1 }) => {
    const problemSpot = buildSpot(projectRoot, uri, range);
    return problemSpot ? [{ ...problemSpot, message: String(message), code, severity }] : [];
  });
}

async function whyNotRenamed(
  client: Client,
  serverName: string,
  prepare: () => Promise<unknown>,
): Promise<string | undefined> {
  if (!client.can("renameProvider")) return `${serverName} cannot rename.`;
  try {
    const answer = await prepare();
    return answer ? undefined : "You cannot rename this element.";
  } catch (error) {
    if (error instanceof ServerOver) throw error;
    return (error as Error).message;
  }
}

/** The texts that the server was shown. */
function openTexts(
  client: Client,
  uriOf: (sourceFile: string) => string,
  languageIdOf: (sourceFile: string) => string,
): Pick<LanguageServer, "show" | "hide" | "shows"> {
  const shownTexts = new Map<string, string>();
  let version = 0;
  return {
    show(sourceFile, text) {
      const textDocument = { uri: uriOf(sourceFile), version: ++version };
      if (!shownTexts.has(sourceFile))
        client.tell("textDocument/didOpen", {
          textDocument: { ...textDocument, languageId: languageIdOf(sourceFile), text },
        });
      else if (shownTexts.get(sourceFile) !== text)
        client.tell("textDocument/didChange", { textDocument, contentChanges: [{ text }] });
      shownTexts.set(sourceFile, text);
    },
    hide(sourceFile) {
      if (shownTexts.delete(sourceFile))
        client.tell("textDocument/didClose", { textDocument: { uri: uriOf(sourceFile) } });
    },
    shows: (sourceFile) => shownTexts.has(sourceFile),
  };
}

/** An answer of another shape than the protocol's: the server is of no use. */
function withoutTypeErrors(server: OpenServer): OpenServer {
  const unusable = (error: unknown) => {
    throw error instanceof TypeError ? new ServerOver(UNUSABLE) : error;
  };
  const guarded = Object.entries(server).map(([memberName, member]) => [
    memberName,
    typeof member === "function"
      ? (...args: unknown[]) => {
          const answer = member(...args);
          return answer instanceof Promise ? answer.catch(unusable) : answer;
        }
      : member,
  ]);
  return Object.fromEntries(guarded);
}
const UNUSABLE = "it sent an answer that cannot be used";

function textOfHover(answer: Hover | null): string {
  const { contents = "" } = answer ?? {};
  if (typeof contents === "string") return contents;
  return "value" in contents ? String(contents.value) : "";
}

function takeList<T>(answer: unknown): T[] {
  if (answer === null || answer === undefined) return [];
  if (!Array.isArray(answer)) throw new ServerOver(UNUSABLE);
  return answer.slice(0, MAX_PLACES);
}

/** Undefined: outside of the project, where nothing is shown. */
function buildSpot(
  projectRoot: string,
  fileUri: string,
  textRange: Range,
  isAnywhere = false,
): Spot | undefined {
  const { start, end } = textRange ?? {};
  const numbers = [start?.line, start?.character, end?.line, end?.character];
  if (
    typeof fileUri !== "string" ||
    !numbers.every((coordinate) => Number.isSafeInteger(coordinate) && coordinate! >= 0)
  )
    throw new ServerOver(UNUSABLE);
  const filePath = tryTo(() => fileURLToPath(fileUri));
  // a name with line breaks could pass for another row
  if (filePath === undefined || /\p{Cc}/u.test(filePath)) return undefined;
  const isInProject =
    isInside(projectRoot, filePath) && !filePath.includes("/node_modules/", projectRoot.length);
  if (!isInProject && !isAnywhere) return undefined;
  return {
    path: isInProject ? path.relative(projectRoot, filePath).split(path.sep).join("/") : filePath,
    line: start.line,
    character: start.character,
    endLine: end.line,
    endCharacter: end.character,
  };
}

/** Throws where it would do more than change texts, which it was not told that zz could. */
function editsOf(projectRoot: string, answer: unknown): (Spot & { text: string })[] {
  const { changes = {}, documentChanges = [] } = (answer ?? {}) as WorkspaceEdit;
  const editsByFile = [
    ...Object.entries(changes),
    ...takeList<{ textDocument?: { uri: string }; edits?: { range: Range; newText: string }[] }>(
      documentChanges,
    ).map(({ textDocument, edits }) => {
      if (!textDocument || !edits)
        throw new ServerRefused({ message: "it would make, move or delete files for it" });
      return [textDocument.uri, edits] as const;
    }),
  ];
  return editsByFile.flatMap(([fileUri, fileEdits]) =>
    takeList<{ range: Range; newText: string }>(fileEdits).map(({ range, newText }) => {
      const editSpot = buildSpot(projectRoot, fileUri, range, true);
      if (!editSpot || typeof newText !== "string") throw new ServerOver(UNUSABLE);
      return { ...editSpot, text: newText };
    }),
  );
}

type CallDirection = "incoming" | "outgoing";
async function callsOf(
  projectRoot: string,
  client: Client,
  callItems: CallHierarchyItem[],
  direction: CallDirection,
): Promise<Called[]> {
  const calledSpots: Called[] = [];
  for (const item of callItems) {
    const answer = await client.ask(`callHierarchy/${direction}Calls`, { item });
    for (const hierarchyCall of takeList<
      Record<"from" | "to", CallHierarchyItem> & { fromRanges: Range[] }
    >(answer)) {
      const otherEnd = direction === "incoming" ? hierarchyCall.from : hierarchyCall.to;
      const otherSpot = buildSpot(projectRoot, otherEnd.uri, otherEnd.selectionRange);
      const calling = direction === "incoming" ? otherEnd.uri : item.uri;
      const from = takeList<Range>(hierarchyCall.fromRanges).flatMap(
        (callRange) => buildSpot(projectRoot, calling, callRange) ?? [],
      );
      if (otherSpot) calledSpots.push({ ...otherSpot, name: String(otherEnd.name), from });
    }
  }
  return calledSpots;
}

function namesIn(
  projectRoot: string,
  sourceFile: string,
  symbol: DocumentSymbol | SymbolInformation,
): Awaited<ReturnType<LanguageServer["symbols"]>> {
  if ("location" in symbol) {
    const symbolSpot = buildSpot(projectRoot, symbol.location.uri, symbol.location.range);
    return symbolSpot
      ? [{ ...symbolSpot, name: symbol.name, begins: symbolSpot.line, ends: symbolSpot.endLine }]
      : [];
  }
  const symbolSpot = buildSpot(
    projectRoot,
    pathToFileURL(path.join(projectRoot, sourceFile)).href,
    symbol.selectionRange,
  );
  const innerNames = takeList<DocumentSymbol>(symbol.children ?? []).flatMap((childSymbol) =>
    namesIn(projectRoot, sourceFile, childSymbol),
  );
  const [begins, ends] = [symbol.range?.start?.line ?? 0, symbol.range?.end?.line ?? 0];
  return symbolSpot
    ? [{ ...symbolSpot, name: String(symbol.name), begins, ends }, ...innerNames]
    : innerNames;
}
