// What knowing a project's symbols costs, and how good its map is.
import fs from "node:fs";
import { join } from "node:path";
import { mapFrom, type Source, surveyOf } from "../../plugins/symbols/rank.ts";
import { bagOf, readBag } from "../../plugins/symbols/scan/words.ts";
import { scan } from "../../plugins/symbols/scan.ts";
import { embed } from "../../zz.ts";
import type { Bench, Figure, Measure } from "../support/bench.ts";
import { CORPORA, corporaFolder, unpackCorpora } from "../support/corpora.ts";
import { codeIn, copyProject, TYPESCRIPT } from "../support/corpus.ts";
import { timed, took, worked } from "../support/machine.ts";
import { has } from "../support/needs.ts";
import { environment, type Place, place, ROOT, WAYS } from "../support/run.ts";

const [node, zz] = WAYS.dist;
const TOKENS = 1_000;

export const figures: Figure[] = [
  {
    name: "new index",
    what: "A project of 579 files is indexed and a symbol found, beside ctags.",
    unit: "times",
    prepare: () => besideCtags(({ home }) => fs.rmSync(join(home, "index"), { recursive: true, force: true })),
  },
  {
    name: "index with one file changed",
    what: "The same, where one file was changed since.",
    unit: "times",
    prepare: () => besideCtags(({ cwd }, i) => fs.writeFileSync(join(cwd, "one.ts"), `export const one = ${i};\n`)),
  },
  {
    name: "index as it was",
    what: "The same, where nothing was changed.",
    unit: "times",
    prepare: () => besideCtags(() => {}),
  },
  {
    name: "memory of a map",
    what: "The most memory that `zz --call repo_map` has in that project.",
    unit: "MB",
    async prepare() {
      const where = project();
      return async () => (await ask(where, "repo_map", { query: "parse a union of types", tokens: TOKENS })).peak;
    },
  },
  {
    name: "references in a new process",
    what: "All uses of a symbol that is used in many files are found.",
    unit: "ms",
    async prepare() {
      const where = project();
      return async () => (await ask(where, "find_references", { symbol: "ZodType" })).ms;
    },
  },
  {
    name: "memory of references",
    what: "The most memory that this takes.",
    unit: "MB",
    runs: 3,
    async prepare() {
      const where = project();
      return async () => (await ask(where, "find_references", { symbol: "ZodType" })).peak;
    },
  },
  {
    name: "references of another symbol",
    what: "The same in a process that was asked before.",
    unit: "ms",
    async prepare(bench) {
      const { cwd: root, home } = project();
      const own = await embed({ root, home, save: false });
      bench.after(() => own.close());
      const symbols = [
        "ZodType",
        "ZodError",
        "APIPromise",
        "ZodObject",
        "APIResource",
        "ZodString",
        "OpenAIError",
        "Stream",
      ];
      await own.call("find_references", { symbol: "parse" });
      return () => timed(() => own.call("find_references", { symbol: symbols.unshift(symbols.pop()!) && symbols[0]! }));
    },
  },
  ...[1_500, 10_000].map(
    (count): Figure => ({
      name: `map of ${count} files`,
      what: "The files are ranked for a query and the map is made, in CPU time.",
      unit: "ms",
      async prepare() {
        const survey = surveyOf(copies(count), []);
        const query = "Wait for a slow regular expression in a thread that Ctrl+C ends, and say so in the README";
        return () => worked(() => mapFrom(survey, { query, tokens: 4_000 }));
      },
    }),
  ),
  ...CORPORA.map(
    (name): Figure => ({
      name: `map of ${name.replace(/.*_/, "")}`,
      what: "Of the files that later commits changed, what the maps of 1,000 tokens for their messages name.",
      unit: "%",
      runs: 1,
      prepare: (bench) => shareNamed(bench, name),
    }),
  ),
];

function project(): Place {
  const where = place();
  copyProject(TYPESCRIPT, where.cwd);
  return where;
}

const ask = (where: Place, tool: string, args: object) =>
  took(node, [zz, "--call", tool, JSON.stringify(args)], { cwd: where.cwd, env: environment(where, {}) });

async function besideCtags(before: (where: Place, i: number) => void): Promise<Measure | undefined> {
  if (!has("ctags")) return undefined;
  const where = project();
  let i = 0;
  return async () => {
    const { ms } = await took("ctags", ["-R", "-f", join(where.home, "../tags"), "."], where);
    before(where, i++);
    return (await ask(where, "find_definition", { symbol: "ZodType" })).ms / ms;
  };
}

/** zz's own files, several times over: each copy in a folder and with names of its own. */
function copies(count: number): Source[] {
  const own = ["kernel", "plugins", "test"].flatMap((folder) =>
    codeIn(join(ROOT, folder)).map((name) => `${folder}/${name}`),
  );
  const read = own.map((path) => {
    const text = fs.readFileSync(join(ROOT, path), "utf8");
    return { path, facts: scan(path, text), words: readBag(bagOf(text)) };
  });
  return Array.from({ length: count }, (_, i) => {
    const { path, facts, words } = read[i % read.length]!;
    const copy = Math.floor(i / read.length);
    const symbols = facts.symbols.map((symbol, n) => (n % 2 ? symbol : { ...symbol, name: symbol.name + copy }));
    const imports = [`${copy}/kernel/contract.ts`];
    return { path: `${copy}/${path}`, words, imports, facts: { ...facts, symbols } };
  });
}

async function shareNamed(bench: Bench, name: string): Promise<Measure | undefined> {
  const folder = corporaFolder();
  if (!folder) return undefined;
  const where = place();
  const [corpus] = unpackCorpora(folder, where.cwd, [name]);
  const own = await embed({ root: corpus!.root, home: where.home, save: false });
  bench.after(() => own.close());
  return async () => {
    let sum = 0;
    for (const { query, files } of corpus!.queries) {
      const { data } = await own.call("repo_map", { query, tokens: TOKENS });
      const { files: named } = data as { files: string[] };
      sum += files.filter((file) => named.includes(file)).length / files.length;
    }
    return (100 * sum) / corpus!.queries.length;
  };
}
