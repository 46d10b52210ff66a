// A conversation as one HTML file (--export ID --page, /share, /export FILE.html), and as a page in
// the browser that converses (--serve).
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Saved, Zz } from "zz";
import { oneLine, usage, writeWhole } from "zz/text";

export default (zz: Zz) => {
  zz.flag({
    name: "page",
    group: "the conversation",
    description: "with --export: as one HTML file that needs nothing else",
  });
  zz.service("page", { html });
  zz.flag({
    name: "serve",
    value: "PORT",
    optional: true,
    group: "other programs",
    description: "a page on this machine that converses, for any number of browsers",
    run: async (port, ctx) => {
      const { serve } = await import("./serve.ts");
      await serve(zz, ctx, portIn(port));
      return { text: "" };
    },
  });
  zz.command({
    name: "share",
    usage: "[FILE]",
    description: "write this conversation as one HTML file, to read or to send",
    examples: { "/share": "write it beside your files", "/share talk.html": "name the file" },
    group: "sessions and model",
    async run(name, ctx) {
      if (!ctx.chat.messages.length)
        throw new Error("Cannot share this conversation: nothing was said in it.");
      const page = await html(savedOf(ctx), ctx);
      const file = freeName(path.resolve(ctx.root, name.trim() || "zz-conversation.html"));
      writeWhole(file, page);
      const kilobytes = Math.ceil(Buffer.byteLength(page) / 1_000);
      ctx.note(
        `Wrote ${file} (${kilobytes} kB). It holds all that was said and changed: read it before you send it.`,
      );
    },
  });

  async function html(saved: Saved, ctx: Ctx): Promise<string> {
    const { pageOf } = await import("./page-of-session.ts");
    return pageOf(saved, {
      veil: (text) => zz.veil(text),
      hides: (file) => ctx.permissions.secret(file),
      describe: ({ name, args }) => ctx.about.line({ name, args }),
      home: zz.io.variable("HOME") || "/nowhere",
    });
  }
};

function portIn(value: string | boolean): number {
  if (value === true) return 0;
  const port = Number(value);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw usage(`Cannot serve on port '${value}': it is a number from 0 to 65535.`);
}

/** The conversation in force, saved or not. */
function savedOf({ chat, root, sessions }: Ctx): Saved {
  if (chat.id) return sessions.read(chat.id);
  const { entries, branch } = chat.tree();
  const at = entries[0]?.at ?? new Date().toISOString();
  const title = oneLine(chat.messages[0]?.text ?? "");
  const header = { zz: 1 as const, id: "unsaved", at, root, model: chat.model, title };
  return { header, entries, branch: () => [...branch] };
}

/** The name itself, or with a number where it is taken. */
function freeName(file: string): string {
  const { dir, name, ext } = path.parse(file);
  if (!fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`Cannot write '${file}': its folder does not exist. Make it first.`);
  let free = file;
  for (let number = 2; fs.existsSync(free); number++)
    free = path.join(dir, `${name}-${number}${ext || ".html"}`);
  return free;
}
