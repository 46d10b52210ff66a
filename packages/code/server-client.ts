// One language server: its program, what is said to it, and an end to what it may cost.
import type { ChildProcess } from "node:child_process";
import {
  createMessageConnection,
  type MessageConnection,
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
const UNREADABLE = "it sent something that cannot be read";
const GRACE_MS = 1_000; // from being asked to end to being killed

/** The server is over: it ended, hung, flooded or sent something that cannot be read. */
export class ServerOver extends Error {
  readonly isOver = true; // for another plugin, which has no part in this class
  readonly isHung: boolean; // it would most likely hang again
  constructor(reason: string, isHung = false) {
    super(reason);
    this.isHung = isHung;
  }
}

/** The server is there, and gives this question an error for an answer. */
export class ServerRefused extends Error {
  readonly isRefusal = true; // for another plugin
  readonly code: number;
  constructor({ code = 0, message }: { code?: number; message: string }) {
    super(clip(oneLine(clean(String(message))), MAX_REFUSAL_CHARS) || "without a reason");
    this.code = code;
  }
}

interface ClientOptions {
  root: string; // as a URI
  options: object | undefined; // of the server itself, sent at its start
  settings: ((section: string) => unknown) | undefined; // what it may ask for
  seconds: number; // that one answer may take
  clock: Clock;
}

export function openClient(serverProcess: ChildProcess, options: ClientOptions): Promise<Client> {
  return new Client(serverProcess, options).introduce();
}

export class Client {
  private readonly child: ChildProcess;
  private readonly options: ClientOptions;
  private readonly connection: MessageConnection;
  private capabilities: ServerCapabilities = {};
  private endReason = "";
  private isHung = false;
  private unasked = 0; // bytes

  constructor(serverProcess: ChildProcess, options: ClientOptions) {
    this.child = serverProcess;
    this.options = options;
    const { stdin, stdout, stderr } = serverProcess;
    const messageReader = new StreamMessageReader(stdout!);
    messageReader.partialMessageTimeout = 0; // its timer would outlast the server
    this.connection = createMessageConnection(
      messageReader,
      new StreamMessageWriter(stdin!),
      SILENT_LOGGER,
    );
    this.watchProcess();
    for (const errorSource of [messageReader, this.connection])
      errorSource.onError(() => this.end(UNREADABLE));
    this.connection.onRequest((method: string, params: unknown) =>
      answerTo(method, params, options),
    );
    this.connection.onNotification(() => {});
    this.connection.listen();
    // zz may end meanwhile
    for (const handle of [serverProcess, stdin, stdout, stderr])
      (handle as { unref?(): void }).unref?.();
  }

  private watchProcess(): void {
    const { stdin, stdout, stderr } = this.child;
    let errorOutput = "";
    const killAtExit = () => signalGroup(this.child, "SIGKILL");
    process.once("exit", killAtExit);
    stdout!.on("data", ({ length }: Buffer) => {
      this.unasked += length;
      if (this.unasked > MAX_UNASKED_BYTES) this.end("it sent far more than anybody asked for");
    });
    stderr!.setEncoding("utf8").on("data", (outputPart: string) => {
      errorOutput = (errorOutput + outputPart).slice(-MAX_STDERR_CHARS);
    });
    for (const stream of [stdin!, stdout!, stderr!]) stream.on("error", () => {});
    this.child.on("error", (error) => this.end(error.message));
    this.child.on("exit", (exitCode, endSignal) => {
      process.off("exit", killAtExit);
      const endSentence = endSignal
        ? `it was ended by ${endSignal}`
        : `it ended with exit code ${exitCode}`;
      this.end(endSentence + lastWordsIn(errorOutput));
    });
  }

  async introduce(): Promise<Client> {
    try {
      const answer = await this.ask<InitializeResult | null>(
        "initialize",
        introduction(this.options),
      );
      const capabilities = answer?.capabilities;
      if (typeof capabilities !== "object" || capabilities === null) this.end(UNREADABLE);
      else this.capabilities = capabilities;
      this.tell("initialized", {});
      return this;
    } catch (error) {
      this.end(String((error as Error).message));
      throw error instanceof ServerOver ? error : new ServerOver(this.endReason, this.isHung);
    }
  }

  /**
   * A refusal of the server is an error with its words; ServerOver means that there is no server.
   */
  async ask<T>(method: string, params: object): Promise<T> {
    if (this.endReason) throw new ServerOver(this.endReason, this.isHung);
    const { clock, seconds } = this.options;
    const cancelTimer = clock.timer(seconds * 1_000, () => {
      this.isHung = true;
      this.end(`it gave no answer in ${seconds} s`);
    });
    try {
      const answer = await this.connection.sendRequest<T>(method, params);
      this.unasked = 0;
      return answer;
    } catch (error) {
      if (this.endReason) throw new ServerOver(this.endReason, this.isHung);
      throw error instanceof ResponseError ? new ServerRefused(error) : error;
    } finally {
      cancelTimer();
    }
  }

  tell(method: string, params: object): void {
    if (!this.endReason) this.connection.sendNotification(method, params).catch(() => {});
  }

  can(capability: keyof ServerCapabilities): boolean {
    return !!this.capabilities[capability];
  }

  isOver(): boolean {
    return !!this.endReason;
  }

  private end(reason: string): void {
    if (this.endReason) return;
    this.endReason = reason;
    tryTo(() => this.connection.dispose()); // each question hears of it
    signalGroup(this.child, "SIGKILL");
  }

  close(): void {
    if (this.endReason) return;
    this.endReason = "it was stopped";
    this.connection.sendNotification("exit").catch(() => {});
    tryTo(() => this.child.stdin!.end());
    tryTo(() => this.connection.dispose());
    setTimeout(signalGroup, GRACE_MS, this.child, "SIGKILL").unref();
    signalGroup(this.child, "SIGTERM");
  }
}

function lastWordsIn(errorOutput: string): string {
  return (
    errorOutput.trim() && `; its last words: ${clip(oneLine(clean(errorOutput)).slice(-200), 200)}`
  );
}

const SILENT_LOGGER = { error() {}, warn() {}, info() {}, log() {} };

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
function signalGroup(serverProcess: ChildProcess, signalName: NodeJS.Signals): void {
  const { pid, exitCode, signalCode } = serverProcess;
  if (!pid || exitCode !== null || signalCode !== null) return;
  tryTo(() => process.kill(process.platform === "win32" ? pid : -pid, signalName));
}
