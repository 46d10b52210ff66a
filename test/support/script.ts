// Rounds of calls through the kernel's source; built.ts has those through the built one.
import { openChat } from "../../kernel/chat.ts";
import { runTurn } from "../../zz.ts";
import { roundsOf } from "./rounds.ts";

export type { Got } from "./rounds.ts";
export const { play, rowsOf } = roundsOf({ openChat, runTurn });
