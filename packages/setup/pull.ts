// Pulls a model for Ollama, with its progress on one line.
import type { Choice, HttpAnswer, Secret, Zz } from "zz";
import { clip, ownValue } from "zz/text";

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
export function ollamaAt(hostSetting?: string): string {
  const address = hostSetting?.trim() || "127.0.0.1:11434";
  const [, scheme, login = "", hostName = "", portNumber, urlPath = ""] =
    /^(https?:\/\/)?([^/?#@]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?([/?#].*)?$/.exec(address) ?? [];
  const reachableHost = ownValue(REACHABLE_HOSTS, hostName) ?? hostName;
  const defaultPort = scheme ? "" : ":11434";
  const basePath = urlPath.replace(/\/+$/, "").replace(/\/(v1|api)$/, "");
  return (
    `${scheme ?? "http://"}${login}${reachableHost}` +
    `${portNumber ? `:${portNumber}` : defaultPort}${basePath}`
  );
}
/** Where to reach a server on this machine that has no address, or listens on all of them. */
const REACHABLE_HOSTS: Record<string, string> = {
  "": "127.0.0.1",
  "0.0.0.0": "127.0.0.1",
  "[::]": "[::1]",
};
const SIZE_UNITS: [bytes: number, name: string][] = [
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
  secretKey: Secret | undefined,
  model: string,
  showProgress: (progressText: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { Ollama } = await import("ollama/browser");
  let response: HttpAnswer | undefined;
  let fetchError: unknown;
  const headers: Record<string, string> = secretKey ? { authorization: `Bearer ${secretKey}` } : {};
  type Asked = { headers: Record<string, string>; body: string };
  const postRequest = (targetUrl: string, { headers: { "User-Agent": _, ...sent }, body }: Asked) =>
    zz.fetch(targetUrl, { method: "POST", headers: sent, body, signal }).then(
      (answer) => (response = answer),
      (error) => Promise.reject((fetchError = error)),
    );
  await new Ollama({ host: address, headers, fetch: postRequest as never })
    .pull({ model, stream: true })
    .catch((error) => {
      throw fetchError ?? error;
    });
  const columns = () => zz.io.stdout.columns || 80;
  const layersByDigest = new Map<string, { total: number; completed: number }>();
  const decoder = new TextDecoder();
  let unreadText = "";
  let lastLine: Line = {};
  let drawnTime = -Infinity;
  for await (const bodyBytes of response!.body) {
    const wholeLines = (unreadText + decoder.decode(bodyBytes, { stream: true })).split("\n");
    unreadText = wholeLines.pop()!;
    for (const jsonLine of wholeLines) if (jsonLine.trim()) takeLine(JSON.parse(jsonLine));
  }
  if (unreadText.trim()) takeLine(JSON.parse(unreadText));
  if (lastLine.status !== "success")
    throw new Error("the server broke off. Try again: it goes on where it was.");

  function takeLine(progressLine: Line): void {
    lastLine = progressLine;
    if (progressLine.error) throw new Error(progressLine.error.slice(0, 300));
    const { digest, total, completed = 0, status = "" } = progressLine;
    if (!digest || !total) {
      showProgress(clip(status.replace(/[\x00-\x1f\x7f-\x9f]/g, ""), columns() - 1));
      return;
    }
    layersByDigest.set(digest, { total, completed });
    const currentTime = zz.io.clock.now();
    if (currentTime - drawnTime < 100 && completed < total) return;
    drawnTime = currentTime;
    let [doneBytes, totalBytes] = [0, 0];
    for (const layer of layersByDigest.values()) {
      doneBytes += layer.completed;
      totalBytes += layer.total;
    }
    showProgress(bar(doneBytes, totalBytes, columns()));
  }
}

/** [====>    ] 45%  1.2 of 2.6 GB */
export function bar(doneBytes: number, totalBytes: number, columnCount: number): string {
  const [unitBytes, unitName] =
    SIZE_UNITS.find(([bytes]) => totalBytes >= bytes) ?? SIZE_UNITS.at(-1)!;
  const fraction = Math.min(1, doneBytes / totalBytes);
  const progressText =
    `${String(Math.floor(fraction * 100)).padStart(3)}%  ${(doneBytes / unitBytes).toFixed(1)} ` +
    `of ${(totalBytes / unitBytes).toFixed(1)} ${unitName}`;
  const barWidth = Math.min(40, columnCount - progressText.length - 4);
  if (barWidth < 5) return progressText.trim().slice(0, columnCount - 1);
  const filledWidth = Math.floor(fraction * barWidth);
  return (
    `[${"=".repeat(filledWidth)}${filledWidth < barWidth ? ">" : ""}` +
    `${" ".repeat(Math.max(0, barWidth - filledWidth - 1))}]${progressText}`
  );
}
