// Runs in a process of its own (decode.ts): reads an empty line and bytes on stdin, has one job make
// something of them, and writes that to stdout: an empty line once it has begun, a line of JSON,
// then bytes.
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

/**
 * What a job gives: a value for JSON, and bytes. An error with `sentence: true` says itself why it
 * cannot; of others nothing is shown.
 */
export type Decoded = { value: unknown; bytes?: readonly Uint8Array[] };
export type Job = (bytes: Buffer, options: any) => Decoded | Promise<Decoded>;
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
const watch = (maxBytes: number): Worker =>
  new Worker(
    `const parent = ${process.ppid};
    setInterval(() => {
      if (process.memoryUsage.rss() > ${maxBytes} || process.ppid !== parent) process.kill(process.pid, "SIGKILL");
    }, 20);`,
    { eval: true, execArgv: [] },
  );

async function input(): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin) pieces.push(piece);
  const [first, ...others] = pieces;
  // what started it was ended while it started: nobody waits for it, or could end it
  if (!first) process.exit();
  const begun = first.subarray(1);
  return others.length ? Buffer.concat([begun, ...others]) : begun;
}

async function outcome(file: string, options: unknown): Promise<[Head, readonly Uint8Array[]]> {
  try {
    const [bytes, { default: job }] = await Promise.all([
      input(),
      import(pathToFileURL(file).href) as Promise<{ default: Job }>,
    ]);
    const { value, bytes: outputs = [] } = await job(bytes, options);
    return [{ value, sizes: outputs.map(({ length }) => length) }, outputs];
  } catch (error) {
    const { message = "", sentence } = Object(error) as { message?: string; sentence?: boolean };
    const isMemory = /allocat|memory/i.test(message);
    return [sentence ? { cannot: message } : { failure: isMemory ? "memory" : "damaged" }, []];
  }
}

const [file = "", optionsJson = "null", watched] = process.argv.slice(2);
if (watched) watch(Number(watched)).unref();
process.stdout.on("error", () => process.exit()); // nobody waits for it any more
const write = process.stdout.write.bind(process.stdout);
// where a library prints its warnings
process.stdout.write = process.stderr.write.bind(process.stderr);
write("\n");
const [head, bytes] = await outcome(file, JSON.parse(optionsJson));
write(`${JSON.stringify(head)}\n`);
for (const piece of bytes) write(piece);
write("", () => process.exit()); // a job may have left something running
