// Reads a tar archive in memory. Written by hand, since the tar program silently drops a path that leads out of the
// archive, while this refuses the archive and names the path. It runs in a process of its own (decode-archive.ts).
import { type Contents, MAX_BYTES, MAX_FILES, plain, safePath, TOO_LARGE, TOO_MANY } from "./contents.ts";

const BLOCK = 512;

/** `strip`: leaves out the top folder, since npm's archives have everything in one, whose name means nothing. */
export function untar(archive: Buffer, strip: boolean): Contents {
  const contents: Contents = new Map();
  const links = new Map<string, string>();
  let next: { path?: string; linkpath?: string } = {};
  let [at, bytes, count] = [0, 0, 0];
  while (at < archive.length) {
    const head = archive.subarray(at, at + BLOCK);
    if (head.length < BLOCK) throw refusal("the archive is cut off");
    if (head.every((byte) => byte === 0)) break;
    if (!isWhole(head)) throw refusal("the archive is damaged");
    const size = numberAt(head, 124, 12);
    const data = archive.subarray(at + BLOCK, at + BLOCK + size);
    if (data.length < size) throw refusal("the archive is cut off");
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(head[156] || 48);
    if (type === "g") continue;
    if (type === "x") next = { ...next, ...paxOf(data) };
    else if (type === "L") next.path = textAt(data, 0, size);
    else if (type === "K") next.linkpath = textAt(data, 0, size);
    else {
      take(type, head, data);
      next = {};
    }
  }
  for (const [name, target] of links) {
    const found = contents.get(target);
    if (!found) throw refusal(`'${plain(name)}' is a link to what is not a file in it`);
    contents.set(name, found);
  }
  return contents;

  function take(type: string, head: Buffer, data: Buffer): void {
    const prefix = textAt(head, 257, 5) === "ustar" ? textAt(head, 345, 155) : "";
    const whole = next.path ?? (prefix && `${prefix}/`) + textAt(head, 0, 100);
    const normal = safePath(whole);
    if (normal === undefined && /^\.?\/?$/.test(whole)) return; // the top folder itself
    if (normal === undefined) throw refusal(`the path '${plain(whole)}' leads out of it`);
    const name = strip ? normal.split("/").slice(1).join("/") : normal;
    if (type === "5" || !name) return;
    if (++count > MAX_FILES) throw refusal(TOO_MANY);
    if (type === "0" || type === "7") {
      if ((bytes += data.length) > MAX_BYTES) throw refusal(TOO_LARGE);
      contents.set(name, { bytes: data, ...(numberAt(head, 100, 8) & 0o111 && { runs: true }) });
    } else if (type === "1" || type === "2") {
      const to = next.linkpath ?? textAt(head, 157, 100);
      const target = targetOf(name, to, type === "2");
      if (target === undefined) throw refusal(`'${plain(name)}' is a link to '${plain(to)}', which leads out of it`);
      links.set(name, target);
    } else throw refusal(`'${plain(name)}' is neither a file nor a folder`);
  }

  /** A symbolic link is relative to its own folder, a hard link to the archive's top. */
  function targetOf(name: string, to: string, symbolic: boolean): string | undefined {
    if (!symbolic)
      return safePath(to)
        ?.split("/")
        .slice(strip ? 1 : 0)
        .join("/");
    if (to.startsWith("/")) return undefined;
    const parts = name.split("/").slice(0, -1);
    for (const part of to.split("/"))
      if (part === "..") {
        if (parts.pop() === undefined) return undefined;
      } else if (part && part !== ".") parts.push(part);
    return parts.join("/");
  }
}

/** An error that says itself why an archive is refused. */
export const refusal = (why: string): Error => Object.assign(new Error(why), { sentence: true });

function textAt(from: Buffer, at: number, length: number): string {
  const field = from.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString("utf8");
}

/** Reads a number: octal digits, or binary if it is very large, which the first bit marks. */
function numberAt(head: Buffer, at: number, length: number): number {
  if (!(head[at]! & 0x80)) return Number.parseInt(textAt(head, at, length).trim() || "0", 8) || 0;
  let value = head[at]! & 0x7f;
  for (let i = 1; i < length; i++) value = value * 256 + head[at + i]!;
  if (!Number.isSafeInteger(value)) throw refusal("the archive is damaged");
  return value;
}

/** Whether a header's checksum is right; it is computed with blanks in its own field. */
function isWhole(head: Buffer): boolean {
  let sum = 0;
  for (let i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? 32 : head[i]!;
  return sum === numberAt(head, 148, 8);
}

/** Reads lines of `LENGTH KEY=VALUE`, where the length includes the whole line. */
function paxOf(data: Buffer): { path?: string; linkpath?: string } {
  const found: Record<string, string> = {};
  for (let at = 0; at < data.length; ) {
    const blank = data.indexOf(32, at);
    const length = Number(data.subarray(at, blank).toString());
    if (blank < 0 || !(length > 0)) break;
    const [key = "", value = ""] = data
      .subarray(blank + 1, at + length - 1)
      .toString("utf8")
      .split(/=(.*)/s);
    found[key] = value;
    at += length;
  }
  const { path, linkpath, size } = found;
  if (size !== undefined) throw refusal("the archive holds a file that is too large");
  return { ...(path !== undefined && { path }), ...(linkpath !== undefined && { linkpath }) };
}
