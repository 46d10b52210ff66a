// A command that the person asked for or allowed sees of the home what is known to be needed, and
// what was allowed by name: no credentials of any tool.
import { deepEqual, equal, match } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { needs } from "../support/needs.ts";
import { put } from "../support/repository.ts";
import { withEnvironment } from "../support/run.ts";
import { harness } from "../support/script.ts";

const test = needs("bwrap");
const CANARY = "CANARY-91c2";
const HIDDEN = `.config/Bitwarden CLI/data.json § .cloudflared/cert.pem § .sbt/1.0/credentials
  .ivy2/.credentials § .local/share/com.vercel.cli/auth.json § .circleci/cli.yml
  .nuget/NuGet/NuGet.Config § .android/adbkey § .aws/credentials § .ssh/id_ed25519 § .npmrc
  .docker/config.json § .bash_history § letters/taxes.txt § .config/a-tool-that-nobody-knows/session
  work/other/.env § work/other/main.ts § .cargo/credentials.toml § go/pkg/mod/private/.env
  .cache/a/tool/.npmrc § .local/lib/python3/id_rsa § .cache/cliphist/db § .cache/mozilla/firefox/x
  .cache/thunderbird/inbox § .cache/google-chrome/Default/Cache/x § .cache/gh/x § .cache/evolution/mail
  .cache/JetBrains/log § .cache/zsh/history § .cache/git/credential/x § .cache/pip/.env
  .cache/huggingface/stored_tokens § .hex/hex.config § .platformio/appstate.json § .stack/config.yaml
  .config/git/config-of-work § apps/maven/conf/settings.xml`.split(/ § |\n */);
const SHOWN = [
  ".gitconfig",
  ...".cache/pip/wheel .cache/go-build/x .cache/ms-playwright/x .cache/huggingface/hub/x".split(
    " ",
  ),
  ...".hex/packages/x .platformio/packages/x .stack/programs/x apps/maven/lib/x".split(" "),
  ".cargo/registry/index",
  "go/pkg/mod/x.go",
  ".m2/repository/x.jar",
];

const home = fs.mkdtempSync("/var/tmp/zz-home-"); // a sandbox has a /tmp of its own
before(() => {
  for (const name of HIDDEN) put(home, { [name]: `${CANARY} ${name}\n` });
  for (const name of SHOWN) put(home, { [name]: `shown ${name}\n` });
  put(home, { "apps/maven/bin/m2.conf": "" });
  put(home, { ".nvm/versions/node/v24/bin/tool": "#!/bin/sh\necho shown tool\n" });
  fs.chmodSync(join(home, ".nvm/versions/node/v24/bin/tool"), 0o755);
});
after(() => fs.rmSync(home, { recursive: true }));

/** What a script prints that was allowed to run on the project itself. */
async function run(script: string, more: { read?: string[]; write?: string[] } = {}) {
  const allow = { run: true as const, ...more };
  const PATH = `${home}/.nvm/versions/node/v24/bin:${home}/apps/maven/bin:${process.env.PATH}`;
  using _ = withEnvironment({ HOME: home, PATH, TMPDIR: home }); // the project lies in the home
  await using zz = await harness({
    own: true,
    answer: "nobody",
    allow,
    files: { "look.sh": script },
  });
  const { text, data } = await zz.call("run_command", { command: "sh look.sh", direct: true });
  equal((data as { exit: number } | undefined)?.exit, 0, text);
  return text;
}

test("nothing else of the home is seen", async () => {
  const said = await run(
    `grep -rIs ${CANARY} "$HOME"\nfor f in ${HIDDEN.map((name) => `'${name}'`).join(" ")}; do cat "$HOME/$f"; done 2>/dev/null\ntrue`,
  );
  deepEqual(said.match(new RegExp(`.*${CANARY}.*`, "g")), null);
});

test("what is known to be needed is seen, and programs run", async () => {
  const said = await run(`cd "$HOME" && cat ${SHOWN.join(" ")}; tool`);
  deepEqual(said.match(/(?<=^shown ).*$/gm), [...SHOWN, "tool"]);
});

test("what the person allowed by name is seen, and can be written", async () => {
  const [letters, other] = [join(home, "letters"), join(home, "work/other")];
  const said = await run(
    `cat ${letters}/taxes.txt; cat ${other}/main.ts; echo new > ${other}/made; cat ${other}/.env 2>/dev/null; true`,
    { read: [letters], write: [other] },
  );
  match(said, /taxes\.txt[\s\S]*main\.ts/);
  equal(said.includes(".env"), false, said);
  equal(fs.readFileSync(join(other, "made"), "utf8"), "new\n");
});

test("what git's settings there keep secret is replaced, also where the project is no repository", async () => {
  const config = `[user]\n name = Ann\n[http "https://a.example"]\n extraHeader = Authorization: Basic Q0FOQVJZOjkxYzI=
[github]\n token = ${CANARY}-1\n[url "https://me:${CANARY}-2@git.example/"]\n insteadOf = https://git.example/
[sendemail]\n smtpPass = ${CANARY}-3\n[sendemail "work"]\n smtpPass = ${CANARY}-4\n[imap]\n pass = ${CANARY}-5
[credential]\n helper = "!f() { echo username=me; echo password=${CANARY}-6; }; f"\n`;
  put(home, { ".gitconfig": config });
  const said = await run('cat "$HOME/.gitconfig"; git config --global --list || true');
  put(home, { ".gitconfig": "shown .gitconfig\n" });
  match(said, /name = Ann/);
  deepEqual(said.match(new RegExp(`.*(${CANARY}|Q0FOQ).*`, "g")), null);
});

test("what lies there is not seen under another name in the project", async () => {
  using _ = withEnvironment({ HOME: home, TMPDIR: "/var/tmp" }); // hard links do not leave a disk
  await using zz = await harness({
    own: true,
    answer: "nobody",
    allow: { run: true },
    files: { "a.txt": "mine\n" },
  });
  const names = ".ssh/id_ed25519 .aws/credentials .docker/config.json .cloudflared/cert.pem".split(
    " ",
  );
  for (const [i, name] of names.entries()) fs.linkSync(join(home, name), join(zz.root, `${i}.txt`));
  fs.linkSync(join(zz.root, "a.txt"), join(zz.root, "b.txt"));
  for (const direct of [true, false]) {
    const { text } = await zz.call("run_command", { command: "cat *.txt; true", direct });
    equal(text.match(/^mine$/gm)?.length, 2, text);
    equal(text.includes(CANARY), false, text);
  }
});
