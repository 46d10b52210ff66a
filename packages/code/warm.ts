// What TypeScript's server is shown while the person types: one file, which loads its project.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";

const MAX_FILES = 30_000; // in a larger project it waits until it is asked

export async function warmFile(ctx: Ctx): Promise<{ name: string; text: string } | undefined> {
  const { root, files, permissions } = ctx;
  if (permissions.wide !== undefined) return undefined;
  if (
    !["tsconfig.json", "jsconfig.json"].some((configFile) =>
      fs.existsSync(path.join(root, configFile)),
    )
  )
    return undefined;
  const projectFiles = await files.list();
  if (projectFiles.length > MAX_FILES) return undefined;
  const measureDepth = (fileName: string) => fileName.split("/").length;
  const [name] = projectFiles
    .filter(
      (fileName) =>
        /(?<!\.d)\.[cm]?tsx?$/.test(fileName) &&
        permissions.judge("read", fileName).verdict === "allow",
    )
    .sort((first, second) => measureDepth(first) - measureDepth(second));
  return name ? { name, text: (await files.read(name)).text } : undefined;
}
