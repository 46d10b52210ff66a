// Makes the pictures in README.md and the transcript in docs/prompt.md: a conversation at the real
// prompt, in a pseudo-terminal, with a scripted model. `npm run pictures` makes them again;
// test/e2e/readme.test.ts compares.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type xterm from "@xterm/headless";
import { call, fakeOpenAI, say } from "./fake/openai.ts";
import { has } from "./needs.ts";
import { EDIT, makePagePictures, PRICE } from "./page-pictures.ts";
import { makePhonePictures } from "./phone-pictures.ts";
import { ROOMS_PICTURE, roomsPicture } from "./rooms.ts";
import { place, ROOT } from "./run.ts";
import { KEY, terminal } from "./terminal.ts";

const SCRIPT = [
  call(["read_file", { path: "src/price.ts" }]),
  say(
    "It is meant to add prices up:\n\n- `total([2, 3])` should be **5**\n- it gives **-5**: line 2 subtracts",
  ),
  call(["edit_file", EDIT]),
  say("Fixed: `total()` adds the prices up."),
];

/** For the picture of commands: this one changes files, so zz asks about what it changed. */
const RENAME = "sed -i 's/total/sumOf/' src/*.ts";
const COMMANDS = [
  call(["run_command", { command: "node test/price.js" }]),
  call(["run_command", { command: RENAME }]),
  say("`total()` is called `sumOf()` now; the tests passed before."),
];

export type Theme = "dark" | "light";
interface Picture {
  file: string; // where the picture is kept
  svg: string;
  text: string; // what a person reads there
}

/** What the screen shows at the end of: open, ask, edit after a question, undo, leave. */
export const picture = (theme: Theme): Promise<Picture> =>
  take(theme, "conversation", "A conversation at the prompt of zz", SCRIPT, [
    ["what does src/price.ts do?", "subtracts"],
    ["fix it", "Allow?", "adds the prices up"],
    ["/undo", "Undid"],
  ]);

/** A test and a rename, both run unasked; zz asks about what the rename changed, which is then
 * undone. */
export const commandPicture = (theme: Theme): Promise<Picture> =>
  take(theme, "commands", "Commands on a copy of the project", COMMANDS, [
    ["call total() sumOf() everywhere", "Allow?", "is called"],
    ["/undo", "Undid"],
  ]);

type Script = Parameters<typeof fakeOpenAI>[0];
/** Each line that is typed, and what the screen then shows; questions are answered with yes. */
type Lines = string[][];
async function take(theme: Theme, name: string, title: string, script: Script, lines: Lines) {
  const fake = await fakeOpenAI(script);
  const { home, cwd, sessions } = place();
  const where = { home, cwd: join(cwd, "shop"), sessions };
  const file = join(where.cwd, EDIT.path);
  for (const folder of [home, join(where.cwd, "src"), join(where.cwd, ".git")])
    mkdirSync(folder, { recursive: true });
  const providers = { openai: { url: fake.url, key: "x" } };
  const settings = { model: "openai/gpt-4o-mini", providers, display: { theme } };
  writeFileSync(join(home, "zz.config.json"), JSON.stringify(settings));
  writeFileSync(join(where.cwd, ".git", "HEAD"), "ref: refs/heads/main\n");
  writeFileSync(file, PRICE);
  if (name === "commands") {
    mkdirSync(join(where.cwd, "test"));
    writeFileSync(join(where.cwd, "src/cart.ts"), 'import { total } from "./price.ts";\n');
    writeFileSync(join(where.cwd, "test/price.js"), 'console.log("12 passed");\n');
  }
  const term = terminal(where, [], { cols: 110, rows: 60 });
  const ready = () => term.sees(/›\s*$/);
  await term.sees("shop · main ›");
  for (const [line, ...seen] of lines) {
    term.type(`${line}${KEY.enter}`);
    for (const text of seen) {
      await term.sees(text);
      if (text === "Allow?") term.type("y");
    }
    await ready();
  }
  const rows = rowsOf(term.view);
  term.type(KEY.ctrlD);
  await term.exited;
  await fake.close();
  if (readFileSync(file, "utf8") !== PRICE) throw new Error("The file is not as it was.");
  const text = ["$ zz", ...rows.map((row) => textOf(row).trimEnd())].join("\n");
  return {
    file: join(ROOT, "docs", `${name}-${theme}.svg`),
    svg: svgOf(rows, theme, term.view.cols, title),
    text,
  };
}

/** How a cell looks: nothing at this prompt is slanted or underlined. */
interface Cell {
  text: string; // "": the second half of a wide character
  color: string | undefined;
  back: string | undefined;
  style: string;
}

/** The terminal's sixteen colours, as GitHub shows code. */
const PALETTES: Record<Theme, { back: string; text: string; frame: string; colors: string[] }> = {
  dark: {
    back: "#0d1117",
    text: "#e6edf3",
    frame: "#30363d",
    colors: (
      "#484f58 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4 " +
      "#6e7681 #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #ffffff"
    ).split(" "),
  },
  light: {
    back: "#ffffff",
    text: "#1f2328",
    frame: "#d1d9e0",
    colors: (
      "#24292f #cf222e #116329 #4d2d00 #0969da #8250df #1b7c83 #6e7781 " +
      "#57606a #a40e26 #1a7f37 #633c01 #218bff #a475f9 #3192aa #8c959f"
    ).split(" "),
  },
};

