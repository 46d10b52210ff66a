// Memory: an index that is always in the prompt, notes behind it, and tools that add, find and
// remove them.
import path from "node:path";
import type { Ctx, Needs, Result, Zz } from "zz";
import { CHARS_PER_TOKEN, oneLine, plural, shorten } from "zz/text";
import { isBare, linesOf, today, withIndexed, withNote } from "./notes.ts";
import { bySimilarity, byWords, type Hit, type Page, pageNamed, pagesOf } from "./recall.ts";
import * as tree from "./tree.ts";

export const defaults = { tokens: 2_000 };
export const settings = {
  project: true,
  schema: {
    type: "object",
    properties: {
      tokens: {
        type: "integer",
        minimum: 0,
        maximum: 1_000_000,
        description: "tokens of the memory's indexes in the prompt",
      },
    },
  },
};
const MAX_PLACES = 10; // in one result of recall
const MAX_FILE_CHARS = 20_000; // of a file that recall gives whole
const MAX_NOTE_CHARS = 2_000;
const GUIDE =
  "What was noted in earlier conversations; it may be out of date. recall finds what is not here, remember adds to it.";

export default (zz: Zz<typeof defaults>) => {
  zz.layer({
    name: "memory",
    slot: "memory",
    budget: zz.config.tokens + 300,
    text: (ctx) => overview(ctx, zz.config.tokens),
  });
  zz.tool({
    name: "remember",
    description:
      "Note a fact for later conversations, in one sentence: what the person wants, decided, or is called; what holds for this project.",
    aliases: ["save_memory", "add_memory"],
    also: { text: ["content", "fact", "memory", "note"] },
    params: {
      text: "string what to remember, in a sentence",
      topic: `string? a word or two, or ${tree.PARTS[0]}/… or ${tree.PARTS[1]}/…; without it the note goes under today`,
      where: "string? home (for every project) or project; home unless the project has a memory",
    },
    changes: true,
    needs: (args, ctx) => reads(targetOf(args, ctx)),
    run: remember,
  });
  zz.tool({
    name: "recall",
    kind: "read",
    description:
      "Find notes of earlier conversations by their words; or give the path of a file of memory to read all of it.",
    aliases: ["search_memory"],
    params: { query: "string words of what is looked for" },
    needs: (_, ctx) => ({ read: tree.filesOf(ctx).files.map(tree.allowed) }),
    run: recall,
  });
  zz.tool({
    name: "forget",
    description:
      "Remove a note: by its place, FILE:LINE as recall gives it, or by words that only it has.",
    aliases: ["delete_memory"],
    also: { what: ["query", "place", "text"] },
    params: { what: "string FILE:LINE, or words" },
    changes: true,
    needs: (_, ctx) => ({ read: tree.filesOf(ctx).files.map(tree.allowed) }),
    run: forget,
  });
  zz.command({
    name: "memory",
    usage: "[WORDS]",
    description: "what the model remembers; with words, where they stand",
    examples: {
      "/memory": "list what is remembered",
      "/memory deploy": "find where a word stands",
    },
    group: "conversation",
    run: (typed, ctx) => show(typed, ctx, zz.config.tokens),
  });
};

async function show(typed: string, ctx: Ctx, tokens: number): Promise<void> {
  if (typed.trim()) return ctx.note((await ctx.call("recall", { query: typed })).text);
  ctx.note(
    overview(ctx, tokens) ?? `Nothing is remembered yet. Notes would be kept in ${places(ctx)}.`,
  );
}

const places = (ctx: Ctx): string =>
  tree
    .treesOf(ctx)
    .map(({ folder }) => tree.shownPath(ctx.root, folder))
    .join(" and ");

