// The environment of commands that nobody was asked about: what programs need, and nothing that somebody may keep secret.
import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { neededEnv } from "../../../plugins/shell/secrets.ts";
import { harness } from "../../support/script.ts";

// biome-ignore format: a table
const SECRETS: Record<string, string> = {
  ATLASSIAN: "ATATT3xFfGF0abcdefghijklmnop", SUPABASE: "sbp_0123456789abcdef0123456789abcdef01234567", NETLIFY: "nfp_abcdefghijklmnopqrstuv",
  NOTION: "ntn_1234567890abcdefghijklmnop", DATABRICKS: "dapi0123456789abcdef0123456789abcdef", GRAFANA: "glsa_abcdefghijklmnop_12345678",
  DATADOG: "0123456789abcdef0123456789abcdef", HEROKU: "6f1e3b2c-8a4d-4f6b-9c1d-2e3f4a5b6c7d", DB_PW: "hunter2", MYPASS: "correct horse",
  BEARER: "abc.def.ghi", CREDS: "me:mine", OTP: "123456", MNEMONIC: "abandon ability able about", PIN: "4711", SEED: "deadbeef",
  LOGIN: "me:mine", DSN: "https://abc@sentry.example/1", WEBHOOK: "https://hooks.example/T0/B0/x", CONN: "Server=db;Uid=me;Pwd=x",
  NODE_OPTIONS: "--require /tmp/x.js", LD_PRELOAD: "/tmp/x.so", PYTHONSTARTUP: "/tmp/x.py", PERL5OPT: "-Mx", RUBYOPT: "-rx",
  JAVA_TOOL_OPTIONS: "-javaagent:/tmp/x.jar", GIT_SSH_COMMAND: "ssh -i ~/.ssh/id", SSH_AUTH_SOCK: "/run/agent", SSH_ASKPASS: "/usr/bin/askpass",
  GITHUB_TOKEN: "ghp_0123456789abcdefghijklmnopqrstuvwxyz", OPENAI_API_KEY: "sk-0123456789abcdef0123", AWS_PROFILE: "prod",
  KUBECONFIG: "/home/me/.kube/config", GOOGLE_APPLICATION_CREDENTIALS: "/home/me/sa.json", DOCKER_HOST: "tcp://10.0.0.1:2375", PGPASSFILE: "/home/me/.pgpass",
  HISTFILE: "/home/me/.bash_history", DATABASE_URL: "postgres://me:mine@db/x", ANYTHING: "else", npm_config__authToken: "npm_x", http_proxy: "http://me:mine@proxy",
};
// biome-ignore format: a table
const NEEDED: Record<string, string> = {
  HOME: "/home/me", PATH: "/usr/bin:/bin", LANG: "C.UTF-8", LC_ALL: "C", LC_TIME: "de_DE", TERM: "xterm", SHELL: "/bin/bash", USER: "me", TZ: "UTC",
  TMPDIR: "/tmp", NVM_DIR: "/home/me/.nvm", VOLTA_HOME: "/home/me/.volta", PYENV_ROOT: "/home/me/.pyenv", RUSTUP_HOME: "/home/me/.rustup",
  CARGO_HOME: "/home/me/.cargo", GOPATH: "/home/me/go", SDKMAN_DIR: "/home/me/.sdkman", JAVA_HOME: "/usr/lib/jvm/x", VIRTUAL_ENV: "/home/me/venv",
};

describe("neededEnv()", () => {
  for (const [name, value] of Object.entries(SECRETS))
    test(`drops ${name}, unless it was allowed by name`, () => {
      deepEqual(
        neededEnv({ [name]: value }, () => false),
        {},
      );
      deepEqual(
        neededEnv({ [name]: value }, (one) => one === name),
        { [name]: value },
      );
    });
  for (const [name, value] of Object.entries(NEEDED))
    test(`keeps ${name}`, () =>
      deepEqual(
        neededEnv({ [name]: value }, () => false),
        { [name]: value },
      ));

  test("drops a toolchain's variable that holds no place", () =>
    deepEqual(
      neededEnv({ GOPATH: "token-0123456789" }, () => false),
      {},
    ));
});

describe("run_command", () => {
  const env = "sh -c 'env | sort'"; // on no list: it runs on a copy, where there is one
  const names = (text: string) => text.split("\n").flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? []);

  for (const [command, asked] of [
    ["env", false],
    [env, false],
    [env, true],
  ] as const)
    test(`'${command}' ${asked ? "asked for gets what looks like no secret" : "unasked gets no other variable"}`, async (t) => {
      const before = { ...process.env };
      t.after(() => {
        for (const name of ["ZZ_TEST_MYPASS", "ZZ_TEST_PLAIN"]) delete process.env[name];
        Object.assign(process.env, before);
      });
      Object.assign(process.env, { ZZ_TEST_MYPASS: "correct horse", ZZ_TEST_PLAIN: "plain" });
      const settings = asked ? { shell: { effects: "before" } } : {};
      const zz = await harness({ own: true, answer: "yes", settings }, t);
      const { text, failed } = await zz.call("run_command", { command });
      equal(failed ?? false, false, text);
      match(text, /^HOME=/m);
      const own = names(text).filter((name) => name.startsWith("ZZ_TEST_"));
      deepEqual(own, zz.questions.length ? ["ZZ_TEST_MYPASS", "ZZ_TEST_PLAIN"] : []); // without a sandbox each is asked for
    });
});
