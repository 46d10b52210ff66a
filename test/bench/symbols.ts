// What knowing a project's symbols costs, and how good its map is.

import { execFileSync } from "node:child_process";
import fs, { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { mapFrom, type Source, surveyOf } from "../../packages/symbols/rank.ts";
import { bagOf, readBag } from "../../packages/symbols/scan/word-bag.ts";
import { scan } from "../../packages/symbols/scan.ts";
import { type Embedded, embed } from "../../zz.ts";
import type { Bench, Figure, Measure } from "../support/bench.ts";
import { codeIn, copyProject, TYPESCRIPT } from "../support/corpus.ts";
import { figure, timed, took, worked } from "../support/machine.ts";
import { has } from "../support/needs.ts";
import { environment, type Place, place, ROOT, WAYS } from "../support/run.ts";

interface Corpus {
  name: string;
  root: string;
  queries: { query: string; files: string[] }[];
}
const CORPORA = ["honojs_hono", "colinhacks_zod"];

const BESIDE = [join(ROOT, "../shared/corpora"), join(ROOT, "../../shared/corpora")];

/** The folder that holds them; undefined if there is none. */
const corporaFolder = (): string | undefined =>
  [...(process.env.ZZ_CORPORA ? [process.env.ZZ_CORPORA] : []), ...BESIDE]
    .map((at) => resolve(at))
    .find((at) => existsSync(join(at, "commits.json")));

/** Unpacks them into a folder, each as a repository of its own. */
function unpackCorpora(from: string, to: string, names = CORPORA): Corpus[] {
  mkdirSync(to, { recursive: true });
  const all: { repo: string; query: string; files: string[] }[] = JSON.parse(
    readFileSync(join(from, "commits.json"), "utf8"),
  );
  return names.map((name) => {
    if (!existsSync(join(to, name)))
      execFileSync(process.execPath, [join(from, "unpack.mjs"), name, to]);
    const queries = all.filter(({ repo }) => repo.replace("/", "_") === name);
    return { name, root: join(to, name), queries };
  });
}

const [node, zz] = WAYS.dist;
const TOKENS = 1_000;
const MAP = ["repo_map", { query: "parse a union of types", tokens: TOKENS }] as const;
const USES = ["find_references", { symbol: "ZodType" }] as const;

export const figures: Figure[] = [
  figure("new index", "times", 7,
    "A project of 579 files is indexed and a symbol found, beside ctags.",
    () =>
      besideCtags(({ home }) => fs.rmSync(join(home, "index"), { recursive: true, force: true }))),
  figure("index with one file changed", "times", 7, "The same, where one file was changed since.",
    () =>
      besideCtags(({ cwd }, i) =>
        fs.writeFileSync(join(cwd, "one.ts"), `export const one = ${i};\n`)),
  ),
  figure("index as it was", "times", 7, "The same, where nothing was changed.", () =>
    besideCtags(() => {})),
  figure("memory of a map", "MB", 7, "The most that `zz --call repo_map` has in that project.",
    calling("peak", ...MAP)),
  figure("references in a new process", "ms", 7, "All uses of a symbol that many files use.",
    calling("ms", ...USES)),
  figure("memory of references", "MB", 3, "The most memory that this takes.",
    calling("peak", ...USES)),
  figure("references of another symbol", "ms", 7, "The same in a process that was asked before.",
    async (bench) => {
      const { cwd: root, home } = project();
      const own = await embed({ root, home, save: false });
      bench.after(() => own.close());
      const symbols =
        "parse ZodType ZodError APIPromise ZodObject APIResource ZodString OpenAIError Stream".split(
          " ",
        );
      let i = 0;
      return () =>
        timed(() => own.call("find_references", { symbol: symbols[i++ % symbols.length] }));
    }),
  figure("references again", "ms", 7,
    "Of one symbol, asked again in one process: 2,800 files, 140 use it.",
    (bench) => inManyFiles(bench, (own) => own.call("find_references", { symbol: "common" }))),
  figure("rename in 30 files", "ms", 3,
    "rename_symbol in that project, in a process that was asked before.",
    (bench) => {
      const names = ["thirty", "other"];
      return inManyFiles(bench, (own) => {
        const [to, symbol] = names.reverse();
        return own.call("rename_symbol", { symbol, to });
      });
    }),
  ...[1_500, 10_000].map((count) =>
    figure(`map of ${count} files`, "ms", 7, "Ranked for a query, in CPU time.", async () => {
      const survey = surveyOf(copies(count), []);
      const query =
        "Wait for a slow regular expression in a thread that Ctrl+C ends, and say so in the README";
      return () => worked(() => mapFrom(survey, { query, tokens: 4_000 }));
    })),
  ...CORPORA.map((name) =>
    figure(`map of ${name.replace(/.*_/, "")}`, "%", 1,
      "Of the files that later commits changed, what the maps of 1,000 tokens for their messages name.",
      (bench) => shareNamed(bench, name)),
  ),
]; // biome-ignore format: a table

/** A project of 2,800 files in which some import others; what is asked must succeed. */
async function inManyFiles(
  bench: Bench,
  ask: (own: Embedded) => Promise<{ failed?: boolean; text: string }>,
): Promise<Measure> {
  const { cwd: root, home } = place();
  fs.writeFileSync(join(root, "tsconfig.json"), '{"compilerOptions":{"types":[]}}');
  for (let i = 0; i < 2_800; i++) {
    const used = [...(i % 20 === 1 ? ["common"] : []), ...(i % 93 === 1 ? ["thirty"] : [])];
    const imports = used.map(
      (name) => `import { ${name} } from "./m0";\nexport const ${name}${i} = ${name}(${i});\n`,
    );
    const own = Array.from(
      { length: 12 },
      (_, n) => `export const own${i}_${n} = (x: number): number => x * ${n};\n`,
    );
    const first = ["common", "thirty"].map(
      (name) => `export const ${name} = (x: number): number => x;\n`,
    );
    fs.writeFileSync(join(root, `m${i}.ts`), [...imports, ...own, ...(i ? [] : first)].join(""));
  }
  const embedded = await embed({ root, home, save: false, allow: { write: true } });
  bench.after(() => embedded.close());
  return () =>
    timed(async () => {
      const { failed, text } = await ask(embedded);
      if (failed) throw new Error(text);
    });
}

function project(): Place {
  const where = place();
  copyProject(TYPESCRIPT, where.cwd);
  return where;
}

const ask = (where: Place, tool: string, args: object) =>
  took(node, [zz, "--call", tool, JSON.stringify(args)], {
    cwd: where.cwd,
    env: environment(where, {}),
  });

function calling(what: "ms" | "peak", tool: string, args: object) {
  return async () => {
    const where = project();
    return async () => (await ask(where, tool, args))[what];
  };
}

async function besideCtags(before: (where: Place, i: number) => void) {
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
    const symbols = facts.symbols.map((symbol, n) =>
      n % 2 ? symbol : { ...symbol, name: symbol.name + copy },
    );
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
