// Fetches the plugin that a spec names into a folder of its own, where it can be read before
// anything of it is loaded. npm gets packages of the registry and archives; commits are made
// archives, files and folders are copied.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { entriesOf, fault, isInside, tryTo } from "zz/text";
import { counter, plain, sumOf } from "./files.ts";
import { archiveCommit } from "./git.ts";
import { assertAllowed, installPackage, type NpmLock } from "./npm.ts";
import { packageOf } from "./package.ts";
import type { LockEntry } from "./put-in-place.ts";
import { hostOf, pathOf, type Spec } from "./spec.ts";
import { PACKAGE_FOLDER } from "./try-loading.ts";

interface Fetched {
  pluginPath: string; // a file, or a folder
  base: string; // the plugin's name, unless its package.json has one
  source: string; // described in words
  integrity?: string | undefined; // of what came, as npm or an archive says
  commit?: string;
  lock?: NpmLock;
  note?: string;
}
interface Fetching {
  work: string;
  ctx: Ctx;
  locked: LockEntry | undefined; // what the lock file says of it, to get the same
}

const SOURCE_FILE = /\.[cm]?[jt]s$/;
const ARCHIVE = /\.(tgz|tar\.gz|tar)$/;

export async function fetchSpec(spec: Spec, by: Fetching): Promise<Fetched> {
  const { work, ctx, locked } = by;
  if (spec.kind === "npm") {
    const wanted = locked?.version ? `${spec.name}@${locked.version}` : spec.text;
    return { ...(await viaNpm(by, wanted, wanted)), source: `npm package ${spec.text}` };
  }
  if (spec.kind === "git") return fromGit(by, spec);
  if (spec.kind === "path") assertAllowed(ctx, "read", spec.text);
  const file = spec.kind === "path" ? spec.text : exampleAt(spec.text);
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) throw fault("nothing is there. Check the path");
  const source = spec.kind === "path" ? file : `${kindOf(file)} that zz brings`;
  const base = path.basename(file).replace(SOURCE_FILE, "").replace(ARCHIVE, "");
  if (stat.isDirectory())
    return { ...(await fromFolder(by, fs.realpathSync(file), { base, shown: spec.text })), source };
  if (!stat.isFile() || !(SOURCE_FILE.test(file) || ARCHIVE.test(file)))
    throw fault("a plugin is a .ts or .js file, a folder or a .tgz. Name one");
  counter()(stat.size);
  const pluginPath = path.join(work, `source${ARCHIVE.test(file) ? ".tgz" : path.extname(file)}`);
  fs.copyFileSync(file, pluginPath);
  if (!ARCHIVE.test(file)) return { pluginPath, base, source };
  const fetched = await viaNpm(by, `file:${path.basename(pluginPath)}`, spec.text);
  return { ...fetched, source, integrity: sumOf(fs.readFileSync(pluginPath), "sha512") };
}

function viaNpm({ work, ctx, locked }: Fetching, npmSpec: string, shown: string) {
  assertAllowed(ctx, "run", `npm install ${shown}`);
  return installPackage(npmSpec, work, ctx, locked?.packages);
}

async function fromGit(by: Fetching, { url, ref, text }: Spec & { kind: "git" }): Promise<Fetched> {
  const { work, ctx, locked } = by;
  assertAllowed(ctx, "run", `git fetch ${url}`);
  if (hostOf(url)) assertAllowed(ctx, "net", hostOf(url));
  else assertAllowed(ctx, "read", pathOf(url)!);
  const commit = await archiveCommit(
    url,
    locked?.commit ?? ref,
    { work, archive: "source.tgz" },
    ctx,
  );
  if (locked?.commit && commit !== locked.commit)
    throw fault(`commit ${locked.commit} is not in it any more. --update takes what there is now`);
  const fetched = {
    ...(await viaNpm(by, "file:source.tgz", text)),
    source: `git repository ${url}${ref && `, ${ref}`}`,
    commit,
  };
  return /^(http|git):/.test(url) ? { ...fetched, note: "It came without encryption." } : fetched;
}

async function fromFolder(
  by: Fetching,
  folder: string,
  { base, shown }: { base: string; shown: string },
): Promise<Omit<Fetched, "source">> {
  const { work } = by;
  const copied = path.join(work, "source");
  if (isInside(folder, work))
    throw fault("it holds zz's own home. Name the folder of the plugin alone");
  copyFolder(folder, copied);
  const declared = packageOf(path.join(copied, "package.json"));
  if (!declared) return { pluginPath: copied, base };
  const manifest = fs.readFileSync(path.join(copied, "package.json"));
  // npm wants both; and npm 10 runs scripts of folders even if it is told not to.
  const rewritten = { name: base.toLowerCase(), version: "0.0.0", ...declared, scripts: {} };
  fs.writeFileSync(path.join(copied, "package.json"), JSON.stringify(rewritten));
  const fetched = await viaNpm(by, "file:source", shown);
  fs.writeFileSync(path.join(fetched.pluginPath, "package.json"), manifest);
  return fetched;
}

/** Copies what belongs to a plugin. A link to a file inside counts as that file. */
function copyFolder(from: string, to: string): void {
  const count = counter();
  const filter = (copiedPath: string): boolean => {
    if (copiedPath !== from && /^(node_modules|\.git|\.npmrc)$/.test(path.basename(copiedPath)))
      return false;
    const stat = fs.lstatSync(copiedPath);
    const target = stat.isSymbolicLink()
      ? (tryTo(() => fs.realpathSync(copiedPath)) ?? "nothing")
      : copiedPath;
    const name = plain(path.relative(from, copiedPath));
    if (!isInside(from, target))
      throw fault(`'${name}' is a link to '${plain(target)}', which leads out of it`);
    const found = fs.statSync(target);
    if (target !== copiedPath && !found.isFile())
      throw fault(`'${name}' is a link, but not to a file`);
    if (!found.isFile() && !found.isDirectory())
      throw fault(`'${name}' is neither a file nor a folder. Remove it`);
    count(stat.size);
    return true;
  };
  fs.cpSync(from, to, { recursive: true, dereference: true, filter });
}

const kindOf = (file: string): string =>
  path.basename(path.dirname(file)) === "packages" ? "a package" : "an example";

/** The examples and packages that come with zz, as zz/NAME, and their paths. */
export function examples(): Map<string, string> {
  const folders = ["plugins/examples", "packages"].map((name) => path.join(PACKAGE_FOLDER, name));
  const files = folders.flatMap((folder) =>
    entriesOf(folder).map((name) => path.join(folder, name)),
  );
  const plugins = files.filter(
    (file) => !/^[._]|\.test\.|\.d\.ts$|\.md$/.test(path.basename(file)),
  );
  return new Map(
    plugins.map((file) => [`zz/${path.basename(file).replace(SOURCE_FILE, "")}`, file]),
  );
}

function exampleAt(name: string): string {
  const exampleFiles = examples();
  const file = exampleFiles.get(name);
  if (file) return file;
  throw fault(
    `zz brings nothing of that name. There are: ${[...exampleFiles.keys()].join(", ") || "none"}`,
  );
}
