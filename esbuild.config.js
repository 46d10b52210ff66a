// Bundles zz into dist/: the kernel, its own plugins, and each heavy library a chunk of its own, so that only what a run
// needs is loaded, and all of it comes from the compile cache. zz.js is a stub: the cache must be on before anything loads.
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
import { basename } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";
import { compileAtStart } from "./eager.js";

/**
 * Node's own modules without an ES import: that makes Node touch every export of node:fs or node:util, and with it load
 * streams and workers that nobody asked for.
 */
const builtins = {
  name: "builtins",
  setup(build) {
    build.onLoad({ filter: /(zz|kernel\/[\w-]+|sdk\/\w+|plugins[^.]*)\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: readFileSync(path, "utf8").replace(
        /^import (?!.*\btype )(\w+|\{[\w, ]+\}) from ("node:[\w/]+");$/gm,
        "const $1 = process.getBuiltinModule($2);",
      ),
    }));
  },
};

/**
 * TypeScript's parser without the checker, the emitter and the editor services: a seventh of its text, which loads in a
 * sixth of the time. The compiler is one script with its parts one after the other; what comes before the binder stands
 * alone. scan/parser.ts gets the parser, resolve/typescript.ts also what finds modules.
 */
const parser = {
  name: "parser",
  setup(build) {
    build.onLoad({ filter: /plugins\/symbols\/(scan\/parser|resolve\/typescript)\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: readFileSync(path, "utf8")
        .replace('import { ts } from "ts-morph";', `import * as ts from "ts-parser/${basename(path, ".ts")}";`)
        // What is taken out of it name by name is all that is bundled.
        .replace(/^(export )?const \{ ([\w, ]+) \} = ts(?: as unknown as \{.*?^\})?;$/gms, (_, exported = "", names) =>
          names
            .split(", ")
            .map((name) => `${exported}const ${name} = ts.${name};`)
            .join(""),
        ),
    }));
    build.onResolve({ filter: /^ts-parser/ }, ({ path }) => ({ path, namespace: "parser" }));
    build.onLoad({ filter: /.*/, namespace: "parser" }, ({ path }) => ({
      resolveDir: import.meta.dirname,
      contents: partOf(typescript(), path.endsWith("/parser") ? "commandLineParser" : "binder"),
    }));
  },
};

/** A name's text is its own in the parser, and a property in the services, which the types speak of. */
const NAMED = `
const Plain = objectAllocator.getIdentifierConstructor();
class Named extends Plain { get text() { return idText(this); } }
setObjectAllocator({ ...objectAllocator, getIdentifierConstructor: () => Named, getPrivateIdentifierConstructor: () => Named });`;

function typescript() {
  const fromTsMorph = createRequire(createRequire(import.meta.url).resolve("ts-morph"));
  return readFileSync(fromTsMorph.resolve("@ts-morph/common").replace(/[^/\\]+$/, "typescript.js"), "utf8");
}

function partOf(text, end) {
  const mark = (words) => {
    const at = text.indexOf(words);
    if (at < 0)
      throw new Error(`Cannot cut the parser out of TypeScript: '${words}' is not in it. Look at what changed.`);
    return at;
  };
  const listed = "module.exports = __toCommonJS(typescript_exports);";
  const helpers = text.slice(mark("var __defProp = "), mark("// src/typescript/typescript.ts"));
  const exported = text.slice(mark("__export(typescript_exports, {"), mark(listed));
  const part = text.slice(mark(listed) + listed.length, mark(`// src/compiler/${end}.ts`));
  const declared = new Set(
    Array.from(part.matchAll(/^(?:async )?(?:var|function\*?|class|let|const) (\w+)/gm), ([, name]) => name),
  );
  const names = Array.from(exported.matchAll(/^ {2}(\w+): \(\) => (\w+)/gm), ([, name, local]) => ({ name, local }));
  const kept = names.filter(({ local }) => declared.has(local)).map(({ name, local }) => `${local} as ${name}`);
  return `${helpers}\n${part}\n${NAMED}\nexport { ${kept.join(", ")} };`;
}

/**
 * The clients of OpenAI and Ollama with light stand-ins for the platform's classes of fetch, whose loading takes 30 ms of every
 * answer, and without what zz never asks them for: another 5 ms.
 */
