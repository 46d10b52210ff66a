// Keeps what is sent within the model's window. When that is nearly full, it makes room before the
// next request: results that need not be seen again become one line each, then all turns but the
// last two are replaced by notes that the model writes, or leave the window without notes. The
// session's file keeps everything.
import type { Zz } from "zz";
import { takeNotes } from "./compact-to-notes.ts";
import {
  fitToWindow,
  recordUsage,
  retryShorter,
  startOfRecentTurns,
  toolsThatChange,
} from "./fit.ts";
import { overflow } from "./overflow.ts";
import { staleResults } from "./stale.ts";
import { forgetModels, newState, tokensOf, turnStarts } from "./window-state.ts";

export const defaults = {
  compactAt: 0.8,
  turns: 2,
  words: 350,
  messages: 0,
  method: "summary" as "summary" | "truncate",
};
export const settings = {
  name: "context",
  schema: {
    type: "object",
    properties: {
      compactAt: {
        type: "number",
        exclusiveMinimum: 0,
        maximum: 0.95,
        description: "how full the window may get, as a fraction",
      },
      method: {
        enum: ["summary", "truncate"],
        description: "notes by a model for earlier turns, or nothing in their place",
      },
      turns: {
        type: "integer",
        minimum: 1,
        maximum: 10_000,
        description: "turns at the end that stay as they were",
      },
      messages: {
        type: "integer",
        minimum: 0,
        maximum: 1_000_000,
        description:
          "messages after which earlier turns leave the window, however large it is; 0: no limit",
      },
      words: {
        type: "integer",
        minimum: 50,
        maximum: 100_000,
        description: "words of the notes that stand for earlier turns, at most",
      },
    },
  },
};

const MAX_SUMMARY_MS = 600_000; // the model may take this long to write the notes

export default (zz: Zz<typeof defaults>) => {
  const state = newState(zz);
  // others may answer now
  for (const eventName of ["configured", "reloaded"] as const)
    zz.on(eventName, () => forgetModels(state));
  // First, so that all other wrappers get the shorter request; a router with an earlier name still
  // runs before it.
  zz.wrap(
    "request",
    async (request, next, ctx) => {
      if (request.task !== "chat") return recordUsage(state, request, await next(request), ctx);
      const sent = await fitToWindow(state, request, ctx);
      try {
        return recordUsage(state, sent, await next(sent), ctx);
      } catch (error) {
        const window = ctx.signal.aborted ? undefined : overflow(error as Error);
        if (window === undefined) throw error;
        return retryShorter(state, sent, window, error as Error, next, ctx);
      }
    },
    { order: "first", limit: MAX_SUMMARY_MS },
  );

  zz.command({
    name: "compact",
    usage: "[HINT]",
    description: "make room in the window: notes replace the earlier turns",
    examples: {
      "/compact": "make room now",
      "/compact keep the API decisions": "say what the notes must keep",
    },
    group: "conversation",
    async run(notesHint, ctx) {
      if (notesHint.trim() && zz.config.method === "truncate")
        throw new Error(
          "Cannot use a hint: context.method is 'truncate', so no notes are written. Leave it out.",
        );
      const tokensBefore = tokensOf(state, ctx);
      const texts = staleResults(ctx.chat.messages, toolsThatChange(ctx));
      const turnCount = turnStarts(ctx.chat.messages).length;
      const upTo = startOfRecentTurns(
        ctx.chat.messages,
        Math.max(1, Math.min(zz.config.turns, turnCount - 1)),
      );
      if (!upTo && !Object.keys(texts).length)
        return ctx.note(`There is nothing to compact${turnCount ? " yet" : ": nothing was said"}.`);
      if (Object.keys(texts).length) ctx.chat.compact({ texts });
      const subject = upTo
        ? `${await takeNotes(state, ctx, upTo, notesHint.trim())}: about`
        : "About";
      ctx.note(
        `${subject} ${tokensBefore} tokens of conversation became ${tokensOf(state, ctx)}. ` +
          "The session keeps all of it.",
      );
    },
  });
};
