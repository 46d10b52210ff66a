// The Bot API by grammY, over zz's own requests: the token is a placeholder in every address. A
// call is made again where Telegram or the network ask for it; that is safe, since what is sent
// again is only ever a placeholder, a question or an edit.
import { buffer } from "node:stream/consumers";
import type { ApiError } from "grammy/types";
import { Api, GrammyError, InputFile, type RawApi } from "grammy/web";
import type { Clock, Ctx, HttpRequest, Zz } from "zz";
import { anyOf, fault, usage } from "zz/text";

export type { Message, Update, User } from "grammy/types";
export { GrammyError, InputFile };

const DEFAULT_ROOT = "https://api.telegram.org";
const LONGEST_WAIT_S = 30;
const ANSWER_MS = 30_000; // then a call that has no answer is made again
const TELL_MS = 2_000; // then the person hears that it has none

export interface Telegram {
  raw: RawApi; // waits as long as Telegram says, and for the network
  hasty: RawApi; // fails instead: for what may be left out
  me: { id: number; username: string };
  // called when a group has become another chat
  moved: (oldChatId: number, newChatId: number) => void;
  isOfficial: boolean; // else a server of the person's own, which may allow larger files
  download(fileId: string): Promise<Uint8Array>;
}

/** Asks who the bot is, and so whether the token is right. */
export async function openTelegram(
  zz: Zz<any>,
  { about, note }: Ctx,
  signal: AbortSignal,
): Promise<Telegram> {
  const { endpoint } = about.providers.find(({ name }) => name === "telegram")!;
  const { key, url = DEFAULT_ROOT } = endpoint;
  if (!key)
    throw usage(
      "Cannot reach Telegram: there is no token. " +
        "@BotFather gives one; zz --keys set telegram keeps it.",
    );
  const apiRoot = url.replace(/\/+$/, "");
  const options = { apiRoot, fetch: fetchBy(zz) as unknown as typeof fetch };
  const pause = { until: 0 };
  const { clock } = zz.io;
  const tellOutage = outageTeller(new URL(apiRoot).host, note);
  const patient = new Api(String(key), options);
  patient.config.use(async (callApi, method, given, signalGiven) => {
    const uploads = /Document|Media/.test(method); // takes its time
    const pollMs = (Object(given).timeout ?? 0) * 1_000; // of getUpdates
    let payload = given;
    let isFlood = false;
    const tell = () => uploads || isFlood || tellOutage(true);
    const cancel = clock.timer(TELL_MS + pollMs, tell, { background: true });
    try {
      for (let failures = 0; ; failures++) {
        const limits = uploads ? [] : [clock.limit(ANSWER_MS + pollMs)];
        const stop = AbortSignal.any([...limits, ...(signalGiven ? [signalGiven as never] : [])]);
        const answer = await callApi(method, payload, stop as never).catch(networkFailure);
        if (answer.ok) tellOutage(false);
        if (answer.ok || signal.aborted || signalGiven?.aborted) return answer;
        const followed = followGroup(payload, answer, telegram.moved);
        const wait = secondsToWait(answer, failures);
        if (!followed && !wait) return answer;
        payload = followed ?? payload;
        isFlood = answer.error_code === 429;
        pause.until = Math.max(pause.until, clock.now() + wait * 1_000);
        await clock.sleep(wait * 1_000, signal);
      }
    } finally {
      cancel();
    }
  });
  const telegram: Telegram = {
    raw: patient.raw,
    hasty: hastyApi(String(key), options, pause, clock).raw,
    me: { id: 0, username: "" },
    moved: () => {},
    isOfficial: apiRoot === DEFAULT_ROOT,
    async download(fileId) {
      const { file_path: path } = await patient.getFile(fileId);
      return buffer((await zz.fetch(`${apiRoot}/file/bot${key}/${path}`)).body);
    },
  };
  telegram.me = await patient.getMe().catch((error) => {
    throw isRevoked(error) ? revoked() : error;
  });
  return telegram;
}

