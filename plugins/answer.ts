// /copy and /save for answers, /edit for a message before it is sent.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Message, Programs, Zz } from "zz";
import { plural, visible, writeWhole } from "zz/text";

const MAX_OSC_BYTES = 74_994; // terminals ignore longer texts

export default (zz: Zz) => {
  const group = "conversation";
  zz.command({
    name: "copy",
    usage: "[N | code [N]]",
    description: "copy the last answer, the Nth last, or its code",
    examples: {
      "/copy": "copy the last answer",
      "/copy 2": "copy the one before it",
      "/copy code": "copy its block of code",
      "/copy code 2": "copy the second block",
    },
    group,
    complete: (typed) => ["code"].filter((word) => word.startsWith(typed)),
    run: copy,
  });
  zz.command({
    name: "save",
    usage: "FILE [all]",
    description: "write the last answer, or all, to a file",
    examples: {
      "/save notes.md": "write the last answer to a file",
      "/save talk.md all": "write the whole conversation",
    },
    complete: (typed) =>
      /^\S+\s/.test(typed) ? [`${typed.trimEnd().replace(/\s+a?l?$/, "")} all`] : [],
    group,
    run: (argument, ctx) => save(zz, argument, ctx),
  });
  zz.command({
    name: "edit",
    usage: "[TEXT]",
    description: "write a message in your own editor",
    examples: {
      "/edit": "edit your last message, and send it",
      "/edit Rewrite this:": "begin with these words",
    },
    group,
    run: edit,
  });
};

const answersOf = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === "assistant" && message.text ? [message.text] : [],
  );

/** The text between fences, without them. */
export function codeBlocks(markdown: string): string[] {
  const blocks: string[] = [];
  let open: { fence: string; indent: number; lines: string[] } | undefined;
  for (const line of markdown.split("\n")) {
    const [, indent = "", fence = ""] = /^( *)(`{3,}|~{3,})/.exec(line) ?? [];
    if (!open && fence) open = { fence, indent: indent.length, lines: [] };
    else if (open && fence.startsWith(open.fence) && line.trim() === fence) {
      blocks.push(open.lines.join("\n"));
      open = undefined;
    } else
      open?.lines.push(line.slice(Math.min(open.indent, line.length - line.trimStart().length)));
  }
  return open ? [...blocks, open.lines.join("\n")] : blocks;
}

// /copy

async function copy(argument: string, ctx: Ctx): Promise<void> {
  const { chat, note } = ctx;
  const [, code, digits = "1"] = /^(code)?\s*([1-9]\d*)?$/.exec(argument) ?? [
    undefined,
    undefined,
    "",
  ];
  if (!digits)
    throw new Error(`Cannot copy '${argument}': use /copy, /copy N, /copy code or /copy code N.`);
  const answers = answersOf(chat.messages);
  if (!answers.length) throw new Error("Cannot copy: there is no answer yet.");
  const from = code ? codeBlocks(answers.at(-1)!) : answers.toReversed();
  const text = from[Number(digits) - 1];
  if (text === undefined)
    throw new Error(
      `Cannot copy ${argument}: there ${from.length === 1 ? "is" : "are"} ${from.length || "none"}.`,
    );
  const means = [
    ...(toTerminal(text, ctx) ? ["the terminal"] : []),
    ...(await toPrograms(text, ctx)),
  ];
  if (!means.length)
    throw new Error(
      "Cannot copy: there is no terminal, nor wl-copy, xclip, pbcopy or clip.exe. /save FILE writes it.",
    );
  note(`Copied ${plural(text.length, "character")} (through ${means.join(" and ")}).`);
}

/**
 * OSC 52 also reaches the clipboard of another machine. There is no way to know whether the
 * terminal supports it.
 */
function toTerminal(text: string, { io }: Ctx): boolean {
  const bytes = Buffer.from(text);
  const screen = [io.stdout, io.stderr].find((stream) => stream.isTTY);
  if (!screen || io.variable("TERM") === "dumb" || bytes.length > MAX_OSC_BYTES) return false;
  screen.write(`\x1b]52;c;${bytes.toString("base64")}\x07`);
  return true;
}

/** Gives the text to the first program that exists and accepts it. */
async function toPrograms(text: string, { programs }: Ctx): Promise<string[]> {
  const { env, platform } = process;
  const means: [name: string, args: string[], fits: unknown][] = [
    ["pbcopy", [], platform === "darwin"],
    ["clip.exe", [], platform === "win32" || env.WSL_DISTRO_NAME],
    ["wl-copy", [], env.WAYLAND_DISPLAY],
    ["xclip", ["-selection", "clipboard"], env.DISPLAY],
  ];
  for (const [name, args, fits] of means)
    if (fits && programs.find(name) && (await piped(programs, name, args, text))) return [name];
  return [];
}

async function piped(
  programs: Programs,
  name: string,
  args: string[],
  text: string,
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = programs.start(name, args, {
      stdio: ["pipe", "ignore", "ignore"],
      timeout: 2_000,
    });
    child.on("error", () => resolve(false)).on("exit", (code) => resolve(code === 0));
    child.stdin!.on("error", () => {}).end(text);
  });
}

// /save

async function save(zz: Zz, argument: string, ctx: Ctx): Promise<void> {
  const { chat, root, note } = ctx;
  const [, fileName = "", allWord] = /^(.*?)(\s+all)?$/s.exec(argument) ?? [];
  if (!fileName) throw new Error("Cannot save: give a file, /save FILE or /save FILE all.");
  const answers = answersOf(chat.messages);
  if (!answers.length) throw new Error(`Cannot save '${fileName}': there is no answer yet.`);
  const text = zz.veil(allWord ? conversation(chat.messages) : `${answers.at(-1)!.trimEnd()}\n`);
  const file = path.resolve(root, fileName.replace(/^~(?=\/|$)/, process.env.HOME ?? "~"));
  const wrote = (await isInside(file, ctx))
    ? await writeInside(file, text, ctx)
    : await writeOutside(file, text, ctx);
  if (wrote)
    note(
      `Wrote ${visible(fileName)} (${plural(text.length, "character")}).${wrote === "inside" ? " /undo takes it back." : ""}`,
    );
}

const conversation = (messages: readonly Message[]): string =>
  messages
    .flatMap((message) => {
      if (message.role === "tool" || (message.role === "user" && message.aside) || !message.text)
        return [];
      const mark = message.role === "assistant" && message.cut ? "\n\n*(unfinished)*" : "";
      return [`## ${message.role === "user" ? "You" : "zz"}\n\n${message.text.trimEnd()}${mark}\n`];
    })
    .join("\n");

