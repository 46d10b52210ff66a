// Draws the line after the window was resized. readline would redraw it at each change, and move up
// by the rows of the old width while the terminal may already be two changes ahead. Here it is
// drawn once, when the size has settled, from the row in which it begins by then.
import { rewrapsLines } from "zz/text";
import type { Keyboard } from "./input-line.ts";
import { RESIZED } from "./page-questions.ts";

// a window that is dragged changes every 20 to 100 ms; each drawing in between can meet the next
// change
export const SETTLED_MS = 150;

/** Handles resizing in place of readline, whose listener is removed. */
export function followSize(keyboard: Keyboard, listenersBefore: readonly unknown[]): void {
  const { zz, editor, screen, isDumb } = keyboard;
  const { stdout } = zz.io;
  if (isDumb) return;
  for (const listener of stdout.listeners("resize") as (() => void)[])
    if (!listenersBefore.includes(listener)) stdout.off("resize", listener);
  let cancelRedraw = () => {};
  const setColumns = (columns: number | undefined) =>
    void Object.defineProperty(screen, "columns", { value: columns, configurable: true });
  setColumns(stdout.columns);
  const resized = () => {
    cancelRedraw();
    cancelRedraw = zz.io.clock.timer(SETTLED_MS, redrawLine);
  };
  stdout.on("resize", resized);
  editor.once("close", () => stdout.off("resize", resized));

  function redrawLine(): void {
    if (keyboard.isClosed) return;
    const { rows } = editor.getCursorPos();
    setColumns(stdout.columns);
    editor.prevRows = rewrapsLines(zz.io.variable) ? editor.getCursorPos().rows : rows;
    editor._refreshLine();
    keyboard.onResized();
    keyboard.question.isResized = true;
    keyboard.question.onKey?.(RESIZED);
  }
}
