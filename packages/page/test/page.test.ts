// A session as one HTML file.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { place, zz } from "../../../test/support/run.ts";
import { harness } from "../../../test/support/script.ts";
import { changed, HOSTILE, ID, said, saveSession } from "./saved-session.ts";

/** The page of a session with these parts. */
async function pageOf(parts: Parameters<typeof saveSession>[1], settings: object = {}) {
  const where = place({}, settings);
  saveSession(where, parts);
  const ran = await zz(where, ["--export", ID, "--page"]);
  equal(ran.code, 0, ran.stderr);
  return ran.stdout;
}
const main = (page: string) => page.slice(page.indexOf("<main>"), page.indexOf("</main>"));

test("--serve without the plugin that converses says which it is", async () => {
  const ran = await zz(place({}, { disabled: ["acp"] }), ["--serve", "-m", "openai/m"]);
  deepEqual([ran.code, ran.stdout], [2, ""]);
  match(ran.stderr, /Cannot serve: the plugin 'acp' is off\. \/plugins on acp turns it on\./);
});

describe("--export", () => {
  test("prints Markdown, and with --page one HTML file", async () => {
    const where = place();
    saveSession(where, [said("user", "what is **2 + 2**?"), said("assistant", "It is *4*.")]);
    const markdown = await zz(where, ["--export", ID]);
    match(markdown.stdout, /^# A talk\n[\s\S]*## You\n\nwhat is \*\*2 \+ 2\*\*\?/);
    const page = await zz(where, ["--export", "page1234", "--page"]);
    match(page.stdout, /^<!doctype html>/);
    match(main(page.stdout), /what is <strong>2 \+ 2<\/strong>\?[\s\S]*It is <em>4<\/em>\./);
  });

  test("of a session that is not there is a sentence", async () => {
    const ran = await zz(place(), ["--export", "nope", "--page"]);
    deepEqual([ran.code, ran.stdout], [2, ""]);
    match(ran.stderr, /Cannot find the session 'nope': .*\. zz --sessions lists them\./);
  });

  test("without the plugin says which it is", async () => {
    const where = place({}, { disabled: ["page"] });
    saveSession(where, [said("user", "hi")]);
    const ran = await zz(where, ["--export", ID, "--page"]);
    equal(ran.code, 2, ran.stderr);
  });
});

describe("The page", () => {
  test("is bound to itself: no address is loaded, no style or script but its own", async () => {
    const page = await pageOf([said("user", "hi"), said("assistant", "![x](https://a.example/b)")]);
    match(page, /http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;/);
    doesNotMatch(page, /unsafe-inline|<link|<iframe|<img|style="| on\w+=/);
    match(page, /<a href="https:\/\/a.example\/b" rel="noreferrer noopener nofollow"/);
  });

  test("holds what was said as text", async () => {
    const page = main(await pageOf(HOSTILE.map((text) => said("assistant", text))));
    doesNotMatch(page, /<(script|style|svg|iframe|base|meta|form|object|embed|link|img)\b/i);
    doesNotMatch(page, /<[^>]*\s(?:on\w+|style|srcdoc)\s*=/i);
    doesNotMatch(page, /href="(?!https?:|mailto:)/i);
    doesNotMatch(page, /[\u202a-\u202e\u2066-\u2069\u001b]/);
  });

  test("shows a call with what came of it, folded, and pictures that were attached", async () => {
    const calls = [{ id: "1", name: "read_file", args: { path: "a.ts" } }];
    const result = { role: "tool", id: "1", name: "read_file", text: "1: let a" } as const;
    const images = [
      { type: "image/png", base64: "iVBORw0KGgo=" },
      { type: "image/svg+xml", base64: "PHN2Zz4=" },
    ];
    const page = main(
      await pageOf([
        said("user", "look", { images }),
        said("assistant", "", { calls, thinking: "hm <b>" }),
        { type: "message", message: result },
      ]),
    );
    match(page, /<details class="call"><summary>.*read_file.*<\/summary>.*1: let a/s);
    match(page, /<summary>Thinking<\/summary><pre tabindex="0">hm &lt;b&gt;<\/pre>/);
    match(page, /<img alt="attached picture" src="data:image\/png;base64,iVBORw0KGgo=">/);
    match(page, /an attachment: image\/svg\+xml/);
  });

  test("shows what changed in files", async () => {
    const page = await pageOf([
      said("user", "go"),
      changed("/p/a.ts", "let a = 1;\nlet b = 2;\n", "let a = 1;\nlet b = 3;\n"),
      changed("/p/new.txt", null, "x\n"),
      changed("/p/old.txt", "y\n", null),
      changed("/p/.env", "KEY=plover1\n", "KEY=plover2\n"),
    ]);
    match(main(page), /<del class="line"><i>2<\/i>.*<ins class="line"><i>2<\/i>/s);
    const shown = [...main(page).matchAll(/<b>(\w+)<\/b> <span class="path">([^<]*)/g)];
    deepEqual(
      shown.map(([, did, path]) => `${did} ${path}`),
      ["edit /p/a.ts", "create /p/new.txt", "delete /p/old.txt", "change /p/.env"],
    );
    match(page, /<summary>4 changes<\/summary>.*<li><a href="#e2">edit a\.ts<\/a><\/li>/s);
    doesNotMatch(page, /KEY=|plover/);
  });

  test("ends a text that a browser takes long for, and says how much is left out", async () => {
    const parts = [said("user", `${"a\n\n".repeat(40_000)}`), said("assistant", "Fine.")];
    const page = main(await pageOf(parts));
    equal(page.match(/<p>a<\/p>/g)?.length, 33_334);
    match(page, /<p>… 20000 more characters<\/p>[\s\S]*Fine\./);
  });

  test("keeps every branch, and shows the one that was gone on with", async () => {
    const page = main(
      await pageOf([
        said("user", "one"),
        said("assistant", "first try"),
        { ...said("assistant", "second try"), parent: 1 },
      ]),
    );
    match(page, /id="e2" data-parent="1" hidden>/);
    match(page, /id="e3" data-parent="1">/);
  });

  test("names no secret", async () => {
    const where = place({}, { providers: { openai: { key: "sk-verysecretvalue123" } } });
    saveSession(where, [
      said("user", "my key is sk-verysecretvalue123"),
      changed("/p/a.ts", "x", "sk-verysecretvalue123"),
    ]);
    const { stdout } = await zz(where, ["--export", ID, "--page"]);
    doesNotMatch(stdout, /sk-verysecretvalue123/);
  });

  test("of a file that ends in the middle of a line shows the lines before it", async () => {
    const where = place();
    saveSession(where, [said("user", "hi"), said("assistant", "there")]);
    const file = join(where.home, "sessions", `${ID}.jsonl`);
    appendFileSync(file, '{"id":3,"parent":2,"type":"mess');
    const { stdout } = await zz(where, ["--export", ID, "--page"]);
    match(main(stdout), /there/);
  });
});

test("/share and /export FILE.html write the page beside the files, or into a folder", async () => {
  const files = { "pages/a.txt": "" };
  await using kit = await harness({ own: true, script: ["hello there"], files });
  await kit.ask("hi");
  const [note = ""] = await kit.command("/share");
  match(note, /^Wrote .*zz-conversation\.html \([\d.]+ kB\)\. It holds all/);
  await kit.command("/share");
  await kit.command("/share pages");
  await kit.command("/export talk.html");
  const [told = ""] = await kit.command("/export --page");
  match((await kit.command("/share --page").catch(String)).toString(), /no flag '--page' here/);
  const inFolder = "pages/zz-conversation.html";
  const [titled = "none"] = /zz-\d{4}-\d\d-\d\d-hi\.html/.exec(told) ?? [];
  const byNumber = ["zz-conversation.html", "zz-conversation-2.html"];
  for (const name of [...byNumber, inFolder, "talk.html", titled])
    match(kit.read(name) ?? "", /<!doctype html>[\s\S]*hello there/);
});
