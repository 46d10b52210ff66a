// A server that is a program: messages over its stdin and stdout.
import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { clean, clip, fault, oneLine, tryTo } from "zz/text";
import { lineReader, type Message, salvage } from "./read-lines.ts";
import { answerTo } from "./refuse-bad-answers.ts";

/** How much a server may send without a request, between two answers, before it is ended. */
const [MAX_UNASKED, MAX_UNASKED_BYTES] = [20_000, 50_000_000];
const MAX_PRINTED_CHARS = 4_000;
const GRACE_MS = 1_000; // from closing its stdin to SIGTERM, and from there to SIGKILL

interface Stdio extends Transport {
  endReason(): string; // what is known about why it ended
  errors(): string; // the end of what it printed beside its messages
}

function lastWordsIn(printedText: string): string {
  // where an error came from says less than the error, which stands before it
  const withoutTraces = printedText.replace(/^[ \t]+at .*\n/gm, "");
  return printedText && `its last words: ${clip(oneLine(clean(withoutTraces)).slice(-300), 300)}`;
}

const endOf = (printedText: string, added: string): string =>
  (printedText + added.slice(-MAX_PRINTED_CHARS)).slice(-MAX_PRINTED_CHARS);

/** The transport. `startProgram` starts the program once the client connects. */
export function stdio(startProgram: () => ChildProcess): Stdio {
  const pending = new Set<string | number>();
  let serverProcess: ChildProcess | undefined;
  let [printedEnd, endedBecause] = ["", ""];
  let isClosed = false;
  const keepWords = (words: string) => void (printedEnd = endOf(printedEnd, words));
  const readMessages = openInbox(pending, {
    give: (message) => void (isClosed || transport.onmessage?.(message as JSONRPCMessage)),
    flood() {
      signalGroup(serverProcess, "SIGKILL");
      markEnded("it sent far more than anybody asked for, and was ended");
    },
    stray: keepWords,
  });
  const transport: Stdio & { stderr: null; pid: undefined } = {
    stderr: null,
    pid: undefined, // by which the client knows a program: one that is silent is of the older era
    errors: () => printedEnd,
    start: () => startServer(),
    send,
    close,
    endReason: () => [endedBecause, lastWordsIn(printedEnd)].filter(Boolean).join("; "),
  };
  return transport;

  async function startServer(): Promise<void> {
    serverProcess = startProgram();
    endWithZz(serverProcess);
    serverProcess.stdout!.on("data", readMessages);
    serverProcess.stderr!.setEncoding("utf8").on("data", keepWords);
    serverProcess.on("close", (code, exitSignal) => {
      markEnded(exitSignal ? `it was ended by ${exitSignal}` : `it ended with exit code ${code}`);
    });
    await spawned(serverProcess);
  }

  async function send(message: JSONRPCMessage): Promise<void> {
    if (isClosed || !serverProcess?.stdin?.writable)
      // before "close" has told of it
      throw Object.assign(fault("The server has ended."), { code: "EPIPE" });
    if ("id" in message && "method" in message) pending.add(message.id);
    const isBufferFull = !serverProcess.stdin.write(`${JSON.stringify(message)}\n`);
    if (isBufferFull) await drained(serverProcess.stdin);
  }

  async function close(): Promise<void> {
    if (isClosed) return;
    markEnded("it was stopped");
    endInTime(serverProcess);
  }

  function markEnded(reason: string): void {
    endedBecause ||= reason;
    if (isClosed) return;
    isClosed = true;
    pending.clear();
    transport.onclose?.();
  }
}

/** What a server that ended had started may hold the other ends of its pipes. */
function endLeftovers(serverProcess: ChildProcess): void {
  const { pid, stdout, stderr } = serverProcess;
  serverProcess.on("exit", () => {
    const endTimer = setTimeout(() => {
      tryTo(() => process.kill(-pid!, "SIGKILL"));
      for (const pipe of [stdout, stderr]) pipe!.destroy();
    }, GRACE_MS);
    serverProcess.on("close", () => clearTimeout(endTimer));
  });
}

