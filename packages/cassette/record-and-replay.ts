// A cassette: lines of JSON. The first says what it is; each other has a request and what came
// back, piece by piece.
import { appendFileSync, existsSync, readFileSync, statSync } from "node:fs";
import type { HttpAnswer, HttpRequest } from "zz";
import { errnoSentence, oneLine, tryTo, usage, writeWhole } from "zz/text";
import type { Exchange } from "./exchange.ts";

type Request = HttpRequest & { url: string };
type Next = (request: Request) => Promise<HttpAnswer>;

export interface Recorder {
  asks(modelName: string): void; // from now on
  keep(request: Request, next: Next): Promise<HttpAnswer>;
}
export interface Player {
  readonly model: string | undefined; // that was asked first
  answer(request: Request): Promise<HttpAnswer>;
}

const CASSETTE_HEADER = { zz: "cassette", version: 1 };
const HEADERS = ["content-type", "retry-after", "retry-after-ms", "x-request-id"];
const MAX_QUOTED_CHARS = 60; // characters of a request, quoted in an error

/** Records into a file. An earlier cassette is replaced; any other file is not. */
export function record(cassetteFile: string, veilSecrets: (plainText: string) => string): Recorder {
  const cannot = (reason: string) => usage(`Cannot record into '${cassetteFile}': ${reason}`);
  if (existsSync(cassetteFile) && !isCassette(cassetteFile))
    throw cannot("it exists and is not a cassette. Name another file.");
  try {
    writeWhole(cassetteFile, `${JSON.stringify(CASSETTE_HEADER)}\n`, 0o600);
  } catch (error) {
    throw cannot(errnoSentence(error) || "it cannot be written. Name another file.");
  }
  let model: string | undefined;
  const appendExchange = (exchange: Exchange) => {
    try {
      const exchangeLine = JSON.stringify({ ...exchange, ...(model && { model }) });
      appendFileSync(cassetteFile, `${veilSecrets(exchangeLine)}\n`);
    } catch (error) {
      throw cannot(errnoSentence(error) || "it cannot be written.");
    }
  };

  return {
    asks: (modelName) => void (model = modelName),
    async keep(request, next) {
      const asked = { method: request.method ?? "GET", url: request.url, ...parseBody(request) };
      let answer: HttpAnswer;
      try {
        answer = await next(request);
      } catch (error) {
        appendExchange({ asked, error: errorOf(error) });
        throw error;
      }
      const headers = HEADERS.flatMap((headerName) => {
        const headerValue = answer.headers.get(headerName);
        return headerValue === null ? [] : [[headerName, headerValue] as const];
      });
      const recordedAnswer: Exchange = {
        asked,
        status: answer.status,
        headers: Object.fromEntries(headers),
      };
      const wholeText = async () => {
        const answerText = await answer.text();
        appendExchange({ ...recordedAnswer, pieces: [answerText] });
        return answerText;
      };
      const writePieces = (pieces: Uint8Array[], error: unknown) =>
        appendExchange({
          ...recordedAnswer,
          pieces: veiledPieces(pieces, veilSecrets),
          ...(error !== undefined && { error: errorOf(error) }),
        });
      return {
        ...answer,
        body: teeBody(answer.body, writePieces),
        text: wholeText,
        json: async () => JSON.parse(await wholeText()),
      };
    },
  };
}

