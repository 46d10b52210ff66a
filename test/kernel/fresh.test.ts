// What a zz that runs goes by, once hands have been at settings, kept rules and trust, is what a
// new zz would go by.
import { deepEqual, match } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { KINDS, type Rule } from "../../kernel/contract.ts";
import { projectExtras } from "../../kernel/gate/trust.ts";
import type { Core } from "../../kernel/instance.ts";
import { readSettings } from "../../kernel/settings/settings-files.ts";
import { createZz, obey } from "../../zz.ts";
import { place, ROOT } from "../support/run.ts";
import { random, runs, SEED } from "../support/runs.ts";

const NAME = "zz.config.json";
const PLUGINS = ["permissions", "config", "trust"].map((name) =>
  join(ROOT, "plugins", `${name}.ts`),
);

/** A home and a project where several zz are at work at once, each of which hears the lines that
 * are typed to it. */
function folders(ownSettings?: object) {
  const { home, cwd: root } = place();
  const files = {
    own: join(home, NAME),
    theirs: join(root, ".zz", NAME),
    plugin: join(root, ".zz/plugins/x.ts"),
  };
  const put = (file: string, text: string) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };
  if (ownSettings) put(files.own, JSON.stringify(ownSettings));
  const open = async () => {
    const brought = projectExtras({ root, home });
    const read = await readSettings({ home, root, brought });
    const core = await createZz({ ...read, home, root, bare: true, plugins: PLUGINS });
    core.ask = async () => "y";
    core.ctx();
    return core;
  };
  return { ...files, put, open };
}

/** Types a line, as at the prompt: what is on the disk is looked at first. What went wrong is
 * told. */
async function type(core: Core, line: string): Promise<string> {
  await core.ctx().plugins.refresh();
  const place = { core, chat: core.chat!, ctx: core.ctx() };
  const obeyed = obey(place, line);
  return obeyed.then(() => "").catch((error) => error.message);
}

const plain = (rules: Rule[]): string[] => rules.map((rule) => JSON.stringify(rule)).sort();
const isFirst = ({ from }: Rule): boolean => from !== "answer";

test("whatever hands do, a zz that runs goes by what a new one would, apart from what its own session dropped and allowed", async () => {
  for (let life = 0; life < runs(4, 20); life++) await live(SEED + life);
});

