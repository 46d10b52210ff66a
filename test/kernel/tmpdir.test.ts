// Where temporary files go, whatever TMPDIR says.
import { deepEqual, equal, match } from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { dropUnusableTmpdir } from "../../kernel/system/temporary-files.ts";
import { place, zzProcess } from "../support/run.ts";

describe("TMPDIR", () => {
  const { home, cwd } = place({ "tmp/": null, file: "" }, {}, { "my tmp/": null, "a\nb/": null });
  symlinkSync(join(cwd, "tmp"), join(home, "link"));
  mkdirSync(join(home, "shut"), 0o500);
  symlinkSync(join(home, "my tmp"), join(home, "fine"));
  symlinkSync("nowhere", join(home, "broken"));
  const file = join(cwd, "file");
  for (const [folder, why] of [
    ["/nonexistent", "nothing is there"],
    ["/nonexistent/x", "nothing is there"],
    [join(home, "broken"), "nothing is there"],
    [file, "it is not a folder"],
    [join(file, "x"), "nothing is there"],
    ["/dev/null", "it is not a folder"],
    ["tmp", "it is not an absolute path"],
    ["./tmp", "it is not an absolute path"],
    [" ", "it is not an absolute path"],
    [cwd, "it lies in the project"],
    [join(cwd, "tmp"), "it lies in the project"],
    [join(home, "link"), "it lies in the project"],
    ...(process.getuid?.() ? [[join(home, "shut"), "zz may not write there"] as const] : []),
    [join(home, "my tmp"), ""],
    [join(home, "a\nb"), ""],
    [join(home, "fine"), ""],
    ["/tmp", ""],
    ["", ""],
  ] as const)
    test(`${JSON.stringify(folder.replace(home, "HOME").replace(cwd, "PROJECT"))}: ${why || "used"}`, () => {
      const env: Record<string, string> = { TMPDIR: folder };
      const told = dropUnusableTmpdir(join(cwd, ""), env);
      equal(env.TMPDIR, why ? undefined : folder);
      if (!why) equal(told, "");
      else match(told, new RegExp(`^Cannot use TMPDIR '.*': ${why}\\. Temporary files go to '`));
    });

  test("the next variable counts then", () => {
    const env: Record<string, string> = { TMPDIR: "/none", TMP: "tmp", TEMP: "/tmp" };
    match(dropUnusableTmpdir(cwd, env), /TMPDIR '\/none'.*Cannot use TMP 'tmp'/);
    deepEqual(env, { TEMP: "/tmp" });
  });
});

test("a program is told in one line, makes no such folder, and changes files all the same", async () => {
  const where = place({ "a.txt": "a" });
  const missing = join(where.home, "none", "tmp");
  const args = ["-A", "--call", "write_file", '{"path":"w.txt","content":"x"}'];
  const { code, stderr } = await zzProcess(where, args, { env: { TMPDIR: missing } });
  match(
    stderr,
    /^Cannot use TMPDIR '.*none\/tmp': nothing is there\. Temporary files go to '\/tmp'\.\n/,
  );
  equal(code, 0, stderr);
  deepEqual(readdirSync(where.cwd).sort(), ["a.txt", "w.txt"]);
  equal(readdirSync(where.home).includes("none"), false);
});

describe("a TMPDIR that lies in the project that --cwd names is told, and nothing is made there", () => {
  const where = place({ "tmp/": null, "sub/tmp/": null }, {}, { "link/": null });
  symlinkSync(join(where.cwd, "tmp"), join(where.home, "tmp"));
  for (const [tmp, ...flags] of [
    ["tmp", "--cwd=PROJECT"],
    ["tmp", "--cwd", "PROJECT"],
    ["sub/tmp", "--cwd", "PROJECT/sub/.."],
    ["../home/tmp", "--cwd", "PROJECT"],
    ["sub/tmp", "--cwd", "PROJECT/sub"],
  ] as [string, ...string[]][])
    test(`${tmp} ${flags.join(" ")}`, async () => {
      const args = flags.map((flag) => flag.replace("PROJECT", where.cwd));
      const call = ["--call", "run_command", '{"command":"date > made"}'];
      const env = { TMPDIR: join(where.cwd, tmp), NODE_COMPILE_CACHE: undefined };
      const elsewhere = { ...where, cwd: where.home };
      const { stderr } = await zzProcess(elsewhere, [...args, ...call], { env });
      match(stderr, /^Cannot use TMPDIR '.*': it lies in the project\. Temporary files go to '/);
      deepEqual(
        [readdirSync(join(where.cwd, "tmp")), readdirSync(join(where.cwd, "sub/tmp"))],
        [[], []],
      );
    });
});

test("what V8 compiled is kept in a folder that nobody else can write, and never in the project", async () => {
  const where = place({ "tmp/": null }, {}, { "mine/": null, "shared/": null });
  const name = `zz-compiled-${process.getuid?.() ?? "all"}`;
  mkdirSync(join(where.home, "shared", name));
  chmodSync(join(where.home, "shared", name), 0o777);
  const kept = async (folder: string) => {
    const env = { TMPDIR: folder, NODE_COMPILE_CACHE: undefined };
    const { code, stderr } = await zzProcess(where, ["--version"], { env });
    equal(code, 0, stderr);
    const own = join(folder, name);
    return existsSync(own) ? readdirSync(own).length : -1;
  };
  equal(await kept(join(where.home, "mine")), 1);
  equal(await kept(join(where.home, "shared")), 0);
  equal(await kept(join(where.cwd, "tmp")), -1);
  deepEqual(readdirSync(join(where.cwd, "tmp")), []);
});
