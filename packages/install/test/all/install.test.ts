// --install, --update, --uninstall with real npm against a registry on loopback, with real git, and
// killed at every step.
import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { type Entries, tar, tgz } from "../../../../test/support/fake/registry.ts";
import { put } from "../../../../test/support/files.ts";
import {
  all,
  does,
  leftovers,
  lockFile,
  lockOf,
  manifest,
  NOBODY,
  refuses,
  says,
  tool,
  withRegistry,
} from "../../../../test/support/install.ts";
import { needs } from "../../../../test/support/needs.ts";
import { shell } from "../../../../test/support/repository.ts";
import { place, zzProcess } from "../../../../test/support/run.ts";

const WRONG = {
  "empty.tgz": "",
  "none.tgz": "no archive",
  "half.tgz": tgz({ "package.json": manifest("half"), "plugin.js": "1".repeat(9_000) }).subarray(
    0,
    -20,
  ),
  "needs/package.json": manifest("needs", { dependencies: { "none-such": "1" } }),
  "named/package.json": manifest("A B!"),
  "nameless/package.json": manifest("a", { name: 3 }),
  "three/package.json": manifest("three", { dependencies: { a: 3 } }),
  "aix/package.json": manifest("aix", { os: ["aix"] }),
};
const shows = (name: string) =>
  new RegExp(
    `^Cannot install '.*': npm's registry does not show ${name}\\. Check the name, and`,
    "m",
  );