const clients = {
  name: "clients",
  setup(build) {
    const USED =
      /openai\/(\w+|core\/(error|api-promise|resource)|internal\/.*|resources\/(index|(chat|chat\/completions|responses)\/[\w-]+))\.mjs$/;
    const light = JSON.stringify(`${import.meta.dirname}/plugins/wires/light.ts`);
    const STAND_INS = "Headers, FormData, Blob, File, Response, Request, ReadableStream, surroundings as globalThis";
    build.onLoad({ filter: /node_modules\/(openai|ollama)\/.*\.mjs$/ }, async ({ path }) => {
      if (path.includes("/openai/") && !USED.test(path)) {
        const names = Object.keys(await import(path)).filter((name) => name !== "default");
        return { contents: names.map((name) => `export class ${name} {}`).join("\n") };
      }
      return { contents: `import { ${STAND_INS} } from ${light};\n${readFileSync(path, "utf8")}` };
    });
  },
};

/** The client and the server of MCP without a second library that checks JSON Schema: zz looks at no answers by it. */
const SHIMS = `${import.meta.dirname}/plugins/mcp/shims.ts`;
const protocol = { "@modelcontextprotocol/client/_shims": SHIMS, "@modelcontextprotocol/server/_shims": SHIMS };

/** What libraries import and zz never reaches: tables and emoji of marked-terminal, how chalk finds out whether there are colours. */
const unused = {
  name: "unused",
  setup(build) {
    const filter = /^(whatwg-fetch|cli-highlight|cli-table3|node-emoji|supports-hyperlinks|#supports-color|jose)$/;
    build.onResolve({ filter }, () => ({ path: "unused", namespace: "unused" }));
    build.onLoad({ filter: /.*/, namespace: "unused" }, () => ({
      contents: "export default {}; export const [highlight, get] = [];",
    }));
  },
};

/** The quantizer of sixels makes a global of itself, which a module may not. */
const quantizer = {
  name: "quantizer",
  setup(build) {
    build.onLoad({ filter: /node_modules\/sixel\/upng\.js$/ }, ({ path }) => ({
      contents: `var UPNG;\n${readFileSync(path, "utf8")}`,
    }));
  },
};

/**
 * Each chunk that a start loads takes it half a millisecond, and there are a dozen, since so many others share a part of
 * them. They become one file; what they were gives what others import from it.
 */
async function joinStart() {
  const importsOf = (name) =>
    Array.from(textOf(name).matchAll(/(?:from|import)"\.\/(?:chunks\/)?([\w-]+\.js)"/g), ([, to]) => to);
  const textOf = (name) => readFileSync(existsSync(`dist/${name}`) ? `dist/${name}` : `dist/chunks/${name}`, "utf8");
  const joined = new Set();
  const add = (name) => {
    for (const to of importsOf(name)) if (!joined.has(to)) add(joined.add(to) && to);
  };
  for (const entry of ["kernel.js", "plugins.js"]) add(entry);
  const given = [...joined].map((name, i) => {
    const [, list = ""] = /export\{([^}]*)\};?\s*$/.exec(textOf(name)) ?? [];
    const names = list.split(",").flatMap((one) => one.split(" as ").at(-1) || []);
    return { name, exported: names.map((one) => [one, `${one}${i}`]) };
  });
  const list = (pairs) => pairs.map(([from, to]) => `${from} as ${to}`).join(",");
  await build({
    ...OUTPUT,
    stdin: {
      contents: given.map(({ name, exported }) => `export{${list(exported)}}from"./${name}";`).join("\n"),
      resolveDir: "dist/chunks",
    },
    outdir: undefined,
    outfile: "dist/chunks/start.js",
    lineLimit: 200, // Node shows the whole line of an error that a program does not catch
    treeShaking: false,
    plugins: [
      {
        name: "others",
        setup: (build) =>
          build.onResolve({ filter: /./ }, ({ path, kind }) => ({
            external: kind === "dynamic-import" || !joined.has(basename(path)),
            path:
              kind === "dynamic-import" || !joined.has(basename(path))
                ? path
                : `${import.meta.dirname}/dist/chunks/${basename(path)}`,
          })),
      },
    ],
  });
  for (const { name, exported } of given)
    writeFileSync(
      `dist/chunks/${name}`,
      `export{${list(exported.map(([one, own]) => [own, one]))}}from"./start.js";\n`,
    );
  for (const entry of ["kernel.js", "plugins.js"]) {
    let text = textOf(entry);
    for (const { name, exported } of given)
      text = text.replace(new RegExp(`import(?:\\{([^}]*)\\}from)?"\\./chunks/${name}";`), (_, taken) => {
        const own = new Map(exported);
        const each = (taken ?? "")
          .split(",")
          .filter(Boolean)
          .map((one) => one.split(" as "));
        return `import${taken ? `{${list(each.map(([from, to = from]) => [own.get(from), to]))}}from` : ""}"./chunks/start.js";`;
      });
    writeFileSync(`dist/${entry}`, text);
  }
}

