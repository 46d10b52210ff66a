// Bundles zz into dist/: the kernel, its own plugins, and each heavy library a chunk of its own, so that only what a run
// needs is loaded, and all of it comes from the compile cache. zz.js is a stub: the cache must be on before anything loads.
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { build } from "esbuild";

/**
 * Node's own modules without an ES import: that makes Node touch every export of node:fs or node:util, and with it load
 * streams and workers that nobody asked for.
 */
const builtins = {
  name: "builtins",
  setup(build) {
    build.onLoad({ filter: /(zz|plugins[^.]*)\.ts$/ }, ({ path }) => ({
      loader: "ts",
      contents: readFileSync(path, "utf8").replace(
        /^import (\w+|\{[\w, ]+\}) from ("node:[\w/]+");$/gm,
        "const $1 = process.getBuiltinModule($2);",
      ),
    }));
  },
};

rmSync("dist", { recursive: true, force: true });
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

await build({
  entryPoints: { kernel: "zz.ts", plugins: "own-plugins" },
  outdir: "dist",
  bundle: true,
  plugins: [builtins, own],
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22.18",
  chunkNames: "chunks/[name]-[hash]",
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: true,
  legalComments: "linked",
  logLevel: "warning",
  // CommonJS libraries ask for these three; an ES module has to make its own.
  define: { __filename: "import.meta.filename", __dirname: "import.meta.dirname" },
  banner: { js: 'const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);' },
});
// The shell's grammar and what runs it: an installed zz has neither package.
const { resolve } = createRequire(import.meta.url);
for (const name of ["web-tree-sitter", "tree-sitter-bash"])
  copyFileSync(resolve(`${name}/${name}.wasm`), `dist/${name}.wasm`);
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
