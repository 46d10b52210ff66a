// What a store brought of the team's, in the home's folder team/: under the person's own settings,
// and never more than a project may, until the person trusts exactly these bytes.
import { deepEqual, equal, match } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { keepTrust, projectExtras } from "../../kernel/gate/trust.ts";
import { unknownSettings } from "../../kernel/settings/change-settings.ts";
import { readSettings, teamFolder } from "../../kernel/settings/settings-files.ts";
import { place } from "../support/run.ts";
import { kernel } from "../support/script.ts";

const OWN = { store: "redis://127.0.0.1:1", rounds: 5, permissions: { deny: { run: ["a"] } } };
const TEAM = {
  rounds: 4,
  timeout: 100,
  display: { theme: "light" },
  shell: { sandbox: "off" },
  store: "redis://elsewhere",
  permissions: { deny: { run: ["b"] }, allow: { run: ["c"] } },
};

async function started(own: object = OWN) {
  const where = place({}, own, {
    "team/.zz/zz.config.json": JSON.stringify(TEAM),
    "team/.zz/prompts/pirate.md": "---\nslot: rules\n---\nSpeak like a pirate.",
    "team/.zz/prompts/greet.md": "---\ndescription: greets\n---\nGreet.",
  });
  const { home, cwd: root } = where;
  const open = async () => {
    const core = await kernel.createZz({
      home,
      root,
      save: false,
      ...(await readSettings({ home, root })),
    });
    const rows = core.ctx().settings.list();
    return {
      of: (name: string) => {
        const row = rows.find((setting) => setting.name === name)!;
        return [row.value, row.from];
      },
      notes: unknownSettings(core).join("\n"),
      layers: core.layers.map(({ value }) => value.name),
      isCommand: core.commands.has("greet"),
    };
  };
  const team = { root: teamFolder(home), home };
  return { where, open, trust: () => keepTrust(team, projectExtras(team)!.hashes) };
}

test("untrusted, a team's settings count below one's own, deny more and allow nothing, and its prompts wait", async () => {
  const { open } = await started();
  const { of, notes, layers, isCommand } = await open();
  const rows: [name: string, value: unknown, from: string[] | undefined][] = [
    ["rounds", 5, ["team", "home"]],
    ["timeout", 100, ["team"]],
    ["display.theme", "light", ["team"]],
    ["shell.sandbox", "auto", undefined],
    ["store", OWN.store, ["home"]],
    ["permissions", { deny: { run: ["a", "b"] } }, ["team", "home"]],
  ];
  for (const [name, value, from] of rows) deepEqual(of(name), [value, from], name);
  match(
    notes,
    /Cannot take permissions\.allow, shell, store from '.*team\/\.zz\/zz\.config\.json'/,
  );
  match(notes, /Your team's prompts \(greet, pirate\) do not count until you trust them\./);
  deepEqual([layers.includes("pirate"), isCommand], [false, false]);
});

test("trusted, all of it counts, still below one's own; changed, it does not any more", async () => {
  const { open, trust, where } = await started();
  trust();
  const trusted = await open();
  deepEqual(trusted.of("shell.sandbox"), ["off", ["team"]]);
  deepEqual(trusted.of("rounds"), [5, ["team", "home"]]);
  deepEqual(trusted.of("store"), [OWN.store, ["team", "home"]]);
  deepEqual(
    [trusted.layers.includes("pirate"), trusted.isCommand, trusted.notes],
    [true, true, ""],
  );
  writeFileSync(join(teamFolder(where.home), ".zz/prompts/pirate.md"), "---\nslot: rules\n---\nX");
  const changed = await open();
  deepEqual(changed.of("shell.sandbox"), ["auto", undefined]);
  deepEqual([changed.layers.includes("pirate"), changed.isCommand], [false, false]);
});

test("without a store in one's own settings nothing of it is read", async () => {
  const { open, trust } = await started({});
  trust();
  const { of, notes, layers } = await open();
  deepEqual(of("timeout"), [undefined, undefined]);
  deepEqual([notes, layers.includes("pirate")], ["", false]);
  equal(of("display.theme")[1], undefined);
});