async function* teeBody(
  answerBody: AsyncIterable<Uint8Array>,
  reportEnd: (pieces: Uint8Array[], error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  const copiedPieces: Uint8Array[] = [];
  let streamError: unknown;
  try {
    for await (const pieceBytes of answerBody) {
      copiedPieces.push(Uint8Array.from(pieceBytes));
      yield pieceBytes;
    }
  } catch (failure) {
    streamError = failure;
    throw failure;
  } finally {
    reportEnd(copiedPieces, streamError);
  }
}

/**
 * The pieces as they came, unless they hold a secret, perhaps across two: then the whole answer,
 * veiled.
 */
function veiledPieces(
  pieces: Uint8Array[],
  veilSecrets: (plainText: string) => string,
): Exchange["pieces"] {
  const original = Buffer.concat(pieces).toString();
  const veiledText = veilEvents(veilSecrets(original), veilSecrets);
  return veiledText === original ? pieces.map(textOrBytes) : [veiledText];
}

/**
 * An answer comes in events, each with a part of a text, and a secret may be spread over several:
 * of each place in the events, such as `choices.0.delta.content`, the parts are read as one text.
 * If it holds a secret, the first has all of it.
 */
function veilEvents(answerText: string, veilSecrets: (plainText: string) => string): string {
  const allParts: { holder: Record<string, string>; name: string; location: string }[] = [];
  const collect = (holder: any, outerLocation: string): void => {
    for (const [name, innerValue] of Object.entries(Object(holder))) {
      const location = `${outerLocation}.${name}`;
      if (typeof innerValue === "string") allParts.push({ holder, name, location });
      else collect(innerValue, location);
    }
  };
  const parsedLines = answerText.split("\n").map((line) => {
    const [, head = "", eventJson] = /^(data: ?)?([[{].*)$/.exec(line) ?? [];
    const event = eventJson === undefined ? undefined : tryTo(() => JSON.parse(eventJson));
    if (event) collect(event, "");
    return { line, head, event };
  });
  let isVeiled = false;
  for (const textParts of Map.groupBy(allParts, ({ location }) => location).values()) {
    const original = textParts.map(({ holder, name }) => holder[name]).join("");
    const veiledText = veilSecrets(original);
    if (veiledText === original) continue;
    isVeiled = true;
    for (const [i, { holder, name }] of textParts.entries()) holder[name] = i ? "" : veiledText;
  }
  if (!isVeiled) return answerText;
  return parsedLines
    .map(({ line, head, event }) => (event ? head + JSON.stringify(event) : line))
    .join("\n");
}

/**
 * Refuses what was not recorded. Equal requests get their answers in the order recorded; the last
 * answer repeats.
 */
export async function play(cassetteFile: string, shownPath: string): Promise<Player> {
  const exchanges = (await readExchanges(cassetteFile, shownPath)).map((exchange) => ({
    exchange,
    key: buildKey(exchange.asked),
    played: 0,
  }));
  return {
    model: exchanges.find(({ exchange }) => exchange.model)?.exchange.model,
    async answer(request) {
      const { signal, method = "GET", url } = request;
      signal?.throwIfAborted();
      const requestKey = buildKey({ method, url, ...parseBody(request) });
      const matching = exchanges.filter((candidate) => candidate.key === requestKey);
      const match = matching.find(({ played }) => !played) ?? matching.at(-1);
      if (!match)
        throw usage(
          `Cannot replay '${shownPath}': nothing like this was recorded in it (${method} ` +
            `${readPathname(url)}${lastWords(request)}). Record it again with --record.`,
        );
      match.played++;
      const { status = 200, headers = {}, pieces = [], error } = match.exchange;
      if (error && !match.exchange.pieces) throw errorFrom(error);
      const answerChunks = pieces.map((piece) =>
        typeof piece === "string" ? Buffer.from(piece) : Buffer.from(piece.base64, "base64"),
      );
      const text = async () => Buffer.concat(answerChunks).toString();
      return {
        ok: status < 300,
        status,
        text,
        json: async () => JSON.parse(await text()),
        headers: { get: (headerName) => headers[headerName.toLowerCase()] ?? null },
        body: (async function* () {
          for (const chunkBytes of answerChunks) {
            signal?.throwIfAborted();
            yield chunkBytes;
          }
          if (error) throw errorFrom(error);
        })(),
      };
    },
  };
}

async function readExchanges(cassetteFile: string, shownPath: string): Promise<Exchange[]> {
  const cannot = (reason: string) => usage(`Cannot replay '${shownPath}': ${reason}`);
  let cassetteText: string;
  try {
    cassetteText = readRegularFile(cassetteFile);
  } catch (error) {
    throw cannot(errnoSentence(error) || "it cannot be read. Name another file.");
  }
  const [headerLine = "", ...exchangeLines] = cassetteText.split("\n").filter(Boolean);
  const header = tryTo(() => JSON.parse(headerLine));
  if (header?.zz !== CASSETTE_HEADER.zz) throw cannot("it is not a cassette. --record makes one.");
  if (header.version !== CASSETTE_HEADER.version)
    throw cannot("another version of zz recorded it. Record it again.");
  const { exchange } = await import("./exchange.ts");
  return exchangeLines.map((exchangeLine, i) => {
    const { data, error } = exchange.safeParse(tryTo(() => JSON.parse(exchangeLine)));
    if (data) return data;
    const { path, message } = error.issues[0]!;
    const place = path.length
      ? ` ("${path.join(".")}"${message.replace("Invalid input", "")})`
      : "";
    throw cannot(`line ${i + 2} is not a recorded exchange${place}. Record it again.`);
  });
}

const isCassette = (filePath: string): boolean =>
  tryTo(() => JSON.parse(readRegularFile(filePath).split("\n")[0]!).zz === CASSETTE_HEADER.zz) ??
  false;

/** Reads only a regular file, since a device may never end. */
function readRegularFile(filePath: string): string {
  const fileStats = statSync(filePath);
  if (!fileStats.isFile())
    throw Object.assign(new Error("not a file"), {
      code: fileStats.isDirectory() ? "EISDIR" : "it is not a file",
    });
  return readFileSync(filePath, "utf8");
}

const parseBody = ({ body }: Request): { body?: unknown } => {
  if (body === undefined || body === "") return {};
  const bodyText = typeof body === "string" ? body : Buffer.from(body).toString();
  return { body: tryTo(() => JSON.parse(bodyText)) ?? bodyText };
};

/**
 * What makes two requests the same: where they go, the model, and what was said, by whom, in which
 * order. What zz itself tells the model (the time, the folder, the tools) does not count, since it
 * is never the same twice.
 */
function buildKey({ method, url, body }: Exchange["asked"]): string {
  const spokenTexts = collectSpoken(body);
  const { model } = Object(body);
  const endpointPath = spokenTexts ? readPathEnd(url) : readPathname(url);
  return JSON.stringify([method, endpointPath, model ?? null, spokenTexts ?? body ?? null]);
}
/** Of a model's address: where its server has it, such as in /v1 or /api/v1, does not count. */
const readPathEnd = (url: string): string => readPathname(url).split("/").slice(-2).join("/");

const readPathname = (url: string): string => tryTo(() => new URL(url).pathname) ?? url;
const NAMED_BLOCK = /--- ([A-Z][A-Z ]*) ---\n[\s\S]*?\n--- END \1 ---\n*/g;

/**
 * The person's and the model's own words, in every provider's format; undefined if it is not a
 * conversation.
 */
function collectSpoken(requestBody: unknown): string[] | undefined {
  const { messages, input, contents } = Object(requestBody);
  const conversation = [messages, input, contents].find(Array.isArray);
  return conversation?.flatMap((message: any) => {
    const role = message?.role ?? message?.type;
    if (role === "system" || role === "developer") return [];
    const messageText = textsIn(message?.content ?? message?.parts ?? "")
      .join("\n")
      .replace(NAMED_BLOCK, "")
      .trim();
    return messageText ? [`${role}: ${role === "tool" ? "" : messageText}`] : [];
  });
}

function textsIn(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((contentPart) => {
    if (typeof contentPart === "string") return [contentPart];
    if (typeof contentPart?.text === "string") return [contentPart.text];
    return [];
  });
}

function lastWords(request: Request): string {
  const lastMessage = collectSpoken(parseBody(request).body)?.at(-1);
  return lastMessage ? `, ${oneLine(lastMessage).slice(0, MAX_QUOTED_CHARS)}` : "";
}

function textOrBytes(pieceBytes: Uint8Array): string | { base64: string } {
  const buffer = Buffer.from(pieceBytes);
  const pieceText = buffer.toString();
  return Buffer.from(pieceText).equals(buffer) ? pieceText : { base64: buffer.toString("base64") };
}

function errorOf(error: unknown): NonNullable<Exchange["error"]> {
  const { message = String(error), code, status, transient, after, exit } = Object(error);
  return { message, code, status, transient, after, exit };
}
/** The cassette may be a stranger's: it cannot make a failure look like a success. */
const errorFrom = ({ message, exit, ...rest }: NonNullable<Exchange["error"]>): Error =>
  Object.assign(new Error(String(message)), rest, exit === 2 || exit === 3 ? { exit } : {});
