// zz's own packages, treated as a stranger's plugins: checked, and installed into a home, where
// they replace zz's.
import { equal, match, ok } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { does, lockOf, withRegistry } from "../../../../test/support/install.ts";
import { place, ROOT, zzProcess } from "../../../../test/support/run.ts";

const NAMES = readdirSync(join(ROOT, "packages")).filter((name) => !name.startsWith("."));
const manifestOf = (name: string) =>
  JSON.parse(readFileSync(join(ROOT, "packages", name, "package.json"), "utf8"));

for (const name of NAMES)
  test(`--check-plugin packages/${name} finds nothing wrong, and loads it`, async () => {
    const { cwd, home } = place();
    const file = join(ROOT, "packages", name);
    const { code, stdout, stderr } = await zzProcess({ home, cwd, sessions: () => [] }, [
      "--check-plugin",
      file,
    ]);
    equal(stderr + stdout, `'${file}' has no type errors, and loads.\n`);
    equal(code, 0);
  });

describe("--install zz/NAME", () => {
  const npm = withRegistry();
  /** All that they need, empty: a package loads it on first use. */
  before(() => {
    for (const name of NAMES)
      for (const [needed, range] of Object.entries<string>({
        ...manifestOf(name).dependencies,
        ...manifestOf(name).optionalDependencies,
      }))
        npm.publish({ name: needed, version: range.replace(/^[~^]/, "") }, { "index.js": "" });
  });

  for (const name of NAMES)
    test(`brings ${name} with what it needs and without its tests, in the place of zz's`, async () => {
      const where = place();
      const { stderr } = await does(where, ["-A", "--install", `zz/${name}`]);
      match(stderr, /^┃ from +a package that zz brings$/m);
      match(stderr, new RegExp(`^┃ replaces +zz's own '${name}', until it is uninstalled$`, "m"));
      const folder = join(where.home, "plugins", name);
      ok(existsSync(join(folder, "README.md")) && !existsSync(join(folder, "test")));
      for (const needed of Object.keys(manifestOf(name).dependencies ?? {}))
        ok(existsSync(join(folder, "node_modules", needed)), needed);
      const { stdout } = await does(where, ["--plugins", "--json"]);
      const own = JSON.parse(stdout).filter((plugin: any) => plugin.name === name);
      equal(
        own.map(({ from, disabled }: any) => `${from}${disabled ? " off" : ""}`).join(),
        "zz off,home",
      );
      equal(lockOf(where)[name].spec, `zz/${name}`);
      await does(where, ["--uninstall", name]);
      ok(!existsSync(folder));
    });
});
