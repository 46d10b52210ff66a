// web_fetch reads pages as Markdown, and web_search finds them. Only public addresses are reached
// unless the person names another one. What the tools need is loaded on first use.
import type { Ctx, Need, Tool, Zz } from "zz";
import { fault, isNamed, isPlainlyLocal, visible, whyNotPublic } from "zz/text";
import type { Pages } from "./fetch.ts";

export const defaults = { seconds: 30, megabytes: 3, engine: "", key: "", url: "" };
export const settings = {
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      seconds: {
        type: "number",
        minimum: 1,
        maximum: 600,
        description: "seconds that a page may take",
      },
      megabytes: {
        type: "number",
        minimum: 0.01,
        maximum: 50,
        description: "MB of a page that are read, unpacked",
      },
      engine: {
        enum: ["", "brave", "tavily", "searxng"],
        description: "the search engine; empty: the one whose key is set",
      },
      key: { type: "string", description: "the key of the search engine" },
      url: { type: "string", description: "the address of SearXNG" },
    },
  },
};
export type Config = typeof defaults;

export default (zz: Zz<Config>) => {
  let openedPages: Promise<Pages> | undefined;
  let searches = false;
  const mayBeSet = () =>
    Boolean(
      zz.config.engine ||
        zz.config.url ||
        VARIABLES.some((variableName) => zz.io.variable(variableName)),
    );

  zz.tool({
    name: "web_fetch",
    kind: "read",
    description: "Read a web page as Markdown; also PDF, JSON and text.",
    params: { url: "string http or https", start: "integer? the character to go on from" },
    timeout: 900_000, // web.seconds ends it earlier
    needs: async ({ url }, ctx) => ({ net: [await buildNeed(url, ctx)] }),
    preview: ({ url }) => {
      const network = whyNotPublic(addressOf(url).hostname.replace(/^\[|\]$/g, ""));
      const networkNote =
        network && network !== "no address" ? `This address belongs to ${network}.` : "";
      // the address may say more than its host
      return [visible(String(url)), networkNote].filter(Boolean).join("\n");
    },
    describe: ({ url }) => String(url),
    render: ({ text, data }) => {
      const { title = "", chars = text.length } = (data ?? {}) as {
        title?: string;
        chars?: number;
      };
      return `${title ? `${title} · ` : ""}${chars} characters`;
    },
    async run({ url, start = 0 }, ctx) {
      openedPages ??= import("./fetch.ts").then(({ openPages }) => openPages(zz));
      return (await openedPages).read(addressOf(url), start, ctx);
    },
  });

  // web_search is registered once a search engine is set up. If its settings are removed, it is no
  // longer offered.
  const offerSearch = async () => {
    if (searches || !mayBeSet() || !(await findSearchHost(zz))) return;
    searches = true;
    zz.tool(searchTool(zz));
  };
  zz.on("configured", offerSearch);
  zz.wrap("offer", async (offeredTools, next) =>
    next(
      searches && !(await findSearchHost(zz))
        ? offeredTools.filter(({ name }) => name !== SEARCH_TOOL)
        : offeredTools,
    ),
  );
  if (mayBeSet()) return offerSearch();
};
const SEARCH_TOOL = "web_search";
const VARIABLES = ["BRAVE_API_KEY", "TAVILY_API_KEY"];

/** The host of the search engine; undefined if none is set up. */
async function findSearchHost(zz: Zz<Config>): Promise<string | undefined> {
  const { engineOf } = await import("./search.ts");
  const searchEngine = engineOf(zz);
  return searchEngine && new URL(searchEngine.url).host;
}

const searchTool = (zz: Zz<Config>): Tool => ({
  name: SEARCH_TOOL,
  kind: "read",
  description:
    "Search the web: titles, addresses and a few words of each hit. web_fetch reads one.",
  params: { query: "string what to look for", count: "integer? how many hits, 1 to 20; 8" },
  needs: async () => ({ net: [(await findSearchHost(zz)) ?? "nowhere"] }),
  describe: ({ query }) => String(query),
  render: ({ data }) => `${(data as unknown[]).length} hits`,
  async run({ query, count = 8 }, { signal }) {
    if (!(await findSearchHost(zz)))
      throw fault('Cannot search: no search engine is set up. See "web" in the settings.');
    const { search } = await import("./search.ts");
    const searchHits = await search(zz, query, Math.min(Math.max(count, 1), 20), signal);
    const hitRows = searchHits.map(({ title, url, text }, i) =>
      [`${i + 1}. ${title}`, `   ${url}`, ...(text ? [`   ${text}`] : [])].join("\n"),
    );
    return { text: hitRows.join("\n") || `Nothing was found for '${query}'.`, data: searchHits };
  },
});

/** The URL as the gate judges it: other spellings of an IP address are normalized. */
export function addressOf(address: string): URL {
  const trimmed = address.trim();
  const cannot = (reason: string) => fault(`Cannot fetch '${address}': ${reason}`);
  if (!URL.canParse(trimmed)) throw cannot("it is not an address. Write it whole, with https://.");
  const parsedUrl = new URL(trimmed);
  if (!/^https?:$/.test(parsedUrl.protocol)) throw cannot("only http and https can be fetched.");
  if (parsedUrl.username || parsedUrl.password)
    throw cannot("it holds a name or a password. Leave them out.");
  parsedUrl.hash = "";
  return parsedUrl;
}

/**
 * The need for a host. A rule for all hosts does not allow one that is plainly local; only one with
 * its name does.
 */
async function buildNeed(address: string, { permissions }: Ctx): Promise<Need> {
  const { host: name, hostname } = addressOf(address);
  const isByAll = permissions.judge("net", name).verdict === "allow" && !isNamed(permissions, name);
  if (!isByAll || !isPlainlyLocal(hostname)) return name;
  const reason =
    "it is an address of this machine or its network, " +
    `which only its own name allows: --allow-net=${name}`;
  return { name, verdict: "ask", why: reason, exact: true };
}
