// What a project brings in .zz/ (plugins, prompts, settings that could run something) counts once the person said yes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Ctx, Trust, Zz } from "zz";

export default (zz: Zz) => {
  zz.flag({
    name: "trust",
    value: "no",
    optional: true,
    description: "say yes to what this folder brings in .zz/; =no takes it back",
    async run(value, { plugins }) {
      if (value !== true && value !== "no") throw usage(`Cannot use --trust '${value}': give 'no', or nothing.`);
      await plugins.trust(value === true);
      const { files = [] } = plugins.brought ?? {};
      const held = value === true ? `Trusted, as they are now: ${files.join(", ")}.` : "This folder is not trusted.";
      return { text: held };
    },
  });
  zz.command({
    name: "trust",
    usage: "[no]",
    description: "show what this folder brings in .zz/, and load it or not",
    group: "settings",
    async run(rest, ctx) {
      const { plugins, ask, note } = ctx;
      const { brought } = plugins;
      if (rest && rest !== "no") return note("Cannot use that: /trust takes 'no', or nothing.");
      if (!brought) return note("There is nothing in this folder's .zz/ that could run.");
      if (brought.wrong) return note(`Cannot trust this folder: ${brought.wrong}.`);
      if (!rest && brought.given) return note(`${list(brought)}\nYou said yes to it. /trust no takes that back.`);
      if (!rest && !ask) return note(`${list(brought)}\nNobody is here to say yes. --trust does.`);
      const yes = !rest && (await asked(ctx, brought));
      const done = await plugins.trust(yes);
      for (const { name, did, why } of done) note(why ?? `Plugin '${name}' ${did}.`);
      if (!yes) note("Left out. /trust asks again.");
    },
  });
};

const usage = (message: string): Error => Object.assign(new Error(message), { exit: 2 });

async function asked({ root, ask, note }: Ctx, brought: Trust): Promise<boolean> {
  const since = brought.changed ? ", and it changed since you said yes" : "";
  note(`This folder brings code or words of its own for zz${since}:\n${list(brought)}`);
  for (;;) {
    const key = await ask!("It would run with all your rights. Load it? [y]es, [n]o, [s]how it: ", "yns");
    if (key !== "s") return key === "y";
    for (const name of brought.files) note(`--- ${name} ---\n${text(join(root, name)).trimEnd()}\n`);
  }
}

const MOST = 20;

function list({ files, changed }: Trust): string {
  const gone = changed?.filter((name) => !files.includes(name)) ?? [];
  const row = (name: string) =>
    `  ${name}${changed?.includes(name) ? (gone.includes(name) ? "  (gone)" : "  (new or changed)") : ""}`;
  const rows = [...files, ...gone].map(row);
  const more = rows.length > MOST ? [`  and ${rows.length - MOST} more`] : [];
  return [...rows.slice(0, MOST), ...more].join("\n");
}

function text(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    return (error as Error).message;
  }
}
