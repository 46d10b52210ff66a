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
  startPage,
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
  elementById,
  element,
  htmlBox,
  fillSelect,
];

// ── The tab ──────────────────────────────────────────────────────────────────────────────────────

function startPage(): void {
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
  const previousChat = sessionStorage.getItem("chat");
  if (!previousChat) showRefusal(beginChat(tab));
  else showRefusal(listChats(tab, previousChat).then(() => void openChat(tab, previousChat)));
}

function listenToForm(tab: Tab): void {
  elementById("say").onsubmit = (submitEvent: any) => {
    submitEvent.preventDefault();
    showRefusal(sendMessage(tab));
  };
  elementById("words").onkeydown = (keyEvent: any) => {
    if (keyEvent.key !== "Enter" || keyEvent.shiftKey || keyEvent.isComposing) return;
    keyEvent.preventDefault();
    showRefusal(sendMessage(tab));
  };
  const postToChat = (actionName: string, requestBody: object) =>
    showRefusal(callServer(tab, "POST", `/chats/${tab.chat}/${actionName}`, requestBody));
  elementById("stop").onclick = () => postToChat("stop", {});
  document.onkeydown = (keyEvent: any) => {
    if (keyEvent.key === "Escape" && !keyEvent.isComposing && !elementById("stop").disabled)
      postToChat("stop", {});
  };
  elementById("models").onchange = (changeEvent: any) =>
    postToChat("model", { model: changeEvent.target.value });
  elementById("chats").onchange = (changeEvent: any) =>
    void openChat(tab, changeEvent.target.value);
  const refreshChats = () => showRefusal(listChats(tab, tab.chat));
  Object.assign(elementById("chats"), { onfocus: refreshChats, onpointerenter: refreshChats });
  elementById("new").onclick = () => showRefusal(beginChat(tab));
  elementById("sides").onclick = () => {
    elementById("sides").ariaPressed = String(document.body.classList.toggle("sides"));
  };
}

// ── The server ───────────────────────────────────────────────────────────────────────────────────

async function callServer(
  tab: Tab,
  method: string,
  requestPath: string,
  requestBody?: object,
): Promise<any> {
  const headers: Record<string, string> = { authorization: `Bearer ${tab.token}` };
  if (requestBody) headers["content-type"] = "application/json";
  const jsonBody = requestBody && JSON.stringify(requestBody);
  const response = await window.fetch(requestPath, { method, headers, body: jsonBody });
  const responseBody = await response.json();
  if (!response.ok) throw new Error(responseBody.error);
  return responseBody;
}

function showRefusal(pendingWork: Promise<unknown>): void {
  pendingWork.catch((refusal: Error) => setState(refusal.message));
}

async function beginChat(tab: Tab): Promise<void> {
  const { id } = await callServer(tab, "POST", "/chats", {});
  await listChats(tab, id);
  void openChat(tab, id);
}

async function listChats(tab: Tab, current: string): Promise<void> {
  const savedChats: { id: string; title: string }[] = await callServer(tab, "GET", "/chats");
  const chatOptions = savedChats.map(({ id, title }) => ({ id, name: title || id }));
  const isSaved = chatOptions.some(({ id }) => id === current);
  if (!isSaved) chatOptions.unshift({ id: current, name: "New conversation" });
  fillSelect(elementById("chats"), chatOptions, current);
}

/** Shows a conversation from its first event on, until another is opened. */
async function openChat(tab: Tab, chat: string): Promise<void> {
  tab.reading?.abort();
  tab.reading = new window.AbortController();
  const { signal } = tab.reading;
  Object.assign(tab, { chat, last: 0 });
  sessionStorage.setItem("chat", chat);
  elementById("talk").replaceChildren();
  setBusy(false);
  while (!signal.aborted) {
    await untilSeen();
    let pauseMs = tab.isHeldUp ? 100 : 1_000;
    try {
      await readEvents(tab, signal);
    } catch (readingError) {
      if (signal.aborted) return;
      setState(`Not connected: ${(readingError as Error).message}`);
      if ((readingError as Error).cause) pauseMs = 10_000; // zz says why: that does not change soon
    }
    // then it goes on where it was
    await new Promise((resolve) => window.setTimeout(resolve, pauseMs));
  }
}

/** A browser has six connections to zz for all of its tabs: one that is hidden needs none. */
function untilSeen(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", () => resolve(), { once: true });
  });
}

/**
 * Reads events until the connection ends. zz is never silent for long: where it seems to be,
 * something between holds the stream back, and an answer that ends is asked for instead.
 */
