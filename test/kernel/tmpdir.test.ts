// Where temporary files go, whatever TMPDIR says.
import { deepEqual, equal, match } from "node:assert/strict";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
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
