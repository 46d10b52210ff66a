#!/usr/bin/env node
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `zz needs Node 22.18 or later; this is ${process.versions.node}. ` +
      "Install a newer one, or run it by npx in a checkout, which brings its own.",
  );
  process.exit(2);
}
const cache = ownCache();
if (cache) process.getBuiltinModule("node:module").enableCompileCache(cache);
const { start } = await import("./kernel.js");
await start(process.argv.slice(2));

/**
 * What V8 compiled is as good as code: it lies in a folder that nobody else can write, and never in
 * the project. Node's own is shared with all who can write in the folder for temporary files.
 */
function ownCache() {
  if (process.env.NODE_COMPILE_CACHE) return process.env.NODE_COMPILE_CACHE;
  const [fs, os, path] = ["fs", "os", "path"].map((name) => process.getBuiltinModule(name));
  const base = os.tmpdir();
  const uid = process.getuid?.();
  try {
    const projects = [process.cwd(), ...named("--cwd").map((name) => fs.realpathSync(name))];
    const inProject = (project) => `${fs.realpathSync(base)}/`.startsWith(`${project}/`);
    if (!path.isAbsolute(base) || (process.env.TMPDIR && projects.some(inProject)))
      return undefined;
    const folder = path.join(base, `zz-compiled-${uid ?? "all"}`);
    if (!fs.existsSync(folder)) fs.mkdirSync(folder, 0o700);
    const stat = fs.lstatSync(folder);
    const isOwn = uid === undefined || (stat.uid === uid && (stat.mode & 0o77) === 0);
    return stat.isDirectory() && isOwn ? folder : undefined;
  } catch {
    return undefined;
  }
}

/** The values of a flag. */
function named(flag) {
  const words = process.argv.slice(2);
  return words.flatMap((word, i) => {
    if (word === flag) return words[i + 1] ?? [];
    return word.startsWith(`${flag}=`) ? word.slice(flag.length + 1) : [];
  });
}
