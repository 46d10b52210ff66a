// Runs the program again and again in this one process, each time with the arguments, the
// environment and the folder that the parent sends: as a process of its own would, but for its
// start and its end.
import { join } from "node:path";
import { Readable } from "node:stream";
import "../lean.ts";

const { main } = (await import(
  join(import.meta.dirname, "..", "..", "..", "dist", "kernel.js")
)) as { main(argv: string[]): Promise<number> };
const SHARED = ["SIGINT", "SIGTERM", "SIGHUP", "uncaughtException", "exit"]; // zz listens to them
const streams = [process.stdout, process.stderr];
const itsConsole = { ...console };
const [title, node, file] = [process.title, ...process.argv];

process.on(
  "message",
  async ({ args, env, cwd }: { args: string[]; env: Record<string, string>; cwd: string }) => {
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, env);
    process.chdir(cwd);
    process.argv = [node!, file!, ...args];
    process.title = title;
    Object.defineProperty(process, "stdin", { value: Readable.from([]), configurable: true });
    const said = streams.map((stream) => {
      const pieces: Buffer[] = [];
      stream.write = ((piece: string | Buffer, ...rest: unknown[]) => {
        pieces.push(Buffer.from(piece));
        const done = rest.at(-1);
        if (typeof done === "function") process.nextTick(done as () => void);
        return true;
      }) as typeof stream.write;
      return pieces;
    });
    // a script ends when nothing is left to do: no message may come then
    const isScript = args.includes("--run");
    if (isScript) process.channel!.unref();
    const code = await main(args);
    if (isScript) process.channel!.ref();
    process.exitCode = undefined;
    Object.assign(console, itsConsole);
    for (const name of SHARED) process.removeAllListeners(name);
    for (const stream of streams) stream.removeAllListeners("error");
    const [stdout, stderr] = said.map((pieces) => Buffer.concat(pieces).toString("utf8"));
    process.send!({ code, stdout, stderr });
  },
);
