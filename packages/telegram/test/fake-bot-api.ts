// Telegram's Bot API on loopback, with the rules that a bot has to keep: lengths, MarkdownV2, edits,
// floods, offsets of updates, sizes of files, tokens.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after } from "node:test";
import { waitFor } from "../../../test/support/wait.ts";
import { parseMarkdown } from "./parse-markdown.ts";

export const TOKEN = "123456:AAfake-token-of-a-test";
const BOT = { id: 123456, is_bot: true, first_name: "zz", username: "zz_test_bot" };

/** A whole PNG of one pixel. */
export const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

interface Button {
  text: string;
  callback_data: string;
}
export interface Shown {
  id: number;
  chat: number;
  from: number;
  text: string; // or the caption, without marks
  texts: string[]; // all that it has been
  buttons: Button[];
  gone: Button[]; // that it had: a finger may be on its way to one
  document?: { name: string; bytes: Buffer };
  markdown?: string;
}
export interface Called {
  method: string;
  payload: Record<string, any>;
}
type Person = { id: number; first_name: string };
type Refusal = { code: number; description: string; parameters?: object };

export class FakeBotApi {
  readonly calls: Called[] = [];
  readonly messages: Shown[] = [];
  readonly answered: { id: string; text: string }[] = []; // presses of buttons
  token = TOKEN;
  url = "";
  /** Called for each call but for updates, before it has its effect and after it. */
  around: (called: Called, when: "before" | "after") => unknown = () => {};
  /** How long to wait, in seconds; 0: not at all. */
  flood: (called: Called) => number = () => 0;
  isSilent = false; // answers nothing at all
  readonly #moved = new Map<number, number>(); // groups that are supergroups now
  readonly #updates: { update_id: number }[] = [];
  readonly #files = new Map<string, Buffer>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #wake: () => void = () => {};
  #poll = 0;
  #nextUpdate = 1_000;
  #nextMessage = 1;

  async listen(): Promise<this> {
    await new Promise<void>((ready) => this.#server.listen(0, "127.0.0.1", ready));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.#poll++;
    this.#wake();
    await new Promise<void>((closed) => {
      this.#server.close(() => closed());
      this.#server.closeAllConnections();
    });
  }

  // ── What people do ─────────────────────────────────────────────────────────────────────────────

  /** Says something in a private chat, or elsewhere; gives the message. */
  say(text: string, { from = ALICE, ...more }: Record<string, any> & { from?: Person } = {}) {
    const message: Record<string, any> = {
      message_id: this.#nextMessage++,
      date: 1,
      from,
      chat: { id: from.id, type: "private", first_name: from.first_name },
      ...(text && !more.photo && !more.document && { text }),
      ...(text && (more.photo || more.document) && { caption: text }),
      ...more,
    };
    this.update({ message });
    return message;
  }

  edit(message: Record<string, any>, text: string): void {
    this.update({ edited_message: { ...message, text, edit_date: 2 } });
  }

  /** The group becomes a supergroup. */
  migrate(from: number, to: number, { isTold = true } = {}): void {
    this.#moved.set(from, to);
    const chat = { id: from, type: "group", title: "Team" };
    const message = { message_id: this.#nextMessage++, date: 1, from: MALLORY, chat };
    if (isTold) this.update({ message: { ...message, migrate_to_chat_id: to } });
  }

  press(shown: Shown, text: string, from: Person = ALICE): string {
    const button = [...shown.buttons, ...shown.gone].find((one) => one.text === text);
    if (!button) throw new Error(`No button '${text}': ${JSON.stringify(shown.buttons)}`);
    return this.pressData(shown, button.callback_data, from);
  }

  pressData(shown: Shown, data: string, from: Person = ALICE): string {
    const id = `press ${this.#nextUpdate}`;
    const { id: message_id, chat } = shown;
    const type = chat > 0 ? "private" : "group";
    const message = { message_id, date: 1, chat: { id: chat, type } };
    this.update({ callback_query: { id, from, message, chat_instance: "x", data } });
    return id;
  }

  file(bytes: Buffer, size = bytes.length) {
    const id = `file${this.#files.size}`;
    this.#files.set(id, bytes);
    return { file_id: id, file_unique_id: id, file_size: size };
  }

  update(update: object, id = this.#nextUpdate++): void {
    this.#updates.push({ update_id: id, ...update });
    this.#wake();
  }

  get pending(): number {
    return this.#updates.length;
  }

  sees(what: RegExp, { chat = ALICE.id, count = 1 } = {}): Promise<Shown> {
    const seen = () => this.messages.filter((one) => one.chat === chat && what.test(one.text));
    return waitFor(
      `${what} in chat ${chat}`,
      () => seen()[count - 1],
      () => JSON.stringify(this.messages.map(({ chat, text }) => [chat, text])),
    );
  }

  /** A question that stands. */
  asks(what: RegExp, options: { chat?: number; count?: number } = {}): Promise<Shown> {
    return waitFor(
      `a question ${what}`,
      () =>
        this.messages.filter(
          (one) =>
            one.chat === (options.chat ?? ALICE.id) && what.test(one.text) && one.buttons.length,
        )[(options.count ?? 1) - 1],
      () => JSON.stringify(this.messages.map(({ chat, text }) => [chat, text])),
    );
  }

  // ── The server ─────────────────────────────────────────────────────────────────────────────────

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces);
    if (this.isSilent) return;
    const [, file] = /^\/file\/bot[^/]+\/(.+)$/.exec(request.url ?? "") ?? [];
    if (file) return void response.end(this.#files.get(file));
    const [, token, method = ""] =
      /^\/bot([^/]+)\/(\w+)/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    const type = request.headers["content-type"] ?? "";
    try {
      if (token !== this.token) throw refused(401, "Unauthorized");
      const payload = type.startsWith("multipart/")
        ? await partsIn(body, type)
        : JSON.parse(body.toString() || "{}");
      const result = await this.#call({ method, payload });
      send(response, 200, { ok: true, result });
    } catch (error) {
      const { code = 500, description = String(error), parameters } = error as Refusal;
      send(response, code, { ok: false, error_code: code, description, parameters });
    }
  }

  async #call(called: Called): Promise<unknown> {
    const { method, payload } = called;
    if (method === "getUpdates") return this.#getUpdates(payload);
    this.calls.push(called);
    const retry_after = this.flood(called);
    if (retry_after)
      throw refused(429, `Too Many Requests: retry after ${retry_after}`, { retry_after });
    await this.around(called, "before");
    const result = this.#act(called);
    await this.around(called, "after");
    return result;
  }

