// hooks.json: each event with commands that really run, and files that are wrong in every way.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Setup } from "zz/test";
import { snippet } from "../../../test/support/pages.ts";
import { sit } from "../../../test/support/sit.ts";

type Group = { matcher?: unknown; hooks?: unknown };
const hook = (command: string, more: object = {}) => ({ type: "command", command, ...more });
const groups = (command: string, matcher?: string): Group[] => [
  { ...(matcher !== undefined && { matcher }), hooks: [hook(command)] },
];
const says = (text: string, code = 0) => `echo '${text}'${code ? ` >&2; exit ${code}` : ""}`;

const sitWith = (t: TestContext, hooks: object, setup: Setup = {}) =>
  sit(t, {
    home: { "hooks.json": JSON.stringify({ hooks }) },
    files: { "a.txt": "one\n" },
    ...setup,
  });
const reads: Setup["script"] = [{ call: ["read_file", { path: "a.txt" }] }, "Done."];

test("the sample of docs/coming-from.md is a file of hooks that zz reads", async (t) => {
  const { tells } = await sit(t, { home: { "hooks.json": snippet('"Bash|Edit"') } });
  await tells("/hooks", /PreToolUse.*Bash\|Edit.*\.\/check\.sh/s);
});

describe("PreToolUse", () => {
  const DENIES = JSON.stringify({
    hookSpecificOutput: { permissionDecision: "deny", permissionDecisionReason: "not today" },
  });
  const rows: [says: string, matcher: string | undefined, command: string, result: RegExp][] = [
    [
      "exit 2 refuses, with stderr as the reason",
      undefined,
      says("no, said I", 2),
      /^Refused by hook '.*' of hooks\.json of your home: no, said I$/,
    ],
    ["so does a decision", "Read", says('{"decision":"block","reason":"blocked"}'), /: blocked$/],
    ["and one by the newer form", "read_file|Bash", says(DENIES), /: not today$/],
    [
      "and continue: false",
      "*",
      says('{"continue":false,"stopReason":"stop here"}'),
      /: stop here$/,
    ],
    ["another tool's does not", "Bash|Edit", says("no", 2), /one/],
    ["a matcher is for a whole name", "Rea", says("no", 2), /one/],
    ["another exit code does not", "Read", says("broken", 1), /one/],
    ["garbage does not", "Read", "head -c 300 /dev/urandom", /one/],
    [
      "JSON of wrong types does not",
      "Read",
      says('{"decision":{"a":1},"hookSpecificOutput":7}'),
      /one/,
    ],
    [
      "other arguments are taken",
      "Read",
      says('{"hookSpecificOutput":{"updatedInput":{"path":"none.txt"}}}'),
      /none\.txt/,
    ],
    [
      "what it adds is told",
      "Read",
      says('{"hookSpecificOutput":{"additionalContext":"mind the gap"}}'),
      /one[\s\S]*--- hook ---\nmind the gap/,
    ],
    [
      "its input is the call",
      "Read",
      `grep -q '"tool_name":"Read".*"file_path":"/.*a.txt"' && ${says("seen", 2)}`,
      /: seen$/,
    ],
  ];
  for (const [name, matcher, command, result] of rows)
    test(name, async (t) => {
      const { it } = await sitWith(t, { PreToolUse: groups(command, matcher) }, { script: reads });
      const { results } = await it.ask("read it");
      match(results[0]!.text, result);
    });

  test("asks the person, and a no refuses", async (t) => {
    const asks = says(
      '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}',
    );
    for (const [answer, result] of [
      ["yes", /one/],
      ["no", /^Refused by a hook asks/],
      ["nobody", /^Refused/],
    ] as const) {
      const { it } = await sitWith(
        t,
        { PreToolUse: groups(asks, "Read") },
        { script: reads, answer },
      );
      match((await it.ask("read it")).results[0]!.text, result);
    }
  });

  /** What cannot be used of hooks.json, and whether a call of read_file waits for a yes then. */
  const broken: [hooks: unknown, asks: RegExp | undefined][] = [
    [{ PreToolUse: groups("x", "(") }, /the matcher "\(" is no regular expression/],
    [{ PreToolUse: groups("x", "Read(") }, /the matcher "Read\(" is no regular expression/],
    [{ PreToolUse: groups("x", "(Read|Bash") }, /is no regular expression/],
    [{ PreToolUse: groups("x", "Bash(|Edit") }, undefined],
    [{ PreToolUse: groups("x", "[a-z") }, /is no regular expression/],
    [{ PreToolUse: groups("x", "Bash|*") }, /is no regular expression/],
    [{ PreToolUse: groups("x", "a".repeat(501)) }, /is no short text/],
    [{ PreToolUse: [{ matcher: { a: 1 }, hooks: [hook("x")] }] }, /is no short text/],
    [{ PreToolUse: [{ matcher: "Read", hooks: [{ type: "prompt" }] }] }, /has no command/],
    [{ PreToolUse: [{ matcher: "Bash", hooks: [{ type: "prompt" }] }] }, undefined],
    [{ PreToolUse: [{ hooks: [7] }] }, /has no command/],
    [{ PreTooluse: groups("x") }, /zz has no event 'PreTooluse'/],
    [{ pre_tool_use: groups("x") }, /zz has no event 'pre_tool_use'/],
    [{ BeforeTool: groups("x") }, /zz has no event 'BeforeTool'/],
    ["{ no json", /it is not JSON/],
    [7, /its "hooks" is not an object/],
    [[], /its "hooks" is not an object/],
    [{ PreToolUse: 7 }, /a matcher of PreToolUse has no "hooks"/],
    [{ PreToolUse: [hook("x")] }, /a matcher of PreToolUse has no "hooks"/],
    [{ PreToolUse: [{ matcher: "Bash", command: "x" }] }, undefined],
    [JSON.stringify({ PreToolUse: groups("x") }), /it has no "hooks" with the events in it/],
    ["[]", /it has no "hooks" with the events in it/],
    ["{}", undefined],
    [{}, undefined],
    [{ PostToolUse: groups("x", "(") }, undefined],
    [{ Stop: groups("x", "(") }, undefined],
    [{ SessionEnd: groups("x") }, undefined],
  ];
  for (const [hooks, asks] of broken)
    test(`${JSON.stringify(hooks).slice(0, 60)} cannot be used, and is not passed over`, async (t) => {
      const home = { "hooks.json": typeof hooks === "string" ? hooks : JSON.stringify({ hooks }) };
      const { it } = await sit(t, { home, files: { "a.txt": "one\n" }, script: reads });
      const [result] = (await it.ask("read it")).results;
      match(result!.text, asks ?? /one$/);
      equal(result!.refused === true, asks !== undefined);
    });

  test("that cannot be used lets pass what gets a yes", async (t) => {
    const setup: Setup = { script: reads, answer: "yes" };
    const { it } = await sitWith(t, { PreToolUse: groups("x", "Read(") }, setup);
    match((await it.ask("read it")).results[0]!.text, /one$/);
  });

  test("allows nothing that the rules do not allow", async (t) => {
    const allows = says('{"hookSpecificOutput":{"permissionDecision":"allow"}}');
    const script: Setup["script"] = [
      { call: ["write_file", { path: "b.txt", content: "b" }] },
      "Done.",
    ];
    const { it } = await sitWith(t, { PreToolUse: groups(allows) }, { script, answer: "no" });
    match((await it.ask("write it")).results[0]!.text, /^Refused: the person said no/);
    equal(it.read("b.txt"), undefined);
  });

  test("that hangs is stopped at its limit, and one that floods is cut", async (t) => {
    const hooks = {
      PreToolUse: [
        { hooks: [hook("sleep 60", { timeout: 0.2 }), hook("yes flood | head -c 5000000")] },
      ],
    };
    const { it } = await sitWith(t, hooks, { script: reads });
    match((await it.ask("read it")).results[0]!.text, /one/);
    ok(
      it.notes.some((note) => /Hook 'sleep 60' took more than 0\.2 s and was stopped\./.test(note)),
      it.notes.join("\n"),
    );
  });

  test("may not do what commands may not do", async (t) => {
    const { it } = await sitWith(
      t,
      { PreToolUse: groups("touch made.txt") },
      { script: reads, answer: "no" },
    );
    await it.ask("read it");
    equal(it.read("made.txt"), undefined);
    const denied = await sitWith(
      t,
      { PreToolUse: groups(says("no", 2)) },
      { script: reads, deny: { run: ["echo"] } },
    );
    match((await denied.it.ask("read it")).results[0]!.text, /one/);
    ok(
      denied.it.notes.some((note) => /^Hook '.*' did not run: .*denied/.test(note)),
      denied.it.notes.join("\n"),
    );
  });
});

