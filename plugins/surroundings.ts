// Tells the model once per session where it runs, and in each turn what it runs with, if that has
// changed.
import os from "node:os";
import type { Ctx, Zz } from "zz";

export default (zz: Zz) => {
  zz.layer({
    name: "session",
    slot: "project",
    text: ({ root }) =>
      [
        `Folder: ${root} (paths are relative to it; tools do not reach outside)`,
        `System: ${os.type()} ${os.release()}, ${process.arch}`,
        `Shell: ${process.env.SHELL ?? process.env.ComSpec ?? "unknown"}`,
      ].join("\n"),
  });
  zz.layer({ name: "runtime", slot: "turn", text: runtime });
};

const runtime = ({ chat, about }: Ctx): string =>
  [
    ...(chat.model ? [`Model: ${chat.model}`] : []), // a flag such as --prompt has none
    `Tools: ${about.tools.length ? "on" : "off"}`,
  ].join("\n");
