// Plugins to install, and what is in a home before and after: for tests of --install, --update and
// --uninstall.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { after, before } from "node:test";
import { fakeRegistry } from "./fake/registry.ts";
import { type How, type Place, place, type Ran, zz } from "./run.ts";

export const show = (value: unknown) => JSON.stringify(value);
/** A plugin. Most tests name its file .js: Node loads what compiles TypeScript anew in each process
 * that tries a plugin. */
export const tool = (name: string, says: string, more = "") =>
  `${more}\nexport default (zz) => zz.tool({ name: "${name}", description: "D", run: () => ${show(says)} });\n`;
export const manifest = (name: string, more: object = {}) =>
  show({ name, version: "1.0.0", license: "MIT", type: "module", zz: "./plugin.js", ...more });

export async function does(where: Place, args: string[], how: How = {}): Promise<Ran> {
  const done = await zz(where, args, how);
  equal(done.code, 0, done.stderr);
  return done;
}
export async function refuses(where: Place, args: string[], why: RegExp, code = 1, how: How = {}) {
  const done = await zz(where, args, how);
  match(done.stderr, why);
  doesNotMatch(done.stderr, /^\s+at |node:internal/m);
  equal(done.code, code, done.stderr);
  return done;
}
/** What an installed tool says. */
export const says = async (where: Place, name: string, how: How = {}): Promise<string> =>
  (await zz(where, ["--call", name], how)).stdout.trim();

export const NOBODY = /there is no terminal to ask on/;

export const lockFile = (where: Place): string => join(where.home, "plugins.lock.json");
export const lockOf = (where: Place) => JSON.parse(readFileSync(lockFile(where), "utf8")).plugins;
/** All that stands in a home, with its bytes. */
export function all(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(
    files.sort().map((name) => [name, readFileSync(join(folder, name), "latin1")]),
  );
}
/** What an install puts aside while it runs. */
export const leftovers = (where: Place): string[] =>
  existsSync(join(where.home, "plugins"))
    ? readdirSync(join(where.home, "plugins")).filter((name) => name.startsWith("."))
    : [];

/** npm asks a registry on loopback, with a cache of its own, while the tests of this group run. */
export function withRegistry(): Awaited<ReturnType<typeof fakeRegistry>> {
  const npm = {} as Awaited<ReturnType<typeof fakeRegistry>>;
  const names = ["PATH", "npm_config_registry", "npm_config_cache"];
  const own = names.map((name) => [name, process.env[name]] as const);
  before(async () => {
    Object.assign(npm, await fakeRegistry());
    const { cwd } = place();
    // npm by the same Node, which keeps what it compiled
    symlinkSync(process.execPath, join(cwd, "node"));
    const PATH = `${cwd}${delimiter}${process.env.PATH}`;
    Object.assign(process.env, {
      PATH,
      npm_config_registry: npm.registry,
      npm_config_cache: join(cwd, "npm"),
    });
  });
  after(() => {
    for (const [name, value] of own)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    npm.close();
  });
  return npm;
}
