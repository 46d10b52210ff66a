// The environment of commands that nobody was asked about: what programs need, and nothing that
// somebody may keep secret.
import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { neededEnv } from "../../../plugins/shell/command-variables.ts";
import { withEnvironment } from "../../support/run.ts";
import { harness } from "../../support/script.ts";

const DROPPED: Record<string, string> = {
  ANYTHING: "else",
  PIN: "4711",
  NODE_OPTIONS: "--require /tmp/x.js",
  LD_PRELOAD: "/tmp/x.so",
  SSH_AUTH_SOCK: "/run/agent",
  KUBECONFIG: "/home/me/.kube/config",
  GITHUB_TOKEN: "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
  npm_config__authToken: "npm_x",
  http_proxy: "http://me:mine@proxy",
  GOROOT: "token-0123456789", // no place
  LC_TOKEN: "correct-horse", // as ssh passes on what begins so
  LC_TIME_OF_MINE: "battery",
  LC_CTYPE: "staple 2c9f", // no language
  LANGUAGE: "correct horse",
};
const KEPT = {
  HOME: "/home/me",
  PATH: "/usr/bin:/bin",
  LC_TIME: "de_DE",
  LC_ALL: "C.UTF-8",
  LANG: "sr_RS.UTF-8@latin",
  TMPDIR: "/tmp",
  GOPATH: "/home/me/go",
};

test("neededEnv() keeps what programs need and where toolchains lie, and nothing else that was not allowed by name", () => {
  const all = { ...DROPPED, ...KEPT };
  const [none, some] = [() => false, (name: string) => name in DROPPED].map((keeps) =>
    neededEnv(all, keeps),
  );
  deepEqual([none, some], [KEPT, all]);
});

describe("run_command", () => {
  const env = "sh -c 'env | sort'"; // on no list: it runs on a copy, where there is one
  const names = (text: string) =>
    text.split("\n").flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? []);

  for (const [command, asked] of [
    ["env", false],
    [env, false],
    [env, true],
  ] as const)
    test(`'${command}' ${asked ? "asked for gets what looks like no secret" : "unasked gets no other variable"}`, async (t) => {
      using _ = withEnvironment({ ZZ_TEST_PRIVATE: "correct horse", ZZ_TEST_PLAIN: "plain" });
      const settings = asked ? { shell: { effects: "before" } } : {};
      const zz = await harness({ own: true, answer: "yes", settings }, t);
      const { text, failed } = await zz.call("run_command", { command });
      equal(failed ?? false, false, text);
      match(text, /^HOME=/m);
      const own = names(text).filter((name) => name.startsWith("ZZ_TEST_"));
      // without a sandbox each is asked for
      deepEqual(own, zz.questions.length ? ["ZZ_TEST_PLAIN", "ZZ_TEST_PRIVATE"] : []);
    });
});
