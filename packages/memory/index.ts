// Memory: an index that is always in the prompt, notes behind it, and tools that add, find and
// remove them.
import path from "node:path";
import type { Ctx, Needs, Result, Zz } from "zz";
import { CHARS_PER_TOKEN, oneLine, plural, shorten } from "zz/text";
import { isBare, linesOf, today, withIndexed, withNote } from "./notes.ts";
import { bySimilarity, byWords, type Hit, pageNamed, pagesOf } from "./recall.ts";
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
const MEMORY_GUIDE =
  "What was noted in earlier conversations; it may be out of date. " +
  "recall finds what is not here, remember adds to it.";

export default (zz: Zz<typeof defaults>) => {
  zz.layer({
    name: "memory",
    slot: "memory",
    budget: zz.config.tokens + 300,
    text: (ctx) => overview(ctx, zz.config.tokens),
  });
  const readsAll = (_: object, ctx: Ctx) => ({ read: tree.filesOf(ctx).files.map(tree.allowed) });
  zz.tool({
    name: "remember",
    description:
      "Note a fact for later conversations, in one sentence: what the person wants, decided, " +
      "or is called; what holds for this project.",
    aliases: ["save_memory", "add_memory"],
    also: { text: ["content", "fact", "memory", "note"] },
    params: {
      text: "string what to remember, in a sentence",
      topic: `string? a word or two, or ${tree.PARTS[0]}/… or ${tree.PARTS[1]}/…; else under today`,
      where: "string? home (for every project) or project; home unless the project has a memory",
    },
    changes: true,
    needs: (noteArgs, ctx) => needsToRead(targetOf(noteArgs, ctx)),
    run: remember,
  });
  zz.tool({
    name: "recall",
    kind: "read",
    description:
      "Find notes of earlier conversations by their words; " +
      "or give the path of a file of memory to read all of it.",
    aliases: ["search_memory"],
    params: { query: "string words of what is looked for" },
    needs: readsAll,
    run: recallNotes,
  });
  zz.tool({
    name: "forget",
    description:
      "Remove a note: by its place, FILE:LINE as recall gives it, or by words that only it has.",
    aliases: ["delete_memory"],
    also: { what: ["query", "place", "text"] },
    params: { what: "string FILE:LINE, or words" },
    changes: true,
    needs: readsAll,
    run: forgetNote,
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
    run: (typedWords, ctx) => showMemory(typedWords, ctx, zz.config.tokens),
  });
};

async function showMemory(typedWords: string, ctx: Ctx, tokens: number): Promise<void> {
  if (typedWords.trim()) return ctx.note((await ctx.call("recall", { query: typedWords })).text);
  ctx.note(
    overview(ctx, tokens) ??
      `Nothing is remembered yet. Notes would be kept in ${listPlaces(ctx)}.`,
  );
}

const listPlaces = (ctx: Ctx): string =>
  tree
    .treesOf(ctx)
    .map(({ folder }) => tree.shownPath(ctx.root, folder))
    .join(" and ");

