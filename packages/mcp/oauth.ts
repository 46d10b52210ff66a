// Logs in to a server: the SDK's OAuth with this machine's browser. A private file of the home
// keeps the tokens.
import { createServer } from "node:http";
import type { LookupFunction } from "node:net";
import path from "node:path";
import {
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
} from "@modelcontextprotocol/client";
import type { Ctx, Zz } from "zz";
import { addressesOf, clean, fault, lookupAmong, textOf, tryTo, whyNotPublic } from "zz/text";
import { fetchOf, type Guard } from "./http.ts";
import type { Hub, Server } from "./hub.ts";
import { filledIn, KEPT } from "./settings.ts";

const LOGIN_MS = 300_000; // for the person to log in in the browser
const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", win32: "explorer" };
const OPENER = OPENERS[process.platform] ?? "xdg-open";

/**
 * issuer: the origin that gave the tokens, and alone gets the refresh token. hosts: those that the
 * person agreed to. wanted: what the server said that a login must be for.
 */
type Login = { client?: any; tokens?: any; issuer?: string; hosts?: string[]; wanted?: string };
type Kept = { servers?: Record<string, Login>; [field: string]: unknown };

/** A login belongs to one address: another server of the same name does not get it. */
const keyOf = ({ name, config }: Server): string => `${name} ${config.url}`;

function read(ctx: Ctx, server: Server): Login {
  const credentials = tryTo(() => JSON.parse(textOf(path.join(ctx.about.home, KEPT)))) as
    | Kept
    | undefined;
  return credentials?.servers?.[keyOf(server)] ?? {};
}

function keep(ctx: Ctx, server: Server, login: Login | undefined): void {
  ctx.keep(KEPT, (text) => {
    const { servers = {}, ...others } = (tryTo(() => JSON.parse(text)) ?? {}) as Kept;
    const { [keyOf(server)]: _, ...otherLogins } = servers;
    return JSON.stringify(
      { ...others, servers: { ...otherLogins, ...(login && { [keyOf(server)]: login }) } },
      null,
      2,
    );
  });
}

/** Registers a login's tokens as secrets. */
function veiled(zz: Zz<any>, login: Login): Login {
  const { client, tokens } = login;
  for (const secret of [
    client?.client_secret,
    tokens?.access_token,
    tokens?.refresh_token,
    tokens?.id_token,
  ])
    if (typeof secret === "string") zz.secret(secret);
  return login;
}

type ProviderOptions = {
  redirectUrl: string;
  login: Login;
  state?: string;
  open(url: URL): void | Promise<void>;
};

function providerFor(
  zz: Zz<any>,
  ctx: Ctx,
  server: Server,
  options: ProviderOptions,
): OAuthClientProvider {
  const { login, redirectUrl, state } = options;
  const { clientId, clientSecret, scope } = server.config.oauth ?? {};
  let [verifier, discovered]: [string, OAuthDiscoveryState | undefined] = ["", undefined];
  const save = (part: Login) => {
    Object.assign(login, part);
    keep(ctx, server, veiled(zz, login));
  };
  return {
    redirectUrl,
    clientMetadata: {
      redirect_uris: [redirectUrl],
      client_name: "zz",
      ...(scope && { scope }),
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    },
    ...(state && { state: () => state }),
    clientInformation: () =>
      clientId
        ? { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) }
        : login.client,
    saveClientInformation: (client) => save({ client }),
    tokens: () => login.tokens,
    saveTokens: (tokens) => save({ tokens }),
    redirectToAuthorization: options.open,
    saveCodeVerifier: (newVerifier) => void (verifier = newVerifier),
    codeVerifier: () => verifier,
    ...(state && {
      saveDiscoveryState: (discovery) => void (discovered = discovery),
      discoveryState: () => discovered,
    }),
    invalidateCredentials: (part) => {
      if (part === "tokens" || part === "all") save({ tokens: undefined });
    },
  };
}

/**
 * Lets a request go to the server's own host, which the gate allowed. A server may name any other
 * for its login: each passes the gate, once for a login; denials hold. An address of this machine
 * or its network is reached only if the server is there.
 */
