// What the page of --serve does in a browser. These functions are sent as their own source, so they
// may use nothing but one another. All HTML that they put into the page was made by zz
// (draw-event.ts).
import type { ChatEvent } from "./draw-event.ts";

declare const document: any;
declare const window: any;
declare const location: any;
declare const history: any;
declare const sessionStorage: any;
declare const FileReader: any;

/** What this tab shows. */
interface Tab {
  token: string;
  chat: string;
  last: number; // the id of the last event that it has drawn
  isHeldUp: boolean; // something between holds events back: each answer must end to arrive
  framesToEnd: number; // for so many more it scrolls to the end
  reading: any; // aborts when another conversation is opened
  calls: Map<string, any>; // the elements of calls and of questions, by name
  questions: Map<string, { box: any; row: any; options: { id: string; name: string }[] }>;
}

export const CONVERSING = [
  start,
  listenToForm,
  callServer,
  showRefusal,
  beginChat,
  listChats,
  openChat,
  untilSeen,
  readEvents,
  readPieces,
  drawEvents,
  goToEnd,
  drawEvent,
  addMessage,
  addFolded,
  drawCall,
  drawQuestion,
  answerRow,
  settleQuestion,
  sendMessage,
  readFiles,
  setBusy,
  setState,
  byId,
  element,
  htmlBox,
  fillSelect,
];

// ── The tab ──────────────────────────────────────────────────────────────────────────────────────

function start(): void {
  // The token comes in the address once, and is kept for this tab alone.
  if (location.hash.length > 1) {
    sessionStorage.setItem("token", location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
  const tab: Tab = {
    token: sessionStorage.getItem("token") ?? "",
    chat: "",
    last: 0,
    isHeldUp: false,
    framesToEnd: 0,
    reading: undefined,
    calls: new Map(),
    questions: new Map(),
  };
  listenToForm(tab);
  const before = sessionStorage.getItem("chat");
  if (!before) showRefusal(beginChat(tab));
  else showRefusal(listChats(tab, before).then(() => void openChat(tab, before)));
}

function listenToForm(tab: Tab): void {
  byId("say").onsubmit = (event: any) => {
    event.preventDefault();
    showRefusal(sendMessage(tab));
  };
  byId("words").onkeydown = (event: any) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    showRefusal(sendMessage(tab));
  };
  const post = (what: string, body: object) =>
    showRefusal(callServer(tab, "POST", `/chats/${tab.chat}/${what}`, body));
  byId("stop").onclick = () => post("stop", {});
  document.onkeydown = (event: any) => {
    if (event.key === "Escape" && !event.isComposing && !byId("stop").disabled) post("stop", {});
  };
  byId("models").onchange = (event: any) => post("model", { model: event.target.value });
  byId("chats").onchange = (event: any) => void openChat(tab, event.target.value);
  const list = () => showRefusal(listChats(tab, tab.chat));
  Object.assign(byId("chats"), { onfocus: list, onpointerenter: list });
  byId("new").onclick = () => showRefusal(beginChat(tab));
  byId("sides").onclick = () => {
    byId("sides").ariaPressed = String(document.body.classList.toggle("sides"));
  };
}

// ── The server ───────────────────────────────────────────────────────────────────────────────────

async function callServer(tab: Tab, method: string, path: string, body?: object): Promise<any> {
  const headers: Record<string, string> = { authorization: `Bearer ${tab.token}` };
  if (body) headers["content-type"] = "application/json";
  const sent = body && JSON.stringify(body);
  const answer = await window.fetch(path, { method, headers, body: sent });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error);
  return said;
}

function showRefusal(work: Promise<unknown>): void {
  work.catch((error: Error) => setState(error.message));
}

async function beginChat(tab: Tab): Promise<void> {
  const { id } = await callServer(tab, "POST", "/chats", {});
  await listChats(tab, id);
  void openChat(tab, id);
}

async function listChats(tab: Tab, current: string): Promise<void> {
  const saved: { id: string; title: string }[] = await callServer(tab, "GET", "/chats");
  const rows = saved.map(({ id, title }) => ({ id, name: title || id }));
  const isSaved = rows.some(({ id }) => id === current);
  if (!isSaved) rows.unshift({ id: current, name: "New conversation" });
  fillSelect(byId("chats"), rows, current);
}

