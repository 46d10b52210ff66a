// Other programs: found outside of the project alone, and started from one place.
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import childProcess from "node:child_process";
import fs from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { openChat } from "../../kernel/conversation/chat.ts";
import { createCtx } from "../../kernel/plugins/create-ctx.ts";
import { findProgram, programs, safePath } from "../../kernel/system/other-programs.ts";
import { createZz } from "../../zz.ts";
import { temporaryFolder } from "../support/files.ts";
import { needs } from "../support/needs.ts";
import { INIT, shell } from "../support/repository.ts";
import { type Place, place, ROOT } from "../support/run.ts";
import { waitFor } from "../support/wait.ts";

const NAMES =
  "rg git bash sh xclip pbcopy wl-copy xdg-open open stty bwrap mkfifo node npm setsid".split(" ");
const base = fs.realpathSync(temporaryFolder("zz-programs-"));

/** A folder of programs that leave a mark when they run. */
function plant(folder: string, mark: string, names = NAMES): string {
  fs.mkdirSync(folder, { recursive: true });
  for (const name of names) {
    fs.writeFileSync(
      join(folder, name),
      `#!/bin/sh\necho "$0 $*" >> '${mark}'\ncat >/dev/null 2>&1 </dev/null\nexit 1\n`,
    );
    fs.chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

function asHome(t: TestContext, folder: string): void {
  const before = process.env.HOME;
  process.env.HOME = folder;
  t.after(() => {
    if (before === undefined) delete process.env.HOME;
    else process.env.HOME = before;
  });
}

describe("programs are found", () => {
  const mark = join(base, "mark");
  const outer = join(base, "work");
  const root = join(outer, "mono", "packages", "app");
  fs.mkdirSync(root, { recursive: true });
  fs.writeFileSync(join(outer, "mono/package.json"), "{}");
  const put = (at: string) => plant(join(base, at), mark, ["rg", "own"]);
  put("work/mono/packages/app/node_modules/.bin");
  put("work/mono/packages/app/bin");
  put("work/mono/packages/app/.venv/bin");
  put("work/mono/packages/node_modules/.bin");
  put("work/mono/node_modules/.bin");
  put("work/mono/tools");
  put("work/node_modules/.bin");
  put("node_modules/.bin");
  put("cache/_npx/1/node_modules/.bin");
  plant(outer, mark, ["rg"]);
  plant(join(outer, "mono"), mark, ["rg"]);
  put("safe/bin");
  put("other/lib/node_modules/tool/bin");
  fs.mkdirSync(join(base, "links"));
  const link = (name: string, to: string) =>
    fs.symlinkSync(to, join(base, "links", name)) ?? join(base, "links", name);
  const linked = (name: string, to: string) => {
    fs.mkdirSync(join(base, "links", name));
    fs.symlinkSync(to, join(base, "links", name, "rg"));
    return join(base, "links", name);
  };
  const safe = join(base, "safe/bin");
  const ROWS: [what: string, folder: string, found: boolean][] = [
    ["a folder outside", safe, true],
    ["the project's packages", join(root, "node_modules/.bin"), false],
    ["those of the workspace", join(outer, "mono/node_modules/.bin"), false],
    ["a folder of the project", join(root, "bin"), false],
    ["a folder of the workspace around it", join(outer, "mono/tools"), false],
    ["a folder right above", outer, false],
    ["the root", "/", false],
    ["here", ".", false],
    ["a way out and in again", join(root, "../app/bin") + "/../bin", false],
    ["a link that leads into the project", link("folder", join(root, "bin")), false],
    ["a program that is a link into the project", linked("in", join(root, "bin/rg")), false],
    ["a program that is a link to a folder outside", linked("out", join(safe, "rg")), true],
    ["one that npm installed for all",
      linked("global", join(base, "other/lib/node_modules/tool/bin/rg")), true],
  ]; // biome-ignore format: a table
  for (const [what, folder, found] of ROWS)
    test(`${found ? "" : "not "}in ${what}`, (t) => {
      const expected = found ? join(folder, "rg") : undefined;
      const here = process.cwd();
      t.after(() => process.chdir(here));
      process.chdir(root);
      equal(findProgram("rg", root, folder), expected);
      equal(
        findProgram("rg", root, `${folder}:${safe}`),
        expected ?? join(safe, "rg"),
        "the first is passed over",
      );
      const kept = [folder, safe].slice(found || /links\/(in|above)$/.test(folder) ? 0 : 1);
      equal(safePath(root, `${folder}:${safe}`), kept.join(":"));
    });
  const packages = [root, outer].map((folder) => join(folder, "node_modules/.bin/rg"));
  for (const name of [
    "bin/rg",
    "./rg",
    "../app/bin/rg",
    join(root, "bin/rg"),
    ...packages,
    "",
    "rg\0",
    "~/rg",
  ])
    test(`not by the name ${JSON.stringify(name)}`, () =>
      equal(findProgram(name, root, `${root}/bin:${safe}`), undefined));
  test("by its whole path in packages that are not the project's", () => {
    const own = join(base, "cache/_npx/1/node_modules/.bin/rg");
    equal(findProgram(own, root), own);
  });
  for (const whole of ["/", homedir(), dirname(homedir()), "/usr"])
    test(`of the system, where the project is '${whole}'`, () => {
      ok(findProgram("sh", whole, "/usr/local/bin:/usr/bin:/bin")?.startsWith("/"));
      equal(findProgram("rg", whole, `${homedir()}/node_modules/.bin:${whole}`), undefined);
    });
  test("in a home, though it is a repository, for a project in it", (t) => {
    asHome(t, join(outer, "mono"));
    equal(findProgram("rg", root, join(outer, "mono/tools")), join(outer, "mono/tools/rg"));
  });
  test("and started with a PATH of the same folders", () => {
    const env = { PATH: `${root}/node_modules/.bin:.:${safe}:/usr/bin:/bin` };
    const { stdout } = programs(root).run("sh", ["-c", 'echo "$PATH"'], { env });
    equal(stdout.toString().trim(), `${safe}:/usr/bin:/bin`);
  });
  test("or an error says that there is none", async () => {
    let why: any;
    try {
      programs(root).start("own-and-only", []);
    } catch (error) {
      why = error;
    }
    equal(why?.code, "ENOENT");
    equal(
      why.message,
      "Cannot start 'own-and-only': it is not installed, or only where the project could have put it. Install it on this machine.",
    );
  });
  test("or an error says that more streams than may be open were needed", (t) => {
    t.mock.method(childProcess, "spawn", () => {
      throw Object.assign(new Error("spawn EINVAL"), { code: "EINVAL" });
    });
    throws(() => programs(root).start("sh", []), /'sh': too many files are open/);
  });
  test("and none of the planted ones ran meanwhile", () => equal(fs.existsSync(mark), false));
});

test("programs are started from one place: no other file loads what starts them", () => {
  const files = [
    "zz.ts",
    ...fs.globSync("{kernel,sdk,plugins,packages}/**/*.{ts,js,mjs}", { cwd: ROOT }),
  ].filter((file) => !file.includes("/test/"));
  ok(files.length > 100, "it looks at the sources");
  const module =
    "(node:)?(child_process|cluster|process_wrap|spawn_sync|.*node-pty|execa|cross-spawn)";
  const loads = new RegExp(
    `(\\bfrom |\\bimport[ (]+|(require|getBuiltinModule|inding)\\()["'\`]${module}["'\`]`,
  );
  // in the text of a program
  const inSandbox = /^ {2}const child = require\("node:child_process"\)\.spawn\(argv/;
  const found = files.filter((file) =>
    fs
      .readFileSync(join(ROOT, file), "utf8")
      .replace(/^import type [^;]*;$/gm, "")
      .split("\n")
      .some((line) => loads.test(line) && !inSandbox.test(line)),
  );
  deepEqual(found, ["kernel/system/other-programs.ts"]);
});

interface Planted extends Place {
  path: string;
  ran(): string;
}
/** A project whose packages, and those of each folder above, bring programs of well-known names;
 * PATH as npx makes it. */
function under(names: string[]): Planted {
  const where = place();
  const cwd = join(where.cwd, "work/app");
  const mark = join(where.cwd, "../ran");
  fs.mkdirSync(cwd, { recursive: true });
  fs.writeFileSync(join(cwd, "a.txt"), "needle\n");
  fs.writeFileSync(join(cwd, "a.pdf"), "%PDF");
  shell(
    cwd,
    `${INIT.replace("trunk", "main")}; git add a.txt; git -c user.name=A -c user.email=a@b commit -qm Begin`,
  );
  const above = [cwd, dirname(cwd), where.cwd, dirname(where.cwd)];
  const bins = above.map((folder) => plant(join(folder, "node_modules/.bin"), mark, names));
  const npx = plant(join(where.home, ".npm/_npx/0/node_modules/.bin"), mark, names);
  const path = [
    npx,
    ...bins,
    "/node_modules/.bin",
    ".",
    "",
    "node_modules/.bin",
    process.env.PATH,
  ].join(":");
  return {
    ...where,
    cwd,
    path,
    ran: () => (fs.existsSync(mark) ? fs.readFileSync(mark, "utf8") : ""),
  };
}
const CALLS: [tool: string, args: object, said: RegExp][] = [
  ["grep", { query: "needle" }, /a\.txt:1: needle/],
  ["glob", { pattern: "*.txt" }, /a\.txt/],
  ["git_status", {}, /## ma/],
  ["git_diff", {}, /No changes/],
  ["git_log", {}, /Begin/],
  ["run_command", { command: "echo hi" }, /hi\n\[exit code 0/],
  ["run_command", { command: "ls" }, /a\.txt[\s\S]*\[exit code 0/],
];

const REFUSED = ["git status", "rg needle", "bash -c ls", "timeout 5 git log"];

needs("git")(
  "No planted program runs without a sandbox, nor for /status, /copy and open_file",
  async () => {
    const where = under(NAMES);
    const tools = plant(join(where.home, "tools"), `${where.home}/own`, [
      "xclip",
      "xdg-open",
      "open",
    ]);
    const before = { ...process.env };
    const system = process.env.PATH!; // which may have an xdg-open, too
    const PATH = where.path.slice(0, -system.length) + [tools, system].join(":");
    Object.assign(process.env, { PATH, DISPLAY: ":9", TERM: "dumb" });
    delete process.env.WAYLAND_DISPLAY;
    try {
      const core = await createZz({
        root: where.cwd,
        home: where.home,
        save: false,
        allow: { run: true },
      });
      core.ask = async () => "y";
      const chat = openChat(core, "x/y");
      chat.messages.push({ role: "user", text: "q" }, {
        role: "assistant",
        text: "answer",
        model: "x/y",
      } as never);
      const ctx = createCtx(core, chat);
      const command = (name: string, rest = "") => core.commands.get(name)!.value.run(rest, ctx);
      await command("status");
      await Promise.resolve(command("copy")).catch(() => {});
      await ctx.call("open_file", { path: "a.pdf" });

      const settings = { shell: { sandbox: "off", effects: "before" } };
      const alone = await createZz({ root: where.cwd, home: where.home, save: false, settings });
      const { call } = createCtx(alone, openChat(alone, "x/y"));
      for (const [tool, args, said] of CALLS) match((await call(tool, args)).text, said, tool);
      for (const command of REFUSED)
        equal((await call("run_command", { command })).refused, true, command);
    } finally {
      for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
      Object.assign(process.env, before);
    }
    equal(where.ran(), "");
    // open_file does not wait for what it starts
    const own = () => fs.readFileSync(`${where.home}/own`, "utf8");
    await waitFor("the person's own programs", () => /a\.pdf\n/.test(own()), own);
    match(own(), /tools\/xclip -selection clipboard\n.*\/tools\/(xdg-)?open .*a\.pdf\n/);
  },
);
