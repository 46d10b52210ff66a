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
import { checked, packageOf } from "./package.ts";
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

export async function fetchSpec(pluginSpec: Spec, fetching: Fetching): Promise<Fetched> {
  const { work, ctx, locked } = fetching;
  if (pluginSpec.kind === "npm") {
    const wanted = locked?.version ? `${pluginSpec.name}@${locked.version}` : pluginSpec.text;
    return {
      ...(await viaNpm(fetching, wanted, wanted)),
      source: `npm package ${pluginSpec.text}`,
    };
  }
  if (pluginSpec.kind === "git") return fromGit(fetching, pluginSpec);
  if (pluginSpec.kind === "path") assertAllowed(ctx, "read", pluginSpec.text);
  const sourcePath = pluginSpec.kind === "path" ? pluginSpec.text : exampleAt(pluginSpec.text);
  const sourceStats = fs.statSync(sourcePath, { throwIfNoEntry: false });
  if (!sourceStats) throw fault("nothing is there. Check the path");
  const source = pluginSpec.kind === "path" ? sourcePath : `${kindOf(sourcePath)} that zz brings`;
  const base = path.basename(sourcePath).replace(SOURCE_FILE, "").replace(ARCHIVE, "");
  if (sourceStats.isDirectory())
    return {
      ...(await fromFolder(fetching, fs.realpathSync(sourcePath), {
        base,
        shown: pluginSpec.text,
      })),
      source,
    };
  if (!sourceStats.isFile() || !(SOURCE_FILE.test(sourcePath) || ARCHIVE.test(sourcePath)))
    throw fault("a plugin is a .ts or .js file, a folder or a .tgz. Name one");
  counter()(sourceStats.size);
  const pluginPath = path.join(
    work,
    `source${ARCHIVE.test(sourcePath) ? ".tgz" : path.extname(sourcePath)}`,
  );
  fs.copyFileSync(sourcePath, pluginPath);
  if (!ARCHIVE.test(sourcePath)) return { pluginPath, base, source };
  const fetched = await viaNpm(fetching, `file:${path.basename(pluginPath)}`, pluginSpec.text);
  return { ...fetched, source, integrity: sumOf(fs.readFileSync(pluginPath), "sha512") };
}

function viaNpm({ work, ctx, locked }: Fetching, npmSpec: string, shownSpec: string) {
  assertAllowed(ctx, "run", `npm install ${shownSpec}`);
  return installPackage(npmSpec, work, ctx, locked?.packages);
}

async function fromGit(
  fetching: Fetching,
  { url, ref, text }: Spec & { kind: "git" },
): Promise<Fetched> {
  const { work, ctx, locked } = fetching;
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
    ...(await viaNpm(fetching, "file:source.tgz", text)),
    source: `git repository ${url}${ref && `, ${ref}`}`,
    commit,
  };
  return /^(http|git):/.test(url) ? { ...fetched, note: "It came without encryption." } : fetched;
}

async function fromFolder(
  fetching: Fetching,
  sourceFolder: string,
  { base, shown }: { base: string; shown: string },
): Promise<Omit<Fetched, "source">> {
  const { work } = fetching;
  const copiedFolder = path.join(work, "source");
  if (isInside(sourceFolder, work))
    throw fault("it holds zz's own home. Name the folder of the plugin alone");
  copyFolder(sourceFolder, copiedFolder);
  const declared = packageOf(path.join(copiedFolder, "package.json"));
  if (!declared) return { pluginPath: copiedFolder, base };
  checked(declared);
  const manifest = fs.readFileSync(path.join(copiedFolder, "package.json"));
  // npm wants both; and npm 10 runs scripts of folders even if it is told not to.
  const rewritten = { name: base.toLowerCase(), version: "0.0.0", ...declared, scripts: {} };
  fs.writeFileSync(path.join(copiedFolder, "package.json"), JSON.stringify(rewritten));
  const fetched = await viaNpm(fetching, "file:source", shown);
  fs.writeFileSync(path.join(fetched.pluginPath, "package.json"), manifest);
  return fetched;
}

/** Copies what belongs to a plugin. A link to a file inside counts as that file. */
function copyFolder(sourceFolder: string, targetFolder: string): void {
  const countFile = counter();
  const filter = (copiedPath: string): boolean => {
    if (
      copiedPath !== sourceFolder &&
      /^(node_modules|\.git|\.npmrc)$/.test(path.basename(copiedPath))
    )
      return false;
    const copiedStats = fs.lstatSync(copiedPath);
    const linkTarget = copiedStats.isSymbolicLink()
      ? (tryTo(() => fs.realpathSync(copiedPath)) ?? "nothing")
      : copiedPath;
    const shownName = plain(path.relative(sourceFolder, copiedPath));
    if (!isInside(sourceFolder, linkTarget))
      throw fault(`'${shownName}' is a link to '${plain(linkTarget)}', which leads out of it`);
    const targetStats = fs.statSync(linkTarget);
    if (linkTarget !== copiedPath && !targetStats.isFile())
      throw fault(`'${shownName}' is a link, but not to a file`);
    if (!targetStats.isFile() && !targetStats.isDirectory())
      throw fault(`'${shownName}' is neither a file nor a folder. Remove it`);
    countFile(copiedStats.size);
    return true;
  };
  fs.cpSync(sourceFolder, targetFolder, { recursive: true, dereference: true, filter });
}

const kindOf = (sourcePath: string): string =>
  path.basename(path.dirname(sourcePath)) === "packages" ? "a package" : "an example";

/** The examples and packages that come with zz, as zz/NAME, and their paths. */
export function examples(): Map<string, string> {
  const folders = ["plugins/examples", "packages"].map((folderName) =>
    path.join(PACKAGE_FOLDER, folderName),
  );
  const exampleFiles = folders.flatMap((exampleFolder) =>
    entriesOf(exampleFolder).map((entryName) => path.join(exampleFolder, entryName)),
  );
  const plugins = exampleFiles.filter(
    (exampleFile) => !/^[._]|\.test\.|\.d\.ts$|\.md$/.test(path.basename(exampleFile)),
  );
  return new Map(
    plugins.map((pluginFile) => [
      `zz/${path.basename(pluginFile).replace(SOURCE_FILE, "")}`,
      pluginFile,
    ]),
  );
}

function exampleAt(exampleName: string): string {
  const exampleFiles = examples();
  const exampleFile = exampleFiles.get(exampleName);
  if (exampleFile) return exampleFile;
  throw fault(
    `zz brings nothing of that name. There are: ${[...exampleFiles.keys()].join(", ") || "none"}`,
  );
}
