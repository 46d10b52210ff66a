// Learns the weights of plugins/symbols/rank/weights.ts: a conditional logit, by which the files that a commit changed are
// chosen among all files of code. Not a test:  node test/support/learn-weights.ts   Each set is also judged by the weights
// that the other sets alone give.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openChat } from "../../kernel/chat.ts";
import { context } from "../../kernel/context.ts";
import { historyOf } from "../../plugins/symbols/answers/history.ts";
import { surveyFor } from "../../plugins/symbols/answers/map.ts";
import type { State } from "../../plugins/symbols/answers/state.ts";
import { openProject } from "../../plugins/symbols/project.ts";
import { signalsOf } from "../../plugins/symbols/rank/signals.ts";
import { SIGNALS, type Signal, WEIGHTS } from "../../plugins/symbols/rank/weights.ts";
import { createZz } from "../../zz.ts";
import { corporaFolder, unpackCorpora } from "./corpora.ts";
import { ROOT } from "./run.ts";

const SMALLEST = 0.001; // how strongly weights are drawn towards nothing
const STEPS = 200;
const NAMES = [...SIGNALS, "test", "aside", "other"] as const;
type Name = (typeof NAMES)[number];
interface Row {
  columns: Float64Array[]; // by name
  wanted: number[];
}
interface Set {
  name: string;
  root: string;
  queries: { query: string; files: string[] }[];
}

const base = process.env.ZZ_LEARN_AT ?? mkdtempSync(join(tmpdir(), "zz-learn-"));
const git = (root: string, args: string[]) =>
  execFileSync("git", ["-C", root, ...args], { maxBuffer: 2 ** 30, stdio: ["ignore", "pipe", "ignore"] }).toString();

