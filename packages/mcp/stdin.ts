// The client's messages on stdin, one a line, and zz's on stdout. A request that cannot be read is
// answered as well: no client waits in vain.
import { parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/server";
import { tryTo } from "zz/text";
import { lineReader } from "./read-lines.ts";

const [UNREADABLE, INVALID] = [-32_700, -32_600];

export function onStdin(stdin: NodeJS.ReadableStream, stdout: NodeJS.WritableStream): Transport {
  const reader = lineReader(onLine, ({ head, bytes }) => {
    const [, id] = /"id"\s*:\s*(\d+|"[^"\\]*")/.exec(head) ?? [];
    refuse(
      JSON.parse(id ?? "null"),
      INVALID,
      `it has ${(bytes / 1e6).toFixed(1)} MB, more than zz takes in`,
    );
  });
  const transport: Transport = {
    start: async () => void stdin.on("data", reader.add),
    send: async (message) => write(message),
    async close() {
      stdin.off("data", reader.add);
      transport.onclose?.();
    },
  };
  return transport;

  function write(message: object): void {
    stdout.write(`${JSON.stringify(message)}\n`);
  }

  function onLine(line: string): void {
    if (!line.trim()) return;
    const message: unknown = tryTo(() => JSON.parse(line));
    // older versions of the protocol batch messages
    const messages = Array.isArray(message) && message.length ? message : [message];
    if (message === undefined) refuse(null, UNREADABLE, "it is not JSON");
    else for (const singleMessage of messages) receive(singleMessage);
  }

  function receive(message: unknown): void {
    const parsed = tryTo(() => parseJSONRPCMessage(message));
    if (parsed) transport.onmessage?.(parsed);
    else {
      const { id, method, result, error } = Object(message) as Record<string, unknown>;
      if (method === undefined && (result ?? error) !== undefined) return; // an answer to nothing
      refuse(
        typeof id === "string" || typeof id === "number" ? id : null,
        INVALID,
        "it is not a JSON-RPC message",
      );
    }
  }

  function refuse(id: string | number | null, code: number, reason: string): void {
    write({ jsonrpc: "2.0", id, error: { code, message: `Cannot read this message: ${reason}.` } });
  }
}
