// The conversation at a prompt, and questions at a terminal: the dialog that comes with zz.
import type { AnswerPlace, Zz } from "zz";
import { wantsWords } from "zz/text";
import type { Talk } from "./conversation-loop.ts";

export const defaults = { history: true, keys: "emacs", offer: true, readFirst: true };
export const settings = {
  schema: {
    type: "object",
    properties: {
      history: { type: "boolean", description: "what you type is kept for the next conversation" },
      keys: {
        enum: ["emacs", "vi"],
        description: "what keys edit the line at the prompt: those of Emacs and bash, or vi's",
      },
      offer: {
        type: "boolean",
        description: "the last conversation of the folder is offered at the start",
      },
      readFirst: {
        type: "boolean",
        description: "a yes counts once all of a question was on the screen",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  let runningTalk: Talk | undefined; // while it runs
  let unframed = false;
  const answerPlaces = new Set<AnswerPlace>();
  zz.service("questions", {
    also(answerPlace) {
      answerPlaces.add(answerPlace);
      return () => void answerPlaces.delete(answerPlace);
    },
  });
  zz.on("asked", (_, ctx) => {
    unframed = wantsWords(zz.io, ctx);
  });
  zz.service("background", { isLight: () => runningTalk?.isLight() });
  zz.dialog({
    name: "prompt",
    person: () => ({
      ask: async (question, offeredKeys) =>
        (await import("./ask-in-one-shot.ts")).askInOneShot(zz, question, offeredKeys, unframed),
      secret: async (question) => (await import("./pick-from-list.ts")).askUnseen(zz.io, question),
      ...(zz.io.variable("TERM") !== "dumb" && {
        pick: async (question, choices) =>
          (await import("./pick-from-list.ts")).pickFromList(zz.io, question, choices),
      }),
      edit: async (initialText, fileName) =>
        (await import("./external-editor.ts")).openEditor(zz, initialText, fileName),
    }),
    async talk(dialogHost) {
      const { openTalk } = await import("./conversation-loop.ts");
      runningTalk = openTalk(zz, dialogHost, answerPlaces);
      return runningTalk.run();
    },
  });
  zz.command({
    name: "vim",
    usage: "[off]",
    description: "edit the line with vi's keys, in this conversation",
    examples: { "/vim off": "the keys of Emacs and bash again" },
    group: "settings",
    run(argument, ctx) {
      const wantsVi = argument !== "off";
      runningTalk?.useVi(wantsVi === (zz.config.keys === "vi") ? undefined : wantsVi);
      ctx.note(wantsVi ? VI_IS_ON : "The keys are those of Emacs and bash, in this conversation.");
    },
  });
  for (const [name, description] of [
    ["quit", "leave (also Ctrl+D)"],
    ["exit", "leave"],
  ] as const)
    zz.command({ name, description, group: "conversation", run: () => runningTalk?.leave(0) });
};

const VI_IS_ON =
  "vi's keys are on in this conversation: Escape, then commands. " +
  "/config repl.keys vi keeps them on, /vim off ends them.";
