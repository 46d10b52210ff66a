// Where the model is, rendered once a session; and what it runs with, which may change from turn to turn.
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

function runtime({ chat, about, settings }: Ctx): string {
  const tools = about.tools.length > 0;
  const sandbox = settings.list().find(({ name }) => name === "shell.sandbox")?.value;
  return [
    ...(chat.model ? [`Model: ${chat.model}`] : []), // a flag such as --prompt has none
    `Tools: ${tools ? "on" : "off"}`,
    ...(tools && sandbox === "off" ? ["Sandbox: off; commands can do whatever the person can"] : []),
  ].join("\n");
}
