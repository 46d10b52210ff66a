// A team's settings and prompts, by way of a real server.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { needs } from "../../../../test/support/needs.ts";
import { snippet } from "../../../../test/support/pages.ts";
import { place, zz } from "../../../../test/support/run.ts";
import { LASTING, redisServer, storeOf } from "../server.ts";

const test = needs("redis-server");
const hello = ["-m", "offline", "--once", "hello"];
const pirate = "---\nslot: rules\n---\nSpeak like a pirate.\n";
const folder = (settings: unknown) => ({
  "team/zz.config.json": settings as object,
  "team/prompts/pirate.md": pirate,
  "team/plugins/evil.ts": "throw 1",
});

test("what one puts there, others have at their next start, also when the server is gone; taken away, it is gone", async () => {
  const server = await redisServer(...LASTING);
  const settings = { store: server.url, redis: { seconds: 10 } };
  const [one, other] = [place(folder({ timeout: 100 }), settings), place({}, settings)];
  equal(
    (await zz(one, ["--store-team", "team"])).stdout,
    `${server.url} has prompts/pirate.md, zz.config.json now.\n`,
  );
  const first = await zz(other, hello);
  match(first.stderr, /Your team changed prompts\/pirate\.md, zz\.config\.json in the store\./);
  const kept = join(other.home, "team/.zz");
  equal(readFileSync(join(kept, "prompts/pirate.md"), "utf8"), pirate);
  equal(lstatSync(join(kept, "zz.config.json")).mode & 0o077, 0);
  ok(!existsSync(join(kept, "plugins")));
  const trusted = await zz(other, ["--trust", "--cwd", join(other.home, "team")]);
  match(trusted.stdout + trusted.stderr, /Trusted, as they are now: \.zz\/prompts\/pirate\.md/);
  equal((await zz(other, hello)).stderr, "");
  await server.kill();
  const away = await zz(other, hello);
  equal(away.code, 0);
  doesNotMatch(away.stderr, /team's prompts|Your team/);
  ok(existsSync(join(kept, "prompts/pirate.md")));
  await server.start();
  mkdirSync(join(one.cwd, "empty"));
  match((await zz(one, ["--store-team", "empty"])).stdout, /has nothing now/);
  match((await zz(other, hello)).stderr, /changed prompts\/pirate\.md \(gone\), zz\.config\.json/);
  deepEqual([existsSync(join(kept, "zz.config.json")), existsSync(kept)], [false, true]);
});

test("the lines of docs/many.md put a team's settings and prompts there", async () => {
  const server = await redisServer(...LASTING);
  const settings = { store: server.url };
  const [one, other] = [place({}, settings), place({}, settings)];
  const lines = snippet("mkdir -p team/prompts").trimEnd().split("\n");
  execFileSync("sh", ["-ec", lines.slice(0, -1).join("\n")], { cwd: one.cwd });
  const put = await zz(one, lines.at(-1)!.split(" ").slice(1));
  match(put.stdout, / has prompts\/check\.md, zz\.config\.json now\.\n$/);
  await zz(other, hello);
  match((await zz(other, ["--permissions"])).stdout, /terraform/);
});

test("what is no team's file is not put there, nor taken from there; no link is written through", async () => {
  const server = await redisServer(...LASTING);
  const settings = { store: server.url };
  const rows: [settings: unknown, said: RegExp][] = [
    ["[1", /its zz\.config\.json is not a JSON object/],
    [{ providers: { openai: { key: "sk-1" } } }, /holds a key, which all could read/],
    [{ model: "x".repeat(100_001) }, /zz\.config\.json is too large/],
  ];
  for (const [wrong, said] of rows) {
    const { code, stderr } = await zz(place(folder(wrong), settings), ["--store-team", "team"]);
    equal(code, 2);
    match(stderr, said);
  }
  const nowhere = await zz(place(folder({})), ["--store-team", "team"]);
  match(nowhere.stderr, /the setting `store` names none/);
  const other = place({}, settings);
  storeOf(server).putTeam({
    "../../zz.config.json": "{}",
    "prompts/../../x.md": "x",
    "plugins/evil.ts": "throw 1",
    "prompts/good.md": "---\ndescription: good\n---\nGood.",
  });
  await zz(other, hello);
  ok(existsSync(join(other.home, "team/.zz/prompts/good.md")));
  for (const name of ["team/.zz/plugins", "x.md", "team/x.md", "team/.zz/zz.config.json"])
    ok(!existsSync(join(other.home, name)), name);
  const linked = place({}, settings);
  mkdirSync(join(linked.home, "team"));
  mkdirSync(join(linked.cwd, "elsewhere"));
  symlinkSync(join(linked.cwd, "elsewhere"), join(linked.home, "team/.zz"));
  match((await zz(linked, hello)).stderr, /is a link\. Remove it\./);
  ok(!existsSync(join(linked.cwd, "elsewhere/prompts")));
});
