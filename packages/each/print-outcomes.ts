// What came of a run, on stdout or in files.
import path from "node:path";
import { fault, makeFolder, writeWhole } from "zz/text";
import type { Input, Outcome } from "./run-ledger.ts";
import type { Running } from "./running.ts";

/** Prints each outcome in order, once it is there. At the end those after a gap are printed too. */
export async function print(running: Running): Promise<void> {
  const { ledger, stop } = running;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  stop.signal.addEventListener("abort", () => resolve(), { once: true });
  for (let n = 0; n < ledger.counts.inputs; ) {
    const news = ledger.settled();
    const isOver = stop.signal.aborted;
    const outcome = await ledger.outcome(n);
    if (outcome) await show(running, n, outcome);
    if (outcome || isOver) n++;
    else await Promise.race([news, over]);
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
  const line = `${zz.veil(JSON.stringify({ input, ...outcome }))}\n`;
  if (!zz.io.stdout.write(line))
    await new Promise((drained) => zz.io.stdout.once("drain", drained));
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

/** Two inputs may have the same name: the second gets its number. */
function writeAnswer({ ctx, files }: Running, wanted: string, n: number, answer: unknown): void {
  const isTaken = (files.get(path.resolve(ctx.io.cwd(), wanted)) ?? n) !== n;
  const { dir, name, ext } = path.parse(wanted);
  const file = isTaken ? path.join(dir, `${name}-${n + 1}${ext}`) : wanted;
  const whole = path.resolve(ctx.io.cwd(), file);
  files.set(whole, n);
  if (ctx.permissions.judge("write", whole).verdict === "deny")
    throw fault(`Cannot write '${file}': it is denied.`, { exit: 4 });
  makeFolder(path.dirname(whole));
  writeWhole(
    whole,
    typeof answer === "string" ? `${answer.trimEnd()}\n` : `${JSON.stringify(answer, null, 2)}\n`,
  );
}
