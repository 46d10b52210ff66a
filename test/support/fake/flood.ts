// A server in its own process that sends a long stream as fast as the client reads it, so that the
// client's CPU time is that of reading only. Its parent tells it the beginning of the stream, the
// events that repeat, and the end.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface Flood {
  head: string;
  events: string[]; // repeated until there is enough
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

/** A block of whole events, about as many as are written at once. */
function blockOf(events: string[]): Buffer {
  const one = Buffer.from(events.join(""));
  return Buffer.concat(
    Array.from({ length: Math.max(1, Math.round(WRITE_BYTES / one.length)) }, () => one),
  );
}
