// --acp: an editor drives zz by the Agent Client Protocol. One process speaks with the editor and starts another for each
// conversation: each has a folder, settings and plugins of its own, and none waits for another.
import type { Zz } from "zz";

export default (zz: Zz) => {
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
    set: () =>
      zz.dialog({ name: "acp", unseen: true, talk: async (host) => (await import("./session.ts")).talk(zz, host) }),
  });
};
