// Bundles zz into dist/: the kernel, its own plugins, and each heavy library a chunk of its own, so
// that only what a run needs is loaded, and all of it comes from the compile cache. zz.js is a
// stub: the cache must be on before anything loads.
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";
import { compileAtStart } from "./eager.js";
import { parser } from "./typescript.js";

const { resolve: fileOf } = createRequire(import.meta.url);
const ROOT = process.cwd();

/** A plugin of esbuild that loads some files otherwise. */
const loads = (filter, load) => ({
  name: String(filter),
  setup: (build) => build.onLoad({ filter }, load),
});

/**
 * An ES import has Node touch every export of node:fs or node:util, and load streams and workers
 * with it. Functions of modules that few runs need load theirs at the first call: node:crypto
 * takes 5 ms.
 */
const AT_FIRST_CALL = ["node:crypto", "node:fs/promises", "node:timers/promises", "node:readline"];
const builtins = loads(/\.ts$/, ({ path }) => ({
  loader: "ts",
  contents: readFileSync(path, "utf8").replace(
    /^import (\w+|\{[^}]+\}) from "(node:[\w/]+)";$/gm,
    (_, names, module) => {
      const from = `process.getBuiltinModule("${module}")`;
      const taken = names.replace(/\btype \w+,?/g, "").replaceAll(" as ", ": ");
      if (!names.startsWith("{") || !AT_FIRST_CALL.includes(module))
        return `const ${taken} = ${from};`;
      return taken
        .replace(
          /(\w+)(?:: (\w+))?,?/g,
          (_, name, own = name) => `const ${own} = (...args) => ${from}.${name}(...args);`,
        )
        .slice(1, -1);
    },
  ),
}));

/**
 * The official clients get light stand-ins for the platform's classes of fetch, whose loading takes
 * 25 ms of every answer. What zz never asks the openai package for becomes empty classes: 1.4 MB of
 * every answer's memory.
 */
const STAND_INS =
  "Headers, FormData, Blob, File, Response, Request, ReadableStream, surroundings as globalThis";
const UNASKED_PLACES =
  "resources/(?!index|chat|responses)|lib|_vendor|helpers|core/(?!error|api-promise|resource)";
const UNASKED = new RegExp(`/openai/(${UNASKED_PLACES})`);
const clients = loads(/node_modules\/(openai|ollama)\/.*\.mjs$/, async ({ path }) => {
  const names = UNASKED.test(path)
    ? Object.keys(await import(path)).filter((name) => name !== "default")
    : [];
  if (names.length) return { contents: names.map((name) => `export class ${name} {}`).join("\n") };
  return {
    contents:
      `import { ${STAND_INS} } from "${ROOT}/plugins/wires/light.ts";\n` +
      readFileSync(path, "utf8"),
  };
});

/** The quantizer of sixels makes a global of itself, which a module may not. */
const quantizer = loads(/node_modules\/sixel\/upng\.js$/, ({ path }) => ({
  contents: `var UPNG;\n${readFileSync(path, "utf8")}`,
}));

/**
 * What libraries import and zz never reaches: tables and emoji of marked-terminal, how chalk finds
 * out whether there are colours, bullmq's other databases and calendar, the prompt that opens an
 * editor (with every character set there is), MCP's own checker of JSON Schema.
 */
const UNUSED = new RegExp(
  `^(${[
    "whatwg-fetch|cli-highlight|cli-table3|node-emoji|supports-hyperlinks|#supports-color",
    "cron-parser|\\./(postgres|bun-redis-client|valkey-glide-client)",
    "@inquirer/editor|\\./ajvProvider-\\w+\\.mjs",
  ].join("|")})$`,
);
/** `npm run build -- --without=mcp,acp` leaves these packages out, `--without` all of them. */
const without = process.argv.find((word) => /^--without(=|$)/.test(word))?.split("=");
const isLeftOut = (name) =>
  without && (without.length === 1 || without[1].split(",").includes(name));