/** Each tree's index, and what else it contains. */
function overview(ctx: Ctx, tokens: number): string | undefined {
  const memoryTrees = tree.treesOf(ctx);
  const promptFiles = memoryTrees.map(tree.promptFileOf);
  const charsForEach = (tokens * CHARS_PER_TOKEN) / Math.max(1, promptFiles.filter(Boolean).length);
  const treeTexts = memoryTrees.map((memoryTree, i) =>
    [promptText(memoryTree, promptFiles[i]), describeParts(memoryTree)].filter(Boolean).join("\n"),
  );
  const present = treeTexts.filter(Boolean);
  return present.length ? [MEMORY_GUIDE, ...present].join("\n\n") : undefined;

  function promptText({ from }: tree.Tree, promptFile: string | undefined): string {
    if (!promptFile) return "";
    const shownName = tree.shownPath(ctx.root, promptFile);
    try {
      // both judged and read, since a link may change in between
      const realFile = tree.realOf(promptFile);
      const refused = tree.refusal(ctx, from, realFile ?? promptFile);
      if (refused) throw new Error(refused);
      const { text, size } = tree.endsOf(realFile!, ctx.files.open);
      if (size > tree.MAX_FILE_BYTES)
        ctx.note(
          `Memory '${shownName}' has ${size} bytes: ` +
            "only its beginning and its end are in the prompt. Shorten it.",
        );
      return text.trim() && `# ${shownName}\n${shorten(text.trim(), charsForEach)}`;
    } catch (error) {
      ctx.note(`Memory '${shownName}' was left out: ${tree.reason(error)}.`);
      return "";
    }
  }

  function describeParts({ folder }: tree.Tree): string {
    const parts = tree
      .entriesIn(folder)
      .filter((folderEntry) => folderEntry.isDirectory() && tree.PARTS.includes(folderEntry.name))
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
      `${text.length} characters are too many for a note ` +
        `(${MAX_NOTE_CHARS}). Say it in a sentence.`,
    );
  if (where !== undefined && where !== "home" && where !== "project")
    throw refuse(`'${where}' is not a place. Use home or project.`);
  const memoryTrees = tree.treesOf(ctx);
  const chosenTree =
    memoryTrees.find(where ? ({ from }) => from === where : tree.promptFileOf) ??
    memoryTrees.at(-1)!;
  const [partName, ...remaining] = (topic ?? "").split("/");
  const isPart = remaining.length > 0 && tree.PARTS.includes(partName!);
  const topicSlug = slugOf(isPart ? remaining.join(" ") : (topic ?? ""));
  if (topic !== undefined && !topicSlug)
    throw refuse(`'${topic}' is not a topic. Name it with letters.`);
  const name = topicSlug
    ? `${isPart ? partName : "topics"}/${topicSlug}.md`
    : `daily/${today()}.md`;
  const promptFile = tree.promptFileOf(chosenTree);
  if (promptFile?.endsWith("MEMORY.md"))
    return { file: promptFile, title: "Memory", name: "MEMORY.md" };
  const title = topicSlug ? oneLine(isPart ? remaining.join("/") : topic!) : today();
  const { folder } = chosenTree;
  return { file: path.join(folder, name), title, index: path.join(folder, tree.INDEX), name };
}

const slugOf = (topicText: string): string =>
  topicText
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);

const needsToRead = ({ file, index }: Target): Needs => ({
  read: [file, ...(index ? [index] : [])].filter(tree.lstat).map(tree.allowed),
});

async function remember({ text, topic, where }: Noted, ctx: Ctx): Promise<Result> {
  const { file, title, index, name } = targetOf({ text, topic, where }, ctx);
  const noteLine = oneLine(text);
  const previousText = await noteText(file, ctx);
  const place = tree.shownPath(ctx.root, file);
  if (
    previousText !== undefined &&
    linesOf(previousText).some((textLine) => textLine.endsWith(`: ${noteLine}`))
  )
    return { text: `Nothing to add: '${place}' says that already.`, data: { place } };
  const updatedText = withNote(previousText, title, `- ${today()}: ${noteLine}`);
  await ctx.files.write(file, updatedText);
  if (index)
    await ctx.files.write(index, withIndexed(await noteText(index, ctx), name, updatedText));
  const line = linesOf(updatedText.trimEnd()).length;
  return { text: `Remembered in ${place}:${line}.`, data: { place, line } };
}

/** The text of a file of notes; undefined if the file does not exist. */
async function noteText(notesFile: string, { files }: Ctx): Promise<string | undefined> {
  if (!tree.lstat(notesFile)) return undefined;
  const { text, bytes } = await files.read(notesFile);
  if (bytes.includes(0))
    throw new Error(
      `Cannot remember that: '${notesFile}' is not text. Move it away, or name a topic.`,
    );
  if (bytes.length > tree.MAX_FILE_BYTES)
    throw new Error(
      `Cannot remember that: '${notesFile}' has ${bytes.length} bytes, ` +
        "too many to add to. Name another topic.",
    );
  return text;
}

