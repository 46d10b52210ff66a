// Logins to MCP servers: the browser, the callback, tokens that are kept privately and renewed; and
// the hosts that a server names for them, each of which passes the gate before anything is sent
// there.
import { deepEqual, doesNotMatch, equal, match, rejects } from "node:assert/strict";
import { hash } from "node:crypto";
import dns from "node:dns";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { type Setup, standingClock } from "../../../../sdk/testing.ts";
import { listen } from "../../../../test/support/fake/http.ts";
import { isNoCall, replyTo, started } from "../../../../test/support/mcp.ts";
import { waitFor } from "../../../../test/support/wait.ts";
import type { Server } from "../../hub.ts";
import { guardOf } from "../../oauth.ts";

/** The parts of a login. Each is with the server itself ("own") or on another host ("far"). */
const PARTS = ["resource", "issuer", "register", "authorize", "token"] as const;
type Where = Partial<Record<(typeof PARTS)[number], "far">>;

/** An MCP server that wants a login, and another host; what either was sent. */
async function world(t: TestContext, where: Where = {}, moves = "") {
  const seen = { own: [] as string[], far: [] as string[], grants: [] as string[] };
  const base = { own: "", far: "" };
  let [challenge, valid] = ["", ""];
  const it = { seen, base, where, expire: () => void (valid = "no longer") };
  const at = (part: keyof Where) => base[it.where[part] ?? "own"];
  for (const host of ["own", "far"] as const) {
    base[host] = await listen(t, async (request, response) => {
      let body = "";
      for await (const bytes of request) body += bytes;
      const url = new URL(request.url!, base[host]);
      seen[host].push(`${request.method} ${url.pathname}`);
      const json = (value: object, status = 200, headers = {}) =>
        response
          .writeHead(status, { "content-type": "application/json", ...headers })
          .end(JSON.stringify(value));
      if (/oauth-protected-resource/.test(url.pathname)) {
        if (moves)
          return void response.writeHead(302, { location: moves.replace("FAR", base.far) }).end();
        return void json({ resource: `${base.own}/mcp`, authorization_servers: [at("issuer")] });
      }
      if (/oauth-authorization-server/.test(url.pathname)) {
        const urls = {
          authorization: "authorize",
          token: "token",
          registration: "register",
        } as const;
        const endpoints = Object.fromEntries(
          Object.entries(urls).map(([name, part]) => [`${name}_endpoint`, `${at(part)}/${part}`]),
        );
        return void json({ issuer: at("issuer"), ...endpoints, response_types_supported: ["code"], code_challenge_methods_supported: ["S256"] }); // biome-ignore format: short
      }
      if (url.pathname === "/register")
        return void json({ ...JSON.parse(body), client_id: "client-of-test" }, 201);
      if (url.pathname === "/authorize") {
        challenge = url.searchParams.get("code_challenge")!;
        const back = new URL(url.searchParams.get("redirect_uri")!);
        back.search = new URLSearchParams({
          code: "code-1",
          state: url.searchParams.get("state")!,
        }).toString();
        return void response.writeHead(302, { location: back.href }).end();
      }
      if (url.pathname === "/token") {
        const form = new URLSearchParams(body);
        seen.grants.push(`${host} ${form.get("grant_type")}`);
        const proof = hash("sha256", form.get("code_verifier") ?? "", "base64url");
        if (form.get("grant_type") === "authorization_code" && proof !== challenge) return void json({ error: "invalid_grant" }, 400); // biome-ignore format: short
        valid = `access-token-${seen.grants.length}-abcdefgh`;
        return void json({ access_token: valid, refresh_token: "refresh-token-abcdefgh", token_type: "Bearer", expires_in: 3600 }); // biome-ignore format: short
      }
      const metadata = `${at("resource")}/.well-known/oauth-protected-resource`;
      if (request.headers.authorization !== `Bearer ${valid}`)
        return void json({}, 401, { "www-authenticate": `Bearer resource_metadata="${metadata}"` });
      const reply = replyTo(body, () => "You are in.");
      if (!isNoCall(request, reply, response)) json(reply);
    });
  }
  return it;
}

async function zzFor(t: TestContext, { base }: Awaited<ReturnType<typeof world>>, how: Setup = {}) {
  const zz = await started(t, { far: { url: `${base.own}/mcp` } }, how);
  const call = () => zz.call("mcp_call", { server: "far", tool: "one" }).then(({ text }) => text);
  const login = async () => {
    const said = zz.command("/mcp login far").catch((error: Error) => [error.message]);
    const page = () => /^http:\S+authorize\S*$/m.exec(zz.notes.join("\n"))?.[0];
    const isOver = said.then(() => true);
    await waitFor(
      "the login page, or the end",
      async () => page() ?? (await Promise.race([isOver, false])),
    );
    const at = page();
    if (at) await fetch(at).then((answer) => answer.text());
    return (await said).at(-1)!;
  };
  return { zz, call, login };
}

