// Chromium without a window, for tests of pages.
import { createRequire } from "node:module";
import { after, before } from "node:test";
import { type Browser, chromium, type Page } from "playwright-core";
import { HANGS_MS } from "../../../../test/support/wait.ts";

declare const document: any;
declare const window: any;

let browser: Browser | undefined;
before(async () => {
  browser = await chromium
    .launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"], timeout: HANGS_MS })
    .catch(() => undefined); // the tests say that it is missing
});
after(() => browser?.close());

/** Its own limit of 30 s is reached where the machine has much else to do. */
export async function newPage(): Promise<Page> {
  const page = await browser!.newPage();
  page.setDefaultTimeout(HANGS_MS);
  return page;
}

/** A tab of --serve, in a new conversation or in this one. */
export async function tabOf(url: string, chat?: string): Promise<Page> {
  const page = await newPage();
  if (chat)
    await page.addInitScript((id) => {
      if (!window.sessionStorage.getItem("chat")) window.sessionStorage.setItem("chat", id);
    }, chat);
  await page.goto(url);
  await page.waitForFunction(() => document.querySelector("#models").options.length > 0);
  return page;
}

export async function say(page: Page, words: string): Promise<void> {
  await page.fill("#words", words);
  await page.press("#words", "Enter");
}

/** As an extension of the browser would look for them: the policy of the page is not for it. */
export async function seriousFaults(page: Page): Promise<string[]> {
  const source = createRequire(import.meta.url)("axe-core").source as string;
  const { violations } = (await page.evaluate(`${source}; axe.run()`)) as any;
  return violations
    .filter(({ impact }: any) => /serious|critical/.test(impact))
    .map(({ id, nodes }: any) => `${id}: ${nodes[0].html}`);
}

/** What the Tab key leads to, until it has been everywhere; "!" where no outline shows it. */
export async function tabStops(page: Page): Promise<string[]> {
  const stops: string[] = [];
  await page.evaluate(() => {
    document.body.tabIndex = -1; // the way begins at the top
    document.body.focus();
    document.body.removeAttribute("tabindex");
  });
  for (;;) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const at = document.activeElement;
      if (at === document.body || at.dataset.seen) return "";
      at.dataset.seen = "yes";
      const { outlineStyle, outlineWidth } = window.getComputedStyle(at);
      const isSeen = outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0;
      const name = at.id || at.ariaLabel || at.textContent || at.localName;
      return `${isSeen ? "" : "!"}${name.trim().slice(0, 30)}`;
    });
    if (!stop) return stops;
    stops.push(stop);
  }
}

/** Of all the messages on a page, those that the browser has laid out. */
export const laidOut = (page: Page): Promise<number> =>
  page.$$eval(
    "main > article",
    (all) =>
      all.filter((article: any) =>
        article.firstElementChild.checkVisibility({ contentVisibilityAuto: true }),
      ).length,
  );