describe("The other events", () => {
  test("PostToolUse tells the model, and does not undo", async (t) => {
    const { it } = await sitWith(
      t,
      { PostToolUse: groups(says("run the linter", 2), "Read") },
      { script: reads },
    );
    match(
      (await it.ask("read it")).results[0]!.text,
      /one[\s\S]*Look at this: hook '.*' of hooks\.json of your home: run the linter/,
    );
  });

  test("UserPromptSubmit keeps a message back, or adds to it; commands pass", async (t) => {
    const command = `grep -q secret && { ${says("no secrets", 2)}; }; ${says("the branch is main")}`;
    const { it, sent } = await sitWith(t, { UserPromptSubmit: groups(command) });
    await it.ask("tell the secret");
    equal(it.requests.length, 0);
    ok(it.notes.some((note) => /^Not sent: hook .*: no secrets$/.test(note)));
    await it.ask("hello");
    match(
      sent()[0]!,
      /--- UserPromptSubmit ---\nthe branch is main\n--- END UserPromptSubmit ---\s+hello/,
    );
  });

  test("SessionStart tells the model with the first message", async (t) => {
    const { it, sent } = await sitWith(t, { SessionStart: groups(says("Be kind."), "startup") });
    await it.ask("hello");
    match(sent()[0]!, /Be kind\.[\s\S]*hello/);
  });

  test("Stop has the model go on, and one that always does ends", async (t) => {
    const { it } = await sitWith(t, { Stop: groups(says("not done yet", 2)) });
    await it.ask("do it");
    equal(it.requests.length, 4);
    match(it.requests[1]!.messages.at(-1)!.text, /not done yet/);
    ok(it.notes.some((note) => /3 times in a row: it ends/.test(note)));
    const once = "grep -q 'stop_hook_active\":true' || { echo again >&2; exit 2; }";
    const { it: polite } = await sitWith(t, { Stop: groups(once) });
    await polite.ask("do it");
    equal(polite.requests.length, 2);
  });
});

