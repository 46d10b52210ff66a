// What a project brings in .zz/ (plugins, prompts, settings that could run something) takes effect
// once the person trusts it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Ctx, Result, Trust, Zz } from "zz";
import { clean, clip, oneLine, sentenceOf, tryTo, usage } from "zz/text";

export default (zz: Zz) => {
  zz.flag({
    name: "trust",
    value: "no",
    optional: true,
    group: "what tools may do",
    description: "trust what this folder brings in .zz/ and .mcp.json; =no takes it back",
    run: setTrust,
  });
  zz.command({
    name: "trust",
    offer: "trust",
    usage: "[no]",
    description: "show what this folder brings in .zz/ and .mcp.json, and ask whether to load it",
    examples: {
      "/trust": "show what this folder brings, and ask whether to load it",
      "/trust no": "stop trusting it",
    },
    group: "settings",
    async run(argument, ctx) {
      const { plugins, ask, note } = ctx;
      const { brought } = plugins;
      if (argument && argument !== "no")
        throw usage(`Cannot use /trust '${argument}': give 'no', or nothing.`);
      if (!brought)
        return note(
          "This folder brings nothing that could run: no plugins, prompts, servers or hooks.",
        );
      if (brought.wrong) throw new Error(`Cannot trust this folder: ${brought.wrong}.`);
      if (!argument && brought.given && brought.sends && ask) return askWhere(ctx);
      if (!argument && brought.given)
        return note(`${listFiles(brought)}\nYou trust it. /trust no takes that back.`);
      if (!argument && !ask) {
        note(listFiles(brought));
        throw usage("Cannot ask about them: there is no terminal to ask on. --trust trusts them.");
      }
      const isYes = !argument && (await confirmTrust(ctx, brought));
      const pluginOutcomes = await plugins.trust(isYes);
      for (const { name, did, why: reason } of pluginOutcomes)
        note(reason ?? `Plugin '${name}' ${did}.`);
      if (!isYes) return note("Left out. /trust asks again.");
      const { given: isTrusted, changed = [] } = ctx.plugins.brought ?? {};
      if (!isTrusted)
        return note(
          `Left out: ${changed.join(", ")} changed while you were asked. Look at it, then: /trust`,
        );
      await askWhere(ctx);
    },
  });
};

/** --trust, and --trust=no. */
async function setTrust(flagValue: unknown, ctx: Ctx): Promise<Result> {
  if (flagValue !== true && flagValue !== "no")
    throw usage(`Cannot use --trust '${flagValue}': give 'no', or nothing.`);
  await ctx.plugins.trust(flagValue === true);
  const { files = [], sends = [] } = ctx.plugins.brought ?? {};
  const trustWords =
    flagValue === true
      ? `Trusted, as they are now: ${files.join(", ")}.`
      : "This folder is not trusted.";
  return {
    text: [
      trustWords,
      ...sends.map((sendTarget) => `Not included: ${describe(sendTarget)}. ${HOW_TO_REDIRECT}`),
    ].join("\n"),
  };
}

const HOW_TO_REDIRECT = "--base-url, --model and your own settings can say it too.";
type Send = NonNullable<Trust["sends"]>[number];

const describe = ({ setting, from, to }: Send): string => {
  const host = URL.canParse(to) ? ` (host ${new URL(to).host})` : "";
  return `${setting} would send what you say and your files to ${to}${host} instead of ${from}`;
};

/**
 * Asks whether the project's settings may send things elsewhere, since trusting its code does not
 * include that.
 */
async function askWhere(ctx: Ctx): Promise<void> {
  const { sends = [] } = ctx.plugins.brought ?? {};
  if (!sends.length || !ctx.ask) return;
  const targetRows = sends.map((sendTarget) => `  ${describe(sendTarget)}.`).join("\n");
  const pressedKey = await ctx.ask(
    `Its settings would also send things elsewhere:\n${targetRows}\nAllow that? [y/N] `,
    "yn",
  );
  if (pressedKey === "y") await ctx.plugins.trust(true, sends);
  else ctx.note(`Left out: nothing is sent elsewhere. ${HOW_TO_REDIRECT}`);
}

async function confirmTrust({ root, ask }: Ctx, brought: Trust): Promise<boolean> {
  const changedWords = brought.changed ? ", and it changed since you trusted it" : "";
  for (
    let shownText =
      "This folder brings plugins, prompts, settings or MCP servers of its " +
      `own${changedWords}:\n${listFiles(brought)}${settingsOf(root, brought)}`;
    ;
  ) {
    const pressedKey = await ask!(
      `${shownText}\nIt would run with all your rights. Load it? [y]es, [n]o, [s]how it: `,
      "yns",
    );
    if (pressedKey !== "s") return pressedKey === "y";
    shownText = brought.files
      .map((fileName) => `--- ${fileName} ---\n${readText(join(root, fileName)).trimEnd()}\n`)
      .join("\n");
  }
}

function listFiles({ files, changed }: Trust): string {
  const goneFiles = changed?.filter((changedFile) => !files.includes(changedFile)) ?? [];
  const fileRow = (fileName: string) => {
    if (!changed?.includes(fileName)) return `  ${fileName}`;
    return `  ${fileName}  ${goneFiles.includes(fileName) ? "(gone)" : "(new or changed)"}`;
  };
  return [...files, ...goneFiles].map(fileRow).join("\n");
}

const SETTINGS = ".zz/zz.config.json";
const MAX_SETTINGS = 12;
const MAX_SETTING_COLUMNS = 70;

/**
 * What the project's settings would change, a row each. Where they would send things is a question
 * of its own.
 */
function settingsOf(root: string, { files }: Trust): string {
  if (!files.includes(SETTINGS)) return "";
  const settingRows = leavesOf(tryTo(() => JSON.parse(readText(join(root, SETTINGS)))));
  const shownRows = settingRows
    .slice(0, MAX_SETTINGS)
    .map((settingRow) => `    ${clip(oneLine(clean(settingRow)), MAX_SETTING_COLUMNS)}`);
  const remainingCount = settingRows.length - shownRows.length;
  if (remainingCount) shownRows.push(`    and ${remainingCount} more`);
  return shownRows.map((shownRow) => `\n${shownRow}`).join("");
}

function leavesOf(value: unknown, settingName = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return settingName
      ? [`${settingName}: ${/\bkey$/.test(settingName) ? "[key]" : JSON.stringify(value)}`]
      : [];
  return Object.entries(value).flatMap(([innerKey, inner]) =>
    leavesOf(inner, settingName ? `${settingName}.${innerKey}` : innerKey),
  );
}

function readText(broughtFile: string): string {
  try {
    return readFileSync(broughtFile, "utf8");
  } catch (error) {
    return sentenceOf(error);
  }
}
