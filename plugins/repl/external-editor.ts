// The person's own editor, on a text in a temporary file.
import fs from "node:fs";
import path from "node:path";
import type { Zz } from "zz";
import { temporaryFolder, tryTo } from "zz/text";
import { say } from "./prompt-rows.ts";

/** The text as it was saved; undefined when the editor failed or nothing was saved. */
export async function openEditor(
  zz: Zz,
  initialText: string,
  fileName: string,
): Promise<string | undefined> {
  const editFolder = temporaryFolder("edit");
  const editedFile = path.join(editFolder, fileName);
  try {
    fs.writeFileSync(editedFile, initialText);
    const statsBefore = fs.statSync(editedFile);
    const editorCommand =
      zz.io.variable("VISUAL") || zz.io.variable("EDITOR") || (WINDOWS ? "notepad" : "vi");
    const exitCode = startEditor(zz, editorCommand, editedFile);
    if (exitCode !== 0)
      say(
        zz,
        `'${editorCommand}' ended without saving (exit code ${exitCode}). ` +
          "VISUAL or EDITOR names another.",
      );
    // an editor may have removed or replaced it
    const savedFile = tryTo(() => fs.statSync(editedFile));
    const isSaved =
      savedFile?.isFile() &&
      (savedFile.mtimeMs !== statsBefore.mtimeMs || savedFile.ino !== statsBefore.ino);
    return exitCode === 0 && isSaved ? fs.readFileSync(editedFile, "utf8") : undefined;
  } finally {
    fs.rmSync(editFolder, { recursive: true, force: true });
  }
}

const WINDOWS = process.platform === "win32";

/**
 * EDITOR may be a whole command line, so a shell starts it; zz never takes that shell from the
 * project.
 */
function startEditor(
  { programs, io }: Zz,
  editorCommand: string,
  editedFile: string,
): number | null {
  const stdio = [io.stdin, io.stderr, io.stderr].map(
    (stream) => (stream as { fd?: number }).fd ?? ("inherit" as const),
  );
  const [shell, shellArguments] = WINDOWS
    ? [
        io.variable("ComSpec") ?? "cmd.exe",
        ["/d", "/s", "/c", `"${editorCommand} "${editedFile}""`],
      ]
    : ["sh", ["-c", `${editorCommand} '${editedFile.replaceAll("'", `'\\''`)}'`]];
  return programs.run(shell, shellArguments, { stdio, windowsVerbatimArguments: true }).status;
}
