// run_command: judged by what would really run, and run in a sandbox if there is one; also --judge,
// to test a policy. docs/how-it-is-built.md follows one call through the files of this folder.

import { createInterface } from "node:readline";
import type { Zz } from "zz";
import { familyOf } from "./command-family.ts";
import type { Decision } from "./decide-call.ts";
import { renderRow, type Shown, shownAsTyped } from "./render-result.ts";
import { sandboxService } from "./sandbox-service.ts";
import { defaults, describeLimits, settings, timeLimits } from "./shell-settings.ts";
import { offerKey, privateTmp, type ShellState } from "./shell-state.ts";

export { defaults, settings }; // for git to list what a repository's configuration would run

export default (zz: Zz<typeof defaults>) => {
  const shellState: ShellState = { zz, offers: new Map(), tmp: privateTmp(zz) };
  registerTool(shellState);

  zz.service("sandbox", sandboxService(zz));
  zz.layer({
    name: "sandbox",
    slot: "turn",
    text: ({ about }) =>
      zz.config.sandbox === "off" && about.tools.some(({ name }) => name === "run_command")
        ? "Off: commands can do whatever the person can."
        : undefined,
  });
  registerJudgeFlag(shellState);
};

function registerTool(shellState: ShellState): void {
  const { zz } = shellState;
  const decisions = new WeakMap<object, Decision>();
  zz.tool({
    name: "run_command",
    description:
      "Run a shell command in the project and get its output and exit code. " +
      "It has no input and no terminal. " +
      "In a sandbox it can write only in the project and has no network but the hosts named.",
    params: {
      command: "string what to run, as bash reads it",
      timeout_ms: `integer? ${describeLimits(zz.config)}`,
      hosts: "string[]? hosts that it has to reach",
      direct: "boolean? asked first, not on a copy: for .git, servers, files outside the project",
    },
    editable: "command",
    family: familyOf,
    get timeout() {
      return timeLimits(zz.config).maxMs + 10_000;
    },
    needs: async (args, ctx) => {
      const { decideCall } = await import("./decide-call.ts");
      const { needs, ...decision } = await decideCall(args, ctx, shellState);
      decisions.set(args, decision);
      return needs;
    },
    preview: async ({ command, hosts }, ctx) => {
      const [{ explainQuestion }, { sandboxName }, { describeSandbox, networkAccess }] =
        await Promise.all([
          import("./decide-call.ts"),
          import("./find-sandbox.ts"),
          import("./network-access.ts"),
        ]);
      const sandboxLine = describeSandbox(
        await sandboxName(zz.config, ctx),
        networkAccess(ctx, hosts),
      );
      const rerunOffer = shellState.offers.get(offerKey(command, hosts));
      const previewLines = [shownAsTyped(command), rerunOffer, sandboxLine].filter(Boolean);
      return `${previewLines.join("\n")}${await explainQuestion(zz.config, ctx)}`;
    },
    run: async (args, ctx) => {
      const { runCommand } = await import("./run-command.ts");
      return runCommand(args, ctx, shellState, decisions.get(args));
    },
    render: ({ data }) => renderRow(data as Shown),
  });
}

function registerJudgeFlag(shellState: ShellState): void {
  const { zz } = shellState;
  zz.flag({
    name: "judge",
    value: "COMMAND",
    group: "what tools may do",
    description:
      "say whether a command would run without a question, " +
      "and what would really run; - reads a JSON string per line",
    run: async (argument, ctx) => {
      const { explainVerdict, parseJsonString } = await import("./explain-verdict.ts");
      if (argument !== "-") return explainVerdict(String(argument), ctx, shellState);
      for await (const inputLine of createInterface({ input: zz.io.stdin }))
        if (inputLine.trim()) {
          const judgedCommand = parseJsonString(inputLine);
          const { data } = await explainVerdict(judgedCommand, ctx, shellState);
          zz.io.stdout.write(`${JSON.stringify(data)}\n`);
        }
      return { text: "" };
    },
  });
}
