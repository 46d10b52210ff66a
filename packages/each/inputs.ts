// What a run is asked about: files that globs name, lines or JSON rows on stdin. And what each says
// in the prompt.
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Ctx, Image } from "zz";
import { compare, fault, jsonOrText, mediaIn, tryTo, usage, visible } from "zz/text";
import type { Input } from "./run-ledger.ts";

const MAX_INPUT_BYTES = 20 * 1024 * 1024;
const PLACE = /\{([\p{L}_][\p{L}\p{N}_.-]*)?\}/gu;

export interface Found {
  files: Input[];
  refused: string[]; // may not be read
  others: string[]; // were named and are no files
}

/** The files, each once, in order. */
export function filesOf(globs: readonly string[], ctx: Ctx): Found {
  const names = new Set<string>();
  const folder = ctx.io.cwd();
  const named = globs.filter((glob) => tryTo(() => fs.lstatSync(path.resolve(folder, glob))));
  for (const glob of globs) {
    const isName = named.includes(glob);
    const found = isName ? [glob] : fs.globSync(glob, { cwd: folder });
    if (!found.length)
      throw usage(`Cannot ask about '${visible(glob)}': no file has such a name. Check the glob.`);
    for (const name of found)
      if (!/(^|[/\\])(\.git|node_modules)([/\\]|$)/.test(name) || isName)
        names.add(path.normalize(name));
  }
  const files: Input[] = [];
  const refused: string[] = [];
  for (const name of [...names].sort(compare)) {
    const real = realFile(folder, name);
    if (!real) continue;
    if (isReadable(real, ctx)) files.push({ name, kind: "file" });
    else refused.push(name);
  }
  return { files, refused, others: named.filter((name) => !realFile(folder, name)) };
}

function realFile(folder: string, name: string): string | undefined {
  const real = tryTo(() => fs.realpathSync(path.resolve(folder, name)));
  return real && tryTo(() => fs.statSync(real).isFile()) ? real : undefined;
}

const isReadable = (file: string, { permissions }: Ctx): boolean =>
  permissions.judge("read", file).verdict === "allow";

export async function* linesOf({ io }: Ctx, kind: "line" | "row"): AsyncGenerator<Input> {
  if (io.stdin.isTTY)
    throw usage(
      'Cannot ask about lines: nothing is piped in. Use it as in: cat urls | zz --each-line "…".',
    );
  let number = 0;
  for await (const line of createInterface({
    input: io.stdin,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number++;
    const name = line.replace(/^\ufeff/, "").trim();
    if (!name) continue;
    if (kind === "row" && !/^\{/.test(JSON.stringify(tryTo(() => JSON.parse(name))) ?? ""))
      throw usage(
        `Cannot ask about line ${number}: it is not a JSON object. --each-line takes any text.`,
      );
    yield { name, kind };
  }
}

/**
 * The words with the input in its place; without a place, the input follows, so that all share what
 * goes before.
 */
export async function messageOf(
  prompt: string,
  input: Input,
  ctx: Ctx,
): Promise<{ text: string; images?: Image[] }> {
  const { kind, name } = input;
  if (Buffer.byteLength(name) > MAX_INPUT_BYTES) throw tooLarge("it");
  const body = kind === "file" ? contentOf(name, ctx) : { text: name };
  const fields: unknown = kind === "row" ? jsonOrText(name) : undefined;
  let isPlaced = false;
  const text = prompt.replace(PLACE, (whole, field?: string) => {
    if (kind === "row" && field && field !== "input") {
      isPlaced = true;
      return fieldOf(fields, field);
    }
    if (field === "name") return visible(name);
    if (field !== undefined && field !== "input") return whole;
    isPlaced = true;
    return body.text;
  });
  const images = "image" in body && body.image ? { images: [body.image] } : {};
  if (isPlaced || "image" in body) return { text, ...images };
  const title = kind === "file" ? `FILE ${visible(name)}` : "INPUT";
  return { text: `${text}\n\n--- ${title} ---\n${body.text}\n--- END ${title.split(" ")[0]} ---` };
}

function fieldOf(fields: unknown, field: string): string {
  const value = field
    .split(".")
    .reduce<any>((one, key) => (Object.hasOwn(Object(one), key) ? one[key] : undefined), fields);
  if (value === undefined) throw fault(`It has no field '${field}', which the prompt names.`);
  return typeof value === "string" ? value : JSON.stringify(value);
}

const tooLarge = (what: string): Error =>
  fault(`Cannot ask about ${what}: it is over 20 MB. Cut it down first.`);

function contentOf(name: string, ctx: Ctx): { text: string; image?: Image } {
  const file = tryTo(() => fs.realpathSync(path.resolve(ctx.io.cwd(), name)));
  if (!file) throw fault(`Cannot read '${visible(name)}': it is gone.`);
  if (!isReadable(file, ctx))
    throw fault(`Cannot read '${visible(name)}': it may not be read.`, { exit: 4 });
  const fd = tryTo(() => ctx.files.open(file));
  if (fd === undefined)
    throw fault(`Cannot read '${visible(name)}': it cannot be opened. Check its mode.`);
  try {
    const { size } = fs.fstatSync(fd);
    if (size > MAX_INPUT_BYTES) throw tooLarge(`'${visible(name)}'`);
    const bytes = fs.readFileSync(fd);
    const image = tryTo(() => mediaIn(bytes)) as Image | undefined;
    if (image?.type) return { text: "", image };
    if (bytes.subarray(0, 8192).includes(0))
      throw fault(`Cannot ask about '${visible(name)}': it is neither text nor an image.`);
    return { text: bytes.toString("utf8") };
  } finally {
    fs.closeSync(fd);
  }
}