  async #getUpdates({ offset = 0, timeout = 0 }: Record<string, any>): Promise<unknown> {
    const mine = ++this.#poll;
    this.#wake();
    while (this.#updates[0] && this.#updates[0].update_id < offset) this.#updates.shift();
    const end = performance.now() + timeout * 1_000;
    while (!this.#updates.length && performance.now() < end) {
      await new Promise<void>((wake) => {
        const timer = setTimeout(wake, Math.max(0, end - performance.now()));
        this.#wake = () => {
          clearTimeout(timer);
          wake();
        };
      });
      if (mine !== this.#poll)
        throw refused(409, "Conflict: terminated by other getUpdates request");
    }
    return this.#updates.slice(0, 100);
  }

  #act({ method, payload }: Called): unknown {
    const migrate_to_chat_id = this.#moved.get(Number(payload.chat_id));
    if (migrate_to_chat_id)
      throw refused(400, "Bad Request: group chat was upgraded to a supergroup chat", {
        migrate_to_chat_id,
      });
    switch (method) {
      case "getMe":
        return BOT;
      case "setMyCommands":
      case "sendChatAction":
        return true;
      case "answerCallbackQuery":
        return this.answered.push({ id: payload.callback_query_id, text: payload.text });
      case "sendMessage":
        return this.#send(payload, textOf(payload, "text", 4_096));
      case "sendDocument": {
        const caption = payload.caption === undefined ? "" : textOf(payload, "caption", 1_024);
        return this.#send(payload, caption, this.#document(payload.document));
      }
      case "editMessageText":
        return this.#edit(payload, textOf(payload, "text", 4_096));
      case "editMessageCaption":
        return this.#edit(payload, textOf(payload, "caption", 1_024));
      case "editMessageReplyMarkup":
        return this.#edit(payload, this.#find(payload).text);
      case "editMessageMedia": {
        const media = typeof payload.media === "string" ? JSON.parse(payload.media) : payload.media;
        return this.#edit(
          payload,
          "",
          this.#document(payload[media.media.replace("attach://", "")]),
        );
      }
      case "forwardMessage":
        return this.#forward(payload);
      case "deleteMessage":
        return this.messages.splice(this.messages.indexOf(this.#find(payload)), 1);
      case "getFile":
        return this.#getFile(payload.file_id);
      default:
        throw refused(404, "Not Found");
    }
  }

