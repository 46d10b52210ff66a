// What the page of --serve does in a browser. It is sent as its own source, so it may use nothing
// from outside of itself. All HTML that it puts into the page was made by zz (draw-update.ts).
import type { ChatEvent } from "./live-chats.ts";

declare const document: any;
declare const window: any;
declare const location: any;
declare const history: any;
declare const sessionStorage: any;
declare const FileReader: any;
declare const setTimeout: any;

export function converse(): void {
  const get = (id: string) => document.getElementById(id);
  const make = (tag: string, text = "", className = "") => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  // The token comes in the address once, and is kept for this tab alone.
  if (location.hash.length > 1) {
    sessionStorage.setItem("token", location.hash.slice(1));
    history.replaceState(null, "", location.pathname);
  }
  const token = sessionStorage.getItem("token") ?? "";
  const state = (text: string) => {
    get("state").textContent = text;
  };

  async function call(method: string, path: string, body?: object): Promise<any> {
    const headers: Record<string, string> = { authorization: `Bearer ${token}` };
    if (body) headers["content-type"] = "application/json";
    const answer = await window.fetch(path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    return said;
  }
  const tried = (work: Promise<unknown>) => work.catch((error: Error) => state(error.message));

  // ── Events ─────────────────────────────────────────────────────────────────────────────────────

  let chat = "";
  let last = 0;
  let reading: any;

  async function open(id: string): Promise<void> {
    reading?.abort();
    chat = id;
    last = 0;
    sessionStorage.setItem("chat", id);
    get("talk").replaceChildren();
    setBusy(false);
    const { signal } = (reading = new window.AbortController());
    while (!signal.aborted) {
      try {
        await read(id, signal);
      } catch (error) {
        if (!signal.aborted) state(`Not connected: ${(error as Error).message}`);
      }
      await new Promise((done) => setTimeout(done, 1_000)); // then it goes on where it was
    }
  }

  /** Reads events until the connection ends. */
  async function read(id: string, signal: any): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, "last-event-id": String(last) };
    const answer = await window.fetch(`/chats/${id}/events`, { headers, signal });
    if (!answer.ok) throw new Error((await answer.json()).error);
    state("");
    const reader = answer.body.pipeThrough(new window.TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (text + value).split("\n\n");
      text = events.pop()!;
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        if (data && !signal.aborted) show(JSON.parse(data));
      }
    }
  }

  function show(event: ChatEvent): void {
    last = event.id;
    const atEnd = window.innerHeight + window.scrollY > document.body.scrollHeight - 200;
    draw(event);
    if (atEnd) window.scrollTo(0, document.body.scrollHeight);
  }

  function draw(event: ChatEvent): void {
    const { type, text, name = "" } = event;
    if (type === "user") {
      setBusy(true);
      add("user", "You", event);
    } else if (type === "text") add("answer", "zz", event);
    else if (type === "thought") addFolded("Thinking", event);
    else if (type === "call") drawCall(event);
    else if (type === "question") drawQuestion(event);
    else if (type === "answered") settle(name, text);
    else if (type === "models") drawModels(event);
    else if (type === "used") state(text);
    else {
      setBusy(false);
      if (type === "failed") get("talk").append(make("p", text, "bad"));
    }
  }

  function add(kind: string, who: string, { html = "" }: ChatEvent): void {
    const article = make("article", "", kind);
    article.append(make("h2", who), inner(html));
    get("talk").append(article);
  }
  function inner(html: string) {
    const box = make("div");
    box.innerHTML = html;
    return box;
  }
  function addFolded(title: string, { html = "" }: ChatEvent) {
    const details = make("details", "", "folded");
    details.append(make("summary", title), inner(html));
    get("talk").append(details);
    return details;
  }

  const calls = new Map<string, any>();
  function drawCall(event: ChatEvent): void {
    const { name = "", text, html, status } = event;
    const details = calls.get(name)?.isConnected ? calls.get(name) : addFolded(text, event);
    calls.set(name, details);
    if (text) details.firstChild.textContent = text;
    if (html) details.lastChild.innerHTML = html;
    if (status === "completed" || status === "failed")
      details.firstChild.append(
        status === "failed" ? make("span", " ✗", "bad") : make("span", " ✓", "good"),
      );
  }

  // ── Questions ──────────────────────────────────────────────────────────────────────────────────

  const questions = new Map<string, any>();
  function drawQuestion({ name = "", hash = "", text, html = "", options = [] }: ChatEvent): void {
    const box = make("section", "", "question");
    box.ariaLabel = "A question";
    box.append(make("h2", text), inner(html));
    const answer = (chosen: string) =>
      tried(call("POST", `/chats/${chat}/questions/${name}`, { hash, answer: chosen }));
    const row = make("div", "", "tools");
    for (const option of options) {
      const button = make("button", option.name);
      button.onclick = () => answer(option.id);
      row.append(button);
    }
    if (!options.length) {
      const line = make("input");
      line.ariaLabel = "Your answer";
      const button = make("button", "Answer");
      button.onclick = () => answer(line.value);
      row.append(line, button);
    }
    box.append(row);
    questions.set(name, { box, row, options });
    get("talk").append(box);
  }
  function settle(name: string, answer: string): void {
    const question = questions.get(name);
    if (!question) return;
    const chosen = question.options.find(({ id }: { id: string }) => id === answer);
    question.row.replaceChildren(make("p", `Answered: ${chosen?.name ?? answer}`));
    question.box.classList.add("settled");
  }

  // ── The form ───────────────────────────────────────────────────────────────────────────────────

  function drawModels({ text, options = [] }: ChatEvent): void {
    fill(get("models"), options, text);
  }
  function fill(select: any, options: { id: string; name: string }[], current: string): void {
    select.replaceChildren(
      ...options.map(({ id, name }) => {
        const option = make("option", name);
        option.value = id;
        option.selected = id === current;
        return option;
      }),
    );
  }

  function setBusy(busy: boolean): void {
    get("stop").disabled = !busy;
    get("send").disabled = busy;
  }

  const attached = () =>
    Promise.all(
      [...get("files").files].map(
        (file: any) =>
          new Promise((done, failed) => {
            const reader = new FileReader();
            reader.onload = () => done({ type: file.type, base64: reader.result.split(",")[1] });
            reader.onerror = () => failed(new Error(`Cannot read '${file.name}'.`));
            reader.readAsDataURL(file);
          }),
      ),
    );

  async function send(): Promise<void> {
    const text = get("words").value;
    if (!text.trim()) return;
    await call("POST", `/chats/${chat}/messages`, { text, attachments: await attached() });
    get("words").value = "";
    get("files").value = "";
  }
  get("say").onsubmit = (event: any) => {
    event.preventDefault();
    tried(send());
  };
  get("words").onkeydown = (event: any) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    tried(send());
  };
  get("stop").onclick = () => tried(call("POST", `/chats/${chat}/stop`, {}));
  get("models").onchange = (event: any) =>
    tried(call("POST", `/chats/${chat}/model`, { model: event.target.value }));
  get("chats").onchange = (event: any) => void open(event.target.value);
  get("new").onclick = () => tried(begin());
  get("sides").onclick = () => {
    get("sides").ariaPressed = String(document.body.classList.toggle("sides"));
  };

  async function begin(): Promise<void> {
    const { id } = await call("POST", "/chats", {});
    await list(id);
    void open(id);
  }
  async function list(current: string): Promise<{ id: string }[]> {
    const saved: { id: string; title: string }[] = await call("GET", "/chats");
    const rows = saved.map(({ id, title }) => ({ id, name: title || id }));
    if (!rows.some(({ id }) => id === current))
      rows.unshift({ id: current, name: "New conversation" });
    fill(get("chats"), rows, current);
    return rows;
  }

  async function start(): Promise<void> {
    const before = sessionStorage.getItem("chat");
    if (!before) return begin();
    await list(before);
    void open(before);
  }
  tried(start());
}
