// A copy shows the programs on PATH and what they need, never what lies beside them: places where
// people keep programs, each with something next to it that nobody else may read. The project lies
// in the home or elsewhere, and HOME may name another.
import { deepEqual, equal } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { withEnvironment } from "../support/run.ts";
import { harness } from "../support/script.ts";
import { viewTest as test } from "../support/view.ts";

/** A folder of PATH in the home, what else its programs need, and what lies beside them. */
// biome-ignore format: one case a row.
const PLACES: [bin: string, needs: string[], secrets: string[]][] = [
  ["work/bin", [], ["work/other/.env", "work/other/main.ts", "work/bin/.env", "work/bin/notes.txt", "work/bin/sub/k"]],
  ["go/bin", [], ["go/src/private/main.go", "go/pkg/mod/private.example/lib.go"]],
  [".foundry/bin", [], [".foundry/keystores/me", ".foundry/cache/x"]],
  [".local/bin", [], [".local/share/keyrings/login.keyring", ".local/state/history"]],
  [".cargo/bin", [".rustup/toolchains/stable/bin/rustc"], [".cargo/credentials.toml", ".cargo/registry/private/x.rs"]],
  [".nvm/versions/node/v22/bin", [".nvm/versions/node/v22/lib/node_modules/npm/cli.js"], [".nvm/.env", ".nvm/versions/node/v22/lib/node_modules/mine/.env"]],
  [".volta/bin", [".volta/tools/image/node/bin/node"], [".volta/hooks.json", ".volta/log/x"]],
  [".pyenv/shims", [".pyenv/versions/3.13/lib/os.py", ".pyenv/libexec/pyenv"], [".pyenv/.git/config", ".pyenv/versions/3.13/.git-credentials"]],
  [".rbenv/shims", [".rbenv/versions/3.4/lib/set.rb"], [".rbenv/cache/x", ".rbenv/version.d/k"]],
  [".asdf/shims", [".asdf/installs/x/1/bin/x", ".asdf/lib/asdf.bash"], [".asdf/.git/config", ".asdf/downloads/x"]],
  [".sdkman/candidates/java/current/bin", [".sdkman/candidates/java/current/lib/modules"], [".sdkman/etc/config"]],
  [".deno/bin", [], [".deno/keys/mine", ".deno/registry/x.ts"]],
  [".dotnet/tools", [".dotnet/shared/x.dll", ".dotnet/host/y"], [".dotnet/corefx/cryptography/x509stores/my/k"]],
  [".local/share/pnpm", [".local/share/pnpm/global/5/x.js"], [".local/share/pnpm/rc", ".local/share/pnpm/store/x"]],
  [".composer/vendor/bin", [".composer/vendor/composer/installed.json"], [".composer/auth.json", ".composer/x"]],
  [".gem/ruby/3.4/bin", [".gem/ruby/3.4/gems/x/x.rb", ".gem/ruby/3.4/specifications/x"], [".gem/credentials"]],
  [".opam/5/bin", [".opam/5/lib/ocaml/x.ml"], [".opam/config", ".opam/5/.opam-switch/x"]],
  [".railway/bin", [], [".railway/config.json"]],
  [".bun/bin", [".bun/install/global/node_modules/x/index.js"], [".bun/install/cache/private/x.js", ".bun/.bunfig"]],
  ["apps/jdk/bin", ["apps/jdk/lib/jrt-fs.jar", "apps/jdk/lib/modules"], ["apps/jdk/notes/key", "apps/secret.txt"]],
  ["apps/maven/bin", ["apps/maven/bin/m2.conf", "apps/maven/boot/x", "apps/maven/conf/logging/x"], ["apps/maven/conf/settings.xml"]],
  ["code/venv/bin", ["code/venv/pyvenv.cfg", "code/venv/lib/x.py"], ["code/settings.py", "code/venv/lib/x/id_rsa"]],
  ["miniconda3/bin", ["miniconda3/conda-meta/history", "miniconda3/lib/x.py"], ["miniconda3/.condarc"]],
  ["projects/site/node_modules/.bin", ["projects/site/node_modules/x/index.js"], ["projects/site/src/app.ts"]],
];
const CANARY = "CANARY-7d1f";
const home = fs.mkdtempSync("/var/tmp/zz-person-"); // a sandbox has a /tmp of its own
const names = PLACES.map((_, i) => `tool-${i}`);
const PATH = [...PLACES.map(([bin]) => join(home, bin)), process.env.PATH].join(":");

before(() => {
  const put = (name: string, text: string, mode = 0o644) => {
    fs.mkdirSync(dirname(join(home, name)), { recursive: true });
    fs.writeFileSync(join(home, name), text, { mode });
  };
  for (const [i, [bin, needs, secrets]] of PLACES.entries()) {
    put(join(bin, names[i]!), `#!/bin/sh\necho ${names[i]} works\n`, 0o755);
    for (const need of needs) put(need, `needed by ${names[i]}\n`);
    for (const secret of secrets) put(secret, `${CANARY} ${secret}\n`);
  }
  fs.mkdirSync(join(home, ".local/opt"));
  put(".local/opt/lone", "#!/bin/sh\necho lone works\n", 0o755);
  put(".local/opt/beside", `${CANARY} beside lone\n`);
  fs.symlinkSync("../opt/lone", join(home, ".local/bin/lone"));
});
after(() => fs.rmSync(home, { recursive: true }));

/** Where the project lies, and which home the person's environment names. */
const AROUND: Record<string, Record<string, string>> = {
  "beside the home": {},
  "in the home": { TMPDIR: home },
  "under another HOME": { HOME: "/var/empty" },
};
const needs = PLACES.flatMap(([, files]) => files);
const secrets = PLACES.flatMap(([, , files]) => files);
const folders = new Set(["", ...PLACES.map(([bin]) => bin.split("/")[0]!)]);

/** Runs every program, reads what they need, and looks for all else: in its place, and through what
 * is shown. */
const SCRIPT = `cd ${home}
${[...names, "lone"].join("\n")}
cat ${needs.join(" ")}
cat ${secrets.join(" ")} .local/opt/beside 2>/dev/null
for f in ${[...folders].join(" ")}; do grep -rIs 'CANARY-7d[1]f' ${home}/$f; ls -RA ${home}/$f; done 2>/dev/null
true`;

for (const [where, env] of Object.entries(AROUND))
  test(`${where}: every program on PATH runs on a copy, and a copy shows nothing that lies beside them`, async () => {
    using _ = withEnvironment({ HOME: home, PATH, ...env });
    await using zz = await harness({ own: true, answer: "nobody", files: { "look.sh": SCRIPT } });
    const { data, text } = await zz.call("run_command", { command: "sh look.sh" });
    equal((data as { exit: number } | undefined)?.exit, 0, text);
    equal(
      text.match(/^\S+ works$/gm)?.join(),
      [...names, "lone"].map((name) => `${name} works`).join(),
    );
    equal(text.match(/^needed by /gm)?.length, needs.length);
    deepEqual(text.match(new RegExp(`.*${CANARY}.*`, "g")), null);
    for (const name of ["keystores", "private", "login.keyring", "settings.py", "other"])
      equal(text.includes(name), false, name);
  });