async function readEvents(tab: Tab, chatSignal: any): Promise<void> {
  const silence = new window.AbortController();
  let silenceTimer = 0;
  const restartTimer = () => {
    window.clearTimeout(silenceTimer);
    if (!tab.isHeldUp) silenceTimer = window.setTimeout(() => silence.abort(), 7_000);
  };
  const stopWhenHidden = () => document.hidden && silence.abort();
  document.addEventListener("visibilitychange", stopWhenHidden);
  const signals = window.AbortSignal.any([chatSignal, silence.signal]);
  const headers = { authorization: `Bearer ${tab.token}`, "last-event-id": String(tab.last) };
  const eventsPath = `/chats/${tab.chat}/events${tab.isHeldUp ? "?once" : ""}`;
  restartTimer();
  try {
    const response = await window.fetch(eventsPath, { headers, signal: signals });
    if (!response.ok) throw new Error((await response.json()).error, { cause: response.status });
    setState("");
    await readPieces(response.body, (newEvents) => {
      restartTimer();
      if (!chatSignal.aborted) drawEvents(tab, newEvents);
    });
  } catch (fetchError) {
    if (!silence.signal.aborted) throw fetchError;
    tab.isHeldUp ||= !document.hidden;
  } finally {
    document.removeEventListener("visibilitychange", stopWhenHidden);
    window.clearTimeout(silenceTimer);
  }
}

/** Of each piece that arrives the events that end in it. */
async function readPieces(
  responseBody: any,
  takeEvents: (newEvents: ChatEvent[]) => void,
): Promise<void> {
  const textReader = responseBody.pipeThrough(new window.TextDecoderStream()).getReader();
  let unfinishedPieces: string[] = []; // pieces of an event
  for (;;) {
    const { value, done } = await textReader.read();
    if (done) return;
    unfinishedPieces.push(value);
    if (!value.includes("\n")) continue;
    const eventBlocks = unfinishedPieces.join("").split("\n\n");
    unfinishedPieces = [eventBlocks.pop()!];
    const eventLines = eventBlocks.map((eventBlock) => /^data: (.*)$/m.exec(eventBlock)?.[1]);
    takeEvents(
      eventLines
        .filter((eventJson) => eventJson !== undefined)
        .map((eventJson) => JSON.parse(eventJson)),
    );
  }
}

function drawEvents(tab: Tab, newEvents: ChatEvent[]): void {
  const isAtEnd = () => window.innerHeight + window.scrollY > document.body.scrollHeight - 200;
  const follows = tab.framesToEnd > 0 || isAtEnd(); // asked once: it lays out the page
  for (const chatEvent of newEvents) drawEvent(tab, chatEvent);
  if (follows) goToEnd(tab);
}

/** The browser knows real heights only after it has shown what is there. */
function goToEnd(tab: Tab): void {
  const isOnTheWay = tab.framesToEnd > 0;
  tab.framesToEnd = 3;
  const scrollFrame = () => {
    window.scrollTo(0, document.body.scrollHeight);
    if (--tab.framesToEnd) window.requestAnimationFrame(scrollFrame);
  };
  if (!isOnTheWay) window.requestAnimationFrame(scrollFrame);
}

// ── Events ───────────────────────────────────────────────────────────────────────────────────────

function drawEvent(tab: Tab, chatEvent: ChatEvent): void {
  const { id, type, text, name = "", options = [] } = chatEvent;
  tab.last = id;
  if (type === "user" && !chatEvent.isPast) setBusy(true);
  if (type === "user") addMessage("user", "You", chatEvent);
  else if (type === "text") addMessage("answer", "zz", chatEvent);
  else if (type === "thought") addFolded("Thinking", chatEvent);
  else if (type === "call") drawCall(tab, chatEvent);
  else if (type === "question") drawQuestion(tab, chatEvent);
  else if (type === "answered") settleQuestion(tab, name, text);
  else if (type === "models") fillSelect(elementById("models"), options, text);
  else if (type === "used") setState(text);
  else if (type === "left-out") elementById("talk").append(element("p", text, "left-out"));
  else {
    setBusy(false);
    if (type === "failed") elementById("talk").append(element("p", text, "bad"));
  }
}

function addMessage(
  articleClass: string,
  authorName: string,
  { text, html = "" }: ChatEvent,
): void {
  const lastArticle = elementById("talk").lastElementChild;
  if (!text && lastArticle?.className === articleClass) {
    lastArticle.append(htmlBox(html)); // a picture of the same message
    return;
  }
  const article = element("article", "", articleClass);
  article.append(element("h2", authorName), htmlBox(html));
  elementById("talk").append(article);
}

function addFolded(summaryText: string, { html = "" }: ChatEvent): any {
  const details = element("details", "", "folded");
  details.append(element("summary", summaryText), htmlBox(html));
  elementById("talk").append(details);
  return details;
}

