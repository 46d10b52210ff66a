// What the page does in a browser: branches, search, folding, both ways to show differences. It is
// sent as its own source, so it may use nothing from outside of itself.

declare const document: any;
declare const window: any;
declare const CSS: any;
declare const Highlight: any;

export function inBrowser(): void {
  const articles: any[] = [...document.querySelectorAll("main > article")];
  const byId = new Map<string, any>(articles.map((article) => [article.id.slice(1), article]));
  const get = (id: string) => document.getElementById(id);

  // The tree: for each item, those that follow it, and which of them was chosen.
  const children = new Map<string, string[]>();
  for (const article of articles) {
    const { parent } = article.dataset;
    children.set(parent, [...(children.get(parent) ?? []), article.id.slice(1)]);
  }
  const chosen = new Map<string, string>();
  const choose = (leaf: string) => {
    for (let id = leaf; byId.has(id); id = byId.get(id).dataset.parent)
      chosen.set(byId.get(id).dataset.parent, id);
  };
  const follow = () => {
    const shown = new Set<string>();
    let id = "0";
    for (let next = children.get(id); next; next = children.get(id)) {
      id = chosen.get(id) ?? next.at(-1)!;
      shown.add(id);
    }
    for (const article of articles) article.hidden = !shown.has(article.id.slice(1));
  };
  choose(document.body.dataset.leaf);

  const forks = [...children.values()].filter((ids) => ids.length > 1);
  for (const ids of forks)
    for (const [index, id] of ids.entries()) {
      const turn = document.createElement("p");
      turn.className = "branches";
      turn.append(`Branch ${index + 1} of ${ids.length} `);
      for (const [sign, name, to] of [
        ["‹", "the branch before", ids[index - 1]],
        ["›", "the next branch", ids[index + 1]],
      ]) {
        const button = document.createElement("button");
        button.textContent = sign;
        button.ariaLabel = name;
        button.disabled = to === undefined;
        button.onclick = () => {
          chosen.set(byId.get(id).dataset.parent, to!);
          follow();
          byId.get(to!).querySelector(".branches button:enabled")?.focus();
        };
        turn.append(button);
      }
      byId.get(id).prepend(turn);
    }
  if (forks.length) follow();

  // A link to an item shows its branch.
  const goTo = () => {
    const id = window.location.hash.slice(2);
    if (!byId.has(id)) return;
    choose(id);
    follow();
    for (const details of byId.get(id).querySelectorAll("details")) details.open = true;
    byId.get(id).scrollIntoView();
  };
  window.addEventListener("hashchange", goTo);
  goTo();

  const fold = get("fold");
  fold.onclick = () => {
    const open = fold.textContent === "Unfold all";
    for (const details of document.querySelectorAll("main details")) details.open = open;
    fold.textContent = open ? "Fold all" : "Unfold all";
  };
  const sides = get("sides");
  sides.onclick = () => {
    const on = document.body.classList.toggle("sides");
    sides.ariaPressed = String(on);
  };
  const root = document.documentElement;
  get("theme").onclick = () => {
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  };

  // Search: Enter goes from one to the next, Shift+Enter back.
  const MAX_MARKS = 1_000;
  const words = get("words");
  const hits = get("hits");
  let found: any[] = [];
  let current = -1;
  const search = () => {
    const wanted = words.value.trim().toLowerCase();
    found = wanted
      ? articles.filter(({ textContent }) => textContent.toLowerCase().includes(wanted))
      : [];
    current = -1;
    hits.textContent = wanted ? `${found.length} found` : "";
    if (typeof CSS !== "object" && typeof CSS !== "function") return;
    CSS.highlights?.set("found", new Highlight(...rangesOf(wanted)));
  };
  const rangesOf = (wanted: string) => {
    const ranges: any[] = [];
    for (const article of found) {
      const walker = document.createTreeWalker(article, 4);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const text = node.data.toLowerCase();
        for (
          let at = text.indexOf(wanted);
          at >= 0;
          at = text.indexOf(wanted, at + wanted.length)
        ) {
          if (ranges.length >= MAX_MARKS) return ranges;
          const range = document.createRange();
          range.setStart(node, at);
          range.setEnd(node, at + wanted.length);
          ranges.push(range);
        }
      }
    }
    return ranges;
  };
  const step = (by: number) => {
    if (!found.length) return;
    current = (current + by + found.length) % found.length;
    hits.textContent = `${current + 1} of ${found.length}`;
    const id = found[current].id.slice(1);
    choose(id);
    follow();
    const wanted = words.value.trim().toLowerCase();
    for (const details of found[current].querySelectorAll("details"))
      if (details.textContent.toLowerCase().includes(wanted)) details.open = true;
    found[current].scrollIntoView();
  };
  words.oninput = search;
  words.form.onsubmit = (event: any) => {
    event.preventDefault();
    step(1);
  };
  words.onkeydown = (event: any) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
}
