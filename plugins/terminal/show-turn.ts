// Shows a turn to the person: thinking, calls as they are announced and as they end, and a line of
// figures at its end.
import type { Answer, Ctx, Events, Image, Zz } from "zz";
import { plural, thousands, width, wrap } from "zz/text";
import { seconds } from "./live-row.ts";
import {
  type Announced,
  columnsOf,
  formatRow,
  isPlain,
  isRich,
  look,
  printAbove,
  type Screen,
  signsOf,
} from "./screen.ts";
import { argumentsOf, foldRows, shortenToColumns, subjectOf, summary } from "./shorten-for-rows.ts";
import { SHOW_IMAGE } from "./show-image.ts";

// a refusal says what would allow the call, so it is not cut to a row
const MAX_REFUSAL_COLUMNS = 1_000;
const MAX_ERROR_COLUMNS = 300; // nor is the sentence that says why a call failed
const MAX_SHOWN_COLUMNS = 60; // of what a tool shows of a failure; more is a sentence, too
const DRAWING = { limit: 20_000 }; // ms; a process that decodes images ends before
// ms of thinking: by then the request is on its way, and loading delays nothing
const HEAVY_AFTER = 150;

export function showTurns(zz: Zz<any>, screen: Screen): void {
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
  let answer = ""; // as far as it has come
  zz.on("requested", () => void (answer = ""));
  zz.on("received", ({ tokens, thinking, text }) => {
    if (config().live) answer += text;
    line.thinks(tokens, thinking, answer);
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
      const text = chat.messages.at(-1) === asked ? await drawn(screen, asked.images, ctx) : "";
      if (text) printAbove(screen, text);
    },
    DRAWING,
  );
  zz.on("changed", ({ shown = "" }) => {
    for (const row of foldedDiff(screen, shown)) printAbove(screen, row);
  });
  zz.on("progressed", ({ text }) => (text || !screen.idle ? line.progress(text) : line.stop()));
  zz.on("typed", ({ text }) => line.typed(text));
  zz.on("retried", line.wipe);
  zz.on("noted", line.wipe);
  zz.on("answered", (answer) => {
    if (!screen.live || !screen.stays) return;
    const { stats, bell, bellAfter } = config();
    if (bell && answer.ms > bellAfter * 1000) zz.io.stderr.write("\x07");
    if (stats)
      printAbove(
        screen,
        `${look(screen).dim(shortenToColumns(figures(answer), columnsOf(screen) - 1))}\n`,
      );
  });
}

function showThought(screen: Screen, { text, ms }: Events["thought"]): void {
  const { thinking } = screen.config();
  if (thinking === "off" || !screen.live) return;
  const plain = isPlain(screen);
  const rows = plain
    ? [["thought", seconds(ms)].filter(Boolean).join(" for ")]
    : foldRows(text, columnsOf(screen) - 2, thinking === "full" ? Number.POSITIVE_INFINITY : 2).map(
        (row) => `┆ ${row}`,
      );
  for (const printedRow of rows) printAbove(screen, look(screen).dim(printedRow));
}

