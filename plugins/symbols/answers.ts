// What the symbol tools answer. Each first brings the index up to date, and shows only what may be read.
import path from "node:path";
import type { Ctx, Result } from "zz";
import type { defaults } from "./index.ts";
import { bestFor, type Found, fuzzy } from "./match.ts";
import { CODE, type Index, mayRead, openProject } from "./project.ts";
import type { RepoMap, Wish } from "./rank.ts";
import type { Place } from "./refs.ts";
import { openRemote } from "./remote.ts";
import type { Graph, Resolver } from "./resolve.ts";
import { defining, using } from "./rows.ts";
import type { Facts, Sym } from "./scan.ts";
import type { Scope } from "./store.ts";
import { openWatch } from "./watch.ts";

const MOST = 40; // rows of an answer
const MOST_NAMES = 12; // of one file
const LONGEST_PART = 400; // lines
const MAP_TOKENS = 2_000;
const WORTH = 0.1; // of the map's lines must be new before it is told again
const SOON = 200; // ms; the request is on its way by then
const LAYER_PATIENCE = 2_000; // ms that the first message waits for the map

const MOST_MEANT = 12; // definitions of one name
const MOST_TEXTS = 10;
const LONGEST_ROW = 120; // characters
const SCRIPT = /\.[cm]?[jt]sx?$/i;
const ENTRIES = { package: "named by package.json", name: "by its name", alone: "nothing imports it" };
const MARKED = new Set(["definition", "import", "export", "write"]);
const VERIFY = "Lines may have moved since: verify with grep or read_file.";

export type Answers = ReturnType<typeof openAnswers>;

