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
        return note("Cannot use that: /trust takes 'no', or nothing.");
      if (!brought)
        return note("There is nothing in this folder's .zz/ or .mcp.json that could run.");
      if (brought.wrong) return note(`Cannot trust this folder: ${brought.wrong}.`);
      if (!argument && brought.given && brought.sends && ask) return askWhere(ctx);
      if (!argument && brought.given)
        return note(`${list(brought)}\nYou trust it. /trust no takes that back.`);
      if (!argument && !ask)
        return note(`${list(brought)}\nThere is no terminal to ask on. --trust trusts it.`);
      const yes = !argument && (await confirmTrust(ctx, brought));
      const done = await plugins.trust(yes);
      for (const { name, did, why: reason } of done) note(reason ?? `Plugin '${name}' ${did}.`);
      if (!yes) return note("Left out. /trust asks again.");
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
async function setTrust(value: unknown, ctx: Ctx): Promise<Result> {
  if (value !== true && value !== "no")
    throw usage(`Cannot use --trust '${value}': give 'no', or nothing.`);
  await ctx.plugins.trust(value === true);
  const { plugins } = ctx;
  const { files = [] } = plugins.brought ?? {};
  const state =
    value === true
      ? `Trusted, as they are now: ${files.join(", ")}.`
      : "This folder is not trusted.";
  const { sends = [] } = plugins.brought ?? {};
  return {
    text: [
      state,
      ...sends.map((target) => `Not included: ${describe(target)}. ${HOW_TO_REDIRECT}`),
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
  const rows = sends.map((target) => `  ${describe(target)}.`).join("\n");
  const key = await ctx.ask(
    `Its settings would also send things elsewhere:\n${rows}\nAllow that? [y/N] `,
    "yn",
  );
  if (key === "y") await ctx.plugins.trust(true, sends);
  else ctx.note(`Left out: nothing is sent elsewhere. ${HOW_TO_REDIRECT}`);
}

async function confirmTrust({ root, ask }: Ctx, brought: Trust): Promise<boolean> {
  const since = brought.changed ? ", and it changed since you trusted it" : "";
  for (
    let shown = `This folder brings plugins, prompts, settings or MCP servers of its own${since}:\n${list(brought)}${settingsOf(root, brought)}`;
    ;
  ) {
    const key = await ask!(
      `${shown}\nIt would run with all your rights. Load it? [y]es, [n]o, [s]how it: `,
      "yns",
    );
    if (key !== "s") return key === "y";
    shown = brought.files
      .map((name) => `--- ${name} ---\n${text(join(root, name)).trimEnd()}\n`)
      .join("\n");
  }
}

function list({ files, changed }: Trust): string {
  const gone = changed?.filter((name) => !files.includes(name)) ?? [];
  const row = (name: string) => {
    if (!changed?.includes(name)) return `  ${name}`;
    return `  ${name}  ${gone.includes(name) ? "(gone)" : "(new or changed)"}`;
  };
  return [...files, ...gone].map(row).join("\n");
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
  const rows = leavesOf(tryTo(() => JSON.parse(text(join(root, SETTINGS)))));
  const shown = rows
    .slice(0, MAX_SETTINGS)
    .map((row) => `    ${clip(oneLine(clean(row)), MAX_SETTING_COLUMNS)}`);
  const remainingCount = rows.length - shown.length;
  return [...shown, ...(remainingCount > 0 ? [`    and ${remainingCount} more`] : [])]
    .map((row) => `\n${row}`)
    .join("");
}

function leavesOf(value: unknown, name = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return name ? [`${name}: ${/\bkey$/.test(name) ? "[key]" : JSON.stringify(value)}`] : [];
  return Object.entries(value).flatMap(([key, inner]) =>
    leavesOf(inner, name ? `${name}.${key}` : key),
  );
}

function text(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    return sentenceOf(error);
  }
}
