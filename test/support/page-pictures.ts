// Makes docs/example.html, the page of a conversation with a scripted model, and the pictures of
// pages in docs/page.md, in Chromium without a window. `npm run pictures` makes them again.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { marked } from "marked";
import { type Browser, chromium } from "playwright-core";
import { serving } from "../../packages/page/test/all/serving.ts";
import { call, fakeOpenAI, say } from "./fake/openai.ts";
import { inRoot } from "./pages.ts";
import { place, ROOT, zz } from "./run.ts";

const STYLE = `
  :root { color-scheme: light dark }
  body { margin: 0 auto; max-width: 900px; padding: 24px; font: 16px/1.5 sans-serif;
    color: light-dark(#1f2328, #e6edf3); background: light-dark(#ffffff, #0d1117) }
  h1, h2 { border-bottom: 1px solid light-dark(#d1d9e0, #30363d); padding-bottom: 6px }
  pre, code { background: light-dark(#f6f8fa, #161b22); border-radius: 6px; font-size: 13.6px }
  pre { padding: 14px; overflow: auto } code { padding: 2px 5px } pre code { padding: 0 }
  a { color: light-dark(#0969da, #58a6ff); text-decoration: none } img { max-width: 100% }
`;

/** The page as a host of repositories shows it, with its pictures from docs/. */
async function shootReadme(browser: Browser): Promise<void> {
  const { cwd } = place();
  const file = join(cwd, "readme.html");
  const base = `<base href="${pathToFileURL(ROOT).href}/">`;
  const head = `<!doctype html><meta charset="utf-8">${base}<style>${STYLE}</style>`;
  writeFileSync(file, `${head}${await marked(inRoot("README.md"))}`);
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.newPage({ viewport: { width: 1000, height: 900 }, colorScheme });
    await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
    await page.screenshot({ path: join(ROOT, "docs", `readme-${colorScheme}.png`) });
    await page.close();
  }
}

/** What the conversations of all pictures are about. */
export const PRICE =
  "export function total(prices: number[]) {\n  return prices.reduce((sum, price) => sum - price, 0);\n}\n";
export const EDIT = { path: "src/price.ts", old_string: "sum - price", new_string: "sum + price" };
const SCRIPT = [
  call(["read_file", { path: "src/price.ts" }]),
  say(
    "It is meant to add prices up, but it subtracts:\n\n```ts\nprices.reduce((sum, price) => sum - price, 0)\n```",
  ),
  call(["edit_file", EDIT]),
  say("Fixed: `total()` adds the prices up."),
];
const SAID = ["what does src/price.ts do?", "fix it"];
declare const document: any;

export const openBrowser = () =>
  chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

export async function makePagePictures(): Promise<void> {
  const browser = await openBrowser();
  try {
    const example = join(ROOT, "docs", "example.html");
    writeFileSync(example, await examplePage());
    await shoot(browser, pathToFileURL(example).href, "page", { width: 760, height: 900 });
    await shootServe(browser);
    await shootReadme(browser);
  } finally {
    await browser.close();
  }
}

/** What `--export ID --page` prints of a conversation of two turns. */
async function examplePage(): Promise<string> {
  const where = place({ "src/price.ts": PRICE });
  const fake = await fakeOpenAI(SCRIPT);
  const model = ["-m", "openai/gpt-4o-mini", "--base-url", fake.url, "--key", "x"];
  for (const words of SAID) await zz(where, [...model, "--allow-write", "-c", "--once", words]);
  await fake.close();
  const [file = ""] = readdirSync(join(where.home, "sessions"));
  const { stdout } = await zz(where, ["--export", file.replace(".jsonl", ""), "--page"]);
  return stdout.replaceAll(where.cwd, "/home/you/shop");
}

async function shootServe(browser: Browser): Promise<void> {
  const where = place({ "src/price.ts": PRICE });
  mkdirSync(where.home, { recursive: true });
  const served = await serving(SCRIPT, {}, where);
  const page = await browser.newPage({ viewport: { width: 760, height: 900 } });
  await page.goto(served.url);
  await page.waitForFunction(() => document.querySelector("#models").options.length > 0);
  for (const words of SAID) {
    await page.waitForSelector("#send:not([disabled])");
    await page.fill("#words", words);
    await page.press("#words", "Enter");
    await page.waitForSelector("#send[disabled]");
  }
  await page.waitForSelector(".question button");
  await page.evaluate((cwd) => {
    for (const path of document.querySelectorAll(".path"))
      path.textContent = path.textContent.replace(cwd, "/home/you/shop");
  }, where.cwd);
  await page.screenshot({ path: join(ROOT, "docs", "serve.png") });
  await page.close();
  await served.end();
}

async function shoot(
  browser: Browser,
  url: string,
  name: string,
  viewport: { width: number; height: number },
): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    const page = await browser.newPage({ viewport, colorScheme });
    await page.goto(url);
    await page.screenshot({ path: join(ROOT, "docs", `${name}-${colorScheme}.png`) });
    await page.close();
  }
}
