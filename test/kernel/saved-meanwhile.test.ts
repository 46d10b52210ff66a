// Another program saves a file while zz puts its own change in place: what it saved is in the file,
// whenever that happens and however it saves, and zz says so. Two zz in one project lose none of
// what each was told is written.
import { equal, match, ok } from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import type { Zz } from "../../kernel/contract.ts";
import { writeAllOrNone } from "../../kernel/system/atomic-write.ts";
import { type DiskState, FILE, stateOf } from "../../kernel/system/file-state.ts";
import { type Harness, harness } from "../../sdk/testing.ts";
import { place } from "../support/run.ts";
import { isAll, runs } from "../support/runs.ts";

const file = (text: string, mode = 0o644): DiskState => ({
  bytes: Buffer.from(text),
  mode: FILE | mode,
});
const OLD = file("old\n");
const PATCH = `*** Begin Patch
*** Update File: a.ts
@@
-export const one = 1;
+export const one = 11;
*** End Patch`;
/** A plugin's tool that reads a file and writes it. */
const append = (zz: Zz) =>
  zz.tool({
    name: "append",
    description: "Append a line.",
    params: { path: "string" },
    changes: true,
    needs: ({ path }) => ({ read: [path] }),
    async run({ path }, { files }) {
      const { text } = await files.read(path);
      await files.write(path, `${text}// mine\n`);
      return "done";
    },
  });
const NAMES = ["first", "second", "third", "made"];
const THEIRS = "what the person saved\n";
/** How editors save: into the file, as a new file that takes its place, or by moving the old one
 * away first. */
const EDITORS: Record<
  string,
  (at: string, save: typeof fs.writeFileSync, rename: typeof fs.renameSync) => void
> = {
  "in place": (at, save) => save(at, THEIRS),
  "as a new file": (at, save, rename) => {
    save(`${at}.new`, THEIRS);
    rename(`${at}.new`, at);
  },
  "with a backup": (at, save, rename) => {
    if (fs.existsSync(at)) rename(at, `${at}~`);
    save(at, THEIRS);
  },
};
const CALLS = [
  ...(["openSync", "writeFileSync", "fsyncSync", "linkSync", "lstatSync"] as const),
  ...(["closeSync", "readFileSync", "renameSync", "unlinkSync"] as const),
];

/** Puts all in place; before the call of that number the person saves the file. What was thrown, or
 * "" if nothing; undefined: no such call. */
function putWhile(root: string, name: string, editor: string, count: number): string | undefined {
  const real: Record<string, any> = Object.fromEntries(CALLS.map((call) => [call, fs[call]]));
  let [calls, isSaved] = [0, false];
  const at = join(root, name);
  for (const call of CALLS)
    (fs as any)[call] = (...given: any[]) => {
      const isLastStep =
        // no program can see between
        call === "renameSync" && String(given[1]).endsWith(`/${name}`) && editor !== "in place";
      if (!isSaved && !isLastStep && ++calls === count) {
        isSaved = true;
        for (const one of CALLS) (fs as any)[one] = real[one];
        EDITORS[editor]!(at, real.writeFileSync, real.renameSync);
        for (const one of CALLS) (fs as any)[one] = real[one];
      }
      return real[call](...given);
    };
  try {
    const from = (one: string) => (one === "made" ? undefined : OLD);
    const steps = NAMES.map((one) => ({
      file: join(root, one),
      from: from(one),
      to: file(`new ${one}\n`),
    }));
    writeAllOrNone(steps, () => {}, false);
    return isSaved ? "" : undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    for (const one of CALLS) (fs as any)[one] = real[one];
  }
}

describe("whoever saves a file while zz changes it", () => {
  for (const editor of Object.keys(EDITORS))
    for (const name of isAll ? ["first", "third", "made"] : ["third", "made"])
      test(`${editor}: '${name}' is as it was saved, and the others are all new or all old`, () => {
        for (let count = isAll ? 1 : 2; ; count += isAll ? 1 : 3) {
          const { cwd: root } = place();
          for (const one of NAMES.slice(0, 3)) fs.writeFileSync(join(root, one), "old\n");
          const said = putWhile(root, name, editor, count);
          if (said === undefined) {
            ok(count > 20, `${count}`);
            return;
          }
          equal(fs.readFileSync(join(root, name), "utf8"), THEIRS, `call ${count}: ${said}`);
          const isNew = said === "";
          for (const one of NAMES.filter((one) => one !== name)) {
            const stands =
              fs.existsSync(join(root, one)) && fs.readFileSync(join(root, one), "utf8");
            const before = one === "made" ? false : "old\n";
            equal(stands, isNew ? `new ${one}\n` : before, `${one}, call ${count}: ${said}`);
          }
          if (!isNew) match(said, /changed meanwhile\. Read it again\.$/);
          ok(!fs.readdirSync(root).some((one) => one.endsWith(".tmp")));
          fs.rmSync(dirname(root), { recursive: true });
        }
      });
});

