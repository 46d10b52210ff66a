// The conversation at a prompt: line after line, until the person leaves.
import type { Chat, Ctx, DialogHost, Fault, Zz } from "zz";
import { clean, plural, terminalColumns, wrap } from "zz/text";
import { canChoose, pick, secret } from "./choose.ts";
import {
  close,
  interrupt,
  lendTerminal,
  nextMessage,
  openKeyboard,
  promptForMessage,
  sendMessage,
} from "./keyboard.ts";
import { type Keyboard, mute, showNote } from "./line.ts";
import { expandPastes } from "./pastes.ts";
import { ask } from "./questions.ts";
import { say } from "./screen.ts";

export interface Talk {
  run(): Promise<number>;
  leave(code: number): void;
}

/** The prompt shows at once; the first message waits until a model is chosen. */
export function openTalk(zz: Zz, host: DialogHost): Talk {
  let code = 0;
  let hasLeft = false;
  let retracts = false; // the message, once its turn has ended
  const leave = (exit: number) => {
    code = exit;
    hasLeft = true;
    close(keyboard);
  };
  const keyboard = openKeyboard(zz, host, leave);
  return { run, leave: (exit) => void ([code, hasLeft] = [exit, true]) };

  async function run(): Promise<number> {
    host.onEnd((exit) => {
      if (exit !== 130) return leave(exit);
      if (!keyboard.terminalUsers) interrupt(keyboard);
      return false;
    });
    host.meet({
      ask: (question, keys) => ask(keyboard, question, keys),
      ...(canChoose() && {
        secret: (question) => lendTerminal(keyboard, () => secret(question, host.ctx()?.signal)),
        pick: (question, choices) => lendTerminal(keyboard, () => pick(question, choices, host.ctx()?.signal)),
      }),
      terminal: (act) => lendTerminal(keyboard, act),
      edit: async (text, name) =>
        lendTerminal(keyboard, async () => (await import("./editor.ts")).edit(zz, text, name)),
      note: (text) => showNote(keyboard, text),
      tryAgain,
      goOn: async (why) => (await host.ask(`Stopped: ${why}. Go on? [y/N] `, "yn")) === "y",
    });
    const startsAtPrompt = !host.text;
    if (startsAtPrompt) await promptForMessage(keyboard);
    const opened = open(keyboard, startsAtPrompt);
    opened.catch(() => close(keyboard)); // there is no model: zz says why
    let message: string | undefined = startsAtPrompt ? await nextMessage(keyboard) : host.text;
    for (; message !== undefined; message = await nextMessage(keyboard)) {
      if (message.trim()) await obey(message.trim());
      if (hasLeft || keyboard.isClosed) break;
      await promptForMessage(keyboard);
    }
    close(keyboard);
    if (code === 0) zz.io.stdout.write("\n");
    await opened;
    return code;
  }

  /** Chooses the model, greets, and begins with a command if zz asks for one. */
  async function open(keyboard: Keyboard, startsAtPrompt: boolean): Promise<void> {
    const { chat } = await host.open();
    if (!startsAtPrompt) return;
    const command = host.begins();
    if (!host.quiet) showNote(keyboard, wrap(greeting(host.ctx()!, chat), terminalColumns()).join("\n"));
    if (command) sendMessage(keyboard, `/${command}`);
    else if (!keyboard.isMuted) await promptForMessage(keyboard);
  }

  async function obey(message: string): Promise<void> {
    mute(keyboard, true);
    await host.obey(message, (text) => expandPastes(keyboard.pastes, text));
    if (retracts) host.retract();
    retracts = false;
  }

  /** After a failed request: returns true to ask again, perhaps another model. */
  async function tryAgain(failed: Fault, ctx: Ctx): Promise<boolean> {
    const picks = ctx.about.commands.some(({ name }) => name === "model");
    const keys = `[r]etry, [s]kip, [a]bort and take the message back${picks ? ", another [m]odel" : ""}? `;
    for (let why = `${clean(failed.message)}\n`; ; why = "") {
      const key = await host.ask(why + keys, "rsam");
      retracts = key === "a";
      if (key !== "m") return key === "r";
      const before = ctx.chat.model;
      await ctx.command("model").catch((error: Error) => say(zz, error.message));
      if (ctx.chat.model !== before) return true; // otherwise nothing was picked: ask again
    }
  }
}

const greeting = ({ about }: Ctx, { model, messages }: Chat): string =>
  [
    `zz ${about.version}`,
    model,
    ...(messages.length ? [`goes on after ${plural(messages.length, "message")}`] : []),
    "/help lists the commands",
  ].join(" · ");
