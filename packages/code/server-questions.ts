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
import { isInside } from "zz/text";
import { type Client, ServerOver } from "./server-client.ts";

/** Also which URI a file has, for what is told to it. */
export interface OpenServer extends LanguageServer {
  uriOf(file: string): string;
}
interface ServerInfo {
  name: string;
  root: string;
  isSafe: boolean;
  languageIdOf(file: string): string;
}

const MAX_PLACES = 200_000;
const UNKNOWN_METHOD = -32601;

export function openServer(client: Client, about: ServerInfo): OpenServer {
  const { name, root, isSafe, languageIdOf } = about;
  const uriOf = (file: string) => pathToFileURL(path.join(root, file)).href;
  const positionIn = ({ path: file, line, character }: Point) => ({
    textDocument: { uri: uriOf(file) },
    position: { line, character },
  });
  const ask = <T>(method: string, params: object) =>
    client.ask<T>(`textDocument/${method}`, params);
  const spotsOf = (answer: unknown, isAnywhere = false): Spot[] =>
    listOf<Location>(answer).flatMap(
      ({ uri, range }) => spotOf(root, uri, range, isAnywhere) ?? [],
    );

  const calls = async (point: Point, direction: CallDirection) => {
    if (!client.can("callHierarchyProvider"))
      throw new Error(`${name} does not know who calls whom.`);
    const items = listOf<CallHierarchyItem>(await ask("prepareCallHierarchy", positionIn(point)));
    try {
      return await callsOf(root, client, items, direction);
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
    problems: (file) => problemsIn(client, root, uriOf(file)),
    callers: (point) => calls(point, "incoming"),
    callees: (point) => calls(point, "outgoing"),
    async symbols(file) {
      const answer = await ask("documentSymbol", { textDocument: { uri: uriOf(file) } });
      return listOf<DocumentSymbol | SymbolInformation>(answer).flatMap((symbol) =>
        namesIn(root, file, symbol),
      );
    },
    ...openTexts(client, uriOf, languageIdOf),
  });
}

async function problemsIn(
  client: Client,
  root: string,
  uri: string,
): ReturnType<LanguageServer["problems"]> {
  if (!client.can("diagnosticProvider")) return [];
  const { items } =
    (await client.ask<{ items?: unknown }>("textDocument/diagnostic", { textDocument: { uri } })) ??
    {};
  return listOf<Diagnostic>(items ?? []).flatMap(({ range, message, code = 0, severity = 1 }) => {
    const spot = spotOf(root, uri, range);
    return spot ? [{ ...spot, message: String(message), code, severity }] : [];
  });
}

async function whyNotRenamed(
  client: Client,
  name: string,
  prepare: () => Promise<unknown>,
): Promise<string | undefined> {
  if (!client.can("renameProvider")) return `${name} cannot rename.`;
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
  uriOf: (file: string) => string,
  languageIdOf: (file: string) => string,
): Pick<LanguageServer, "show" | "hide" | "shows"> {
  const shown = new Map<string, { version: number; text: string }>();
  return {
    show(file, text) {
      const textDocument = { uri: uriOf(file), version: (shown.get(file)?.version ?? 0) + 1 };
      if (!shown.has(file))
        client.tell("textDocument/didOpen", {
          textDocument: { ...textDocument, languageId: languageIdOf(file), text },
        });
      else if (shown.get(file)!.text !== text)
        client.tell("textDocument/didChange", { textDocument, contentChanges: [{ text }] });
      shown.set(file, { version: textDocument.version, text });
    },
    hide(file) {
      if (shown.delete(file))
        client.tell("textDocument/didClose", { textDocument: { uri: uriOf(file) } });
    },
    shows: (file) => shown.has(file),
  };
}

/** An answer of another shape than the protocol's: the server is of no use. */
function withoutTypeErrors(server: OpenServer): OpenServer {
  const unusable = (error: unknown) => {
    throw error instanceof TypeError ? new ServerOver(UNUSABLE) : error;
  };
  const guarded = Object.entries(server).map(([name, act]) => [
    name,
    typeof act === "function"
      ? (...args: unknown[]) => {
          const answer = act(...args);
          return answer instanceof Promise ? answer.catch(unusable) : answer;
        }
      : act,
  ]);
  return Object.fromEntries(guarded);
}
const UNUSABLE = "it sent an answer that cannot be used";

