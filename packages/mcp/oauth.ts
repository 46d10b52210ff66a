// Logs in to a server: the SDK's OAuth with this machine's browser. A private file of the home
// keeps the tokens.
import { once } from "node:events";
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
import { addressesOf, clean, fault, lookupAmong, textOf, whyNotPublic } from "zz/text";
import { fetchOf, type Guard } from "./http.ts";
import type { Hub, Server } from "./hub.ts";
import { rejection, wantsLogin } from "./link.ts";
import { filledIn, KEPT, objectIn } from "./settings.ts";

const LOGIN_MS = 300_000; // for the person to log in in the browser
const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", win32: "explorer" };
const PAGE_OPENER = OPENERS[process.platform] ?? "xdg-open";

/**
 * issuer: the origin that gave the tokens, and alone gets the refresh token. hosts: those that the
 * person agreed to. wanted: what the server said that a login must be for.
 */
type Login = { client?: any; tokens?: any; issuer?: string; hosts?: string[]; wanted?: string };

/** A login belongs to one address: another server of the same name does not get it. */
const loginKeyOf = ({ name, config }: Server): string => `${name} ${config.url}`;

const readLogin = ({ about }: Ctx, server: Server): Login =>
  objectIn(textOf(path.join(about.home, KEPT))).servers?.[loginKeyOf(server)] ?? {};

function keepLogin(ctx: Ctx, server: Server, login: Login | undefined): void {
  ctx.keep(KEPT, (credentialText) => {
    const { servers = {}, ...others } = objectIn(credentialText);
    const { [loginKeyOf(server)]: _, ...otherLogins } = servers;
    return JSON.stringify(
      { ...others, servers: { ...otherLogins, ...(login && { [loginKeyOf(server)]: login }) } },
      null,
      2,
    );
  });
}

/** Registers a login's tokens as secrets. */
function veilTokens(zz: Zz<any>, login: Login): Login {
  const { client, tokens } = login;
  for (const secretText of [
    client?.client_secret,
    tokens?.access_token,
    tokens?.refresh_token,
    tokens?.id_token,
  ])
    if (typeof secretText === "string") zz.secret(secretText);
  return login;
}

type ProviderOptions = {
  redirectUrl: string;
  login: Login;
  state?: string;
  open(loginPage: URL): void | Promise<void>;
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
  const saveChange = (loginChange: Login) => {
    Object.assign(login, loginChange);
    keepLogin(ctx, server, veilTokens(zz, login));
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
    saveClientInformation: (client) => saveChange({ client }),
    tokens: () => login.tokens,
    saveTokens: (tokens) => saveChange({ tokens }),
    redirectToAuthorization: options.open,
    saveCodeVerifier: (newVerifier) => void (verifier = newVerifier),
    codeVerifier: () => verifier,
    ...(state && {
      saveDiscoveryState: (discovery) => void (discovered = discovery),
      discoveryState: () => discovered,
    }),
    invalidateCredentials: (invalidPart) => {
      if (invalidPart === "tokens" || invalidPart === "all") saveChange({ tokens: undefined });
    },
  };
}

/**
 * Lets a request go to the server's own host, which the gate allowed. A server may name any other
 * for its login: each passes the gate, once for a login; denials hold. An address of this machine
 * or its network is reached only if the server is there.
 */
export function guardOf(ctx: Ctx, server: Server, serverAddress: string, login: Login): Guard {
  const serverUrl = new URL(serverAddress);
  return async (target, sentBody, signal) => {
    const grantType = new URLSearchParams(sentBody).get("grant_type");
    if (grantType === "refresh_token" && target.origin !== login.issuer)
      throw wantsLogin(server.name);
    if (grantType === "authorization_code") login.issuer = target.origin;
    const { verdict, why } = ctx.permissions.judge("net", target.host);
    if (verdict === "deny")
      throw fault(`Refused: net access to "${target.host}" is denied ${why}.`, { exit: 4 });
    if (serverUrl.protocol === "https:" && target.protocol !== "https:")
      throw fault(
        `Refused: MCP server '${server.name}' wants '${target.origin}' for its login, ` +
          "which is not encrypted.",
        { exit: 4 },
      );
    return target.origin === serverUrl.origin
      ? undefined
      : reachHost(ctx, server, { target, serverUrl, login, signal });
  };
}

