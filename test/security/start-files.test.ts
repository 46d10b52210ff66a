// What may run later, by itself: one list for commands on a copy, commands in the project, write
// tools and --allow-write. Wherever such a file lies, it is shown whole or refused.
import { equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe, test as plainTest } from "node:test";
import { runsByItself } from "../../kernel/gate/sensitive-paths.ts";
import { needs } from "../support/needs.ts";
import { shell } from "../support/repository.ts";
import { harness } from "../support/script.ts";
import { viewTest } from "../support/view.ts";

const FILES = `.husky/pre-commit .vscode/tasks.json .claude/settings.json .mcp.json .vimrc
  pkg/.envrc pkg/app/.zz/plugins/x.ts deep/er/.devcontainer/devcontainer.json
  pkg/.idea/runConfigurations/x.xml pkg/mise.toml a/.helix/config.toml .kiro/hooks/x.json
  .opencode/plugin/x.js a/opencode.json .qwen/settings.json .windsurf/mcp.json a/.crush.json .roo/mcp.json
  .kilocode/mcp.json .amazonq/cli-agents/x.json .factory/settings.json .continue/config.yaml
  .github/hooks/x.json .clinerules/hooks/x a/.aider.conf.yml lefthook.yml .lefthook/pre-commit/x
  .pre-commit-config.yaml .overcommit.yml .simple-git-hooks.json .git-hooks/pre-commit captainhook.json
  .irbrc .pryrc .Rprofile .ghci .pdbrc .iex.exs .octaverc x.code-workspace x.sublime-project
  .vs/tasks.vs.json .fleet/run.json .run/x.run.xml .zed/debug.json .envrc.local devbox.json .gitpod.yml
  .theia/tasks.json _vimrc`.split(/\s+/);
const test = needs("bwrap", "git");
const IGNORE = "*\n!.gitignore\n!x.sh\n";
const MARK = "echo planted";

const ORDINARY =
  `src/kiro/a.ts docs/opencode.md .github/workflows/x.yml .github/copilot-instructions.md
  .vscode/extensions.json a/.idea/misc.xml Cargo.toml pom.xml .editorconfig .prettierrc .clinerules/x.md
  run/x.run.xml AGENTS.md src/_vimrc.ts bazelrc.md hooks/useThing.ts .nvmrc .cargo/config.toml .bazelrc`.split(
    /\s+/,
  );

plainTest("what no program runs by itself is not on the list", () => {
  for (const file of ORDINARY) equal(runsByItself(join("/project", file)), false, file);
});

plainTest("all of them are on the list", () => {
  for (const file of [...FILES, "sub.git/config", ".git/hooks/pre-commit"])
    ok(runsByItself(join("/project", file)), file);
});

const script = (names: string[]) =>
  names
    .map((name) => `mkdir -p "$(dirname ${name})"; echo '${MARK}' > ${name}; chmod 755 ${name}`)
    .join("\n");

describe("git-ignored files that may run later", () => {
  viewTest("are shown whole when a command made them on a copy", async () => {
    await using zz = await harness({
      own: true,
      answer: "no",
      files: { ".gitignore": IGNORE, "x.sh": script(FILES) },
    });
    shell(zz.root, "git init -q; git add -A");
    await zz.call("run_command", { command: "sh x.sh" });
    const asked = zz.questions.join("\n");
    for (const name of FILES) ok(asked.includes(`create ${name} · `), `${name}\n${asked}`);
    equal(asked.match(new RegExp(`\\+ ${MARK}$`, "gm"))?.length, FILES.length);
    for (const name of FILES) ok(!fs.existsSync(join(zz.root, name)), name);
  });

  test("are not written under --allow-write", async () => {
    await using zz = await harness({ own: true, answer: "nobody", allow: { write: ["."] } });
    for (const path of FILES) {
      const { refused } = await zz.call("write_file", { path, content: MARK });
      equal(refused, true, path);
    }
  });
});

describe("a new repository under any name, whose settings git would obey", () => {
  const PARTS = {
    HEAD: "ref: refs/heads/main\n",
    config: '[core]\n\tfsmonitor = "echo planted"\n',
    "objects/x": "",
    "refs/x": "",
  };
  const names = Object.keys(PARTS) as (keyof typeof PARTS)[];
  const write = (name: string) => ["write_file", { path: `sub/${name}`, content: "x\n" }] as const;
  const asPatch = names.map((name) => `*** Add File: sub/${name}\n+x\n`).join("");
  const patch = ["apply_patch", { patch: `*** Begin Patch\n${asPatch}*** End Patch` }] as const;
  plainTest(
    "is not completed by write_file, in whichever order, by a name that is none of its parts, or by a patch",
    async () => {
      const inside = [...names.slice(0, 3), "refs/HEAD"];
      for (const calls of [
        names.map(write),
        names.toReversed().map(write),
        inside.map(write),
        [patch],
      ]) {
        await using zz = await harness({ own: true, answer: "nobody", allow: { write: true } });
        let refused = 0;
        for (const [tool, args] of calls)
          refused += Number((await zz.call(tool, args)).refused ?? 0);
        ok(refused > 0, calls.length.toString());
        const there = ["HEAD", "objects", "refs"].filter((name) =>
          fs.existsSync(join(zz.root, "sub", name)),
        );
        ok(there.length < 3, there.join());
      }
    },
  );

  viewTest("is left out of what a command made on a copy", async () => {
    const make = Object.entries(PARTS).map(
      ([name, text]) => `mkdir -p "$(dirname sub/${name})"; printf '%s' '${text}' > sub/${name}`,
    );
    await using zz = await harness({
      own: true,
      answer: "yes",
      files: { "x.sh": make.join("\n") },
    });
    shell(zz.root, "git init -q");
    const { text } = await zz.call("run_command", { command: "sh x.sh" });
    match(text, /'sub' was left out: git would obey it as a repository/);
    equal(fs.existsSync(join(zz.root, "sub")), false);
  });
});
