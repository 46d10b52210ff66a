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
  startPage,
  buildTree,
  chooseBranchOf,
  showChosen,
  addBranchButtons,
  followLinks,
  listenToButtons,
  listenToSearch,
  markWords,
  rangesOf,
];

function startPage(): void {
  const sessionTree = buildTree();
  chooseBranchOf(sessionTree, document.body.dataset.leaf);
  for (const siblingIds of sessionTree.children.values())
    if (siblingIds.length > 1) addBranchButtons(sessionTree, siblingIds);
  showChosen(sessionTree);
  followLinks(sessionTree);
  listenToButtons();
  listenToSearch(sessionTree);
}

// ── Branches ─────────────────────────────────────────────────────────────────────────────────────

function buildTree(): Tree {
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
function chooseBranchOf({ byId, chosen }: Tree, leafId: string): void {
  for (let id = leafId; byId.has(id); id = byId.get(id).dataset.parent)
    chosen.set(byId.get(id).dataset.parent, id);
}

function showChosen({ articles, children, chosen }: Tree): void {
  const shownIds = new Set<string>();
  let id = "0";
  for (let followers = children.get(id); followers; followers = children.get(id)) {
    id = chosen.get(id) ?? followers.at(-1)!;
    shownIds.add(id);
  }
  for (const article of articles) article.hidden = !shownIds.has(article.id.slice(1));
}

/** To each of these items, ways to those before and after it that answer the same. */
function addBranchButtons(sessionTree: Tree, siblingIds: string[]): void {
  for (const [index, id] of siblingIds.entries()) {
    const branchLine = document.createElement("p");
    branchLine.className = "branches";
    branchLine.append(`Branch ${index + 1} of ${siblingIds.length} `);
    for (const [buttonSign, buttonLabel, targetId] of [
      ["‹", "the branch before", siblingIds[index - 1]],
      ["›", "the next branch", siblingIds[index + 1]],
    ]) {
      const branchButton = document.createElement("button");
      Object.assign(branchButton, {
        textContent: buttonSign,
        ariaLabel: buttonLabel,
        disabled: targetId === undefined,
      });
      branchButton.onclick = () => {
        sessionTree.chosen.set(sessionTree.byId.get(id).dataset.parent, targetId!);
        showChosen(sessionTree);
        sessionTree.byId.get(targetId!).querySelector(".branches button:enabled")?.focus();
      };
      branchLine.append(branchButton);
    }
    sessionTree.byId.get(id).prepend(branchLine);
  }
}

/** A link to an item shows its branch. */
function followLinks(sessionTree: Tree): void {
  const followHash = () => {
    const article = sessionTree.byId.get(window.location.hash.slice(2));
    if (!article) return;
    chooseBranchOf(sessionTree, article.id.slice(1));
    showChosen(sessionTree);
    for (const details of article.querySelectorAll("details")) details.open = true;
    article.scrollIntoView();
  };
  window.addEventListener("hashchange", followHash);
  followHash();
}

// ── Buttons ──────────────────────────────────────────────────────────────────────────────────────

function listenToButtons(): void {
  const foldButton = document.getElementById("fold");
  foldButton.onclick = () => {
    const opensAll = foldButton.textContent === "Unfold all";
    for (const details of document.querySelectorAll("main details")) details.open = opensAll;
    foldButton.textContent = opensAll ? "Fold all" : "Unfold all";
  };
  const sidesButton = document.getElementById("sides");
  sidesButton.onclick = () => {
    sidesButton.ariaPressed = String(document.body.classList.toggle("sides"));
  };
  const { dataset } = document.documentElement;
  document.getElementById("theme").onclick = () => {
    const { matches } = window.matchMedia("(prefers-color-scheme: dark)");
    const isDarkNow = dataset.theme ? dataset.theme === "dark" : matches;
    dataset.theme = isDarkNow ? "light" : "dark";
  };
}

// ── Search ───────────────────────────────────────────────────────────────────────────────────────

/** Enter goes from one to the next, Shift+Enter back. */
function listenToSearch(sessionTree: Tree): void {
  const searchInput = document.getElementById("words");
  const hitsOutput = document.getElementById("hits");
  const holdsText = (element: any, wantedText: string) =>
    element.textContent.toLowerCase().includes(wantedText);
  const wantedWords = () => searchInput.value.trim().toLowerCase();
  let hitArticles: any[] = [];
  let current = -1;
  searchInput.oninput = () => {
    const wantedText = wantedWords();
    hitArticles = wantedText
      ? sessionTree.articles.filter((article) => holdsText(article, wantedText))
      : [];
    current = -1;
    hitsOutput.textContent = wantedText ? `${hitArticles.length} found` : "";
    markWords(hitArticles, wantedText);
  };
  const stepToHit = (stepCount: number) => {
    if (!hitArticles.length) return;
    current = (current + stepCount + hitArticles.length) % hitArticles.length;
    hitsOutput.textContent = `${current + 1} of ${hitArticles.length}`;
    const article = hitArticles[current];
    chooseBranchOf(sessionTree, article.id.slice(1));
    showChosen(sessionTree);
    for (const details of article.querySelectorAll("details"))
      if (holdsText(details, wantedWords())) details.open = true;
    article.scrollIntoView();
  };
  searchInput.form.onsubmit = (submitEvent: any) => submitEvent.preventDefault();
  searchInput.onkeydown = (keyEvent: any) => {
    if (keyEvent.key !== "Enter") return;
    keyEvent.preventDefault();
    stepToHit(keyEvent.shiftKey ? -1 : 1);
  };
}

/** Where the browser can mark words without changing the page. */
function markWords(articles: any[], wantedText: string): void {
  if (typeof Highlight === "undefined") return;
  CSS.highlights.set("found", new Highlight(...rangesOf(articles, wantedText)));
}

function rangesOf(articles: any[], wantedText: string): any[] {
  const mostMarks = 1_000;
  const hitRanges: any[] = [];
  for (const article of articles) {
    const textWalker = document.createTreeWalker(article, 4); // texts
    for (let textNode = textWalker.nextNode(); textNode; textNode = textWalker.nextNode()) {
      const lowerCaseText = textNode.data.toLowerCase();
      let hitIndex = lowerCaseText.indexOf(wantedText);
      for (
        ;
        hitIndex >= 0;
        hitIndex = lowerCaseText.indexOf(wantedText, hitIndex + wantedText.length)
      ) {
        if (hitRanges.length >= mostMarks) return hitRanges;
        const hitRange = document.createRange();
        hitRange.setStart(textNode, hitIndex);
        hitRange.setEnd(textNode, hitIndex + wantedText.length);
        hitRanges.push(hitRange);
      }
    }
  }
  return hitRanges;
}
