// The page of --serve in Chromium: long conversations, files, what holds events back, the keyboard.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe } from "node:test";
import { call, say } from "../../../../test/support/fake/openai.ts";
import { needs } from "../../../../test/support/needs.ts";
import { place } from "../../../../test/support/run.ts";
import { ENDLESS, ID, saveSession } from "../saved-session.ts";
import { laidOut, say as sayTo, seriousFaults, tabOf, tabStops } from "./in-browser.ts";
import { serving } from "./serving.ts";

declare const window: any;
declare const document: any;

const test = needs("chromium");
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const EDIT = { path: "a.ts", old_string: "let a = 1;", new_string: "let a = 2;" };
const READ_AND_EDIT = [call(["read_file", { path: "a.ts" }]), call(["edit_file", EDIT])];
const FILES = { "a.ts": "let a = 1;\n" };

describe("In a browser, --serve", () => {
  test("shows the end of a conversation of 5,000 messages, laid out where it is seen", async () => {
    const where = place();
    saveSession(where, ENDLESS);
    const served = await serving([say("Yes.")], {}, where);
    const page = await tabOf(served.url, ID);
    await page.waitForFunction(() => {
      const { bottom, height } = document.querySelector("#talk").lastChild.getBoundingClientRect();
      return height > 0 && bottom > 0 && bottom <= window.innerHeight;
    });
    equal(await page.$$eval("main > article", (all) => all.length), 5_000);
    const count = await laidOut(page);
    ok(count < 200, `${count} are laid out`);
    equal(await page.isEnabled("#send"), true, "nothing is under way");
    await sayTo(page, "still there?");
    await page.waitForFunction(
      () => document.querySelector("#talk").lastChild.lastChild.textContent.trim() === "Yes.",
    );
  });

  test("shows the names and sizes of what went along, pictures also when it is opened again", async () => {
    const where = place();
    const served = await serving([say("Seen.")], {}, where);
    const page = await tabOf(served.url);
    const file = (name: string, mimeType: string, buffer: Buffer) => ({ name, mimeType, buffer });
    await page.setInputFiles("#files", [
      file("dot.png", "image/png", Buffer.from(PIXEL, "base64")),
      file("<b>.txt", "text/plain", Buffer.from("x")),
      file("long.csv", "text/csv", Buffer.alloc(123_400, 65)),
    ]);
    await sayTo(page, "look");
    await page.waitForSelector("article.answer");
    deepEqual(
      await page.$$eval("article.user .path", (all) => all.map(({ textContent }) => textContent)),
      ["dot.png 70 bytes", "_b_.txt 1 byte", "long.csv 123 kB"],
    );
    equal(await page.locator("article.user img").count(), 1);
    served.child.kill("SIGINT");
    await served.exited;
    const again = await serving([], {}, where);
    const [{ id }] = (await again.ask("GET", "/chats")).body;
    const back = await tabOf(again.url, id);
    await back.waitForSelector("article.user img");
    equal(await back.locator("article.user").count(), 1);
    match((await back.textContent("article.user")) ?? "", /page-files\/\w+\/long\.csv/);
  });

  test("gives back what could not be sent, and keeps what is typed while it is sent", async () => {
    const served = await serving([say("Heard.")]);
    const page = await tabOf(served.url);
    const held = Promise.withResolvers<void>();
    await page.route("**/messages", (route) => route.abort(), { times: 1 });
    await sayTo(page, "hello");
    await page.waitForFunction(() => document.querySelector("#state").textContent);
    equal(await page.inputValue("#words"), "hello");
    await page.route("**/messages", (route) => held.promise.then(() => route.continue()));
    await page.press("#words", "Enter");
    await page.press("#words", "Enter");
    await page.fill("#words", "next");
    held.resolve();
    await page.waitForSelector("article.answer");
    equal(await page.inputValue("#words"), "next");
    equal(await page.locator("article.user").count(), 1);
  });

  test("is answered through a proxy that passes on only what has ended", async () => {
    const served = await serving([...READ_AND_EDIT, say("It is **2** now.")], FILES);
    const page = await tabOf(await behindProxy(served.url));
    await sayTo(page, "make it 2");
    await page.click(".question button:has-text('Allow')");
    await page.waitForSelector("article.answer strong");
    await page.waitForSelector("#send:enabled");
    equal(await page.locator(".question.settled").count(), 1);
    equal(await page.textContent("#state"), "");
  });

  test("lets go of its connection while it is hidden, and finds all of it when it is seen", async () => {
    const served = await serving([say("Meanwhile.")]);
    const page = await tabOf(served.url);
    const see = (hidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { value, configurable: true });
        document.dispatchEvent(new window.Event("visibilitychange"));
      }, hidden);
    const letGo = page.waitForEvent("requestfailed", (request) => /events/.test(request.url()));
    await see(true);
    await letGo;
    const chat = await page.evaluate(() => window.sessionStorage.getItem("chat"));
    await served.ask("POST", `/chats/${chat}/messages`, { text: "hi" });
    await served.listen(chat).sees("end");
    equal(await page.locator("article").count(), 0);
    await see(false);
    await page.waitForSelector("article.answer");
  });

  test("takes a no, and its reason at Enter, from a line that asks once", async () => {
    const served = await serving([...READ_AND_EDIT, say("Then not.")], FILES);
    const page = await tabOf(served.url);
    await sayTo(page, "make it 2");
    await page.click(".question button:has-text('Reject')");
    await page.fill(".question input", "keep it at 1");
    equal((await page.innerText(".question:not(.settled)")).match(/Why not\?/g)?.length, 1);
    await page.press(".question input", "Enter");
    await page.waitForSelector("article.answer");
    match(JSON.stringify(served.model.requests.at(-1)!.body), /keep it at 1/);
  });

  test("is led by the keyboard alone: all is reached, and shows that it is", async () => {
    const served = await serving([...READ_AND_EDIT, say("done"), ...READ_AND_EDIT], FILES);
    const page = await tabOf(served.url);
    await page.keyboard.type("make it 2"); // the box has the focus from the start
    await page.keyboard.press("Enter");
    await page.waitForSelector(".question button");
    const inside = await page.$$eval("main :is(summary, pre, button)", (all) =>
      all
        .filter((one: any) => one.checkVisibility())
        .map(({ textContent }) => textContent!.trim().slice(0, 30)),
    );
    ok(inside.includes("Allow") && inside[0]!.startsWith("read_file"), inside.join(" | "));
    const form = ["words", "stop", "files"];
    const header = ["chats", "new", "models", "sides"];
    deepEqual(await tabStops(page), [...header, ...inside, ...form]);
    deepEqual(await seriousFaults(page), []);
    await page.focus("main summary");
    await page.keyboard.press("Enter");
    equal(await page.$eval("main details", (details: any) => details.open), true);
    await page.focus("#words");
    while (!(await page.evaluate(() => document.activeElement.textContent === "Allow")))
      await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".question.settled");
    equal(await page.evaluate(() => document.activeElement.id), "words");
    await page.waitForSelector("article.answer");
    await page.keyboard.type("again");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#send:disabled");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#send:enabled");
  });
});

/** The address of a proxy that hands on the whole of an answer once it has ended. */
async function behindProxy(url: string): Promise<string> {
  const { origin, host, hash } = new URL(url);
  const proxy = createServer((asked, answer) => {
    const { origin: from, ...headers } = asked.headers;
    const own = { ...headers, host, ...(from && { origin }) };
    // one that is kept may be closed in the moment when it is used again
    const how = { method: asked.method!, headers: own, agent: false };
    const sent = request(origin + asked.url, how, (got) => {
      const pieces: Buffer[] = [];
      got.on("data", (piece) => pieces.push(piece));
      got.on("end", () => {
        answer.writeHead(got.statusCode!, got.headers);
        answer.end(Buffer.concat(pieces));
      });
    });
    sent.on("error", () => answer.destroy());
    answer.on("close", () => sent.destroy());
    asked.pipe(sent);
  });
  proxy.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/${hash}`;
}
