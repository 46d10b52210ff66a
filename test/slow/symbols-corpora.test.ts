// The measure of ../shared/corpora: of the source files that a later commit changed, the share that the map for its message
// names, through the tool itself; beside it what two simple ranks name with as many files for each query.
import { ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openChat } from "../../kernel/chat.ts";
import { context } from "../../kernel/context.ts";
import { createZz } from "../../zz.ts";
import { corporaFolder, unpackCorpora, yardsticks } from "../support/corpora.ts";
import { slowness } from "../support/machine.ts";
import { WAYS } from "../support/run.ts";

const TOKENS = 1_000;
const MISSED = 0.3; // of what the better yardstick misses, the map has to name so much
const SOURCE = /\.[cm]?[jt]sx?$/;

const folder = corporaFolder();
const base = mkdtempSync(join(tmpdir(), "zz-corpora-"));
after(() => rmSync(base, { recursive: true, force: true }));
for (const { name, root, queries } of folder ? unpackCorpora(folder, base) : [])
  test(`The map of ${name} names more of what commits changed than simple ranks do`, async (t) => {
    const env = { ...process.env, ZZ_HOME: join(base, "home") };
    const [node, zz] = WAYS.dist;
    execFileSync(node, [zz, "--call", "repo_map", "{}"], { cwd: root, env }); // the index
    const core = await createZz({ root, home: join(base, "home"), save: false });
    const ctx = context(core, openChat(core, "none/none"));
    const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
      .split("\0")
      .filter((file) => SOURCE.test(file));
    const simple = yardsticks(root, files);
    const some = process.env.ZZ_SHORT ? queries.filter((_, at) => at % 3 === 0) : queries;
    const sums: Record<string, number> = { map: 0 };
    const times: number[] = [];
    let named = 0;
    for (const { query, files: changed } of some) {
      const before = process.cpuUsage();
      const { data } = await ctx.call("repo_map", { query, tokens: TOKENS });
      const { user, system } = process.cpuUsage(before);
      times.push((user + system) / 1_000);
      const { files: found } = data as { files: string[] };
      named += found.length;
      const add = (what: string, all: string[]) =>
        (sums[what] = (sums[what] ?? 0) + changed.filter((file) => all.includes(file)).length / changed.length);
      add("map", found);
      for (const [what, all] of Object.entries(simple(query))) add(what, all.slice(0, found.length));
    }
    const share = (what: string) => sums[what]! / some.length;
    const told = Object.keys(sums).map((what) => `${what} ${(100 * share(what)).toFixed(1)} %`);
    const warm = times.slice(1).sort((a, b) => a - b)[times.length >> 1]!;
    t.diagnostic(`${some.length} commits, ${(named / some.length).toFixed(0)} files each: ${told.join("; ")}`);
    t.diagnostic(
      `${files.length} source files: ${times[0]!.toFixed(0)} ms of work for the first query, ${warm.toFixed(0)} ms in the middle`,
    );
    const best = Math.max(share("path words"), share("content rank"));
    ok(share("map") >= best + MISSED * (1 - best), told.join("; "));
    ok(warm < 150 * slowness(), `${warm} ms`);
  });
if (!folder) test("The measure of ../shared/corpora", { skip: "not run: ../shared/corpora is not there" }, () => {});
