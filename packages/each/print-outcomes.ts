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
  for (let inputNumber = 0; inputNumber < ledger.counts.inputs; ) {
    const isStopped = stop.signal.aborted;
    const outcome = await ledger.outcome(inputNumber);
    if (outcome) await show(running, inputNumber, outcome);
    if (outcome || isStopped) {
      inputNumber++;
      continue;
    }
    const nextSettled = ledger.settled();
    if ((await ledger.outcome(inputNumber)) || stop.signal.aborted) continue; // it came meanwhile
    await new Promise<void>((resolve) => {
      wake = resolve;
      void nextSettled.then(resolve);
    });
  }
}

/** For --unordered: what was answered before; the rest is printed as it comes. */
export async function printAnswered(running: Running): Promise<void> {
  const { ledger } = running;
  for (let inputNumber = 0; inputNumber < ledger.counts.inputs; inputNumber++) {
    const outcome = await ledger.outcome(inputNumber);
    if (outcome) await show(running, inputNumber, outcome);
  }
}

export async function show(running: Running, inputNumber: number, outcome: Outcome): Promise<void> {
  const { zz, ledger } = running;
  const { plan } = ledger;
  const { name, kind } = await ledger.input(inputNumber);
  if (plan.out && "answer" in outcome) {
    writeAnswer(
      running,
      outFileFor(plan.out, { name, kind }, inputNumber),
      inputNumber,
      outcome.answer,
    );
    return;
  }
  const input = kind === "row" ? JSON.parse(name) : name;
  await printLine(zz, JSON.stringify({ input, ...outcome }));
}

function outFileFor(outPattern: string, { name, kind }: Input, inputNumber: number): string {
  const titleWords = kind === "file" ? path.basename(name, path.extname(name)) : name.slice(0, 40);
  const plainName =
    titleWords.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[.-]+|-+$/g, "") || "input";
  const folders = kind === "file" ? path.normalize(name).replace(/\.\.[/\\]/g, "") : plainName;
  return outPattern
    .replaceAll("{name}", plainName)
    .replaceAll("{path}", folders)
    .replaceAll("{n}", String(inputNumber + 1));
}

/** Whether the name of a file depends on the input. */
export const hasPlace = (outPattern = ""): boolean => /\{(name|path|n)\}/.test(outPattern);

/** Prints what all answers came to, or writes it to the file of --out. */
export async function writeReduced(running: Running, { answer }: Answered): Promise<void> {
  const { zz, ctx, ledger } = running;
  const { out } = ledger.plan;
  if (out && !hasPlace(out)) return writeFile(ctx, out, answer);
  const indentWidth = zz.io.stdout.isTTY ? 2 : 0;
  const answerText =
    typeof answer === "string" ? answer.trimEnd() : JSON.stringify(answer, null, indentWidth);
  await printLine(zz, answerText);
}

/** Two inputs may have the same name: the second gets its number. */
function writeAnswer(
  { ctx, files }: Running,
  wantedName: string,
  inputNumber: number,
  inputAnswer: unknown,
): void {
  const isTaken =
    (files.get(path.resolve(ctx.io.cwd(), wantedName)) ?? inputNumber) !== inputNumber;
  const { dir, name, ext } = path.parse(wantedName);
  const freeName = isTaken ? path.join(dir, `${name}-${inputNumber + 1}${ext}`) : wantedName;
  files.set(path.resolve(ctx.io.cwd(), freeName), inputNumber);
  writeFile(ctx, freeName, inputAnswer);
}

function writeFile({ io, permissions }: Ctx, fileName: string, fileAnswer: unknown): void {
  const absolutePath = path.resolve(io.cwd(), fileName);
  if (permissions.judge("write", absolutePath).verdict === "deny")
    throw fault(`Cannot write '${fileName}': it is denied.`, { exit: 4 });
  makeFolder(path.dirname(absolutePath));
  const answerText =
    typeof fileAnswer === "string" ? fileAnswer.trimEnd() : JSON.stringify(fileAnswer, null, 2);
  writeWhole(absolutePath, `${answerText}\n`);
}

async function printLine(zz: Zz, lineText: string): Promise<void> {
  const { stdout } = zz.io;
  const veiledText = zz.veil(lineText);
  if (!stdout.write(`${stdout.isTTY ? clean(veiledText) : veiledText}\n`))
    await new Promise((drained) => stdout.once("drain", drained));
}
