// /copy and /save for answers, /edit for a message before it is sent.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Message, Programs, Zz } from "zz";
import {
  codeBlocks,
  fileToWrite,
  isInside,
  plural,
  sizeInWords,
  tryTo,
  visible,
  writeWhole,
} from "zz/text";

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
    complete: (typedText) => ["code"].filter((candidate) => candidate.startsWith(typedText)),
    run: copyAnswer,
  });
  zz.command({
    name: "save",
    usage: "FILE [all]",
    description: "write the last answer, or all, to a file",
    examples: {
      "/save notes.md": "write the last answer to a file",
      "/save talk.md all": "write the whole conversation",
    },
    complete: (typedText) =>
      /^\S+\s/.test(typedText) ? [`${typedText.trimEnd().replace(/\s+a?l?$/, "")} all`] : [],
    group,
    run: (argument, ctx) => saveToFile(zz, argument, ctx),
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
    run: editMessage,
  });
};

const answersOf = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === "assistant" && message.text ? [message.text] : [],
  );

// /copy

async function copyAnswer(argument: string, ctx: Ctx): Promise<void> {
  const { chat, note } = ctx;
  const typedWords = /^(code)?\s*([1-9]\d*)?$/.exec(argument);
  if (!typedWords)
    throw new Error(`Cannot copy '${argument}': use /copy, /copy N, /copy code or /copy code N.`);
  const [, codeWord, typedNumber = 1] = typedWords;
  const answers = answersOf(chat.messages);
  if (!answers.length) throw new Error("Cannot copy: there is no answer yet.");
  const copyable = codeWord
    ? codeBlocks(answers.at(-1)!).map(({ text }) => text)
    : answers.toReversed();
  const copiedText = copyable[Number(typedNumber) - 1];
  if (copiedText === undefined)
    throw new Error(
      `Cannot copy ${argument}: ` +
        `there ${copyable.length === 1 ? "is" : "are"} ${copyable.length || "none"}.`,
    );
  const usedMeans = [
    ...(toTerminal(copiedText, ctx) ? ["the terminal"] : []),
    ...(await toPrograms(copiedText, ctx)),
  ];
  if (!usedMeans.length)
    throw new Error(
      "Cannot copy: there is no terminal, nor wl-copy, xclip, " +
        "pbcopy or clip.exe. /save FILE writes it.",
    );
  note(`Copied ${plural(copiedText.length, "character")} (through ${usedMeans.join(" and ")}).`);
}

/**
 * OSC 52 also reaches the clipboard of another machine. There is no way to know whether the
 * terminal supports it.
 */
function toTerminal(copiedText: string, { io }: Ctx): boolean {
  const copiedBytes = Buffer.from(copiedText);
  const screen = [io.stdout, io.stderr].find((stream) => stream.isTTY);
  if (!screen || io.variable("TERM") === "dumb" || copiedBytes.length > MAX_OSC_BYTES) return false;
  screen.write(`\x1b]52;c;${copiedBytes.toString("base64")}\x07`);
  return true;
}

/** Gives the text to the first program that exists and accepts it. */
async function toPrograms(copiedText: string, { programs }: Ctx): Promise<string[]> {
  const { env, platform } = process;
  const copyPrograms: [name: string, args: string[], fits: unknown][] = [
    ["pbcopy", [], platform === "darwin"],
    ["clip.exe", [], platform === "win32" || env.WSL_DISTRO_NAME],
    ["wl-copy", [], env.WAYLAND_DISPLAY],
    ["xclip", ["-selection", "clipboard"], env.DISPLAY],
  ];
  for (const [programName, programArguments, isUsable] of copyPrograms)
    if (
      isUsable &&
      programs.find(programName) &&
      (await pipeInto(programs, programName, programArguments, copiedText))
    )
      return [programName];
  return [];
}

