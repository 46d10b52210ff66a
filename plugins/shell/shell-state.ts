// What commands of one instance share.
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import type { Zz } from "zz";
import { removeTree } from "zz/text";
import type { defaults } from "./shell-settings.ts";

/** The state of the tool in one instance. */
export interface ShellState {
  zz: Zz<typeof defaults>;
  // the reason for a second run, by offerKey; shown with the question
  offers: Map<string, string>;
  tmp(): Promise<string>; // the private /tmp that commands on a copy use in turn
}

export const offerKey = (command: string, hosts: readonly string[] = []): string =>
  JSON.stringify([command, hosts]);

/** A private folder next to the views, so that it is swept with them if zz is killed. */
export function privateTmp(zz: Zz<typeof defaults>): () => Promise<string> {
  let baseFolder: string | undefined;
  zz.defer(async () => {
    if (baseFolder !== undefined) removeTree(baseFolder);
  });
  return async () => {
    if (baseFolder === undefined || !fs.existsSync(baseFolder))
      baseFolder = (await import("./copy-on-write.ts")).makeWorkFolder(os.tmpdir(), ["tmp"]);
    return join(baseFolder, "tmp");
  };
}
