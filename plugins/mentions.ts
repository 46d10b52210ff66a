// @path in a message attaches a file, @folder/ a listing, @picture.png an image, @paper.pdf a PDF.
// Only what the person typed counts.
import { closeSync, realpathSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { extname, resolve } from "node:path";
import type { Ctx, Zz } from "zz";
import { type MediaFile, plural, readMedia, sentenceOf, tryTo } from "zz/text";

const NO_TIMEOUT_MS = 2 ** 31 - 1; // the gate may ask, and the person takes their time

/** An @ that is not inside a word, as in an e-mail address, and not after a backslash. */
const MENTION =
  /(?<![\w\\@.+/-])@(?:"([^"\n]+)"|'([^'\n]+)'|((?:\\[^\n]|[^\s\\"'@])(?:\\[^\n]|[^\s\\])*))/g;
const ESCAPED = /(?<![\w\\@.+/-])\\(?=@)/g;

/** Names that promise a picture, a PDF or sound; the bytes of the file decide what it really is. */
const MEDIA = /\.(png|jpe?g|gif|webp|pdf|mp3|wav|flac|ogg|m4a|aac|aiff?)$/i;
/**
 * Extensions for which a missing file gets a note, besides those of the project's files: @app.route
 * is not a file.
 */
const EXTENSIONS =
  /\.([cm]?[jt]sx?|json|md|txt|py|rs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|sh|ya?ml|toml|html?|s?css|sql|csv|xml|vue|svelte|log|png|jpe?g|gif|webp|pdf|mp3|wav)$/i;

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
    async (line, next, ctx) => next(isMessage(line, ctx) ? await expand(line, ctx) : line),
    { order: "last", limit: NO_TIMEOUT_MS },
  );
};

/** Whether the line is a message; a command of a prompt template is one too. */
function isMessage(line: string, { about }: Ctx): boolean {
  if (!line.includes("@") || line.startsWith("!")) return false;
  const name = /^\/([A-Za-z][\w-]*)(?:\s|$)/.exec(line.trim())?.[1];
  return (
    !name ||
    about.commands.some((command) => command.name === name && command.group === "templates")
  );
}

async function expand(line: string, ctx: Ctx): Promise<string> {
  // by mention, and by the file it leads to
  const attached = new Map<string, Attached | undefined>();
  for (const names of mentionsIn(line)) {
    const [mention = ""] = names;
    if (attached.has(mention)) continue;
    attached.set(mention, undefined);
    const target = find(names, ctx.root);
    const key = target ? `${target.file}:${target.start}-${target.end}` : "";
    if (!target) await noteMissing(names.at(-1)!, ctx);
    else if (!attached.has(key))
      attached.set(key, await attach(target, ctx).catch((error) => noteRefusal(target, error)));
  }
  const attachments = [...attached.values()].filter((attachment) => attachment !== undefined);
  if (attachments.length) ctx.note(`Attached ${attachments.map(({ label }) => label).join(", ")}.`);
  for (const { block } of attachments) if (block) ctx.chat.attach(block);
  return line.replace(ESCAPED, "");

  function noteRefusal({ path }: Target, error: Error): undefined {
    ctx.note(`@${path} is not attached: ${sentenceOf(error)}`);
  }
}

/**
 * For each mention the names it may mean, longest first: a comma at the end may not belong to it.
 */
function mentionsIn(line: string): string[][] {
  return [...line.matchAll(MENTION)].map(([, doubleQuoted, singleQuoted, bare = ""]) => {
    const quoted = doubleQuoted ?? singleQuoted;
    if (quoted) return [quoted];
    const names = [bare];
    while (/[\p{P}\p{S}]$/u.test(names.at(-1)!) && !names.at(-1)!.endsWith("/"))
      names.push(names.at(-1)!.slice(0, -1));
    return names.map((name) => name.replace(/\\(.)/g, "$1")).filter(Boolean);
  });
}

