// Real pipes for what a command prints. Node gives a child sockets, and Linux cannot open a
// socket again, so `tee /dev/stderr` would fail. Real pipes can only be had from mkfifo. Without
// mkfifo, sockets are used.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import type { Readable } from "node:stream";
import type { Programs } from "zz";
import { temporaryFolder } from "zz/text";

interface Pipe {
  write: number;
  read(): Readable;
}

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = fs.constants;
const MADE_AT_ONCE = 16; // starting mkfifo costs much more than what it does
/** FIFOs that have no name any more, open both ways: each is used once. */
export const unusedFifos: number[] = [];

/** One for each output; none where they cannot be had. */
export function openPipes(programs: Programs): Pipe[] {
  if (process.platform !== "linux") return [];
  const openedFiles: number[] = [];
  try {
    if (unusedFifos.length < 2) unusedFifos.push(...makeFifos(programs));
    return unusedFifos.splice(-2).map((fifo) => {
      openedFiles.push(fifo);
      const fd = fs.openSync(`/proc/self/fd/${fifo}`, O_RDONLY | O_NONBLOCK);
      openedFiles.push(fd);
      const write = fs.openSync(`/proc/self/fd/${fifo}`, O_WRONLY);
      openedFiles.splice(-2, 2, fd, write);
      fs.closeSync(fifo);
      return { write, read: () => new net.Socket({ fd, readable: true, writable: false }) };
    });
  } catch {
    for (const descriptor of openedFiles) fs.closeSync(descriptor);
    return [];
  }
}

function makeFifos(programs: Programs): number[] {
  const folder = temporaryFolder("pipes");
  try {
    const fifoPaths = Array.from({ length: MADE_AT_ONCE }, (_, i) => path.join(folder, `${i}`));
    const { status } = programs.run("mkfifo", ["-m", "600", ...fifoPaths], { stdio: "ignore" });
    return status === 0
      ? fifoPaths.map((fifoPath) => fs.openSync(fifoPath, O_RDWR | O_NONBLOCK))
      : [];
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