export function guardOf(ctx: Ctx, server: Server, url: string, login: Login): Guard {
  const serverUrl = new URL(url);
  return async (target, sent, signal) => {
    const grant = new URLSearchParams(sent).get("grant_type");
    if (grant === "refresh_token" && target.origin !== login.issuer) throw wantsLogin(server);
    if (grant === "authorization_code") login.issuer = target.origin;
    const { verdict, why } = ctx.permissions.judge("net", target.host);
    if (verdict === "deny")
      throw fault(`Refused: net access to "${target.host}" is denied ${why}.`, { exit: 4 });
    if (serverUrl.protocol === "https:" && target.protocol !== "https:")
      throw fault(
        `Refused: MCP server '${server.name}' wants '${target.origin}' for its login, which is not encrypted.`,
        { exit: 4 },
      );
    return target.origin === serverUrl.origin
      ? undefined
      : reach(ctx, server, { target, serverUrl, login, signal });
  };
}

async function reach(
  ctx: Ctx,
  { name: server }: Server,
  {
    target,
    serverUrl,
    login,
    signal,
  }: { target: URL; serverUrl: URL; login: Login; signal?: AbortSignal | undefined },
): Promise<LookupFunction> {
  const isAgreed = login.hosts?.includes(target.host) === true;
  const { failed, text } = await ctx.call(REACH, {
    server,
    host: target.host,
    agreed: () => isAgreed,
  });
  if (failed) throw fault(text, { exit: 4 });
  if (!isAgreed) login.hosts = [...(login.hosts ?? []), target.host];
  const [theirs, ours] = await Promise.all([
    addressesOf(target, signal),
    addressesOf(serverUrl, signal),
  ]);
  const isPublic = ours.every(({ address }) => !whyNotPublic(address));
  const reachable = theirs.filter(({ address }) => !isPublic || !whyNotPublic(address));
  if (reachable.length) return lookupAmong(reachable);
  const network = whyNotPublic(theirs[0]?.address ?? "");
  throw fault(
    `Refused: '${target.host}' belongs to ${network}, and MCP server '${server}' does not.`,
    { exit: 4 },
  );
}
/** The tool that asks the gate for a host. `agreed` is a function, which no model can send. */
const REACH = "mcp_reach";

const wantsLogin = ({ name }: Server): Error =>
  fault(`MCP server '${name}' wants a login. Type: /mcp login ${name}`, { status: 401, exit: 1 });

/**
 * The last login, for requests; renewed as long as the server allows it. Where nobody has logged
 * in, `provider` is missing.
 */
export function loginOf(
  zz: Zz<any>,
  ctx: Ctx,
  server: Server,
): { login: Login; provider?: OAuthClientProvider } {
  const login = veiled(zz, read(ctx, server));
  if (!login.tokens) return { login };
  const open = (page: URL) => {
    const wanted = page.searchParams.get("scope");
    if (wanted) keep(ctx, server, Object.assign(login, { wanted }));
    throw wantsLogin(server);
  };
  return {
    login,
    provider: providerFor(zz, ctx, server, {
      redirectUrl: "http://127.0.0.1/callback",
      login,
      open,
    }),
  };
}

export async function logout(_: Hub, server: Server, ctx: Ctx): Promise<string> {
  keep(ctx, server, undefined);
  return `The login to MCP server '${server.name}' is forgotten here. The server may keep it: revoke it there, too.`;
}

export async function login({ zz }: Hub, server: Server, ctx: Ctx): Promise<string> {
  const { name, config } = server;
  const { url } = filledIn(zz, ctx, server);
  if (config.url === undefined || !url)
    throw fault(`Cannot log in to MCP server '${name}': it is a program, not an address.`);
  const state = process.getBuiltinModule("node:crypto").randomBytes(24).toString("base64url");
  const callback = await listen(state);
  let refusal: unknown; // the client goes on without what it could not read
  try {
    const login: Login = {};
    const allowed = guardOf(ctx, server, url, login);
    const guard: Guard = async (...request) => {
      return allowed(...request).catch((error) => Promise.reject((refusal ??= error)));
    };
    const open = async (page: URL) => {
      assertWebPage(name, page);
      await guard(page, undefined, ctx.signal);
      show(name, page, ctx);
    };
    const provider = providerFor(zz, ctx, server, {
      redirectUrl: callback.url,
      login,
      state,
      open,
    });
    const fetchFn = fetchOf(zz, guard);
    const { scope: announced, resourceMetadataUrl } = await challengeOf(url, fetchFn);
    const scope = computeScopeUnion(config.oauth?.scope ?? announced, read(ctx, server).wanted);
    const authOptions = {
      serverUrl: url,
      fetchFn,
      ...(scope && { scope }),
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
    };
    if ((await auth(provider, authOptions)) === "REDIRECT") {
      const { code, iss } = await callback.answer(
        AbortSignal.any([ctx.signal, zz.io.clock.limit(LOGIN_MS)]),
      );
      await auth(provider, { ...authOptions, authorizationCode: code, ...(iss && { iss }) });
    }
  } catch (error) {
    throw cannot(name, refusal ?? error);
  } finally {
    callback.close();
  }
  return `Logged in to MCP server '${name}'.`;
}

