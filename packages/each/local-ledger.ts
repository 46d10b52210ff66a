// A run in one file of the home, each/RUN.jsonl: a header, the inputs, then what came of them, only
// ever appended to. Memory holds where each line is, not what it says, so that a hundred thousand
// inputs are a few megabytes.
import { createHash, randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import * as timers from "node:timers/promises";
import { acquireLock, fault, makeFolder, plural, tryTo, usage } from "zz/text";
import type { Answered, Failed, Input, Outcome, Plan, RunLedger, Taken } from "./run-ledger.ts";

const VERSION = 1;
const OPEN = 0;
const TAKEN = 1;
const ANSWERED = 2;
const FAILED = 3;
const BLOCK_BYTES = 1 << 20;

type Header = { zz: number; run: string; at: string; plan: Plan };
/** Where a line is in the file. */
class Places {
  private starts = new Float64Array(1024);
  private lengths = new Uint32Array(1024);

  set(n: number, start: number, length: number): void {
    while (n >= this.starts.length) this.grow();
    this.starts[n] = start;
    this.lengths[n] = length;
  }
  get(n: number): [start: number, length: number] {
    return [this.starts[n] ?? 0, this.lengths[n] ?? 0];
  }
  private grow(): void {
    const [starts, lengths] = [this.starts, this.lengths];
    this.starts = new Float64Array(starts.length * 2);
    this.lengths = new Uint32Array(lengths.length * 2);
    this.starts.set(starts);
    this.lengths.set(lengths);
  }
}

const { O_NOFOLLOW = 0, O_RDWR } = fs.constants; // what a link leads to is never written
const folderOf = (home: string): string => path.join(home, "each");
const fileOf = (home: string, id: string): string => path.join(folderOf(home), `${id}.jsonl`);

/** The runs of this home, the newest first. */
function runIds(home: string): string[] {
  const names = tryTo(() => fs.readdirSync(folderOf(home))) ?? [];
  const ids = names
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => name.slice(0, -".jsonl".length));
  return ids.sort().reverse();
}

/** The run that is meant: by its id or the beginning of it, else the last one. */
export function findRun(home: string, given?: string): string {
  const ids = runIds(home);
  const fits = given === undefined ? ids.slice(0, 1) : ids.filter((id) => id.startsWith(given));
  if (fits.length === 1) return fits[0]!;
  if (!ids.length)
    throw usage('Cannot find a run: none was made yet. Make one with zz --each GLOB "…".');
  const why = fits.length
    ? `${fits.length} begin like that. Give more of it`
    : `there is none. The last is ${ids[0]}`;
  throw usage(`Cannot find the run '${given}': ${why}.`);
}

/**
 * Makes a run of these inputs. Until all of them are in its file it has another name, so a run is
 * never half of one.
 */
export async function createRun(
  home: string,
  plan: Plan,
  inputs: AsyncIterable<Input> | Iterable<Input>,
): Promise<RunLedger> {
  const at = new Date().toISOString();
  // To the millisecond: the newest is the last by its name.
  const id = `${at.slice(0, 23).replace(/[-:.]/g, "").replace("T", "-")}-${randomUUID().slice(0, 6)}`;
  makeFolder(folderOf(home), 0o700);
  const part = `${fileOf(home, id)}.part`;
  const fd = fs.openSync(part, "wx", 0o600);
  try {
    const header: Header = { zz: VERSION, run: id, at, plan };
    const hash = createHash("sha256");
    let text = "";
    const add = (line: object) => {
      const added = `${JSON.stringify(line)}\n`;
      hash.update(added);
      text += added;
    };
    add(header);
    let count = 0;
    for await (const { name } of inputs) {
      add({ input: name });
      count++;
      if (text.length < BLOCK_BYTES) continue;
      fs.writeFileSync(fd, text);
      text = "";
    }
    if (!count)
      throw usage("Cannot ask about nothing: no input came. Check the glob, or what is piped in.");
    const last = { inputs: count, hash: hash.digest("hex") };
    fs.writeFileSync(fd, `${text}${JSON.stringify(last)}\n`);
    fs.fdatasyncSync(fd);
    fs.renameSync(part, fileOf(home, id));
  } catch (error) {
    tryTo(() => fs.unlinkSync(part));
    throw error;
  } finally {
    fs.closeSync(fd);
  }
  return openRun(home, id);
}

/**
 * Opens a run for asking; `note` hears what is wrong in its file. One process at a time has it
 * open.
 */
