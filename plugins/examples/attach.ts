// /attach: choose a file from a list; it goes with your next message. An example of ctx.pick().
import type { Zz } from "zz";

const MAX_CHOICES = 200;

export default (zz: Zz) =>
  zz.command({
    name: "attach",
    usage: "[PART OF A NAME]",
    description: "choose a file that goes with your next message",
    examples: {
      "/attach": "choose among all",
      "/attach test": "among those with test in their names",
    },
    async run(argument, { files, chat, note, pick }) {
      if (!pick)
        throw new Error(
          "Cannot attach a file here: there is no terminal to choose on. Name it with -f FILE.",
        );
      const names = (await files.list()).filter((name) =>
        name.toLowerCase().includes(argument.toLowerCase()),
      );
      if (!names.length)
        throw new Error(
          `Cannot attach '${argument}': no file has that in its name. /attach lists all.`,
        );
      const limitNote =
        names.length > MAX_CHOICES ? ` (the first ${MAX_CHOICES} of ${names.length})` : "";
      const name =
        names.length === 1
          ? names[0]
          : await pick(`Which file?${limitNote}`, names.slice(0, MAX_CHOICES));
      if (name === undefined) return note("Nothing was attached.");
      const { text } = await files.read(name);
      chat.attach(`--- FILE ${name} ---\n${text.trimEnd()}\n--- END ---`);
      note(`'${name}' goes with your next message.`);
    },
  });
