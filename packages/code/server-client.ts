// One language server: its program, what is said to it, and an end to what it may cost.
import type { ChildProcess } from "node:child_process";
import {
  createMessageConnection,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-jsonrpc/node";
import type {
  InitializeParams,
  InitializeResult,
  ServerCapabilities,
} from "vscode-languageserver-protocol";
import type { Clock } from "zz";
import { clean, clip, oneLine, tryTo } from "zz/text";

const MAX_UNASKED_BYTES = 50_000_000; // between two answers; then it floods
const MAX_STDERR_CHARS = 2_000;
const MAX_REFUSAL_CHARS = 300;
const GRACE_MS = 1_000; // from being asked to end to being killed

/** The server is over: it ended, hung, flooded or sent something that cannot be read. */
export class ServerOver extends Error {
  readonly isOver = true; // for another plugin, which has no part in this class
  readonly isHung: boolean; // it would most likely hang again
  constructor(why: string, isHung = false) {
    super(why);
    this.isHung = isHung;
  }
}

/** The server is there, and gives this question an error for an answer. */
class ServerRefused extends Error {
  readonly isRefusal = true; // for another plugin
  readonly code: number;
  constructor({ code, message }: { code: number; message: string }) {
    super(clip(oneLine(clean(String(message))), MAX_REFUSAL_CHARS) || "without a reason");
    this.code = code;
  }
}

export interface Client {
  ask<T>(method: string, params: object, signal?: AbortSignal): Promise<T>;
  tell(method: string, params: object): void;
  can(capability: keyof ServerCapabilities): boolean;
  isOver(): boolean;
  close(): void;
}
interface ClientOptions {
  root: string; // as a URI
  options?: object; // of the server itself, sent at its start
  settings?: (section: string) => unknown; // what it may ask for
  seconds: number; // that one answer may take
  clock: Clock;
}

export async function openClient(child: ChildProcess, options: ClientOptions): Promise<Client> {
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => {}); // each question hears of it
  let [endReason, errors, unasked] = ["", "", 0];
  let isHung = false;
  let capabilities: ServerCapabilities = {};
  const { stdin, stdout, stderr } = child;
  const reader = new StreamMessageReader(stdout!);
  reader.partialMessageTimeout = 0; // its timer would outlast the server
  const connection = createMessageConnection(reader, new StreamMessageWriter(stdin!), SILENT);
  const killAtExit = () => signalGroup(child, "SIGKILL");
  process.once("exit", killAtExit);
  stdout!.on("data", ({ length }: Buffer) => {
    unasked += length;
    if (unasked > MAX_UNASKED_BYTES) end("it sent far more than anybody asked for");
  });
  stderr!
    .setEncoding("utf8")
    .on("data", (text: string) => void (errors = (errors + text).slice(-MAX_STDERR_CHARS)));
  for (const stream of [stdin!, stdout!, stderr!]) stream.on("error", () => {});
  child.on("error", (error) => end(error.message));
  child.on("exit", (code, signal) => {
    process.off("exit", killAtExit);
    end(
      `${signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`}${lastWordsIn(errors)}`,
    );
  });
  for (const source of [reader, connection])
    source.onError(() => end("it sent something that cannot be read"));
  connection.onRequest((method: string, params: unknown) => answerTo(method, params, options));
  connection.onNotification(() => {});
  connection.listen();
  // zz may end meanwhile
  for (const handle of [child, stdin, stdout, stderr]) (handle as { unref?(): void }).unref?.();
  const client: Client = {
    ask,
    tell,
    can: (capability) => !!capabilities[capability],
    isOver: () => !!endReason,
    close,
  };
  try {
    const answer = await ask<InitializeResult | null>("initialize", introduction(options));
    const serverCapabilities = answer?.capabilities;
    if (typeof serverCapabilities !== "object" || serverCapabilities === null)
      end("it sent something that cannot be read");
    else capabilities = serverCapabilities;
    tell("initialized", {});
    return client;
  } catch (error) {
    end(String((error as Error).message));
    throw error instanceof ServerOver ? error : new ServerOver(endReason, isHung);
  }

  /**
   * A refusal of the server is an error with its words; ServerOver means that there is no server.
   */
  async function ask<T>(method: string, params: object, signal?: AbortSignal): Promise<T> {
    if (endReason) throw new ServerOver(endReason, isHung);
    signal?.throwIfAborted();
    const { promise: stopped, reject: stop } = Promise.withResolvers<never>();
    stopped.catch(() => {});
    const onAbort = () => stop(signal!.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const cancelTimer = options.clock.timer(options.seconds * 1_000, () => {
      isHung = true;
      end(`it gave no answer in ${options.seconds} s`);
    });
    try {
      const answer = await Promise.race([
        connection.sendRequest<T>(method, params),
        stopped,
        over.promise,
      ]);
      unasked = 0;
      return answer;
    } catch (error) {
      if (endReason && !signal?.aborted) throw new ServerOver(endReason, isHung);
      throw error instanceof ResponseError ? new ServerRefused(error) : error;
    } finally {
      cancelTimer();
      signal?.removeEventListener("abort", onAbort);
    }
  }
  function tell(method: string, params: object): void {
    if (!endReason) connection.sendNotification(method, params).catch(() => {});
  }
  function end(reason: string): void {
    if (endReason) return;
    endReason = reason;
    over.reject(new ServerOver(reason, isHung));
    tryTo(() => connection.dispose());
    signalGroup(child, "SIGKILL");
  }
  function close(): void {
    if (endReason) return;
    endReason = "it was stopped";
    connection.sendNotification("exit").catch(() => {});
    tryTo(() => stdin!.end());
    tryTo(() => connection.dispose());
    setTimeout(signalGroup, GRACE_MS, child, "SIGKILL").unref();
    signalGroup(child, "SIGTERM");
  }
}

function lastWordsIn(errors: string): string {
  return errors.trim() && `; its last words: ${clip(oneLine(clean(errors)).slice(-200), 200)}`;
}

const SILENT = { error() {}, warn() {}, info() {}, log() {} };

function introduction({ root, options }: ClientOptions): InitializeParams {
  return {
    processId: null, // in its sandbox no process of that number is zz
    clientInfo: { name: "zz" },
    rootUri: root,
    workspaceFolders: [{ uri: root, name: "project" }],
    ...(options && { initializationOptions: options }),
    capabilities: {
      general: { positionEncodings: ["utf-16"] },
      textDocument: {
        synchronization: {},
        references: {},
        definition: { linkSupport: false },
        hover: { contentFormat: ["plaintext"] },
        documentSymbol: { hierarchicalDocumentSymbolSupport: true },
        rename: { prepareSupport: true },
        callHierarchy: {},
        diagnostic: {},
        publishDiagnostics: {},
      },
      workspace: {
        configuration: true,
        workspaceFolders: true,
        workspaceEdit: { documentChanges: true },
      },
    },
  };
}

/**
 * Servers ask for settings, and for leave to report progress. Nothing of a project is changed by
 * them.
 */
function answerTo(method: string, params: unknown, { settings }: ClientOptions): unknown {
  if (method === "workspace/applyEdit") return { applied: false };
  if (method !== "workspace/configuration") return null;
  const { items = [] } = params as { items?: { section?: string }[] };
  return items.map(({ section = "" }) => settings?.(section) ?? null);
}

/** To the whole process group, where it has one. */
function signalGroup(child: ChildProcess, name: NodeJS.Signals): void {
  const { pid, exitCode, signalCode } = child;
  if (!pid || exitCode !== null || signalCode !== null) return;
  tryTo(() => process.kill(process.platform === "win32" ? pid : -pid, name));
}
