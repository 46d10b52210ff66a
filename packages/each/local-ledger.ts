// A run in one file of the home, each/RUN.jsonl: a header, the inputs, then what came of them, only
// ever appended to. Memory holds where each line is, not what it says, so that a hundred thousand
// inputs are a few megabytes.
import { createHash, randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { acquireLock, entriesOf, fault, makeFolder, plural, tryTo, usage } from "zz/text";
import type { Answered, Failed, Input, Outcome, Plan, RunLedger, Taken } from "./run-ledger.ts";

const VERSION = 1;
const OPEN = 0;
const TAKEN = 1;
const ANSWERED = 2;
const FAILED = 3;
const BLOCK_BYTES = 1 << 20;

type Header = { zz: number; run: string; at: string; plan: Plan };
/** Where a line is in the file. */
type Place = [start: number, length: number];
/** The places of many lines, in little memory. */
class Places {
  private places = new Float64Array(2048);

  set(inputNumber: number, place: Place): void {
    while (inputNumber * 2 >= this.places.length) {
      const { places } = this;
      this.places = new Float64Array(places.length * 2);
      this.places.set(places);
    }
    this.places.set(place, inputNumber * 2);
  }
  get(inputNumber: number): Place {
    return [this.places[inputNumber * 2]!, this.places[inputNumber * 2 + 1]!];
  }
}

const { O_NOFOLLOW = 0, O_RDWR } = fs.constants; // what a link leads to is never written
const folderOf = (home: string): string => path.join(home, "each");
const runFile = (home: string, id: string): string => path.join(folderOf(home), `${id}.jsonl`);

/** The runs of this home, the newest first. */
function listRunIds(home: string): string[] {
  const runFiles = entriesOf(folderOf(home)).filter((fileName) => fileName.endsWith(".jsonl"));
  return runFiles
    .map((fileName) => path.basename(fileName, ".jsonl"))
    .sort()
    .reverse();
}

/** The run that is meant: by its id or the beginning of it, else the last one. */
export function findRun(home: string, idPrefix?: string): string {
  const knownIds = listRunIds(home);
  const matchingIds =
    idPrefix === undefined
      ? knownIds.slice(0, 1)
      : knownIds.filter((id) => id.startsWith(idPrefix));
  if (matchingIds.length === 1) return matchingIds[0]!;
  if (!knownIds.length)
    throw usage('Cannot find a run: none was made yet. Make one with zz --each GLOB "…".');
  const reasonWords = matchingIds.length
    ? `${matchingIds.length} begin like that. Give more of it`
    : `there is none. The last is ${knownIds[0]}`;
  throw usage(`Cannot find the run '${idPrefix}': ${reasonWords}.`);
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
  const timePart = at.slice(0, 23).replace(/[-:.]/g, "").replace("T", "-");
  const id = `${timePart}-${randomUUID().slice(0, 6)}`;
  makeFolder(folderOf(home), 0o700);
  const partialFile = `${runFile(home, id)}.part`;
  const descriptor = fs.openSync(partialFile, "wx", 0o600);
  try {
    const header: Header = { zz: VERSION, run: id, at, plan };
    const contentHash = createHash("sha256");
    let pendingText = "";
    const addLine = (lineObject: object) => {
      const addedText = `${JSON.stringify(lineObject)}\n`;
      contentHash.update(addedText);
      pendingText += addedText;
    };
    addLine(header);
    let inputCount = 0;
    for await (const { name } of inputs) {
      addLine({ input: name });
      inputCount++;
      if (pendingText.length < BLOCK_BYTES) continue;
      fs.writeFileSync(descriptor, pendingText);
      pendingText = "";
    }
    if (!inputCount)
      throw usage("Cannot ask about nothing: no input came. Check the glob, or what is piped in.");
    const closingLine = { inputs: inputCount, hash: contentHash.digest("hex") };
    fs.writeFileSync(descriptor, `${pendingText}${JSON.stringify(closingLine)}\n`);
    fs.fdatasyncSync(descriptor);
    fs.renameSync(partialFile, runFile(home, id));
  } catch (error) {
    tryTo(() => fs.unlinkSync(partialFile));
    throw error;
  } finally {
    fs.closeSync(descriptor);
  }
  return openRun(home, id);
}

/**
 * Opens a run for asking; `reportNote` hears what is wrong in its file. One process at a time has
 * it open.
 */
export async function openRun(
  home: string,
  id: string,
  reportNote: (noteText: string) => void = () => {},
): Promise<LocalLedger> {
  const release = acquireLock(
    `${runFile(home, id)}.lock`,
    `Cannot open the run '${id}'`,
    "Wait for it, or stop it there",
  );
  try {
    const ledger = new LocalLedger(runFile(home, id), release);
    ledger.load(reportNote);
    return ledger;
  } catch (error) {
    release();
    throw error;
  }
}

/** Looks at a run without a lock, for its status. */
export function readRun(home: string, id: string): LocalLedger {
  const ledger = new LocalLedger(runFile(home, id), () => {});
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
  private madePlaces = new Map<string, Place>();
  private waiting: (() => void)[] = [];
  private returned: (() => void)[] = []; // wait for an input that is given back

  constructor(runPath: string, release: () => void) {
    this.file = runPath;
    this.release = release;
  }

  /**
   * Reads the file line by line. A torn last line is cut off; a changed input ends it, a changed
   * answer is asked again.
   */
  load(reportNote: (noteText: string) => void, isReading = false): void {
    this.fd = fs.openSync(this.file, isReading ? "r" : O_RDWR | O_NOFOLLOW);
    const contentHash = createHash("sha256"); // of what is asked, so that a change of it is seen
    let [lineNumber, spoiltCount, complete] = [0, 0, false];
    for (const [lineText, linePlace] of this.lines()) {
      const parsedLine = tryTo(() => JSON.parse(lineText));
      lineNumber++;
      if (!complete && this.loadInput(parsedLine, lineNumber, linePlace))
        contentHash.update(`${lineText}\n`);
      else if (!complete) {
        complete = parsedLine?.inputs === this.counts.inputs && this.counts.inputs > 0;
        if (!complete) throw this.changed(`line ${lineNumber} is not a line of a run`);
        if (parsedLine.hash !== undefined && parsedLine.hash !== contentHash.digest("hex"))
          throw this.changed("it asks something else than before");
        this.states = new Uint8Array(this.counts.inputs);
        this.tries = new Uint8Array(this.counts.inputs);
      } else if (!this.loadOutcome(parsedLine, linePlace)) spoiltCount++;
    }
    if (!complete) throw this.changed("it ends before its inputs do");
    const fileSize = fs.fstatSync(this.fd).size;
    if (fileSize > this.end && !isReading) fs.ftruncateSync(this.fd, this.end);
    if (spoiltCount)
      reportNote(
        `The file of the run has ${plural(spoiltCount, "line")} that cannot be read; ` +
          "what was answered there is asked again.",
      );
  }

  private changed(changeWords: string): Error {
    return usage(
      `Cannot open the run '${this.name}': its file was changed: ${changeWords}. Start it again.`,
    );
  }
  private get name(): string {
    return path.basename(this.file, ".jsonl");
  }

  private loadInput(parsedLine: any, lineNumber: number, linePlace: Place): boolean {
    if (lineNumber === 1) {
      const { zz, run, plan } = (parsedLine ?? {}) as Partial<Header>;
      if (zz !== VERSION || typeof run !== "string" || typeof plan?.prompt !== "string")
        throw Number(zz) > VERSION
          ? usage(`Cannot open the run '${this.name}': a newer zz made it. Update zz.`)
          : this.changed("it holds no readable header");
      this.id = run;
      this.plan = plan;
      return true;
    }
    if (typeof parsedLine?.input !== "string") return false;
    this.inputPlaces.set(this.counts.inputs++, linePlace);
    return true;
  }

  private loadOutcome(parsedLine: any, linePlace: Place): boolean {
    if (typeof parsedLine?.keep === "string") {
      this.madePlaces.set(parsedLine.keep, linePlace);
      return true;
    }
    const isAnswer = parsedLine && "answer" in parsedLine;
    if (
      !Number.isInteger(parsedLine?.n) ||
      !(parsedLine.n >= 0 && parsedLine.n < this.counts.inputs)
    )
      return false;
    if (!isAnswer) return typeof parsedLine.error === "string"; // asked again
    if (this.states[parsedLine.n] === ANSWERED) return true;
    this.states[parsedLine.n] = ANSWERED;
    this.counts.answered++;
    this.outcomePlaces.set(parsedLine.n, linePlace);
    return true;
  }

  private *lines(): Generator<[text: string, place: Place]> {
    const blockBuffer = Buffer.allocUnsafe(BLOCK_BYTES);
    let unfinished: Buffer = Buffer.alloc(0);
    for (let fileOffset = 0; ; ) {
      const bytesRead = fs.readSync(this.fd, blockBuffer, 0, blockBuffer.length, fileOffset);
      if (!bytesRead) return;
      fileOffset += bytesRead;
      const blockBytes = Buffer.concat([unfinished, blockBuffer.subarray(0, bytesRead)]);
      let lineStart = 0;
      for (
        let lineEnd = blockBytes.indexOf(10);
        lineEnd >= 0;
        lineEnd = blockBytes.indexOf(10, lineStart)
      ) {
        const linePlace: Place = [this.end, lineEnd - lineStart];
        this.end += lineEnd - lineStart + 1;
        yield [blockBytes.toString("utf8", lineStart, lineEnd), linePlace];
        lineStart = lineEnd + 1;
      }
      unfinished = blockBytes.subarray(lineStart);
    }
  }

  async take(): Promise<Taken | undefined> {
    for (;;) {
      const n = this.nextOpen();
      if (n !== undefined) {
        this.states[n] = TAKEN;
        this.busy++;
        return { n, input: await this.input(n), tries: this.tries[n]! };
      }
      if (!this.delayed.length && !this.busy) return undefined;
      await this.untilReturned();
    }
  }

  private nextOpen(): number | undefined {
    while (this.cursor < this.counts.inputs && this.states[this.cursor] !== OPEN) this.cursor++;
    const nowMs = performance.now();
    const dueIndex = this.delayed.findIndex(({ at }) => at <= nowMs);
    if (dueIndex >= 0) return this.delayed.splice(dueIndex, 1)[0]!.n;
    return this.cursor < this.counts.inputs ? this.cursor : undefined;
  }

  private async untilReturned(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.returned.push(resolve);
    const nextDueAt = Math.min(...this.delayed.map(({ at }) => at));
    const timer = Number.isFinite(nextDueAt)
      ? setTimeout(resolve, nextDueAt - performance.now())
      : undefined;
    await promise;
    clearTimeout(timer);
  }

  async answer(n: number, answered: Answered): Promise<void> {
    if (this.states[n] === ANSWERED) return;
    this.outcomePlaces.set(n, this.append({ n, ...answered }));
    this.counts.answered++;
    this.leave(n, ANSWERED);
  }

  async giveBack(n: number, failedOutcome: Failed, retryAfterMs?: number): Promise<void> {
    if (this.states[n] !== TAKEN) return;
    this.tries[n] = Math.min(255, this.tries[n]! + 1);
    if (retryAfterMs === undefined) {
      this.outcomePlaces.set(n, this.append({ n, ...failedOutcome }));
      this.counts.failed++;
      return this.leave(n, FAILED);
    }
    this.delayed.push({ n, at: performance.now() + retryAfterMs });
    this.busy--;
    for (const wake of this.returned.splice(0)) wake();
  }

  private leave(inputNumber: number, nextState: number): void {
    if (this.states[inputNumber] === TAKEN) this.busy--;
    this.states[inputNumber] = nextState;
    for (const wake of [...this.returned.splice(0), ...this.waiting.splice(0)]) wake();
  }

  private append(lineObject: object): Place {
    const lineBytes = Buffer.from(`${JSON.stringify(lineObject)}\n`);
    const startOffset = this.end;
    try {
      for (let bytesWritten = 0; bytesWritten < lineBytes.length; )
        bytesWritten += fs.writeSync(
          this.fd,
          lineBytes,
          bytesWritten,
          lineBytes.length - bytesWritten,
          startOffset + bytesWritten,
        );
    } catch (error) {
      tryTo(() => fs.ftruncateSync(this.fd, startOffset)); // a full disk must not leave half a line
      throw fault(
        `Cannot keep the run in '${this.file}': ${(error as Error).message}. ` +
          "Make room, then resume it.",
      );
    }
    this.end += lineBytes.length;
    return [startOffset, lineBytes.length - 1];
  }

  private at([startOffset, byteLength]: Place): any {
    const lineBytes = Buffer.allocUnsafe(byteLength);
    fs.readSync(this.fd, lineBytes, 0, byteLength, startOffset);
    return JSON.parse(lineBytes.toString("utf8"));
  }

  async outcome(inputNumber: number): Promise<Outcome | undefined> {
    if (this.states[inputNumber] !== ANSWERED && this.states[inputNumber] !== FAILED)
      return undefined;
    const { n: _, ...outcome } = this.at(this.outcomePlaces.get(inputNumber));
    return outcome;
  }

  async input(inputNumber: number): Promise<Input> {
    return { name: this.at(this.inputPlaces.get(inputNumber)).input, kind: this.plan.kind };
  }

  settled(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  kept(entryName: string): unknown {
    const linePlace = this.madePlaces.get(entryName);
    return linePlace && this.at(linePlace).value;
  }

  async keep(entryName: string, value: unknown): Promise<void> {
    this.madePlaces.set(entryName, this.append({ keep: entryName, value }));
  }

  async close(): Promise<void> {
    tryTo(() => fs.fdatasyncSync(this.fd));
    fs.closeSync(this.fd);
    this.release();
  }
}
