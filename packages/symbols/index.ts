// What the code defines and who uses it: the index of symbols, the map made of it, and the tools
// that answer from it. This file has the names and parameters of the tools; their answers are in
// answers.ts, which is loaded on first use.
import type { Ctx, Tool, Zz } from "zz";
import type { ToldMap } from "./answers/tool-state.ts";
import type { Answers } from "./answers.ts";

export interface Config {
  // where the map is in the prompt: sessions are those that a person watches
  map: "sessions" | "always" | "never";
  tokens?: number; // of the map in the prompt; 8 % of the model's window where it is not set
  most: number; // files, above which it asks
  folder: string; // to index alone
  ignore: string[]; // files that the index and the map leave out, as in a .gitignore
  debounce: number; // ms without a further change to a file, before the index is updated
  wait: number; // ms that the first message of a conversation waits for the map
  waitAgain: number; // ms that a later one waits, when files were saved since the map was made
}
export const defaults: Config = {
  map: "sessions",
  most: 10_000,
  folder: "",
  ignore: [],
  debounce: 500,
  wait: 2_000,
  waitAgain: 300,
};
const countSchema = { type: "integer", minimum: 0, maximum: 10_000_000 };
const durationSchema = { type: "number", minimum: 0, maximum: 60_000 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      map: {
        enum: ["sessions", "always", "never"],
        description: "when the model is given the map of the repository",
      },
      tokens: {
        ...countSchema,
        description: "tokens of the map in the prompt; not set: 8 % of the model's window",
      },
      most: {
        ...countSchema,
        description: "number of files above which zz asks before it indexes them",
      },
      folder: { type: "string", description: "the only folder to index; empty: the whole project" },
      ignore: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description: "files that the index and the map leave out, by patterns as in a .gitignore",
      },
      debounce: {
        ...durationSchema,
        description: "milliseconds without a further change to a file, before the index is updated",
      },
      wait: {
        ...durationSchema,
        description: "milliseconds that the first message of a conversation waits for the map",
      },
      waitAgain: {
        ...durationSchema,
        description: "milliseconds that a later message waits for a map of what was just saved",
      },
    },
  },
};

const FILE_NAMES = ["file", "file_path"]; // that models use for `path`
const readAll = () => ({ read: ["."] });
const PATH_PARAMETER = "string? a file or a folder";