export function openAnswers({ root, about: { home } }: Ctx, config: typeof defaults, stays: () => boolean) {
  const project = openProject(root, home, limit);
  const remote = openRemote(root, stays);
  const watch = openWatch(root);
  let here: Ctx | undefined;
  let layered: { version: object; text: string } | undefined;

  return {
    definition,
    references,
    symbols,
    structure,
    part,
    dependencies,
    dependents,
    complexity,
    todos,
    check,
    rename,
    map,
    layer,
    remap,
    reindex,
    close(): void {
      watch.close();
      remote.close();
    },
  };

  /** The index as things are now. In a conversation that goes on, files are watched from then on. */
  async function fresh(ctx: Ctx): Promise<Index> {
    const index = await project.fresh(ctx);
    if (stays()) watch.on(index.files, () => void project.fresh(aside(ctx)).catch(() => {}));
    return index;
  }

  async function limit(count: number, { ask, note }: Ctx, now: Scope): Promise<Scope> {
    if (config.folder) return { scope: config.folder.replace(/\/+$/, ""), most: Number.MAX_SAFE_INTEGER };
    if (count <= config.most) return { scope: "", most: config.most };
    if (now.scope || now.most > config.most) return now; // it was asked before
    if (!ask) {
      if (!now.most)
        note(
          `This project has ${count} code files; the first ${config.most} are indexed. Set symbols.folder in the settings to choose.`,
        );
      return { scope: "", most: config.most };
    }
    const key = await ask(
      `This project has ${count} code files. Index [a]ll of them, one [f]older, or [c]ancel? `,
      "afc",
    );
    if (key === "a") return { scope: "", most: Number.MAX_SAFE_INTEGER };
    const folder = key === "f" ? (await ask("Which folder? ")).trim().replace(/^\.\/|\/+$/g, "") : "";
    if (!folder) throw new Error("Cannot index this project: it was called off. /reindex asks again.");
    return { scope: folder, most: Number.MAX_SAFE_INTEGER };
  }

  async function definition(symbol: string, ctx: Ctx): Promise<Result> {
    const index = await fresh(ctx);
    const wanted = nameIn(symbol);
    const named = foundIn(index, defining(index.leaves, lastPart(wanted)), ctx);
    const code = named.filter(({ kind }) => kind !== "key");
    const exact = (code.length ? code : named).filter(({ name }) => name === wanted || name.endsWith(`.${wanted}`));
    const all = () => foundIn(index, index.files, ctx).filter(({ kind }) => kind !== "key");
    const { exact: sure, near } = exact.length ? { exact, near: [] } : bestFor(wanted, all());
    if (sure.length) return { text: capped(sure.map(row), MOST, "definitions"), data: sure };
    if (!near.length) throw new Error(`Cannot find a definition of '${symbol}': nothing is named like that. Try grep.`);
    return { text: [`No definition is named '${symbol}'. Nearest:`, ...near.map(row)].join("\n"), data: near };
  }

  async function symbols(
    { query, kind, path: under = "." }: { query: string; kind?: string; path?: string },
    ctx: Ctx,
  ) {
    const index = await fresh(ctx);
    const all = foundIn(index, filesUnder(index, under, ctx), ctx).filter((found) => !kind || found.kind === kind);
    const best = fuzzy(nameIn(query), all, MOST);
    if (!best.length)
      throw new Error(`Cannot find symbols like '${query}'${kind ? ` of kind ${kind}` : ""}: none is near. Try grep.`);
    return { text: best.map((found) => `${row(found)}  [${found.kind}]`).join("\n"), data: best };
  }

  async function structure(
    { path: under = ".", depth = 2 }: { path?: string; depth?: number },
    ctx: Ctx,
  ): Promise<Result | string> {
    const index = await fresh(ctx);
    const files = filesUnder(index, under, ctx);
    if (!files.length) return `No code under '${under}'.`;
    if (files.length === 1 && files[0] === relative(under, ctx))
      return outline(files[0], index.facts(files[0])!, depth);
    const rows = files.map((file) => {
      const { symbols, unread } = index.facts(file)!;
      const names = symbols
        .filter(({ exported, owner }) => exported && !owner)
        .map(({ name, line }) => `${name}:${line}`);
      const more = names.length > MOST_NAMES ? " …" : "";
      return unread
        ? `${file} (not read: ${unread})`
        : `${file} (${symbols.length}) ${names.slice(0, MOST_NAMES).join(" ")}${more}`.trimEnd();
    });
    return { text: capped(rows, 2 * MOST, "files"), data: files };
  }

  function outline(file: string, { symbols, unread, parseError, loc }: Facts, depth: number): Result {
    if (unread) return { text: `${file}: not read: ${unread}.` };
    const level = ({ owner }: Sym) => (owner ? owner.split(".").length : 0);
    const deep = symbols.filter((sym) => level(sym) < depth && (depth > 2 || !sym.local));
    const rows = deep.map((sym) => `${"  ".repeat(level(sym))}${sym.line}-${sym.end}: ${sym.signature}`);
    const head = [`${file} · ${loc} lines of code`, ...(parseError ? [`[syntax error: ${parseError}]`] : [])];
    return { text: [...head, capped(rows, 5 * MOST, "symbols; a smaller depth shows fewer")].join("\n"), data: deep };
  }

  async function part(
    what: "function" | "class",
    { name, path: at }: { name: string; path?: string },
    ctx: Ctx,
  ): Promise<Result> {
    const index = await fresh(ctx);
    const kinds =
      what === "function"
        ? ["function", "method"]
        : ["class", "interface", "type", "enum", "namespace", "const", "variable"];
    const wanted = nameIn(name);
    const files = at ? filesUnder(index, at, ctx) : defining(index.leaves, lastPart(wanted));
    const all = foundIn(index, files, ctx).filter(({ kind }) => kinds.includes(kind));
    const fits = all.filter((found) => found.name === wanted || found.name.endsWith(`.${wanted}`));
    if (!fits.length) {
      const known = at
        ? all
        : bestFor(
            wanted,
            foundIn(index, index.files, ctx).filter(({ kind }) => kinds.includes(kind)),
          ).near;
      const names = known.slice(0, MOST).map((found) => `${found.name} (${found.path}:${found.line})`);
      throw new Error(
        `Cannot show ${what} '${name}': ${at ? `'${at}' has none of that name` : "none has that name"}. ${names.length ? `There are: ${names.join(", ")}.` : "Try find_symbols."}`,
      );
    }
    const shown: string[] = [];
    for (const { path: file, line, end } of fits.slice(0, 5)) {
      const { text } = await ctx.files.read(file);
      const lines = text
        .replace(/^\ufeff/, "")
        .split(/\r?\n/)
        .slice(line - 1, Math.min(end, line + LONGEST_PART - 1));
      shown.push(`${file}:${line}-${end}`, ...lines.map((one, i) => `${line + i}\t${one}`));
      if (end - line >= LONGEST_PART) shown.push(`[${end - line + 1 - LONGEST_PART} more lines; read_file shows them]`);
    }
    if (fits.length > 5)
      shown.push(
        `[${fits.length - 5} more of that name: ${fits
          .slice(5, 15)
          .map(({ path: file, line }) => `${file}:${line}`)
          .join(", ")}]`,
      );
    return { text: shown.join("\n"), data: fits };
  }

  async function todos({ path: under = "." }: { path?: string }, ctx: Ctx): Promise<Result> {
    const index = await fresh(ctx);
    const found = filesUnder(index, under, ctx).flatMap((file) =>
      index.facts(file)!.todos.map((todo) => ({ path: file, ...todo })),
    );
    const rows = found.map(({ path: file, line, text }) => `${file}:${line}: ${text}`);
    return { text: capped(rows, MOST, "") || "No TODO, FIXME or HACK in comments.", data: found };
  }

  async function complexity({ path: under = "." }: { path?: string }, ctx: Ctx): Promise<Result | string> {
    const index = await fresh(ctx);
    const files = filesUnder(index, under, ctx);
    if (!files.length) return `No code under '${under}'.`;
    const scores = files.map((file) => scoreOf(file, index.facts(file)!)).sort((a, b) => b.score - a.score);
    if (scores.length > 1) {
      const rows = scores.map(
        ({ path: file, score, loc, nesting, imports, branches }) =>
          `${file}: score ${score} (${branches} branches, nesting ${nesting}, ${imports} imports, ${loc} lines)`,
      );
      return { text: capped(rows, MOST, "files"), data: scores };
    }
    const [one] = scores;
    const functions = index.facts(one!.path)!.symbols.filter(({ kind }) => kind === "function" || kind === "method");
    functions.sort((a, b) => (b.decisions ?? 0) - (a.decisions ?? 0) || b.end - b.line - (a.end - a.line));
    const rows = functions.map(
      (sym) =>
        `${sym.line}-${sym.end}: ${nameOf(sym)}: ${(sym.decisions ?? 0) + 1} paths, ${sym.end - sym.line + 1} lines`,
    );
    const { path: file, score, loc, nesting, imports, branches } = one!;
    const head = `${file}: score ${score} = ${branches} branches + 2 × ${nesting} nesting + ${imports} imports + ${loc} lines / 20`;
    return { text: [head, capped(rows, MOST, "functions")].filter(Boolean).join("\n"), data: { ...one, functions } };
  }

  async function dependencies({ path: name }: { path?: string }, ctx: Ctx): Promise<Result> {
    const graph = await graphOf(await fresh(ctx));
    if (name === undefined) return overview(graph, ctx);
    const file = relative(name, ctx);
    const all = graph.imports.get(file);
    if (!all)
      throw new Error(
        `Cannot list what '${name}' imports: it is no code file of this project. get_structure lists them.`,
      );
    const rows = all.map(
      ({ spec, line, to, kind, how }) =>
        `${file}:${line}: ${spec} → ${kind === "internal" ? to : kind}${how === "import" ? "" : ` (${how})`}`,
    );
    return { text: capped(rows, 2 * MOST, "imports") || `'${name}' imports nothing.`, data: all };
  }

  /** The whole project: where to begin to read, what most depends on, and what goes round in circles. */
  async function overview(graph: Graph & { resolver: Resolver }, ctx: Ctx): Promise<Result> {
    const { cycles, entryPoints, hubs } = await import("./resolve.ts");
    const seen = <T extends { path: string }>(all: T[]) => all.filter(({ path: file }) => mayRead(ctx, file));
    const data = { hubs: seen(hubs(graph)), entries: seen(entryPoints(graph, graph.resolver)), cycles: cycles(graph) };
    const rounds = data.cycles.filter(({ files }) => files.every((file) => mayRead(ctx, file)));
    const part = (title: string, rows: string[]) => (rows.length ? [`${title}:`, capped(rows, MOST_NAMES, "")] : []);
    const rows = [
      ...part(
        "Imported by more than 5 files",
        data.hubs.map(({ path: file, count }) => `${file} (${count})`),
      ),
      ...part(
        "Entry points",
        data.entries.map(({ path: file, why }) => `${file} (${ENTRIES[why]})`),
      ),
      ...part(
        "Import cycles",
        rounds.map(({ round }) => round.join(" → ")),
      ),
    ];
    return { text: rows.join("\n") || "No code of this project imports any other.", data: { ...data, cycles: rounds } };
  }

  async function dependents({ path: name }: { path: string }, ctx: Ctx): Promise<Result> {
    const { imports, dependents } = await graphOf(await fresh(ctx));
    const file = relative(name, ctx);
    if (!imports.has(file))
      throw new Error(
        `Cannot list what imports '${name}': it is no code file of this project. get_structure lists them.`,
      );
    const users = (dependents.get(file) ?? []).filter((one) => mayRead(ctx, one));
    const rows = users.map((one) => {
      const at = imports.get(one)!.filter(({ to }) => to === file);
      return `${one}:${at[0]!.line}: ${at.map(({ spec }) => spec).join(", ")}`;
    });
    const hub = rows.length > 5 ? [`${rows.length} files import it.`] : [];
    return { text: [...hub, capped(rows, 2 * MOST, "files")].join("\n") || `Nothing imports '${name}'.`, data: users };
  }

  /** Made anew each time: what an import leads to may change with a package that is installed. */
  async function graphOf(index: Index): Promise<Graph & { resolver: Resolver }> {
    const { openResolver, graphOf } = await import("./resolve.ts");
    const resolver = openResolver(root, index.names, index.resolved);
    const graph = await graphOf(
      index.files.map((file) => [file, index.facts(file)!] as const),
      resolver,
    );
    index.keep(resolver.kept());
    return { ...graph, resolver };
  }

  async function references(args: { symbol: string; path?: string; line?: number }, ctx: Ctx): Promise<Result> {
    remote.start();
    const index = await fresh(ctx);
    const { wanted, all, left } = meant(index, args, ctx);
    const found: { symbol: string; places: Place[] }[] = [];
    for (const at of all) {
      const isSame = ({ path: file, line }: Place) => file === at.path && line === at.line;
      if (found.some(({ places }) => places.some(isSame))) continue;
      const groups = await remote.ask("references", [at], index, ctx.signal); // under another name it is a group of its own
      const places = groups.flatMap(({ places }) => places).filter(({ path: file }) => mayRead(ctx, file));
      if (places.length) found.push({ symbol: groups[0]!.symbol, places });
    }
    const said = await textHits(wanted, ctx);
    if (!found.length && !said.length)
      throw new Error(`Cannot find a use of '${args.symbol}': no code names it. find_definition suggests names.`);
    const rows = found.flatMap(({ symbol, places }) => {
      const lines = new Map(places.map((place) => [`${place.path}:${place.line}`, place]));
      const rows = [...lines].map(([at, { text, kind }]) => `${at}: ${text}${MARKED.has(kind) ? `  [${kind}]` : ""}`);
      return [...(found.length > 1 ? [`${symbol.slice(0, LONGEST_ROW)}: ${rows.length} places`] : []), ...rows];
    });
    const others = said.length ? ["In other files, as text:", ...said] : [];
    const more = left ? [`[${left} more definitions of that name; path and line choose one]`] : [];
    return { text: [capped(rows, 2 * MOST, "places"), ...more, ...others].filter(Boolean).join("\n"), data: found };
  }

  /** The definitions that a name may stand for; where the project has none, the first place that names it. */
  function meant(index: Index, { symbol, path: at, line }: { symbol: string; path?: string; line?: number }, ctx: Ctx) {
    const wanted = nameIn(symbol);
    const name = lastPart(wanted);
    const file = at && relative(at, ctx);
    const named = foundIn(index, defining(index.leaves, name), ctx)
      .filter(({ kind }) => kind !== "key")
      .filter((found) => found.name === wanted || found.name.endsWith(`.${wanted}`))
      .filter((found) => (!file || found.path === file) && (!line || found.line === line));
    const users = named.length
      ? []
      : using(index.leaves, name).filter((one) => (!file || one === file) && mayRead(ctx, one));
    const places = named
      .map(({ path, line }) => ({ path, line, name }))
      .concat(users.slice(0, 1).map((path) => ({ path, line: line ?? 1, name })));
    return { wanted: name, all: places.slice(0, MOST_MEANT), left: Math.max(places.length - MOST_MEANT, 0) };
  }

  async function textHits(name: string, ctx: Ctx): Promise<string[]> {
    if (!/^[\w$#]+$/.test(name)) return [];
    const query = `(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`;
    const { text, failed } = await ctx.call("grep", { query, regex: true });
    if (failed) return [];
    return text
      .split("\n")
      .filter((row) => /^[^":]+:\d+:/.test(row) && !SCRIPT.test(row.split(":")[0]!))
      .slice(0, MOST_TEXTS);
  }

  async function check({ paths }: { paths: string[] }, ctx: Ctx): Promise<Result> {
    remote.start();
    const index = await fresh(ctx);
    const files = paths.flatMap((one) => filesUnder(index, one, ctx)).filter((file) => SCRIPT.test(file));
    if (!files.length)
      throw new Error(
        `Cannot check ${paths.join(", ") || "nothing"}: it is no TypeScript or JavaScript of this project. Name its files.`,
      );
    const found = await remote.ask("check", [files], index, ctx.signal);
    const rows = found.map(
      ({ path: file, line, column, code, message, category }) =>
        `${file}:${line}:${column}: ${category} TS${code}: ${message}`,
    );
    const many = `${files.length} file${files.length === 1 ? "" : "s"}`;
    return { text: capped(rows, MOST, "problems") || `No problems in ${many}.`, data: found };
  }

  async function rename(args: { symbol: string; to: string; path?: string; line?: number }, ctx: Ctx): Promise<Result> {
    remote.start();
    const index = await fresh(ctx);
    const { all, left } = meant(index, args, ctx);
    const cannot = (why: string) => new Error(`Cannot rename '${args.symbol}' to '${args.to}': ${why}`);
    if (!all.length) throw cannot("nothing is named like that. find_definition suggests names.");
    const [at] = all;
    const first = await remote.ask("references", [at!], index, ctx.signal);
    const covered = first.flatMap(({ places }) => places.map(({ path, line }) => `${path}:${line}`));
    const others = all.filter(({ path, line }) => !covered.includes(`${path}:${line}`));
    if (others.length)
      throw cannot(
        `${others.length + left + 1} things are: ${all.map(({ path, line }) => `${path}:${line}`).join(", ")}. Choose one by path and line.`,
      );
    const { edits, refused } = await remote.ask("rename", [at!, args.to], index, ctx.signal);
    if (refused) throw new Error(refused);
    const byFile = Map.groupBy(edits, (edit) => edit.path);
    for (const [file, own] of byFile) {
      const { text } = await ctx.files.read(file);
      let [made, from] = ["", 0];
      for (const { start, end, text: put } of own) {
        made += text.slice(from, start) + put;
        from = end;
      }
      await ctx.files.write(file, made + text.slice(from));
    }
    const rows = [...byFile].map(([file, own]) => `${file}: ${own.length}`);
    const many = `${edits.length} place${edits.length === 1 ? "" : "s"}`;
    return {
      text: [`Renamed '${args.symbol}' to '${args.to}' in ${many}:`, capped(rows, MOST, "files")].join("\n"),
      data: edits,
    };
  }

  async function map(
    { query, focus, tokens = MAP_TOKENS }: { query?: string; focus?: string[]; tokens?: number },
    ctx: Ctx,
  ): Promise<Result> {
    const index = await fresh(ctx);
    const made = await mapFor(index, { ...(query && { query }), ...(focus && { focus }), tokens }, ctx);
    return { text: made.text || "There is no code here to map.", data: made };
  }

  async function mapFor(index: Index, wish: Wish, ctx: Ctx): Promise<RepoMap> {
    const [{ mapOf }, { imports }] = await Promise.all([import("./rank.ts"), graphOf(index)]);
    const visible = index.files.filter((file) => SCRIPT.test(file) && mayRead(ctx, file));
    const sources = visible.map((file) => {
      const targets = (imports.get(file) ?? []).flatMap(({ to, kind }) => (kind === "internal" && to ? [to] : []));
      return { path: file, facts: index.facts(file)!, imports: targets };
    });
    const mapped = new Set(visible);
    const others = index.names.filter((name) => !mapped.has(name) && mayRead(ctx, name));
    return mapOf(sources, others, { seen: seenIn(ctx, mapped), ...wish });
  }

  /**
   * The map in the prompt: of what the conversation is about so far. It stays word for word as it is until code changes,
   * so that a provider's cache of the prompt holds.
   */
  /** What there is, at once; only the first is waited for. */
  async function layer(ctx: Ctx): Promise<string | undefined> {
    here = aside(ctx);
    if (layered)
      setTimeout(remap, SOON).unref(); // what the person changed meanwhile is told with the next message
    else await Promise.race([remap(), new Promise((resolve) => setTimeout(resolve, LAYER_PATIENCE).unref())]);
    return layered?.text;
  }

  /** The map for the next turn. */
  async function remap(): Promise<void> {
    if (here) await makeLayer(here).catch(() => undefined);
  }

  async function makeLayer(ctx: Ctx): Promise<void> {
    const index = await fresh(ctx);
    if (layered?.version === index.version) return;
    const words = ctx.chat.messages.flatMap((message) =>
      message.role === "user" && !message.aside ? [message.text] : [],
    );
    const { text } = await mapFor(index, { query: words.slice(-3).join("\n"), tokens: config.tokens }, ctx);
    const told = ctx.chat.messages.length > 1 ? layered?.text : undefined; // the model has that one
    const shown = text && `${text}\n${VERIFY}`;
    layered = { version: index.version, text: told && !differs(told, shown) ? told : shown };
  }

  async function reindex(ctx: Ctx): Promise<string> {
    project.drop();
    const index = await fresh(ctx);
    const count = index.files.reduce((sum, file) => sum + index.facts(file)!.symbols.length, 0);
    const broken = index.files.filter((file) => index.facts(file)!.parseError).length;
    return `Indexed ${index.files.length} files with ${count} symbols in ${(index.ms / 1000).toFixed(1)} s${broken ? `; ${broken} have syntax errors` : ""}${index.left ? `; ${index.left} are left out` : ""}.`;
  }
}

/** So much that it is worth telling again: the model knows its own edits. */
function differs(old: string, text: string): boolean {
  const had = new Set(old.split("\n"));
  const lines = text.split("\n");
  return lines.filter((line) => !had.has(line)).length > lines.length * WORTH;
}

/** For work that is nobody's turn: it asks nothing, says nothing and is not broken off with the turn. */
function aside(ctx: Ctx): Ctx {
  const quiet = () => {};
  const own = { ask: undefined, note: quiet, progress: quiet, signal: new AbortController().signal };
  return Object.create(ctx, Object.fromEntries(Object.entries(own).map(([key, value]) => [key, { value }])));
}

/** The files that the conversation has read or changed. */
function seenIn({ chat, files }: Ctx, known: Set<string>): Wish["seen"] {
  const edited = new Set(files.changes().map(({ path: file }) => file));
  const words = chat.messages.flatMap((message) => (message.role === "assistant" ? (message.calls ?? []) : []));
  const named = words.flatMap(({ args }) => Object.values(args)).filter((value) => typeof value === "string");
  const seen = new Set([...edited, ...named.map((name) => name.replace(/^\.\//, ""))]);
  return [...seen].filter((file) => known.has(file)).map((file) => ({ path: file, edited: edited.has(file) }));
}

const nameIn = (symbol: string): string => symbol.trim().replace(/\(\)$/, "");
const lastPart = (name: string): string => name.split(".").at(-1)!;
const nameOf = ({ owner, name }: Sym): string => (owner ? `${owner}.${name}` : name);

function foundIn(index: Index, files: readonly string[], ctx: Ctx): Found[] {
  return files.flatMap((file) => {
    const symbols = index.facts(file)?.symbols ?? [];
    if (!symbols.length || !mayRead(ctx, file)) return [];
    return symbols.map((sym) => ({ ...sym, path: file, name: nameOf(sym) }));
  });
}

/** Relative to the project, as the index has it. */
function relative(name: string, { root, files }: Ctx): string {
  return path.relative(root, files.path(name)).split(path.sep).join("/");
}

function filesUnder(index: Index, under: string, ctx: Ctx): string[] {
  const folder = relative(under, ctx);
  const inside = index.files.filter((file) => !folder || file === folder || file.startsWith(`${folder}/`));
  return inside.filter((file) => CODE.test(file) && mayRead(ctx, file));
}

function scoreOf(file: string, { loc, nesting, imports, decisions }: Facts) {
  const score = Math.round(decisions + 2 * nesting + imports.length + loc / 20);
  return { path: file, score, loc, nesting, imports: imports.length, branches: decisions };
}

/** The first rows, and how many there are beyond. */
function capped(rows: string[], most: number, what: string): string {
  const more = rows.length - most;
  return [...rows.slice(0, most), ...(more > 0 ? [`[${more} more ${what}`.trimEnd() + "]"] : [])].join("\n");
}

const row = ({ path: file, line, signature, doc }: Found): string =>
  `${file}:${line}: ${signature}${doc ? `  // ${doc}` : ""}`;
