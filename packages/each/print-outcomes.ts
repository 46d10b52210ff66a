// What came of a run, on stdout or in files.
import path from "node:path";
import type { Ctx, Zz } from "zz";
import { clean, fault, makeFolder, writeWhole } from "zz/text";
import type { Answered, Input, Outcome } from "./run-ledger.ts";
import type { Running } from "./running.ts";

/** Prints each outcome in order, once it is there. At the end those after a gap are printed too. */
export async function print(running: Running): Promise<void> {
  const { ledger, stop } = running;
  let wake = () => {};
  stop.signal.addEventListener("abort", () => wake(), { once: true });
  for (let n = 0; n < ledger.counts.inputs; ) {
    const isOver = stop.signal.aborted;
    const outcome = await ledger.outcome(n);
    if (outcome) await show(running, n, outcome);
    if (outcome || isOver) n++;
    if (outcome || isOver) continue;
    const news = ledger.settled();
    if ((await ledger.outcome(n)) || stop.signal.aborted) continue; // it came meanwhile
    await new Promise<void>((resolve) => {
      wake = resolve;
      void news.then(resolve);
    });
  }
}

/** For --unordered: what was answered before; the rest is printed as it comes. */
export async function printAnswered(running: Running): Promise<void> {
  const { ledger } = running;
  for (let n = 0; n < ledger.counts.inputs; n++) {
    const outcome = await ledger.outcome(n);
    if (outcome) await show(running, n, outcome);
  }
}

export async function show(running: Running, n: number, outcome: Outcome): Promise<void> {
  const { zz, ledger } = running;
  const { plan } = ledger;
  const { name, kind } = await ledger.input(n);
  if (plan.out && "answer" in outcome) {
    writeAnswer(running, outFileFor(plan.out, { name, kind }, n), n, outcome.answer);
    return;
  }
  const input = kind === "row" ? JSON.parse(name) : name;
  await printLine(zz, JSON.stringify({ input, ...outcome }));
}

function outFileFor(out: string, { name, kind }: Input, n: number): string {
  const words = kind === "file" ? path.basename(name, path.extname(name)) : name.slice(0, 40);
  const plain = words.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+|-+$/g, "") || "input";
  const folders = kind === "file" ? path.normalize(name).replace(/\.\.[/\\]/g, "") : plain;
  return out
    .replaceAll("{name}", plain)
    .replaceAll("{path}", folders)
    .replaceAll("{n}", String(n + 1));
}

/** Whether the name of a file depends on the input. */
export const hasPlace = (out = ""): boolean => /\{(name|path|n)\}/.test(out);

/** Prints what all answers came to, or writes it to the file of --out. */
export async function writeReduced(running: Running, { answer }: Answered): Promise<void> {
  const { zz, ctx, ledger } = running;
  const { out } = ledger.plan;
  if (out && !hasPlace(out)) return writeFile(ctx, out, answer);
  const indent = zz.io.stdout.isTTY ? 2 : 0;
  const text = typeof answer === "string" ? answer.trimEnd() : JSON.stringify(answer, null, indent);
  await printLine(zz, text);
}

/** Two inputs may have the same name: the second gets its number. */
function writeAnswer({ ctx, files }: Running, wanted: string, n: number, answer: unknown): void {
  const isTaken = (files.get(path.resolve(ctx.io.cwd(), wanted)) ?? n) !== n;
  const { dir, name, ext } = path.parse(wanted);
  const file = isTaken ? path.join(dir, `${name}-${n + 1}${ext}`) : wanted;
  files.set(path.resolve(ctx.io.cwd(), file), n);
  writeFile(ctx, file, answer);
}

function writeFile({ io, permissions }: Ctx, name: string, answer: unknown): void {
  const file = path.resolve(io.cwd(), name);
  if (permissions.judge("write", file).verdict === "deny")
    throw fault(`Cannot write '${name}': it is denied.`, { exit: 4 });
  makeFolder(path.dirname(file));
  const text = typeof answer === "string" ? answer.trimEnd() : JSON.stringify(answer, null, 2);
  writeWhole(file, `${text}\n`);
}

async function printLine(zz: Zz, text: string): Promise<void> {
  const { stdout } = zz.io;
  const veiled = zz.veil(text);
  if (!stdout.write(`${stdout.isTTY ? clean(veiled) : veiled}\n`))
    await new Promise((drained) => stdout.once("drain", drained));
}