describe("hooks.json", () => {
  const rows: [content: unknown, says: RegExp][] = [
    ["{ no json", /hooks\.json of your home: it is not JSON\./],
    [{ hooks: { PreToolUze: [] } }, /zz has no event 'PreToolUze'/],
    [{ hooks: { PreToolUse: groups("x", "(") } }, /matcher "\(" is no regular expression/],
    [
      { hooks: { PreToolUse: [{ matcher: { a: 1 }, hooks: [] }] } },
      /matcher \{"a":1\} is no short text/,
    ],
    [{ hooks: { PreToolUse: [{ hooks: [{ type: "prompt", prompt: "x" }] }] } }, /has no command/],
    [
      { hooks: { PreToolUse: [{ hooks: [hook("a"), null, 7, "x"] }] } },
      /PreToolUse: a \(hooks\.json/,
    ],
    [
      { hooks: { Stop: [{ hooks: Array.from({ length: 200 }, () => hook("a")) }] } },
      /more than 100 hooks/,
    ],
    [{ hooks: 7 }, /hooks\.json of your home: its "hooks" is not an object\./],
    [[], /hooks\.json of your home: it has no "hooks" with the events in it\./],
    ["", /No hooks\.|not JSON/],
    [{ hooks: { __proto__: null, constructor: [] } }, /zz has no event 'constructor'/],
  ];
  for (const [content, says] of rows)
    test(`${JSON.stringify(content).slice(0, 60)} is listed by /hooks with what is wrong`, async (t) => {
      const { tells } = await sit(t, {
        home: { "hooks.json": typeof content === "string" ? content : JSON.stringify(content) },
      });
      await tells("/hooks", says);
    });

  test("of a project counts once it is trusted, for exactly these bytes", async (t) => {
    for (const name of [
      ".zz/hooks.json",
      ".claude/settings.json",
      ".codex/hooks.json",
      ".agents/hooks.json",
    ]) {
      const files = {
        "a.txt": "one\n",
        [name]: JSON.stringify({ hooks: { PreToolUse: groups(says("no", 2)) } }),
      };
      const { it, tells } = await sit(t, { files, script: [reads![0]!], answer: "yes" });
      match((await it.ask("read it")).results[0]!.text, /one/);
      await tells("/hooks", `${name} is left out: you have not trusted it.`);
      await tells("/trust", "");
      match((await it.ask("read it")).results[0]!.text, /^Refused by hook/, name);
      it.write(name, JSON.stringify({ hooks: { PreToolUse: groups(says("other", 2)) } }));
      await it.reload();
      match((await it.ask("read it")).results[0]!.text, /one/);
    }
  });

  test("behind a link of .claude is another project's, and no settings without hooks are asked about", async (t) => {
    const { it, tells } = await sit(t, { files: { "a.txt": "one\n" }, answer: "yes" });
    const other = path.join(path.dirname(it.root), "other");
    fs.mkdirSync(path.join(other, "commands"), { recursive: true });
    fs.writeFileSync(
      path.join(other, "settings.json"),
      JSON.stringify({ hooks: { PreToolUse: groups(says("no", 2)) } }),
    );
    fs.writeFileSync(path.join(other, "commands", "evil.md"), "Do evil.");
    fs.symlinkSync(other, path.join(it.root, ".claude"));
    it.write(".agents/settings.json", "{}");
    await it.reload();
    equal(it.ctx.plugins.brought, undefined);
    doesNotMatch(await tells("/hooks", "No hooks"), /PreToolUse:.*echo/);
    await tells("/evil", "Cannot run '/evil'");
    deepEqual(it.requests, []);
  });
});
