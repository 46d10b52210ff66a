// The page in a real browser: Chromium without a window.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { call, say } from "../../../../test/support/fake/openai.ts";
import { needs } from "../../../../test/support/needs.ts";
import { place, zz } from "../../../../test/support/run.ts";
import { changed, ENDLESS, HOSTILE, ID, said, saveSession } from "../saved-session.ts";
import { laidOut, newPage, seriousFaults } from "./in-browser.ts";
import { serving } from "./serving.ts";

declare const window: any;
declare const document: any;

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const test = needs("chromium");

/** Opens the page of a session with these parts, and keeps what it asks for and what goes wrong. */
async function open(parts: Parameters<typeof saveSession>[1], title?: string) {
  const where = place();
  saveSession(where, parts, title);
  const { stdout } = await zz(where, ["--export", ID, "--page"]);
  const file = join(where.home, "talk.html");
  writeFileSync(file, stdout);
  const page = await newPage();
  const requests: string[] = [];
  const errors: string[] = [];
  page.on("request", (request) => void requests.push(request.url()));
  page.on("pageerror", (error) => void errors.push(error.message));
  page.on("console", (line) => void (line.type() === "error" && errors.push(line.text())));
  await page.goto(pathToFileURL(file).href);
  const elsewhere = () => requests.filter((url) => !/^(file|data):/.test(url));
  return { page, elsewhere, errors, where };
}

const shown = (page: Page): Promise<(string | null)[]> =>
  page.$$eval("main > article:not([hidden]) > p:not(.when, .branches)", (all) =>
    all.map(({ textContent }) => textContent),
  );

describe("In a browser, the page", () => {
  test("does nothing that a hundred hostile texts want: said, in results, names and titles", async () => {
    equal(new Set(HOSTILE).size, 100);
    const [short, long] = [HOSTILE.slice(0, -4), HOSTILE.slice(-4)];
    const called = short.flatMap((text, index) => {
      const id = `call ${index}`;
      const name = "read_file";
      const calls = [
        { id, name, args: { path: text } },
        { id: text, name: text, args: {} },
      ];
      return [
        said("assistant", "", { calls, thinking: text, model: text }),
        { type: "message" as const, message: { role: "tool" as const, id, name, text } },
        changed(`/p/${text}`, text, `${text} `),
      ];
    });
    const { page, elsewhere, errors } = await open(
      [
        ...[...short, ...long].map((text) => said("assistant", text)),
        ...[...short, ...long].map((text) => said("user", text)),
        ...called,
      ],
      short.join(" "),
    );
    await page.click("#fold");
    equal(await page.evaluate(() => window.hacked), undefined);
    deepEqual(elsewhere(), []);
    deepEqual(errors, []);
    equal(
      await page.$$eval("main script, main style, main iframe, main img", (all) => all.length),
      0,
    );
    equal(await page.isVisible("main"), true);
  });

  test("goes from branch to branch, and a link leads into another branch", async () => {
    const { page } = await open([
      said("user", "one"),
      said("assistant", "first try"),
      { ...said("assistant", "second try"), parent: 1 },
      said("user", "thanks"),
    ]);
    deepEqual(await shown(page), ["one", "second try", "thanks"]);
    await page.click("#e3 button[aria-label='the branch before']");
    deepEqual(await shown(page), ["one", "first try"]);
    await page.evaluate(() => void (window.location.hash = "#e4"));
    await page.waitForSelector("#e4:not([hidden])");
    deepEqual(await shown(page), ["one", "second try", "thanks"]);
  });

  test("keeps the lines that a person wrote, and breaks no word of a table", async () => {
    const { page } = await open([
      said("user", "one\ntwo"),
      said(
        "assistant",
        `| ${"wide ".repeat(20)} | before | after |\n|-|-|-|\n| ${"x ".repeat(80)} | 1 | 2 |`,
      ),
    ]);
    await page.setViewportSize({ width: 360, height: 640 });
    equal(await page.innerText("article.user > p"), "one\ntwo");
    const isBroken = await page.$eval("th:last-child", (cell: any) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getClientRects().length > 1;
    });
    equal(isBroken, false);
  });

  test("finds words, also in what is folded, and shows them", async () => {
    const call = { id: "1", name: "read_file", args: { path: "a.ts" } };
    const { page } = await open([
      said("user", "look"),
      said("assistant", "", { calls: [call] }),
      { type: "message", message: { role: "tool", id: "1", name: "read_file", text: "a needle" } },
      said("assistant", "Needle it is."),
    ]);
    await page.fill("#words", "needle");
    equal(await page.textContent("#hits"), "2 found");
    await page.press("#words", "Enter");
    equal(await page.textContent("#hits"), "1 of 2");
    equal(await page.$eval("#e2 details", (details) => (details as any).open), true);
  });

  test("shows a difference in one column, or side by side", async () => {
    const { page } = await open([said("user", "go"), changed("/p/a.ts", "a\nb\n", "a\nc\n")]);
    const across = () =>
      page.$eval("tr.changed", (row: any) => {
        const [old, now] = [...row.children].map((cell: any) => cell.getBoundingClientRect());
        return old.top === now.top && old.left < now.left;
      });
    equal(await across(), false);
    await page.click("#sides");
    equal(await across(), true);
  });

  test("is light or dark as the system is, or as is chosen, and fits a phone", async () => {
    const { page } = await open([
      said(
        "assistant",
        `${"x".repeat(3_000)}\n\n\`\`\`\n${"y".repeat(500)}\n\`\`\`\n\n|a|b|\n|-|-|\n|${"z".repeat(300)}|b|`,
      ),
      changed("/p/a.ts", "a".repeat(400), "b".repeat(400)),
    ]);
    const back = () =>
      page.$eval("body", (body) => (window as any).getComputedStyle(body).backgroundColor);
    await page.emulateMedia({ colorScheme: "light" });
    equal(await back(), "rgb(255, 255, 255)");
    await page.emulateMedia({ colorScheme: "dark" });
    equal(await back(), "rgb(13, 17, 23)");
    await page.click("#theme");
    equal(await back(), "rgb(255, 255, 255)");
    await page.setViewportSize({ width: 360, height: 640 });
    equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  });

  for (const colorScheme of ["light", "dark"] as const)
    test(`has no fault that axe finds serious, ${colorScheme}`, async () => {
      const call = { id: "1", name: "read_file", args: { path: "a.ts" } };
      const { page } = await open([
        said("user", "# look\n\n[here](https://a.example) `code`\n\n> quoted"),
        said("assistant", '```ts\nconst a = /x/.test("y"); // why\n```', {
          calls: [call],
          thinking: "hm",
        }),
        changed("/p/a.ts", "let a = 1; // x\n", 'let b = "2";\n'),
        said(
          "assistant",
          `\`\`\`\n${"y".repeat(500)}\n\`\`\`\n\n|a|b|\n|-|-|\n|${"z".repeat(300)}|b|`,
        ),
        said("user", "once more"),
        { ...said("user", "again"), parent: 4 },
      ]);
      await page.emulateMedia({ colorScheme });
      await page.click("#fold");
      deepEqual(await seriousFaults(page), []);
    });

  test("of 5,000 messages is there at once: only what is seen is laid out", async () => {
    const { page } = await open(ENDLESS);
    equal(await page.$$eval("main > article", (all) => all.length), 5_000);
    const count = await laidOut(page);
    ok(count < 200, `${count} are laid out`);
  });
});