/** Every row that is not empty. Times, which differ from run to run, are made the same. */
function rowsOf({ buffer: { active }, cols }: xterm.Terminal): Cell[][] {
  const rows = Array.from({ length: active.length }, (_, y) => {
    const line = active.getLine(y)!;
    return Array.from({ length: cols }, (_, x): Cell => {
      const cell = line.getCell(x)!;
      const style = `${cell.isBold() ? "bold " : ""}${cell.isDim() ? "dim" : ""}`;
      const front = cell.isFgPalette() ? String(cell.getFgColor()) : undefined;
      const behind = cell.isBgPalette() ? String(cell.getBgColor()) : undefined;
      const [color, back] = cell.isInverse()
        ? [behind ?? "back", front ?? "text"]
        : [front, behind];
      return { text: cell.getWidth() ? cell.getChars() || " " : "", color, back, style };
    });
  });
  while (rows.length && !textOf(rows.at(-1)!).trim()) rows.pop();
  return rows.map(withoutTimes);
}

const textOf = (row: Cell[]): string => row.map(({ text }) => text).join("");

/** Leaves out times, which stand there only if a machine was slow. A cell is a character here,
 * since nothing on this screen is wide. */
function withoutTimes(row: Cell[]): Cell[] {
  const found = [...textOf(row).matchAll(/^\d+\.\d s · | · \d+\.\d s\b/g)];
  for (const { index, 0: time } of found.reverse()) row.splice(index, time.length);
  return row;
}

const [WIDTH, HEIGHT, MARGIN] = [8.4, 19, 16];

/** Adjacent cells that look alike become one text, fitted to its columns whatever font the reader
 * has. */
function svgOf(rows: Cell[][], theme: Theme, columns: number, name: string): string {
  const { back, text, frame, colors } = PALETTES[theme];
  const named = (color: string) => ({ back, text })[color] ?? colors[Number(color)];
  const [width, height] = [round(columns * WIDTH + 2 * MARGIN), rows.length * HEIGHT + 2 * MARGIN];
  const drawn = rows.flatMap((row, y) => runsOf(row).flatMap((run) => draw(run, y)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${name}</title>`,
    `<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${back}" stroke="${frame}"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="${text}" xml:space="preserve">`,
    ...drawn,
    "</g>",
    "</svg>",
    "",
  ].join("\n");

  function draw({ at, cells }: Run, y: number): string[] {
    const { color, back: behind, style } = cells[0]!;
    const [x, top, wide] = [
      round(MARGIN + at * WIDTH),
      MARGIN + y * HEIGHT,
      round(cells.length * WIDTH),
    ];
    const box = behind
      ? [`<rect x="${x}" y="${top}" width="${wide}" height="${HEIGHT}" fill="${named(behind)}"/>`]
      : [];
    const said = textOf(cells);
    if (!said.trim()) return box;
    // some viewers leave blanks at an end out of a length
    const [before, word] = [said.length - said.trimStart().length, said.trim()];
    const look = [
      ...(color ? [`fill="${named(color)}"`] : []),
      ...(style.includes("bold") ? ['font-weight="bold"'] : []),
      ...(style.includes("dim") ? ['opacity="0.65"'] : []),
    ].map((one) => ` ${one}`);
    const [from, length] = [round(x + before * WIDTH), round(word.length * WIDTH)];
    const place = `x="${from}" y="${top + 14}" textLength="${length}" lengthAdjust="spacingAndGlyphs"`;
    // browsers join blanks in a row, and then stretch what is left
    const text = escaped(word).replaceAll(" ", "\u00a0");
    return [...box, `<text ${place}${look.join("")}>${text}</text>`];
  }
}

type Run = { at: number; cells: Cell[] };
function runsOf(row: Cell[]): Run[] {
  const runs: Run[] = [];
  const filled = row.slice(0, row.findLastIndex(({ text, back }) => text.trim() || back) + 1);
  for (const [at, cell] of filled.entries()) {
    const open = runs.at(-1);
    const one = open?.cells[0];
    if (one && one.color === cell.color && one.back === cell.back && one.style === cell.style)
      open.cells.push(cell);
    else runs.push({ at, cells: [cell] });
  }
  return runs;
}

const round = (value: number): number => Math.round(value * 10) / 10;
const escaped = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

if (process.argv[1] === import.meta.filename) {
  writeFileSync(join(ROOT, ROOMS_PICTURE), roomsPicture());
  const pictures = [await picture("dark"), await picture("light")];
  const commands = [await commandPicture("dark"), await commandPicture("light")];
  for (const { file, svg } of [...pictures, ...commands]) writeFileSync(file, svg);
  const page = join(ROOT, "docs", "prompt.md");
  const { text } = pictures[0]!;
  writeFileSync(
    page,
    readFileSync(page, "utf8").replace(/\$ zz\n[\s\S]*?(?=```)/, () => `${text}\n`),
  );
  console.log(`${text}\n\n${commands[0]!.text}`);
  if (has("chromium")) {
    await makePagePictures();
    await makePhonePictures();
  } else console.log("The pictures of pages stay as they are: chromium is not installed.");
  process.exit();
}
