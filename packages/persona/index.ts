// Who zz is: IDENTITY.md, SOUL.md and RELATIONS.md, from the project's .zz/, else from the home;
// and the tools with which the model writes its own name and soul: the person sees all of it and is
// asked, and /undo works as usual.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Needs, Zz } from "zz";
import { stampOf } from "zz/text";

const PERSONA_LAYERS = [
  { name: "identity", slot: "identity" },
  { name: "soul", slot: "identity" },
  { name: "relations", slot: "memory" },
] as const;
const MAX_NAME_CHARS = 64;
const MAX_SOUL_CHARS = 8_000;
const MAX_LINE_CHARS = 4_000; // a question shows only the ends of longer lines
const DIFF_LINES = 150; // a diff with no more than these is always shown whole

interface File {
  name: string; // as messages show it
  at: string;
  own: boolean; // whether it is the project's
}

type LastRead = { stamp: string; text: string };

export default (zz: Zz) => {
  let homeFolder: string | undefined;
  // by file, as it was when it was last read
  const lastRead = new Map<string, LastRead>();
  for (const { name, slot } of PERSONA_LAYERS)
    zz.layer({
      name,
      slot,
      text(ctx) {
        homeFolder ??= ctx.about.home; // once: ctx.about collects everything
        return readLayer(nearest(`${name.toUpperCase()}.md`, homeFolder, ctx), ctx, lastRead);
      },
    });

  zz.tool({
    name: "rename_self",
    description: "Take another name, when the person gives you one.",
    aliases: ["self_rename"],
    params: { name: "string the new name" },
    changes: true,
    needs: ({ name }, ctx) => {
      checkName(name.trim());
      return needsToRead(nearest("IDENTITY.md", ctx.about.home, ctx));
    },
    async run({ name: newName }, ctx) {
      const trimmedName = newName.trim();
      const identityFile = nearest("IDENTITY.md", ctx.about.home, ctx);
      const identityText = fs.existsSync(identityFile.at)
        ? decodeText(identityFile.name, (await ctx.files.read(identityFile.at)).bytes)
        : "";
      await ctx.files.write(identityFile.at, withName(identityText, trimmedName));
      return `Your name is ${trimmedName} from now on, by ${identityFile.name}.`;
    },
  });
  zz.tool({
    name: "update_soul",
    description: "Rewrite your soul: who you are and how you behave, as the person wants it.",
    aliases: ["self_update_soul"],
    also: { text: ["content", "soul"] },
    params: { text: `string all of it, at most ${MAX_SOUL_CHARS} characters` },
    changes: true,
    needs: ({ text }) => {
      checkSoul(text);
      return {};
    },
    async run({ text }, ctx) {
      const soulFile = nearest("SOUL.md", ctx.about.home, ctx);
      await ctx.files.write(soulFile.at, `${text.trim()}\n`);
      return `From now on you are as ${soulFile.name} says.`;
    },
  });
  // A question cuts a long diff, but the person must see every line of a soul.
  zz.wrap("preview", async (previewInput, runNext) => {
    const { tool, about, changes } = previewInput;
    const hasLongChange = changes.some(({ after = "" }) => after.split("\n").length > DIFF_LINES);
    if (tool !== "update_soul" || !hasLongChange) return runNext(previewInput);
    return [about, ...changes.map(fullText)].filter(Boolean).join("\n\n");
  });
};

const fullText = ({ path: fileName, after = "" }: { path: string; after?: string }): string =>
  `${fileName}, all of it:\n${after.trimEnd()}`;
/**
 * The text of a layer. An unchanged file is not read again in each turn. A project's file is
 * marked as such.
 */
async function readLayer(
  { name, at, own }: File,
  { files, permissions }: Ctx,
  lastRead: Map<string, LastRead>,
): Promise<string | undefined> {
  const stamp = stampOf(at);
  if (!stamp) return undefined;
  const cachedRead = lastRead.get(at);
  // a rule may deny it meanwhile
  const mayRead = !own || permissions.judge("read", name).verdict === "allow";
  if (cachedRead?.stamp === stamp && mayRead) return cachedRead.text;
  // a link may leave the project
  const fileBytes = own ? (await files.read(name)).bytes : fs.readFileSync(at);
  const fileText = decodeText(name, fileBytes);
  const markedText =
    own && fileText ? `From ${name}, which this project brings:\n${fileText}` : fileText;
  lastRead.set(at, { stamp, text: markedText });
  return markedText;
}

/** The project's file hides the home's, even if it is empty. */
function nearest(fileName: string, homeFolder: string, { root }: Pick<Ctx, "root">): File {
  const projectFile = path.join(root, ".zz", fileName);
  const homeFile = path.join(homeFolder, fileName);
  return projectFile !== homeFile && fs.existsSync(projectFile)
    ? { name: `.zz/${fileName}`, at: projectFile, own: true }
    : { name: homeFile, at: homeFile, own: false };
}

/** The home's file may always be read; a project's may be a link to anywhere. */
function needsToRead({ at, own }: File): Needs {
  if (!fs.existsSync(at)) return {};
  return { read: [own ? at : { name: at, verdict: "allow", why: "it says who zz is" }] };
}

function decodeText(fileName: string, fileBytes: Uint8Array): string {
  if (fileBytes.subarray(0, 8_192).includes(0))
    throw new Error(`Cannot use '${fileName}': it is not text. Write it again.`);
  return new TextDecoder().decode(fileBytes).trim();
}

/** Replaces the name in the sentence that states it, or puts that sentence first. */
function withName(identityText: string, personaName: string): string {
  const sentence = `Your name is ${personaName}.`;
  const existing = /^Your name is [^\n]*?\.(?=\s|$)/m;
  if (existing.test(identityText)) return `${identityText.replace(existing, () => sentence)}\n`;
  return identityText ? `${sentence}\n\n${identityText}\n` : `${sentence}\n`;
}

function checkName(personaName: string): void {
  const refuse = (reason: string) =>
    new Error(
      `Cannot take the name '${[...personaName].slice(0, MAX_NAME_CHARS).join("")}': ${reason}`,
    );
  if (!personaName) throw refuse("it is empty. Give one.");
  if ([...personaName].length > MAX_NAME_CHARS)
    throw refuse(`it has more than ${MAX_NAME_CHARS} characters. Shorten it.`);
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(personaName))
    throw refuse("a name is one line of visible characters.");
  if (/\.(\s|$)/.test(personaName))
    throw refuse("a full stop in it would end the sentence that tells it. Leave it out.");
}

function checkSoul(soulText: string): void {
  const refuse = (reason: string) => new Error(`Cannot write that: ${reason}`);
  if (!soulText.trim()) throw refuse("it is empty. Say how you are.");
  if (soulText.length > MAX_SOUL_CHARS)
    throw refuse(`${soulText.length} characters are too many (${MAX_SOUL_CHARS}). Shorten it.`);
  if (soulText.split("\n").some((soulLine) => soulLine.length > MAX_LINE_CHARS))
    throw refuse(
      `a line of more than ${MAX_LINE_CHARS} characters cannot be shown whole. Break it.`,
    );
  if (/(?![\n\r\t\u200c\u200d])\p{C}/u.test(soulText))
    throw refuse("it holds characters that cannot be shown. Leave them out.");
}
