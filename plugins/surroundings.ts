// Tells the model once per session where it runs, and in each turn what it runs with, if that has
// changed.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { isInside, tryTo } from "zz/text";

export default (zz: Zz) => {
  zz.layer({
    name: "session",
    slot: "project",
    text: ({ root, io }) =>
      [
        `Folder: ${root} (paths are relative to it; tools do not reach outside)`,
        ...startedIn(root, io.cwd()),
        `System: ${os.type()} ${os.release()}, ${process.arch}`,
        `Shell: ${process.env.SHELL ?? process.env.ComSpec ?? "unknown"}`,
      ].join("\n"),
  });
  zz.layer({ name: "runtime", slot: "turn", text: runtime });
};

/** With project.scope "repository" the person may be further down. */
function startedIn(root: string, startFolder: string): string[] {
  const realFolder = tryTo(() => fs.realpathSync(startFolder)) ?? root;
  return realFolder !== root && isInside(root, realFolder)
    ? [`The person is in: ${path.relative(root, realFolder)}`]
    : [];
}

const runtime = ({ chat, about }: Ctx): string =>
  [
    ...(chat.model ? [`Model: ${chat.model}`] : []), // a flag such as --prompt has none
    `Tools: ${about.tools.length ? "on" : "off"}`,
  ].join("\n");
