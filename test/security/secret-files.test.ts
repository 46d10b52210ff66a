// Which files hold secrets, by the one list; and how far reading and writing go in a home, where no
// project is.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Kind, Verdict } from "../../kernel/contract.ts";
import { openChat } from "../../kernel/conversation/chat.ts";
import { credentials, holdsSecret } from "../../kernel/gate/secret-files.ts";
import type { Options } from "../../kernel/instance.ts";
import { createCtx } from "../../kernel/plugins/create-ctx.ts";
import { createZz } from "../../zz.ts";
import { place, withEnvironment, zz } from "../support/run.ts";
import { harness } from "../support/script.ts";
import { viewTest } from "../support/view.ts";

// ── by name ──

/** The rows: by name, copies of one, names that some disks take for one. */
const SECRET = `.aws/credentials § .docker/config.json § keys.json § env.json § node_modules/x/.env
  .env-prod § a/b/.Config/GH/hosts.yml § .git/modules/lib/config § .git/worktrees/w/config.worktree
  lib.git/config § .GIT/CONFIG § .env2 § .ENV.LOCAL § production-env § .envrc § .kube/config
  prod-kubeconfig.yaml § office.ovpn § wg0.conf § secret.json § db-credentials.json
  service-account-1.json § terraform.tfstate § client_secret_12.apps.json § prod.auto.tfvars
  wallet.dat § UTC--2020-01-01 § .mozilla/x/logins.json § .psql_history § id_ecdsa_sk § deploy_rsa
  user.keytab § login.keychain-db § Login Data § wp-config.php § .htpasswd § rclone.conf
  vault_pass.txt § sign.p8 § /proc/self/environ § deploy/secrets § /etc/shadow § /etc/sudoers.d/me
  secring.gpg § my-private-key.asc § Server.PEM § store.jks § .dev.vars § gha-creds-12ab.json
  .age-key.txt § .yarnrc.yml § .secrets/x § secrets/db.txt § env.prod § deploy_key
  prod-sa-key.json § NuGet.Config § conf/Secrets/in/pw § .age_key § staging-env § env-qa
  .env.local~ § .id_rsa.swp § #.env# § .#.env § .env.swp § .server.pem.swp § id_rsa.1 § server.pem.bak.2
  id_rsa copy
  .env. § .env  § .env::$DATA § server.pem:stream § a\\.env § \uff0eenv § .\u200cenv
  \u212aeys.json § HEAD:.env § lib:.env § prod.env § x/.docker/config.json § y/.kube/config
  .gnupg/z § .m2/settings.xml § passwords.txt § password.txt § db-passwd.txt § pass.txt § token.txt
  github-token.txt § api-key.txt § apikey.txt § openai_api_key.txt § .api_key § .apikey § .password § .passwd
  .pass § .creds § creds.txt § creds.json § aws-creds.txt § access_token § refresh_token § rootkey.csv
  accessKeys.csv § me_accessKeys.csv § recovery-codes.txt § github-recovery-codes.txt § backup_codes.txt
  seed-phrase.txt § htpasswd § pgpass.conf § .rediscli_auth § export.1pux § bitwarden_export_2026.json
  lastpass.csv § chrome-passwords.csv § storageState.json § playwright/.auth/user.json
  office.rdp § appsettings.secrets.json § maven/conf/settings-security.xml § .ovh.conf
  .hex/hex.config § .platformio/appstate.json § .vnc/passwd § .weechat/sec.conf § .purple/accounts.xml
  .near-credentials/x § .config/pypoetry/auth.toml § .mbsyncrc § .offlineimaprc § .snowflake/config.toml
  .mc/config.json § .saml2aws § .config/anthropic/x § .config/syncthing/config.xml § .jfrog/x
  /proc/self/task/1/environ § /proc/1/task/2/mem § /etc/apt/auth.conf § /etc/apt/auth.conf.d/x.conf
  /etc/NetworkManager/system-connections/x § /etc/wpa_supplicant/wpa_supplicant.conf § /etc/ppp/chap-secrets
  /etc/ppp/pap-secrets § /etc/ipsec.secrets § /etc/mysql/debian.cnf § /etc/exim4/passwd.client
  /etc/postfix/sasl_passwd § /etc/rancher/k3s/k3s.yaml § /etc/kubernetes/admin.conf § /run/credentials/x/y
  /etc/security/opasswd § /var/lib/cloud/instance/user-data.txt § /etc/wireguard/wg0.conf § /etc/boto.cfg
  /etc/cifs-credentials § /etc/gitlab/gitlab-secrets.json § /etc/openvpn/client/login.conf`.split(
  / § |\n */,
);
const ORDINARY = [
  "",
  ...`.env.example § .env.local.example § .env.example~ § example.env
  secrets.example.yml § key.pem.sample § credentials.json.dist § environment.ts § src/keys.ts
  vite-env.d.ts § .env.d.ts § credentials.py § public.pem § jwt.pub.pem § id_rsa.pub § cacert.pem
  fullchain.pem § debian-archive-keyring.gpg § docs/release.asc § server.crt § tokens.json
  package.json § .git/HEAD § .gitconfig § .bashrc § monkey.js § lib/rsa § crypto_rsa.c § history.ts
  .gemini/settings.json § a.envelope § .environ § src/secrets/a.ts § src/secrets/x.txt § secrets.md
  docker/config.json § tokens.txt § vocab/tokens.txt § pass.go § password.ts § src/token.rs § api-key.md
  passport.txt § compass.txt § bypass.json § hall-pass.md § passwords.test.ts § cookies.json § .flaskenv § locales/passwords.json
  token-count.txt § creds.go § recovery.txt § codes.txt § .passenger § . § .. § / § src/`.split(
    / § |\n */,
  ),
];

