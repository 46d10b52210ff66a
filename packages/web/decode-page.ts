// Turns the readable part of a web page into Markdown, with absolute addresses. It runs in a
// process of its own.
// @ts-expect-error: it has no types
import gfm from "@joplin/turndown-plugin-gfm";
// @ts-expect-error: its types name another module
import domino from "@mixmark-io/domino";
import { Readability } from "@mozilla/readability";
import TurndownService from "turndown";
import type { Job } from "zz/text";

export default ((htmlBytes, { url }: { url: string }) => ({
  value: markdownOf(htmlBytes.toString(), url),
})) satisfies Job;

const INVISIBLE =
  "script, style, noscript, template, svg, canvas, iframe, object, embed, " +
  "dialog, [hidden], [aria-hidden=true]";
const SURROUNDINGS =
  "nav, header, footer, aside, form, button, [role=navigation], [role=banner], [role=contentinfo]";
const LEAST_SHARE = 0.25; // an article with less of a page's text is not what the page is about

function markdownOf(pageHtml: string, pageUrl: string): { text: string; title: string } {
  const article = articleIn(parsePage(pageHtml, pageUrl));
  if (article.content) return { text: toMarkdown(article.content), title: article.title };
  return { text: toMarkdown(findBody(pageHtml, pageUrl)), title: article.title };
}

/** Finds the article. Readability takes the tree apart; a copy would take twice the memory. */
function articleIn(document: any): { content?: any; title: string } {
  const { title } = document;
  const wholeLength = lengthOf(document.body);
  const options = { charThreshold: 200, keepClasses: true, serializer: (node: any) => node };
  const article = new Readability(document, options).parse();
  const hasEnoughText = (article?.length ?? 0) >= wholeLength * LEAST_SHARE;
  return {
    title: oneLine(article?.title || title),
    ...(hasEnoughText && article?.content && { content: article.content }),
  };
}

/** The body without menus, headers and the like, unless they are most of it. */
function findBody(pageHtml: string, pageUrl: string): any {
  const { body } = parsePage(pageHtml, pageUrl);
  const wholeLength = lengthOf(body);
  for (const element of body.querySelectorAll(SURROUNDINGS)) element.remove();
  return lengthOf(body) >= wholeLength * LEAST_SHARE ? body : parsePage(pageHtml, pageUrl).body;
}

/** Parses a page, removes what is not visible, and makes its addresses absolute. */
function parsePage(pageHtml: string, pageUrl: string): any {
  const document: any = domino.createDocument(pageHtml);
  for (const nodeList of [
    document.querySelectorAll("a"),
    document.body.children,
    document.body.attributes,
  ])
    Object.getPrototypeOf(nodeList)[Symbol.iterator] ??= Array.prototype[Symbol.iterator];
  for (const element of document.querySelectorAll(INVISIBLE)) element.remove();
  for (const styledElement of document.querySelectorAll("[style]"))
    if (/display\s*:\s*none|visibility\s*:\s*hidden/i.test(styledElement.getAttribute("style")))
      styledElement.remove();
  const baseHref = document.querySelector("base[href]")?.getAttribute("href");
  const baseUrl =
    baseHref && URL.canParse(baseHref, pageUrl) ? new URL(baseHref, pageUrl).href : pageUrl;
  for (const uriProperty of ["baseURI", "documentURI"])
    Object.defineProperty(document, uriProperty, { value: baseUrl });
  for (const link of document.querySelectorAll("a[href]"))
    link.setAttribute("href", absolute(link.getAttribute("href"), baseUrl));
  for (const image of document.querySelectorAll("img")) {
    const imageSource = image.getAttribute("src") ?? "";
    if (!imageSource || /^data:/i.test(imageSource)) image.remove();
    else image.setAttribute("src", absolute(imageSource, baseUrl));
  }
  return document;
}

const absolute = (address: string, baseUrl: string): string =>
  !address.startsWith("#") && URL.canParse(address, baseUrl)
    ? new URL(address, baseUrl).href
    : address;

const oneLine = (rawText: string): string => rawText.replace(/\s+/g, " ").trim();
const lengthOf = (node: any): number => oneLine(node.textContent ?? "").length;

function toMarkdown(pageBody: any): string {
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
    .turndown(pageBody)
    .replace(/^(\s*(?:-|\d+\.)) +/gm, "$1 ")
    .replace(/[^\S\n]+$/gm, "")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
