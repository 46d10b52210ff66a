// Makes docs/readme-light.png and docs/readme-dark.png: the first screen of README.md as a newcomer
// sees it, in Chromium without a window. `npm run pictures` makes them again.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { marked } from "marked";
import type { Browser } from "playwright-core";
import { inRoot } from "./pages.ts";
import { place, ROOT } from "./run.ts";

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
export async function shootReadme(browser: Browser): Promise<void> {
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