/** Each tree's index, and what else it contains. */
function overview(ctx: Ctx, tokens: number): string | undefined {
  const trees = tree.treesOf(ctx);
  const promptFiles = trees.map(tree.promptFileOf);
  const room = (tokens * CHARS_PER_TOKEN) / Math.max(1, promptFiles.filter(Boolean).length);
  const texts = trees.map((memoryTree, i) =>
    [promptText(memoryTree, promptFiles[i]), hint(memoryTree)].filter(Boolean).join("\n"),
  );
  const present = texts.filter(Boolean);
  return present.length ? [GUIDE, ...present].join("\n\n") : undefined;

  function promptText({ from }: tree.Tree, file: string | undefined): string {
    if (!file) return "";
    const name = tree.shownPath(ctx.root, file);
    try {
      const real = tree.realOf(file); // both judged and read, since a link may change in between
      const refused = tree.refusal(ctx, from, real ?? file);
      if (refused) throw new Error(refused);
      const { text, size } = tree.endsOf(real!, ctx.files.open);
      if (size > tree.MAX_FILE_BYTES)
        ctx.note(
          `Memory '${name}' has ${size} bytes: only its beginning and its end are in the prompt. Shorten it.`,
        );
      return text.trim() && `# ${name}\n${shorten(text.trim(), room)}`;
    } catch (error) {
      ctx.note(`Memory '${name}' was left out: ${tree.reason(error)}.`);
      return "";
    }
  }

  function hint({ folder }: tree.Tree): string {
    const parts = tree
      .entriesIn(folder)
      .filter((dirent) => dirent.isDirectory() && tree.PARTS.includes(dirent.name))
      .map(({ name }) => `${name}/ (${tree.entriesIn(path.join(folder, name)).length})`);
    return parts.length ? `[More in ${tree.shownPath(ctx.root, folder)}: ${parts.join(", ")}]` : "";
  }
}

type Noted = { text: string; topic?: string | undefined; where?: string | undefined };
type Target = { file: string; title: string; index?: string; name: string };

/**
 * The file for a note: that of its topic, or of today; MEMORY.md if that is used instead of an
 * index.
 */
function targetOf({ text, topic, where }: Noted, ctx: Ctx): Target {
  const refuse = (reason: string) => new Error(`Cannot remember that: ${reason}`);
  if (!text.trim()) throw refuse("it is empty. Say it in a sentence.");
  if (text.length > MAX_NOTE_CHARS)
    throw refuse(
      `${text.length} characters are too many for a note (${MAX_NOTE_CHARS}). Say it in a sentence.`,
    );
  if (where !== undefined && where !== "home" && where !== "project")
    throw refuse(`'${where}' is not a place. Use home or project.`);
  const trees = tree.treesOf(ctx);
  const chosen = where
    ? trees.find(({ from }) => from === where)
    : trees.find((candidate) => tree.promptFileOf(candidate));
  const { base, folder } = chosen ?? trees.at(-1)!;
  const [part, ...remaining] = (topic ?? "").split("/");
  const isPart = remaining.length > 0 && tree.PARTS.includes(part!);
  const slug = slugOf(isPart ? remaining.join(" ") : (topic ?? ""));
  if (topic !== undefined && !slug)
    throw refuse(`'${topic}' is not a topic. Name it with letters.`);
  const name = slug ? `${isPart ? part : "topics"}/${slug}.md` : `daily/${today()}.md`;
  const promptFile = tree.promptFileOf({ from: "home", base, folder });
  if (promptFile?.endsWith("MEMORY.md"))
    return { file: promptFile, title: "Memory", name: "MEMORY.md" };
  const title = slug ? oneLine(isPart ? remaining.join("/") : topic!) : today();
  return { file: path.join(folder, name), title, index: path.join(folder, tree.INDEX), name };
}

const slugOf = (topic: string): string =>
  topic
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);

const reads = ({ file, index }: Target): Needs => ({
  read: [file, ...(index ? [index] : [])].filter(tree.lstat).map(tree.allowed),
});

async function remember({ text, topic, where }: Noted, ctx: Ctx): Promise<Result> {
  const { file, title, index, name } = targetOf({ text, topic, where }, ctx);
  const note = oneLine(text);
  const old = await noteText(file, ctx);
  const place = tree.shownPath(ctx.root, file);
  if (old !== undefined && linesOf(old).some((line) => line.endsWith(`: ${note}`)))
    return { text: `Nothing to add: '${place}' says that already.`, data: { place } };
  const next = withNote(old, title, `- ${today()}: ${note}`);
  await ctx.files.write(file, next);
  if (index) await ctx.files.write(index, withIndexed(await noteText(index, ctx), name, next));
  const line = linesOf(next.trimEnd()).length;
  return { text: `Remembered in ${place}:${line}.`, data: { place, line } };
}

/** The text of a file of notes; undefined if the file does not exist. */
async function noteText(file: string, { files }: Ctx): Promise<string | undefined> {
  if (!tree.lstat(file)) return undefined;
  const { text, bytes } = await files.read(file);
  if (bytes.includes(0))
    throw new Error(`Cannot remember that: '${file}' is not text. Move it away, or name a topic.`);
  if (bytes.length > tree.MAX_FILE_BYTES)
    throw new Error(
      `Cannot remember that: '${file}' has ${bytes.length} bytes, too many to add to. Name another topic.`,
    );
  return text;
}

