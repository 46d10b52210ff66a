// What commands of one instance share.
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import type { Zz } from "zz";
import { removeTree } from "zz/text";
import type { defaults } from "./shell-settings.ts";

/** The state of the tool in one instance. */
export interface ShellState {
  offers: Map<string, string>; // commands that are offered again, and why
  tmp(): Promise<string>; // the private /tmp that commands on a copy use in turn
  veil(outputText: string): string;
  fault(): string | undefined; // what is wrong in the settings
}

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
