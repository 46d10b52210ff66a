// A running `zz --serve` with a scripted model, and a client that speaks its interface.
import { type ChildProcess, spawn } from "node:child_process";
import { after } from "node:test";
import type { Script } from "../../../../test/support/fake/http.ts";
import { fakeOpenAI } from "../../../../test/support/fake/openai.ts";
import type { Tree } from "../../../../test/support/files.ts";
import { environment, type Place, place, WAYS } from "../../../../test/support/run.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import type { ChatEvent } from "../../draw-event.ts";

interface Serving {
  model: Awaited<ReturnType<typeof fakeOpenAI>>;
  where: Place;
  url: string; // with the token
  origin: string;
  child: ChildProcess;
  exited: Promise<number | null>;
  ask(method: string, path: string, body?: unknown, headers?: object): Promise<Asked>;
  /** Reads events until one fits. */
  listen(chat: string, lastId?: number): Listener;
  end(): Promise<void>;
}
type Asked = { status: number; body: any };
interface Listener {
  events: ChatEvent[];
  sees(type: ChatEvent["type"], count?: number): Promise<ChatEvent>;
  close(): void;
}

const running: (() => Promise<void>)[] = [];
after(() => Promise.all(running.map((end) => end())));

export async function serving(
  script: Script,
  files: Tree = {},
  where = place(files),
): Promise<Serving> {
  const fake = await fakeOpenAI(script);
  const [node, program] = WAYS.dist;
  const flags = ["--serve", "-m", "openai/m", "--base-url", fake.url, "--key", "x"];
  const child = spawn(node, [program, ...flags], {
    cwd: where.cwd,
    env: environment(where, {}),
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const end = async () => {
    child.kill("SIGKILL");
    await exited;
    await fake.close();
  };
  running.push(end);
  let said = "";
  child.stderr.on("data", (piece) => (said += piece));
  const url = await waitFor(
    "the address",
    () => /http:\S+/.exec(said)?.[0],
    () => said,
  );
  const { origin, hash } = new URL(url);
  const token = { authorization: `Bearer ${hash.slice(1)}` };

  async function ask(method: string, path: string, body?: unknown, headers = {}): Promise<Asked> {
    const response = await fetch(origin + path, {
      method,
      headers: {
        ...token,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  }

  function listen(chat: string, lastId = 0): Listener {
    const events: ChatEvent[] = [];
    const stop = new AbortController();
    const headers = { ...token, "last-event-id": String(lastId) };
    const reading = read();
    reading.catch(() => {}); // it was closed
    async function read(): Promise<void> {
      const response = await fetch(`${origin}/chats/${chat}/events`, {
        headers,
        signal: stop.signal,
      });
      let text = "";
      for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
        const blocks = (text + piece).split("\n\n");
        text = blocks.pop()!;
        for (const block of blocks) {
          const line = /^data: (.*)$/m.exec(block)?.[1];
          if (line) events.push(JSON.parse(line));
        }
      }
    }
    const sees = (type: ChatEvent["type"], count = 1) =>
      waitFor(
        `event ${count} of type ${type}`,
        () => events.filter((event) => event.type === type)[count - 1],
        () => JSON.stringify(events.map((event) => event.type)),
      );
    return { events, sees, close: () => stop.abort() };
  }
  return { model: fake, where, url, origin, child, exited, ask, listen, end };
}

/** Begins a conversation and says something. */
export async function begun({ ask, listen }: Serving, text: string) {
  const { body } = await ask("POST", "/chats", {});
  const listener = listen(body.id);
  await ask("POST", `/chats/${body.id}/messages`, { text });
  return { id: body.id as string, listener };
}