export async function openRun(
  home: string,
  id: string,
  note: (text: string) => void = () => {},
): Promise<LocalLedger> {
  const release = acquireLock(
    `${fileOf(home, id)}.lock`,
    `Cannot open the run '${id}'`,
    "Wait for it, or stop it there",
  );
  try {
    const ledger = new LocalLedger(fileOf(home, id), release);
    ledger.load(note);
    return ledger;
  } catch (error) {
    release();
    throw error;
  }
}

/** Looks at a run without a lock, for its status. */
export function readRun(home: string, id: string): LocalLedger {
  const ledger = new LocalLedger(fileOf(home, id), () => {});
  ledger.load(() => {}, true);
  return ledger;
}

class LocalLedger implements RunLedger {
  id = "";
  plan!: Plan;
  counts = { inputs: 0, answered: 0, failed: 0 };
  private file: string;
  private release: () => void;
  private fd = -1;
  private end = 0;
  private inputPlaces = new Places();
  private outcomePlaces = new Places();
  private states = new Uint8Array();
  private tries = new Uint8Array();
  private cursor = 0; // all before it were taken at least once
  private delayed: { n: number; at: number }[] = [];
  private busy = 0; // taken, and neither answered nor given back
  private madePlaces = new Map<string, [start: number, length: number]>();
  private waiting: (() => void)[] = [];
  private returned: (() => void)[] = []; // wait for an input that is given back

  constructor(file: string, release: () => void) {
    this.file = file;
    this.release = release;
  }

  /**
   * Reads the file line by line. A torn last line is cut off; a changed input ends it, a changed
   * answer is asked again.
   */
  load(note: (text: string) => void, isReading = false): void {
    this.fd = fs.openSync(this.file, isReading ? "r" : O_RDWR | O_NOFOLLOW);
    const hash = createHash("sha256"); // of what is asked, so that a change of it is seen
    let [line, spoilt, complete] = [0, 0, false];
    for (const [text, start, length] of this.lines()) {
      const parsed = tryTo(() => JSON.parse(text));
      line++;
      if (!complete && this.loadInput(parsed, line, start, length)) hash.update(`${text}\n`);
      else if (!complete) {
        complete = parsed?.inputs === this.counts.inputs && this.counts.inputs > 0;
        if (!complete) throw this.changed(`line ${line} is no line of a run`);
        if (parsed.hash !== undefined && parsed.hash !== hash.digest("hex"))
          throw this.changed("it asks something else than before");
        this.states = new Uint8Array(this.counts.inputs);
        this.tries = new Uint8Array(this.counts.inputs);
      } else if (
        complete &&
        line > this.counts.inputs + 2 &&
        !this.loadOutcome(parsed, start, length)
      )
        spoilt++;
    }
    if (!complete) throw this.changed("it ends before its inputs do");
    const size = fs.fstatSync(this.fd).size;
    if (size > this.end && !isReading) fs.ftruncateSync(this.fd, this.end);
    if (spoilt)
      note(
        `The file of the run has ${plural(spoilt, "line")} that cannot be read; what was answered there is asked again.`,
      );
  }

  private changed(why: string): Error {
    return usage(
      `Cannot open the run '${this.name}': its file was changed: ${why}. Start it again.`,
    );
  }
  private get name(): string {
    return path.basename(this.file, ".jsonl");
  }

  private loadInput(parsed: any, line: number, start: number, length: number): boolean {
    if (line === 1) {
      const { zz, run, plan } = (parsed ?? {}) as Partial<Header>;
      if (zz !== VERSION || typeof run !== "string" || typeof plan?.prompt !== "string")
        throw Number(zz) > VERSION
          ? usage(`Cannot open the run '${this.name}': a newer zz made it. Update zz.`)
          : this.changed("it holds no readable header");
      this.id = run;
      this.plan = plan;
      return true;
    }
    if (typeof parsed?.input !== "string") return false;
    this.inputPlaces.set(this.counts.inputs++, start, length);
    return true;
  }

  private loadOutcome(parsed: any, start: number, length: number): boolean {
    if (typeof parsed?.keep === "string") {
      this.madePlaces.set(parsed.keep, [start, length]);
      return true;
    }
    const isAnswer = parsed && "answer" in parsed;
    if (!Number.isInteger(parsed?.n) || !(parsed.n >= 0 && parsed.n < this.counts.inputs))
      return false;
    if (!isAnswer) return typeof parsed.error === "string"; // asked again
    if (this.states[parsed.n] === ANSWERED) return true;
    this.states[parsed.n] = ANSWERED;
    this.counts.answered++;
    this.outcomePlaces.set(parsed.n, start, length);
    return true;
  }

