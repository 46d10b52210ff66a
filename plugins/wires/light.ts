// Stand-ins for browser classes that the official clients use: loading Node's own takes longer than
// a request. The bundle puts them into the files of the clients (build/program.js), which use
// Headers and test bodies for the rest.

/** Header fields by their lower-case names. */
export class Headers {
  private readonly all = new Map<string, string>();
  constructor(init?: Iterable<readonly [string, string]> | Record<string, string>) {
    const pairs =
      init && Symbol.iterator in init
        ? (init as Iterable<[string, string]>)
        : Object.entries(init ?? {});
    for (const [name, value] of pairs) this.append(name, value);
  }
  append(name: string, value: unknown): void {
    const before = this.get(name);
    this.set(name, before === null ? value : `${before}, ${value}`);
  }
  set(name: string, value: unknown): void {
    this.all.set(name.toLowerCase(), String(value).trim());
  }
  get(name: string): string | null {
    return this.all.get(name.toLowerCase()) ?? null;
  }
  has(name: string): boolean {
    return this.all.has(name.toLowerCase());
  }
  delete(name: string): void {
    this.all.delete(name.toLowerCase());
  }
  entries(): IterableIterator<[string, string]> {
    return this.all.entries();
  }
  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries();
  }
}

/** A body is never one of these. */
export class FormData {}
export class Blob {}
export class File {}
export class Response {}
export class Request {}
export class ReadableStream {}

/** What the clients take for globalThis. Assigning would call setters of the real one. */
const globals = Object.entries({
  Headers,
  FormData,
  Blob,
  File,
  Response,
  Request,
  ReadableStream,
});
export const surroundings = Object.create(
  globalThis,
  Object.fromEntries(globals.map(([name, value]) => [name, { value }])),
);
