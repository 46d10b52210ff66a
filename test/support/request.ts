// Sends one HTTP request by the environment's proxy, as other programs do, and prints what comes
// back. node request.ts URL [body=TEXT] [host=NAME] [socket=PATH] [proxy=ENV] [tunnel] [retry]
//   proxy=always: even to hosts in no_proxy; tunnel: by CONNECT; retry: until a server listens
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const [url = "", ...rest] = process.argv.slice(2);
const given = new Map(rest.map((word) => word.split(/=(.*)/s, 2) as [string, string | undefined]));
const [, host = "", port = "80", path = "/"] = /^http:\/\/([^:/]+)(?::(\d+))?(\/.*)?$/.exec(url)!;

for (;;)
  try {
    process.stdout.write(await answer());
    process.exit();
  } catch (error: any) {
    if (given.has("retry") && error.code === "ECONNREFUSED") await sleep(100);
    else {
      process.stderr.write(`${error.code ?? error.message}\n`);
      process.exit(7);
    }
  }

async function answer(): Promise<string> {
  const { http_proxy, no_proxy = "" } = process.env;
  const proxied =
    http_proxy && (given.get("proxy") === "always" || !no_proxy.split(",").includes(host));
  const proxy = proxied && !given.has("socket") ? new URL(http_proxy) : undefined;
  const headers = { host: given.get("host") ?? `${host}:${port}` };
  const body = given.get("body");
  const how = {
    method: body === undefined ? "GET" : "POST",
    headers,
    agent: false as false | undefined,
  };
  const socketPath = given.get("socket");
  if (socketPath !== undefined) return send({ ...how, socketPath, path }, body);
  if (!proxy) return send({ ...how, host, port, path }, body);
  const at = { host: proxy.hostname, port: proxy.port };
  if (!given.has("tunnel")) return send({ ...how, ...at, path: url }, body);
  const socket = await connect({ ...at, agent: false, method: "CONNECT", path: `${host}:${port}` });
  return send({ ...how, agent: undefined, path, createConnection: () => socket }, body);
}

function send(options: http.RequestOptions, body = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => (text += piece));
      response.on("end", () => resolve(text)).on("error", reject);
    });
    request.on("error", reject).end(body);
  });
}

function connect(options: http.RequestOptions): Promise<import("node:net").Socket> {
  return new Promise((resolve, reject) => {
    const request = http.request(options).on("error", reject).end();
    request.on("connect", ({ statusCode }, socket) => {
      statusCode === 200 ? resolve(socket) : reject(new Error(`response ${statusCode}`));
    });
  });
}