/** Shows a conversation from its first event on, until another is opened. */
async function openChat(tab: Tab, chat: string): Promise<void> {
  tab.reading?.abort();
  tab.reading = new window.AbortController();
  const { signal } = tab.reading;
  Object.assign(tab, { chat, last: 0 });
  sessionStorage.setItem("chat", chat);
  byId("talk").replaceChildren();
  setBusy(false);
  while (!signal.aborted) {
    await untilSeen();
    let pause = tab.isHeldUp ? 100 : 1_000;
    try {
      await readEvents(tab, signal);
    } catch (error) {
      if (signal.aborted) return;
      setState(`Not connected: ${(error as Error).message}`);
      if ((error as Error).cause) pause = 10_000; // zz says why: that does not change soon
    }
    await new Promise((done) => window.setTimeout(done, pause)); // then it goes on where it was
  }
}

/** A browser has six connections to zz for all of its tabs: one that is hidden needs none. */
function untilSeen(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    document.addEventListener("visibilitychange", () => done(), { once: true });
  });
}

/**
 * Reads events until the connection ends. zz is never silent for long: where it seems to be,
 * something between holds the stream back, and an answer that ends is asked for instead.
 */
async function readEvents(tab: Tab, signal: any): Promise<void> {
  const silence = new window.AbortController();
  let timer = 0;
  const wait = () => {
    window.clearTimeout(timer);
    if (!tab.isHeldUp) timer = window.setTimeout(() => silence.abort(), 7_000);
  };
  const rest = () => document.hidden && silence.abort();
  document.addEventListener("visibilitychange", rest);
  const signals = window.AbortSignal.any([signal, silence.signal]);
  const headers = { authorization: `Bearer ${tab.token}`, "last-event-id": String(tab.last) };
  const path = `/chats/${tab.chat}/events${tab.isHeldUp ? "?once" : ""}`;
  wait();
  try {
    const answer = await window.fetch(path, { headers, signal: signals });
    if (!answer.ok) throw new Error((await answer.json()).error, { cause: answer.status });
    setState("");
    await readPieces(answer.body, (events) => {
      wait();
      if (!signal.aborted) drawEvents(tab, events);
    });
  } catch (error) {
    if (!silence.signal.aborted) throw error;
    tab.isHeldUp ||= !document.hidden;
  } finally {
    document.removeEventListener("visibilitychange", rest);
    window.clearTimeout(timer);
  }
}

/** Of each piece that arrives the events that end in it. */
async function readPieces(body: any, take: (events: ChatEvent[]) => void): Promise<void> {
  const reader = body.pipeThrough(new window.TextDecoderStream()).getReader();
  let begun: string[] = []; // pieces of an event
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    begun.push(value);
    if (!value.includes("\n")) continue;
    const blocks = begun.join("").split("\n\n");
    begun = [blocks.pop()!];
    const data = blocks.map((block) => /^data: (.*)$/m.exec(block)?.[1]);
    take(data.filter((text) => text !== undefined).map((text) => JSON.parse(text)));
  }
}

function drawEvents(tab: Tab, events: ChatEvent[]): void {
  const isAtEnd = () => window.innerHeight + window.scrollY > document.body.scrollHeight - 200;
  const follows = tab.framesToEnd > 0 || isAtEnd(); // asked once: it lays out the page
  for (const event of events) drawEvent(tab, event);
  if (follows) goToEnd(tab);
}

/** The browser knows real heights only after it has shown what is there. */
function goToEnd(tab: Tab): void {
  const isOnTheWay = tab.framesToEnd > 0;
  tab.framesToEnd = 3;
  const go = () => {
    window.scrollTo(0, document.body.scrollHeight);
    if (--tab.framesToEnd) window.requestAnimationFrame(go);
  };
  if (!isOnTheWay) window.requestAnimationFrame(go);
}

// ── Events ───────────────────────────────────────────────────────────────────────────────────────

function drawEvent(tab: Tab, event: ChatEvent): void {
  const { id, type, text, name = "", options = [] } = event;
  tab.last = id;
  if (type === "user" && !event.isPast) setBusy(true);
  if (type === "user") addMessage("user", "You", event);
  else if (type === "text") addMessage("answer", "zz", event);
  else if (type === "thought") addFolded("Thinking", event);
  else if (type === "call") drawCall(tab, event);
  else if (type === "question") drawQuestion(tab, event);
  else if (type === "answered") settleQuestion(tab, name, text);
  else if (type === "models") fillSelect(byId("models"), options, text);
  else if (type === "used") setState(text);
  else if (type === "left-out") byId("talk").append(element("p", text, "left-out"));
  else {
    setBusy(false);
    if (type === "failed") byId("talk").append(element("p", text, "bad"));
  }
}