describe("holdsSecret()", () => {
  test("knows files by name, in any place, letters, copy and spelling", () =>
    deepEqual([...SECRET, ...ORDINARY].filter(holdsSecret), SECRET));

  test("holds for every place of the person's own credentials, and what lies there", () => {
    for (const at of credentials("/home/me").filter((one) => !/\.zz$|yarnrc|\.gemini$/.test(one)))
      ok(holdsSecret(at) || holdsSecret(`${at}/x`), at);
  });

  test("long names do not hang it", () => {
    for (const name of ["a", ".", ".env", "~", "#", "-", "_secret", ".bak", "x/", "\u200c"])
      holdsSecret(name.repeat(200_000 / name.length));
  });
});

// ── in a project ──

viewTest(
  "what the list names no command on a copy shows, and what it does not name every command does",
  async (t) => {
    const isHere = (name: string) => !/^\/|\.git\/|(^|\/)\.{0,2}$/i.test(name);
    const files = [...SECRET, ...ORDINARY].filter(isHere);
    const tree = Object.fromEntries(files.map((name, i) => [`${i}/${name}`, `canary of ${i}.\n`]));
    const zz = await harness({ own: true, answer: "nobody", files: tree }, t);
    const { text } = await zz.call("run_command", { command: "grep -rhs 'canary of' . || true" });
    const shown = files.filter((_, i) => text.includes(`canary of ${i}.`));
    deepEqual(shown, ORDINARY.filter(isHere));
  },
);

async function gateIn(root: string, rules: Pick<Options, "allow" | "deny"> = {}) {
  fs.mkdirSync(root, { recursive: true });
  const core = await createZz({
    root,
    home: join(dirname(root), "zz"),
    save: false,
    own: false,
    ...rules,
  });
  return createCtx(core, openChat(core, "x/y"));
}

test("A link to a secret asks, and so does a link that is called like one", async () => {
  const root = fs.realpathSync(place().cwd);
  fs.writeFileSync(join(root, ".env"), "K=1");
  fs.writeFileSync(join(root, "plain"), "K=1");
  fs.symlinkSync(".env", join(root, "notes"));
  fs.symlinkSync("plain", join(root, "server.pem"));
  const { permissions } = await gateIn(root);
  for (const name of ["notes", "server.pem", ".env"])
    equal(permissions.judge("read", name).verdict, "ask", name);
});

test("A folder of code that is called like a secret can be listed; one that holds credentials asks", async () => {
  const root = fs.realpathSync(place().cwd);
  for (const name of ["src/secrets", ".env", ".aws"])
    fs.mkdirSync(join(root, name), { recursive: true });
  const { permissions } = await gateIn(root);
  const verdicts = ["src/secrets", ".env", ".aws"].map(
    (name) => permissions.judge("read", name).verdict,
  );
  deepEqual(verdicts, ["allow", "allow", "ask"]);
});

// ── in a home ──

const base = fs.realpathSync(fs.mkdtempSync(join(os.tmpdir(), "zz-homes-")));
const me = join(base, "homes", "me");
for (const name of ["code/app/.git", ".ssh", ".config/nvim", ".local/bin", ".dotfiles", "notes"])
  fs.mkdirSync(join(me, name), { recursive: true });
for (const name of ["a.txt", "code/app/a.ts", "code/app/.bashrc", ".bashrc", ".ssh/config"])
  fs.writeFileSync(join(me, name), "x\n");
const { HOME } = process.env;
after(() => fs.rmSync(base, { recursive: true, force: true }));

const READ: Options["allow"] = { read: true };
const WRITE: Options["allow"] = { write: true };
const ALL: Options["allow"] = { read: true, write: true, run: true, net: true, env: true };
const OWN = ".bashrc .ssh/rc .config/git/config .config/autostart/x.desktop .local/bin/ls".split(
  " ",
);
const HOOKS =
  ".husky/pre-commit x.git/hooks/post-receive .GIT/hooks/x .g‌it/hooks/x .git./hooks/x".split(" ");
const [APP, HOMES] = [join(me, "code/app"), join(base, "homes")];