/**
 * The grammars of other languages, compressed: 20 MB in their packages, 1.5 MB here. That takes ten seconds, so it is done
 * once for what is installed.
 */
function packGrammars() {
  const { resolve } = createRequire(import.meta.url);
  const all = JSON.parse(readFileSync("plugins/symbols/languages/grammars.json", "utf8"));
  const installed = statSync("node_modules/.package-lock.json", { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  mkdirSync("dist/grammars", { recursive: true });
  for (const name of readdirSync("dist/grammars"))
    if (!Object.hasOwn(all, name.replace(/\.wasm\.br$/, ""))) rmSync(`dist/grammars/${name}`);
  for (const [name, from] of Object.entries(all)) {
    const packed = `dist/grammars/${name}.wasm.br`;
    if ((statSync(packed, { throwIfNoEntry: false })?.mtimeMs ?? 0) > installed) continue;
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 };
    writeFileSync(packed, brotliCompressSync(readFileSync(resolve(from)), { params }));
  }
}

// What of dist/ is made here; the types and the one file are not (build.js).
for (const name of existsSync("dist") ? readdirSync("dist") : [])
  if (!/^types$|^grammars$|\.mjs$/.test(name)) rmSync(`dist/${name}`, { recursive: true });
const names = readdirSync("plugins")
  .filter((name) => name.endsWith(".ts") || existsSync(`plugins/${name}/index.ts`))
  .map((name) => name.replace(/\.ts$/, ""))
  .sort();
const own = {
  name: "own",
  setup(build) {
    build.onResolve({ filter: /^own-plugins$/ }, () => ({ path: "own-plugins", namespace: "own" }));
    build.onLoad({ filter: /.*/, namespace: "own" }, () => ({
      resolveDir: import.meta.dirname,
      contents: [
        ...names.map((name, i) => `import * as p${i} from "./plugins/${name}";`),
        `export default { ${names.map((name, i) => `"${name}": p${i}`).join(", ")} };`,
      ].join("\n"),
    }));
  },
};

/** What runs in processes that decode strangers' bytes (sdk/decode.ts). */
const DECODERS = [
  "sdk/decoder.ts",
  ...["web/decode-page", "web/decode-pdf", "terminal/decode-image", "install/decode-archive"].map(
    (name) => `plugins/${name}.ts`,
  ),
];

const OUTPUT = {
  outdir: "dist",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node22.18",
  minifySyntax: true,
  minifyIdentifiers: true,
  minifyWhitespace: true,
  logLevel: "warning",
};
await build({
  ...OUTPUT,
  entryPoints: {
    ...{ kernel: "zz.ts", plugins: "own-plugins", test: "sdk/testing.ts", text: "sdk/text.ts" },
    compilers: "kernel/gate/compiler-gate.ts",
    ...{ "symbols-worker": "plugins/symbols/worker.ts", "writing-worker": "plugins/writing/worker.ts" },
    ...Object.fromEntries(DECODERS.map((file) => [basename(file, ".ts"), file])),
  },
  plugins: [parser, clients, quantizer, unused, builtins, own],
  alias: { chalk: `${import.meta.dirname}/node_modules/chalk/source/index.js`, ...protocol }, // chalk: one of the two that there are
  splitting: true,
  chunkNames: "chunks/[name]-[hash]",
  legalComments: "linked",
  logOverride: { "import-is-undefined": "error" }, // a function of TypeScript that its parser does not have
  // CommonJS libraries ask for these three; an ES module has to make its own.
  define: { __filename: "import.meta.filename", __dirname: "import.meta.dirname" },
  banner: { js: 'const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);' },
});
await joinStart();
writeFileSync("dist/plugins.json", JSON.stringify(names)); // what is zz's own, for a checkout that runs from source
// The shell's grammar and what runs it: an installed zz has neither package.
const { resolve } = createRequire(import.meta.url);
for (const name of ["web-tree-sitter", "tree-sitter-bash"])
  copyFileSync(resolve(`${name}/${name}.wasm`), `dist/${name}.wasm`);
packGrammars();
writeFileSync(
  "dist/zz.js",
  `#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(\`zz needs Node 22.18 or later; this is \${process.versions.node}. Install a newer one, or run it by npx in a checkout, which brings its own.\`);
  process.exit(2);
}
process.getBuiltinModule("node:module").enableCompileCache();
const { main } = await import("./kernel.js");
process.exit(await main(process.argv.slice(2)));
`,
);
chmodSync("dist/zz.js", 0o755);
await compileAtStart("dist");