async function live(seed: number): Promise<void> {
  const { own, theirs, plugin, put, open } = folders({});
  const next = random(seed);
  const one = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  const some = (share: number, name: string, value: () => unknown) =>
    next() < share ? [[name, value()]] : [];
  const names = (kind: string) =>
    next() < 0.2 ? true : [kind === "net" ? "example.com" : one(["a", "b", "src"])];
  const rules = () =>
    Object.fromEntries(KINDS.flatMap((kind) => some(0.3, kind, () => names(kind))));
  const verbs = () =>
    Object.fromEntries(["allow", "deny", "ask", "only"].flatMap((verb) => some(0.5, verb, rules)));
  const config = () =>
    JSON.stringify(
      Object.fromEntries([
        ...some(0.8, "permissions", verbs),
        ...some(0.3, "edit", () => ({ auto: next() < 0.5 })),
        ...some(0.3, "rounds", () => Math.ceil(next() * 9)),
        ...some(0.2, "options", () => ({ endpoint: `http://127.0.0.1:${Math.ceil(next() * 9)}` })),
      ]),
    );
  const [running, other] = [await open(), await open()];
  let dropped: string[] = [];
  const done: string[] = [];
  const number = () => Math.ceil(next() * (running.rules.length + 1));
  const lines = [
    () =>
      `/permissions ${one(["allow", "deny", "ask"])} ${one(["read", "write", "run"])} ${one(["a", "b", "c", ""])}`,
    () => `/permissions drop ${number()}`,
    () => `/permissions keep ${number()}`,
    () => `/auto-apply ${one(["on", "off"])}`,
    () => `/config rounds ${Math.ceil(next() * 9)}`,
    () => `/config permissions ${JSON.stringify(verbs())}`,
    () => `/config edit.auto ${one(["true", "false", "--reset"])}`,
    () => one(["/trust", "/trust no"]),
  ];
  const typed = async (core: Core) => {
    const line = one(lines)();
    done.push(`${core === running ? "" : "the other "}> ${line}`);
    const before = plain(core.rules.filter(({ from }) => from === "settings"));
    await type(core, line);
    const after = plain(core.rules);
    if (core === running && line.includes("drop"))
      dropped.push(...before.filter((rule) => !after.includes(rule)));
  };
  const deeds: Record<string, () => unknown> = {
    "the home's settings": () => put(own, config()),
    "the project's settings": () => put(theirs, config()),
    "no settings of the project": () => rmSync(theirs, { force: true }),
    "a plugin of the project": () => put(plugin, `export default () => {}; // ${next()}\n`),
    "no plugin of the project": () => rmSync(plugin, { force: true }),
    "a line": () => typed(running),
    "a line there": () => typed(other),
  };
  for (let step = 0; step < 14; step++) {
    const name = one([...Object.keys(deeds), "a line there"]);
    done.push(name);
    await deeds[name]!();
    await running.ctx().plugins.refresh();
    const fresh = await open();
    const firsts = plain(fresh.rules.filter(isFirst));
    dropped = dropped.filter((rule) => firsts.includes(rule));
    const held = ({ options: { settings, sources }, extras, configs }: Core) => ({
      settings,
      trust: [extras?.given, extras?.agreed],
      project: [sources?.project?.trusted, sources?.project?.sends, sources?.project?.left],
      edit: configs.find(({ owner }) => owner === "permissions")?.value.live,
    });
    const files = [own, theirs].map((file) =>
      existsSync(file) ? readFileSync(file, "utf8") : "none",
    );
    const told = [`ZZ_SEED=${seed} ZZ_RUNS=1`, ...done, ...files].join("\n");
    deepEqual(held(running), held(fresh), told);
    const left = firsts.filter((rule) => !dropped.includes(rule));
    deepEqual(plain(running.rules.filter(isFirst)), left, told);
  }
}

test("what another zz keeps for the folder, and the trust that it takes back, count here from the next line on", async () => {
  const { theirs, put, open } = folders({});
  put(theirs, '{ "permissions": { "allow": { "run": ["make"] } } }');
  const [core, other] = [await open(), await open()];
  await type(core, "/trust");
  await type(other, "/permissions deny read a");
  await type(other, "/permissions keep 2");
  const stands = () => core.rules.map(({ verdict, kind, name }) => `${verdict} ${kind} ${name}`);
  await type(core, "/permissions");
  deepEqual(stands(), ["allow run make", "deny read a"]);
  await type(other, "/trust no");
  await type(core, "/permissions");
  deepEqual(stands(), ["deny read a"]);
});

test("settings with a rule that cannot be used change nothing in a zz that runs, and /config does not write them", async () => {
  const { own, put, open } = folders({ rounds: 1 });
  const core = await open();
  const wrong = { permissions: { deny: { net: ["a b"], run: ["x"] } } };
  const notes: string[] = [];
  core.observers.push({
    owner: "",
    value: { event: "noted", see: ({ text }) => void notes.push(text), limit: 1_000 },
  });
  const why = /^Cannot use deny net "a b" in the settings/;
  match(await type(core, `/config permissions ${JSON.stringify(wrong.permissions)}`), why);
  deepEqual(JSON.parse(readFileSync(own, "utf8")), { rounds: 1 });
  put(own, JSON.stringify(wrong));
  await type(core, "/permissions");
  match(notes.join("\n"), why);
  deepEqual([core.options.settings, core.rules], [{ rounds: 1 }, []]);
});
