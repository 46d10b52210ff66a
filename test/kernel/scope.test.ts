// project.scope: what counts as the project where zz is started in a part of a repository.
import { deepEqual, equal, match } from "node:assert/strict";
import fs from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { whyNotProject } from "../../kernel/gate/sensitive-paths.ts";
import { type Place, place, zz } from "../support/run.ts";

const REPOSITORY = { project: { scope: "repository" } };
const FILES = {
  ".git/HEAD": "ref: refs/heads/main\n",
  "packages/a/a.txt": "of a\n",
  "packages/b/b.txt": "of b\n",
  "packages/a/.zz/zz.config.json": REPOSITORY,
};
const read = (where: Place, folder: string, path: string, ...flags: string[]) =>
  zz({ ...where, cwd: join(where.cwd, folder) }, [
    ...flags,
    "--call",
    "read_file",
    `{"path":"${path}"}`,
  ]);

describe("In a part of a repository", () => {
  // biome-ignore format: a table
  for (const [what, settings, folder, path, flags, code] of [
    ["the folder alone is the project", {}, "packages/a", "../b/b.txt", [], 4],
    ["with project.scope repository all of it is", REPOSITORY, "packages/a", "packages/b/b.txt", [], 0],
    ["paths are then those of the repository", REPOSITORY, "packages/a", "a.txt", [], 1],
    ["a folder that --cwd names is meant as it is", REPOSITORY, "packages", "packages/b/b.txt", ["--cwd", "a"], 1],
    ["project.scope folder changes nothing", { project: { scope: "folder" } }, "packages/a", "a.txt", [], 0],
  ] as [string, object, string, string, string[], number][])
    test(what, async () => {
      const ran = await read(place(FILES, settings), folder, path, ...flags);
      equal(ran.code, code, ran.stderr);
      if (!code) match(ran.stdout, /of [ab]/);
    });

  test("the model is told where the person is, /status offers it, a wrong word is refused", async () => {
    const where = place(FILES, REPOSITORY);
    const at = { ...where, cwd: join(where.cwd, "packages", "a") };
    const told = (await zz(at, ["--prompt", "-m", "offline"])).stdout;
    match(told, /^Folder: \S+project \(.*\)\nThe person is in: packages\/a$/m);
    const plain = { ...at, home: place().home };
    const { stdout } = await zz(plain, ["-m", "offline", "--once", "/status"]);
    match(stdout, /^part of +\S+project, which\s+\/config\s+project\.scope/m);
    const wrong = await zz({ ...at, home: place({}, { project: { scope: "all" } }).home }, [
      "--tools",
    ]);
    deepEqual([wrong.stdout, wrong.code], ["", 2]);
    match(wrong.stderr, /"project\.scope" must be one of folder, repository/);
  });

  test("a project cannot widen itself", async () => {
    const ran = await read(place(FILES), "packages/a", "packages/b/b.txt", "--allow-read=.");
    equal(ran.code, 1, ran.stderr);
  });
});

test("where a person of this machine has an account, it is a home directory", (t) => {
  const home = process.env.HOME;
  t.after(() => Object.assign(process.env, { HOME: home }));
  process.env.HOME = "/home/me"; // homes are found again
  t.mock.method(
    fs,
    "readFileSync",
    () => "ann:x:1000:9::/srv/ann:/bin/sh\nlp:x:7:7::/srv/lp:/bin/sh",
  );
  deepEqual(["/srv/ann", "/srv/lp"].map(whyNotProject), ["a home directory", undefined]);
});

test("what is no ordinary project is named by what it is", () =>
  deepEqual(["/", homedir(), "/home", join(homedir(), "project")].map(whyNotProject), [
    "the whole disk",
    "a home directory",
    "a folder with home directories in it",
    undefined,
  ]));
