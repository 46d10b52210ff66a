// What a folder brings of its own that could run or steer zz: plugins, prompts and settings in its .zz/. It counts once
// the person has said yes to just these bytes; trust.json of the home holds what they said yes to.
import fs from "node:fs";
import path from "node:path";
import { byName, type Core, compare, entriesOf, fault, type Trust, textOf, tryTo } from "../zz.ts";
import { fileFault } from "./files.ts";
import { writePrivate } from "./store.ts";

/** By name, from .zz/ on, the hash of each file. */
type Hashes = Record<string, string>;
export interface Brought extends Trust {
  hashes: Hashes;
  stamps: Record<string, string>; // by name, when each file was looked at
}
type Where = { root: string; home: string };

const [MOST_FILES, MOST_BYTES] = [2_000, 20_000_000];
const fileOf = (home: string): string => path.join(home, "trust.json");
const kept = (home: string): Record<string, Hashes> => tryTo(() => JSON.parse(textOf(fileOf(home)))) ?? {};

/** Undefined where there is nothing, and in the home itself. What has the same size and time as before is not read again. */
export function broughtBy({ root, home }: Where, before?: Brought): Brought | undefined {
  const own = path.join(root, ".zz");
  if (!fs.existsSync(own) || tryTo(() => fs.realpathSync(own)) === tryTo(() => fs.realpathSync(home))) return undefined;
  const hashes: Hashes = {};
  const stamps: Brought["stamps"] = {};
  let bytes = 0;
  let wrong: string | undefined;
  for (const name of ["plugins", "prompts", "zz.config.json"])
    try {
      if (tryTo(() => fs.lstatSync(path.join(own, name)).isSymbolicLink()))
        throw fault(`.zz/${name} is a link, and what it leads to was not looked at. Put it there itself`);
      look(path.join(own, name));
    } catch (error) {
      wrong = (error as Error).message;
    }
  const files = Object.keys(hashes).sort(compare);
  if (!files.length && !wrong) return undefined;
  const yes = kept(home)[root];
  const changed = yes && files.filter((name) => yes[name] !== hashes[name]).concat(gone(yes));
  return {
    files,
    hashes,
    stamps,
    given: !wrong && changed?.length === 0,
    ...(changed && { changed }),
    ...(wrong && { wrong }),
  };

  function look(at: string): void {
    const stat = fs.lstatSync(at, { throwIfNoEntry: false });
    const name = nameIn(root, at);
    if (UNSEEN.test(name)) throw fault(`the name ${JSON.stringify(name)} holds characters that nobody sees`);
    if (stat?.isDirectory()) for (const entry of entriesOf(at).sort(compare)) look(path.join(at, entry));
    if (!stat?.isFile()) return; // a link leads to what is looked at, or out of .zz/, where nothing is loaded from
    bytes += stat.size;
    if (Object.keys(hashes).length >= MOST_FILES || bytes > MOST_BYTES)
      throw fault("there is too much in .zz/ to look at");
    stamps[name] = `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size} ${stat.ino}`;
    const known = before?.stamps[name] === stamps[name] ? before.hashes[name] : undefined;
    hashes[name] = known ?? hashOf(at);
  }
  function gone(before: Hashes): string[] {
    return Object.keys(before).filter((name) => !Object.hasOwn(hashes, name));
  }
}

const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
const hashOf = (file: string): string =>
  process.getBuiltinModule("node:crypto").hash("sha256", fs.readFileSync(file), "hex");

/** Whether a file of .zz/plugins, by its path from there, still is what was said yes to: it may be imported much later. */
export function trusts(core: Pick<Core, "brought">): (name: string, file: string) => boolean {
  let hashes: Hashes = {};
  return (name, file) => {
    if (core.brought?.given) hashes = core.brought.hashes;
    return hashes[`.zz/plugins/${name}`] === hashOf(file);
  };
}

/** Whether it was looked at, and said yes to: a link was not. */
export function isTrusted({ brought, options: { root } }: Pick<Core, "brought" | "options">, file: string): boolean {
  return brought?.given === true && brought.files.includes(nameIn(root, file));
}
const nameIn = (root: string, file: string): string => path.relative(root, file).replaceAll(path.sep, "/");

/** A yes holds for what was looked at, not for what may lie there by now. */
export function keepTrust({ root, home }: Where, hashes: Hashes | undefined): void {
  const { [root]: _, ...others } = kept(home);
  const all = Object.entries(hashes ? { ...others, [root]: hashes } : others).map(([name, value]) => ({ name, value }));
  const sorted = all.sort(byName).map(({ name, value }) => [name, value]);
  try {
    writePrivate(fileOf(home), JSON.stringify(Object.fromEntries(sorted), null, 2));
  } catch (error) {
    throw fileFault("keep your answer in", fileOf(home), error);
  }
}
