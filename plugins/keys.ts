// Keys for the line: a line break, the person's editor, and Ctrl+Z, which suspends zz as it does
// every program, or undoes changes to files.
import type { Ctx, Line, Zz } from "zz";
import { visible } from "zz/text";

export const defaults = { ctrlZ: "suspend" };
export const settings = {
  schema: {
    type: "object",
    properties: {
      ctrlZ: {
        enum: ["undo", "suspend", "off"],
        description:
          "what Ctrl+Z does: suspend zz, undo the last change on an empty line, or nothing",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  zz.key({
    name: "meta+return",
    description:
      "begin a new line: Alt+Enter (also: end a line with \\, or write between three quotes)",
    press: (line) => insert(line, "\n"),
  });
  zz.key({
    name: "ctrl+g",
    description: "write the message in your editor",
    async press(line, ctx) {
      const text = await ctx.edit?.(line.text, "message.md");
      if (text !== undefined) line.set(text.trimEnd());
    },
  });
  zz.key({
    name: "ctrl+z",
    description:
      "stop zz until the shell continues it: fg (the setting keys.ctrlZ: suspend, undo or off)",
    press(line, ctx) {
      if (zz.config.ctrlZ === "suspend") return false;
      if (zz.config.ctrlZ === "undo" && !line.text) return undo(ctx);
    },
  });
};

function insert(line: Line, text: string): void {
  line.set(
    line.text.slice(0, line.cursor) + text + line.text.slice(line.cursor),
    line.cursor + text.length,
  );
}

async function undo({ files, ask, note }: Ctx): Promise<void> {
  const last = files.changes().findLast(({ undone }) => !undone);
  if (!last) return note("Nothing to undo.");
  const key = await ask?.(`Undo “${last.did} ${visible(last.path)}”? [y/N] `, "yn");
  if (key === "y") note((await files.undo("1")).text);
}
