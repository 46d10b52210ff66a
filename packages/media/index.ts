// Pictures, PDFs and sound for the model: -a FILE|URL|-, /paste, and /detach, which takes them
// back. A model that cannot take them is not asked.
import type { Ctx, Image, Zz } from "zz";
import { plural } from "zz/text";

/** What goes with the next message; a text is a block of its own. */
export type Attachment = { label: string; what: Image | string };

export default (zz: Zz) => {
  const waiting: Attachment[] = [];
  const attachWaiting = (chat: Ctx["chat"]) => {
    for (const { what } of waiting.splice(0)) chat.attach(what);
  };

  zz.flag({
    name: "attachment",
    short: "a",
    value: "FILE|URL|-",
    many: true,
    group: "asking",
    description: "attach an image, a PDF or a sound; - is the pipe",
    async set(mediaSource) {
      const { load } = await import("./load.ts");
      waiting.push(await load(zz, String(mediaSource)));
    },
  });

  // A single answer takes them at once: its words may come through a pipe, which passes no wrapper
  // of lines.
  zz.on("started", ({ stays }, { chat, note }) => {
    if (stays && waiting.length) note(attachedNote(waiting));
    if (!stays) attachWaiting(chat);
  });
  zz.wrap("line", async (typedLine, runNext, ctx) => {
    if (isMessage(typedLine, ctx)) attachWaiting(ctx.chat);
    return runNext(typedLine);
  });

  addCommands(zz, waiting);
  zz.wrap("request", async (request, runNext, ctx) => {
    if (!request.messages.some((message) => message.role !== "assistant" && message.images?.length))
      return runNext(request);
    const { withoutUnfitMedia } = await import("./unfit-media.ts");
    return runNext(withoutUnfitMedia(request, await ctx.about.model(request.model, true)));
  });
};

function addCommands(zz: Zz, waiting: Attachment[]): void {
  zz.key({
    name: "ctrl+v",
    description: "attach the image that is in the clipboard, or its text",
    press: (_, ctx) => ctx.command("paste"),
  });
  zz.command({
    name: "paste",
    description: "attach the image that is in the clipboard",
    examples: { "/paste": "it goes with your next message" },
    group: "conversation",
    async run(_rest, { programs, note, signal }) {
      const { clipboard } = await import("./clipboard.ts");
      waiting.push(await clipboard(programs, signal));
      note(`${attachedNote(waiting)} /detach takes it back.`);
    },
  });
  zz.command({
    name: "detach",
    usage: "[N | all]",
    description: "take back what is attached",
    examples: {
      "/detach": "the last one",
      "/detach 1": "the first one",
      "/detach all": "all of them",
    },
    group: "conversation",
    complete: () => waiting.map(({ label }, i) => ({ name: String(i + 1), description: label })),
    run(typedText, { note }) {
      const number = typedText === "" ? waiting.length : Number(typedText);
      const takeOne = () =>
        Number.isInteger(number) && number > 0 ? waiting.splice(number - 1, 1) : [];
      const detached = typedText === "all" ? waiting.splice(0) : takeOne();
      if (!detached.length && waiting.length)
        throw new Error(
          `Cannot detach '${typedText}': no such attachment. ${attachedNote(waiting)}`,
        );
      note(
        detached.length
          ? `Taken back: ${describeList(detached)}. ${attachedNote(waiting)}`
          : attachedNote(waiting),
      );
    },
  });
}

const attachedNote = (waiting: Attachment[]): string =>
  waiting.length ? `With your next message: ${describeList(waiting)}.` : "Nothing is attached.";

const describeList = (attachments: Attachment[]): string =>
  attachments.length > 1
    ? `${plural(attachments.length, "attachment")} ` +
      `(${attachments.map(({ label }, i) => `${i + 1}: ${label}`).join("; ")})`
    : attachments[0]!.label;

/** Whether the line is a message; a command of a prompt template is one too. */
function isMessage(typedLine: string, { about }: Ctx): boolean {
  const commandName = typedLine.trim().includes("\n")
    ? undefined
    : /^\/([A-Za-z][\w-]*)(?:\s|$)/.exec(typedLine.trim())?.[1];
  if (commandName)
    return about.commands.some(
      (command) => command.name === commandName && command.group === "templates",
    );
  return typedLine.trim() !== "" && !typedLine.startsWith("!");
}
