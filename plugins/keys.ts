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
    press: (editedLine) => insertText(editedLine, "\n"),
  });
  zz.key({
    name: "ctrl+g",
    description: "write the message in your editor",
    async press(editedLine, ctx) {
      const editedText = await ctx.edit?.(editedLine.text, "message.md");
      if (editedText !== undefined) editedLine.set(editedText.trimEnd());
    },
  });
  zz.key({
    name: "ctrl+z",
    description:
      "stop zz until the shell continues it: fg (the setting keys.ctrlZ: suspend, undo or off)",
    press(editedLine, ctx) {
      if (zz.config.ctrlZ === "suspend") return false;
      if (zz.config.ctrlZ === "undo" && !editedLine.text) return undoLastChange(ctx);
    },
  });
};

function insertText(editedLine: Line, insertedText: string): void {
  editedLine.set(
    editedLine.text.slice(0, editedLine.cursor) +
      insertedText +
      editedLine.text.slice(editedLine.cursor),
    editedLine.cursor + insertedText.length,
  );
}

async function undoLastChange({ files, ask, note }: Ctx): Promise<void> {
  const lastChange = files.changes().findLast(({ undone }) => !undone);
  if (!lastChange) return note("Nothing to undo.");
  const pressedKey = await ask?.(
    `Undo “${lastChange.did} ${visible(lastChange.path)}”? [y/N] `,
    "yn",
  );
  if (pressedKey === "y") note((await files.undo("1")).text);
}