const namesIn = (folder) => (existsSync(folder) ? readdirSync(folder) : []);
const packages = namesIn("packages").filter(
  (name) => existsSync(`packages/${name}/index.ts`) && !isLeftOut(name),
);
const ownPlugins = [
  ...namesIn("plugins").map((name) => `plugins/${name}`),
  ...packages.map((name) => `packages/${name}`),
]
  .filter((file) => file.endsWith(".ts") || existsSync(`${file}/index.ts`))
  .map((file) => ({ name: basename(file, ".ts"), file: `./${file}` }))
  .sort((a, b) => (a.name < b.name ? -1 : 1));
const plugins = ownPlugins.map(({ name }) => name);
const MADE = {
  unused: "export default {}; export const [highlight, get, n] = [];",
  "own-plugins": `${ownPlugins.map(({ file }, i) => `import * as p${i} from "${file}";`).join("\n")}
    export default { ${plugins.map((name, i) => `"${name}": p${i}`).join(", ")} };
    export const packages = ${JSON.stringify(packages)};`,
};
const generated = {
  name: "made",
  setup(build) {
    build.onResolve({ filter: UNUSED }, () => ({ path: "unused", namespace: "made" }));
    build.onResolve({ filter: /^own-plugins$/ }, ({ path }) => ({ path, namespace: "made" }));
    build.onLoad({ filter: /./, namespace: "made" }, ({ path }) => ({
      resolveDir: ROOT,
      contents: MADE[path],
    }));
  },
};

const OUTPUT = {
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node22.18",
  minify: true,
  logLevel: "warning",
};
/**
 * What runs in processes of its own: a plugin's NAME-worker.ts, and what decodes
 * strangers' bytes (sdk/decode.ts).
 */
const ofOwn = (names) =>
  ownPlugins.flatMap(({ file }) =>
    file.endsWith(".ts")
      ? []
      : readdirSync(file).flatMap((name) => (names.test(name) ? `${file}/${name}` : [])),
  );
const APART = Object.fromEntries([
  ...ofOwn(/-worker\.ts$/).map((file) => [basename(file, ".ts"), file]),
  ...["./sdk/decoder.ts", ...ofOwn(/^decode-[\w-]+\.ts$/)].map((file) => [
    basename(file, ".ts"),
    file,
  ]),
]);

/**
 * Each chunk that a start loads takes it a third of a millisecond, and there are a dozen, since so
 * many others share a part of them. They become one file, from which the others import; what they
 * were is still there for what is imported by a name that is made at run time.
 */
async function joinStart() {
  const textOf = (file) => readFileSync(`dist/chunks/${file}`, "utf8");
  const joined = new Set(["../kernel.js", "../plugins.js"]);
  for (const file of joined) // those that are added are visited, too
    for (const [, name] of textOf(file).matchAll(/(?:from|import)"\.\/(?:chunks\/)?([\w-]+\.js)"/g))
      joined.add(name);
  const parts = [...joined].map((file, i) => ({
    file,
    names: namesGivenBy(textOf(file)).map((name) => ({ name, alias: `${name}${i}` })),
  }));
  const exportLines = parts.map(
    ({ file, names }) =>
      `export{${names.map(({ name, alias }) => `${name} as ${alias}`)}}from"./${file}";`,
  );
  const isOther = (path, kind) =>
    kind === "dynamic-import" ||
    !(joined.has(basename(path)) || joined.has(`../${basename(path)}`));
  const setup = (build) =>
    build.onResolve({ filter: /./ }, ({ path, kind }) =>
      isOther(path, kind)
        ? {
            path: path.replace(/^\.\/(chunks\/|(?=plugins\.js))/, (start) =>
              start === "./" ? "../" : "./",
            ),
            external: true,
          }
        : {
            path: resolve(
              "dist/chunks",
              joined.has(basename(path)) ? basename(path) : `../${basename(path)}`,
            ),
          },
    );
  const stdin = { contents: exportLines.join("\n"), resolveDir: "dist/chunks" };
  // Node shows the whole line of an error that a program does not catch.
  const bundleOptions = {
    outfile: "dist/chunks/start.js",
    lineLimit: 200,
    treeShaking: false,
    plugins: [{ name: "others", setup }],
  };
  await build({ ...OUTPUT, ...bundleOptions, stdin });
  for (const { file, names } of parts) {
    const from = file.startsWith("..") ? "./chunks/start.js" : "./start.js";
    writeFileSync(
      `dist/chunks/${file}`,
      `export{${names.map(({ name, alias }) => `${alias} as ${name}`)}}from"${from}";\n`,
    );
  }
  const aliases = new Map(
    parts.map(({ file, names }) => [
      basename(file),
      new Map(names.map(({ name, alias }) => [name, alias])),
    ]),
  );
  const others = readdirSync("dist/chunks").filter((file) => /^(?!start\.).*\.js$/.test(file));
  for (const file of others.filter((file) => !joined.has(file)))
    writeFileSync(`dist/chunks/${file}`, fromStart(textOf(file), aliases));
}