async function reachHost(
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
  const { failed, text } = await ctx.call(REACH_TOOL, {
    server,
    host: target.host,
    agreed: () => isAgreed,
  });
  if (failed) throw fault(text, { exit: 4 });
  if (!isAgreed) login.hosts = [...(login.hosts ?? []), target.host];
  const [targetAddresses, serverAddresses] = await Promise.all([
    addressesOf(target, signal),
    addressesOf(serverUrl, signal),
  ]);
  const isPublic = serverAddresses.every(({ address }) => !whyNotPublic(address));
  const reachable = targetAddresses.filter(({ address }) => !isPublic || !whyNotPublic(address));
  if (reachable.length) return lookupAmong(reachable);
  const network = whyNotPublic(targetAddresses[0]?.address ?? "");
  throw fault(
    `Refused: '${target.host}' belongs to ${network}, and MCP server '${server}' does not.`,
    { exit: 4 },
  );
}
/** The tool that asks the gate for a host. `agreed` is a function, which no model can send. */
const REACH_TOOL = "mcp_reach";

/**
 * The last login, for requests; renewed as long as the server allows it. Where nobody has logged
 * in, `provider` is missing.
 */
export function loginOf(
  zz: Zz<any>,
  ctx: Ctx,
  server: Server,
): { login: Login; provider?: OAuthClientProvider } {
  const login = veilTokens(zz, readLogin(ctx, server));
  if (!login.tokens) return { login };
  const open = (page: URL) => {
    const wanted = page.searchParams.get("scope");
    if (wanted) keepLogin(ctx, server, Object.assign(login, { wanted }));
    throw wantsLogin(server.name);
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
  keepLogin(ctx, server, undefined);
  return (
    `The login to MCP server '${server.name}' is forgotten here. ` +
    "The server may keep it: revoke it there, too."
  );
}

export async function login({ zz }: Hub, server: Server, ctx: Ctx): Promise<string> {
  const { name, config } = server;
  const { url } = filledIn(zz, ctx, server);
  if (config.url === undefined || !url)
    throw fault(`Cannot log in to MCP server '${name}': it is a program, not an address.`);
  const state = process.getBuiltinModule("node:crypto").randomBytes(24).toString("base64url");
  const callback = await listenForCode(state);
  let refusal: unknown; // the client goes on without what it could not read
  try {
    const login: Login = {};
    const allowed = guardOf(ctx, server, url, login);
    const recordingGuard: Guard = async (...request) => {
      return allowed(...request).catch((error) => Promise.reject((refusal ??= error)));
    };
    const open = async (page: URL) => {
      assertWebPage(name, page);
      await recordingGuard(page, undefined, ctx.signal);
      showLoginPage(name, page, ctx);
    };
    const provider = providerFor(zz, ctx, server, {
      redirectUrl: callback.url,
      login,
      state,
      open,
    });
    const fetchFn = inTime(zz, recordingGuard);
    const { scope: announced, resourceMetadataUrl } = await challengeOf(url, fetchFn);
    const scope = computeScopeUnion(
      config.oauth?.scope ?? announced,
      readLogin(ctx, server).wanted,
    );
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
    throw cannotLogIn(name, refusal ?? error);
  } finally {
    callback.close();
  }
  return `Logged in to MCP server '${name}'.`;
}

const HOST_MS = 30_000; // for one answer: many hosts may be asked for one login
/** Requests with a limit each, which does not count while the person is asked about a host. */
function inTime(zz: Zz<any>, guard: Guard): ReturnType<typeof fetchOf> {
  return (url, requestInit = {}) => {
    const limit = new AbortController();
    const isLate = () => limit.abort(new DOMException("late", "TimeoutError"));
    let cancel = () => {};
    const thenLimited: Guard = async (...request) => {
      cancel();
      const lookup = await guard(...request);
      cancel = zz.io.clock.timer(HOST_MS, isLate);
      return lookup;
    };
    const { signal: givenSignal } = requestInit;
    const signals = [limit.signal, ...(givenSignal ? [givenSignal] : [])];
    const answered = fetchOf(zz, thenLimited)(url, {
      ...requestInit,
      signal: AbortSignal.any(signals),
    });
    return answered.finally(() => cancel());
  };
}

/**
 * What a server says to who comes without a login: where its metadata is, and what the login is to
 * be for.
 */
async function challengeOf(serverAddress: string, fetchFn: ReturnType<typeof fetchOf>) {
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const challenge = await fetchFn(serverAddress, {
    method: "POST",
    headers,
    body: '{"jsonrpc":"2.0","id":0,"method":"ping"}',
  });
  await challenge.body?.cancel();
  return challenge.status === 401 ? extractWWWAuthenticateParams(challenge) : {};
}

const LOGIN_FAULTS: Record<string, string> = {
  TimeoutError: "nobody came back from the browser in time",
  SyntaxError: "what it sent for the login is not JSON",
};
const cannotLogIn = (serverName: string, error: unknown): Error => {
  const { name: errorName, message } = error as Error;
  const reason = LOGIN_FAULTS[errorName] ?? clean(message).split("\n")[0]!.slice(0, 300);
  const nextStep = reason.startsWith("Refused:") ? "" : " Try again.";
  return fault(
    `Cannot log in to MCP server '${serverName}': ${reason.replace(/\.$/, "")}.${nextStep}`,
  );
};

/**
 * The server that the browser is redirected to: reachable from this machine alone, and only with
 * the right `expectedState`.
 */
async function listenForCode(expectedState: string) {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: string; iss?: string }>();
  promise.catch(() => {});
  const callbackServer = createServer((request, response) => {
    const callbackUrl = new URL(request.url ?? "/", "http://127.0.0.1");
    const isOurCallback =
      callbackUrl.pathname === "/callback" &&
      callbackUrl.searchParams.get("state") === expectedState;
    response.writeHead(isOurCallback ? 200 : 404, {
      "content-type": "text/plain; charset=utf-8",
      connection: "close",
    });
    response.end(
      isOurCallback ? "zz has what it needs. You can close this window.\n" : "Nothing is here.\n",
    );
    if (!isOurCallback) return;
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
  await once(callbackServer.on("error", reject).listen(0, "127.0.0.1"), "listening");
  const { port } = callbackServer.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/callback`,
    answer: (waitLimit: AbortSignal) => Promise.race([promise, rejection(waitLimit)]),
    close() {
      callbackServer.close();
      callbackServer.closeAllConnections();
    },
  };
}

/** The server chose the address of the login page, so only a web page is opened. */
function assertWebPage(serverName: string, page: URL): void {
  const isLocal = /^(127\.0\.0\.1|localhost|\[::1\])$/.test(page.hostname);
  if (page.protocol !== "https:" && !(page.protocol === "http:" && isLocal))
    throw fault(
      `Cannot log in to MCP server '${serverName}': ` +
        `it leads to '${clean(page.href).slice(0, 80)}', which is not a safe web page.`,
    );
}

/** Opens the login page. */
function showLoginPage(serverName: string, page: URL, ctx: Ctx): void {
  ctx.note(
    `To log in to MCP server '${serverName}', open this page, ` +
      `if your browser does not by itself:\n${page.href}`,
  );
  if (!ctx.programs.find(PAGE_OPENER)) return;
  const openerProcess = ctx.programs.start(PAGE_OPENER, [page.href], {
    detached: true,
    stdio: "ignore",
  });
  openerProcess.on("error", () => {}); // the note above has the address
  openerProcess.unref();
}
