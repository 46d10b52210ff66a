// Searches the web with Brave, Tavily or the person's own SearXNG.
import type { Zz } from "zz";
import { fault, oneLine } from "zz/text";
import type { Config } from "./index.ts";

export interface Hit {
  title: string;
  url: string;
  text: string;
}
type Engine = "brave" | "tavily" | "searxng";
const ADDRESSES = {
  brave: "https://api.search.brave.com/res/v1/web/search",
  tavily: "https://api.tavily.com/search",
};
const VARIABLES = { brave: "BRAVE_API_KEY", tavily: "TAVILY_API_KEY" };
const MAX_HIT_CHARS = 400;

/** The search engine, its address and its key; undefined if none is set up, or not understood. */
export function engineOf({
  config,
  configFault,
  io,
}: Pick<Zz<Config>, "config" | "configFault" | "io">):
  | { engine: Engine; url: string; key: string }
  | undefined {
  if (configFault) return undefined;
  const keyOf = (engine: Engine) =>
    (config.engine === engine && config.key) ||
    (engine === "searxng" ? "" : (io.variable(VARIABLES[engine]) ?? ""));
  const has = (engine: Engine) => (engine === "searxng" ? config.url !== "" : keyOf(engine) !== "");
  const engine = (config.engine as Engine) || (["searxng", "brave", "tavily"] as const).find(has);
  if (!engine || !has(engine)) return undefined;
  const url =
    engine === "searxng"
      ? `${config.url.replace(/\/+$/, "")}/search`
      : config.url || ADDRESSES[engine];
  return URL.canParse(url) ? { engine, url, key: keyOf(engine) } : undefined;
}

export async function search(
  zz: Zz<Config>,
  query: string,
  count: number,
  stop: AbortSignal,
): Promise<Hit[]> {
  const { engine, url, key } = engineOf(zz)!;
  const secret = zz.secret(key);
  const limit = zz.io.clock.limit(zz.config.seconds * 1000);
  const signal = AbortSignal.any([stop, limit]);
  const address = new URL(url);
  const asked = { q: query, count, ...(engine === "searxng" && { format: "json" }) };
  if (engine !== "tavily")
    for (const [name, value] of Object.entries(asked))
      address.searchParams.set(name, String(value));
  const headers: Record<string, string> = { accept: "application/json" };
  if (engine === "brave") headers["x-subscription-token"] = `${secret}`;
  if (engine === "tavily")
    Object.assign(headers, {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
    });
  const body = engine === "tavily" ? JSON.stringify({ query, max_results: count }) : undefined;
  try {
    const answer = await zz.fetch(address.href, {
      method: body ? "POST" : "GET",
      headers,
      body,
      signal,
    });
    return hitsIn(engine, await answer.json()).slice(0, count);
  } catch (error) {
    if (stop.aborted) throw error;
    if (limit.aborted)
      throw fault(
        `Cannot search: ${address.host} took longer than ${zz.config.seconds} s. Try again.`,
      );
    if (error instanceof SyntaxError)
      throw fault(
        `Cannot search: ${address.host} sent no JSON.${engine === "searxng" ? FORMAT : ""}`,
      );
    const { status } = error as { status?: number };
    if (status === 401 || (status === 403 && engine !== "searxng"))
      throw fault(`Cannot search: ${engine} refused the key. Check it.`, { kind: "key" });
    if (status === 403) throw fault(`Cannot search: ${address.host} refused.${FORMAT}`);
    throw error;
  }
}
const FORMAT = ' Add "json" to search.formats in its settings.yml.';

function hitsIn(engine: Engine, reply: unknown): Hit[] {
  const { web, results } = Object(reply);
  const hits: unknown = engine === "brave" ? web?.results : results;
  if (!Array.isArray(hits)) return [];
  return hits.flatMap((hit) => {
    const { title, url, description, content } = Object(hit);
    if (typeof url !== "string" || !/^https?:/.test(url)) return [];
    return {
      title: plain(title) || url,
      url,
      text: plain(description ?? content).slice(0, MAX_HIT_CHARS),
    };
  });
}

/** The text without the tags and entities with which Brave marks words. */
const plain = (text: unknown): string =>
  oneLine(String(text ?? "").replace(/<\/?(strong|b|em|mark)>/g, "")).replace(
    /&(amp|lt|gt|quot|#x27|#39);/g,
    (_, name) => LETTERS[name]!,
  );
const LETTERS: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#x27": "'",
  "#39": "'",
};
