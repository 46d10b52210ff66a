// Shows a turn to the person: thinking, calls as they are announced and as they end, and a line of
// figures at its end.
import type { Answer, Ctx, Events, Image, Zz } from "zz";
import { plural, thousands, width, wrap } from "zz/text";
import { seconds } from "./live-row.ts";
import {
  type Announced,
  columnsOf,
  currentTheme,
  formatRow,
  isPlain,
  isRich,
  printAbove,
  type Screen,
  signsOf,
} from "./screen.ts";
import {
  argumentsOf,
  firstOf,
  foldRows,
  shortenToColumns,
  subjectOf,
  summary,
  withoutSubject,
} from "./shorten-for-rows.ts";
import { SHOW_IMAGE } from "./show-image.ts";

// a refusal says what would allow the call, so it is not cut to a row
const MAX_REFUSAL_COLUMNS = 1_000;
const MAX_ERROR_COLUMNS = 300; // nor is the sentence that says why a call failed
const MAX_SHOWN_COLUMNS = 60; // of what a tool shows of a failure; more is a sentence, too
const DRAWING = { limit: 20_000 }; // ms; a process that decodes images ends before
// ms of thinking: by then the request is on its way, and loading delays nothing
const HEAVY_AFTER = 150;

export function showTurns(zz: Zz, screen: Screen): void {
  const { line, config } = screen;
  zz.on(
    "started",
    ({ live, stays }) => void Object.assign(screen, { live, stays, since: Date.now() }),
  );
  zz.on("phase", whileThinking(screen));
  showCalls(zz, screen);
  zz.on("phase", ({ to }) => {
    screen.idle = to === "idle";
    line.stop();
    if (to === "thinking") line.begin("thinking");
    if (to === "executing_tools") line.begin(screen.calls[0]?.name ?? "");
    else showResults(screen, true);
    if (to === "thinking" && screen.live && isPlain(screen)) printAbove(screen, "thinking");
  });
  let answerText = ""; // as far as it has come
  zz.on("requested", () => void (answerText = ""));
  zz.on("received", ({ tokens, thinking, text }) => {
    if (config().live) answerText += text;
    line.thinks(tokens, thinking, answerText);
  });
  zz.on("thought", (thought) => showThought(screen, thought));
  const attached = new WeakSet<object>(); // messages whose images were drawn
  zz.on(
    "requested",
    async ({ task }, ctx) => {
      const { chat } = ctx;
      const asked = chat.messages.findLast(({ role }) => role === "user");
      if (task !== "chat" || asked?.role !== "user" || !asked.images || attached.has(asked)) return;
      attached.add(asked);
      const drawnImages =
        chat.messages.at(-1) === asked ? await drawAsText(screen, asked.images, ctx) : "";
      if (drawnImages) printAbove(screen, drawnImages);
    },
    DRAWING,
  );
  zz.on("changed", ({ shown = "" }) => {
    for (const diffRow of foldedDiff(screen, shown)) printAbove(screen, diffRow);
  });
  zz.on("progressed", ({ text }) => (text || !screen.idle ? line.progress(text) : line.stop()));
  zz.on("typed", ({ text }) => line.typed(text));
  zz.on("retried", line.wipe);
  zz.on("noted", line.wipe);
  zz.on("answered", (turnAnswer) => {
    if (!screen.live || !screen.stays) return;
    const { stats, bell, bellAfter } = config();
    if (bell && turnAnswer.ms > bellAfter * 1000) zz.io.stderr.write("\x07");
    if (stats) {
      const figuresRow = shortenToColumns(figures(turnAnswer), columnsOf(screen) - 1);
      printAbove(screen, `${currentTheme(screen).dim(figuresRow)}\n`);
    }
  });
}

function showThought(screen: Screen, { text, ms }: Events["thought"]): void {
  const { thinking } = screen.config();
  if (thinking === "off" || !screen.live) return;
  const isPlainMode = isPlain(screen);
  const thoughtRows = isPlainMode
    ? [["thought", seconds(ms)].filter(Boolean).join(" for ")]
    : foldRows(text, columnsOf(screen) - 2, thinking === "full" ? Number.POSITIVE_INFINITY : 2).map(
        (thoughtRow) => `┆ ${thoughtRow}`,
      );
  for (const printedRow of thoughtRows) printAbove(screen, currentTheme(screen).dim(printedRow));
}

