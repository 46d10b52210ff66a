// Makes the pictures of docs/phone.md: a question as zz --telegram sends it, drawn as Telegram would
// show it, in Chromium without a window. `npm run pictures` makes them again.
import { join } from "node:path";
import { ALICE, type Shown } from "../../packages/telegram/test/fake-bot-api.ts";
import { parseMarkdown } from "../../packages/telegram/test/parse-markdown.ts";
import { PAIRED, phone } from "../../packages/telegram/test/phone.ts";
import { call, say } from "./fake/openai.ts";
import { EDIT, openBrowser, PRICE } from "./page-pictures.ts";
import { place, ROOT } from "./run.ts";

const SCRIPT = [
  call(["read_file", { path: "src/price.ts" }]),
  call(["edit_file", EDIT]),
  say("Fixed: `total()` adds the prices up."),
];
const WORDS = "total() subtracts the prices, fix it";

export async function makePhonePictures(): Promise<void> {
  const where = place({ "src/price.ts": PRICE }, {}, { "telegram.json": PAIRED });
  const { api, child } = await phone(SCRIPT, { where, isPaired: false });
  api.say(WORDS, { from: ALICE });
  const question = await api.asks(/wants to change/);
  child.kill("SIGKILL");
  const browser = await openBrowser();
  try {
    for (const theme of ["dark", "light"] as const) {
      const page = await browser.newPage({ viewport: { width: 400, height: 600 } });
      await page.setContent(pageOf(question, theme));
      const file = join(ROOT, "docs", `phone-${theme}.png`);
      await page.locator("main").screenshot({ path: file });
      await page.close();
    }
  } finally {
    await browser.close();
  }
}

const COLOURS = {
  light: { back: "#d5dfe8", own: "#e1fbd6", other: "#fff", text: "#111", code: "#eef2f6", button: "#7a96adcc" },
  dark: { back: "#0f1620", own: "#2b5278", other: "#182533", text: "#f1f3f5", code: "#101c28", button: "#33495e" },
}; // biome-ignore format: a table

function pageOf({ markdown = "", buttons }: Shown, theme: keyof typeof COLOURS): string {
  const { back, own, other, text, code, button } = COLOURS[theme];
  const style = `body{margin:0}main{box-sizing:border-box;width:400px;padding:16px;background:${back};color:${text};
    font:15px/1.4 system-ui,"DejaVu Sans",sans-serif;overflow-wrap:anywhere}
    div{margin:0 0 8px;padding:8px 12px;border-radius:14px;width:fit-content;max-width:320px;background:${other}}
    .own{background:${own};margin-left:auto}.box{max-width:352px;width:352px;box-sizing:border-box}
    pre{margin:6px 0 0;padding:8px;border-radius:8px;background:${code};white-space:pre-wrap;
    font:12.5px/1.45 "DejaVu Sans Mono",monospace}
    b.button{display:block;margin:4px 0;padding:8px;width:336px;border-radius:10px;background:${button};color:#fff;
    text-align:center;font-weight:600}`;
  const rows = buttons.map((one) => `<b class="button">${htmlOf(one.text)}</b>`).join("");
  const body = `<div class="own">${htmlOf(WORDS)}</div><div>⚙ read_file src/price.ts</div>`;
  return `<style>${style}</style><main>${body}<div class="box">${htmlOfMarkdown(markdown)}</div>${rows}</main>`;
}

/** What Telegram makes of the entities that a question has. */
function htmlOfMarkdown(markdown: string): string {
  let html = htmlOf(parseMarkdown(markdown).text);
  for (const [mark, shown] of parseMarkdown(markdown).entities) {
    const tag = mark === "*" ? "b" : "pre";
    const text = htmlOf(shown);
    html = html.replace(text, () => `<${tag}>${text.trimEnd()}</${tag}>`);
  }
  return html.replace(/<\/b>\n/, "</b>").replace(/\n(?=<pre>)/g, "");
}

const htmlOf = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