  private *lines(): Generator<[text: string, start: number, length: number]> {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    let rest: Buffer = Buffer.alloc(0);
    for (let at = 0; ; ) {
      const read = fs.readSync(this.fd, block, 0, block.length, at);
      if (!read) return;
      at += read;
      const bytes = Buffer.concat([rest, block.subarray(0, read)]);
      let from = 0;
      for (let stop = bytes.indexOf(10); stop >= 0; stop = bytes.indexOf(10, from)) {
        const start = this.end;
        this.end += stop - from + 1;
        yield [bytes.toString("utf8", from, stop), start, stop - from];
        from = stop + 1;
      }
      rest = bytes.subarray(from);
    }
  }

  async take(signal: AbortSignal): Promise<Taken | undefined> {
    for (;;) {
      signal.throwIfAborted();
      const n = this.nextOpen();
      if (n !== undefined) {
        this.states[n] = TAKEN;
        this.busy++;
        return { n, input: await this.input(n), tries: this.tries[n]! };
      }
      if (!this.delayed.length && !this.busy) return undefined;
      await this.untilReturned(signal);
    }
  }

  private nextOpen(): number | undefined {
    while (this.cursor < this.counts.inputs && this.states[this.cursor] !== OPEN) this.cursor++;
    const now = performance.now();
    const due = this.delayed.findIndex(({ at }) => at <= now);
    if (due >= 0) return this.delayed.splice(due, 1)[0]!.n;
    return this.cursor < this.counts.inputs ? this.cursor : undefined;
  }

  private async untilReturned(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.returned.push(resolve);
    const done = new AbortController();
    const stop = AbortSignal.any([signal, done.signal]);
    const next = Math.min(...this.delayed.map(({ at }) => at));
    const timer = Number.isFinite(next)
      ? timers.setTimeout(Math.max(1, next - performance.now()), undefined, { signal: stop })
      : [];
    await Promise.race([promise, ...[timer].flat().map((one) => one.catch(() => {}))]);
    done.abort();
  }

  async answer(n: number, answered: Answered): Promise<boolean> {
    if (this.states[n] === ANSWERED) return false;
    const place = this.append({ n, ...answered });
    this.outcomePlaces.set(n, ...place);
    this.counts.answered++;
    this.leave(n, ANSWERED);
    return true;
  }

  async giveBack(n: number, failed: Failed, after?: number): Promise<void> {
    if (this.states[n] !== TAKEN) return;
    this.tries[n] = Math.min(255, this.tries[n]! + 1);
    if (after === undefined) {
      this.outcomePlaces.set(n, ...this.append({ n, ...failed }));
      this.counts.failed++;
      return this.leave(n, FAILED);
    }
    this.delayed.push({ n, at: performance.now() + after });
    this.busy--;
    for (const wake of this.returned.splice(0)) wake();
  }

  private leave(n: number, state: number): void {
    if (this.states[n] === TAKEN) this.busy--;
    this.states[n] = state;
    for (const wake of [...this.returned.splice(0), ...this.waiting.splice(0)]) wake();
  }

  private append(line: object): [start: number, length: number] {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    const start = this.end;
    try {
      for (let done = 0; done < bytes.length; )
        done += fs.writeSync(this.fd, bytes, done, bytes.length - done, start + done);
    } catch (error) {
      tryTo(() => fs.ftruncateSync(this.fd, start)); // a full disk must not leave half a line
      throw fault(
        `Cannot keep the run in '${this.file}': ${(error as Error).message}. Make room, then resume it.`,
      );
    }
    this.end += bytes.length;
    return [start, bytes.length - 1];
  }

  private at([start, length]: [number, number]): any {
    const bytes = Buffer.allocUnsafe(length);
    fs.readSync(this.fd, bytes, 0, length, start);
    return JSON.parse(bytes.toString("utf8"));
  }

  async outcome(n: number): Promise<Outcome | undefined> {
    if (this.states[n] !== ANSWERED && this.states[n] !== FAILED) return undefined;
    const { n: _, ...outcome } = this.at(this.outcomePlaces.get(n));
    return outcome;
  }

  async input(n: number): Promise<Input> {
    return { name: this.at(this.inputPlaces.get(n)).input, kind: this.plan.kind };
  }

  settled(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  kept(name: string): unknown {
    const place = this.madePlaces.get(name);
    return place && this.at(place).value;
  }

  async keep(name: string, value: unknown): Promise<void> {
    this.madePlaces.set(name, this.append({ keep: name, value }));
  }

  async close(): Promise<void> {
    tryTo(() => fs.fdatasyncSync(this.fd));
    fs.closeSync(this.fd);
    this.release();
  }
}
