// Stand-ins for browser classes that the official clients use: loading Node's own takes longer than
// a request. The bundle puts them into the files of the clients (build/program.js), which use
// Headers and test bodies for the rest.

/** Header fields by their lower-case names. */
export class Headers {
  private readonly all = new Map<string, string>();
  constructor(initialFields?: Iterable<readonly [string, string]> | Record<string, string>) {
    const fieldPairs =
      initialFields && Symbol.iterator in initialFields
        ? (initialFields as Iterable<[string, string]>)
        : Object.entries(initialFields ?? {});
    for (const [fieldName, fieldValue] of fieldPairs) this.append(fieldName, fieldValue);
  }
  append(fieldName: string, fieldValue: unknown): void {
    const valueBefore = this.get(fieldName);
    this.set(fieldName, valueBefore === null ? fieldValue : `${valueBefore}, ${fieldValue}`);
  }
  set(fieldName: string, fieldValue: unknown): void {
    this.all.set(fieldName.toLowerCase(), String(fieldValue).trim());
  }
  get(fieldName: string): string | null {
    return this.all.get(fieldName.toLowerCase()) ?? null;
  }
  has(fieldName: string): boolean {
    return this.all.has(fieldName.toLowerCase());
  }
  delete(fieldName: string): void {
    this.all.delete(fieldName.toLowerCase());
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
