// The person's own editor, on a text in a temporary file.
import fs from "node:fs";
import path from "node:path";
import type { Zz } from "zz";
import { temporaryFolder, tryTo } from "zz/text";
import { say } from "./prompt-rows.ts";

/** The text as it was saved; undefined when the editor failed or nothing was saved. */
export async function openEditor(zz: Zz, text: string, name: string): Promise<string | undefined> {
  const folder = temporaryFolder("edit");
  const file = path.join(folder, name);
  try {
    fs.writeFileSync(file, text);
    const before = fs.statSync(file);
    const editor =
      zz.io.variable("VISUAL") || zz.io.variable("EDITOR") || (WINDOWS ? "notepad" : "vi");
    const status = start(zz, editor, file);
    if (status !== 0)
      say(
        zz,
        `'${editor}' ended without saving (exit code ${status}). VISUAL or EDITOR names another.`,
      );
    const savedFile = tryTo(() => fs.statSync(file)); // an editor may have removed or replaced it
    const saved =
      savedFile?.isFile() && (savedFile.mtimeMs !== before.mtimeMs || savedFile.ino !== before.ino);
    return status === 0 && saved ? fs.readFileSync(file, "utf8") : undefined;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

const WINDOWS = process.platform === "win32";

/**
 * EDITOR may be a whole command line, so a shell starts it; zz never takes that shell from the
 * project.
 */
function start({ programs, io }: Zz, editor: string, file: string): number | null {
  const stdio = [io.stdin, io.stderr, io.stderr].map(
    (stream) => (stream as { fd?: number }).fd ?? ("inherit" as const),
  );
  if (!WINDOWS)
    return programs.run("sh", ["-c", `${editor} '${file.replaceAll("'", `'\\''`)}'`], { stdio })
      .status;
  const line = ["/d", "/s", "/c", `"${editor} "${file}""`];
  return programs.run(io.variable("ComSpec") ?? "cmd.exe", line, {
    stdio,
    windowsVerbatimArguments: true,
  }).status;
}
