// The keyboard of the readline loop: pastes whole, keys of plugins, a history that is kept, the terminal lent to others.
// Only a conversation at a terminal loads it; the loop itself is in zz.ts.
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { PassThrough } from "node:stream";
import type { Ask, Core, Ctx, Key, Line, LiveChat, Owned, Press } from "../zz.ts";
import {
  around,
  clean,
  cleanRendered,
  emit,
  jsonOrText,
  keyOf,
  makePrivate,
  reason,
  say,
  silence,
  textOf,
  tryTo,
  writePrivate,
} from "../zz.ts";

const [PASTE, PASTED] = ["\x1b[200~", "\x1b[201~"]; // a terminal puts them around what is pasted
const CTRL_C = Buffer.from("\x03");
const HIDE_PASTES = "\x1b[?2004l";
const SHOW_PASTES = "\x1b[?2004h";

/** Tells pastes from keys, in whatever pieces the bytes come. */
export function hearing(key: (bytes: Buffer) => void, paste: (text: string) => void): (bytes: Buffer) => void {
  let pieces: Buffer[] | undefined; // of a paste under way
  let rest = Buffer.alloc(0); // the beginning of a marker, perhaps
  let late: NodeJS.Timeout | undefined;
  let heard = 0;
  return hear;

  function hear(bytes: Buffer): void {
    clearTimeout(late);
    const quiet = performance.now() - heard;
    heard = performance.now();
    if (pieces && quiet > 500 && bytes.equals(CTRL_C)) bytes = Buffer.from(PASTED); // its end was lost: it must not go on for ever
    let all = Buffer.concat([rest, bytes]);
    for (;;) {
      const marker = pieces ? PASTED : PASTE;
      const at = all.indexOf(marker);
      if (at < 0) break;
      give(all.subarray(0, at));
      all = all.subarray(at + marker.length);
      if (pieces) paste(Buffer.concat(pieces).toString("utf8"));
      pieces = pieces ? undefined : [];
    }
    const whole = all.length - begun(all, pieces ? PASTED : PASTE);
    give(all.subarray(0, whole));
    rest = Buffer.from(all.subarray(whole));
    if (rest.length && !pieces) late = setTimeout(flush, 20); // the Escape key is no marker
  }
  function flush(): void {
    const kept = rest;
    rest = Buffer.alloc(0);
    give(kept);
  }
  function give(bytes: Buffer): void {
    if (!bytes.length) return;
    if (pieces) pieces.push(Buffer.from(bytes));
    else key(bytes);
  }
}

/** How many of the last bytes a marker may begin with. */
function begun(bytes: Buffer, marker: string): number {
  for (let length = Math.min(marker.length - 1, bytes.length); length > 0; length--)
    if (bytes.toString("latin1", bytes.length - length) === marker.slice(0, length)) return length;
  return 0;
}

const tidied = (pasted: string): string => clean(pasted.replace(/\r\n?/g, "\n"));
const LONGEST_PASTE = 400; // characters that stand in the line as they are
const PASTES = 10; // that are remembered
const HISTORY = 10_000;
const LONGEST_KEPT = 10_000; // characters of one entry
const SECRET =
  /\b(sk-|ghp_|gho_|github_pat_|glpat-|xox[abps]-|AKIA|AIza|eyJ)[\w-]{8,}|-----BEGIN|\b(pass(word|wd|phrase)?|secret|token|api[_-]?key)\b\s*[=:]|^\/keys?\b|^\/env\s+set\b|^\/config\s+\S*key|^\s/i;

