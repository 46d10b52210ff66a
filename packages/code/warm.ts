// What TypeScript's server is shown while the person types: one file, which loads its project.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";

const MAX_FILES = 30_000; // in a larger project it waits until it is asked

export async function warmFile(ctx: Ctx): Promise<{ name: string; text: string } | undefined> {
  const { root, files, permissions } = ctx;
  if (permissions.wide !== undefined) return undefined;
  if (!["tsconfig.json", "jsconfig.json"].some((name) => fs.existsSync(path.join(root, name))))
    return undefined;
  const projectFiles = await files.list();
  if (projectFiles.length > MAX_FILES) return undefined;
  const depth = (name: string) => name.split("/").length;
  const [name] = projectFiles
    .filter(
      (name) =>
        /(?<!\.d)\.[cm]?tsx?$/.test(name) && permissions.judge("read", name).verdict === "allow",
    )
    .sort((a, b) => depth(a) - depth(b));
  return name ? { name, text: (await files.read(name)).text } : undefined;
}