/** Shows calls, and nothing beside a question. */
function showCalls(zz: Zz, screen: Screen): void {
  const { line, config } = screen;
  zz.on("asked", () => {
    screen.questions++;
    line.stop();
  });
  zz.on("resumed", () => {
    screen.questions = Math.max(0, screen.questions - 1);
    showResults(screen);
    const waiting = nextCall(screen);
    if (waiting && !screen.idle) line.resume(waiting.name);
  });
  zz.on("planned", ({ calls, text }, { about }) => {
    if (text)
      printAbove(screen, currentTheme(screen).dim(shortenToColumns(text, columnsOf(screen) - 1)));
    const callSign = currentTheme(screen).accent(signsOf(screen).call);
    const isAnnounced = config().calls === "all";
    screen.calls = calls.map((plannedCall) => {
      const name = shortenToColumns(plannedCall.name);
      const callText = about.line(plannedCall) ?? argumentsOf(plannedCall.args);
      const row = isAnnounced ? formatRow(screen, `${callSign} ${name}`, callText) : "";
      return { id: plannedCall.id, name, row };
    });
    if (!line.isLive()) for (const { row } of screen.calls) if (row) printAbove(screen, row);
  });
  zz.on(
    "called",
    async (fact, ctx) => {
      const { call, inner } = fact;
      if (inner) return;
      const announced = screen.calls.find(
        ({ id, result }) => id === call.id && result === undefined,
      );
      const resultRows =
        fact.shown !== "" && isShown(screen, fact.result)
          ? formatResult(screen, fact, ctx.about.line(call) ?? subjectOf(call.args))
          : "";
      const resultText = [resultRows, await drawnOf(screen, fact, ctx)].filter(Boolean).join("\n");
      if (!announced) return resultText ? printAbove(screen, resultText) : undefined;
      announced.result = resultText;
      showResults(screen);
      const waitingCall = nextCall(screen);
      if (waitingCall) line.begin(waitingCall.name);
    },
    DRAWING,
  );
}

const nextCall = ({ calls }: Screen): Announced | undefined =>
  calls.find(({ result }) => result === undefined);

/**
 * Shows results in call order: one that is ahead of an earlier call, or beside a question, waits
 * for it, or until all calls have ended.
 */
function showResults(screen: Screen, showsAll = false): void {
  if (screen.questions && !showsAll) return;
  const printResult = ({ result }: Announced) => void (result && printAbove(screen, result));
  while (screen.calls[0]?.result !== undefined) printResult(screen.calls.shift()!);
  if (showsAll) screen.calls.splice(0).forEach(printResult);
}

/**
 * The images of a call's result, if its row is shown; for show_image, the image that it drew for
 * the person.
 */
async function drawnOf(
  screen: Screen,
  { call, result }: Events["called"],
  ctx: Ctx,
): Promise<string> {
  const { images = [] } = result;
  if (call.name !== SHOW_IMAGE)
    return isShown(screen, result) && images.length ? drawAsText(screen, images, ctx) : "";
  const { path = "" } = (result.data ?? {}) as { path?: string };
  const picture = screen.pictures.get(path) ?? "";
  screen.pictures.delete(path);
  return picture;
}

/**
 * The images as text for the terminal; "" if it cannot draw any. The code for it loads with the
 * first image.
 */
const drawAsText = async (screen: Screen, images: readonly Image[], ctx: Ctx): Promise<string> =>
  screen.live ? (await import("./images.ts")).drawImages(screen, images, ctx) : "";

function isShown({ config }: Screen, { failed }: Events["called"]["result"]): boolean {
  const { calls } = config();
  return calls === "all" || calls === "results" || (calls === "failed" && failed === true);
}

/** A result's row, and under it as many of its lines as the settings say. */
function formatResult(screen: Screen, fact: Events["called"], subject: string): string {
  const firstRow = formatCallRow(screen, fact, subject);
  const { result } = fact;
  const maxLines = screen.config().resultLines;
  if (!maxLines || result.refused) return firstRow;
  const resultLines = result.text.split("\n").filter((resultLine) => resultLine.trim());
  const linesBelow = firstOf(
    resultLines,
    maxLines,
    (leftOut) => `… ${plural(leftOut, "more line")}: /show shows all`,
  );
  return [
    firstRow,
    ...linesBelow.map((lineBelow) =>
      currentTheme(screen).dim(`  ${shortenToColumns(lineBelow, columnsOf(screen) - 3)}`),
    ),
  ].join("\n");
}

