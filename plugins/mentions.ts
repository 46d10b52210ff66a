// @path in a message attaches a file, @folder/ a listing, @picture.png an image, @paper.pdf a PDF.
// Only what the person typed counts.
import { closeSync, realpathSync, type Stats, statSync } from "node:fs";
import { extname, resolve } from "node:path";
import type { Ctx, Zz } from "zz";
import {
  expandHome,
  type MediaFile,
  plural,
  readMedia,
  sentenceOf,
  sizeInWords,
  tryTo,
} from "zz/text";

const NO_TIMEOUT_MS = 2 ** 31 - 1; // the gate may ask, and the person takes their time

/** An @ that is not inside a word, as in an e-mail address, and not after a backslash. */
const MENTION =
  /(?<![\w\\@.+/-])@(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\[^\n]|[^\s\\"'@])(?:\\[^\n]|[^\s\\])*))/g;
const ESCAPED = /(?<![\w\\@.+/-])\\(?=@)/g;

/** Names that promise a picture, a PDF or sound; the bytes of the file decide what it really is. */
const MEDIA_EXTENSIONS = /\.(png|jpe?g|gif|webp|pdf|mp3|wav|flac|ogg|m4a|aac|aiff?)$/i;
/**
 * Extensions for which a missing file gets a note, besides those of the project's files: @app.route
 * is not a file.
 */
const EXTENSION_NAMES =
  "[cm]?[jt]sx?|json|md|txt|py|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|sh|ya?ml|toml|html?|s?css" +
  "|sql|csv|xml|vue|svelte|log|png|jpe?g|gif|webp|pdf|mp3|wav";
const EXTENSIONS = new RegExp(String.raw`\.(${EXTENSION_NAMES})$`, "i");

interface Target {
  path: string; // as typed
  location: string; // the same with ~ resolved
  file: string; // the resolved path
  folder: boolean;
  start?: number;
  end?: number;
}

interface Attached {
  label: string; // for the person
  block?: string; // for the model; an image is attached separately
}

export default (zz: Zz) => {
  zz.wrap(
    "line",
    async (typedLine, nextLine, ctx) =>
      nextLine(isMessage(typedLine, ctx) ? await attachMentions(typedLine, ctx) : typedLine),
    { order: "last", limit: NO_TIMEOUT_MS },
  );
};

/** Whether the line is a message; a command of a prompt template is one too. */
function isMessage(typedLine: string, { about }: Ctx): boolean {
  if (!typedLine.includes("@") || typedLine.startsWith("!")) return false;
  const commandName = /^\/([A-Za-z][\w-]*)(?:\s|$)/.exec(typedLine.trim())?.[1];
  return (
    !commandName ||
    about.commands.some((command) => command.name === commandName && command.group === "templates")
  );
}

async function attachMentions(typedLine: string, ctx: Ctx): Promise<string> {
  const seen = new Set<string>(); // mentions, and the files they lead to
  const attachments: Attached[] = [];
  for (const mentionNames of mentionsIn(typedLine)) {
    const [mention = ""] = mentionNames;
    if (seen.has(mention)) continue;
    seen.add(mention);
    const foundTarget = findTarget(mentionNames, ctx.root);
    if (!foundTarget) {
      await noteMissing(mentionNames.at(-1)!, ctx);
      continue;
    }
    const { path, file, start, end } = foundTarget;
    const targetKey = `${file}:${start}-${end}`;
    if (seen.has(targetKey)) continue;
    seen.add(targetKey);
    try {
      attachments.push(await attach(foundTarget, ctx));
    } catch (error) {
      ctx.note(`@${path} is not attached: ${sentenceOf(error)}`);
    }
  }
  if (attachments.length) ctx.note(`Attached ${attachments.map(({ label }) => label).join(", ")}.`);
  for (const { block } of attachments) if (block) ctx.chat.attach(block);
  return typedLine.replace(ESCAPED, "");
}

/**
 * For each mention the names it may mean, longest first: a comma at the end may not belong to it.
 */
function mentionsIn(typedLine: string): string[][] {
  return [...typedLine.matchAll(MENTION)].map(
    ([, doubleQuoted, singleQuoted, bareMention = ""]) => {
      const quotedName = doubleQuoted ?? singleQuoted;
      if (quotedName) return [quotedName];
      const possibleNames = [bareMention];
      while (/[\p{P}\p{S}]$/u.test(possibleNames.at(-1)!) && !possibleNames.at(-1)!.endsWith("/"))
        possibleNames.push(possibleNames.at(-1)!.slice(0, -1));
      return possibleNames
        .map((possibleName) => possibleName.replace(/\\(.)/g, "$1"))
        .filter(Boolean);
    },
  );
}

function findTarget(possibleNames: string[], root: string): Target | undefined {
  for (const possibleName of possibleNames) {
    const [, pathPart = possibleName, startDigits, endDigits] =
      /^(.+?):(\d+)(?:-(\d+))?$/.exec(possibleName) ?? [];
    for (const [path, firstLine, lastLine] of [
      [possibleName],
      [pathPart, startDigits, endDigits],
    ] as const) {
      const location = expandHome(path);
      const fileStats = statsOf(resolve(root, location));
      const folder = fileStats?.isDirectory() ?? false;
      // a bare word may be a decorator, not the folder
      if (!fileStats || (folder && !path.includes("/"))) continue;
      const file = realpathSync(resolve(root, location));
      const lineNumbers = firstLine && {
        start: Number(firstLine),
        end: Number(lastLine ?? firstLine),
      };
      return { path, location, file, folder, ...lineNumbers };
    }
  }
  return undefined;
}

/** Undefined if it does not exist, or cannot be a path. */
const statsOf = (absolutePath: string): Stats | undefined => tryTo(() => statSync(absolutePath));

/** Attaches what was mentioned. The mention itself stays in the message as text. */
async function attach(
  { path, location, file, folder, start, end }: Target,
  ctx: Ctx,
): Promise<Attached> {
  if (!folder && MEDIA_EXTENSIONS.test(file)) {
    const { verdict, why: denyReason } = ctx.permissions.judge("read", file);
    if (verdict === "deny") throw new Error(`reading it is denied ${denyReason}.`);
    const { type, base64, bytes } = mediaAt(file, ctx.files.open);
    ctx.chat.attach({ type, base64 });
    return { label: `${path} (${sizeInWords(bytes)})` };
  }
  const result = folder
    ? await ctx.call("list_dir", { path: location })
    : await ctx.call("read_file", { path: location, ...(start && { start, end }) });
  if (result.failed) throw new Error(result.text);
  const title = `${folder ? "FOLDER" : "FILE"} ${path}`;
  const block = `--- ${title} ---\n${result.text}\n--- END ${title} ---`;
  return { label: `${path}${folder ? "" : describeSize(result.data)}`, block };
}

function describeSize(resultData: unknown): string {
  const { start, end, lines } = (resultData ?? {}) as {
    start?: number;
    end?: number;
    lines?: number;
  };
  if (!lines || !start || !end) return "";
  const shownCount = end - start + 1;
  return shownCount < lines ? ` (${shownCount} of ${lines} lines)` : ` (${plural(lines, "line")})`;
}

function mediaAt(mediaPath: string, openFile: Ctx["files"]["open"]): MediaFile {
  const descriptor = openFile(mediaPath);
  try {
    const mediaFile = readMedia(descriptor);
    if (mediaFile) return mediaFile;
  } finally {
    closeSync(descriptor);
  }
  throw new Error(`it holds no ${mediaWord(mediaPath)} of that kind. Check its extension.`);
}

function mediaWord(mediaPath: string): string {
  if (/\.(png|jpe?g|gif|webp)$/i.test(mediaPath)) return "image";
  return /\.pdf$/i.test(mediaPath) ? "PDF" : "sound";
}

/**
 * Notes that a file is missing, unless the word looks like a decorator, a package or a name, as
 * most do.
 */
async function noteMissing(mentionedName: string, ctx: Ctx): Promise<void> {
  if (!/[./]/.test(mentionedName) || isPackage(mentionedName, ctx.root)) return;
  const files = await ctx.files.list().catch((): string[] => []);
  const extension = extname(mentionedName);
  const isLikelyFile =
    EXTENSIONS.test(mentionedName) ||
    (extension && files.some((projectFile) => projectFile.endsWith(extension)));
  if (!mentionedName.includes("/") && !isLikelyFile) return;
  const { default: Fuse } = await import("fuse.js");
  const [nearestFile] = new Fuse(files, { threshold: 0.5, ignoreLocation: true }).search(
    mentionedName.slice(0, 100),
    { limit: 1 },
  );
  ctx.note(
    `@${mentionedName} is not attached: no such file. ` +
      `${nearestFile ? `Did you mean @${nearestFile.item}?` : "Check the path."}`,
  );
}

/**
 * Whether it is a package of npm: @scope/name, without an extension, and the project has no such
 * folder.
 */
function isPackage(mentionedName: string, root: string): boolean {
  const [, scopeName] = /^([a-z\d~-][\w.~-]*)\/[a-z\d~-][\w.~-]*$/.exec(mentionedName) ?? [];
  return (
    Boolean(scopeName) && !EXTENSIONS.test(mentionedName) && !statsOf(resolve(root, scopeName!))
  );
}
