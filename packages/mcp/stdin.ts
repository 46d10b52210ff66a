// The client's messages on stdin, one a line, and zz's on stdout. A request that cannot be read is
// answered as well: no client waits in vain.
import { parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/server";
import { sizeInWords, tryTo } from "zz/text";
import { lineReader } from "./read-lines.ts";

const [UNREADABLE, INVALID] = [-32_700, -32_600];

export function onStdin(stdin: NodeJS.ReadableStream, stdout: NodeJS.WritableStream): Transport {
  const reader = lineReader(readMessages, ({ head, bytes }) => {
    const [, id] = /"id"\s*:\s*(\d+|"[^"\\]*")/.exec(head) ?? [];
    refuseMessage(
      JSON.parse(id ?? "null"),
      INVALID,
      `it has ${sizeInWords(bytes)}, more than zz takes in`,
    );
  });
  const transport: Transport = {
    start: async () => void stdin.on("data", reader.add),
    send: async (message) => writeMessage(message),
    async close() {
      stdin.off("data", reader.add);
      transport.onclose?.();
    },
  };
  return transport;

  function writeMessage(message: object): void {
    stdout.write(`${JSON.stringify(message)}\n`);
  }

  function readMessages(messageLine: string): void {
    if (!messageLine.trim()) return;
    const message: unknown = tryTo(() => JSON.parse(messageLine));
    // older versions of the protocol batch messages
    const messages = Array.isArray(message) && message.length ? message : [message];
    if (message === undefined) refuseMessage(null, UNREADABLE, "it is not JSON");
    else for (const singleMessage of messages) receive(singleMessage);
  }

  function receive(message: unknown): void {
    const parsedMessage = tryTo(() => parseJSONRPCMessage(message));
    if (parsedMessage) transport.onmessage?.(parsedMessage);
    else {
      const { id, method, result, error } = Object(message) as Record<string, unknown>;
      if (method === undefined && (result ?? error) !== undefined) return; // an answer to nothing
      refuseMessage(
        typeof id === "string" || typeof id === "number" ? id : null,
        INVALID,
        "it is not a JSON-RPC message",
      );
    }
  }

  function refuseMessage(id: string | number | null, code: number, reason: string): void {
    writeMessage({
      jsonrpc: "2.0",
      id,
      error: { code, message: `Cannot read this message: ${reason}.` },
    });
  }
}