function pipeInto(
  programs: Programs,
  programName: string,
  programArguments: string[],
  pipedText: string,
): Promise<boolean> {
  return new Promise((resolve) => {
    const copyProcess = programs.start(programName, programArguments, {
      stdio: ["pipe", "ignore", "ignore"],
      timeout: 2_000,
    });
    copyProcess.on("error", () => resolve(false)).on("exit", (code) => resolve(code === 0));
    copyProcess.stdin!.on("error", () => {}).end(pipedText);
  });
}

// /save

async function saveToFile(zz: Zz, argument: string, ctx: Ctx): Promise<void> {
  const { chat, files, root, note } = ctx;
  const [, fileName = "", allWord] = /^(.*?)(\s+all)?$/s.exec(argument) ?? [];
  if (!fileName) throw new Error("Cannot save: give a file, /save FILE or /save FILE all.");
  const answers = answersOf(chat.messages);
  if (!answers.length) throw new Error(`Cannot save '${fileName}': there is no answer yet.`);
  const savedText = zz.veil(
    allWord ? conversation(chat.messages) : `${answers.at(-1)!.trimEnd()}\n`,
  );
  const savedFile = path.resolve(root, fileToWrite(fileName));
  const realFile = tryTo(() => files.path(savedFile)) ?? root;
  const isInProject = realFile !== root && isInside(root, realFile);
  if (isInProject) await writeInside(savedFile, savedText, ctx);
  else if (!(await writeOutside(savedFile, savedText, ctx))) return note("Nothing was written.");
  note(
    `Wrote ${visible(fileName)} (${sizeInWords(Buffer.byteLength(savedText))}).` +
      `${isInProject ? " /undo takes it back." : ""}`,
  );
}

const conversation = (messages: readonly Message[]): string =>
  messages
    .flatMap((message) => {
      if (message.role === "tool" || (message.role === "user" && message.aside) || !message.text)
        return [];
      const cutMark = message.role === "assistant" && message.cut ? "\n\n*(unfinished)*" : "";
      return [
        `## ${message.role === "user" ? "You" : "zz"}\n\n${message.text.trimEnd()}${cutMark}\n`,
      ];
    })
    .join("\n");

/**
 * The person typed the name, so a new file needs no question. An existing one is shown and asked
 * about.
 */
async function writeInside(
  savedFile: string,
  savedText: string,
  { files, permissions }: Ctx,
): Promise<void> {
  const writeRule = {
    verdict: "allow",
    kind: "write",
    name: savedFile,
    exact: true,
    from: "answer",
  } as const;
  const isNewFile = !fs.existsSync(savedFile);
  if (isNewFile) permissions.add(writeRule);
  try {
    await files.write(savedFile, savedText);
  } finally {
    if (isNewFile) permissions.drop(writeRule);
  }
}

/** False if the person says that the file is not to be overwritten. */
async function writeOutside(savedFile: string, savedText: string, { ask }: Ctx): Promise<boolean> {
  if (fs.statSync(savedFile, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`Cannot write '${savedFile}': it is a folder. Name a file in it.`);
  if (!fs.existsSync(path.dirname(savedFile)))
    throw new Error(`Cannot write '${savedFile}': its folder does not exist. Make it first.`);
  if (fs.existsSync(savedFile)) {
    if (!ask)
      throw new Error(`Cannot write '${savedFile}': it already exists. Choose another name.`);
    if ((await ask(`${savedFile} already exists. Overwrite it? [y/N] `, "yn")) !== "y")
      return false;
  }
  writeWhole(savedFile, savedText);
  return true;
}

// /edit

async function editMessage(argument: string, ctx: Ctx): Promise<void> {
  const { chat, note } = ctx;
  if (!ctx.edit)
    throw new Error("Cannot open an editor: there is no terminal here. Type the message instead.");
  const lastMessage = chat.messages.findLast(
    (message) => message.role === "user" && !message.aside,
  );
  const editedText = await ctx.edit(argument || lastMessage?.text || "", "message.md");
  if (!editedText?.trim()) return note("Nothing was sent.");
  chat.send(editedText.trim());
}