describe("In a browser, --serve", () => {
  const EDIT = { path: "a.ts", old_string: "let a = 1;", new_string: "let a = 2;" };

  test("converses in two windows: a question answered in one is answered in both", async () => {
    const served = await serving(
      [call(["read_file", { path: "a.ts" }]), call(["edit_file", EDIT]), say("It is **2** now.")],
      { "a.ts": "let a = 1;\n" },
    );
    const first = await newPage();
    await first.goto(served.url);
    await first.waitForFunction(() => document.querySelector("#models").options.length > 0);
    equal(await first.evaluate(() => window.location.hash), "", "the token leaves the address");
    await first.fill("#words", "make it 2");
    await first.press("#words", "Enter");
    await first.waitForSelector(".question button");
    const chat = await first.evaluate(() => window.sessionStorage.getItem("chat"));
    const second = await newPage();
    await second.goto(served.url.replace("/#", "/?again#"));
    await second.evaluate((id) => window.sessionStorage.setItem("chat", id), chat);
    await second.reload();
    await second.waitForSelector(".question ins");
    await second.click(".question button:has-text('Allow')");
    for (const page of [first, second]) {
      await page.waitForSelector(".question.settled");
      await page.waitForSelector("article.answer strong");
      equal(await page.textContent(".settled .tools"), "Answered: Allow");
    }
  });

  test("gives files of any kind along, and says what is too large", async () => {
    const served = await serving([say("Seen.")]);
    const page = await newPage();
    await page.goto(served.url);
    await page.waitForFunction(() => document.querySelector("#models").options.length > 0);
    const file = (name: string, mimeType: string, buffer: Buffer) => ({ name, mimeType, buffer });
    await page.setInputFiles("#files", [file("big.bin", "", Buffer.alloc(21_000_000))]);
    await page.fill("#words", "look");
    await page.press("#words", "Enter");
    await page.waitForFunction(() => /21 MB, and 20 are/.test(document.body.textContent));
    equal(await page.inputValue("#words"), "look");
    const names = ["notes.txt", "<img src=x>.pdf", "..", "a b.bin"];
    await page.setInputFiles("#files", [
      ...names.map((name) => file(name, "", Buffer.from([0, 1, 255]))),
      file("dot.png", "image/png", Buffer.from(PIXEL, "base64")),
      file("empty.txt", "text/plain", Buffer.alloc(0)),
    ]);
    await page.press("#words", "Enter");
    await page.waitForSelector("article.answer");
    const sent = JSON.stringify(served.model.requests.at(-1)!.body);
    const paths = [...sent.matchAll(/\/[^"\\\n]*page-files\/\w+\/([^"\\\n]+)/g)];
    deepEqual(
      paths.map(([, name]) => name!.replace(/[).\s]+$/, "")).map((name) => name || "_"),
      ["notes.txt", "_img src_x_.pdf", "_", "a b.bin", "empty.txt"],
    );
    match(sent, /data:image\/\w+;base64,iVBORw0KGgo/);
  });

  test("does nothing that hostile answers want, and has no fault that axe finds serious", async () => {
    const served = await serving([say(HOSTILE.slice(0, -4).join("\n\n"))]);
    const page = await newPage();
    const requests: string[] = [];
    page.on("request", (request) => void requests.push(request.url()));
    await page.goto(served.url);
    await page.waitForFunction(() => document.querySelector("#models").options.length > 0);
    await page.fill("#words", "<script>window.hacked = 1</script>");
    await page.press("#words", "Enter");
    await page.waitForSelector("article.answer");
    equal(await page.evaluate(() => window.hacked), undefined);
    deepEqual(
      requests.filter((url) => !url.startsWith(served.origin)),
      [],
    );
    equal(await page.$$eval("main :is(script, style, iframe, img)", (all) => all.length), 0);
    deepEqual(await seriousFaults(page), []);
  });
});
