// zz on a phone, by Telegram: --telegram leads conversations there.
import path from "node:path";
import type { Zz } from "zz";
import { sentenceOf, usage } from "zz/text";
import type { Phone } from "./phone.ts";

export const defaults = { minutes: 60 };
export const settings = {
  name: "telegram",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      minutes: {
        type: "number",
        minimum: 0.01,
        maximum: 10_000,
        description: "minutes after which a question on the phone counts as a no",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  zz.provider({
    name: "telegram",
    role: "service",
    key: { variable: "TELEGRAM_BOT_TOKEN", pattern: "\\d+:[\\w-]+" },
    url: { variable: "TELEGRAM_API_URL" },
    models: async () => [],
    // biome-ignore lint/correctness/useYield: it only refuses
    async *chat() {
      throw new Error("Cannot ask 'telegram': it is not a model. /models lists those there are.");
    },
  });
  zz.flag({
    name: "telegram",
    group: "other programs",
    description: "converse by Telegram, with those chats alone that are paired",
    run: async (_value, ctx) => {
      await (await import("./bot.ts")).runBot(zz, ctx);
      return { text: "" };
    },
  });
  zz.service("messenger", {
    send: async (to, text, ctx) => (await import("./messenger.ts")).sendMessage(zz, to, text, ctx),
  });
  addPhoneCommand(zz);
  addPhones(zz);
  addSessionFlag(zz);
};

function addPhoneCommand(zz: Zz<typeof defaults>): void {
  let open: { phone: Phone; title: string; end(): void } | undefined;
  let hasTool = false;
  zz.defer(() => open?.end());
  const close = (): void => {
    open?.end();
    open = undefined;
  };
  const offerTool = (): void => {
    if (hasTool) return;
    hasTool = true;
    addSendFile(zz, async (files) => {
      if (!open) throw usage("Cannot send this: /phone is off, so that no phone is known.");
      await open.phone.sendFiles(files);
      return `sent to '${open.title}'`;
    });
    zz.wrap("offer", async (tools, next) =>
      (await next(tools)).filter(({ name }) => open || name !== SEND_FILE),
    );
  };
  zz.command({
    name: "phone",
    usage: "[CHAT | off]",
    description: "ask on the phone as well: the first answer counts",
    examples: { "/phone": "ask in your paired chat, too", "/phone off": "ask here alone" },
    group: "conversation",
    async run(words, ctx) {
      const wasOn = open !== undefined;
      close();
      if (words === "off" || (wasOn && !words)) return ctx.note("Questions are asked here alone.");
      const questions = ctx.service("questions");
      if (!questions) throw usage("Cannot ask on the phone: there is no prompt that asks.");
      const stop = new AbortController();
      const { openPhone } = await import("./phone.ts");
      const { phone, title } = await openPhone(zz, ctx, words, stop);
      const leave = questions.also(phone);
      const end = () => {
        leave();
        stop.abort();
      };
      open = { phone, title, end };
      offerTool();
      phone.listen().catch((error) => ctx.note(sentenceOf(error)));
      ctx.note(`Questions are asked in '${title}' as well. /phone off ends it.`);
    },
  });
}

function addPhones(zz: Zz<typeof defaults>): void {
  zz.command({
    name: "phones",
    usage: "[remove NAME]",
    description: "list who is paired by Telegram, or end a pairing",
    examples: { "/phones": "list people and chats", "/phones remove Alice": "unpair Alice" },
    group: "settings",
    async run(words, ctx) {
      ctx.note((await import("./pairing.ts")).obeyPhones(words, ctx).text);
    },
  });
  zz.flag({
    name: "phones",
    value: "remove [WORDS]",
    optional: true,
    group: "other programs",
    description: "list who is paired by Telegram; remove NAME ends a pairing",
    run: async (value, ctx, { words }) => {
      const { obeyPhones } = await import("./pairing.ts");
      return obeyPhones(value === true ? "" : [value, ...words].join(" "), ctx);
    },
  });
}

function addSessionFlag(zz: Zz<typeof defaults>): void {
  zz.flag({
    name: "phone-session",
    group: "other programs",
    description: "one conversation of --telegram, which starts it",
    set: () => addSendFile(zz, async () => "handed to the person"),
  });
}

const SEND_FILE = "send_file";

/** `deliver` says what it did with the files; the result brings them, too. */
function addSendFile(
  zz: Zz<typeof defaults>,
  deliver: (files: readonly string[]) => Promise<string>,
): void {
  zz.tool({
    name: SEND_FILE,
    description:
      "Send files of the project to the person, who is on the phone: at most 50 MB each.",
    params: { paths: "string[] which files" },
    kind: "run",
    needs: ({ paths }) => ({ read: paths }),
    describe: ({ paths }) => String(paths),
    async run({ paths }, { files }) {
      const { assertFits } = await import("./send-files.ts");
      const whole = await Promise.all(paths.map((name) => files.path(name)));
      for (const file of whole) assertFits(file);
      const done = await deliver(whole);
      const names = whole.map((file) => path.basename(file));
      return { text: `${names.join(", ")}: ${done}.`, files: whole };
    },
  });
}