function find(names: string[], root: string): Target | undefined {
  for (const name of names) {
    const [, before = name, start, end] = /^(.+?):(\d+)(?:-(\d+))?$/.exec(name) ?? [];
    for (const [path, from, to] of [[name], [before, start, end]] as const) {
      const location = path.replace(/^~(?=\/)/, homedir());
      const stat = statOf(resolve(root, location));
      const folder = stat?.isDirectory() ?? false;
      // a bare word may be a decorator, not the folder
      if (!stat || (folder && !path.includes("/"))) continue;
      const lines = from ? { start: Number(from), end: Number(to ?? from) } : {};
      return { path, location, file: realpathSync(resolve(root, location)), folder, ...lines };
    }
  }
  return undefined;
}

/** Undefined if it does not exist, or cannot be a path. */
const statOf = (file: string): Stats | undefined => tryTo(() => statSync(file));

/** Attaches what was mentioned. The mention itself stays in the message as text. */
async function attach(
  { path, location, file, folder, start, end }: Target,
  ctx: Ctx,
): Promise<Attached> {
  if (!folder && MEDIA.test(file)) {
    const { verdict, why: reason } = ctx.permissions.judge("read", file);
    if (verdict === "deny") throw new Error(`reading it is denied ${reason}.`);
    const { type, base64, bytes } = mediaAt(file, ctx.files.open);
    ctx.chat.attach({ type, base64 });
    return { label: `${path} (${Math.ceil(bytes / 1024)} KB)` };
  }
  const result = folder
    ? await ctx.call("list_dir", { path: location })
    : await ctx.call("read_file", { path: location, ...(start && { start, end }) });
  if (result.failed) throw new Error(result.text);
  const title = `${folder ? "FOLDER" : "FILE"} ${path}`;
  const block = `--- ${title} ---\n${result.text}\n--- END ${title} ---`;
  return { label: `${path}${folder ? "" : size(result.data)}`, block };
}

function size(data: unknown): string {
  const { start, end, lines } = (data ?? {}) as { start?: number; end?: number; lines?: number };
  if (!lines || !start || !end) return "";
  const shown = end - start + 1;
  return shown < lines ? ` (${shown} of ${lines} lines)` : ` (${plural(lines, "line")})`;
}

function mediaAt(file: string, open: Ctx["files"]["open"]): MediaFile {
  const fd = open(file);
  try {
    const media = readMedia(fd);
    if (media) return media;
  } finally {
    closeSync(fd);
  }
  throw new Error(`it holds no ${mediaWord(file)} of that kind. Check its extension.`);
}

function mediaWord(file: string): string {
  if (/\.(png|jpe?g|gif|webp)$/i.test(file)) return "image";
  return /\.pdf$/i.test(file) ? "PDF" : "sound";
}

/**
 * Notes that a file is missing, unless the word looks like a decorator, a package or a name, as
 * most do.
 */
async function noteMissing(name: string, ctx: Ctx): Promise<void> {
  if (!/[./]/.test(name) || isPackage(name, ctx.root)) return;
  const files = await ctx.files.list().catch((): string[] => []);
  const extension = extname(name);
  const isLikelyFile =
    EXTENSIONS.test(name) || (extension && files.some((file) => file.endsWith(extension)));
  if (!name.includes("/") && !isLikelyFile) return;
  const { default: Fuse } = await import("fuse.js");
  const [near] = new Fuse(files, { threshold: 0.5, ignoreLocation: true }).search(
    name.slice(0, 100),
    { limit: 1 },
  );
  ctx.note(
    `@${name} is not attached: no such file. ${near ? `Did you mean @${near.item}?` : "Check the path."}`,
  );
}

/**
 * Whether it is a package of npm: @scope/name, without an extension, and the project has no such
 * folder.
 */
function isPackage(name: string, root: string): boolean {
  const [, scope] = /^([a-z\d~-][\w.~-]*)\/[a-z\d~-][\w.~-]*$/.exec(name) ?? [];
  return Boolean(scope) && !EXTENSIONS.test(name) && !statOf(resolve(root, scope!));
}