async function recall({ query }: { query: string }, ctx: Ctx): Promise<Result> {
  const { root } = ctx;
  const { pages, leftOut } = await pagesOf(ctx);
  const ignored = leftOut.map(
    ({ file, problem }) => `[Left out: ${tree.shownPath(root, file)}: ${problem}]`,
  );
  const page = /\.(md|txt)$/i.test(query.trim()) ? pageNamed(pages, root, query.trim()) : undefined;
  if (page)
    return {
      text: shorten(page.lines.join("\n"), MAX_FILE_CHARS),
      data: { place: tree.shownPath(root, page.file) },
    };
  const exact = byWords(pages, query);
  const hits = exact.length ? exact : await bySimilarity(pages, query, MAX_PLACES + 1);
  const shown = hits.slice(0, MAX_PLACES).map((hit) => around(hit, pages, root));
  const moreHits = hits.length - shown.length;
  const none = `Nothing like '${query}' in ${plural(pages.length, "file")} of memory.`;
  const caveat = exact.length ? [] : ["No exact match. The nearest:"];
  const head = hits.length ? caveat : [none];
  const moreNote =
    moreHits > 0 ? [`[${exact.length ? moreHits : "There are"} more; use more words]`] : [];
  const data = hits
    .slice(0, MAX_PLACES)
    .map(({ file, line, text }) => ({ place: tree.shownPath(root, file), line, text }));
  return { text: [...head, ...shown, ...moreNote, ...ignored].join("\n"), data };
}

/** A line with its place and its neighbours. */
function around({ file, line }: Hit, pages: Page[], root: string): string {
  const { lines } = pages.find((page) => page.file === file)!;
  const from = Math.max(1, line - 1);
  const neighbours = lines.slice(from - 1, line + 1).map((text, i) => ({ text, number: from + i }));
  const rows = neighbours.filter(({ text, number }) => text.trim() || number === line);
  return [
    `${tree.shownPath(root, file)}:${line}`,
    ...rows.map(({ text, number }) => `${number === line ? ">" : " "} ${number}\t${text}`),
  ].join("\n");
}

async function forget({ what }: { what: string }, ctx: Ctx): Promise<Result> {
  const { root } = ctx;
  const refuse = (reason: string) => new Error(`Cannot forget '${what}': ${reason}`);
  const { pages } = await pagesOf(ctx);
  const { file, line, text } = hitToForget();
  const lines = pages.find((page) => page.file === file)!.lines.toSpliced(line - 1, 1);
  const next = lines.join("\n");
  const home = tree.treesOf(ctx).find(({ folder }) => file.startsWith(folder + path.sep));
  const index = home && path.join(home.folder, tree.INDEX);
  const name = home && path.relative(home.folder, file);
  const isNote = index !== undefined && file !== index && name !== "MEMORY.md";
  if (isNote && isBare(next)) await ctx.files.remove(file);
  else await ctx.files.write(file, next);
  const indexed = isNote ? pages.find((page) => page.file === index) : undefined;
  if (indexed)
    await ctx.files.write(
      index!,
      withIndexed(indexed.lines.join("\n"), name!, isBare(next) ? undefined : next),
    );
  const place = `${tree.shownPath(root, file)}:${line}`;
  return { text: `Forgot ${place}: ${text.trim()}`, data: { place, text } };

  function hitToForget(): Hit {
    const [, name, number] = /^(.+):(\d+)$/.exec(what.trim()) ?? [];
    const page = name ? pageNamed(pages, root, name) : undefined;
    if (page) {
      const text = page.lines[Number(number) - 1];
      if (!text?.trim()) throw refuse("there is nothing on that line. recall gives places.");
      return { file: page.file, line: Number(number), text };
    }
    const hits = byWords(pages, what);
    if (hits.length === 1) return hits[0]!;
    if (!hits.length) throw refuse("no note has these words. recall finds what is like them.");
    const hitLines = hits
      .slice(0, MAX_PLACES)
      .map((hit) => `${tree.shownPath(root, hit.file)}:${hit.line} ${hit.text.trim()}`);
    throw refuse(
      `${hits.length} lines have these words. Name one by its place:\n${hitLines.join("\n")}`,
    );
  }
}