/** Their answers have the same names. */
const SYMBOL_TOOLS: Omit<Tool, "run">[] = [
  {
    name: "find_definition",
    description:
      "Find where a function, class, type or constant is defined, by its name or by words for it.",
    aliases: ["definition", "get_definition", "goto_definition", "go_to_definition"],
    also: { symbol: ["name", "query", "symbol_name"] },
    params: { symbol: "string a name, Class.method, or a few words such as 'turn loop'" },
  },
  {
    name: "find_references",
    description:
      "Find every use of a function, class, type, property or constant: by meaning, " +
      "so that aliases count and others of the same name do not. " +
      "By name alone where no language server knows it, which the answer says.",
    params: {
      symbol: "string a name or Class.method",
      path: "string? the file that defines it, where several do",
      line: "integer? the line of its definition, where several are in that file",
      start: "integer? the place to begin with, where there are more than one answer shows",
    },
    needs: readAll,
  },
  {
    name: "find_calls",
    description: "Find who calls a function or method, or what it calls, by its language server.",
    aliases: ["call_hierarchy", "find_callees", "get_callers", "get_callees"],
    also: { symbol: ["name", "function"], path: FILE_NAMES },
    params: {
      symbol: "string a function or Class.method",
      callees: "boolean? what it calls, instead of who calls it",
      path: "string? the file that defines it, where several do",
      line: "integer? the line of its definition, where several are in that file",
    },
    needs: readAll,
  },
  {
    name: "find_symbols",
    description:
      "Find symbols whose names are like the query, in all code, " +
      "JSON and YAML (top-level keys). Misspelling is fine.",
    aliases: ["find_symbol", "symbols", "search_symbols", "workspace_symbols"],
    also: { query: ["symbol", "name", "pattern"], path: ["file", "file_path", "folder"] },
    params: {
      query: "string a part of the name",
      kind: "string? function, class, method, property, interface, type, enum, const …",
      path: PATH_PARAMETER,
    },
  },
  {
    name: "get_structure",
    description:
      "Show what code files define: the outline of one file with line numbers, " +
      "or a line for each file of a folder.",
    params: {
      path: PATH_PARAMETER,
      depth:
        "integer? of the outline: 1 top level, 2 members, 3 all; else all but insides of functions",
    },
  },
  {
    name: "get_function",
    description: "Show the whole text of a function or method, with line numbers, by its name.",
    aliases: ["read_function", "find_function"],
    also: { name: ["function", "symbol", "function_name"], path: FILE_NAMES },
    params: {
      name: "string a function, arrow function, or Class.method",
      path: "string? the file it is in",
    },
  },
  {
    name: "get_class",
    description:
      "Show the whole text of a class, interface, type, " +
      "enum or namespace, with line numbers, by its name.",
    aliases: ["read_class", "find_class"],
    also: { name: ["class", "symbol", "class_name"], path: FILE_NAMES },
    params: { name: "string the class", path: "string? the file it is in" },
  },
  {
    name: "get_dependencies",
    description:
      "List what a file, or a folder from outside of it, imports: files of the project, " +
      "packages, Node's own modules, and what cannot be found. " +
      "Without a path: the project's entry points, its most imported files and import cycles.",
    aliases: ["dependencies", "find_dependencies", "get_imports"],
    also: { path: FILE_NAMES },
    params: { path: "string? the file or folder" },
  },
  {
    name: "get_dependents",
    description: "List the files that import a file, or from outside anything in a folder.",
    aliases: ["dependents", "find_dependents", "get_importers"],
    also: { path: FILE_NAMES },
    params: { path: "string the file or folder" },
  },
  {
    name: "get_complexity",
    description:
      "How complex code is: of a file each function's branches, of a folder the most complex " +
      "files. score = branches + 2 × nesting + imports + lines / 20.",
    aliases: ["complexity"],
    also: { path: FILE_NAMES },
    params: { path: PATH_PARAMETER },
  },
  {
    name: "get_todos",
    description: "List TODO, FIXME and HACK comments in the code.",
    aliases: ["todos", "find_todos"],
    also: { path: FILE_NAMES },
    params: { path: PATH_PARAMETER },
  },
  {
    name: "check_types",
    description:
      "Check TypeScript or JavaScript files for syntax and type errors, " +
      "by the project's tsconfig.json.",
    params: { paths: "string[] files to check" },
    needs: ({ paths }) => ({ read: paths }),
  },
  {
    name: "rename_symbol",
    description:
      "Rename a function, class, type, property, variable or constant everywhere it is used, " +
      "by meaning. The changes are shown and asked for.",
    aliases: ["rename"],
    also: { symbol: ["name", "from", "old_name"], to: ["new_name", "newName"], path: FILE_NAMES },
    params: {
      symbol: "string its name now, or Class.method",
      to: "string its new name",
      path: "string? the file that defines it, where several do",
      line: "integer? the line of its definition, where several are in that file",
    },
    needs: readAll,
    changes: true,
  },
  {
    name: "repo_map",
    description:
      "A map of the repository: the files and signatures that matter most, or most for a query " +
      "(words, names, paths). Verify with grep or read_file before you rely on it.",
    params: {
      query: "string? what it is about, in any words",
      focus: "string[]? files or symbols to map around",
      tokens: "integer? how large it may be; 2,000 unless given",
      why: "boolean? say of each file what brought it in",
    },
    needs: readAll,
  },
];

export default (zz: Zz<Config>) => {
  let isOngoing = false; // the conversation has more than one turn
  const toldMap = zz.state<ToldMap>({ text: "", files: [] });
  let answers: Promise<Answers> | undefined;
  const loadAnswers = (ctx: Ctx) =>
    (answers ??= import("./answers.ts").then(({ openAnswers }) =>
      openAnswers(ctx, zz.config, () => isOngoing, toldMap),
    ));
  zz.defer(async () => (await answers)?.close());

  for (const definition of SYMBOL_TOOLS)
    zz.tool({
      kind: "read",
      needs: ({ path = "." }) => ({ read: [path] }),
      ...definition,
      run: async (args, ctx) => (await loadAnswers(ctx)).answer(definition.name, args, ctx),
    });

  zz.command({
    name: "map",
    usage: "[WORDS]",
    description: "the map of the code, or of what WORDS are about",
    examples: {
      "/map": "the files that matter most",
      "/map undo after restart": "the files that are about these words",
    },
    group: "code",
    run: async (queryWords, ctx) => {
      const { text } = await ctx.call("repo_map", queryWords ? { query: queryWords } : {});
      ctx.note(text);
    },
  });
  zz.command({
    name: "reindex",
    description: "build the index of this project's code again",
    group: "code",
    run: async (_, ctx) => ctx.note(await (await loadAnswers(ctx)).reindex(ctx)),
  });

  zz.on("started", (fact) => void (isOngoing = fact.stays));
  zz.on("answered", () => void (isOngoing && answers?.then(({ scheduleMap }) => scheduleMap())));
  zz.layer({
    name: "repo-map",
    slot: "turn",
    budget: 20_000, // its own budget is exact
    text: async (ctx) => {
      if (zz.config.map === "never" || (zz.config.map !== "always" && !isOngoing && !toldMap.text))
        return undefined;
      const { isProject } = await import("./is-project.ts");
      return isProject(ctx.root) ? (await loadAnswers(ctx)).layer(ctx) : undefined;
    },
  });
};