async function isInside(file: string, { root, files }: Ctx): Promise<boolean> {
  try {
    const there = path.relative(root, files.path(file));
    return (
      there !== "" &&
      there !== ".." &&
      !there.startsWith(`..${path.sep}`) &&
      !path.isAbsolute(there)
    );
  } catch {
    return false;
  }
}

/**
 * The person typed the name, so a new file needs no question. An existing one is shown and asked
 * about.
 */
async function writeInside(
  file: string,
  text: string,
  { files, permissions }: Ctx,
): Promise<"inside"> {
  const rule = {
    verdict: "allow",
    kind: "write",
    name: file,
    exact: true,
    from: "answer",
  } as const;
  const isNew = !fs.existsSync(file);
  if (isNew) permissions.add(rule);
  try {
    await files.write(file, text);
  } finally {
    if (isNew) permissions.drop(rule);
  }
  return "inside";
}

async function writeOutside(
  file: string,
  text: string,
  { ask, note }: Ctx,
): Promise<"outside" | undefined> {
  if (fs.statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`Cannot write '${file}': it is a folder. Name a file in it.`);
  if (!fs.existsSync(path.dirname(file)))
    throw new Error(`Cannot write '${file}': its folder does not exist. Make it first.`);
  if (fs.existsSync(file)) {
    if (!ask) throw new Error(`Cannot write '${file}': it already exists. Choose another name.`);
    if ((await ask(`${file} already exists. Overwrite it? [y/N] `, "yn")) !== "y")
      return void note("Nothing was written.");
  }
  writeWhole(file, text);
  return "outside";
}

// /edit

async function edit(argument: string, ctx: Ctx): Promise<void> {
  const { chat, note } = ctx;
  if (!ctx.edit)
    throw new Error("Cannot open an editor: there is no terminal here. Type the message instead.");
  const last = chat.messages.findLast((message) => message.role === "user" && !message.aside);
  const saved = await ctx.edit(argument || last?.text || "", "message.md");
  if (!saved?.trim()) return note("Nothing was sent.");
  chat.send(saved.trim());
}
