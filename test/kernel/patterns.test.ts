// What the names of rules stand for: *, ** and ? in paths, words, hosts and variables; and which
// are refused.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import type { Kind, Verdict } from "../../kernel/contract.ts";
import { openChat } from "../../kernel/conversation/chat.ts";
import { initialRules } from "../../kernel/gate/rules.ts";
import type { Options } from "../../kernel/instance.ts";
import { createCtx } from "../../kernel/plugins/create-ctx.ts";
import { fitsHost, fitsText, fitsWords, pathPattern } from "../../kernel/text/name-patterns.ts";
import { createZz, embed } from "../../zz.ts";
import { needs } from "../support/needs.ts";
import { fc } from "../support/property.ts";
import { put } from "../support/repository.ts";
import { place, zz } from "../support/run.ts";
import { runs } from "../support/runs.ts";

const slowText = (pattern: string, text: string): boolean => {
  if (pattern === "") return text === "";
  if (pattern[0] === "*")
    return slowText(pattern.slice(1), text) || (text !== "" && slowText(pattern, text.slice(1)));
  return (
    text !== "" &&
    (pattern[0] === "?" || pattern[0] === text[0]) &&
    slowText(pattern.slice(1), text.slice(1))
  );
};
/** Of a path's folders or a command's words: it covers what follows it. */
const slowParts = (pattern: string[], parts: string[]): boolean => {
  const [first, ...rest] = pattern;
  if (first === undefined) return true;
  if (first === "**")
    return slowParts(rest, parts) || (parts.length > 0 && slowParts(pattern, parts.slice(1)));
  return parts.length > 0 && slowText(first, parts[0]!) && slowParts(rest, parts.slice(1));
};

const letters = fc.string({
  unit: fc.constantFrom("a", "b", "*", "?"),
  minLength: 1,
  maxLength: 6,
});
const plain = fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 5 });
const parts = fc.array(fc.oneof(letters, fc.constantFrom("*", "**")), {
  minLength: 1,
  maxLength: 4,
});
const much = { numRuns: runs(500, 20_000) };

test("* and ? fit as they do letter by letter", () =>
  fc.assert(
    fc.property(
      letters,
      plain,
      (pattern, text) => fitsText(pattern, text) === slowText(pattern, text),
    ),
    much,
  ));
test("paths and commands fit as they do folder by folder and word by word", () =>
  fc.assert(
    fc.property(parts, fc.array(plain, { maxLength: 5 }), (pattern, names) => {
      const fits = slowParts(pattern, names);
      equal(pathPattern(pattern.join("/"))(names.join("/")), fits);
      equal(fitsWords(pattern.join(" "), names.join(" ")), fits);
    }),
    much,
  ));
test("no pattern takes long", () => {
  const long = 20_000; // where each further star doubled the work, twenty would not end
  for (const one of ["*", "?", "a", "*a", "**/", "*/", "* ", "** ", "a*", "*.", "{", "["]) {
    const pattern = one.repeat(long / one.length);
    const fitsPath = pathPattern(pattern);
    for (const text of ["a".repeat(4_000), "a/".repeat(500), "a ".repeat(2_000)]) {
      fitsText(pattern, text);
      fitsPath(text);
      fitsWords(pattern, text);
      fitsHost(pattern, text);
    }
  }
});

const where = place();
const root = fs.realpathSync(where.cwd);
for (const name of "private/deep/x.txt src/a.ts src/deep/b.ts certs/a.crt app/[slug]/page.tsx a*b aXb".split(
  " ",
))
  put(root, { [name]: "open-sesame\n" });
fs.writeFileSync(join(root, "src", "key.pem2"), "open-sesame\n");
fs.symlinkSync("private", join(root, "way"));
fs.symlinkSync("private/deep/x.txt", join(root, "plain.md"));
fs.symlinkSync("src/a.ts", join(root, "named.crt"));
fs.symlinkSync("/etc", join(root, "out"));
const lib = join(dirname(root), "lib");
fs.mkdirSync(join(lib, "deep"), { recursive: true });
const SETTINGS: Options["settings"] = { projects: { lib: { path: lib, rights: "write" } } };

