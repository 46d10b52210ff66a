// Turns the readable part of a web page into Markdown, with absolute addresses. It runs in a
// process of its own.
// @ts-expect-error: it has no types
import gfm from "@joplin/turndown-plugin-gfm";
// @ts-expect-error: its types name another module
import domino from "@mixmark-io/domino";
import { Readability } from "@mozilla/readability";
import TurndownService from "turndown";
import type { Job } from "zz/text";

export default ((html, { url }: { url: string }) => ({
  value: markdownOf(html.toString(), url),
})) satisfies Job;

const SILENT =
  "script, style, noscript, template, svg, canvas, iframe, object, embed, dialog, [hidden], [aria-hidden=true]";
const AROUND =
  "nav, header, footer, aside, form, button, [role=navigation], [role=banner], [role=contentinfo]";
const LEAST_SHARE = 0.25; // an article with less of a page's text is not what the page is about

function markdownOf(html: string, url: string): { text: string; title: string } {
  const article = articleIn(opened(html, url));
  if (article.content) return { text: toMarkdown(article.content), title: article.title };
  return { text: toMarkdown(bodyOf(html, url)), title: article.title };
}

/** Finds the article. Readability takes the tree apart; a copy would take twice the memory. */
function articleIn(document: any): { content?: any; title: string } {
  const { title } = document;
  const wholeLength = lengthOf(document.body);
  const options = { charThreshold: 200, keepClasses: true, serializer: (node: any) => node };
  const article = new Readability(document, options).parse();
  const isMost = (article?.length ?? 0) >= wholeLength * LEAST_SHARE;
  return {
    title: oneLine(article?.title || title),
    ...(isMost && article?.content && { content: article.content }),
  };
}

/** The body without menus, headers and the like, unless they are most of it. */
function bodyOf(html: string, url: string): any {
  const { body } = opened(html, url);
  const wholeLength = lengthOf(body);
  for (const element of body.querySelectorAll(AROUND)) element.remove();
  return lengthOf(body) >= wholeLength * LEAST_SHARE ? body : opened(html, url).body;
}

/** Parses a page, removes what is not visible, and makes its addresses absolute. */
function opened(html: string, url: string): any {
  const document: any = domino.createDocument(html);
  for (const list of [
    document.querySelectorAll("a"),
    document.body.children,
    document.body.attributes,
  ])
    Object.getPrototypeOf(list)[Symbol.iterator] ??= Array.prototype[Symbol.iterator];
  for (const element of document.querySelectorAll(SILENT)) element.remove();
  for (const one of document.querySelectorAll("[style]"))
    if (/display\s*:\s*none|visibility\s*:\s*hidden/i.test(one.getAttribute("style"))) one.remove();
  const base = document.querySelector("base[href]")?.getAttribute("href");
  const from = base && URL.canParse(base, url) ? new URL(base, url).href : url;
  for (const name of ["baseURI", "documentURI"])
    Object.defineProperty(document, name, { value: from });
  for (const link of document.querySelectorAll("a[href]"))
    link.setAttribute("href", absolute(link.getAttribute("href"), from));
  for (const image of document.querySelectorAll("img")) {
    const src = image.getAttribute("src") ?? "";
    if (!src || /^data:/i.test(src)) image.remove();
    else image.setAttribute("src", absolute(src, from));
  }
  return document;
}

const absolute = (address: string, base: string): string =>
  !address.startsWith("#") && URL.canParse(address, base) ? new URL(address, base).href : address;

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
const lengthOf = (node: any): number => oneLine(node.textContent ?? "").length;

function toMarkdown(body: any): string {
  const service = new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
    hr: "---",
  });
  service.use(gfm.gfm);
  service.addRule("anchors", {
    filter: (node) =>
      node.nodeName === "A" && /^(#|javascript:)/i.test((node as any).getAttribute("href") ?? "#"),
    replacement: (content) => content,
  });
  return service
    .turndown(body)
    .replace(/^(\s*(?:-|\d+\.)) +/gm, "$1 ")
    .replace(/[^\S\n]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
