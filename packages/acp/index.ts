// --acp: an editor drives zz by the Agent Client Protocol. One process talks to the editor and
// starts another for each conversation, which has its own folder, settings and plugins and does not
// wait for the others. Other dialogs lead such conversations by the service "conversations".
import type { Zz } from "zz";
import { usage } from "zz/text";

export default (zz: Zz) => {
  zz.service("conversations", {
    start: async (ctx, startOptions) =>
      (await import("./conversations.ts")).startConversations(zz, ctx, startOptions),
  });
  zz.flag({
    name: "acp",
    group: "other programs",
    description: "let an editor drive zz by the Agent Client Protocol, on stdin and stdout",
    run: async (_value, ctx) => {
      await (await import("./relay.ts")).relay(zz, ctx);
      return { text: "" };
    },
  });
  zz.flag({
    name: "acp-session",
    group: "other programs",
    description: "one conversation of --acp, which starts it",
    set() {
      if (!process.send)
        throw usage(
          "Cannot hold a conversation without an editor: use --acp, which starts each of them.",
        );
      zz.dialog({
        name: "acp",
        unseen: true,
        talk: async (dialogHost) => (await import("./session.ts")).talk(zz, dialogHost),
      });
    },
  });
};
