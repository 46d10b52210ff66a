// The screen: whether a person watches, which styles it has, and rows that are printed around the
// live line.
import type { Zz } from "zz";
import { terminalColumns, width } from "zz/text";
import { liveLine } from "./live-row.ts";
import { shortenToColumns } from "./shorten-for-rows.ts";
import type { Cell } from "./sixel.ts";
import { PLAIN, type Theme, type ThemeName } from "./styles.ts";

export const defaults = {
  theme: "auto" as ThemeName | "auto",
  colours: {} as Record<string, string>, // by style
  thinking: "summary",
  calls: "all" as "all" | "results" | "failed" | "off",
  resultLines: 0, // lines under the row of each result
  diffRows: 12, // rows of a diff that was applied without a question
  stats: true,
  progress: true,
  live: false,
  reveal: "instant",
  wordsPerSecond: 40,
  bell: true,
  bellAfter: 10,
  plain: false,
  images: "auto" as "auto" | "off",
};

/** A call that was announced, and what is shown of it once it has ended. */
export type Announced = { id: string; name: string; row?: string; result?: string };

export interface Screen {
  readonly io: Zz["io"];
  readonly config: () => Readonly<typeof defaults>;
  readonly dumb: boolean; // a terminal that cannot move its cursor
  readonly line: ReturnType<typeof liveLine>;
  live: boolean; // a person watches
  stays: boolean; // a conversation, not a one-shot
  idle: boolean;
  questions: number; // those that are open: nothing else is drawn meanwhile
  since: number;
  pictures: Map<string, string>; // what draws images under the rows of their calls, by path
  sixels?: Promise<Cell | undefined>; // the terminal's answer, once it has been asked
  isLight: () => boolean | undefined; // its background, as far as it has said
  theme?: Theme; // once something is drawn
  themeName?: ThemeName; // of that
  calls: Announced[]; // calls of this round whose results are not shown yet, in call order
}

/** Signs; plain mode shows words instead. */
const CALL_SIGNS = { call: "■", ok: "✓", bad: "✗" };
const CALL_WORDS = { call: "calls:", ok: "done:", bad: "failed:" };

export function openScreen(io: Screen["io"], config: Screen["config"]): Screen {
  const on = () =>
    screen.live &&
    config().progress &&
    Boolean(io.stderr.isTTY) &&
    !screen.questions &&
    !isPlain(screen);
  // a call is one row, live until it is printed: first its name, then what came of it
  const waiting = () =>
    screen.calls.flatMap(({ row, result }) => (row && (result ?? row).split("\n")[0]) || []);
  const liveContext = { on, io, waiting, look: () => currentTheme(screen) };
  const screen: Screen = {
    io,
    config,
    dumb: io.variable("TERM") === "dumb",
    line: liveLine(liveContext),
    isLight: () => undefined,
    live: false,
    stays: false,
    idle: true,
    questions: 0,
    since: 0,
    calls: [],
    pictures: new Map(),
  };
  return screen;
}

export const columnsOf = ({ io }: Pick<Screen, "io">): number => terminalColumns(io);

/** Words instead of signs, and nothing that moves. */
export const isPlain = ({ config, dumb }: Screen): boolean => config().plain || dumb;

/** Whether answers are rendered. */
export const isRich = (screen: Screen): boolean =>
  screen.live && Boolean(screen.io.stdout.isTTY) && !isPlain(screen);

/** Whether there are colours. */
const isColoured = (screen: Screen): boolean =>
  !screen.io.variable("NO_COLOR") &&
  !isPlain(screen) &&
  Boolean(screen.io.stderr.isTTY) &&
  screen.config().theme !== "none";

export const currentTheme = (screen: Screen): Theme =>
  (isColoured(screen) && screen.theme) || PLAIN;

/** For a dark terminal, unless it says or its environment says that it is light. */
export function themeNameOf({ config, isLight, io }: Screen): ThemeName {
  const { theme } = config();
  if (theme !== "auto") return theme;
  const [, background] = /;(\d+)$/.exec(io.variable("COLORFGBG") ?? "") ?? [];
  return (isLight() ?? (background === "7" || background === "15")) ? "light" : "dark";
}

/** Reads the colours; until something is drawn, and in a pipe, they are not loaded. */
export async function readColours(screen: Screen): Promise<void> {
  const { colours } = screen.config();
  if (!isColoured(screen)) return;
  const themeName = themeNameOf(screen);
  screen.themeName = themeName;
  const { themeOf } = await import("./theme.ts");
  const { getColorDepth } = screen.io.stderr as Partial<NodeJS.WriteStream>;
  const depth = getColorDepth?.call(screen.io.stderr) ?? 4;
  // if a word of the person's is wrong, the others stay
  screen.theme = themeOf(themeName, {}, depth);
  screen.theme = themeOf(themeName, colours, depth);
}

export const signsOf = (screen: Screen): typeof CALL_SIGNS =>
  isPlain(screen) ? CALL_WORDS : CALL_SIGNS;

export function printAbove({ io, line, live }: Screen, rowText: string): void {
  line.wipe();
  if (live) io.stderr.write(`${rowText}\n`);
}

/** One row; its middle is shortened to fit. */
export function formatRow(screen: Screen, rowHead: string, rowMiddle: string, rowEnd = ""): string {
  const middleWidth = columnsOf(screen) - width(rowHead) - width(rowEnd) - 2;
  const dimmedText = `${shortenToColumns(rowMiddle, Math.max(middleWidth, 1))}${rowEnd}`;
  return dimmedText ? `${rowHead} ${currentTheme(screen).dim(dimmedText)}` : rowHead;
}