const namesGivenBy = (text) =>
  /export\{([^}]*)\};?\s*$/
    .exec(text)?.[1]
    .split(",")
    .map((name) => name.split(" as ").at(-1)) ?? [];

/** A chunk that imports from the one file what it imported from those that are joined. */
const fromStart = (text, aliases) =>
  text
    .replace(/\bimport"\.\/([\w-]+\.js)";/g, (all, name) => (aliases.has(name) ? "" : all))
    .replace(/\bimport\{([^{}]*)\}from"\.\/([\w-]+\.js)"/g, (all, list, name) => {
      const names = aliases.get(name);
      if (!names) return all;
      const taken = list.split(",").map((item) => {
        const [imported, local = imported] = item.split(" as ");
        return `${names.get(imported)} as ${local}`;
      });
      return `import{${taken}}from"./start.js"`;
    });

/**
 * Grammars of other languages, compressed: 20 MB in their packages, 1.5 MB here. It takes ten
 * seconds, so once for what is installed.
 */
function packGrammars() {
  const grammars = JSON.parse(readFileSync("packages/symbols/languages/grammars.json", "utf8"));
  const installed =
    statSync("node_modules/.package-lock.json", { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  mkdirSync("dist/grammars", { recursive: true });
  for (const name of readdirSync("dist/grammars"))
    if (!Object.hasOwn(grammars, name.split(".")[0])) rmSync(`dist/grammars/${name}`);
  for (const [name, from] of Object.entries(grammars)) {
    const packed = `dist/grammars/${name}.wasm.br`;
    if ((statSync(packed, { throwIfNoEntry: false })?.mtimeMs ?? 0) > installed) continue;
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 };
    writeFileSync(packed, brotliCompressSync(readFileSync(fileOf(from)), { params }));
  }
}

// The types and the one file are generated elsewhere (build.js).
for (const name of existsSync("dist") ? readdirSync("dist") : [])
  if (!/^types$|^grammars$|\.mjs$/.test(name)) rmSync(`dist/${name}`, { recursive: true });
await build({
  ...OUTPUT,
  outdir: "dist",
  entryPoints: {
    kernel: "zz.ts",
    plugins: "own-plugins",
    test: "sdk/testing.ts",
    text: "sdk/text.ts",
    compilers: "kernel/gate/compiler-gate.ts",
    ...APART,
  },
  plugins: [parser, clients, quantizer, builtins, generated],
  alias: { chalk: `${ROOT}/node_modules/chalk/source/index.js` }, // one of the two that there are
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  legalComments: "linked",
  // a function of TypeScript that its parser does not have
  logOverride: { "import-is-undefined": "error" },
  // CommonJS libraries ask for these three; an ES module has to make its own.
  define: { __filename: "import.meta.filename", __dirname: "import.meta.dirname" },
  banner: {
    js: 'const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);',
  },
});
await joinStart();
// What is zz's own, for a checkout that runs from source.
writeFileSync(
  "dist/plugins.json",
  JSON.stringify({ plugins: plugins.filter((name) => !packages.includes(name)), packages }),
);
// The shell's grammar and what runs it: an installed zz has neither package.
for (const name of ["web-tree-sitter", "tree-sitter-bash"])
  copyFileSync(fileOf(`${name}/${name}.wasm`), `dist/${name}.wasm`);
if (packages.includes("symbols")) packGrammars();
copyFileSync("build/start.js", "dist/zz.js");
chmodSync("dist/zz.js", 0o755);
await compileAtStart("dist");
