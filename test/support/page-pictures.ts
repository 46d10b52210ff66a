// Makes docs/example.html, the page of a conversation with a scripted model, and the pictures of
// pages in docs/page.md, in Chromium without a window. `npm run pictures` makes them again.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium } from "playwright-core";
import { serving } from "../../packages/page/test/all/serving.ts";
import { call, fakeOpenAI, say } from "./fake/openai.ts";
import { shootReadme } from "./readme-picture.ts";
import { place, ROOT, zz } from "./run.ts";

const PRICE =
  "export function total(prices: number[]) {\n  return prices.reduce((sum, price) => sum - price, 0);\n}\n";
const EDIT = { path: "src/price.ts", old_string: "sum - price", new_string: "sum + price" };
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

export async function makePagePictures(): Promise<void> {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
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
