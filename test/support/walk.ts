// A snapshot of a tree on the disk, to compare with an earlier one.
import { createHash } from "node:crypto";
import fs from "node:fs";

const MAX_KEPT_BYTES = 1 << 20; // of a file's content
/** The content; of a large file its size and hash, since each megabyte here makes each start of a
 * program slower. */
function contentOf(file: Buffer, size: number): string {
  if (size <= MAX_KEPT_BYTES) return fs.readFileSync(file, "latin1");
  const [hash, piece, fd] = [
    createHash("sha256"),
    Buffer.alloc(MAX_KEPT_BYTES),
    fs.openSync(file, "r"),
  ];
  for (let read = 1; read > 0; hash.update(piece.subarray(0, read))) read = fs.readSync(fd, piece);
  fs.closeSync(fd);
  return `of ${size} bytes: ${hash.digest("hex")}`;
}

/** Reads what its mode keeps its owner out of, too: it is open for as long as that takes. Root
 * needs no such help. */
function opened<T>(at: Buffer, mode: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES" || (mode & 0o700) === 0o700) throw error;
  }
  fs.chmodSync(at, mode | 0o700);
  try {
    return read();
  } finally {
    fs.chmodSync(at, mode);
  }
}

/** Every path with its type, mode and content; names byte by byte. The repository's own folder is
 * left out. */
export function walk(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const look = (at: Buffer, name: string): void => {
    const stat = fs.lstatSync(at);
    const bits = stat.mode & 0o7777;
    const mode = bits.toString(8);
    if (stat.isSymbolicLink()) found[name] = `link ${fs.readlinkSync(at, "latin1")}`;
    else if (stat.isFile())
      found[name] = `file ${mode} ${opened(at, bits, () => contentOf(at, stat.size))}`;
    else if (!stat.isDirectory()) found[name] = "special";
    else {
      found[name] = `folder ${mode}`;
      opened(at, bits, () => {
        for (const inner of fs.readdirSync(at, { encoding: "latin1" }).sort())
          if (inner !== ".git")
            look(
              Buffer.concat([at, Buffer.from("/"), Buffer.from(inner, "latin1")]),
              `${name}/${inner}`,
            );
      });
    }
  };
  look(Buffer.from(root), "");
  return found;
}
