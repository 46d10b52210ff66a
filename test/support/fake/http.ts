// A server on loopback that plays a script: each request takes the next step; once there is no
// more, the last step repeats. A step is bytes, what it waits for, a hang or a cut; files such as
// openai.ts say what the bytes mean.
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";

export interface Step {
  status?: number;
  headers?: Record<string, string>;
  /** Text and bytes are sent unchanged, promises are waited for. */
  body?: (string | Uint8Array | Promise<unknown>)[];
  /** What happens after the body: a proper end, a cut connection, or nothing at all. */
  ending?: "end" | "cut" | "hang";
  /** Called once the whole body was sent. */
  sent?(): void;
}
export interface Seen {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: any;
  /** Resolves when the client closed the connection before the answer was complete. */
  aborted: Promise<void>;
}
export interface Fake {
  url: string;
  port: number;
  requests: Seen[];
  close(): Promise<void>;
}
export type Script = Step[] | ((request: Seen, turn: number) => Step | Promise<Step>);

/** A server for one test, and its address. */
export async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The step of a script for this request. */
export const stepOf = (script: Script, seen: Seen, turn: number): Step | Promise<Step> =>
  typeof script === "function"
    ? script(seen, turn)
    : (script[Math.min(turn, script.length - 1)] ?? {});

export async function serve(
  script: Script,
  routes: Record<string, (request: Seen) => Step> = {},
): Promise<Fake> {
  const requests: Seen[] = [];
  let turn = 0;
  const server = createServer(async (incoming, response) => {
    let text = "";
    try {
      for await (const piece of incoming.setEncoding("utf8")) text += piece;
    } catch {
      return; // stopped in the middle of a long request
    }
    const { method = "", url = "", headers } = incoming;
    const aborted = new Promise<void>((resolve) =>
      response.on("close", () => response.writableFinished || resolve()),
    );
    const seen: Seen = {
      method,
      path: url,
      headers,
      body: text ? JSON.parse(text) : undefined,
      aborted,
    };
    const route = routes[`${method} ${url}`];
    if (route) return play(response, route(seen));
    requests.push(seen);
    await play(response, await stepOf(script, seen, turn++));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    close: () => new Promise((closed) => server.close(() => closed()).closeAllConnections()),
  };
}

async function play(response: ServerResponse, step: Step): Promise<void> {
  const { status = 200, headers = {}, body = [], ending = "end", sent } = step;
  response.writeHead(status, headers);
  response.flushHeaders();
  for (const piece of body) {
    if (piece instanceof Promise) await piece;
    else if (!response.destroyed) {
      await new Promise<void>((sent) => response.write(piece, () => sent()));
      // in which a client in this process reads the piece by itself
      for (let rounds = 0; rounds < 2; rounds++) await nextRound();
    }
  }
  sent?.();
  if (ending === "end") response.end();
  if (ending === "cut") response.destroy();
}