function endInTime(serverProcess?: ChildProcess): void {
  serverProcess?.stdin?.end();
  setTimeout(signalGroup, GRACE_MS, serverProcess, "SIGTERM").unref();
  setTimeout(signalGroup, 2 * GRACE_MS, serverProcess, "SIGKILL").unref();
}

function spawned(serverProcess: ChildProcess): Promise<void> {
  const { stdin, stdout, stderr } = serverProcess;
  // an error of stdin: the server ended; "close" handles that
  for (const stream of [stdin!, stdout!, stderr!]) stream.on("error", () => {});
  // zz may end while it runs
  for (const emitter of [serverProcess, stdin, stdout, stderr])
    (emitter as { unref?(): void }).unref?.();
  return new Promise((resolve, rejectSpawn) => {
    serverProcess.once("spawn", resolve).once("error", rejectSpawn);
  });
}

/** The servers that run. They are killed when zz ends, even stopped ones. */
const running = new Set<ChildProcess>();
const killAll = () =>
  running.forEach((serverProcess) => void signalGroup(serverProcess, "SIGKILL"));
function endWithZz(serverProcess: ChildProcess): void {
  if (!running.size) process.once("exit", killAll);
  running.add(serverProcess);
  const forgetProcess = () => {
    running.delete(serverProcess);
    if (!running.size) process.off("exit", killAll);
  };
  serverProcess.once("exit", forgetProcess).once("error", forgetProcess);
  endLeftovers(serverProcess);
}

/** Sends a signal to the server's whole process group. */
function signalGroup(serverProcess: ChildProcess | undefined, signalName: NodeJS.Signals): void {
  const processId = serverProcess?.pid;
  if (!processId || serverProcess?.exitCode !== null || serverProcess.signalCode !== null) return;
  tryTo(() => process.kill(process.platform === "win32" ? processId : -processId, signalName));
}

/**
 * Reads what a server sends. Answers to pending requests are free; everything else counts towards a
 * limit.
 */
function openInbox(
  pending: Set<string | number>,
  inboxEvents: { give(message: Message): void; flood(): void; stray(words: string): void },
) {
  let [unasked, unaskedBytes] = [0, 0];
  const reader = lineReader(readLine, (overlongCut) => {
    const message = salvage(overlongCut, pending);
    if (message) receive(message, 0);
    else countUnasked(overlongCut.bytes);
  });
  return reader.add;

  function readLine(messageLine: string): void {
    if (!messageLine.trim()) return;
    const message = tryTo(() => JSON.parse(messageLine)) as Message | undefined;
    // older versions of the protocol batch messages
    const messages = Array.isArray(message) ? message : [message];
    if (message === undefined) inboxEvents.stray(`${messageLine}\n`);
    for (const singleMessage of messages)
      if (typeof singleMessage === "object" && singleMessage)
        receive(singleMessage, messageLine.length);
      else countUnasked(messageLine.length);
  }

  function receive(message: Message, length: number): void {
    const { id } = message;
    if (message.method === undefined && id !== undefined && pending.delete(id)) {
      [unasked, unaskedBytes] = [0, 0];
      inboxEvents.give(answerTo(id, message));
      return;
    }
    countUnasked(length);
    if (message.jsonrpc === "2.0") inboxEvents.give(message);
  }

  function countUnasked(length: number): void {
    unaskedBytes += length;
    if (++unasked > MAX_UNASKED || unaskedBytes > MAX_UNASKED_BYTES) inboxEvents.flood();
  }
}

const DRAIN_MS = 10_000; // how long a server may leave its stdin unread
const drained = (stdin: Writable): Promise<void> =>
  new Promise((resolveDrained) => {
    stdin.once("drain", resolveDrained).once("close", resolveDrained);
    setTimeout(resolveDrained, DRAIN_MS).unref();
  });
