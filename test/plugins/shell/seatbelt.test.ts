// macOS's profile, read as macOS reads it: of all rules that name a path, the last one decides.
import { equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { decoderProfile } from "../../../plugins/shell/decoder-sandbox.ts";
import { readingProfile } from "../../../plugins/shell/reading-sandbox.ts";
import { OUTSIDE, seatbeltProfile } from "../../../plugins/shell/seatbelt.ts";
import { having } from "../../support/having.ts";

type Limits = Parameters<typeof seatbeltProfile>[0];

/** What the profile says to an operation on a path. */
function verdict(profile: string, operation: string, file: string): string {
  let said = "allow";
  for (const [, does, body] of profile.matchAll(
    /\((allow|deny) ((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\))*)\)/g,
  )) {
    const operations = body!.replace(/\(.*$/s, "").trim().split(/\s+/);
    const fits = operations.some(
      (one) =>
        one === operation ||
        one === "default" ||
        (one.endsWith("*") && operation.startsWith(one.slice(0, -1))),
    );
    const filters = [...body!.matchAll(/\((subpath|literal|regex) #?("(?:[^"\\]|\\.)*")\)/g)];
    const names = filters.some(([, kind, text]) => {
      if (kind === "regex") return new RegExp(text!.slice(1, -1)).test(file);
      const at = JSON.parse(text!);
      return file === at || (kind === "subpath" && file.startsWith(at === "/" ? at : `${at}/`));
    });
    if (fits && (names || (!filters.length && !body!.includes("(")))) said = does!;
  }
  return said;
}

const where = having({
  "~/work/p/.git/HEAD": "ref: refs/heads/main\n",
  "~/work/p/.git/hooks/": "",
  "~/work/p/src/.env": "KEY=1",
  "~/work/p/src/deep/a.ts": "a",
  "~/.ssh/id": "key",
  "~/.npm/_cacache/.env": "KEY=1",
  "~/.npm/_cacache/x": "x",
  "~/other/a.ts": "a",
});
const home = fs.realpathSync(where.home);
const root = join(home, "work/p");
const tmp = "/private/var/folders/x/T/zz-sandbox-1/tmp";
const limits = {
  programs: {},
  root,
  write: [],
  own: tmp,
  endpoints: [],
  sized: false,
  tmp,
  net: "none",
} as unknown as Limits;
const hide = [home, join(home, ".npm/_cacache/.env"), join(root, "src/.env")];
const asked = { ...limits, hide, show: [join(home, ".npm/_cacache")] };

const ROWS: [limits: Limits, operation: string, file: string, verdict: string][] = [
  // The home is hidden but for what is needed, and the secrets in that; the project in it is not.
  [asked, "file-read-data", join(home, "other/a.ts"), "deny"],
  [asked, "file-read-data", join(home, ".ssh/id"), "deny"],
  [asked, "file-read-data", join(home, ".npm/_cacache/x"), "allow"],
  [asked, "file-read-data", join(home, ".npm/_cacache/.env"), "deny"],
  [asked, "file-read-data", join(root, "src/deep/a.ts"), "allow"],
  [asked, "file-write-data", join(root, "src/deep/a.ts"), "allow"],
  [asked, "file-write-create", join(root, "new"), "allow"],
  [asked, "file-read-data", join(root, "src/.env"), "deny"],
  [asked, "file-link", join(root, "src/.env"), "deny"],
  [asked, "file-write-create", join(home, "new"), "deny"],
  [asked, "file-read-metadata", join(home, "work"), "allow"],
  [asked, "file-read-data", join(home, "work"), "deny"],
  // What is hidden or guarded is not moved away with its folder.
  [asked, "file-write-unlink", join(root, "src"), "deny"],
  [asked, "file-write-unlink", join(root, ".git"), "deny"],
  [asked, "file-write-unlink", root, "deny"],
  [asked, "file-write-unlink", join(root, "src/deep"), "allow"],
  // What runs later by itself, in capitals, too.
  ...["hooks/pre-commit", "config", "HOOKS/pre-commit", "Config", "commondir"].map(
    (name): (typeof ROWS)[number] => [asked, "file-write-create", join(root, ".git", name), "deny"],
  ),
  [asked, "file-write-create", join(root, ".GIT/hooks/x"), "deny"],
  [asked, "file-write-create", join(root, ".zz/plugins/a.ts"), "deny"],
  [asked, "file-write-create", join(root, ".Zz/plugins/a.ts"), "deny"],
  [asked, "file-write-create", join(root, ".git/index.lock"), "allow"],
  // Shared folders, terminals, devices.
  [asked, "file-read-data", "/private/tmp/others", "deny"],
  [asked, "file-read-data", "/private/var/folders/x/T/others", "deny"],
  [asked, "file-read-data", join(tmp, "own"), "allow"],
  [asked, "file-write-create", join(tmp, "own"), "allow"],
  [asked, "file-read-data", "/dev/ttys001", "deny"],
  [asked, "file-write-data", "/dev/null", "allow"],
  [asked, "file-read-data", "/usr/lib/x", "allow"],
  [asked, "file-write-data", "/usr/local/x", "deny"],
  // Nothing of the project is written where nobody was asked; what rules keep is read.
  [{ ...asked, readonly: true }, "file-write-create", join(root, "new"), "deny"],
  [{ ...asked, readonly: true }, "file-read-data", join(root, "src/deep/a.ts"), "allow"],
  [{ ...asked, keep: [join(root, "src/deep")] }, "file-write-data", join(root, "src/deep/a.ts"),
    "deny"],
  [{ ...asked, keep: [join(root, "src/deep")] }, "file-write-unlink", join(root, "src/deep"),
    "deny"],
  [asked, "network-outbound", "/private/var/run/mDNSResponder", "deny"],
  [{ ...asked, net: "all" }, "network-outbound", "/private/var/run/mDNSResponder", "allow"],
  ...["signal", "lsopen", "appleevent-send", "job-creation"].map((what): (typeof ROWS)[number] => [
    asked,
    what,
    "",
    "deny",
  ]),
]; // biome-ignore format: a table

for (const [given, operation, file, said] of ROWS)
  test(`seatbelt() ${said === "allow" ? "allows" : "denies"} ${operation} of '${file.replace(home, "~")}'`, () => {
    const [, profile] = seatbeltProfile(given);
    equal(verdict(profile!, operation, file), said, profile);
  });

const READERS = {
  "what only reads": readingProfile([root], [join(root, ".git")]),
  "what decodes": decoderProfile([root]),
};
// biome-ignore format: one case a row.
const READER_ROWS: [operation: string, file: string, said: string][] = [
  ["file-read-data", join(root, "src/deep/a.ts"), "allow"],
  ["file-read-data", join(home, "other/a.ts"), "deny"],
  ["file-write-create", join(root, "src/new.ts"), "deny"],
  ...["network-outbound", "signal", "lsopen", "appleevent-send", "job-creation", "mach-priv-task-port"].map((what): [string, string, string] => [what, "", "deny"]),
];
for (const [who, profile] of Object.entries(READERS))
  for (const [operation, file, said] of READER_ROWS)
    test(`on macOS ${who} is ${said === "allow" ? "allowed" : "denied"} ${operation} ${file && `of '${file.replace(home, "~")}'`}`, () =>
      equal(verdict(profile, operation, file), said, profile));
test("on macOS what only reads does not see what is hidden in a folder that it sees", () =>
  equal(verdict(READERS["what only reads"], "file-read-data", join(root, ".git/HEAD")), "deny"));

test("seatbelt() guards the hooks that a worktree shares with its repository", () => {
  const git = join(root, ".git/worktrees/w");
  fs.mkdirSync(git, { recursive: true });
  fs.mkdirSync(join(home, "work/w"));
  fs.writeFileSync(join(git, "gitdir"), join(home, "work/w/.git"));
  fs.writeFileSync(join(git, "commondir"), "../..");
  fs.writeFileSync(join(home, "work/w/.git"), `gitdir: ${git}\n`);
  const [, profile] = seatbeltProfile({ ...asked, root: join(home, "work/w") });
  equal(verdict(profile!, "file-write-create", join(root, ".git/objects/x")), "allow");
  for (const name of ["hooks/pre-commit", "config"])
    equal(verdict(profile!, "file-write-create", join(root, ".git", name)), "deny");
});

test("seatbelt() keeps other programs from acting for a command, as far as this macOS can be told", () => {
  const [, profile] = seatbeltProfile(asked);
  for (const service of [
    "com.apple.pasteboard.1",
    "com.apple.SecurityServer",
    "com.apple.nsurlsessiond",
  ])
    match(profile!, new RegExp(`deny mach-lookup[^\\n]*"${service}"`));
  const [, less] = seatbeltProfile(asked, []);
  ok(OUTSIDE.every((rule) => profile!.includes(rule) && !less!.includes(rule)));
});
