// How often a person is asked, by the commands that models run, in a project where they make sense.
import { equal, ok } from "node:assert/strict";
import { COMMANDS, furnishShop } from "../../../support/commands.ts";
import { needs } from "../../../support/needs.ts";
import { place, zz } from "../../../support/run.ts";

for (const [sandbox, most] of [
  ["auto", { beforehand: 0.12, asked: 0.65 }],
  ["off", { beforehand: 0.65, asked: 0.65 }],
] as const)
  needs("git", "bwrap")(`of the commands that models run, few are asked for, sandbox ${sandbox}`, async (t) => {
    const where = place({}, { shell: { sandbox } });
    furnishShop(where.cwd);
    const all = Object.values(COMMANDS).flat();
    const input = all.map((line) => JSON.stringify(line.replaceAll("/PROJECT", where.cwd))).join("\n");
    const { stdout } = await zz(where, ["--judge", "-"], { input });
    const ways = Array.from(stdout.trimEnd().split("\n"), (line) => JSON.parse(line).way as string);
    const many = (...these: string[]) => ways.filter((way) => these.includes(way)).length;
    const told = `${all.length} commands: ${many("unasked")} unasked, ${many("copy")} on a copy, ${many("never")} never`;
    t.diagnostic(told);
    equal(ways.length, all.length);
    equal(many("never"), 0, ways.map((way, i) => (way === "never" ? all[i] : "")).join(""));
    ok((all.length - many("unasked", "copy")) / all.length <= most.beforehand, told);
    ok((all.length - many("unasked")) / all.length <= most.asked, told);
  });
