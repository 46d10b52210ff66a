// A cassette: lines of JSON. The first says what it is; each other has a request and what came
// back, piece by piece.
import { appendFileSync, existsSync, readFileSync, statSync } from "node:fs";
import type { HttpAnswer, HttpRequest } from "zz";
import { errnoSentence, oneLine, tryTo, usage, writeWhole } from "zz/text";
import type { Exchange } from "./exchange.ts";

type Request = HttpRequest & { url: string };
type Next = (request: Request) => Promise<HttpAnswer>;

export interface Recorder {
  asks(model: string): void; // from now on
  keep(request: Request, next: Next): Promise<HttpAnswer>;
}
export interface Player {
  readonly model: string | undefined; // that was asked first
  answer(request: Request): Promise<HttpAnswer>;
}

const FIRST = { zz: "cassette", version: 1 };
const HEADERS = ["content-type", "retry-after", "retry-after-ms", "x-request-id"];
const SHOWN = 60; // characters of a request, quoted in an error

/** Records into a file. An earlier cassette is replaced; any other file is not. */
export function record(file: string, veil: (text: string) => string): Recorder {
  const cannot = (reason: string) => usage(`Cannot record into '${file}': ${reason}`);
  if (existsSync(file) && !isCassette(file))
    throw cannot("it exists and is not a cassette. Name another file.");
  try {
    writeWhole(file, `${JSON.stringify(FIRST)}\n`, 0o600);
  } catch (error) {
    throw cannot(errnoSentence(error) || "it cannot be written. Name another file.");
  }
  let model: string | undefined;
  const write = (exchange: Exchange) => {
    try {
      const line = JSON.stringify({ ...exchange, ...(model && { model }) });
      appendFileSync(file, `${veil(line)}\n`);
    } catch (error) {
      throw cannot(errnoSentence(error) || "it cannot be written.");
    }
  };

  return {
    asks: (name) => void (model = name),
    async keep(request, next) {
      const asked = { method: request.method ?? "GET", url: request.url, ...bodyOf(request) };
      let answer: HttpAnswer;
      try {
        answer = await next(request);
      } catch (error) {
        write({ asked, error: errorOf(error) });
        throw error;
      }
      const headers = HEADERS.flatMap((name) => {
        const value = answer.headers.get(name);
        return value === null ? [] : [[name, value] as const];
      });
      const kept: Exchange = { asked, status: answer.status, headers: Object.fromEntries(headers) };
      const wholeText = async () => {
        const text = await answer.text();
        write({ ...kept, pieces: [text] });
        return text;
      };
      const ended = (pieces: Uint8Array[], error: unknown) =>
        write({
          ...kept,
          pieces: veiledPieces(pieces, veil),
          ...(error !== undefined && { error: errorOf(error) }),
        });
      return {
        ...answer,
        body: tee(answer.body, ended),
        text: wholeText,
        json: async () => JSON.parse(await wholeText()),
      };
    },
  };
}