/** The row of a result: its call, how it ended, and how long it took. */
function formatCallRow(
  screen: Screen,
  { call: { name }, result, ms, shown }: Events["called"],
  subject: string,
): string {
  const { ok, bad } = signsOf(screen);
  const resultSign = result.failed ? currentTheme(screen).bad(bad) : currentTheme(screen).ok(ok);
  const elapsedTime = ms < 1_000 ? "" : ` · ${seconds(ms)}`;
  const resultSummary = shortenToColumns(
    shown ?? withoutSubject(summary(result.text), subject),
    columnsOf(screen),
  );
  const rowWidth = columnsOf(screen) - 1 - width(`✓ ${shortenToColumns(name)}  · ${elapsedTime}`);
  const headWith = (columns: number) =>
    [resultSign, shortenToColumns(name), shortenToColumns(subject, Math.max(columns, 4))]
      .filter(Boolean)
      .join(" ");
  const outputText = shown ?? result.text;
  const isSentence =
    result.failed && (shown ? width(shown) > MAX_SHOWN_COLUMNS : !outputText.trim().includes("\n"));
  if (result.refused || (isSentence && width(resultSummary) > rowWidth - width(subject))) {
    const failureReason = result.refused
      ? shortenToColumns(result.text, MAX_REFUSAL_COLUMNS)
      : shortenToColumns(outputText, MAX_ERROR_COLUMNS);
    return wrap(`${headWith(rowWidth)} · ${failureReason}${elapsedTime}`, columnsOf(screen)).join(
      "\n",
    );
  }
  return formatRow(
    screen,
    `${headWith(rowWidth - Math.min(width(resultSummary), Math.ceil(rowWidth * 0.6)))} ·`,
    resultSummary,
    elapsedTime,
  );
}

/** A change that was made without a question: its head, and as many rows as the settings allow. */
function foldedDiff(screen: Screen, diffText: string): string[] {
  const maxRows = screen.config().diffRows;
  const diffRows = diffText
    ? diffText.split("\n").map((diffRow) => clipStyled(diffRow, columnsOf(screen) - 1))
    : [];
  return firstOf(
    diffRows,
    maxRows,
    (leftOut) => `  … ${plural(leftOut, "more row")}: /changes N shows all`,
  );
}

/** Clips a row. Colours take no columns, and end with the row. */
function clipStyled(styledRow: string, columns: number): string {
  if (width(styledRow) <= columns) return styledRow;
  let [clippedRow, takenColumns] = ["", 0];
  for (const [rowPiece, styleCode] of styledRow.matchAll(/(\x1b\[[\d;]*m)|./gsu)) {
    takenColumns += styleCode ? 0 : width(rowPiece);
    if (takenColumns < columns || styleCode) clippedRow += rowPiece;
  }
  return `${clippedRow}…`;
}

/** Loads what is heavy while the model thinks. */
function whileThinking(screen: Screen): (fact: Events["phase"]) => void {
  let cancelLoading = () => {};
  return ({ to }) => {
    cancelLoading();
    if (to !== "thinking" || !isRich(screen)) return;
    const loadRenderer = () => void import("./render-markdown.ts").catch(() => {});
    cancelLoading = screen.io.clock.timer(HEAVY_AFTER, loadRenderer, { background: true });
  };
}

/** Tokens are left out if the server did not report them. */
function figures({ usage, calls, ms, used, window }: Answer): string {
  const { input, output, cached } = usage;
  const tokenFigures =
    input || output
      ? [
          `${thousands(input)} tokens in${cached ? ` (${thousands(cached)} cached)` : ""}, ` +
            `${thousands(output)} out`,
        ]
      : [];
  const context =
    used && window
      ? [`context ${Math.round((100 * used) / window)} % of ${thousands(window)}`]
      : [];
  return [
    ...(ms < 1_000 ? [] : [seconds(ms)]),
    ...tokenFigures,
    plural(calls.length, "call"),
    ...context,
  ].join(" · ");
}
