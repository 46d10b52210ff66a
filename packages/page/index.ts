// A conversation as one HTML file (--export ID --page, /share, /export FILE.html), and as a page in
// the browser that converses (--serve).
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Saved, Zz } from "zz";
import { fileToWrite, oneLine, sizeInWords, tryTo, usage, writeWhole } from "zz/text";

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
    run: async (requestedPort, ctx) => {
      const { serve } = await import("./serve.ts");
      await serve(zz, ctx, parsePort(requestedPort));
      return { text: "" };
    },
  });
  zz.command({
    name: "share",
    usage: "[FILE]",
    description: "write this conversation as one HTML file, to read or to send",
    examples: { "/share": "write it beside your files", "/share talk.html": "name the file" },
    group: "sessions and model",
    async run(typedName, ctx) {
      if (!ctx.chat.messages.length)
        throw new Error("Cannot share this conversation: nothing was said in it.");
      const pageHtml = await html(savedOf(ctx), ctx);
      const namedPath = fileToWrite(typedName.trim());
      const targetFile = freeName(path.resolve(ctx.root, namedPath || PAGE_NAME));
      writeWhole(targetFile, pageHtml);
      ctx.note(
        `Wrote ${targetFile} (${sizeInWords(Buffer.byteLength(pageHtml))}). ` +
          "It holds all that was said and changed: read it before you send it.",
      );
    },
  });

  async function html(savedSession: Saved, ctx: Ctx): Promise<string> {
    const { pageOf } = await import("./page-of-session.ts");
    return pageOf(savedSession, {
      veil: (unveiledText) => zz.veil(unveiledText),
      hides: (changedFile) => ctx.permissions.secret(changedFile),
      describe: ({ name, args }) => ctx.about.line({ name, args }),
      home: zz.io.variable("HOME") || "/nowhere",
    });
  }
};

function parsePort(flagValue: string | boolean): number {
  if (flagValue === true) return 0;
  const portNumber = Number(flagValue);
  if (Number.isInteger(portNumber) && portNumber >= 0 && portNumber < 65_536) return portNumber;
  throw usage(`Cannot serve on port '${flagValue}': it is a number from 0 to 65535.`);
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

const PAGE_NAME = "zz-conversation.html";
const isFolder = (name: string): boolean => tryTo(() => fs.statSync(name).isDirectory()) ?? false;

/** The name itself, or with a number where it is taken; in a folder, the usual one. */
function freeName(wantedPath: string): string {
  const wantedFile = isFolder(wantedPath) ? path.join(wantedPath, PAGE_NAME) : wantedPath;
  const { dir, name, ext } = path.parse(wantedFile);
  if (!isFolder(dir))
    throw new Error(`Cannot write '${wantedFile}': its folder does not exist. Make it first.`);
  let freePath = wantedFile;
  for (let suffixNumber = 2; fs.existsSync(freePath); suffixNumber++)
    freePath = path.join(dir, `${name}-${suffixNumber}${ext}`);
  return freePath;
}