  #document(file: { name: string; bytes: Buffer }) {
    if (!file?.bytes.length) throw refused(400, "Bad Request: file must be non-empty");
    if (file.bytes.length > 50_000_000) throw refused(413, "Request Entity Too Large");
    return file;
  }

  #send(payload: Record<string, any>, text: string, document?: Shown["document"]) {
    const shown: Shown = {
      id: this.#nextMessage++,
      chat: Number(payload.chat_id),
      from: BOT.id,
      text,
      texts: [text],
      buttons: buttonsIn(payload),
      gone: [],
      ...(document && { document }),
      ...(payload.parse_mode && { markdown: payload.text }),
    };
    this.messages.push(shown);
    return asMessage(shown);
  }

  #find({ chat_id, message_id }: Record<string, any>): Shown {
    const shown = this.messages.find(
      ({ id, chat }) => id === Number(message_id) && chat === Number(chat_id),
    );
    if (!shown) throw refused(400, "Bad Request: message to edit not found");
    return shown;
  }

  #edit(payload: Record<string, any>, text: string, document?: Shown["document"]) {
    const shown = this.#find(payload);
    const buttons = buttonsIn(payload);
    const isSame = text === shown.text && JSON.stringify(buttons) === JSON.stringify(shown.buttons);
    if (isSame && !document)
      throw refused(
        400,
        "Bad Request: message is not modified: specified new message content and reply markup are exactly the same",
      );
    shown.gone.unshift(...shown.buttons);
    Object.assign(shown, { text, buttons }, document && { document });
    if (payload.parse_mode) shown.markdown = payload.text;
    shown.texts.push(text);
    return asMessage(shown);
  }

  #forward({ chat_id, from_chat_id, message_id }: Record<string, any>) {
    const { text, from } = this.#find({ chat_id: from_chat_id, message_id });
    const sent = this.#send({ chat_id }, text);
    return { ...sent, forward_origin: { type: "user", sender_user: { id: from }, date: 1 } };
  }

  #getFile(id: string) {
    const bytes = this.#files.get(id);
    if (!bytes) throw refused(400, "Bad Request: invalid file_id");
    if (bytes.length > 20_000_000) throw refused(400, "Bad Request: file is too big");
    return { file_id: id, file_unique_id: id, file_size: bytes.length, file_path: id };
  }
}

export const ALICE: Person = { id: 11, first_name: "Alice" };
export const MALLORY: Person = { id: 66, first_name: "Mallory" };

export async function fakeBotApi(): Promise<FakeBotApi> {
  const fake = await new FakeBotApi().listen();
  after(() => fake.close());
  return fake;
}

const refused = (code: number, description: string, parameters?: object): Refusal & Error =>
  Object.assign(new Error(description), { code, description, parameters });

const asMessage = ({ id, chat, text }: Shown) => ({
  message_id: id,
  date: 1,
  chat: { id: chat, type: chat > 0 ? "private" : "group" },
  from: BOT,
  text,
});

function textOf(payload: Record<string, any>, field: string, max: number): string {
  const given = String(payload[field] ?? "");
  let text = given;
  if (payload.parse_mode === "MarkdownV2")
    try {
      ({ text } = parseMarkdown(given));
    } catch (error) {
      throw refused(400, (error as Error).message);
    }
  if (!text.trim()) throw refused(400, "Bad Request: message text is empty");
  if (text.length > max)
    throw refused(
      400,
      field === "caption"
        ? "Bad Request: message caption is too long"
        : "Bad Request: message is too long",
    );
  return text.trim();
}

function buttonsIn({ reply_markup: given }: Record<string, any>): Button[] {
  const markup = typeof given === "string" ? JSON.parse(given) : given;
  const buttons: Button[] = (markup?.inline_keyboard ?? []).flat();
  for (const { callback_data: data } of buttons)
    if (!data || Buffer.byteLength(data) > 64)
      throw refused(400, "Bad Request: BUTTON_DATA_INVALID");
  return buttons;
}

async function partsIn(body: Buffer, type: string): Promise<Record<string, any>> {
  const form = await new Response(new Uint8Array(body), {
    headers: { "content-type": type },
  }).formData();
  const fields: Record<string, any> = {};
  for (const [name, value] of form as unknown as Iterable<[string, string | File]>)
    fields[name] =
      typeof value === "string"
        ? value
        : { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) };
  for (const [name, value] of Object.entries(fields)) {
    const [, attached] = typeof value === "string" ? (/^attach:\/\/(.+)$/.exec(value) ?? []) : [];
    if (attached) fields[name] = fields[attached];
  }
  return fields;
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