/** One zz for all rows, whose rules change from row to row. */
const running = createZz({ root, home: where.home, save: false, own: false, settings: SETTINGS! });
async function judgeBy(rules: Pick<Options, "allow" | "deny">, kind: Kind, name: string) {
  const core = await running;
  core.rules = initialRules({ ...core.options, ...rules });
  return createCtx(core, openChat(core, "x/y")).permissions.judge(kind, name).verdict;
}

describe("A denial", () => {
  for (const [kind, rule, name, denied] of [
    ["read", "private/*", "private/deep/x.txt", true],
    ["read", "way/**", "private/deep/x.txt", true],
    ["read", "*.crt", "A.CRT", true],
    ["read", "*.crt", "named.crt", true],
    ["read", "*.crt", "lib:deep/x.crt", true],
    ["read", "*.crt", "a.crt/inside", true],
    ["read", "./*.crt", "certs/a.crt", false],
    ["read", "**/deep/**", "src/deep/b.ts", true],
    ["read", "src/../certs/*", "certs/a.crt", true],
    ["read", `${root}/certs/*`, "certs/a.crt", true],
    ["read", "../lib/*", "lib:x", true],
    ["read", "lib:*.pem2", "lib:deep/x.pem2", true],
    ["read", "lib:*.pem2", "src/key.pem2", false],
    ["read", "SRC", "src/a.ts", true],
    ["read", "app/[slug]/*", "app/[slug]/page.tsx", true],
    ["run", "npm *", "npm", false],
    ["run", "git ** --force", "git --force", true],
    ["run", "GIT push", "git push", true],
    ["net", "*.example.com", "api.example.com:443", true],
    ["net", "*.example.com", "badexample.com", false],
    ["net", "Example.com", "example.com.:443", true],
    ["net", "[::1]", "[::1]:80", true],
    ["env", "*_proxy", "HTTP_PROXY", true],
  ] as [Kind, string, string, boolean][])
    test(`of ${kind} ${rule} is ${denied ? "" : "not "}one of ${name}`, async () => {
      equal((await judgeBy({ deny: { [kind]: [rule] } }, kind, name)) === "deny", denied);
    });
});

describe("An allowance", () => {
  for (const [kind, rule, name, verdict] of [
    ["write", "*.TS", "src/a.ts", "ask"],
    ["write", "*.ts", "lib:a.ts", "ask"],
    ["write", "out/*", "out/hosts", "ask"],
    ["read", "/etc/*", "/etc/hosts", "allow"],
    ["write", "lib:*.ts", "lib:deep/a.ts", "allow"],
    ["write", ".git/*", ".git/hooks/x", "ask"],
    ["write", ".zz/**", ".zz/plugins/x.ts", "ask"],
    ["run", "plugin *", "plugin todo", "allow"],
    ["run", "npm run test:*", "npm run test:unit -w", "allow"],
    ["run", "npm * test", "npm run x test", "ask"],
    ["net", "*.example.com", "api.example.com:443", "allow"],
    ["env", "aws_*", "AWS_REGION", "ask"],
  ] as [Kind, string, string, Verdict][])
    test(`of ${kind} ${rule} makes ${name} ${verdict}`, async () => {
      equal(await judgeBy({ allow: { [kind]: [rule] } }, kind, name), verdict);
    });
});

