// A person's machine with secrets planted wherever tools keep them, and random command lines that
// try to read them: for test/all/security/leaks.test.ts. The lines are what a shell really runs:
// readers, places, detours to a place and ways out of the line.
import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import { dirname, join, relative } from "node:path";
import { put } from "./files.ts";
import { INIT, shell } from "./repository.ts";
import { random } from "./runs.ts";

const MARK = "q7Zk9V";
const words = (text: string): string[] => text.trim().split(/\s+/);

/** Credentials by tool, as they lie in a home. */
const AT_HOME = words(`
  .ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/a.key .aws/credentials .aws/sso/cache/t.json .azure/msal_token_cache.json .kube/config
  .docker/config.json .config/gh/hosts.yml .config/glab-cli/config.yml .config/hub .config/gcloud/credentials.db .config/rclone/rclone.conf
  .config/op/config .config/doctl/config.yaml .config/ngrok/ngrok.yml .config/stripe/config.toml .config/hcloud/cli.toml .config/netlify/config.json
  .config/github-copilot/apps.json .config/sops/age/keys.txt .config/Slack/Cookies .config/Signal/config.json .config/google-chrome/Default/Cookies
  .config/heroku/x .config/wandb/settings .config/turso/settings.json .config/a-tool-of-tomorrow/session .npmrc .yarnrc.yml .pypirc .netrc .pgpass
  .my.cnf .git-credentials .gitconfig.local .terraform.d/credentials.tfrc.json .cargo/credentials.toml .gem/credentials .m2/settings.xml
  .gradle/gradle.properties .sbt/1.0/credentials .ivy2/.credentials .nuget/NuGet/NuGet.Config .cloudflared/cert.pem .supabase/access-token
  .local/share/com.vercel.cli/auth.json .wrangler/config/default.toml .circleci/cli.yml .tsh/keys/a .dbt/profiles.yml .snowsql/config
  .fly/config.yml .railway/config.json .foundry/keystores/me .huggingface/token .cache/huggingface/token .claude/.credentials.json .codex/auth.json
  .gemini/oauth_creds.json .qwen/oauth_creds.json .local/share/opencode/auth.json .local/share/atuin/key .password-store/mail.gpg
  .local/share/keyrings/login.keyring .mozilla/firefox/a/logins.json .bash_history .python_history .psql_history .android/adbkey .vault-token
  letters/taxes.txt`);
const BESIDE_PATH = words(`
  work/other/.env work/other/src/main.ts work/notes.md go/src/private/main.go go/pkg/mod/private/lib.go .foundry/cache/x .railway/log
  .local/state/notes .local/opt/tool/settings.ini .cargo/registry/private/lib.rs`);
const IN_PROJECT = words(`
  .env .env.production config/.env.local .npmrc keys/server.pem secrets/db.txt gha-creds-1.json .dev.vars deploy_key infra/terraform.tfstate
  infra/prod.tfvars wp-config.php .aws/credentials service-account.json pkg/app/.yarnrc.yml pkg/app/id_rsa kubeconfig.yaml`);
const BINS = words("work/bin go/bin .railway/bin .foundry/bin .local/bin .cargo/bin");
const REPOSITORIES = words("nested deep/er/nested mirror.git store module tree");
const VARIABLES = words(`
  DB_PW MYPASS BEARER CREDS OTP MNEMONIC PIN SEED SALT DSN DATABASE_URL REDIS_URL AMQP_URL MONGO_URI SENTRY_DSN SLACK_HOOK WEBHOOK LICENSE SIGNING
  GH_PAT GITHUB_TOKEN GITLAB_TOKEN NPM_TOKEN NODE_AUTH_TOKEN AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_CLIENT_SECRET GOOGLE_CREDENTIALS
  CLOUDFLARE_API_TOKEN VERCEL_TOKEN NETLIFY_AUTH SUPABASE_SERVICE_ROLE NOTION_SECRET GRAFANA_SA DATABRICKS_PAT ATLASSIAN JIRA_LOGIN STRIPE_SK
  TWILIO_AUTH SENDGRID MAILGUN HF_TOKEN REPLICATE WANDB_API_KEY DOCKER_AUTH_CONFIG KUBE_TOKEN VAULT_TOKEN CONSUL_HTTP_TOKEN PGPASSWORD
  MYSQL_PWD FTP_LOGIN SSH_PASS GPG_PASSPHRASE ANSIBLE_VAULT`);