describe("logins to MCP servers", () => {
  /**
   * Without the system's own browser: the test is the browser, and reads the page's address from
   * the note. Only here, since other files share the process.
   */
  const { PATH } = process.env;
  const empty = mkdtempSync(join(tmpdir(), "zz-bin-"));
  before(() => void (process.env.PATH = empty));
  after(() => {
    process.env.PATH = PATH;
    rmSync(empty, { recursive: true });
  });

  test("the browser, the callback, tokens that are kept privately and renewed", async (t) => {
    const it = await world(t);
    const { zz, call, login } = await zzFor(t, it);
    match(await call(), /wants a login/);
    equal(await login(), "Logged in to MCP server 'far'.");
    equal(await call(), "You are in.");
    const file = join(zz.home, "mcp-credentials.json");
    equal(statSync(file).mode & 0o777, 0o600);
    match(readFileSync(file, "utf8"), /access-token-1-abcdefgh/);
    it.expire();
    equal(await call(), "You are in.");
    deepEqual(it.seen.grants, ["own authorization_code", "own refresh_token"]);
    equal(zz.questions.length, 0, "the server's own host is asked for as ever");
    doesNotMatch(JSON.stringify([zz.notes, zz.events]), /access-token-|refresh-token-/);
    await zz.command("/mcp logout far");
    match(await call(), /wants a login/);
    doesNotMatch(readFileSync(file, "utf8"), /token/);
  });

  for (const part of PARTS)
    test(`the ${part} on another host: nothing is sent there before a yes, which counts for the login`, async (t) => {
      // Without metadata of the resource, the SDK looks for the issuer at the server itself.
      const where: Where =
        part === "resource" ? { resource: "far", issuer: "far" } : { [part]: "far" };
      for (const how of [
        { answer: "nobody" },
        { deny: { net: true } },
        { answer: "no" },
      ] as Setup[]) {
        const it = await world(t, where);
        const { login, call } = await zzFor(t, it, {
          allow: { run: true, net: [new URL(it.base.own).host] },
          ...how,
        });
        match(await call(), /wants a login|denied/);
        match(
          await login(),
          /^Cannot log in to MCP server 'far': Refused: .*net access to "127\.0\.0\.1:\d+"/,
        );
        deepEqual(it.seen.far, [], JSON.stringify(how));
        if (how.deny) deepEqual(it.seen.own, []);
      }
      const it = await world(t, where);
      const { zz, call, login } = await zzFor(t, it, { answer: "yes" });
      equal(await login(), "Logged in to MCP server 'far'.");
      equal(zz.questions.length, 1);
      match(
        zz.questions[0]!,
        /wants to reach 127\.0\.0\.1:\d+\.\n┃ MCP server 'far' names this host for its login\./,
      );
      it.expire();
      equal(await call(), "You are in.");
      await zz.restart();
      it.expire();
      equal(await call(), "You are in.");
      equal(zz.questions.length, 1, "agreed to, once for a login");
    });

  test("a login falls from https to http nowhere, and another port of the host is another place", async (t) => {
    const it = await world(t);
    const { zz } = await zzFor(t, it, { answer: "no" });
    const server = { name: "far", config: {} } as Server;
    const go = (at: string, own = "https://a.example/mcp") =>
      guardOf(zz.ctx, server, own, {})(new URL(at), undefined);
    const why =
      /^Error: Refused: MCP server 'far' wants 'http:.*' for its login, which is not encrypted\.$/;
    for (const at of [
      "http://a.example/token",
      "http://a.example:443/token",
      "http://b.example/token",
    ])
      await rejects(go(at), why);
    await rejects(go("https://a.example:8443/token"), /Refused: .*net access to "a\.example:8443"/);
    equal(await go("https://a.example/token"), undefined);
    equal(await go("http://127.0.0.1:7/token", "http://127.0.0.1:7/mcp"), undefined);
  });

  test("a redirect from the server's own metadata leads nowhere unasked", async (t) => {
    const it = await world(t, {}, "FAR/elsewhere");
    const { login } = await zzFor(t, it);
    await login();
    deepEqual(it.seen.far, []);
  });

  test("a server on the internet leads no login to this machine or its network, whatever is said", async (t) => {
    const it = await world(t, { issuer: "far", token: "far" });
    it.base.far = it.base.far.replace("127.0.0.1", "localhost");
    const { lookup } = dns.promises;
    t.after(() => Object.assign(dns.promises, { lookup }));
    // the server's own address, as if it were far away
    const distant = [{ address: "93.184.215.14", family: 4 }];
    const far = async (name: string, how: any) =>
      name === "127.0.0.1" ? distant : lookup(name, how);
    Object.assign(dns.promises, { lookup: far });
    const { login } = await zzFor(t, it, { answer: "yes" });
    match(
      await login(),
      /: Refused: 'localhost:\d+' belongs to this machine, and MCP server 'far' does not\.$/,
    );
    deepEqual(it.seen.far, []);
  });

  test("the refresh token goes to the origin that gave it alone, and a login that knows none is not renewed", async (t) => {
    const it = await world(t);
    const { zz, call, login } = await zzFor(t, it, { answer: "yes" });
    await login();
    it.where = { issuer: "far", token: "far" }; // the server has changed its mind
    it.expire();
    match(await call(), /wants a login/);
    deepEqual(it.seen.grants, ["own authorization_code"]);
    it.where = {};
    const file = join(zz.home, "mcp-credentials.json");
    writeFileSync(file, readFileSync(file, "utf8").replace(/"issuer": "[^"]*",?/, ""));
    await zz.restart();
    match(await call(), /wants a login/);
    deepEqual(it.seen.grants, ["own authorization_code"]);
  });

  test("a host that is silent is given up after 30 s; what is no JSON is a sentence", async (t) => {
    const asked: string[] = [];
    const url = await listen(t, (request, response) => {
      asked.push(request.url!);
      if (request.url === "/silent") return;
      const metadata = `Bearer resource_metadata="http://${request.headers.host}/silent"`;
      if (request.url === "/") response.writeHead(401, { "www-authenticate": metadata }).end();
      else response.writeHead(request.method === "POST" ? 201 : 404).end();
    });
    const clock = standingClock();
    const zz = await started(t, { it: { url } }, { clock });
    const told = zz.command("/mcp login it").catch(({ message }) => message);
    await waitFor("the silent host", () => asked.includes("/silent"));
    await clock.pass(30_000);
    equal(
      await told,
      "Cannot log in to MCP server 'it': what it sent for the login is not JSON. Try again.",
    );
  });
});
