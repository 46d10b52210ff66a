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
    send: async (chatName, messageText, ctx) =>
      (await import("./messenger.ts")).sendMessage(zz, chatName, messageText, ctx),
  });
  addPhoneCommand(zz);
  addPhones(zz);
  addSessionFlag(zz);
};

function addPhoneCommand(zz: Zz<typeof defaults>): void {
  let openedPhone: { phone: Phone; title: string; end(): void } | undefined;
  let hasTool = false;
  zz.defer(() => openedPhone?.end());
  const closePhone = (): void => {
    openedPhone?.end();
    openedPhone = undefined;
  };
  const offerTool = (): void => {
    if (hasTool) return;
    hasTool = true;
    addSendFile(zz, async (filePaths) => {
      if (!openedPhone) throw usage("Cannot send this: /phone is off, so that no phone is known.");
      await openedPhone.phone.sendFiles(filePaths);
      return `sent to '${openedPhone.title}'`;
    });
    zz.wrap("offer", async (offeredTools, next) =>
      (await next(offeredTools)).filter(({ name }) => openedPhone || name !== SEND_FILE),
    );
  };
  zz.command({
    name: "phone",
    usage: "[CHAT | off]",
    description: "ask on the phone as well: the first answer counts",
    examples: { "/phone": "ask in your paired chat, too", "/phone off": "ask here alone" },
    group: "conversation",
    async run(typedWords, ctx) {
      const wasPhoneOn = openedPhone !== undefined;
      closePhone();
      if (typedWords === "off" || (wasPhoneOn && !typedWords))
        return ctx.note("Questions are asked here alone.");
      const questions = ctx.service("questions");
      if (!questions) throw usage("Cannot ask on the phone: there is no prompt that asks.");
      const stopController = new AbortController();
      const { openPhone } = await import("./phone.ts");
      const { phone, title } = await openPhone(zz, ctx, typedWords, stopController);
      const stopAsking = questions.also(phone);
      const end = () => {
        stopAsking();
        stopController.abort();
      };
      openedPhone = { phone, title, end };
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
    async run(typedWords, ctx) {
      ctx.note((await import("./pairing.ts")).obeyPhones(typedWords, ctx).text);
    },
  });
  zz.flag({
    name: "phones",
    value: "remove [WORDS]",
    optional: true,
    group: "other programs",
    description: "list who is paired by Telegram; remove NAME ends a pairing",
    run: async (flagValue, ctx, { words }) => {
      const { obeyPhones } = await import("./pairing.ts");
      return obeyPhones(flagValue === true ? "" : [flagValue, ...words].join(" "), ctx);
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
  deliver: (filePaths: readonly string[]) => Promise<string>,
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
      const absolutePaths = await Promise.all(
        paths.map((requestedPath) => files.path(requestedPath)),
      );
      for (const absolutePath of absolutePaths) assertFits(absolutePath);
      const deliveryNote = await deliver(absolutePaths);
      const fileNames = absolutePaths.map((absolutePath) => path.basename(absolutePath));
      return { text: `${fileNames.join(", ")}: ${deliveryNote}.`, files: absolutePaths };
    },
  });
}