/** Every secret is another token: the mark, then a number. */
export const MARKED = new RegExp(`${MARK}(\\d{3})`, "g");
/** The mark within base64, which depends on how many bytes stand before it. */
const inBase64 = [0, 1, 2].map((before) =>
  Buffer.from(`${"x".repeat(before)}${MARK}`)
    .toString("base64")
    .slice(Math.ceil((before * 4) / 3), Math.floor(((before + MARK.length) * 4) / 3)),
);
const SHAPES = [MARK, [...MARK].reverse().join(""), Buffer.from(MARK).toString("hex"), ...inBase64];
/** What of the secrets a text holds, also turned around, as hex or base64, or cut up by blanks as
 * od does. */
export function leakIn(text: string): string | undefined {
  const flat = text.replace(/\s+/g, "");
  const shape = SHAPES.find((shape) => flat.includes(shape));
  if (!shape) return undefined;
  const at = flat.indexOf(shape);
  return flat.slice(Math.max(0, at - 60), at + 20);
}

export interface Machine {
  home: string;
  env: Record<string, string>; // what the person's shell has set
  secrets: number; // how many there are
  reached: string[]; // what programs that listen were sent
  furnish(root: string): Promise<void>; // makes the project
  lines(root: string, seed: number): () => string;
  close(): void;
}