/**
 * What a server says to who comes without a login: where its metadata is, and what the login is to
 * be for.
 */
async function challengeOf(url: string, fetchFn: ReturnType<typeof fetchOf>) {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const answer = await fetchFn(url, {
    method: "POST",
    headers,
    body: '{"jsonrpc":"2.0","id":0,"method":"ping"}',
  });
  await answer.body?.cancel();
  return answer.status === 401 ? extractWWWAuthenticateParams(answer) : {};
}

const cannot = (name: string, error: unknown): Error => {
  const { name: errorName, message } = error as Error;
  const reason =
    errorName === "TimeoutError"
      ? "nobody came back from the browser in time"
      : clean(message).split("\n")[0]!.slice(0, 300);
  const next = reason.startsWith("Refused:") ? "" : " Try again.";
  return fault(`Cannot log in to MCP server '${name}': ${reason.replace(/\.$/, "")}.${next}`);
};

type Answer = { code: string; iss: string | undefined };
/**
 * The server that the browser is redirected to: reachable from this machine alone, and only with
 * the right `state`.
 */
async function listen(
  state: string,
): Promise<{ url: string; answer(limit: AbortSignal): Promise<Answer>; close(): void }> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  promise.catch(() => {});
  const http = createServer((request, response) => {
    const callbackUrl = new URL(request.url ?? "/", "http://127.0.0.1");
    const isOurs =
      callbackUrl.pathname === "/callback" && callbackUrl.searchParams.get("state") === state;
    response.writeHead(isOurs ? 200 : 404, {
      "content-type": "text/plain; charset=utf-8",
      connection: "close",
    });
    response.end(
      isOurs ? "zz has what it needs. You can close this window.\n" : "Nothing is here.\n",
    );
    if (!isOurs) return;
    const code = callbackUrl.searchParams.get("code");
    if (code) resolve({ code, iss: callbackUrl.searchParams.get("iss") ?? undefined });
    else
      reject(
        new Error(
          callbackUrl.searchParams.get("error_description") ??
            callbackUrl.searchParams.get("error") ??
            "the server gave no code",
        ),
      );
  });
  await new Promise<void>((go, stop) => http.once("error", stop).listen(0, "127.0.0.1", go));
  const { port } = http.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/callback`,
    answer: (limit) =>
      new Promise((go, stop) => {
        limit.addEventListener("abort", () => stop(limit.reason), { once: true });
        promise.then(go, stop);
      }),
    close() {
      http.close();
      http.closeAllConnections();
    },
  };
}

/** The server chose the address of the login page, so only a web page is opened. */
function assertWebPage(name: string, page: URL): void {
  const isLocal = /^(127\.0\.0\.1|localhost|\[::1\])$/.test(page.hostname);
  if (page.protocol !== "https:" && !(page.protocol === "http:" && isLocal))
    throw fault(
      `Cannot log in to MCP server '${name}': it leads to '${clean(page.href).slice(0, 80)}', which is not a safe web page.`,
    );
}

/** Opens the login page. */
function show(name: string, page: URL, ctx: Ctx): void {
  ctx.note(
    `To log in to MCP server '${name}', open this page, if your browser does not by itself:\n${page.href}`,
  );
  if (!ctx.programs.find(OPENER)) return;
  const child = ctx.programs.start(OPENER, [page.href], { detached: true, stdio: "ignore" });
  child.on("error", () => {}); // the note above has the address
  child.unref();
}
