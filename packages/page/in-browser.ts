// What the page of a session does in a browser: branches, search, folding, both ways to show
// differences. These functions are sent as their own source, so they may use nothing but one
// another.

declare const document: any;
declare const window: any;
declare const CSS: any;
declare const Highlight: any;

/** The tree of what was said: for each item those that follow it, and which of them is shown. */
interface Tree {
  articles: any[];
  byId: Map<string, any>;
  children: Map<string, string[]>;
  chosen: Map<string, string>;
}

export const READING = [
  start,
  treeOf,
  chooseBranchOf,
  showChosen,
  addBranchButtons,
  followLinks,
  listenToButtons,
  listenToSearch,
  markWords,
  rangesOf,
];

function start(): void {
  const tree = treeOf();
  chooseBranchOf(tree, document.body.dataset.leaf);
  for (const ids of tree.children.values()) if (ids.length > 1) addBranchButtons(tree, ids);
  showChosen(tree);
  followLinks(tree);
  listenToButtons();
  listenToSearch(tree);
}

// ── Branches ─────────────────────────────────────────────────────────────────────────────────────

function treeOf(): Tree {
  const articles: any[] = [...document.querySelectorAll("main > article")];
  const byId = new Map<string, any>(articles.map((article) => [article.id.slice(1), article]));
  const children = new Map<string, string[]>();
  for (const article of articles) {
    const { parent } = article.dataset;
    children.set(parent, [...(children.get(parent) ?? []), article.id.slice(1)]);
  }
  return { articles, byId, children, chosen: new Map() };
}

/** Chooses all that leads to this item. */
function chooseBranchOf({ byId, chosen }: Tree, leaf: string): void {
  for (let id = leaf; byId.has(id); id = byId.get(id).dataset.parent)
    chosen.set(byId.get(id).dataset.parent, id);
}

function showChosen({ articles, children, chosen }: Tree): void {
  const shown = new Set<string>();
  let id = "0";
  for (let next = children.get(id); next; next = children.get(id)) {
    id = chosen.get(id) ?? next.at(-1)!;
    shown.add(id);
  }
  for (const article of articles) article.hidden = !shown.has(article.id.slice(1));
}

/** To each of these items, ways to those before and after it that answer the same. */
function addBranchButtons(tree: Tree, ids: string[]): void {
  for (const [index, id] of ids.entries()) {
    const turn = document.createElement("p");
    turn.className = "branches";
    turn.append(`Branch ${index + 1} of ${ids.length} `);
    for (const [sign, name, to] of [
      ["‹", "the branch before", ids[index - 1]],
      ["›", "the next branch", ids[index + 1]],
    ]) {
      const button = document.createElement("button");
      Object.assign(button, { textContent: sign, ariaLabel: name, disabled: to === undefined });
      button.onclick = () => {
        tree.chosen.set(tree.byId.get(id).dataset.parent, to!);
        showChosen(tree);
        tree.byId.get(to!).querySelector(".branches button:enabled")?.focus();
      };
      turn.append(button);
    }
    tree.byId.get(id).prepend(turn);
  }
}

/** A link to an item shows its branch. */
function followLinks(tree: Tree): void {
  const follow = () => {
    const article = tree.byId.get(window.location.hash.slice(2));
    if (!article) return;
    chooseBranchOf(tree, article.id.slice(1));
    showChosen(tree);
    for (const details of article.querySelectorAll("details")) details.open = true;
    article.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  follow();
}

// ── Buttons ──────────────────────────────────────────────────────────────────────────────────────

function listenToButtons(): void {
  const fold = document.getElementById("fold");
  fold.onclick = () => {
    const open = fold.textContent === "Unfold all";
    for (const details of document.querySelectorAll("main details")) details.open = open;
    fold.textContent = open ? "Fold all" : "Unfold all";
  };
  const sides = document.getElementById("sides");
  sides.onclick = () => {
    sides.ariaPressed = String(document.body.classList.toggle("sides"));
  };
  const { dataset } = document.documentElement;
  document.getElementById("theme").onclick = () => {
    const { matches } = window.matchMedia("(prefers-color-scheme: dark)");
    const isDark = dataset.theme ? dataset.theme === "dark" : matches;
    dataset.theme = isDark ? "light" : "dark";
  };
}

// ── Search ───────────────────────────────────────────────────────────────────────────────────────

/** Enter goes from one to the next, Shift+Enter back. */
function listenToSearch(tree: Tree): void {
  const words = document.getElementById("words");
  const hits = document.getElementById("hits");
  const holds = (element: any, wanted: string) =>
    element.textContent.toLowerCase().includes(wanted);
  const wantedWords = () => words.value.trim().toLowerCase();
  let found: any[] = [];
  let current = -1;
  words.oninput = () => {
    const wanted = wantedWords();
    found = wanted ? tree.articles.filter((article) => holds(article, wanted)) : [];
    current = -1;
    hits.textContent = wanted ? `${found.length} found` : "";
    markWords(found, wanted);
  };
  const step = (by: number) => {
    if (!found.length) return;
    current = (current + by + found.length) % found.length;
    hits.textContent = `${current + 1} of ${found.length}`;
    const article = found[current];
    chooseBranchOf(tree, article.id.slice(1));
    showChosen(tree);
    for (const details of article.querySelectorAll("details"))
      if (holds(details, wantedWords())) details.open = true;
    article.scrollIntoView();
  };
  words.form.onsubmit = (event: any) => event.preventDefault();
  words.onkeydown = (event: any) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
}

/** Where the browser can mark words without changing the page. */
function markWords(articles: any[], wanted: string): void {
  if (typeof Highlight === "undefined") return;
  CSS.highlights.set("found", new Highlight(...rangesOf(articles, wanted)));
}

function rangesOf(articles: any[], wanted: string): any[] {
  const mostMarks = 1_000;
  const ranges: any[] = [];
  for (const article of articles) {
    const walker = document.createTreeWalker(article, 4); // texts
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      let index = text.indexOf(wanted);
      for (; index >= 0; index = text.indexOf(wanted, index + wanted.length)) {
        if (ranges.length >= mostMarks) return ranges;
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + wanted.length);
        ranges.push(range);
      }
    }
  }
  return ranges;
}
