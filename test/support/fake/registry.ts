// An npm registry on loopback that answers npm pack, install and ci; and archives, even some that
// no tar would write.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

type More = { type?: string; link?: string; mode?: number };
export type Entries = [name: string, content: string | Buffer, more?: More][];

export function tar(entries: Entries): Buffer {
  const blocks = entries.flatMap(
    ([name, content, { type = "0", link = "", mode = 0o644 } = {}]) => {
      const bytes = Buffer.from(content);
      const head = Buffer.alloc(512);
      const put = (text: string, at: number) => head.write(text, at, "latin1");
      head.write(name, 0);
      const octal = (value: number, at: number, size: number) =>
        put(`${value.toString(8).padStart(size, "0")}\0`, at);
      for (const [i, value] of [mode, 0, 0].entries()) octal(value, 100 + 8 * i, 7);
      for (const [i, value] of [bytes.length, 0].entries()) octal(value, 124 + 12 * i, 11);
      put(" ".repeat(8), 148);
      put(type, 156);
      put(link, 157);
      put("ustar\x0000", 257);
      const sum = head.reduce((all, byte) => all + byte, 0);
      octal(sum, 148, 6);
      return [head, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
    },
  );
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export const tgz = (files: Record<string, string>): Buffer =>
  gzipSync(tar(Object.entries(files).map(([name, content]) => [`package/${name}`, content])));

const sumOf = (bytes: Buffer) => `sha512-${createHash("sha512").update(bytes).digest("base64")}`;

type Package = Record<string, unknown> & { name: string; version: string };

export async function fakeRegistry() {
  const versions = new Map<
    string,
    Map<string, { said: Package; bytes: Buffer; integrity: string }>
  >();
  const server = createServer((request, response) => {
    const url = decodeURIComponent(request.url!).slice(1);
    const [, name = "", version = ""] = /^(.+)\/-\/(.+)\.tgz$/.exec(url) ?? [];
    const sent = versions.get(name)?.get(version);
    if (sent) return void response.end(sent.bytes);
    const status = /^answers-(\d+)$/.exec(url)?.[1];
    if (status) return void response.writeHead(Number(status)).end("<html>A page.</html>");
    const found = versions.get(url);
    if (!found) return void response.writeHead(404).end("{}");
    const dist = (at: string, integrity: string) => ({
      tarball: `${registry}/${url}/-/${at}.tgz`,
      integrity,
    });
    const all = [...found].map(([at, { said, integrity }]) => [
      at,
      { ...said, dist: dist(at, integrity) },
    ]);
    const latest = [...found.keys()].at(-1);
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({ name: url, "dist-tags": { latest }, versions: Object.fromEntries(all) }),
    );
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    registry,
    publish(said: Package, files: Record<string, string>): void {
      const bytes = tgz({ "package.json": JSON.stringify(said), ...files });
      const all = versions.get(said.name) ?? new Map();
      versions.set(said.name, all.set(said.version, { said, bytes, integrity: sumOf(bytes) }));
    },
    /** Puts other bytes under the same version; `told`: also updates the checksum that the registry
     * announces. */
    swap(name: string, version: string, bytes: Buffer, told: boolean): void {
      const one = versions.get(name)!.get(version)!;
      Object.assign(one, { bytes, ...(told && { integrity: sumOf(bytes) }) });
    },
    close: () => void server.close().closeAllConnections(),
  };
}
