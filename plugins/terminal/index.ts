// How things look on a terminal: a live line while something runs, calls as they are announced and
// as they end, the rendered answer, one line of figures after it, and the prompt. Everything but
// the answer goes to stderr.
import type { Zz } from "zz";
import { isPlainLine } from "./plain-line.ts";
import { promptOf } from "./prompt-mark.ts";
import type { Look } from "./render-markdown.ts";
import { currentTheme, defaults, isRich, openScreen, readColours, themeNameOf } from "./screen.ts";
import { addShowImage } from "./show-image.ts";
import { showTurns } from "./show-turn.ts";
import { STYLES } from "./styles.ts";

export { defaults };
export const settings = {
  name: "display",
  // no hiding
  project: Object.keys(defaults).filter(
    (settingName) => !["calls", "diffRows", "images"].includes(settingName),
  ),
  schema: {
    type: "object",
    properties: {
      theme: {
        enum: ["auto", "dark", "light", "none"],
        description:
          "colours for a dark or a light background, as the terminal says (auto), or none",
      },
      colours: {
        type: "object",
        description: 'colours of your own by style, in words such as "bold #ff8800"',
        properties: Object.fromEntries(STYLES.map((styleName) => [styleName, { type: "string" }])),
        additionalProperties: false,
      },
      thinking: {
        enum: ["off", "summary", "full"],
        description: "how much of the model's thinking is shown",
      },
      calls: {
        enum: ["all", "results", "failed", "off"],
        description: "calls as they begin and end, as they end, only those that failed, or none",
      },
      resultLines: {
        type: "integer",
        minimum: 0,
        maximum: 1_000,
        description: "lines of what a call gave, shown under its row",
      },
      diffRows: {
        type: "integer",
        minimum: 1,
        maximum: 10_000,
        description: "rows of the diff of an edit that nobody was asked about",
      },
      stats: { type: "boolean", description: "time, tokens and calls after each answer" },
      progress: { type: "boolean", description: "the line that says what runs, and for how long" },
      live: {
        type: "boolean",
        description: "the end of an answer while it comes; then all of it, as ever",
      },
      reveal: {
        enum: ["instant", "words"],
        description: "an answer all at once, or word by word (any key: all of it)",
      },
      wordsPerSecond: {
        type: "number",
        minimum: 1,
        maximum: 10_000,
        description: "how fast words are revealed",
      },
      bell: { type: "boolean", description: "a bell when a long turn has ended" },
      bellAfter: {
        type: "number",
        minimum: 0,
        maximum: 1_000_000,
        description: "seconds that make a turn long",
      },
      plain: {
        type: "boolean",
        description: "for screen readers: words instead of signs, nothing that moves",
      },
      images: {
        enum: ["auto", "off"],
        description: "images drawn where the terminal can, or never",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  const screen = openScreen(zz.io, () => zz.config);
  const recolour = (writeNote: (noteText: string) => void) =>
    readColours(screen).catch(({ message }) => writeNote(message));
  zz.on("started", ({ live }, { note, service }) => {
    const background = service("background");
    if (background) screen.isLight = background.isLight;
    return live ? recolour(note) : undefined;
  });
  zz.on("phase", ({ to }, { note }) => {
    const isOther = screen.theme && themeNameOf(screen) !== screen.themeName;
    return to === "thinking" && isOther ? recolour(note) : undefined;
  });
  zz.on("configured", ({ names }, { note }) =>
    names.includes("display") && screen.theme ? recolour(note) : undefined,
  );
  showTurns(zz, screen);
  addShowImage(zz, screen);
  zz.wrap("preview", async ({ about, changes }) => {
    const { newRoom, renderDiff } = await import("./draw-diff.ts");
    if (!screen.theme) await readColours(screen).catch(() => {});
    const [theme, searchRoom] = [currentTheme(screen), newRoom()];
    const { removed, added, changed: strong, dim, syntax } = theme;
    const { highlight } = syntax ? await import("./highlight.ts") : {};
    const code =
      highlight &&
      ((sourceCode: string, filePath: string) =>
        highlight(sourceCode, languageOf(filePath), theme));
    return [
      about,
      ...changes.map((change) =>
        renderDiff(change, { removed, added, strong, dim, code }, searchRoom),
      ),
    ]
      .filter(Boolean)
      .join("\n");
  });
  zz.wrap(
    "render",
    async (answerText, next, ctx) => {
      const plainAnswer = await next(answerText);
      if (!isRich(screen)) return plainAnswer;
      const shownAnswer = await rendered(plainAnswer, {
        width: zz.io.stdout.columns || 80,
        theme: currentTheme(screen),
      });
      return zz.config.reveal === "words" ? revealWords(zz, shownAnswer, ctx.signal) : shownAnswer;
    },
    { order: "first", limit: 600_000 },
  );
  zz.wrap(
    "prompt",
    async (promptMark, next, ctx) =>
      `${currentTheme(screen).dim(await promptOf(ctx, screen.since))}${await next(promptMark)}`,
  );
  zz.defer(screen.line.stop);
};

/** By its ending, or by the whole name, as of a Dockerfile. */
const languageOf = (filePath: string): string =>
  /[^./\\]+$/.exec(filePath)?.[0].toLowerCase() ?? "";

/** The answer as it is shown; what reads Markdown is heavy, and a plain line needs none of it. */
async function rendered(answerText: string, answerLook: Look): Promise<string> {
  if (isPlainLine(answerText, answerLook.width)) return answerText;
  const { renderMarkdown } = await import("./render-markdown.ts");
  const highlighter =
    answerLook.theme.syntax && CODE_FENCE.test(answerText)
      ? await import("./highlight.ts")
      : undefined;
  return renderMarkdown(answerText, { ...answerLook, highlight: highlighter?.highlight });
}

const CODE_FENCE = /^[ \t>*+\-\d.)]*(?:```|~~~)[ \t]*\w/m; // that names its language

/** Prints word by word until a key is pressed; returns the rest of the text. */
async function revealWords(
  { io, config }: Zz<typeof defaults>,
  shownText: string,
  signal: AbortSignal,
): Promise<string> {
  const wordPieces = shownText.match(/\s*\S+/g) ?? [];
  let isHurried = false;
  const hurryReveal = () => void (isHurried = true);
  io.stdin.once("data", hurryReveal);
  while (wordPieces.length > 1 && !isHurried && !signal.aborted) {
    io.stdout.write(wordPieces.shift()!);
    await io.clock.sleep(1000 / config.wordsPerSecond);
  }
  io.stdin.off("data", hurryReveal);
  return wordPieces.join("");
}