function drawCall({ calls }: Tab, callEvent: ChatEvent): void {
  const { name = "", text, html, status } = callEvent;
  const drawnBefore = calls.get(name);
  const details = drawnBefore?.isConnected ? drawnBefore : addFolded(text, callEvent);
  calls.set(name, details);
  if (text) details.firstChild.textContent = text;
  if (html) details.lastChild.innerHTML = html;
  if (status === "completed") details.firstChild.append(element("span", " ✓", "good"));
  if (status === "failed") details.firstChild.append(element("span", " ✗", "bad"));
}

function drawQuestion(tab: Tab, questionEvent: ChatEvent): void {
  const { name = "", text, html = "", options = [] } = questionEvent;
  const box = element("section", "", "question");
  box.ariaLabel = "A question";
  const row = answerRow(tab, questionEvent);
  box.append(element("h2", options.length ? text : "zz asks"), htmlBox(html), row);
  tab.questions.set(name, { box, row, options });
  elementById("talk").append(box);
}

/** A button for each answer, or a line to write one. */
function answerRow(tab: Tab, { name, hash, options = [] }: ChatEvent): any {
  const questionPath = `/chats/${tab.chat}/questions/${name}`;
  const sendAnswer = (answerText: string) =>
    showRefusal(callServer(tab, "POST", questionPath, { hash, answer: answerText }));
  const answerTools = element("div", "", "tools");
  for (const answerOption of options) {
    const optionButton = element("button", answerOption.name);
    optionButton.onclick = () => sendAnswer(answerOption.id);
    answerTools.append(optionButton);
  }
  if (options.length) return answerTools;
  const answerInput = element("input");
  answerInput.ariaLabel = "Your answer";
  answerInput.onkeydown = (keyEvent: any) => {
    if (keyEvent.key === "Enter" && !keyEvent.isComposing) sendAnswer(answerInput.value);
  };
  const answerButton = element("button", "Answer");
  answerButton.onclick = () => sendAnswer(answerInput.value);
  answerTools.append(answerInput, answerButton);
  return answerTools;
}

function settleQuestion({ questions }: Tab, questionName: string, answerText: string): void {
  const question = questions.get(questionName);
  if (!question) return;
  const chosenOption = question.options.find(({ id }) => id === answerText);
  // the button goes: the keyboard stays in the page
  if (question.row.contains(document.activeElement)) elementById("words").focus();
  question.row.replaceChildren(element("p", `Answered: ${chosenOption?.name ?? answerText}`));
  question.box.classList.add("settled");
}

// ── The form ─────────────────────────────────────────────────────────────────────────────────────

async function sendMessage(tab: Tab): Promise<void> {
  const words = elementById("words");
  const text = words.value;
  if (!text.trim()) return;
  words.value = ""; // what is typed from now on is the next message
  try {
    const attachments = await readFiles();
    await callServer(tab, "POST", `/chats/${tab.chat}/messages`, { text, attachments });
    elementById("files").value = "";
  } catch (refusal) {
    words.value = text + words.value;
    throw refusal;
  }
}

async function readFiles(): Promise<object[]> {
  const chosenFiles: any[] = [...elementById("files").files];
  const megabytes = chosenFiles.reduce((totalBytes, { size }) => totalBytes + size, 0) / 1_000_000;
  if (megabytes > 20)
    throw new Error(
      `Cannot send these files: they have ${Math.ceil(megabytes)} MB, and 20 are the most. ` +
        "Put them where zz runs, and say where.",
    );
  const readAttachment = (chosenFile: any) =>
    new Promise<object>((resolve, reject) => {
      const fileReader = new FileReader();
      const extractBase64 = () => fileReader.result.slice(fileReader.result.indexOf(",") + 1);
      fileReader.onload = () =>
        resolve({ type: chosenFile.type, name: chosenFile.name, base64: extractBase64() });
      fileReader.onerror = () => reject(new Error(`Cannot read '${chosenFile.name}'.`));
      fileReader.readAsDataURL(chosenFile);
    });
  return Promise.all(chosenFiles.map(readAttachment));
}

function setBusy(isBusy: boolean): void {
  elementById("stop").disabled = !isBusy;
  elementById("send").disabled = isBusy;
}

function setState(stateText: string): void {
  elementById("state").textContent = stateText;
}

function elementById(id: string): any {
  return document.getElementById(id);
}

function element(tagName: string, textContent = "", className = ""): any {
  const newElement = document.createElement(tagName);
  newElement.textContent = textContent;
  if (className) newElement.className = className;
  return newElement;
}

function htmlBox(innerHtml: string): any {
  const container = document.createElement("div");
  container.innerHTML = innerHtml;
  return container;
}

function fillSelect(
  selectElement: any,
  choices: { id: string; name: string }[],
  current: string,
): void {
  selectElement.replaceChildren(
    ...choices.map(({ id, name }) => {
      const optionElement = element("option", name);
      optionElement.value = id;
      optionElement.selected = id === current;
      return optionElement;
    }),
  );
}