describe("a file that is saved while it is opened", () => {
  const SAVES: Record<string, (at: string) => void> = {
    ...Object.fromEntries(
      Object.entries(EDITORS).map(([how, save]) => [
        how,
        (at) => save(at, fs.writeFileSync, fs.renameSync),
      ]),
    ),
    "by another zz, which keeps the old one until all is done": (at) => {
      fs.linkSync(at, `${at}.kept`);
      EDITORS["as a new file"]!(at, fs.writeFileSync, fs.renameSync);
    },
  };
  for (const [how, save] of Object.entries(SAVES))
    test(`${how}: reading it shows what it was or what was saved`, (t) => {
      const at = join(place().cwd, "a.txt");
      fs.writeFileSync(at, "old\n");
      const { openSync } = fs;
      t.after(() => Object.assign(fs, { openSync }));
      fs.openSync = (...given: Parameters<typeof openSync>) => {
        const fd = openSync(...given);
        fs.openSync = openSync;
        save(at);
        return fd;
      };
      match(stateOf(at)!.bytes.toString(), new RegExp(`^(old\n|${THEIRS})$`));
    });
});

describe("a file that is saved between the reading and the writing of one call", () => {
  const text = "export const one = 1;\n";
  const theirs = `${text}export const theirs = 2;\n`;
  const path = "a.ts";
  const read = (it: Harness) => it.call("read_file", { path });
  for (const [tool, args, begin] of [
    ["edit_file", { path, old_string: "one = 1", new_string: "one = 11" }],
    ["edit_file", { path, old_string: "one = 1", new_string: "one = 11" }, read],
    ["edit_lines", { path, start: 1, end: 1, content: "export const one = 11;" }],
    ["edit_lines", { path, start: 1, end: 1, content: "export const one = 11;" }, read],
    ["write_file", { path, content: "export const one = 11;\n" }, read],
    ...(isAll ? [["rename_symbol", { symbol: "one", to: "eleven" }] as [string, object]] : []),
    ["apply_patch", { patch: PATCH }],
    ["append", { path }],
  ] as [string, object, ((it: Harness) => unknown)?][])
    test(`${tool}${begin ? " of a file that the model read" : ""} loses nothing`, async (t) => {
      for (let count = begin ? 1 : 2, isSaved = true; isSaved; count++) {
        const it = await harness(
          { own: true, allow: { write: true }, files: { [path]: text }, plugins: [append] },
          t,
        );
        await begin?.(it);
        const at = join(it.root, path);
        const { openSync } = fs;
        let opened = 0;
        isSaved = false;
        fs.openSync = (...given: Parameters<typeof openSync>) => {
          if (String(given[0]) === at && ++opened === count) {
            isSaved = true;
            fs.writeFileSync(at, theirs);
          }
          return openSync(...given);
        };
        const result = await it.call(tool, args).finally(() => Object.assign(fs, { openSync }));
        const there = fs.readdirSync(it.root).map((name) => join(it.root, name));
        const all = there.map((file) =>
          file.endsWith(".ts") ? fs.readFileSync(file, "utf8") : "",
        );
        if (isSaved) match(all.join(""), /theirs/, `open ${count}: ${result.text}`);
        else equal(result.failed ?? false, false, result.text);
        if (count > 40) throw new Error("it opens the file for ever");
      }
    });
});

describe("several zz at once in one project", () => {
  for (const count of isAll ? [2, 4, 8] : [])
    test(`${count} of them lose none of what was acknowledged`, async (t) => {
      const { cwd: root } = place();
      const files = ["a.txt", "b.txt"];
      for (const name of files) fs.writeFileSync(join(root, name), "start\n");
      const each = runs(120, 120);
      const appender = join(import.meta.dirname, "../support/fake/appender.ts");
      const children = Array.from({ length: count }, (_, i) =>
        fork(appender, [root, `${i}`, `${each}`, ...files], { execArgv: [] }),
      );
      t.after(() => children.map((child) => child.kill("SIGKILL")));
      const told = children.map(async (child) => (await once(child, "message"))[0] as string[]);
      const acknowledged = (await Promise.all(told)).flat();
      const text = files.map((name) => fs.readFileSync(join(root, name), "utf8")).join("");
      equal(acknowledged.filter((line) => !text.includes(`${line}\n`)).join(), "");
      ok(acknowledged.length > each / 2, `${acknowledged.length}`);
    });
});
