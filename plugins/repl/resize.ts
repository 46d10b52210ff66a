// The line after the window's size has changed. readline would draw it again at each change, and go up by rows that it counted at
// the width of before, while the terminal may be two changes ahead. Here it is drawn once, when the size stays, from the row
// in which it begins by then.
import type { Keyboard } from "./line.ts";

const SETTLED_MS = 60;

/** Whether the terminal breaks the rows of a line anew; the others keep them, with the cursor in its row. */
export function breaksAnew(env: NodeJS.ProcessEnv): boolean {
  const { TERM = "", TERM_PROGRAM = "" } = env;
  if (env.TMUX || /^tmux/.test(TERM)) return true;
  if (/^(iTerm\.app|WezTerm|ghostty|Apple_Terminal)$/.test(TERM_PROGRAM)) return true;
  if (TERM_PROGRAM) return false; // VS Code's keeps the row of the cursor
  return Boolean(
    env.VTE_VERSION || env.KITTY_WINDOW_ID || env.WT_SESSION || env.ALACRITTY_WINDOW_ID || env.KONSOLE_VERSION,
  );
}

/** What readline listens to, it hears no longer. */
export function followSize(keyboard: Keyboard, before: readonly unknown[]): void {
  const { editor, screen, isDumb } = keyboard;
  const { stdout } = process;
  if (isDumb) return;
  for (const listener of stdout.listeners("resize") as (() => void)[])
    if (!before.includes(listener)) stdout.off("resize", listener);
  let timer: NodeJS.Timeout | undefined;
  const drawAt = (columns: number | undefined) =>
    void Object.defineProperty(screen, "columns", { value: columns, configurable: true });
  drawAt(stdout.columns);
  stdout.on("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(settle, SETTLED_MS);
  });

  function settle(): void {
    if (keyboard.isClosed) return;
    const { rows } = editor.getCursorPos();
    drawAt(stdout.columns);
    Object.assign(editor, { prevRows: breaksAnew(process.env) ? editor.getCursorPos().rows : rows });
    editor._refreshLine();
    keyboard.onResized();
  }
}