function textOfHover(answer: Hover | null): string {
  const { contents = "" } = answer ?? {};
  if (typeof contents === "string") return contents;
  return "value" in contents ? String(contents.value) : "";
}

function listOf<T>(answer: unknown): T[] {
  if (answer === null || answer === undefined) return [];
  if (!Array.isArray(answer)) throw new ServerOver(UNUSABLE);
  return answer.slice(0, MAX_PLACES);
}

/** Undefined: outside of the project, where nothing is shown. */
function spotOf(root: string, uri: string, range: Range, isAnywhere = false): Spot | undefined {
  const { start, end } = range ?? {};
  const numbers = [start?.line, start?.character, end?.line, end?.character];
  if (
    typeof uri !== "string" ||
    !numbers.every((number) => Number.isSafeInteger(number) && number! >= 0)
  )
    throw new ServerOver(UNUSABLE);
  if (!uri.startsWith("file:")) return undefined;
  let file: string;
  try {
    file = fileURLToPath(uri);
  } catch {
    return undefined;
  }
  if (/\p{Cc}/u.test(file)) return undefined; // such a name could pass for another row
  const isOurs = isInside(root, file) && !file.includes("/node_modules/", root.length);
  if (!isOurs && !isAnywhere) return undefined;
  return {
    path: isOurs ? path.relative(root, file).split(path.sep).join("/") : file,
    line: start.line,
    character: start.character,
    endLine: end.line,
    endCharacter: end.character,
  };
}

/** Throws where it would also change what lies outside of the project. */
function editsOf(root: string, answer: unknown): (Spot & { text: string })[] {
  const { changes = {}, documentChanges = [] } = (answer ?? {}) as WorkspaceEdit;
  const byFile = [
    ...Object.entries(changes),
    ...listOf<{ textDocument?: { uri: string }; edits?: { range: Range; newText: string }[] }>(
      documentChanges,
    ).flatMap(({ textDocument, edits }) =>
      textDocument && edits ? [[textDocument.uri, edits] as const] : [],
    ),
  ];
  return byFile.flatMap(([uri, edits]) =>
    listOf<{ range: Range; newText: string }>(edits).map(({ range, newText }) => {
      const spot = spotOf(root, uri, range, true);
      if (!spot || typeof newText !== "string") throw new ServerOver(UNUSABLE);
      return { ...spot, text: newText };
    }),
  );
}

type CallDirection = "incoming" | "outgoing";
async function callsOf(
  root: string,
  client: Client,
  items: CallHierarchyItem[],
  direction: CallDirection,
): Promise<Called[]> {
  const called: Called[] = [];
  for (const item of items) {
    const answer = await client.ask(`callHierarchy/${direction}Calls`, { item });
    for (const hierarchyCall of listOf<
      Record<"from" | "to", CallHierarchyItem> & { fromRanges: Range[] }
    >(answer)) {
      const otherEnd = direction === "incoming" ? hierarchyCall.from : hierarchyCall.to;
      const spot = spotOf(root, otherEnd.uri, otherEnd.selectionRange);
      const calling = direction === "incoming" ? otherEnd.uri : item.uri;
      const from = listOf<Range>(hierarchyCall.fromRanges).flatMap(
        (range) => spotOf(root, calling, range) ?? [],
      );
      if (spot) called.push({ ...spot, name: String(otherEnd.name), from });
    }
  }
  return called;
}

function namesIn(
  root: string,
  file: string,
  symbol: DocumentSymbol | SymbolInformation,
): Awaited<ReturnType<LanguageServer["symbols"]>> {
  if ("location" in symbol) {
    const spot = spotOf(root, symbol.location.uri, symbol.location.range);
    return spot ? [{ ...spot, name: symbol.name, begins: spot.line, ends: spot.endLine }] : [];
  }
  const spot = spotOf(root, pathToFileURL(path.join(root, file)).href, symbol.selectionRange);
  const inner = listOf<DocumentSymbol>(symbol.children ?? []).flatMap((child) =>
    namesIn(root, file, child),
  );
  const [begins, ends] = [symbol.range?.start?.line ?? 0, symbol.range?.end?.line ?? 0];
  return spot ? [{ ...spot, name: String(symbol.name), begins, ends }, ...inner] : inner;
}