async function recallNotes({ query }: { query: string }, ctx: Ctx): Promise<Result> {
  const { root } = ctx;
  const { pages, leftOut } = await pagesOf(ctx);
  const ignored = leftOut.map(
    ({ file, problem }) => `[Left out: ${tree.shownPath(root, file)}: ${problem}]`,
  );
  const namedPage = /\.(md|txt)$/i.test(query.trim())
    ? pageNamed(pages, root, query.trim())
    : undefined;
  if (namedPage)
    return {
      text: shorten(namedPage.lines.join("\n"), MAX_FILE_CHARS),
      data: { place: tree.shownPath(root, namedPage.file) },
    };
  const exactHits = byWords(pages, query);
  const foundHits = exactHits.length ? exactHits : await bySimilarity(pages, query, MAX_PLACES + 1);
  const shownHits = foundHits.slice(0, MAX_PLACES);
  const moreHits = foundHits.length - shownHits.length;
  const noHitsText = `Nothing like '${query}' in ${plural(pages.length, "file")} of memory.`;
  const caveat = exactHits.length ? [] : ["No exact match. The nearest:"];
  const headLines = foundHits.length ? caveat : [noHitsText];
  const moreNote =
    moreHits > 0 ? [`[${exactHits.length ? moreHits : "There are"} more; use more words]`] : [];
  const data = shownHits.map(({ page, line, text }) => ({
    place: tree.shownPath(root, page.file),
    line,
    text,
  }));
  const hitTexts = shownHits.map((lineHit) => around(lineHit, root));
  return { text: [...headLines, ...hitTexts, ...moreNote, ...ignored].join("\n"), data };
}

/** A line with its place and its neighbours. */
function around({ page, line }: Hit, projectRoot: string): string {
  const firstNumber = Math.max(1, line - 1);
  const neighbours = page.lines
    .slice(firstNumber - 1, line + 1)
    .map((text, i) => ({ text, number: firstNumber + i }));
  const filledLines = neighbours.filter(({ text, number }) => text.trim() || number === line);
  return [
    `${tree.shownPath(projectRoot, page.file)}:${line}`,
    ...filledLines.map(({ text, number }) => `${number === line ? ">" : " "} ${number}\t${text}`),
  ].join("\n");
}

async function forgetNote({ what }: { what: string }, ctx: Ctx): Promise<Result> {
  const { root } = ctx;
  const refuse = (reason: string) => new Error(`Cannot forget '${what}': ${reason}`);
  const { pages } = await pagesOf(ctx);
  const { page, line, text } = hitToForget();
  const { file } = page;
  const updatedText = page.lines.toSpliced(line - 1, 1).join("\n");
  const memoryTree = tree.treesOf(ctx).find(({ folder }) => file.startsWith(folder + path.sep));
  const index = memoryTree && path.join(memoryTree.folder, tree.INDEX);
  const relativeFile = memoryTree && path.relative(memoryTree.folder, file);
  const isIndexedNote = index !== undefined && file !== index && relativeFile !== "MEMORY.md";
  if (isIndexedNote && isBare(updatedText)) await ctx.files.remove(file);
  else await ctx.files.write(file, updatedText);
  const indexed = isIndexedNote ? pages.find((candidate) => candidate.file === index) : undefined;
  if (indexed)
    await ctx.files.write(
      index!,
      withIndexed(
        indexed.lines.join("\n"),
        relativeFile!,
        isBare(updatedText) ? undefined : updatedText,
      ),
    );
  const place = `${tree.shownPath(root, file)}:${line}`;
  return { text: `Forgot ${place}: ${text.trim()}`, data: { place, text } };

  function hitToForget(): Hit {
    const [, pageName, lineNumber] = /^(.+):(\d+)$/.exec(what.trim()) ?? [];
    const namedPage = pageName ? pageNamed(pages, root, pageName) : undefined;
    if (namedPage) {
      const text = namedPage.lines[Number(lineNumber) - 1];
      if (!text?.trim()) throw refuse("there is nothing on that line. recall gives places.");
      return { page: namedPage, line: Number(lineNumber), text };
    }
    const matchingHits = byWords(pages, what);
    if (matchingHits.length === 1) return matchingHits[0]!;
    if (!matchingHits.length)
      throw refuse("no note has these words. recall finds what is like them.");
    const hitLines = matchingHits
      .slice(0, MAX_PLACES)
      .map(
        (lineHit) =>
          `${tree.shownPath(root, lineHit.page.file)}:${lineHit.line} ${lineHit.text.trim()}`,
      );
    throw refuse(
      `${matchingHits.length} lines have these words. ` +
        `Name one by its place:\n${hitLines.join("\n")}`,
    );
  }
}