/** Waits for nothing: what it cannot do at once it leaves. */
function hastyApi(
  botToken: string,
  options: ConstructorParameters<typeof Api>[1],
  sharedPause: { until: number },
  clock: Clock,
): Api {
  const api = new Api(botToken, options);
  api.config.use(async (callApi, method, payload, callSignal) => {
    if (clock.now() < sharedPause.until)
      return { ok: false, error_code: 429, description: "later" };
    const apiAnswer = await callApi(method, payload, callSignal);
    if (!apiAnswer.ok && apiAnswer.parameters?.retry_after)
      sharedPause.until = clock.now() + apiAnswer.parameters.retry_after * 1_000;
    return apiAnswer;
  });
  return api;
}

/** The same for where the group is now. A message keeps its number nowhere. */
function followGroup<P>(payload: P, { parameters }: ApiError, hearMove: Telegram["moved"]) {
  const newChatId = parameters?.migrate_to_chat_id;
  const { chat_id: oldChatId, message_id } = Object(payload);
  if (!newChatId || oldChatId === newChatId) return undefined;
  hearMove(Number(oldChatId), newChatId);
  const { reply_parameters: _, message_thread_id: __, ...others } = Object(payload);
  return message_id === undefined ? ({ ...others, chat_id: newChatId } as P) : undefined;
}

/** Says once that there is no answer, and once that there is one again. */
function outageTeller(hostName: string, note: Ctx["note"]): (isOut: boolean) => void {
  let wasOut = false;
  return (isOut) => {
    if (isOut === wasOut) return;
    wasOut = isOut;
    note(
      isOut
        ? `'${hostName}' does not answer. zz tries again until it does.`
        : `'${hostName}' answers again.`,
    );
  };
}

/** Telegram says 404 to what does not even look like a token of its own. */
export const isRevoked = (error: unknown): boolean =>
  error instanceof GrammyError &&
  (error.error_code === 401 || (error.error_code === 404 && error.method === "getMe"));
export const revoked = (): Error =>
  fault(
    "Cannot go on: Telegram refuses the token. " +
      "zz --keys set telegram keeps another; what waits is answered then.",
    { kind: "key" },
  );

/** Whether an edit failed since the message has this text already. */
export const isUnchanged = (error: unknown): boolean =>
  descriptionOf(error).includes("not modified");
export const isUnparsed = (error: unknown): boolean =>
  descriptionOf(error).includes("can't parse entities");
export const isMessageGone = (error: unknown): boolean => MESSAGE_GONE.test(descriptionOf(error));
const MESSAGE_GONE = anyOf(
  /message to edit not found|message can't be edited/,
  /MESSAGE_ID_INVALID|upgraded to a supergroup/,
);
/** Nothing reaches this chat any more: the bot was blocked, or the chat is gone. */
export const isChatGone = (error: unknown): boolean =>
  error instanceof GrammyError &&
  (error.error_code === 403 || /chat not found|chat was deleted/.test(error.description));

export const descriptionOf = (error: unknown): string =>
  error instanceof GrammyError ? error.description : String((error as Error)?.message ?? error);

/** What a failure of the network looks like as an answer: one that may pass. */
function networkFailure(failure: { error?: Error; message: string }): ApiError {
  const { message } = failure.error ?? failure;
  return { ok: false, error_code: 503, description: message };
}

/** 0: the answer stands. */
function secondsToWait({ error_code: errorCode, parameters }: ApiError, failures: number): number {
  if (errorCode === 429) return parameters?.retry_after ?? 1;
  return errorCode >= 500 ? Math.min(LONGEST_WAIT_S, 2 ** failures) : 0;
}

/** grammY's requests through zz, where policies, proxies and the placeholder for the token are. */
const fetchBy =
  (zz: Zz<any>) =>
  async (requestUrl: string, { method, headers, body, signal }: Record<string, any>) => {
    const request: HttpRequest = { method, headers, any: true, signal: signal ?? undefined };
    if (typeof body === "string") request.body = body;
    else if (body) request.body = await buffer(body);
    const response = await zz.fetch(String(requestUrl), request);
    if (!/json/.test(response.headers.get("content-type") ?? ""))
      throw fault(`Telegram answered ${response.status}, and not in JSON.`);
    return response;
  };
