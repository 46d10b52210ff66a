// The beginning of zz.mjs. It unpacks what follows it into the person's cache once, and starts from
// there: loading 14 MB of text at each start would take longer than zz. single-file.js writes ID
// before it: what tells one version from another.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `zz needs Node 22.18 or later; this is ${process.versions.node}. Install a newer one.`,
  );
  process.exit(2);
}
const [fs, os, path, { fileURLToPath, pathToFileURL }] = ["fs", "os", "path", "url"].map((name) =>
  process.getBuiltinModule(name),
);
const MONTH = 30 * 24 * 3600 * 1000;

/**
 * Where it is unpacked. In a cache that is another's, or cannot be written, it would run what they
 * put there.
 */
function unpacked() {
  const caches = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "zz");
  const folder = path.join(caches, ID);
  let fresh;
  try {
    if (isOwn(caches) && isOwn(folder)) return folder;
    fs.mkdirSync(caches, { recursive: true, mode: 0o700 });
    if (!isOwn(caches)) throw new Error("it is not yours alone");
    fresh = fs.mkdtempSync(path.join(caches, ".new-"));
    unpack(fresh);
    try {
      fs.renameSync(fresh, folder);
    } catch {
      fs.rmSync(fresh, { recursive: true, force: true }); // another was faster
    }
    if (!isOwn(folder)) throw new Error("it is not yours alone");
    sweep(caches);
    return folder;
  } catch (error) {
    // a part of it would keep a full disk full
    if (fresh) fs.rmSync(fresh, { recursive: true, force: true });
    const cannot = `Cannot keep zz unpacked in '${caches}': ${reasonOf(error)}.`;
    const tried = [os.tmpdir(), "/dev/shm"];
    for (const cacheFolder of tried) {
      let temporary;
      try {
        temporary = fs.mkdtempSync(path.join(cacheFolder, "zz-"));
        process.on("exit", () => fs.rmSync(temporary, { recursive: true, force: true }));
        unpack(temporary);
        console.error(
          `${cannot} It is unpacked for this run alone; XDG_CACHE_HOME names another place.`,
        );
        return temporary;
      } catch {
        if (temporary) fs.rmSync(temporary, { recursive: true, force: true });
      }
    }
    console.error(
      `${cannot} Nor can it be in ${tried.join(" or ")}. ` +
        "Make room, or name another place with XDG_CACHE_HOME.",
    );
    process.exit(1);
  }
}

var WHY = {
  ENOSPC: "the disk is full",
  EDQUOT: "your quota is used up",
  EROFS: "the disk is read-only",
  EACCES: "it may not be written",
};
const reasonOf = ({ code, message }) => WHY[code] ?? message;

function isOwn(folder) {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false });
  return (
    stat?.isDirectory() &&
    (process.platform === "win32" || (stat.uid === process.getuid() && !(stat.mode & 0o022)))
  );
}

function unpack(folder) {
  const text = fs.readFileSync(fileURLToPath(import.meta.url), "latin1");
  const packed = Buffer.from(text.slice(text.lastIndexOf("\n//") + 3), "base64");
  const bytes = process.getBuiltinModule("zlib").brotliDecompressSync(packed);
  const madeFolders = new Set();
  let start = bytes.indexOf("\n") + 1;
  for (const [name, length] of JSON.parse(bytes.subarray(0, start).toString())) {
    const above = path.join(folder, path.dirname(name));
    if (!madeFolders.has(above)) fs.mkdirSync(above, { recursive: true });
    madeFolders.add(above);
    fs.writeFileSync(path.join(folder, name), bytes.subarray(start, start + length));
    start += length;
  }
}

/**
 * Of versions that were not started for a month, and of runs that were killed while they unpacked.
 */
function sweep(caches) {
  for (const name of fs.readdirSync(caches)) {
    const folder = path.join(caches, name);
    const { mtimeMs = Infinity } = fs.statSync(folder, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > (name.startsWith(".new-") ? 3600 * 1000 : MONTH))
      fs.rmSync(folder, { recursive: true, force: true });
  }
}

const folder = unpacked();
try {
  fs.utimesSync(folder, new Date(), new Date());
} catch {} // it is swept too early, and unpacked again
await import(pathToFileURL(path.join(folder, "dist", "zz.js")));