async function* tee(
  body: AsyncIterable<Uint8Array>,
  ended: (pieces: Uint8Array[], error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let error: unknown;
  try {
    for await (const bytes of body) {
      pieces.push(Uint8Array.from(bytes));
      yield bytes;
    }
  } catch (failed) {
    error = failed;
    throw failed;
  } finally {
    ended(pieces, error);
  }
}

/**
 * The pieces as they came, unless they hold a secret, perhaps across two: then the whole answer,
 * veiled.
 */
function veiledPieces(pieces: Uint8Array[], veil: (text: string) => string): Exchange["pieces"] {
  const original = Buffer.concat(pieces).toString();
  const veiled = veilEvents(veil(original), veil);
  return veiled === original ? pieces.map(textOrBytes) : [veiled];
}

/**
 * An answer comes in events, each with a part of a text, and a secret may be spread over several:
 * of each place in the events, such as `choices.0.delta.content`, the parts are read as one text.
 * If it holds a secret, the first has all of it.
 */
function veilEvents(text: string, veil: (text: string) => string): string {
  const places = new Map<string, { holder: Record<string, unknown>; name: string }[]>();
  const collect = (value: unknown, location: string): void => {
    for (const [name, inner] of Object.entries(Object(value)))
      if (typeof inner !== "string") collect(inner, `${location}.${name}`);
      else
        places.set(`${location}.${name}`, [
          ...(places.get(`${location}.${name}`) ?? []),
          { holder: value as never, name },
        ]);
  };
  const lines = text.split("\n").map((line) => {
    const [, head = "", json] = /^(data: ?)?([[{].*)$/.exec(line) ?? [];
    const event = json === undefined ? undefined : tryTo(() => JSON.parse(json));
    if (event) collect(event, "");
    return { line, head, event };
  });
  let isVeiled = false;
  for (const parts of places.values()) {
    const original = parts.map(({ holder, name }) => holder[name]).join("");
    const shown = veil(original);
    if (shown === original) continue;
    isVeiled = true;
    for (const [i, { holder, name }] of parts.entries()) holder[name] = i ? "" : shown;
  }
  if (!isVeiled) return text;
  return lines
    .map(({ line, head, event }) => (event ? head + JSON.stringify(event) : line))
    .join("\n");
}

/**
 * Refuses what was not recorded. Equal requests get their answers in the order recorded; the last
 * answer repeats.
 */
export async function play(file: string, shown: string): Promise<Player> {
  const exchanges = (await read(file, shown)).map((exchange) => ({
    exchange,
    key: keyOf(exchange.asked),
    played: 0,
  }));
  return {
    model: exchanges.find(({ exchange }) => exchange.model)?.exchange.model,
    async answer(request) {
      const { signal, method = "GET", url } = request;
      signal?.throwIfAborted();
      const key = keyOf({ method, url, ...bodyOf(request) });
      const matching = exchanges.filter((candidate) => candidate.key === key);
      const match = matching.find(({ played }) => !played) ?? matching.at(-1);
      if (!match)
        throw usage(
          `Cannot replay '${shown}': nothing like this was recorded in it (${method} ${pathOf(url)}${lastWords(request)}). Record it again with --record.`,
        );
      match.played++;
      const { status = 200, headers = {}, pieces = [], error } = match.exchange;
      if (error && !match.exchange.pieces) throw errorFrom(error);
      const chunks = pieces.map((piece) =>
        typeof piece === "string" ? Buffer.from(piece) : Buffer.from(piece.base64, "base64"),
      );
      const text = async () => Buffer.concat(chunks).toString();
      return {
        ok: status < 300,
        status,
        text,
        json: async () => JSON.parse(await text()),
        headers: { get: (name) => headers[name.toLowerCase()] ?? null },
        body: (async function* () {
          for (const bytes of chunks) {
            signal?.throwIfAborted();
            yield bytes;
          }
          if (error) throw errorFrom(error);
        })(),
      };
    },
  };
}

async function read(file: string, shown: string): Promise<Exchange[]> {
  const cannot = (reason: string) => usage(`Cannot replay '${shown}': ${reason}`);
  let text: string;
  try {
    text = textIn(file);
  } catch (error) {
    throw cannot(errnoSentence(error) || "it cannot be read. Name another file.");
  }
  const [first, ...lines] = text.split("\n").filter(Boolean);
  if (!first || tryTo(() => JSON.parse(first))?.zz !== FIRST.zz)
    throw cannot("it is not a cassette. --record makes one.");
  const { exchange } = await import("./exchange.ts");
  return lines.map((line, i) => {
    const { data, error } = exchange.safeParse(tryTo(() => JSON.parse(line)));
    const location = error?.issues[0]?.path.join(".");
    if (!data)
      throw cannot(
        `line ${i + 2} is not a recorded exchange${location && ` (see "${location}")`}. Record it again.`,
      );
    return data;
  });
}

const isCassette = (file: string): boolean =>
  tryTo(() => JSON.parse(textIn(file).split("\n")[0]!).zz === FIRST.zz) ?? false;

/** Reads only a regular file, since a device may never end. */
function textIn(file: string): string {
  const stat = statSync(file);
  if (!stat.isFile())
    throw Object.assign(new Error("not a file"), {
      code: stat.isDirectory() ? "EISDIR" : "it is not a file",
    });
  return readFileSync(file, "utf8");
}

const bodyOf = ({ body }: Request): { body?: unknown } => {
  if (body === undefined || body === "") return {};
  const text = typeof body === "string" ? body : Buffer.from(body).toString();
  return { body: tryTo(() => JSON.parse(text)) ?? text };
};

/**
 * What makes two requests the same: where they go, the model, and what was said, by whom, in which
 * order. What zz itself tells the model (the time, the folder, the tools) does not count, since it
 * is never the same twice.
 */
function keyOf({ method, url, body }: Exchange["asked"]): string {
  const spoken = saidIn(body);
  const { model } = Object(body);
  const place = spoken ? endOf(url) : pathOf(url);
  return JSON.stringify([method, place, model ?? null, spoken ?? body ?? null]);
}
/** Of a model's address: where its server has it, such as in /v1 or /api/v1, does not count. */
const endOf = (url: string): string => pathOf(url).split("/").slice(-2).join("/");

const pathOf = (url: string): string => tryTo(() => new URL(url).pathname) ?? url;
const BLOCK = /--- ([A-Z][A-Z ]*) ---\n[\s\S]*?\n--- END \1 ---\n*/g;

/**
 * The person's and the model's own words, in every provider's format; undefined if it is not a
 * conversation.
 */
function saidIn(body: unknown): string[] | undefined {
  const { messages, input, contents } = Object(body);
  const all = [messages, input, contents].find(Array.isArray);
  return all?.flatMap((message: any) => {
    const role = message?.role ?? message?.type;
    if (role === "system" || role === "developer") return [];
    const messageText = textsIn(message?.content ?? message?.parts ?? "")
      .join("\n")
      .replace(BLOCK, "")
      .trim();
    return messageText ? [`${role}: ${role === "tool" ? "" : messageText}`] : [];
  });
}

function textsIn(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => {
    if (typeof part === "string") return [part];
    if (typeof part?.text === "string") return [part.text];
    return [];
  });
}

function lastWords(request: Request): string {
  const last = saidIn(bodyOf(request).body)?.at(-1);
  return last ? `, ${oneLine(last).slice(0, SHOWN)}` : "";
}

function textOrBytes(bytes: Uint8Array): string | { base64: string } {
  const buffer = Buffer.from(bytes);
  const text = buffer.toString();
  return Buffer.from(text).equals(buffer) ? text : { base64: buffer.toString("base64") };
}

function errorOf(error: unknown): NonNullable<Exchange["error"]> {
  const { message = String(error), code, status, transient, after, exit } = Object(error);
  return {
    message,
    ...Object.fromEntries(
      Object.entries({ code, status, transient, after, exit }).filter(
        ([, value]) => value !== undefined,
      ),
    ),
  };
}
/** The cassette may be a stranger's: it cannot make a failure look like a success. */
const errorFrom = ({ message, exit, ...rest }: NonNullable<Exchange["error"]>): Error =>
  Object.assign(new Error(String(message)), rest, exit === 2 || exit === 3 ? { exit } : {});
