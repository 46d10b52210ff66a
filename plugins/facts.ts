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
        `Date: ${today()}`,
      ].join("\n"),
  });

/** Local, year first. By hand: the first use of Intl costs 15 ms, a fifth of a whole one-shot. */
function today(): string {
  const now = new Date();
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}