describe("in a home", () => {
  before(() => void (process.env.HOME = me));
  after(() => (HOME === undefined ? delete process.env.HOME : (process.env.HOME = HOME)));
  for (const [what, root, kind, name, verdict, allow] of [
    ["a project is read", APP, "read", "a.ts", "allow"],
    ["a home is not read", me, "read", "a.txt", "ask"],
    ["nor a project in it", me, "read", "code/app/a.ts", "ask"],
    ["its names can be listed", me, "read", "code", "allow"],
    ["not where credentials lie", me, "read", ".ssh", "ask"],
    ["a folder that holds homes is not read", HOMES, "read", "me/a.txt", "ask"],
    ["the disk is not read", "/", "read", "etc/hosts", "ask"],
    ["a dotfile in it", me, "read", ".bashrc", "ask", READ],
    ["a key in it, from elsewhere", APP, "read", join(me, ".ssh/id_rsa"), "ask", READ],
    ["a dotfile of the project", APP, "read", ".bashrc", "allow", READ],
    ["a dotfile by name", me, "read", ".bashrc", "allow", { read: [".bashrc"] }],
    ["a dotfile by ~", APP, "read", join(me, ".bashrc"), "allow", { read: ["~/.bashrc"] }],
    ["a dotfile by a list with the home", me, "read", ".bashrc", "ask", { read: ["."] }],
    ["a dotfile by a pattern", me, "read", ".bashrc", "ask", { read: [".bash*"] }],
    ["writing in a home", me, "write", "a.txt", "allow", WRITE],
    ...OWN.map((file) => [`writing ~/${file}`, me, "write", file, "ask", WRITE]),
    ["writing it from a project, with a list", APP, "write", join(me, ".bashrc"), "ask",
      { write: ["~"] }],
    ["writing it by the name of its folder", me, "write", ".ssh/authorized_keys", "ask",
      { write: [".ssh"] }],
    ["writing it by a pattern", me, "write", ".bashrc", "ask", { write: [".bash*"] }],
    ["writing it by its own name", me, "write", ".bashrc", "allow", { write: [".bashrc"] }],
    ["writing it with -A", me, "write", ".bashrc", "allow", ALL],
    ["writing that by its folder", me, "write", ".config/x/y", "allow", { write: [".config/x"] }],
    ["writing a dotfile of a project", APP, "write", ".bashrc", "allow", WRITE],
    ...HOOKS.map((at) => [
      `writing ${JSON.stringify(at)} of a project`,
      APP,
      "write",
      at,
      "ask",
      { write: ["."] },
    ]),
  ] as [string, string, Kind, string, Verdict, Options["allow"]?][]) // biome-ignore format: a table
    test(`${what}: ${verdict}`, async () => {
      const { permissions } = await gateIn(root, allow ? { allow } : {});
      equal(permissions.judge(kind, name).verdict, verdict);
    });

  describe("Started in a home", () => {
    const where = { ...place(), cwd: me };
    const start = async (tool: string, args: object, ...flags: string[]) => {
      using _ = withEnvironment({ HOME: me });
      return await zz(where, ["--call", tool, JSON.stringify(args), ...flags]);
    };

    test("zz says so once, lists names and reads nothing", async () => {
      const listed = await start("list_dir", {});
      match(listed.stdout, /a\.txt/);
      const told = listed.stderr.split("\n").filter((line) => line.includes("is a home directory"));
      equal(told.length, 1, listed.stderr);
      const { code, stderr } = await start("read_file", { path: "a.txt" });
      equal(code, 4);
      match(stderr, /requires read access to "a\.txt"; run again with --allow-read=a\.txt/);
    });

    test("a search shows no line of what was not allowed", async () => {
      equal(/:1: x/.test((await start("grep", { query: "x" })).stdout), false);
      match(
        (await start("grep", { query: "x", path: "a.txt" }, "--allow-read=a.txt")).stdout,
        /a\.txt:1: x/,
      );
    });

    test("none of the repositories in it is asked what its files are", async () => {
      const base = place().cwd;
      const [home, bin] = [join(base, "home"), join(base, "bin")];
      for (const folder of [
        join(home, "code", "one", ".git"),
        join(home, "code", "two", ".git"),
        bin,
      ])
        fs.mkdirSync(folder, { recursive: true });
      fs.writeFileSync(join(home, "code", "one", "a.ts"), "");
      fs.writeFileSync(join(bin, "git"), `#!/bin/sh\npwd >> '${join(base, "asked")}'\nexit 1\n`, {
        mode: 0o755,
      });
      const env = { HOME: home, PATH: `${bin}:${process.env.PATH}` };
      const { stdout } = await zz(
        { ...where, cwd: home },
        ["--call", "list_dir", '{"path":"code"}'],
        { env },
      );
      match(stdout, /one\/ \(1 file\)/);
      const asked = fs.existsSync(join(base, "asked"))
        ? fs.readFileSync(join(base, "asked"), "utf8")
        : "";
      equal(/\/code\//.test(asked), false, asked);
    });
  });
});