/** What was typed before, newest first; several lines are one entry. What looks like a secret is not kept, nor what begins with a space. */
function openHistory(home: string): { past: string[]; add(text: string): void } {
  const file = path.join(home, "history");
  const isFile = tryTo(() => fs.statSync(file).isFile()); // a device may never end
  const kept = isFile ? textOf(file) : "";
  const lines = kept.split("\n").filter(Boolean);
  let torn = kept !== "" && !kept.endsWith("\n"); // it was cut in the middle of a line
  const past = lines
    .slice(-HISTORY)
    .map(jsonOrText)
    .flatMap((line) => (typeof line === "string" && line.length <= LONGEST_KEPT ? [clean(line)] : []))
    .reverse();
  if (lines.length > HISTORY * 1.2)
    tryTo(() =>
      writePrivate(
        file,
        past
          .map((line) => JSON.stringify(line))
          .reverse()
          .join("\n"),
      ),
    );
  return { past, add };

  function add(text: string): void {
    if (!text.trim() || text === past[0]) return;
    past.unshift(text);
    past.length = Math.min(past.length, HISTORY);
    if (SECRET.test(text) || text.length > LONGEST_KEPT) return;
    tryTo(() => {
      makePrivate(home);
      fs.appendFileSync(file, `${torn ? "\n" : ""}${JSON.stringify(text)}\n`, { mode: 0o600 });
      torn = false;
    });
  }
}

/** Who sits at the keyboard's other end. */
export interface Sitter {
  ctxNow(): Ctx | undefined;
  ready(): Promise<unknown>; // then there is one
  interrupt(): boolean; // whether something was under way
  leave(code: number): void;
}
/** The keyboard of a conversation: whole messages, answers to questions, keys of plugins. */
export interface Keyboard {
  next(): Promise<string | undefined>; // the next message; undefined: the person leaves
  put(text: string): void; // as if it had been typed
  whole(text: string): string; // with what was pasted, where only its size stands
  prompt(): Promise<void>; // ready for the next message
  mute(on: boolean): void; // what is typed meanwhile is not shown
  ask: Ask;
  terminal: NonNullable<Ctx["terminal"]>;
  aside(text: string): void; // a note, also in the middle of a line
  readonly closed: boolean;
  close(): void;
}

/**
 * readline does the editing. stdin reaches it through a stream of our own, so that pastes, single keys and programs that
 * need the terminal can be told apart; keys that plugins know go to them first.
 */