export function openMachine(): Machine {
  // a sandbox has a /tmp of its own
  const base = fs.realpathSync(fs.mkdtempSync("/var/tmp/zz-leaks-"));
  const home = join(base, "me");
  const shared = fs.mkdtempSync("/tmp/zz-leaks-");
  let secrets = 0;
  const token = () => `${MARK}${String(secrets++).padStart(3, "0")}-tail`;
  for (const name of [...AT_HOME, ...BESIDE_PATH]) put(home, { [name]: `key = ${token()}\n` });
  for (const bin of BINS) {
    put(home, {
      [`${bin}/own-${bin.replaceAll(/\W/g, "")}`]: "#!/bin/sh\necho works\n",
      [`${bin}/.env`]: `K=${token()}\n`,
    });
    fs.chmodSync(join(home, bin, `own-${bin.replaceAll(/\W/g, "")}`), 0o755);
  }
  put(shared, { "of-another-program": token() });
  put(base, { "backup/all.sql": token() });
  const PATH = [...BINS.map((bin) => join(home, bin)), "/usr/bin", process.env.PATH].join(":");
  const env = { HOME: home, PATH, ...Object.fromEntries(VARIABLES.map((name) => [name, token()])) };
  const sockets = {
    path: join(base, "agent.sock"),
    tmp: join(shared, "agent.sock"),
    abstract: `\0zz-leaks-${process.pid}`,
    port: 0,
  };
  const [reached, servers]: [string[], net.Server[]] = [[], []];
  let other: ChildProcess | undefined;
  return {
    home,
    env,
    reached,
    lines: (root, seed) => linesFrom({ root, home, base, shared, sockets, other }, seed),
    get secrets() {
      return secrets;
    },
    async furnish(root) {
      for (const name of IN_PROJECT) put(root, { [name]: `PASSWORD=${token()}\n` });
      put(root, {
        "src/app.ts": "export const a = 1;\n",
        "README.md": "# shop\n",
        "package.json": "{}",
      });
      repositories(root, token);
      fs.symlinkSync(join(home, "work/other"), join(root, "way"));
      fs.linkSync(join(home, ".ssh/id_ed25519"), join(root, "notes.txt"));
      other = spawn("sleep", ["3000", token()], {
        stdio: "ignore",
        env: { ...process.env, ...env },
      });
      const [give, doors] = [token(), [sockets.path, sockets.tmp, sockets.abstract]];
      for (const at of [...doors, { host: "127.0.0.1", port: 0 }, join(root, "app.sock")])
        servers.push(await listening(at, give, reached));
      sockets.port = (servers[3]!.address() as net.AddressInfo).port;
    },
    close() {
      other?.kill();
      for (const server of servers) server.close();
      for (const folder of [base, shared]) fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A program that gives its secret to all that connect, and keeps what it is sent. */
function listening(
  at: string | net.ListenOptions,
  secret: string,
  reached: string[],
): Promise<net.Server> {
  const server = net.createServer((socket) => {
    reached.push("a connection");
    socket.on("error", () => {}).on("data", (sent) => reached.push(String(sent)));
    socket.end(`${secret}\n`);
  });
  return new Promise((resolve) => server.listen(at as net.ListenOptions, () => resolve(server)));
}

/** The project's own repository and others in it: what they once held, their stashes, and passwords
 * in their settings. */
function repositories(root: string, token: () => string): void {
  const git = "git -c user.name=n -c user.email=e -c protocol.file.allow=always";
  const make = (
    folder: string,
  ) => `mkdir -p ${folder}; (cd ${folder}; ${INIT}; echo 1 > a; git add a; ${git} commit -qm one; git rm -q --cached a
    echo K=${token()} > .env; git add -f .env; ${git} commit -qm two; git rm -q .env; ${git} commit -qm three
    echo ${token()} > a; git add a; ${git} stash -q; git remote add origin https://me:${token()}@example.com/x.git); `;
  shell(
    root,
    `${make(".")} git add src README.md package.json; ${git} commit -qm own; ${make("nested")} ${make("deep/er/nested")}
     git clone -q --mirror nested mirror.git; git clone -q --bare nested store; ${git} -C nested worktree add -q --detach ../tree
     ${git} submodule --quiet add "$PWD/nested" module 2>/dev/null || true; git reset -q --hard; rm -rf .gitmodules`,
  );
}

interface World {
  root: string;
  home: string;
  base: string;
  shared: string;
  sockets: { path: string; tmp: string; abstract: string; port: number };
  other: ChildProcess | undefined;
}

/** % stands for a file. */
const FILE_READERS = `
  cat % | head -c 400 % | tail -n 20 % | sed -n '1,20p' % | sed p % | grep -a '' % | grep -rah . % | awk 1 % | nl -ba % | tac % | sort % | base64 % | xxd % | od -c % | rev % |
  dd if=% bs=1 count=400 | cp % got; cat got | install -m 644 % got && cat got | ln % hard; cat hard | ln -s % soft; cat soft | tar cf - % 2>/dev/null \\| tar xOf - |
  tar chf t.tar %; tar xOf t.tar | gzip -c % \\| gunzip | diff % /dev/null | git diff --no-index /dev/null % | xargs -a % echo | while read -r l; do echo "$l"; done < % |
  mapfile -t a < %; echo "\${a[@]}" | exec 3< %; cat <&3 | cat /dev/fd/4 4< % | echo "$(<%)" | echo "$(cat %)" | eval "cat %" | sh -c 'cat %' | bash -c 'cat "$0"' % |
  cat < % | tee out < % | paste % % | fold -w 7 % | strings % | curl -s file://% | source % | . % | env -i cat % | xargs cat <<< % | echo % \\| xargs cat |
  python3 -c 'import sys; print(open(sys.argv[1]).read())' % | python3 -c 'import sys,base64; print(base64.b64encode(open(sys.argv[1],"rb").read()))' % |
  node -e 'console.log(require("fs").readFileSync(process.argv[1], "latin1"))' % | node --env-file=% -e 'console.log(process.env)' | perl -pe 1 % | perl -e 'print reverse <>' % |
  find % -maxdepth 0 -exec cat {} + | find % -type f -print0 \\| xargs -0 cat | jq -R . % | cmp -l % /dev/null | file -f % | git hash-object -w % | split -b 9 % part; cat part* | cat -- % | cat % % | wc -l %; cat %`;
const FOLDER_READERS = `
  grep -rIs . % | grep -RIs = % | rg --no-ignore --hidden . % | find % -type f -exec cat {} + | find -L % -type f -exec head -c 99 {} + | find % -type f \\| xargs cat | tar cf - % \\| tar xOf - |
  tar chf - % 2>/dev/null \\| strings | cp -r % got; grep -rIs . got | cp -rL % got; cat got/* | ls -LR %; cat %/* | cat %/* %/.* | cat %/*/* | for f in %/* %/.*; do cat "$f"; done |
  python3 -c 'import os,sys; [print(open(os.path.join(d,f),errors="replace").read()) for d,_,fs in os.walk(sys.argv[1]) for f in fs]' % |
  node -e 'const fs=require("fs");for(const f of fs.readdirSync(process.argv[1],{recursive:true}))try{console.log(fs.readFileSync(process.argv[1]+"/"+f,"latin1"))}catch{}' % |
  perl -MFile::Find -e 'find(sub{if(-f&&open my $h,$_){print <$h>}},@ARGV)' % | diff -r % /var/empty | diff -rN % nowhere | cd % && cat * .* | cd % && grep -rIs . . | ln -s % l; grep -rIs . l/ | git grep --no-index . -- % | zip -qr - % \\| strings`;
const GIT_READERS = `
  git -C % log -p --all | git --git-dir=% log -p --all | git --git-dir=%/.git log -p --all | git -C % stash show -p | git -C % config -l | git --git-dir=% config -l | (cd % && git log -p; git config -l) |
  git -C % show HEAD~1 | git -C % cat-file --batch-all-objects --batch | git clone -q % c; git -C c log -p; cat c/* c/.env | cat %/config %/.git/config %/packed-refs | git -C % reflog -p | git -C % remote -v |
  GIT_DIR=% git log -p | git -C % diff HEAD~2 | git -C % archive HEAD~1 \\| tar xOf - | git bundle create b %; strings b | git -C % ls-files -s; git -C % grep . HEAD~1 | cp -r % copy; git -C copy log -p --all; git -C copy config -l |
  git init -q n; git -C n fetch -q ../% '*:x' ; git -C n log -p x | git -c alias.x='!cat %/config' x | python3 -c 'import zlib,glob,sys; [print(zlib.decompress(open(f,"rb").read())) for f in glob.glob(sys.argv[1]+"/**/objects/??/*",recursive=True)]' %`;
const ENVIRONMENTS = `
  env | printenv | export -p | set | declare -p | compgen -v | xargs -n1 -I% printenv % | cat /proc/self/environ | cat /proc/$PPID/environ | cat /proc/*/environ | strings /proc/1/environ | tr '\\0' '\\n' < /proc/self/environ | ps auxwwe |
  cat /proc/*/cmdline | echo "$# $*" | python3 -c 'import os; print(dict(os.environ))' | node -p process.env | perl -e 'print %ENV' | bash -c env | bash -lc env | env -u PATH /usr/bin/env | awk 'BEGIN{for(k in ENVIRON)print k,ENVIRON[k]}' | jq -n env |
  cat /proc/OTHER/environ /proc/OTHER/cmdline | cat /proc/OTHER/root/etc/hostname; ls -l /proc/OTHER/fd; cat /proc/OTHER/fd/* | git var -l | sh -c 'echo $DB_PW$MYPASS$OTP' | echo \${!D*} $DB_PW $BEARER | find /proc -maxdepth 2 -name environ -exec cat {} +`;
const SOCKETS = `
  python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(99))' DOOR | python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("ABSTRACT"); print(s.recv(99))' |
  cat < /dev/tcp/127.0.0.1/PORT | exec 3<>/dev/tcp/localhost/PORT; cat <&3 | curl -s --max-time 3 --unix-socket DOOR http://x | curl -s --max-time 3 telnet://127.0.0.1:PORT < /dev/null |
  node -e 'require("net").connect(process.argv[1]).on("data",d=>console.log(String(d))).on("error",()=>{})' DOOR | node -e 'require("net").connect(PORT,"127.0.0.1").on("data",d=>console.log(String(d))).on("error",()=>{})' |
  perl -MIO::Socket::UNIX -e 'my $s=IO::Socket::UNIX->new(shift) or exit; print <$s>' DOOR | perl -MIO::Socket::INET -e 'my $s=IO::Socket::INET->new("127.0.0.1:PORT") or exit; print <$s>' | cd BASE && python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect("agent.sock"); print(s.recv(99))'`;
/** What happens to a line's output, or around it. */
const WAYS_OUT = `
  § | § | § | § 2>&1 | (§) | { §; } | ( § ) \\| base64 | ( § ) \\| rev | ( § ) \\| xxd -p | ( § ) \\| tee out.txt | ( § ) > out.txt 2>&1 | ( § ) > /tmp/out; cat /tmp/out | ( § ) \\| gzip -c \\| base64 -w0 \\| base64 -d \\| zcat |
  ( § ) & wait | true && ( § ) | false \\|\\| ( § ) | if true; then §; fi | for i in 1; do §; done | f() { §; }; f | x=$( § ); echo "$x" | printf '%s\\n' "$( § )" | echo \`( § )\` | cat <( § ) | ( § ) \\| xargs -0 echo | ( § ) 1>&2 | timeout 5 bash -c 'SH' |
  bash <<'ZZ_END'\n§\nZZ_END | cat > s.sh <<'ZZ_END'\n§\nZZ_END\nsh s.sh | cat > s.sh <<'ZZ_END'\n§\nZZ_END\nbash ./s.sh > src/new.txt | echo SH64 \\| base64 -d \\| bash | python3 -c 'import subprocess; print(subprocess.getoutput("""§"""))' | node -e 'console.log(require("child_process").execSync(\`bash -c "$(cat)"\`,{input:""}))' <<< 1; § |
  ( § ) \\| python3 -c 'import socket,sys; s=socket.create_connection(("127.0.0.1",PORT)); s.sendall(sys.stdin.buffer.read())' | ( § ) \\| python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect("DOOR"); s.sendall(sys.stdin.buffer.read())' |
  ( § ) > /dev/tcp/127.0.0.1/PORT | ( § ) \\| curl -s --max-time 3 -d @- http://127.0.0.1:PORT/ | mkdir -p d; cd d; cd ..; § | xargs -I{} sh -c 'SH' <<< 1 | find . -maxdepth 0 -exec bash -c 'SH' \\;`;

const alternatives = (text: string): string[] =>
  text
    .trim()
    .split(/(?<!\\)\s\|(?:\s|$)/)
    .map((one) => one.trim().replaceAll("\\|", "|"))
    .filter(Boolean);

/** Other spellings of a path that the same file has. */
function spellings({ root, home, base, shared }: World, at: string): string[] {
  const under = (folder: string) =>
    at.startsWith(`${folder}/`) ? relative(folder, at) : undefined;
  const [ofHome, ofRoot, ofBase] = [under(home), under(root), under(base)];
  const up = relative(root, at);
  const end = (other: string) => at.replace(/(.)$/, other);
  const last = ofHome && relative("work/other", ofHome);
  return [
    ...words(
      `${at} ${up} ./${up} src/../${up} "$PWD"/${up} /proc/self/root${at} /proc/1/root${at} /proc/self/cwd/${up} //${at}`,
    ),
    `$(echo ${at})`,
    `"$(printf %s '${at}')"`,
    end("[$1]"),
    end("$1*"),
    end("{$1,}"),
    ...(ofHome && !ofRoot
      ? words(
          `~/${ofHome} $HOME/${ofHome} "\${HOME}"/${ofHome} $HOME/./${ofHome} ~/.config/../${ofHome}`,
        )
      : []),
    ...(ofHome?.startsWith("work/other/")
      ? [`way/${last}`, `way/../../${ofHome}`, `way/../other/${last}`]
      : []),
    ...(ofBase && !ofHome ? [`$HOME/../${ofBase}`, `$HOME/work/../../${ofBase}`] : []),
    ...(under(shared)
      ? [`/var/tmp/../../tmp/${relative("/tmp", at)}`, `/tmp/zz-leaks-*/${under(shared)}`]
      : []),
  ];
}

type Six = [string[], string[], string[], string[], string[], string[]];
function linesFrom(world: World, seed: number): () => string {
  const { root, home, base, shared, sockets, other } = world;
  const next = random(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  const texts = [FILE_READERS, FOLDER_READERS, GIT_READERS, ENVIRONMENTS, SOCKETS, WAYS_OUT];
  const [ofFiles, ofFolders, ofGit, ofEnv, ofSockets, out] = texts.map(alternatives) as Six;
  const within = (folder: string, names: readonly string[]) =>
    names.map((name) => join(folder, name));
  const groups = [
    within(home, AT_HOME),
    within(home, [...BESIDE_PATH, ...BINS.map((bin) => `${bin}/.env`)]),
    within(root, [...IN_PROJECT, ".git/config", "notes.txt"]),
    [join(shared, "of-another-program"), join(base, "backup/all.sql")],
  ];
  const file = () => pick(pick([...groups.slice(0, 3), ...groups]));
  const spelt = (at: string) => pick(spellings(world, at));
  const gits = [...REPOSITORIES, ".git", "."];
  const KINDS: [share: number, make: () => string][] = [
    [40, () => pick(ofFiles).replaceAll("%", spelt(file()))],
    [20, () => pick(ofFolders).replaceAll("%", spelt(dirname(file())))],
    [16, () => pick(ofGit).replaceAll("%", pick(gits))],
    [14, () => pick(ofEnv).replaceAll("OTHER", String(other?.pid))],
    [10, () => pick(ofSockets)],
  ];
  const door = () =>
    pick([
      sockets.path,
      sockets.tmp,
      relative(root, sockets.path),
      "app.sock",
      join(root, "app.sock"),
    ]);
  return () => {
    let at = next() * 100;
    const [, make] = KINDS.find(([share]) => (at -= share) < 0)!;
    const inner = make();
    const quoted = inner.replaceAll("'", "'\\''");
    return pick(out)
      .replaceAll("SH64", () => Buffer.from(inner).toString("base64"))
      .replaceAll("SH", () => quoted)
      .replaceAll("§", () => inner)
      .replaceAll("BASE", () => base)
      .replaceAll("DOOR", door)
      .replaceAll("ABSTRACT", () => sockets.abstract.replace("\0", "\\0"))
      .replaceAll("PORT", () => String(sockets.port));
  };
}
