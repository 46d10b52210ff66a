// Searches the web with Brave, Tavily or the person's own SearXNG.
import type { Zz } from "zz";
import { fault, oneLine } from "zz/text";
import { withoutEntities } from "./decode-answer.ts";
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
  const findKey = (candidate: Engine) =>
    (config.engine === candidate && config.key) ||
    (candidate === "searxng" ? "" : (io.variable(VARIABLES[candidate]) ?? ""));
  const isSetUp = (candidate: Engine) =>
    candidate === "searxng" ? config.url !== "" : findKey(candidate) !== "";
  const engine =
    (config.engine as Engine) || (["searxng", "brave", "tavily"] as const).find(isSetUp);
  if (!engine || !isSetUp(engine)) return undefined;
  const url =
    engine === "searxng"
      ? `${config.url.replace(/\/+$/, "")}/search`
      : config.url || ADDRESSES[engine];
  return URL.canParse(url) ? { engine, url, key: findKey(engine) } : undefined;
}

export async function search(
  zz: Zz<Config>,
  query: string,
  count: number,
  stopSignal: AbortSignal,
): Promise<Hit[]> {
  const { engine, url, key } = engineOf(zz)!;
  const secretKey = zz.secret(key);
  const timeLimit = zz.io.clock.limit(zz.config.seconds * 1000);
  const signal = AbortSignal.any([stopSignal, timeLimit]);
  const address = new URL(url);
  const queryFields = { q: query, count, ...(engine === "searxng" && { format: "json" }) };
  if (engine !== "tavily")
    for (const [fieldName, fieldValue] of Object.entries(queryFields))
      address.searchParams.set(fieldName, String(fieldValue));
  const headers: Record<string, string> = { accept: "application/json" };
  if (engine === "brave") headers["x-subscription-token"] = `${secretKey}`;
  if (engine === "tavily")
    Object.assign(headers, {
      authorization: `Bearer ${secretKey}`,
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
    return parseHits(engine, await answer.json()).slice(0, count);
  } catch (error) {
    if (stopSignal.aborted) throw error;
    if (timeLimit.aborted)
      throw fault(
        `Cannot search: ${address.host} took longer than ${zz.config.seconds} s. Try again.`,
      );
    if (error instanceof SyntaxError)
      throw fault(
        `Cannot search: ${address.host} sent no JSON.${engine === "searxng" ? FORMAT_HINT : ""}`,
      );
    const { status } = error as { status?: number };
    if (status === 401 || (status === 403 && engine !== "searxng"))
      throw fault(`Cannot search: ${engine} refused the key. Check it.`, { kind: "key" });
    if (status === 403) throw fault(`Cannot search: ${address.host} refused.${FORMAT_HINT}`);
    throw error;
  }
}
const FORMAT_HINT = ' Add "json" to search.formats in its settings.yml.';

function parseHits(searchEngine: Engine, reply: unknown): Hit[] {
  const { web, results } = Object(reply);
  const rawHits: unknown = searchEngine === "brave" ? web?.results : results;
  if (!Array.isArray(rawHits)) return [];
  return rawHits.flatMap((rawHit) => {
    const { title, url, description, content } = Object(rawHit);
    if (typeof url !== "string" || !/^https?:/.test(url)) return [];
    return {
      title: stripMarkup(title) || url,
      url,
      text: stripMarkup(description ?? content).slice(0, MAX_HIT_CHARS),
    };
  });
}

/** The text without the tags and entities with which Brave marks words. */
const stripMarkup = (markedText: unknown): string =>
  withoutEntities(oneLine(String(markedText ?? "").replace(/<\/?(strong|b|em|mark)>/g, "")));