function addMessage(kind: string, who: string, { text, html = "" }: ChatEvent): void {
  const before = byId("talk").lastElementChild;
  if (!text && before?.className === kind) {
    before.append(htmlBox(html)); // a picture of the same message
    return;
  }
  const article = element("article", "", kind);
  article.append(element("h2", who), htmlBox(html));
  byId("talk").append(article);
}

function addFolded(title: string, { html = "" }: ChatEvent): any {
  const details = element("details", "", "folded");
  details.append(element("summary", title), htmlBox(html));
  byId("talk").append(details);
  return details;
}

function drawCall({ calls }: Tab, event: ChatEvent): void {
  const { name = "", text, html, status } = event;
  const drawn = calls.get(name);
  const details = drawn?.isConnected ? drawn : addFolded(text, event);
  calls.set(name, details);
  if (text) details.firstChild.textContent = text;
  if (html) details.lastChild.innerHTML = html;
  if (status === "completed") details.firstChild.append(element("span", " ✓", "good"));
  if (status === "failed") details.firstChild.append(element("span", " ✗", "bad"));
}

function drawQuestion(tab: Tab, event: ChatEvent): void {
  const { name = "", text, html = "", options = [] } = event;
  const box = element("section", "", "question");
  box.ariaLabel = "A question";
  const row = answerRow(tab, event);
  box.append(element("h2", options.length ? text : "zz asks"), htmlBox(html), row);
  tab.questions.set(name, { box, row, options });
  byId("talk").append(box);
}

/** A button for each answer, or a line to write one. */
function answerRow(tab: Tab, { name, hash, options = [] }: ChatEvent): any {
  const path = `/chats/${tab.chat}/questions/${name}`;
  const answer = (chosen: string) =>
    showRefusal(callServer(tab, "POST", path, { hash, answer: chosen }));
  const row = element("div", "", "tools");
  for (const option of options) {
    const button = element("button", option.name);
    button.onclick = () => answer(option.id);
    row.append(button);
  }
  if (options.length) return row;
  const line = element("input");
  line.ariaLabel = "Your answer";
  line.onkeydown = (event: any) => {
    if (event.key === "Enter" && !event.isComposing) answer(line.value);
  };
  const button = element("button", "Answer");
  button.onclick = () => answer(line.value);
  row.append(line, button);
  return row;
}

function settleQuestion({ questions }: Tab, name: string, answer: string): void {
  const question = questions.get(name);
  if (!question) return;
  const chosen = question.options.find(({ id }) => id === answer);
  // the button goes: the keyboard stays in the page
  if (question.row.contains(document.activeElement)) byId("words").focus();
  question.row.replaceChildren(element("p", `Answered: ${chosen?.name ?? answer}`));
  question.box.classList.add("settled");
}

// ── The form ─────────────────────────────────────────────────────────────────────────────────────

async function sendMessage(tab: Tab): Promise<void> {
  const text = byId("words").value;
  if (!text.trim()) return;
  const attachments = await readFiles();
  await callServer(tab, "POST", `/chats/${tab.chat}/messages`, { text, attachments });
  byId("words").value = "";
  byId("files").value = "";
}

async function readFiles(): Promise<object[]> {
  const files: any[] = [...byId("files").files];
  const megabytes = files.reduce((sum, { size }) => sum + size, 0) / 1_000_000;
  if (megabytes > 20)
    throw new Error(
      `Cannot send these files: they have ${Math.ceil(megabytes)} MB, and 20 are the most. Put them where zz runs, and say where.`,
    );
  const read = (file: any) =>
    new Promise<object>((done, failed) => {
      const reader = new FileReader();
      const base64 = () => reader.result.slice(reader.result.indexOf(",") + 1);
      reader.onload = () => done({ type: file.type, name: file.name, base64: base64() });
      reader.onerror = () => failed(new Error(`Cannot read '${file.name}'.`));
      reader.readAsDataURL(file);
    });
  return Promise.all(files.map(read));
}

function setBusy(busy: boolean): void {
  byId("stop").disabled = !busy;
  byId("send").disabled = busy;
}

function setState(text: string): void {
  byId("state").textContent = text;
}

function byId(id: string): any {
  return document.getElementById(id);
}

function element(tag: string, text = "", className = ""): any {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function htmlBox(html: string): any {
  const box = document.createElement("div");
  box.innerHTML = html;
  return box;
}

function fillSelect(select: any, rows: { id: string; name: string }[], current: string): void {
  select.replaceChildren(
    ...rows.map(({ id, name }) => {
      const option = element("option", name);
      option.value = id;
      option.selected = id === current;
      return option;
    }),
  );
}