describe("from npm", () => {
  const npm = withRegistry();
  /** npm keeps what it fetched by its checksum. */
  const forget = () => void (process.env.npm_config_cache = join(place().cwd, "npm"));

  const rain = (version: string) =>
    npm.publish(
      {
        name: "@sky/rain",
        version,
        license: "MIT",
        type: "module",
        keywords: ["zz-plugin"],
        main: "index.ts",
        dependencies: { drop: "^1.0.0" },
        peerDependencies: { zz: "*" },
      },
      {
        "index.ts": `import drop from "drop";\n${tool("rain", "x").replace('"x"', `drop + " ${version}"`)}`,
        "README.md": version,
      },
    );
  const drop = (version: string) =>
    npm.publish({ name: "drop", version }, { "index.js": `module.exports = "drop ${version}";` });
  before(() => {
    drop("1.0.0");
    rain("1.0.0");
  });

  test("a newer one when asked; exactly the old one, with its packages, from the lock file", async () => {
    const where = place();
    await does(where, ["-A", "--install", "@sky/rain"]);
    const lock = readFileSync(lockFile(where), "utf8");
    rain("1.1.0");
    drop("1.1.0");
    const other = place();
    put(other.home, { "plugins.lock.json": lock });
    match((await does(other, ["-A", "--install"])).stderr, /restore puts 'rain'/);
    equal(await says(other, "rain"), "drop 1.0.0 1.0.0");
    equal(readFileSync(lockFile(other), "utf8"), lock);
    match((await does(other, ["--install"])).stdout, /Everything is as it was installed: rain\./);

    const updated = await does(where, ["-A", "--update"]);
    match(updated.stdout, /^Installed 'rain' 1\.1\.0/);
    match(
      updated.stderr,
      /changes +1\.0\.0 → 1\.1\.0; ~ README\.md, ~ index\.ts, ~ package\.json\n/,
    );
    // Node keeps a package that it imported
    equal(await says(where, "rain", { way: "dist" }), "drop 1.1.0 1.1.0");
    match((await does(where, ["--update"])).stdout, /'rain' 1\.1\.0 is up to date/);
    await does(where, ["--uninstall", "rain"]);
    deepEqual(Object.keys(all(where.home)), ["plugins.lock.json"]);
  });

  test("other bytes under the same version are an error, whoever tells of them; an update that fails keeps the old", async () => {
    const where = place();
    const files = { "plugin.js": tool("snow", "1") };
    npm.publish({ name: "snow", version: "1.0.0", zz: "plugin.js" }, files);
    await does(where, ["-A", "--install", "snow"]);
    const lock = readFileSync(lockFile(where), "utf8");
    const inside = {
      "package/package.json": manifest("snow"),
      "package/plugin.js": tool("snow", "evil"),
    };
    const evil = gzipSync(tar(Object.entries(inside)));
    npm.swap("snow", "1.0.0", evil, false);
    forget();
    await refuses(place(), ["-A", "--install", "snow"], /EINTEGRITY|integrity differs/);
    npm.swap("snow", "1.0.0", evil, true);
    rmSync(join(where.home, "plugins", "snow"), { recursive: true });
    forget();
    const why =
      /Cannot restore 'snow': what npm package snow gives is not what was installed \(sha512-\S+ instead of sha512-/;
    await refuses(where, ["-A", "--install"], why);
    deepEqual(all(where.home), { "plugins.lock.json": lock });
    npm.publish({ name: "snow", version: "1.0.0", zz: "plugin.js" }, files);
    forget();
    await does(where, ["-A", "--install"]);
    npm.publish(
      { name: "snow", version: "2.0.0", zz: "plugin.js" },
      { "plugin.js": "throw new Error('broken')" },
    );
    forget();
    await refuses(where, ["-A", "--update"], /Cannot update 'snow': it does not load:.*broken/);
    equal(await says(where, "snow"), "1");
    equal(readFileSync(lockFile(where), "utf8"), lock);
  });

  for (const [what, words, why, code, registry] of [
    ["no such package", ["none-such"], shows("'none-such'")],
    ["no such package of a scope", ["@no/such"], shows("'@no/such'")],
    ["no such package that it needs", ["./needs"], shows("'none-such@1'")],
    ["no such version", ["drop@9"], /registry does not have 'drop@9'\. Check the version\./],
    ["no such tag", ["drop@late"], /registry does not have 'drop@late'\. Check the version\./],
    ["an empty archive", ["./empty.tgz"], /the archive is empty\. Get it once more\./],
    ["an archive that is none", ["./none.tgz"], /the archive is damaged\. Get it once more\./],
    ["a half archive", ["./half.tgz"], /the archive is damaged\. Get it once more\./],
    ["a name that is none", ["./named"], /npm takes no such name or version as 'A B!'\./],
    ["a name that is no text", ["./nameless"], /package\.json is wrong: "name" has to be text\./],
    ["a version that is no text", ["./three"], /wrong: "dependencies\.a" has to name versions, as/],
    ["another system", ["./aix"], /'aix@1\.0\.0' is not made for this system\./],
    ["no login", ["answers-401"], /the registry requires a login\. Use npm login first\./],
    ["no right", ["answers-403"], /the registry requires a login\. Use npm login first\./],
    ["a registry that has enough", ["answers-429"], /wants fewer requests\. Try again later\./],
    ["a registry that fails", ["answers-503"], /the registry has failed\. Try again later\./],
    ["no registry", ["answers-200"], /what answers is no registry of npm\. Check npm's/],
    ["no such host", ["drop"], /npm cannot reach its registry\./, 1, "http://zz.invalid"],
    ["no network", ["drop"], /npm cannot reach its registry\./, 1, "http://127.0.0.1:49"],
    [
      "a registry that is denied",
      ["a", "--deny-net=r.example"],
      /"r\.example" is denied/,
      4,
      "http://r.example/",
    ],
  ] as [string, string[], RegExp, number?, string?][])
    test(`refused: ${what}`, async () => {
      const where = place(WRONG);
      process.env.npm_config_registry = registry ?? npm.registry;
      await refuses(where, ["-A", "--install", ...words], why, code);
      deepEqual(all(where.home), {});
    });
});

needs("git")("from git: an update, and the very commit from the lock file", async () => {
  const { cwd } = place({ "package.json": manifest("hail"), "plugin.js": tool("hail", "1") });
  const commit = (script: string) =>
    shell(
      cwd,
      `${script}; git add -A; git -c user.name=n -c user.email=e@e commit -qm x; git rev-parse HEAD`,
    ).trim();
  const one = commit("git init -q -b main; git config uploadpack.allowAnySHA1InWant true");
  const where = place();
  await does(where, ["-A", "--install", `file://${cwd}`]);
  const lock = readFileSync(lockFile(where), "utf8");
  put(cwd, { "plugin.js": tool("hail", "2"), "more.ts": "" });
  const two = commit(":");
  notEqual(one, two);
  for (const [ref, commit] of [
    ["", two],
    [`#${one.slice(0, 8)}`, one],
  ]) {
    const { stderr } = await refuses(place(), ["--install", `git+file://${cwd}${ref}`], NOBODY, 4);
    match(stderr, new RegExp(`from +git repository .*, commit ${commit}\n.*integrity `, "s"), ref);
  }
  await refuses(
    where,
    ["-A", "--install", `file://${cwd}#none`],
    /has no branch, tag or commit 'none'/,
  );
  const { stderr } = await does(where, ["-A", "--update", "hail"]);
  const [from, to] = [one.slice(0, 10), two.slice(0, 10)];
  match(
    stderr,
    new RegExp(
      `changes +1\\.0\\.0 \\(${from}\\) → 1\\.0\\.0 \\(${to}\\); \\+ more\\.ts, ~ plugin\\.js`,
    ),
  );
  equal(await says(where, "hail"), "2");
  writeFileSync(lockFile(where), lock);
  await does(where, ["-A", "--install"]);
  equal(await says(where, "hail"), "1");
  equal(lockOf(where).hail.commit, one);
});

describe("from npm, what needs more than packages of a registry is refused before anything of it runs", () => {
  const npm = withRegistry();
  const evil = place().cwd;
  before(() => {
    // npm prepares a package from git with a second npm, which obeys the repository's .npmrc.
    const hail = manifest("hail", {
      scripts: { prepare: ":" },
      devDependencies: { x: "git+file:///x" },
    });
    put(evil, {
      "package.json": hail,
      "plugin.js": tool("hail", "1"),
      ".npmrc": `git=${evil}/git.sh`,
    });
    put(evil, { "git.sh": `#!/bin/sh\ntouch ${evil}/ran\n` });
    shell(
      evil,
      "chmod +x git.sh; git init -q -b main; git add -A; git -c user.name=n -c user.email=e@e commit -qm x",
    );
    put(evil, {
      "folder/package.json": manifest("x", { scripts: { prepare: `touch ${evil}/ran` } }),
    });
  });
  for (const [what, from, why] of [
    [
      "git",
      `git+file://${evil}`,
      /it needs a package from git, where npm would obey what stands in the repository/,
    ],
    ["the author's disk", `file:${evil}/folder`, /it needs .*on the author's own disk/],
  ] as const)
    needs("git")(`from ${what}`, async () => {
      const needy = { name: "needy", version: "1.0.0", zz: "a.js", dependencies: { x: from } };
      npm.publish(needy, { "a.js": tool("a", "1") });
      process.env.npm_config_cache = join(place().cwd, "npm");
      const where = place();
      await refuses(where, ["-A", "--install", "needy"], why);
      deepEqual([all(where.home), existsSync(join(evil, "ran"))], [{}, false]);
    });
  needs("git")(
    "but a plugin itself may come from there, and none of its scripts runs",
    async () => {
      await does(place(), ["-A", "--install", `git+file://${evil}`]);
      equal(existsSync(join(evil, "ran")), false);
    },
  );
});

for (const [what, files, content, why] of [
  ["300 MB in 3 MB", 1, bulk, /larger than 200 MB/],
  ["20,001 files", 20_000, () => "", /20,000 files/],
] as const)
  test(`refused: an archive of ${what}`, async () => {
    const more: Entries = Array.from({ length: files }, (_, i) => [`p/${i}`, content()]);
    const where = place({ "t.tgz": gzipSync(tar([["p/package.json", manifest("t")], ...more])) });
    await refuses(where, ["-A", "--install", "./t.tgz"], why);
    deepEqual([all(where.home), leftovers(where)], [{}, []]);
  });

/** Not all zeros: npm itself refuses what is packed a thousand times smaller. */
function bulk(): Buffer {
  const bytes = Buffer.alloc(300e6);
  for (let i = 0; i < bytes.length; i += 500) bytes[i] = Math.random() * 256;
  return bytes;
}

needs("git")(
  "no repository to log in to, none at all, no network, no git: a sentence each",
  async () => {
    const server = createServer((_, response) =>
      response.writeHead(401, { "www-authenticate": "Basic" }).end(),
    );
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    after(() => void server.close().closeAllConnections());
    const where = place();
    const closed = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
    await refuses(
      where,
      ["-A", "--install", closed],
      /it is private, or is not there: git was asked to log in/,
    );
    await refuses(
      where,
      ["-A", "--install", `file://${where.cwd}/none.git`],
      /git finds no repository there/,
    );
    await refuses(where, ["-A", "--install", "http://127.0.0.1:49/x.git"], /git cannot reach it/);
    await refuses(
      where,
      ["-A", "--install", "git@127.0.0.1:x.git"],
      /Cannot install 'git@127\.0\.0\.1:x\.git': /,
    );
    const how = { env: { PATH: "/nowhere" } };
    await refuses(where, ["-A", "--install", closed], /there is no git on the PATH/, 1, how);
    deepEqual(all(where.home), {});
  },
);

/**
 * Loaded before zz: kills it before its nth change of what is in HOME/plugins or of the lock file.
 */
const KILLER = `import fs from "node:fs";
let left = Number(process.env.KILLED_AT);
for (const name of ["renameSync", "rmSync", "writeFileSync", "mkdirSync", "copyFileSync", "chmodSync"]) {
  const change = fs[name];
  fs[name] = (...words) => {
    const isOurs = words.slice(0, 2).some((one) => /\\/home\\/plugins(\\/|\\.lock)/.test(String(one)));
    if (isOurs && process.argv.includes("--update") && !--left) process.kill(process.pid, "SIGKILL");
    return change(...words);
  };
}
`;

test("killed before any of its changes, an update leaves the old or the new, and the next run clears up", async () => {
  const folder = (version: string) => ({
    "w/package.json": manifest("w", { version }),
    "w/plugin.js": `import { says } from "./says.js";\n${tool("w", "x").replace('"x"', "says")}`,
    "w/says.js": `export const says = "${version}";`,
    "w/data/1": version,
  });
  const where = place({ ...folder("1.0.0"), "killer.mjs": KILLER });
  await does(where, ["-A", "--install", "./w"]);
  const seen = new Set<boolean>(); // whether a killed update was completed
  let step = 0;
  for (let isKilled = true; isKilled; ) {
    step++;
    put(where.cwd, folder(`${step + 1}.0.0`));
    const killer = `--import=${pathToFileURL(join(where.cwd, "killer.mjs"))}`;
    const env = { NODE_OPTIONS: killer, KILLED_AT: String(step) };
    const { code } = await zzProcess(where, ["-A", "--update"], { env });
    isKilled = code === null;
    // any run that installs clears up
    await refuses(where, ["--uninstall", "none"], /it was not installed by zz/, 2);
    const { version } = lockOf(where).w;
    equal(await says(where, "w", { way: "dist" }), version);
    equal(readFileSync(join(where.home, "plugins/w/data/1"), "utf8"), version);
    deepEqual(leftovers(where), []);
    if (isKilled) seen.add(version === `${step + 1}.0.0`);
  }
  ok(step > 5, `${step} changes`);
  deepEqual([...seen].sort(), [false, true]);
});