export function openKeyboard(core: Core, { ctxNow, ready, interrupt, leave }: Sitter): Keyboard {
  const { stdin, stdout, stderr } = process;
  const dumb = process.env.TERM === "dumb"; // it answers no queries and moves no cursor: the system edits the line
  const raw = (on: boolean) => void (dumb || stdin.setRawMode(on));
  let muted = false;
  let lent = 0;
  let pressed: ((typed: string) => void) | undefined; // a question waits for one key
  let wanted = false; // a prompt is being made
  const screen: NodeJS.WriteStream = Object.create(stdout, {
    // A window that changes its size makes readline draw: not over a question, nor into what has the terminal.
    write: { value: (...args: Parameters<typeof stdout.write>) => muted || pressed || lent || stdout.write(...args) },
  });
  const keys = Object.assign(new PassThrough(), { isTTY: true, setRawMode: raw });
  const { past, add } = openHistory(core.options.home);
  const rl = readline.createInterface({
    input: keys,
    output: screen,
    prompt: MARK,
    history: [...past],
    historySize: HISTORY,
    terminal: !dumb,
    escapeCodeTimeout: 50,
  }) as import("node:readline").Interface & {
    history: string[];
    _ttyWrite(text: string | undefined, key: object): void;
  };
  const typed: string[] = [];
  const pastes = new Map<string, string>(); // by what stands for them in the line
  let pasted = 0;
  let parts: string[] = []; // of a message of several lines
  let quoted = false; // between """ and """
  let mark = MARK;
  let wake = () => {};
  let closed = false;
  let struck = Number.NEGATIVE_INFINITY; // when Ctrl+C was last pressed at an empty prompt
  let answered: ((line: string) => void) | undefined; // a question is open
  let hush: (() => void) | undefined; // a question waits for silence

  const hear = hearing(
    (bytes) => (early() ? undefined : pressed ? pressed(bytes.toString("utf8")) : keys.write(bytes)),
    (text) => (early() ? undefined : plugins && !pressed ? plugins.paste(text) : insert(text)),
  );
  raw(true);
  if (!dumb) stdout.write(SHOW_PASTES);
  process.once("exit", () => dumb || stdout.write(`${HIDE_PASTES}\x1b[?25h`));
  const gone = () => rl.close();
  stdin.on("data", hear).on("end", gone).on("close", gone);
  stdin.on("error", () => {}); // the window was closed: setRawMode() fails, too
  rl.on("line", (line) => {
    rl.history.splice(0, rl.history.length, ...past);
    if (reply(line)) return;
    const whole = gather(line);
    if (whole === undefined) return muted ? undefined : show("… ");
    const text = expanded(whole);
    add(text.length > LONGEST_KEPT ? whole : text);
    rl.history.splice(0, rl.history.length, ...past);
    struck = Number.NEGATIVE_INFINITY;
    if (muted && whole.trim())
      void emit(core, "noted", { text: `queued: ${whole.trim().split("\n")[0]!.slice(0, 60)}` });
    typed.push(whole);
    wake();
  });
  rl.on("close", () => {
    closed = true;
    interrupt();
    pressed?.("");
    reply("");
    wake();
  });
  rl.on("SIGINT", strike);
  rl.on("SIGTSTP", suspend);
  process.removeAllListeners("SIGINT").on("SIGINT", () => void (lent || strike()));
  const ordinary = rl._ttyWrite.bind(rl);
  const plugins = dumb ? undefined : pluginsFirst();
  if (plugins) rl._ttyWrite = plugins.press;

  return {
    next,
    put(text) {
      typed.push(text);
      stdout.write(`${text}\n`);
      wake();
    },
    whole: expanded,
    prompt,
    mute,
    ask,
    terminal,
    aside,
    get closed() {
      return closed;
    },
    close: () => void (closed || rl.close()),
  };

  async function next(): Promise<string | undefined> {
    while (!typed.length && !closed) await new Promise<void>((resolve) => (wake = resolve));
    return closed ? undefined : typed.shift();
  }

  async function prompt(): Promise<void> {
    const ctx = ctxNow();
    const place = ctx && { core, chat: ctx.chat as LiveChat, ctx };
    wanted = true;
    const made = place && !typed.length ? await around(place, "prompt", MARK).catch(() => MARK) : MARK;
    if (closed || !wanted) return; // a turn has begun meanwhile
    mark = made;
    if (typed.length) return void stdout.write(`${mark}${clean(typed[0]!)}\n`); // it was typed ahead: it comes next
    mute(false);
    show(parts.length || quoted ? "… " : mark);
  }

  function show(mark: string): void {
    rl.setPrompt(mark);
    rl.prompt(true);
  }

  function mute(on: boolean): void {
    if (on) wanted = false;
    if (muted && !on) Object.assign(rl, { prevRows: 0 }); // what readline drew last is no longer there
    muted = on;
  }

  function reply(line: string): boolean {
    const to = answered;
    answered = undefined;
    to?.(line);
    return to !== undefined;
  }

  /** Ctrl+C: it is no answer, stops what runs, clears what is typed; twice in a second it leaves. */
  function strike(): void {
    if (answered) stdout.write("\n");
    const stopped = interrupt();
    if (reply("") || stopped) return;
    if (rl.line || parts.length || quoted) {
      stdout.write("^C\n");
      [parts, quoted] = [[], false];
      Object.assign(rl, { line: "", cursor: 0, prevRows: 0 });
    } else if (performance.now() - struck < 1000) {
      leave(130);
      return;
    } else {
      struck = performance.now();
      stdout.write("\nCtrl+C again to leave.\n");
    }
    show(mark);
  }

  function suspend(): void {
    stdout.write(HIDE_PASTES);
    raw(false);
    process.once("SIGCONT", () => {
      raw(true);
      stdout.write(SHOW_PASTES);
      redraw();
    });
    process.kill(process.pid, "SIGTSTP");
  }

  /** A message of several lines: after a trailing backslash, or between """ and """. */
  function gather(line: string): string | undefined {
    if (!quoted && !parts.length && line.trimStart().startsWith('"""')) {
      quoted = true;
      line = line.trimStart().slice(3);
      if (!line) return undefined;
    }
    const goesOn = quoted ? !line.trimEnd().endsWith('"""') : /(?:^|[^\\])(?:\\\\)*\\$/.test(line);
    const cut = quoted ? (goesOn ? 0 : 3) : goesOn ? 1 : 0; // the quotes, the backslash
    parts.push(cut ? line.trimEnd().slice(0, -cut) : line);
    if (goesOn) return undefined;
    const whole = parts.join("\n");
    [parts, quoted] = [[], false];
    return whole;
  }

  /** A paste is one message, never commands. A long one is shown by its size. */
  function insert(given: string): void {
    const text = tidied(given);
    const lines = text.split("\n").length;
    const put = text.length > LONGEST_PASTE || lines > 8 ? setAside(text, lines) : text;
    const at = rl.cursor + put.length;
    Object.assign(rl, { line: rl.line.slice(0, rl.cursor) + put + rl.line.slice(rl.cursor), cursor: at });
    pressed?.(""); // it is no answer, and is kept for the next message
    if (!muted) rl.prompt(true);
  }

  /** What stands for a long paste in the line. The last few can be sent again from the history. */
  function setAside(text: string, lines: number): string {
    const name = `[paste ${++pasted}: ${lines > 1 ? `${lines} lines` : `${text.length} characters`}]`;
    pastes.set(name, text);
    if (pastes.size > PASTES) pastes.delete(pastes.keys().next().value!);
    return name;
  }

  function expanded(line: string): string {
    for (const [name, text] of pastes) line = line.replace(name, () => text);
    return line;
  }

  function aside(text: string): void {
    if (muted || answered || pressed || closed || dumb) return void say(text);
    const { rows } = rl.getCursorPos();
    readline.cursorTo(stdout, 0);
    readline.moveCursor(stdout, 0, -rows);
    readline.clearScreenDown(stdout);
    say(text);
    redraw();
  }

  /** Before a question shows: in a turn, what is typed is for the next message; else it is a key held down. */
  function early(): boolean {
    hush?.();
    return hush !== undefined && !muted;
  }

  async function ask(question: string, choices?: string): Promise<string> {
    const stop = ctxNow()?.signal;
    const over = () => closed || stop?.aborted; // then nobody is to be asked any more
    await emit(core, "asked", { question });
    if (over()) return "";
    const shown = cleanRendered(question);
    if (choices === undefined || dumb) {
      const { line: kept, cursor } = rl; // lines typed before it are messages, not answers
      const was = muted;
      Object.assign(rl, { line: "", cursor: 0 });
      mute(false);
      const lines = (choices === undefined ? clean(question) : shown).split("\n");
      if (lines.length > 1) stderr.write(`${lines.slice(0, -1).join("\n")}\n`);
      show(lines.at(-1)!);
      const line = await new Promise<string>((resolve) => (answered = resolve));
      Object.assign(rl, { line: kept, cursor });
      mute(was);
      return choices === undefined ? line : keyOf(line, choices);
    }
    await silence((hear) => (hush = hear));
    hush = undefined;
    if (over()) return "";
    stderr.write(muted ? shown : `\n${shown}`);
    const typed = await new Promise<string>((resolve) => (pressed = resolve));
    pressed = undefined;
    const key = keyOf(typed, choices);
    stderr.write(`${key}\n`);
    redraw();
    return key;
  }

  /** After something else stood in its place. */
  function redraw(): void {
    if (muted || closed) return;
    Object.assign(rl, { prevRows: 0 });
    rl.prompt(true);
  }

  async function terminal<T>(act: () => Promise<T>): Promise<T> {
    if (lent++ === 0) {
      stdin.off("data", hear).pause();
      raw(false);
      if (!dumb) stdout.write(HIDE_PASTES);
      if (!muted) stdout.write("\n");
    }
    try {
      return await act();
    } finally {
      if (--lent === 0 && !closed) {
        stdin.on("data", hear).resume();
        raw(true);
        if (!dumb) stdout.write(SHOW_PASTES);
        redraw();
      }
    }
  }

  /** What a plugin's key may do with the line. Keys that come while one is at work wait for it. */
  function pluginsFirst() {
    type Pressed = Press & { again?(): void }; // what it does anyway
    const waiting: Pressed[] = [];
    let grabbed: ((key: Press) => void) | undefined;
    let working = false;
    let drawn = false; // something stands below the line
    const line: Line = {
      get text() {
        return rl.line;
      },
      get cursor() {
        return rl.cursor;
      },
      history: past,
      set(text, cursor = text.length) {
        Object.assign(rl, { line: clean(text), cursor }); // names of files and old lines may hold anything
        rl.prompt(true);
      },
      prompt: (text) => show(text ?? (parts.length || quoted ? "… " : mark)),
      below,
      next: () => new Promise((resolve) => (waiting.length ? resolve(waiting.shift()!) : (grabbed = resolve))),
      press: (key) => void waiting.unshift(key),
    };
    return { press, paste };

    /** In turn with the keys: a menu or a search that is open hears of it, and a completion does not write over it. */
    function paste(given: string): void {
      const text = tidied(given);
      receive({ name: "paste", text, again: () => insert(text) });
    }
    function press(
      text: string | undefined,
      key: { ctrl: boolean; meta: boolean; shift: boolean; name?: string; sequence: string },
    ): void {
      const { ctrl, meta, shift, name = key.sequence } = key;
      const alt = meta && name !== "escape"; // readline takes a lone Escape for Meta with Escape
      const held = [ctrl && "ctrl", alt && "meta", shift && (ctrl || alt || name.length > 1) && "shift"].filter(
        Boolean,
      );
      receive({ name: [...held, name].join("+"), text: text ?? "", again: () => ordinary(text, key) });
    }
    function receive(key: Pressed): void {
      if (drawn) wipe();
      const to = grabbed;
      grabbed = undefined;
      if (to) return void to(key);
      if (working && key.name === "ctrl+c") working = false; // it hangs: leave it behind
      if (working) return void waiting.push(key);
      const bound = core.keys.get(key.name);
      if (bound)
        muted || answered || void work(bound, key); // in a turn it means nothing: no tab, no stop
      else if (/^(return|enter)$/.test(key.name) && rl.line.includes("\n")) send();
      else key.again?.();
    }
    /** readline would turn several lines round. */
    function send(): void {
      const text = rl.line;
      Object.assign(rl, { cursor: text.length });
      rl.prompt(true);
      screen.write("\r\n");
      Object.assign(rl, { line: "", cursor: 0, prevRows: 0 });
      rl.emit("line", text);
    }
    async function work({ owner, value }: Owned<Key>, key: Pressed): Promise<void> {
      working = true;
      const done = await (async () => {
        await ready();
        return value.press(line, ctxNow()!);
      })().catch((error) => {
        aside(`Plugin '${owner}' failed on the key '${key.name}': ${reason(error)}`);
      });
      working = false;
      if (closed) return;
      if (done === false) key.again?.();
      while (waiting.length && !working) receive(waiting.shift()!);
    }
    function below(text: string): void {
      if (drawn) wipe();
      if (muted || !text) return;
      const { columns = 80, rows: height = 24 } = stdout;
      const here = rl.getCursorPos();
      const { cursor } = rl;
      Object.assign(rl, { cursor: rl.line.length });
      const end = rl.getCursorPos();
      Object.assign(rl, { cursor });
      const lines = text.split("\n").slice(0, Math.max(1, height - end.rows - 2));
      readline.moveCursor(stdout, 0, end.rows - here.rows);
      stdout.write(lines.map((line) => `\r\n${cut(cleanRendered(line), columns - 1)}`).join(""));
      readline.moveCursor(stdout, 0, here.rows - end.rows - lines.length);
      readline.cursorTo(stdout, here.cols);
      drawn = true;
    }
    function wipe(): void {
      drawn = false;
      rl.prompt(true); // it clears what is below
    }
  }
}

export const MARK = "› ";

/** As much of a line as fits so many columns: a wide sign takes two, a combining one none, a colour none. */
export function cut(line: string, columns: number): string {
  const pieces = line.match(/\x1b\[[\d;]*m|\P{M}\p{M}*/gsu) ?? [];
  const widths = pieces.map((piece) => (piece.startsWith("\x1b") ? 0 : WIDE.test(piece) ? 2 : 1));
  const sum = (upTo: number) => widths.slice(0, upTo).reduce((all: number, one) => all + one, 0);
  if (sum(pieces.length) <= columns) return line;
  let fits = pieces.length;
  while (fits > 0 && sum(fits) > columns - 1) fits--;
  return `${pieces.slice(0, fits).join("")}…${line.includes("\x1b") ? "\x1b[0m" : ""}`;
}
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
