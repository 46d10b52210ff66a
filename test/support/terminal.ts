// Runs the program in a real pseudo-terminal and reads its screen.
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { type Place, WAYS, type Way } from "./run.ts";

export interface Terminal {
  pty: IPty;
  /** The screen as a person sees it, without trailing blanks. */
  screen(): string;
  /** The screen with its colours. */
  view: xterm.Terminal;
  type(keys: string): void;
  resize(cols: number, rows: number): void;
  /** Every byte that was written, unchanged. */
  raw(): string;
  /** From now on only reads the bytes, so that measurements leave out the work of this screen. */
  shut(): void;
  /** Waits until the screen holds the text; fails with the screen after 10 s. */
  sees(text: string | RegExp): Promise<string>;
  exited: Promise<number>;
}

export const KEY = { enter: "\r", ctrlC: "\x03", ctrlD: "\x04" };

export function terminal(
  where: Place,
  args: string[],
  how: { env?: Record<string, string>; cols?: number; rows?: number; way?: Way; shell?: (zz: string) => string } = {},
): Terminal {
  const { cols = 80, rows = 24, way = "dist" } = how;
  const { OPENAI_BASE_URL, ANTHROPIC_BASE_URL, ZZ_MODEL, NO_COLOR, ...others } = process.env;
  const inherited = Object.fromEntries(Object.entries(others).filter(([name]) => !/_API_KEY$/.test(name))); // no real key
  const env = {
    ...inherited,
    TERM: "xterm-256color",
    OLLAMA_HOST: "http://127.0.0.1:49",
    ZZ_HOME: where.home,
    ...how.env,
  };
  const all = [...WAYS[way], ...args];
  const zz = all.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const [command, ...rest] = how.shell ? ["bash", "-c", how.shell(zz)] : all;
  const pty = spawn(command!, rest, { cols, rows, cwd: where.cwd, env, name: env.TERM });
  const view = new xterm.Terminal({ cols, rows, allowProposedApi: true });
  let [bytes, blind] = ["", false];
  pty.onData((data) => {
    bytes += data;
    if (!blind) view.write(data);
  });
  let alive = true;
  after(() => alive && pty.kill("SIGKILL"));
  const exited = new Promise<number>((resolve) =>
    pty.onExit(async ({ exitCode }) => {
      alive = false;
      for (let before = -1; before !== bytes.length; await sleep(20)) before = bytes.length; // late output
      view.write("", () => resolve(exitCode)); // once it is drawn
    }),
  );
  const screen = () => {
    const { active } = view.buffer;
    const lines = Array.from({ length: active.length }, (_, i) => active.getLine(i)?.translateToString(true) ?? "");
    return lines.join("\n").trimEnd();
  };
  return {
    pty,
    screen,
    view,
    exited,
    type: (keys) => pty.write(keys),
    raw: () => bytes,
    shut: () => void (blind = true),
    resize(cols, rows) {
      pty.resize(cols, rows);
      view.resize(cols, rows);
    },
    async sees(text) {
      const until = performance.now() + 30_000;
      for (;;) {
        const shown = screen();
        if (typeof text === "string" ? shown.includes(text) : text.test(shown)) return shown;
        if (performance.now() > until) {
          pty.kill("SIGKILL");
          throw new Error(`The screen never showed ${text}. It shows:\n${shown}`);
        }
        await sleep(10);
      }
    },
  };
}
