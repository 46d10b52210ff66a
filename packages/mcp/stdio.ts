// A server that is a program: messages over its stdin and stdout.
import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { clean, clip, fault, oneLine, tryTo } from "zz/text";
import { lineReader, type Message, salvage } from "./read-lines.ts";

/** How much a server may send without a request, between two answers, before it is ended. */
const [MAX_UNASKED, MAX_UNASKED_BYTES] = [20_000, 50_000_000];
const MAX_STDERR_CHARS = 4_000;
const GRACE_MS = 1_000; // from closing its stdin to SIGTERM, and from there to SIGKILL

interface Stdio extends Transport {
  endReason(): string; // what is known about why it ended
  errors(): string; // the end of what it wrote there
  garbage(): string; // the first line that was not a message; "": none
}

function lastWordsIn(errors: string): string {
  // where an error came from says less than the error, which stands before it
  const text = errors.replace(/^[ \t]+at .*\n/gm, "");
  return errors && `its last words: ${clip(oneLine(clean(text)).slice(-300), 300)}`;
}

/** The transport. `start` starts the program once the client connects. */
export function stdio(start: () => ChildProcess): Stdio {
  const pending = new Set<string | number>();
  let child: ChildProcess | undefined;
  let [errors, end] = ["", ""];
  let closed = false;
  const inbox = openInbox(pending, {
    give: (message) => void (closed || transport.onmessage?.(message as JSONRPCMessage)),
    flood() {
      signal(child, "SIGKILL");
      gone("it sent far more than anybody asked for, and was ended");
    },
  });
  const transport: Stdio & { stderr: null; pid: undefined } = {
    stderr: null,
    pid: undefined, // by which the client knows a program: one that is silent is of the older era
    errors: () => errors,
    start: () => begin(),
    send,
    close,
    endReason: () => [end, lastWordsIn(errors)].filter(Boolean).join("; "),
    garbage: inbox.garbage,
  };
  return transport;

  async function begin(): Promise<void> {
    child = start();
    endWithZz(child);
    child.stdout!.on("data", inbox.add);
    const hear = (text: string) => void (errors = (errors + text).slice(-MAX_STDERR_CHARS));
    child.stderr!.setEncoding("utf8").on("data", hear);
    child.on("close", (code, signal) => {
      gone(signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`);
    });
    await spawned(child);
  }

  async function send(message: JSONRPCMessage): Promise<void> {
    if (closed || !child?.stdin?.writable)
      // before "close" has told of it
      throw Object.assign(fault("The server has ended."), { code: "EPIPE" });
    if ("id" in message && "method" in message) pending.add(message.id);
    const isFull = !child.stdin.write(`${JSON.stringify(message)}\n`);
    if (isFull) await drained(child.stdin);
  }

  async function close(): Promise<void> {
    if (closed) return;
    gone("it was stopped");
    endInTime(child);
  }

  function gone(reason: string): void {
    end ||= reason;
    if (closed) return;
    closed = true;
    pending.clear();
    transport.onclose?.();
  }
}

function endInTime(child?: ChildProcess): void {
  child?.stdin?.end();
  setTimeout(signal, GRACE_MS, child, "SIGTERM").unref();
  setTimeout(signal, 2 * GRACE_MS, child, "SIGKILL").unref();
}

function spawned(child: ChildProcess): Promise<void> {
  const { stdin, stdout, stderr } = child;
  // an error of stdin: the server ended; "close" handles that
  for (const stream of [stdin!, stdout!, stderr!]) stream.on("error", () => {});
  // zz may end while it runs
  for (const emitter of [child, stdin, stdout, stderr]) (emitter as { unref?(): void }).unref?.();
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve).once("error", reject);
  });
}

/** The servers that run. They are killed when zz ends, even stopped ones. */
const running = new Set<ChildProcess>();
const killAll = () => running.forEach((child) => void signal(child, "SIGKILL"));
function endWithZz(child: ChildProcess): void {
  if (!running.size) process.once("exit", killAll);
  running.add(child);
  const forget = () => {
    running.delete(child);
    if (!running.size) process.off("exit", killAll);
  };
  child.once("exit", forget).once("error", forget);
}

/** Sends a signal to the server's whole process group. */
function signal(child: ChildProcess | undefined, name: NodeJS.Signals): void {
  const pid = child?.pid;
  if (!pid || child?.exitCode !== null || child.signalCode !== null) return;
  tryTo(() => process.kill(process.platform === "win32" ? pid : -pid, name));
}

/**
 * Reads what a server sends. Answers to pending requests are free; everything else counts towards a
 * limit.
 */
function openInbox(
  pending: Set<string | number>,
  on: { give(message: Message): void; flood(): void },
) {
  let garbage = "";
  let [unasked, bytes] = [0, 0];
  const reader = lineReader(onLine, (cut) => {
    const message = salvage(cut, pending);
    if (message) receive(message, 0);
    else count(cut.bytes);
  });
  return { add: reader.add, garbage: () => garbage };

  function onLine(line: string): void {
    if (!line.trim()) return;
    const message = tryTo(() => JSON.parse(line)) as Message | undefined;
    // older versions of the protocol batch messages
    const messages = Array.isArray(message) ? message : [message];
    for (const singleMessage of messages)
      if (typeof singleMessage === "object" && singleMessage?.jsonrpc === "2.0")
        receive(singleMessage, line.length);
      else {
        garbage ||= clip(oneLine(clean(line)), 120);
        count(line.length);
      }
  }

  function receive(message: Message, length: number): void {
    if (message.method === undefined && message.id !== undefined && pending.delete(message.id))
      [unasked, bytes] = [0, 0];
    else count(length);
    on.give(message);
  }

  function count(length: number): void {
    bytes += length;
    if (++unasked > MAX_UNASKED || bytes > MAX_UNASKED_BYTES) on.flood();
  }
}

const DRAIN_MS = 10_000; // how long a server may leave its stdin unread
const drained = (stdin: Writable): Promise<void> =>
  new Promise((go) => {
    stdin.once("drain", go).once("close", go);
    setTimeout(go, DRAIN_MS).unref();
  });
