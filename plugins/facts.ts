// Where the model is: one layer, rendered once a session.
import os from "node:os";
import type { Zz } from "zz";

export default (zz: Zz) =>
  zz.layer({
    name: "session",
    slot: "project",
    text: ({ root }) =>
      [
        `Folder: ${root} (paths are relative to it; tools do not reach outside)`,
        `System: ${os.type()} ${os.release()}, ${process.arch}`,
        `Shell: ${process.env.SHELL ?? process.env.ComSpec ?? "unknown"}`,
        `Date: ${new Date().toLocaleDateString("sv")}`,
      ].join("\n"),
  });
