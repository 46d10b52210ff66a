// Runs in a process of its own (decode.ts): reads an empty line and bytes on stdin, has one job
// make something of them, and writes that to stdout: an empty line once it has begun, a line of
// JSON, then bytes.
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

const LAST_MS = 20;

/**
 * What a job gives: a value for JSON, and bytes. An error with `sentence: true` says itself why it
 * cannot; of others nothing is shown.
 */
export type Decoded = { value: unknown; bytes?: readonly Uint8Array[] };
export type Job = (jobBytes: Buffer, options: any) => Decoded | Promise<Decoded>;
/** The first line of the output. */
export type Head = {
  value?: unknown;
  sizes?: number[];
  failure?: "memory" | "damaged";
  cannot?: string;
};

/**
 * Where the system sets no limits: ends this process when it takes too much memory, or when zz has
 * ended.
 */
const startWatcher = (maxBytes: number): Worker =>
  new Worker(
    `const parent = ${process.ppid};
    setInterval(() => {
      if (process.memoryUsage.rss() > ${maxBytes} || process.ppid !== parent)
        process.kill(process.pid, "SIGKILL");
    }, 20);`,
    { eval: true, execArgv: [] },
  );

async function readInput(): Promise<Buffer> {
  const inputPieces: Buffer[] = [];
  for await (const inputPiece of process.stdin) inputPieces.push(inputPiece);
  const [firstPiece, ...otherPieces] = inputPieces;
  // what started it was ended while it started: nobody waits for it, or could end it
  if (!firstPiece) process.exit();
  const firstBytes = firstPiece.subarray(1);
  return otherPieces.length ? Buffer.concat([firstBytes, ...otherPieces]) : firstBytes;
}

async function outcome(jobFile: string, options: unknown): Promise<[Head, readonly Uint8Array[]]> {
  try {
    const [inputBytes, { default: runJob }] = await Promise.all([
      readInput(),
      import(pathToFileURL(jobFile).href) as Promise<{ default: Job }>,
    ]);
    const { value, bytes: outputs = [] } = await runJob(inputBytes, options);
    return [{ value, sizes: outputs.map(({ length }) => length) }, outputs];
  } catch (jobError) {
    const { message = "", sentence } = Object(jobError) as { message?: string; sentence?: boolean };
    const isMemory = /allocat|memory/i.test(message);
    return [sentence ? { cannot: message } : { failure: isMemory ? "memory" : "damaged" }, []];
  }
}

const [jobFile = "", optionsJson = "null", watched] = process.argv.slice(2);
if (watched) startWatcher(Number(watched)).unref();
process.stdout.on("error", () => process.exit()); // nobody waits for it any more
const writeOutput = process.stdout.write.bind(process.stdout);
// where a library prints its warnings
process.stdout.write = process.stderr.write.bind(process.stderr);
writeOutput("\n");
const [outputHead, outputBytes] = await outcome(jobFile, JSON.parse(optionsJson));
writeOutput(`${JSON.stringify(outputHead)}\n`);
for (const outputPiece of outputBytes) writeOutput(outputPiece);
// a job may have left something running, and process.exit() at once can hang: see endProcess()
writeOutput("", () => setTimeout(() => process.exit(), LAST_MS).unref());
