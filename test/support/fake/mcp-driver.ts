// zz as the conformance suite drives a client: node mcp-driver.ts URL. It starts the server, calls
// what the scenario wants called, and does what a person would: logs in where a login is wanted, at
// most three times, and takes each form as it is.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { harness, type Setup } from "../../../sdk/testing.ts";
import { ROOT } from "../run.ts";

const { MCP_CONFORMANCE_SCENARIO: scenario = "", MCP_CONFORMANCE_CONTEXT = "{}" } = process.env;
const {
  toolCalls,
  client_id: clientId,
  client_secret: clientSecret,
} = JSON.parse(MCP_CONFORMANCE_CONTEXT);
/** A client whose id is the address of its metadata is registered nowhere. */
const DOCUMENT = "https://conformance-test.local/client-metadata.json";
const id = clientId ?? (scenario === "auth/basic-cimd" ? DOCUMENT : undefined);
const oauth = id && { oauth: { clientId: id, ...(clientSecret && { clientSecret }) } };
process.env.PATH = "/nowhere"; // no browser: this is one

const settings = { mcpServers: { it: { url: process.argv[2]!, ...oauth } } } as Setup["settings"];
const zz = await harness({
  plugins: [join(ROOT, "packages", "mcp", "index.ts")],
  settings,
  allow: { run: true, net: true },
  answer: async (_: string, keys?: string) => (keys ? "y" : ""),
});

async function login(): Promise<string> {
  const from = zz.notes.length;
  const page = () => /^http\S+$/m.exec(zz.notes.slice(from).join("\n"))?.[0];
  let isOver = false;
  const said = zz.command("/mcp login it").catch((error: Error) => [error.message]);
  void said.then(() => (isOver = true));
  while (!page() && !isOver) await new Promise((go) => setTimeout(go, 20));
  const at = page();
  if (at) await fetch(at).then((answer) => answer.text());
  return (await said).join("\n");
}

/** As a person does it: a login is wanted, so log in and try again. */
async function call(tool: string, args: object): Promise<string> {
  for (let tries = 0; ; tries++) {
    const { text } = tool
      ? await zz.call("mcp_call", { server: "it", tool, arguments: args })
      : await zz.call("mcp_start", { server: "it" });
    console.error(`${tool}: ${text}`);
    if (!/wants a login/.test(text) || tries === 3) return text;
    const said = await login();
    console.error(said);
    if (!/^Logged in/m.test(said)) return said;
  }
}

/** Arguments of a server's tool by its schema. */
function argumentsFor(schema: any): object {
  const valueFor = ({ type }: any, i: number) => {
    if (type === "number" || type === "integer") return 5 + i;
    if (type === "boolean") return true;
    return "x";
  };
  return Object.fromEntries(
    Object.entries(schema?.properties ?? {}).map(([name, field], i) => [name, valueFor(field, i)]),
  );
}

let last = await call("", {});
const known = JSON.parse(readFileSync(join(zz.home, "mcp-tools.json"), "utf8"));
const tools = Object.values<any>(known)[0]?.tools ?? [];
const calls =
  toolCalls ?? tools.map(({ name, schema }: any) => ({ name, arguments: argumentsFor(schema) }));
for (const { name, arguments: args } of calls) last = await call(name, args);
await zz.close();
process.exit(/^(Cannot|Refused)|^MCP server 'it' (?!runs)/.test(last) ? 1 : 0);
