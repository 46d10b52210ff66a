#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `zz needs Node 22.18 or later; this is ${process.versions.node}. Install a newer one, or run it by npx in a checkout, which brings its own.`,
  );
  process.exit(2);
}
process.getBuiltinModule("node:module").enableCompileCache();
const { main } = await import("./kernel.js");
process.exit(await main(process.argv.slice(2)));
