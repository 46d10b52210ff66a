// Who zz is: IDENTITY.md, SOUL.md and RELATIONS.md, from the project's .zz/, else from the home;
// and the tools with which the model writes its own name and soul: the person sees all of it and is
// asked, and /undo works as usual.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Needs, Zz } from "zz";
import { stampOf } from "zz/text";

const LAYERS = [
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
  let home: string | undefined;
  // by file, as it was when it was last read
  const lastRead = new Map<string, LastRead>();
  for (const { name, slot } of LAYERS)
    zz.layer({
      name,
      slot,
      text(ctx) {
        home ??= ctx.about.home; // once: ctx.about collects everything
        return textOf(nearest(`${name.toUpperCase()}.md`, home, ctx), ctx, lastRead);
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
      return reads(nearest("IDENTITY.md", ctx.about.home, ctx));
    },
    async run({ name: newName }, ctx) {
      const name = newName.trim();
      const file = nearest("IDENTITY.md", ctx.about.home, ctx);
      const before = fs.existsSync(file.at)
        ? textIn(file.name, (await ctx.files.read(file.at)).bytes)
        : "";
      await ctx.files.write(file.at, withName(before, name));
      return `Your name is ${name} from now on, by ${file.name}.`;
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
      const file = nearest("SOUL.md", ctx.about.home, ctx);
      await ctx.files.write(file.at, `${text.trim()}\n`);
      return `From now on you are as ${file.name} says.`;
    },
  });
  // A question cuts a long diff, but the person must see every line of a soul.
  zz.wrap("preview", async (input, next) => {
    const { tool, about, changes } = input;
    const isLong = changes.some(({ after = "" }) => after.split("\n").length > DIFF_LINES);
    if (tool !== "update_soul" || !isLong) return next(input);
    return [about, ...changes.map(fullText)].filter(Boolean).join("\n\n");
  });
};

const fullText = ({ path: name, after = "" }: { path: string; after?: string }): string =>
  `${name}, all of it:\n${after.trimEnd()}`;
/**
 * The text of a layer. An unchanged file is not read again in each turn. A project's file is
 * marked as such.
 */
async function textOf(
  { name, at, own }: File,
  { files, permissions }: Ctx,
  lastRead: Map<string, LastRead>,
): Promise<string | undefined> {
  const stamp = stampOf(at);
  if (!stamp) return undefined;
  const last = lastRead.get(at);
  // a rule may deny it meanwhile
  const mayRead = !own || permissions.judge("read", name).verdict === "allow";
  if (last?.stamp === stamp && mayRead) return last.text;
  // a link may leave the project
  const bytes = own ? (await files.read(name)).bytes : fs.readFileSync(at);
  const text = textIn(name, bytes);
  const block = own && text ? `From ${name}, which this project brings:\n${text}` : text;
  lastRead.set(at, { stamp, text: block });
  return block;
}

/** The project's file hides the home's, even if it is empty. */
function nearest(name: string, home: string, { root }: Pick<Ctx, "root">): File {
  const projectFile = path.join(root, ".zz", name);
  const isOwn = path.join(root, ".zz") !== home && fs.existsSync(projectFile);
  return isOwn
    ? { name: `.zz/${name}`, at: projectFile, own: true }
    : { name: path.join(home, name), at: path.join(home, name), own: false };
}

/** The home's file may always be read; a project's may be a link to anywhere. */
function reads({ at, own }: File): Needs {
  if (!fs.existsSync(at)) return {};
  return { read: [own ? at : { name: at, verdict: "allow", why: "it says who zz is" }] };
}

function textIn(file: string, bytes: Uint8Array): string {
  if (bytes.subarray(0, 8_192).includes(0))
    throw new Error(`Cannot use '${file}': it is not text. Write it again.`);
  return new TextDecoder().decode(bytes).trim();
}

/** Replaces the name in the sentence that states it, or puts that sentence first. */
function withName(text: string, name: string): string {
  const sentence = `Your name is ${name}.`;
  const existing = /^Your name is [^\n]*?\.(?=\s|$)/m;
  if (existing.test(text)) return `${text.replace(existing, () => sentence)}\n`;
  return text ? `${sentence}\n\n${text}\n` : `${sentence}\n`;
}

function checkName(name: string): void {
  const refuse = (reason: string) =>
    new Error(`Cannot take the name '${[...name].slice(0, MAX_NAME_CHARS).join("")}': ${reason}`);
  if (!name) throw refuse("it is empty. Give one.");
  if ([...name].length > MAX_NAME_CHARS)
    throw refuse(`it has more than ${MAX_NAME_CHARS} characters. Shorten it.`);
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) throw refuse("a name is one line of visible characters.");
  if (/\.(\s|$)/.test(name))
    throw refuse("a full stop in it would end the sentence that tells it. Leave it out.");
}

function checkSoul(text: string): void {
  const refuse = (reason: string) => new Error(`Cannot write that: ${reason}`);
  if (!text.trim()) throw refuse("it is empty. Say how you are.");
  if (text.length > MAX_SOUL_CHARS)
    throw refuse(`${text.length} characters are too many (${MAX_SOUL_CHARS}). Shorten it.`);
  if (text.split("\n").some((line) => line.length > MAX_LINE_CHARS))
    throw refuse(
      `a line of more than ${MAX_LINE_CHARS} characters cannot be shown whole. Break it.`,
    );
  if (/(?![\n\r\t\u200c\u200d])\p{C}/u.test(text))
    throw refuse("it holds characters that cannot be shown. Leave them out.");
}
