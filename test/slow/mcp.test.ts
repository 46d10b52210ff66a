// What MCP costs: a call beside the server's own time, servers that nobody uses, and a result of 100 MB.
import { equal, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { harness, type Setup } from "zz/test";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { cpuOfChildren, median, undisturbed } from "../support/machine.ts";
import { place, ROOT, zzProcess } from "../support/run.ts";

const FAKE = join(ROOT, "test/support/fake/mcp.ts");
const RUNS = process.env.ZZ_SHORT ? 100 : 300;
const server = (...args: string[]) => ({ command: process.execPath, args: [FAKE, ...args], sandbox: false });

test("A tool of an MCP server costs at most 5 ms more than the server takes", async (t) => {
  const zz = await harness(
    { own: true, settings: { mcpServers: { it: server("env") } } as Setup["settings"], allow: { run: true } },
    t,
  );
  await zz.call("mcp_tools", { servers: ["it"] });
  const bare = new Client({ name: "bare", version: "1" });
  await bare.connect(new StdioClientTransport({ command: process.execPath, args: [FAKE, "env"] }));
  t.after(() => bare.close());
  const timed = async (act: () => Promise<unknown>) => {
    const started = performance.now();
    await act();
    return performance.now() - started;
  };
  const [ours, plain]: [number[], number[]] = [[], []];
  for (let i = 0; i < RUNS; i++) {
    plain.push(await timed(() => bare.callTool({ name: "one", arguments: { text: "x" } })));
    ours.push(await timed(() => zz.call("it__one", { text: "x" })));
  }
  const more = median(ours) - median(plain);
  t.diagnostic(
    `through zz ${median(ours).toFixed(2)} ms, by the SDK alone ${median(plain).toFixed(2)} ms: ${more.toFixed(2)} ms more`,
  );
  ok(more <= 5, `${more}`);
});

test("Twenty servers that are configured and not used cost a one-shot nothing that can be measured", async (t) => {
  const fake = await fakeOpenAI([say("ok")]);
  t.after(fake.close);
  const [none, many] = [place(), place()];
  const mcpServers = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`s${i}`, server("env")]));
  for (const [where, settings] of [
    [none, {}],
    [many, { mcpServers }],
  ] as const) {
    mkdirSync(where.home);
    writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(settings));
  }
  const [empty, full]: [number[], number[]] = [[], []];
  const once = (where: typeof none) =>
    zzProcess(where, ["--once", "-m", "openai/m", "--base-url", fake.url, "--key", "x", "hi"]);
  for (const where of [none, many]) equal((await once(where)).stdout, "ok\n");
  const cpu = { none: 0, many: 0 };
  for (let i = 0; i < 25; i++) {
    const before = cpuOfChildren();
    empty.push((await once(none)).ms);
    const between = cpuOfChildren();
    full.push((await once(many)).ms);
    cpu.none += between - before;
    cpu.many += cpuOfChildren() - between;
  }
  const [without, having] = [undisturbed(empty), undisturbed(full)];
  const ratios = [having / without, cpu.many / cpu.none];
  t.diagnostic(
    `none ${without.toFixed(0)} ms, twenty ${having.toFixed(0)} ms: ${ratios[0]!.toFixed(3)} times, ${ratios[1]!.toFixed(3)} by CPU`,
  );
  const ratio = Math.min(...ratios); // beside other work, and on a busy disk, only the CPU's time means anything
  ok(ratio <= 1.1, `${ratio}`);
});

test("A result of 100 MB is cut within 150 MB of memory", {
  skip: process.platform !== "linux" && "reads /proc",
}, async (t) => {
  const where = place();
  mkdirSync(where.home);
  writeFileSync(join(where.home, "zz.config.json"), JSON.stringify({ mcpServers: { big: server("huge") } }));
  let [peak, open] = [0, true];
  const watch = async (pid: number): Promise<void> => {
    while (open) {
      try {
        peak = Math.max(
          peak,
          Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
        );
      } catch {}
      await new Promise((go) => setTimeout(go, 5));
    }
  };
  const call = ["--allow-run", "--call", "mcp_call", '{"server":"big","tool":"one"}'];
  const ran = await zzProcess(where, call, { started: (child) => void watch(child.pid!) });
  open = false;
  ok(ran.stdout.startsWith("The beginning. 0123456789") && /100\.0 MB/.test(ran.stdout), ran.stderr);
  t.diagnostic(`peak memory ${peak.toFixed(0)} MB`);
  ok(peak > 30 && peak <= 150, `${peak}`);
});
