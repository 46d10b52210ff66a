// Bundles zz into dist/: the kernel, each plugin and each heavy library its own chunk, so that only what a run needs
// is loaded, and all of it comes from the compile cache. zz.js is a stub: the cache must be on before anything loads.
import { chmodSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

rmSync("dist", { recursive: true, force: true });
const plugins = readdirSync("plugins").map((name) => [
  `plugins/${name.replace(/\.ts$/, "")}`,
  `plugins/${name.endsWith(".ts") ? name : `${name}/index.ts`}`,
]);
await build({
  entryPoints: { kernel: "zz.ts", ...Object.fromEntries(plugins) },
  outdir: "dist",
  bundle: true,
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
  banner: {
    js: 'import { createRequire as __zzRequire } from "node:module"; const require = __zzRequire(import.meta.url);',
  },
});
writeFileSync(
  "dist/zz.js",
  `#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(\`zz needs Node 22.18 or later; this is \${process.versions.node}. Install a newer one, or run it by npx in a checkout, which brings its own.\`);
  process.exit(2);
}
const { enableCompileCache } = (await import("node:module")).default;
enableCompileCache();
const { main } = await import("./kernel.js");
process.exit(await main(process.argv.slice(2)));
`,
);
chmodSync("dist/zz.js", 0o755);
