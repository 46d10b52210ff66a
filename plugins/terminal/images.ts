// Draws images between the rows of a terminal that supports it, as the environment or the
// terminal's own answer says (sixel.ts). An image's bytes are only ever written as base64.
import type { Awaitable, Ctx, Zz } from "zz";
import { type MediaFile, mediaIn, tryTo } from "zz/text";
import { columnsOf, isPlain, type Screen } from "./screen.ts";

export type Protocol = "kitty" | "iterm2";
export const MAX_IMAGE_COLUMNS = 60;
export const MAX_IMAGE_ROWS = 20;
// approximate pixels: a cell is twice as high as it is wide
const [CELL_WIDTH, CELL_HEIGHT] = [10, 20];
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_PIXELS = 50_000_000; // the terminal has to hold them unpacked
const CHUNK_CHARS = 4_096; // of kitty's protocol

/**
 * The protocol with which the terminal draws images; undefined if there is none, or none for sure.
 */
export function protocolOf(variable: Zz["io"]["variable"]): Protocol | undefined {
  const [TERM = "", TERM_PROGRAM, LC_TERMINAL] = ["TERM", "TERM_PROGRAM", "LC_TERMINAL"].map(
    variable,
  );
  if (["TMUX", "STY", "ZELLIJ"].some(variable) || /^(tmux|screen|dumb|linux)\b/.test(TERM))
    return undefined; // multiplexers
  if (/^xterm-(kitty|ghostty)$/.test(TERM) || TERM_PROGRAM === "ghostty") return "kitty";
  if (/^(iTerm\.app|WezTerm|mintty)$/.test(TERM_PROGRAM ?? "") || LC_TERMINAL === "iTerm2")
    return "iterm2";
  if (TERM_PROGRAM) return undefined;
  return variable("KITTY_WINDOW_ID") || Number(variable("KONSOLE_VERSION")) >= 220_400
    ? "kitty"
    : undefined;
}

interface Drawer {
  draw(imageFile: MediaFile): Awaitable<string>; // throws why it cannot be decoded
  unfit(imageFile: MediaFile): string | undefined; // why that image is not drawn
}

/** What draws images on this screen; a string says why nothing does. */
export async function openDrawer(screen: Screen, ctx: Ctx): Promise<Drawer | string> {
  if (screen.config().images === "off") return "the person turned images off";
  const noTerminal = "there is no terminal here that draws images";
  if (!screen.live || !screen.io.stderr.isTTY || isPlain(screen)) return noTerminal;
  const protocol = protocolOf(screen.io.variable);
  if (protocol)
    return { draw: (imageFile) => drawOne(protocol, imageFile, columnsOf(screen)), unfit };
  if (/^(dumb|linux)\b/.test(screen.io.variable("TERM") ?? "")) return noTerminal;
  const { askForSixels, sixels, unfitForSixels } = await import("./sixel.ts");
  screen.sixels ??= askForSixels(ctx);
  const cellSize = await screen.sixels;
  if (!cellSize) return noTerminal;
  const measureRoom = (): [number, number] => [
    Math.max(1, Math.min(MAX_IMAGE_COLUMNS, columnsOf(screen) - 1)) * cellSize[0],
    MAX_IMAGE_ROWS * cellSize[1],
  ];
  return { draw: (imageFile) => sixels(imageFile, measureRoom(), ctx), unfit: unfitForSixels };
}

/** Why an image cannot be drawn on a terminal that decodes images itself. */
function unfit({ type, bytes, width = 0, height = 0 }: MediaFile): string | undefined {
  if (type !== "image/png") return `it is ${type}, and only PNG is drawn`;
  return bytes > MAX_BYTES || width * height > MAX_PIXELS
    ? "it is too large to be drawn"
    : undefined;
}

/** The images that can be drawn, each in a new row; "" if there are none. */
export async function drawImages(
  screen: Screen,
  images: readonly { base64: string }[],
  ctx: Ctx,
): Promise<string> {
  const drawer = await openDrawer(screen, ctx);
  if (typeof drawer === "string") return "";
  const mediaFiles = images.map(({ base64 }) =>
    tryTo(() => mediaIn(Buffer.from(base64, "base64"))),
  );
  const drawnTexts: string[] = [];
  // one at a time: each may take much memory
  for (const mediaFile of mediaFiles)
    if (mediaFile && !drawer.unfit(mediaFile))
      drawnTexts.push(await (async () => drawer.draw(mediaFile))().catch(() => ""));
  return drawnTexts.filter(Boolean).join("\n");
}

export function drawOne(
  protocol: Protocol,
  { base64, bytes, width = 1, height = 1 }: MediaFile,
  columns: number,
): string {
  const maxColumns = Math.max(1, Math.min(MAX_IMAGE_COLUMNS, columns - 1));
  const scaleFactor = Math.min(
    1,
    (maxColumns * CELL_WIDTH) / width,
    (MAX_IMAGE_ROWS * CELL_HEIGHT) / height,
  );
  const columnCount = Math.min(
    maxColumns,
    Math.max(1, Math.ceil((width * scaleFactor) / CELL_WIDTH)),
  );
  const rowCount = Math.min(
    MAX_IMAGE_ROWS,
    Math.max(1, Math.ceil((height * scaleFactor) / CELL_HEIGHT)),
  );
  if (protocol === "iterm2")
    return (
      `\x1b]1337;File=inline=1;size=${bytes};width=${columnCount};height=${rowCount}` +
      `;preserveAspectRatio=1:${base64}\x07`
    );
  // the terminal keeps the proportions
  const sizeOption =
    columnCount / maxColumns > rowCount / MAX_IMAGE_ROWS ? `c=${columnCount}` : `r=${rowCount}`;
  const imageChunks = base64.match(new RegExp(`.{1,${CHUNK_CHARS}}`, "g")) ?? [];
  return imageChunks
    .map((imageChunk, i) => {
      // q=2: the terminal sends no answer
      const firstOptions = i ? "" : `a=T,f=100,q=2,${sizeOption},`;
      return `\x1b_G${firstOptions}m=${i < imageChunks.length - 1 ? 1 : 0};${imageChunk}\x1b\\`;
    })
    .join("");
}
