// A server in a process of its own that sends a long stream as fast as it is taken, so that whoever reads it pays for reading alone.
// It is told the stream by its parent: what stands at its beginning, what comes again and again, and its end.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Flood {
  head: string;
  events: string[]; // again and again, until there is enough
  tail: string;
  bytes: number;
}

const WRITE_BYTES = 64 * 1024;

process.once("message", (flood: Flood) => {
  const block = blockOf(flood.events);
  const server = createServer((request, response) => {
    request.resume();
    if (!/chat|messages|responses|GenerateContent/.test(request.url ?? "")) {
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(flood.head);
    let left = Math.ceil(flood.bytes / block.length);
    const send = () => {
      while (left-- > 0) if (!response.write(block)) return void response.once("drain", send);
      response.end(flood.tail);
    };
    send();
  });
  server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
});

/** Whole events, about as many as go out at once. */
function blockOf(events: string[]): Buffer {
  const one = Buffer.from(events.join(""));
  return Buffer.concat(Array.from({ length: Math.max(1, Math.round(WRITE_BYTES / one.length)) }, () => one));
}
