// Pulls a model for Ollama, with its progress on one line.
import type { Choice, HttpAnswer, Secret, Zz } from "zz";
import { clip } from "zz/text";

/** Small models that call tools well, with their sizes. */
export const SMALL: Choice[] = [
  { name: "qwen3:4b", description: "2.5 GB, 4 billion parameters" },
  { name: "qwen3:8b", description: "5.2 GB, 8 billion parameters" },
  { name: "llama3.2:3b", description: "2.0 GB, 3 billion parameters" },
  { name: "qwen2.5-coder:7b", description: "4.7 GB, 7 billion parameters, for code" },
];

/**
 * Ollama's URL. OLLAMA_HOST may lack a scheme or a port, and 0.0.0.0 is where a server listens, not
 * its address.
 */
export function ollamaAt(url?: string): string {
  const address = url?.trim() || "127.0.0.1:11434";
  const [, scheme, login = "", host = "", port, path = ""] =
    /^(https?:\/\/)?([^/?#@]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?([/?#].*)?$/.exec(address) ?? [];
  const reachableHost = REACHABLE_HOSTS[host] ?? host;
  const defaultPort = scheme ? "" : ":11434";
  const under = path.replace(/\/+$/, "").replace(/\/(v1|api)$/, "");
  return `${scheme ?? "http://"}${login}${reachableHost}${port ? `:${port}` : defaultPort}${under}`;
}
/** Where to reach a server on this machine that has no address, or listens on all of them. */
const REACHABLE_HOSTS: Record<string, string> = {
  "": "127.0.0.1",
  "0.0.0.0": "127.0.0.1",
  "[::]": "[::1]",
};
const UNITS: [bytes: number, name: string][] = [
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
];

type Line = {
  status?: string;
  error?: string;
  digest?: string;
  total?: number;
  completed?: number;
};

/**
 * Reads lines of JSON with the progress of each layer. Only "success" means success: a failure
 * midway has status 200.
 */
export async function pull(
  zz: Zz,
  address: string,
  key: Secret | undefined,
  model: string,
  show: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { Ollama } = await import("ollama/browser");
  let response: HttpAnswer | undefined;
  let failed: unknown;
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {};
  type Asked = { headers: Record<string, string>; body: string };
  const fetch = (url: string, { headers: { "User-Agent": _, ...sent }, body }: Asked) =>
    zz.fetch(url, { method: "POST", headers: sent, body, signal }).then(
      (answer) => (response = answer),
      (error) => Promise.reject((failed = error)),
    );
  await new Ollama({ host: address, headers, fetch: fetch as never })
    .pull({ model, stream: true })
    .catch((error) => {
      throw failed ?? error;
    });
  const columns = () => zz.io.stdout.columns || 80;
  const layers = new Map<string, { total: number; completed: number }>();
  const decoder = new TextDecoder();
  let unread = "";
  let last: Line = {};
  let drawn = -Infinity;
  for await (const bytes of response!.body) {
    const lines = (unread + decoder.decode(bytes, { stream: true })).split("\n");
    unread = lines.pop()!;
    for (const line of lines) if (line.trim()) take(JSON.parse(line));
  }
  if (unread.trim()) take(JSON.parse(unread));
  if (last.status !== "success")
    throw new Error("the server broke off. Try again: it goes on where it was.");

  function take(line: Line): void {
    last = line;
    if (line.error) throw new Error(line.error.slice(0, 300));
    const { digest, total, completed = 0, status = "" } = line;
    if (!digest || !total) show(clip(status.replace(/[\x00-\x1f\x7f-\x9f]/g, ""), columns() - 1));
    if (!digest || !total) return;
    layers.set(digest, { total, completed });
    const time = zz.io.clock.now();
    if (time - drawn < 100 && completed < total) return;
    drawn = time;
    const progress = [...layers.values()];
    show(
      bar(
        sum(progress.map((layer) => layer.completed)),
        sum(progress.map((layer) => layer.total)),
        columns(),
      ),
    );
  }
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

/** [====>    ] 45%  1.2 of 2.6 GB */
export function bar(done: number, total: number, width: number): string {
  const [size, unit] = UNITS.find(([bytes]) => total >= bytes) ?? UNITS.at(-1)!;
  const part = Math.min(1, done / total);
  const words = `${String(Math.floor(part * 100)).padStart(3)}%  ${(done / size).toFixed(1)} of ${(total / size).toFixed(1)} ${unit}`;
  const room = Math.min(40, width - words.length - 4);
  if (room < 5) return words.trim().slice(0, width - 1);
  const full = Math.floor(part * room);
  return `[${"=".repeat(full)}${full < room ? ">" : ""}${" ".repeat(Math.max(0, room - full - 1))}]${words}`;
}
