// What a run is asked about: files that globs name, lines or JSON rows on stdin. And what each says
// in the prompt.
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Ctx, Image } from "zz";
import { compare, fault, jsonOrText, mediaIn, ownValue, tryTo, usage, visible } from "zz/text";
import type { Input } from "./run-ledger.ts";

const MAX_INPUT_BYTES = 20 * 1024 * 1024;
const PLACEHOLDER = /\{([\p{L}_][\p{L}\p{N}_.-]*)?\}/gu;

export interface Found {
  files: Input[];
  refused: string[]; // may not be read
  others: string[]; // were named and are no files
}

/** The files, each once, in order. */
export function filesOf(typedGlobs: readonly string[], ctx: Ctx): Found {
  const uniqueNames = new Set<string>();
  const workFolder = ctx.io.cwd();
  const literalNames = typedGlobs.filter((candidate) =>
    tryTo(() => fs.lstatSync(path.resolve(workFolder, candidate))),
  );
  for (const typedGlob of typedGlobs) {
    const isLiteralName = literalNames.includes(typedGlob);
    const matchingNames = isLiteralName ? [typedGlob] : fs.globSync(typedGlob, { cwd: workFolder });
    if (!matchingNames.length)
      throw usage(
        `Cannot ask about '${visible(typedGlob)}': no file has such a name. Check the glob.`,
      );
    for (const matchingName of matchingNames)
      if (!/(^|[/\\])(\.git|node_modules)([/\\]|$)/.test(matchingName) || isLiteralName)
        uniqueNames.add(path.normalize(matchingName));
  }
  const files: Input[] = [];
  const refused: string[] = [];
  for (const name of [...uniqueNames].sort(compare)) {
    const realPath = realFile(workFolder, name);
    if (!realPath) continue;
    if (isReadable(realPath, ctx)) files.push({ name, kind: "file" });
    else refused.push(name);
  }
  return {
    files,
    refused,
    others: literalNames.filter((literalName) => !realFile(workFolder, literalName)),
  };
}

function realFile(baseFolder: string, fileName: string): string | undefined {
  const realPath = tryTo(() => fs.realpathSync(path.resolve(baseFolder, fileName)));
  return realPath && tryTo(() => fs.statSync(realPath).isFile()) ? realPath : undefined;
}

const isReadable = (realPath: string, { permissions }: Ctx): boolean =>
  permissions.judge("read", realPath).verdict === "allow";

export async function* linesOf({ io }: Ctx, kind: "line" | "row"): AsyncGenerator<Input> {
  if (io.stdin.isTTY)
    throw usage(
      'Cannot ask about lines: nothing is piped in. Use it as in: cat urls | zz --each-line "…".',
    );
  let lineNumber = 0;
  for await (const pipedLine of createInterface({
    input: io.stdin,
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    lineNumber++;
    const name = pipedLine.replace(/^\ufeff/, "").trim();
    if (!name) continue;
    if (kind === "row" && !/^\{/.test(JSON.stringify(tryTo(() => JSON.parse(name))) ?? ""))
      throw usage(
        `Cannot ask about line ${lineNumber}: it is not a JSON object. --each-line takes any text.`,
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
  runInput: Input,
  ctx: Ctx,
): Promise<{ text: string; images?: Image[] }> {
  const { kind, name } = runInput;
  if (Buffer.byteLength(name) > MAX_INPUT_BYTES) throw tooLarge("it");
  const { text: inputText, image }: Content =
    kind === "file" ? contentOf(name, ctx) : { text: name };
  const rowFields: unknown = kind === "row" ? jsonOrText(name) : undefined;
  let isPlaced = false;
  const text = prompt.replace(PLACEHOLDER, (placeholder, fieldName?: string) => {
    if (kind === "row" && fieldName && fieldName !== "input") {
      isPlaced = true;
      return fieldOf(rowFields, fieldName);
    }
    if (fieldName === "name") return visible(name);
    if (fieldName !== undefined && fieldName !== "input") return placeholder;
    isPlaced = true;
    return inputText;
  });
  if (isPlaced || image) return { text, ...(image && { images: [image] }) };
  const title = kind === "file" ? `FILE ${visible(name)}` : "INPUT";
  return { text: `${text}\n\n--- ${title} ---\n${inputText}\n--- END ${title.split(" ")[0]} ---` };
}

function fieldOf(rowFields: unknown, fieldPath: string): string {
  const fieldValue = fieldPath
    .split(".")
    .reduce<any>((container, fieldKey) => ownValue(Object(container), fieldKey), rowFields);
  if (fieldValue === undefined)
    throw fault(`It has no field '${fieldPath}', which the prompt names.`);
  return typeof fieldValue === "string" ? fieldValue : JSON.stringify(fieldValue);
}

const tooLarge = (subjectWords: string): Error =>
  fault(`Cannot ask about ${subjectWords}: it is over 20 MB. Cut it down first.`);

type Content = { text: string; image?: Image };
function contentOf(fileName: string, ctx: Ctx): Content {
  const realPath = tryTo(() => fs.realpathSync(path.resolve(ctx.io.cwd(), fileName)));
  if (!realPath) throw fault(`Cannot read '${visible(fileName)}': it is gone.`);
  if (!isReadable(realPath, ctx))
    throw fault(`Cannot read '${visible(fileName)}': it may not be read.`, { exit: 4 });
  const descriptor = tryTo(() => ctx.files.open(realPath));
  if (descriptor === undefined)
    throw fault(`Cannot read '${visible(fileName)}': it cannot be opened. Check its mode.`);
  try {
    const { size } = fs.fstatSync(descriptor);
    if (size > MAX_INPUT_BYTES) throw tooLarge(`'${visible(fileName)}'`);
    const fileBytes = fs.readFileSync(descriptor);
    const image = tryTo(() => mediaIn(fileBytes)) as Image | undefined;
    if (image?.type) return { text: "", image };
    if (fileBytes.subarray(0, 8192).includes(0))
      throw fault(`Cannot ask about '${visible(fileName)}': it is neither text nor an image.`);
    return { text: fileBytes.toString("utf8") };
  } finally {
    fs.closeSync(descriptor);
  }
}