const NEVER: [kind: Kind, name: string, why: RegExp][] = [
  ["net", "https://x.com", /it is an address\. Write a host alone/],
  ["net", "example.com:http", /'http' is not a port/],
  ["run", "  ", /it names nothing/],
  ["read", " src", /begins or ends with a blank/],
  ["read", "file:///etc/hosts", /it is an address\. Write a path/],
  ["read", "[a-z]*.ts", /a class of letters/],
  ["read", "*.{pem,key}", /braces are not taken apart/],
  ["read", "$HOME/x", /variables are not looked up/],
  ["write", "a\0b", /NUL byte/],
  ["write", "a/".repeat(3_000), /too long for a path/],
];
describe("A rule that can never match is refused", () => {
  for (const [kind, name, why] of NEVER)
    test(`${kind} ${JSON.stringify(name.slice(0, 30))}`, async () => {
      await rejects(
        () => createZz({ root, home: where.home, save: false, deny: { [kind]: [name] } }),
        why,
      );
    });

  test("whether it allows or denies, as an option of a program, in the settings and while it runs", async () => {
    const [kind, name, why] = NEVER[0]!;
    const core = await running;
    for (const verdict of ["deny", "allow"] as const) {
      const rules = { [verdict]: { [kind]: [name] } };
      await rejects(() => createZz({ root, home: where.home, save: false, ...rules }), why);
      await rejects(
        () => createZz({ root, home: where.home, save: false, settings: { permissions: rules } }),
        why,
      );
      core.rules = [];
      const { permissions } = createCtx(core, openChat(core, "x/y"));
      await rejects(async () => permissions.add({ verdict, kind, name, from: "answer" }), why);
      deepEqual(permissions.rules, []);
    }
  });

  test("by a flag, by the settings' file and by embed()", async () => {
    const flag = await zz(where, ["--deny-net=https://x.com", "--permissions"]);
    equal(flag.code, 2);
    match(flag.stderr, /^Cannot use --deny-net='https:\/\/x\.com': it is an address\. .*\.\n$/);
    const config = join(where.cwd, "c.json");
    fs.writeFileSync(config, JSON.stringify({ permissions: { deny: { read: ["*.{pem,key}"] } } }));
    const { stderr } = await zz(where, ["--config", config, "--permissions"]);
    match(
      stderr,
      /^Cannot use deny read "\*\.\{pem,key\}" in the settings: braces are not taken apart.*\n$/,
    );
    await rejects(
      () => embed({ root, home: where.home, deny: { env: ["A B"] } }),
      /it is not a variable's name/,
    );
  });

  test("but not one that names a file that there is", async () => {
    for (const name of ["[a-z]*.ts", "{a,b}", " x", "$HOME", "~"]) {
      fs.writeFileSync(join(root, name), "");
      equal(await judgeBy({ deny: { read: [name] } }, "read", name), "deny", name);
      fs.rmSync(join(root, name));
    }
  });

  async function rejects(act: () => Promise<unknown>, why: RegExp): Promise<void> {
    let said = "";
    await act().catch((error: Error) => (said = error.message));
    match(said, why);
    match(said, /^Cannot /);
  }
});

needs("bwrap")("What a pattern denies, a command neither reads nor writes", async () => {
  const there = place();
  fs.mkdirSync(join(there.cwd, "made"));
  fs.writeFileSync(join(there.cwd, "a.secret2"), "open-sesame\n");
  fs.writeFileSync(join(there.cwd, "old.lock"), "old\n");
  const flags = "--allow-run --allow-write --deny-write=*.lock,made/* --deny-read=*.SECRET2".split(
    " ",
  );
  const run = async (command: string) => {
    const call = ["--call", "run_command", JSON.stringify({ command })];
    const { stdout, stderr } = await zz(there, [...call, ...flags]);
    return stdout + stderr;
  };
  ok(
    !(await run('node -p \'require("fs").readFileSync("a." + "secret2", "utf8")\'')).includes(
      "open-sesame",
    ),
  );
  await run("echo x > old.lock; echo x > made/new");
  equal(fs.readFileSync(join(there.cwd, "old.lock"), "utf8"), "old\n");
  deepEqual(fs.readdirSync(join(there.cwd, "made")), []);
  match(
    await run("bash -c 'touch new.lock'"),
    /write access to "new\.lock" is denied by --deny-write=\*\.lock/,
  );
  ok(!fs.existsSync(join(there.cwd, "new.lock")));
});