/** Shows calls, and nothing beside a question. */
function showCalls(zz: Zz<any>, screen: Screen): void {
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
    if (text) printAbove(screen, look(screen).dim(shortenToColumns(text, columnsOf(screen) - 1)));
    const sign = look(screen).accent(signsOf(screen).call);
    const isAnnounced = config().calls === "all";
    screen.calls = calls.map((call) => {
      const name = shortenToColumns(call.name);
      const words = about.line(call) ?? argumentsOf(call.args);
      const row = isAnnounced ? formatRow(screen, `${sign} ${name}`, words) : "";
      return { id: call.id, name, row };
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
      const row =
        fact.shown !== "" && isShown(screen, fact.result)
          ? rowsOf(screen, fact, ctx.about.line(call) ?? subjectOf(call.args))
          : "";
      const text = [row, await drawnOf(screen, fact, ctx)].filter(Boolean).join("\n");
      if (!announced) return text ? printAbove(screen, text) : undefined;
      announced.result = text;
      showResults(screen);
      const next = nextCall(screen);
      if (next) line.begin(next.name);
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
    return isShown(screen, result) && images.length ? drawn(screen, images, ctx) : "";
  const { path = "" } = (result.data ?? {}) as { path?: string };
  const picture = screen.pictures.get(path) ?? "";
  screen.pictures.delete(path);
  return picture;
}

/**
 * The images as text for the terminal; "" if it cannot draw any. The code for it loads with the
 * first image.
 */
const drawn = async (screen: Screen, images: readonly Image[], ctx: Ctx): Promise<string> =>
  screen.live ? (await import("./images.ts")).drawImages(screen, images, ctx) : "";

function isShown({ config }: Screen, { failed }: Events["called"]["result"]): boolean {
  const { calls } = config();
  return calls === "all" || calls === "results" || (calls === "failed" && failed === true);
}

/** A result's row, and under it as many of its lines as the settings say. */
function rowsOf(screen: Screen, fact: Events["called"], subject: string): string {
  const first = rowOf(screen, fact, subject);
  const { result } = fact;
  const maxLines = screen.config().resultLines;
  if (!maxLines || result.refused) return first;
  const lines = result.text.split("\n").filter((line) => line.trim());
  const moreLines =
    lines.length > maxLines + 1
      ? [`… ${plural(lines.length - maxLines, "more line")}: /show shows all`]
      : [];
  const under = [...(moreLines.length ? lines.slice(0, maxLines) : lines), ...moreLines];
  return [
    first,
    ...under.map((line) => look(screen).dim(`  ${shortenToColumns(line, columnsOf(screen) - 3)}`)),
  ].join("\n");
}

/** The row of a result: its call, how it ended, and how long it took. */
function rowOf(
  screen: Screen,
  { call: { name }, result, ms, shown }: Events["called"],
  subject: string,
): string {
  const { ok, bad } = signsOf(screen);
  const sign = result.failed ? look(screen).bad(bad) : look(screen).ok(ok);
  const time = ms < 1_000 ? "" : ` · ${seconds(ms)}`;
  const came = shortenToColumns(shown ?? summary(result.text), columnsOf(screen));
  const room = columnsOf(screen) - 1 - width(`✓ ${shortenToColumns(name)}  · ${time}`);
  const headWith = (columns: number) =>
    [sign, shortenToColumns(name), shortenToColumns(subject, Math.max(columns, 4))]
      .filter(Boolean)
      .join(" ");
  const output = shown ?? result.text;
  const isSentence =
    result.failed && (shown ? width(shown) > MAX_SHOWN_COLUMNS : !output.trim().includes("\n"));
  if (result.refused || (isSentence && width(came) > room - width(subject))) {
    const reason = result.refused
      ? shortenToColumns(result.text, MAX_REFUSAL_COLUMNS)
      : shortenToColumns(output, MAX_ERROR_COLUMNS);
    return wrap(`${headWith(room)} · ${reason}${time}`, columnsOf(screen)).join("\n");
  }
  return formatRow(
    screen,
    `${headWith(room - Math.min(width(came), Math.ceil(room * 0.6)))} ·`,
    came,
    time,
  );
}

/** A change that was made without a question: its head, and as many rows as the settings allow. */
function foldedDiff(screen: Screen, diff: string): string[] {
  const maxRows = screen.config().diffRows;
  const rows = diff ? diff.split("\n").map((row) => clipStyled(row, columnsOf(screen) - 1)) : [];
  if (rows.length <= maxRows + 1) return rows;
  const moreRows = `  … ${plural(rows.length - maxRows, "more row")}: /changes N shows all`;
  return [...rows.slice(0, maxRows), moreRows];
}

/** Clips a row. Colours take no columns, and end with the row. */
function clipStyled(row: string, columns: number): string {
  if (width(row) <= columns) return row;
  let [shown, takenColumns] = ["", 0];
  for (const [piece, style] of row.matchAll(/(\x1b\[[\d;]*m)|./gsu)) {
    takenColumns += style ? 0 : width(piece);
    if (takenColumns < columns || style) shown += piece;
  }
  return `${shown}…`;
}

/** Loads what is heavy while the model thinks. */
function whileThinking(screen: Screen): (fact: Events["phase"]) => void {
  let cancel = () => {};
  return ({ to }) => {
    cancel();
    if (to !== "thinking" || !isRich(screen)) return;
    const load = () => void import("./render-markdown.ts").catch(() => {});
    cancel = screen.io.clock.timer(HEAVY_AFTER, load, { background: true });
  };
}

/** Tokens are left out if the server did not report them. */
function figures({ usage, calls, ms, used, window }: Answer): string {
  const { input, output, cached } = usage;
  const tokens =
    input || output
      ? [
          `${thousands(input)} tokens in${cached ? ` (${thousands(cached)} cached)` : ""}, ${thousands(output)} out`,
        ]
      : [];
  const context =
    used && window
      ? [`context ${Math.round((100 * used) / window)} % of ${thousands(window)}`]
      : [];
  return [
    ...(ms < 1_000 ? [] : [seconds(ms)]),
    ...tokens,
    plural(calls.length, "call"),
    ...context,
  ].join(" · ");
}
