// open_file: opens a file with the person's own program for it. Never opens a file that could run
// as a program.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Zz } from "zz";

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", win32: "explorer" };
const FILE_OPENER = OPENERS[process.platform] ?? "xdg-open";
const FAILURE_WAIT_MS = 1_500; // a program that cannot open the file usually ends within this time
const EXIT_REASONS: Record<number, string> = {
  2: "it finds no such file",
  3: "there is no program for such a file",
  4: "the program for it failed",
};
/**
 * Extensions of files that some system runs when it opens them: programs, scripts, packages, and
 * shortcuts to them.
 */
const RUNNABLE_EXTENSIONS = new Set(
  [
    "app appimage apk appref-ms bash bat bin cmd com command cpl csh deb " +
      "desktop dmg exe fish gadget hta jar",
    "js jse ksh lnk mjs cjs msc msi msp out pif pkg pl ps1 psm1 py pyc pyw rb " +
      "reg rpm run scf scpt scr service sh",
    "terminal tool url vb vbe vbs webloc inetloc fileloc workflow ws wsf wsh xbe zsh",
  ].flatMap((extensionRow) => extensionRow.split(" ")),
);
const PROGRAM_STARTS = [
  "#!",
  "\x7fELF",
  "MZ",
  "\xca\xfe\xba\xbe",
  "\xcf\xfa\xed\xfe",
  "\xce\xfa\xed\xfe",
  "[Desktop Entry]",
];

export default (zz: Zz) =>
  zz.tool({
    name: "open_file",
    description:
      "Open a file or folder with the person's own program for it: an image, a PDF, a web page.",
    aliases: ["openFile"],
    params: { path: "string the file" },
    also: { path: ["file", "file_path", "filepath"] },
    needs(toolArguments, ctx) {
      // refuses before the person is asked
      const checkedPath = checkedFile(toolArguments.path, ctx);
      return {
        read: [toolArguments.path],
        run: [`${FILE_OPENER} ${quoteForShell(path.relative(ctx.root, checkedPath) || ".")}`],
      };
    },
    async run(toolArguments, ctx) {
      await openDetached(toolArguments.path, checkedFile(toolArguments.path, ctx), ctx);
      return `Opened '${toolArguments.path}' with ${FILE_OPENER}.`;
    },
  });

const openRefusal = (fileName: string, reason: string): Error =>
  new Error(`Cannot open '${fileName}': ${reason}`);
const quoteForShell = (shellWord: string): string =>
  /^[\w@%+=:,./-]+$/.test(shellWord) ? shellWord : `'${shellWord.replaceAll("'", "'\\''")}'`;

/**
 * The file with its links followed. Throws unless a person is there to look at it and it is safe to
 * open.
 */
function checkedFile(fileName: string, { root, files, ask }: Ctx): string {
  if (!ask)
    throw openRefusal(
      fileName,
      "there is no terminal, so nobody can look at it. Read it, or tell the person where it is.",
    );
  const absolutePath = files.path(fileName);
  const fileStats = fs.statSync(absolutePath, { throwIfNoEntry: false });
  if (!fileStats) throw openRefusal(fileName, "no such file or folder. Check the path.");
  if (!fileStats.isFile() && !fileStats.isDirectory())
    throw openRefusal(fileName, "it is not a regular file. Choose another.");
  const isRunnable = [absolutePath, path.resolve(root, fileName)].some((candidate) =>
    RUNNABLE_EXTENSIONS.has(path.extname(candidate).slice(1).toLowerCase()),
  );
  if (
    isRunnable ||
    (fileStats.isFile() &&
      (isExecutable(fileStats) ||
        PROGRAM_STARTS.some((programStart) => startOf(absolutePath).startsWith(programStart))))
  )
    throw openRefusal(
      fileName,
      "it could run as a program. The person can open it, if they trust it.",
    );
  return absolutePath;
}

const isExecutable = ({ mode }: fs.Stats): boolean =>
  process.platform !== "win32" && (mode & 0o111) !== 0;

function startOf(checkedPath: string): string {
  const startBytes = Buffer.alloc(16);
  const descriptor = fs.openSync(checkedPath, "r");
  const bytesRead = fs.readSync(descriptor, startBytes);
  fs.closeSync(descriptor);
  return startBytes.toString("latin1", 0, bytesRead);
}

/**
 * Starts the program detached, so that it outlives zz. If it soon ends with an exit code, it could
 * not open it.
 */
function openDetached(fileName: string, checkedPath: string, { programs, io }: Ctx): Promise<void> {
  if (!programs.find(FILE_OPENER))
    throw openRefusal(
      fileName,
      `there is no ${FILE_OPENER} here. Tell the person where it is: ${checkedPath}`,
    );
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const openerProcess = programs.start(FILE_OPENER, [checkedPath], {
    detached: true,
    stdio: "ignore",
  });
  const cancel = io.clock.timer(FAILURE_WAIT_MS, resolve);
  openerProcess.on("error", ({ message }) =>
    reject(openRefusal(fileName, `${message}. Tell the person where it is: ${checkedPath}`)),
  );
  openerProcess.on("exit", (code) => {
    if (!code || FILE_OPENER === "explorer")
      resolve(); // explorer always ends with exit code 1
    else
      reject(
        openRefusal(
          fileName,
          `${FILE_OPENER} says that ${EXIT_REASONS[code] ?? `it failed (exit code ${code})`}.`,
        ),
      );
  });
  openerProcess.unref();
  return promise.finally(cancel);
}
