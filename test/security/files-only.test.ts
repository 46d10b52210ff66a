// Commands that can only harm files of the project: on a copy they are judged by what they did, and
// undo brings it back. Where no copy can hold the line, the person is asked each time. "Never" is
// for what leaves the copy, or names what lies outside.
import { deepEqual, equal, match } from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { harness, type Setup } from "../../sdk/testing.ts";
import { INIT, shell } from "../support/repository.ts";
import { viewTest } from "../support/view.ts";

async function project(t: TestContext, setup: Setup) {
  const zz = await harness({ own: true, files: { "build/old": "1\n", a: "one\n" }, ...setup }, t);
  shell(zz.root, `${INIT}; git add a; git -c user.name=n -c user.email=e@x commit -q -m one`);
  const run = (command: string) => zz.call("run_command", { command });
  return { zz, run };
}
const EVERYTHING = { allow: { read: true, write: true, run: true, net: true, env: true } } as const;
const ONLY_FILES = [
  "rm -r build",
  "rm -rf build a",
  "chmod 755 a",
  "git clean -fdx",
  "rm -rf build && mkdir build",
];
const NO_COPY = [
  "git checkout -- . && rm -rf build",
  "chmod 777 a && git stash",
  "git add -A; rm -r build",
];
const ELSEWHERE = ["git push --force", "npm publish", "rm -rf ../other", "chmod 777 ~/.ssh"];
const LEAVE = ["sudo rm -r build", ...ELSEWHERE, "git reset --hard"];

describe("commands that only harm files", () => {
  viewTest("run on a copy where all edits may be done, and undo brings it back", async (t) => {
    const { zz, run } = await project(t, { allow: { write: true }, answer: "nobody" });
    for (const command of ONLY_FILES) {
      const { failed, text } = await run(command);
      deepEqual(
        [failed ?? false, /^\[changed: .*\(kept\)\]$/m.test(text)],
        [false, true],
        `${command}: ${text}`,
      );
      await zz.command("/undo");
      deepEqual([zz.read("build/old"), zz.read("a")], ["1\n", "one\n"], command);
    }
  });

  for (const sandbox of ["auto", "off"] as const)
    (sandbox === "off" ? test : viewTest)(
      `are asked for each time where no copy can hold them (sandbox: ${sandbox})`,
      async (t) => {
        const lines = sandbox === "off" ? ONLY_FILES : NO_COPY;
        const { zz, run } = await project(t, {
          ...EVERYTHING,
          settings: { shell: { sandbox } },
          answer: "no",
        });
        for (const command of lines) {
          match((await run(command)).text, /^Refused: the person said no to run access to/);
          match(
            zz.questions.join("\n"),
            /would run on the project itself, since no copy can hold the line/,
          );
          deepEqual(
            [zz.questions.filter((one) => /Allow\?/.test(one)).length, zz.read("build/old")],
            [1, "1\n"],
            command,
          );
          zz.questions.length = 0;
        }
      },
    );

  for (const sandbox of ["auto", "off"] as const)
    test(`what leaves the copy, or names what is outside, never runs (sandbox: ${sandbox})`, async (t) => {
      const { zz, run } = await project(t, {
        ...EVERYTHING,
        settings: { shell: { sandbox } },
        answer: "yes",
      });
      for (const command of LEAVE)
        match(
          (await run(command)).text,
          /^Refused: .* is denied: .* is on the deny list\.$/,
          command,
        );
      equal(zz.questions.length, 0);
    });
});
