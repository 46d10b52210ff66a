// open_file: opens a file with the person's own program for it. Never opens a file that could run
// as a program.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Zz } from "zz";

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", win32: "explorer" };
const OPENER = OPENERS[process.platform] ?? "xdg-open";
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
    "app appimage apk appref-ms bash bat bin cmd com command cpl csh deb desktop dmg exe fish gadget hta jar",
    "js jse ksh lnk mjs cjs msc msi msp out pif pkg pl ps1 psm1 py pyc pyw rb reg rpm run scf scpt scr service sh",
    "terminal tool url vb vbe vbs webloc inetloc fileloc workflow ws wsf wsh xbe zsh",
  ].flatMap((line) => line.split(" ")),
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
    needs(args, ctx) {
      const file = checkedFile(args.path, ctx); // refuses before the person is asked
      return {
        read: [args.path],
        run: [`${OPENER} ${quote(path.relative(ctx.root, file) || ".")}`],
      };
    },
    async run(args, ctx) {
      await open(args.path, checkedFile(args.path, ctx), ctx);
      return `Opened '${args.path}' with ${OPENER}.`;
    },
  });

const cannot = (name: string, reason: string): Error =>
  new Error(`Cannot open '${name}': ${reason}`);
const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/**
 * The file with its links followed. Throws unless a person is there to look at it and it is safe to
 * open.
 */
function checkedFile(name: string, { root, files, ask }: Ctx): string {
  if (!ask)
    throw cannot(
      name,
      "there is no terminal, so nobody can look at it. Read it, or tell the person where it is.",
    );
  const file = files.path(name);
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat) throw cannot(name, "no such file or folder. Check the path.");
  if (!stat.isFile() && !stat.isDirectory())
    throw cannot(name, "it is not a regular file. Choose another.");
  const runs = [file, path.resolve(root, name)].some((candidate) =>
    RUNNABLE_EXTENSIONS.has(path.extname(candidate).slice(1).toLowerCase()),
  );
  if (
    runs ||
    (stat.isFile() &&
      (isExecutable(stat) || PROGRAM_STARTS.some((start) => startOf(file).startsWith(start))))
  )
    throw cannot(name, "it could run as a program. The person can open it, if they trust it.");
  return file;
}

const isExecutable = ({ mode }: fs.Stats): boolean =>
  process.platform !== "win32" && (mode & 0o111) !== 0;

function startOf(file: string): string {
  const bytes = Buffer.alloc(16);
  const handle = fs.openSync(file, "r");
  const length = fs.readSync(handle, bytes);
  fs.closeSync(handle);
  return bytes.toString("latin1", 0, length);
}

/**
 * Starts the program detached, so that it outlives zz. If it soon ends with an exit code, it could
 * not open it.
 */
function open(name: string, file: string, { programs, io }: Ctx): Promise<void> {
  if (!programs.find(OPENER))
    throw cannot(name, `there is no ${OPENER} here. Tell the person where it is: ${file}`);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = programs.start(OPENER, [file], { detached: true, stdio: "ignore" });
  const cancel = io.clock.timer(FAILURE_WAIT_MS, resolve);
  child.on("error", ({ message }) =>
    reject(cannot(name, `${message}. Tell the person where it is: ${file}`)),
  );
  child.on("exit", (code) => {
    if (!code || OPENER === "explorer")
      resolve(); // explorer always ends with exit code 1
    else
      reject(
        cannot(
          name,
          `${OPENER} says that ${EXIT_REASONS[code] ?? `it failed (exit code ${code})`}.`,
        ),
      );
  });
  child.unref();
  return promise.finally(cancel);
}