/** This repository as it was, and what was done next. */
function ownSets(): Set[] {
  const own = join(base, "own");
  if (!existsSync(own)) execFileSync("git", ["clone", "-q", ROOT, own]);
  const commits = git(own, ["rev-list", "--first-parent", "HEAD"]).trim().split("\n");
  return [60, 120, 180, 240].flatMap((back) => {
    if (!commits[back]) return [];
    const root = join(base, `own-${back}`);
    if (!existsSync(root)) {
      execFileSync("git", ["clone", "-q", own, root]);
      git(root, ["checkout", "-q", "-B", "then", commits[back]]);
    }
    const log = git(own, [
      "log",
      "--no-merges",
      "--name-only",
      "-z",
      "--format=%x01%s",
      `${commits[back]}..${commits[back - 60]}`,
    ]);
    const queries = log
      .split("\x01")
      .slice(1)
      .map((one) => {
        const [query = "", ...names] = one.split("\0");
        const files = names
          .map((name) => name.trim())
          .filter((name) => /\.[cm]?[jt]s$/.test(name) && !/^test\//.test(name) && existsSync(join(root, name)));
        return { query, files };
      });
    return [{ name: "own", root, queries: queries.filter(({ files }) => files.length && files.length <= 8) }];
  });
}

async function rowsOf({ root, queries }: Set): Promise<Row[]> {
  const core = await createZz({ root, home: join(base, "home"), save: false });
  const ctx = context(core, openChat(core, "none/none"));
  const project = openProject(
    root,
    join(base, "home"),
    async () => ({ scope: "", most: 100_000 }),
    () => [],
  );
  const state = { root, project } as State;
  const survey = await surveyFor(state, await project.fresh(ctx), ctx);
  const history = await historyOf(state, ctx);
  const at = new Map(survey.docs.map(({ path }, doc) => [path, doc]));
  const shown = survey.docs.map(({ place }) => place !== "made");
  const places = (["test", "aside", "other"] as const).map(
    (which) => new Float64Array(survey.docs.map(({ place }) => Number(place === which))),
  );
  return queries.flatMap(({ query, files }) => {
    const wanted = files.map((file) => at.get(file)).filter((doc) => doc !== undefined && shown[doc]) as number[];
    if (!wanted.length) return [];
    const signals = signalsOf(survey, query, history);
    return [{ columns: [...SIGNALS.map((name) => signals[name]), ...places], wanted }];
  });
}

function learn(rows: Row[]): Float64Array {
  const weights = new Float64Array(NAMES.length);
  const [mean, spread] = [new Float64Array(NAMES.length), new Float64Array(NAMES.length)];
  for (let step = 1; step <= STEPS; step++) {
    const slope = new Float64Array(NAMES.length);
    for (const { columns, wanted } of rows) {
      const chance = scoreOf(columns, weights);
      const most = chance.reduce((a, b) => Math.max(a, b));
      let sum = 0;
      for (let doc = 0; doc < chance.length; doc++) sum += chance[doc] = Math.exp(chance[doc]! - most);
      for (const [at, column] of columns.entries()) {
        let expected = 0;
        for (let doc = 0; doc < chance.length; doc++) expected += chance[doc]! * column[doc]!;
        slope[at]! += wanted.reduce((sum, doc) => sum + column[doc]!, 0) / wanted.length - expected / sum;
      }
    }
    for (let at = 0; at < NAMES.length; at++) {
      const gain = slope[at]! / rows.length - SMALLEST * weights[at]!;
      mean[at] = 0.9 * mean[at]! + 0.1 * gain;
      spread[at] = 0.999 * spread[at]! + 0.001 * gain ** 2;
      weights[at]! += (0.1 * (mean[at]! / (1 - 0.9 ** step))) / (Math.sqrt(spread[at]! / (1 - 0.999 ** step)) + 1e-8);
      if (at < SIGNALS.length) weights[at] = Math.max(0, weights[at]!); // nothing speaks against a file
    }
  }
  return weights;
}

function scoreOf(columns: Float64Array[], weights: Float64Array): Float64Array {
  const score = new Float64Array(columns[0]!.length);
  for (const [at, column] of columns.entries())
    if (weights[at]) for (let doc = 0; doc < score.length; doc++) score[doc]! += weights[at]! * column[doc]!;
  return score;
}

/** Of the changed files, the share among the first so many. */
function recall(rows: Row[], weights: Float64Array, most: number): string {
  const shares = rows.map(({ columns, wanted }) => {
    const score = scoreOf(columns, weights);
    const first = new Set([...score.keys()].sort((a, b) => score[b]! - score[a]! || a - b).slice(0, most));
    return wanted.filter((doc) => first.has(doc)).length / wanted.length;
  });
  return `${((100 * shares.reduce((a, b) => a + b, 0)) / shares.length).toFixed(1)} %`;
}

const from = corporaFolder();
if (!from) throw new Error("Cannot learn: ../shared/corpora is not there. Put it beside the project.");
const sets = [...unpackCorpora(from, base), ...ownSets()];
const byName = new Map<string, Row[]>();
for (const set of sets) byName.set(set.name, [...(byName.get(set.name) ?? []), ...(await rowsOf(set))]);
const now = Float64Array.from(
  NAMES,
  (name) => WEIGHTS[name as Signal] ?? { test: -4, aside: -2, other: -3.4 }[name as "test"],
);
const tell = (weights: Float64Array) => NAMES.map((name: Name, at) => `${name} ${weights[at]!.toFixed(2)}`).join(", ");
const HOW_MANY = [15, 25, 35, 50];
for (const [name, rows] of byName) {
  const others = learn([...byName].flatMap(([one, rows]) => (one === name ? [] : rows)));
  const line = (weights: Float64Array) => HOW_MANY.map((most) => recall(rows, weights, most)).join(", ");
  console.log(`${name}, ${rows.length} commits, first ${HOW_MANY.join(", ")} files`);
  console.log(`  by the others' weights: ${line(others)}   (${tell(others)})`);
  console.log(`  by the weights in use:  ${line(now)}`);
}
console.log(`all: ${tell(learn([...byName.values()].flat()))}`);
if (!process.env.ZZ_LEARN_AT) rmSync(base, { recursive: true, force: true });
process.exit(0);
