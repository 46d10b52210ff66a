// Images, PDFs and pages made to break what decodes them: each comes to a sentence, and nothing is
// left running.
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { harness, standingClock } from "zz/test";
import { type Decoding, decode } from "../../../sdk/decode.ts";
import { running } from "../../support/children.ts";
import { listen } from "../../support/fake/http.ts";
import { call, fakeOpenAI, say } from "../../support/fake/openai.ts";
import * as made from "../../support/hostile.ts";
import { place, ROOT, zzProcess } from "../../support/run.ts";
import { waitFor } from "../../support/wait.ts";

type Given = Pick<Decoding, "job" | "bytes" | "how"> & { in: string };
const image = (type: string, bytes: Buffer): Given => ({
  in: "plugins/terminal",
  job: "decode-image",
  bytes,
  how: { type: `image/${type}`, room: [600, 400], mostPixels: 16e6 },
});
const pdf = (bytes: Buffer): Given => ({ in: "packages/web", job: "decode-pdf", bytes });
const page = (html: string): Given => ({
  in: "packages/web",
  job: "decode-page",
  bytes: Buffer.from(html),
  how: { url: "http://a/" },
});

const MEMORY = "reading it takes too much memory";
const LATE = "reading it took longer than 15 s";
const DAMAGED = "it is damaged";
const EMPTY = "it holds pictures alone, and no text";
const noise = Buffer.alloc(500, 0xa7);

const ROWS: [what: string, given: Given, why: string][] = [
  ["a JPEG of 20,000 scans", image("jpeg", made.jpegOfScans(20_000)), LATE],
  ["a JPEG larger than its header said", image("jpeg", made.jpegOfScans(1, 8_000)), DAMAGED],
  ["a PNG of 1.5 GB in 1.5 MB", image("png", made.pngBomb(1_500)), MEMORY],
  ["a PNG of noise", image("png", made.pngOfNoise()), DAMAGED],
  ["a PDF of 1 GB in 1 MB", pdf(made.pdfBomb(1_000)), MEMORY],
  ["a PDF of 3 GB in 8 kB, packed twice", pdf(made.pdfTwicePacked(3_000)), MEMORY],
  ["a PDF of lists in lists", pdf(made.pdf({ more: `/Names ${"[".repeat(200_000)}` })), DAMAGED],
  ["a PDF whose pages lead round", pdf(made.pdf({ kids: "[2 0 R]" })), DAMAGED],
  ["a PDF of noise", pdf(made.pdf({ content: noise, filter: "/Filter /FlateDecode" })), EMPTY],
  ["a page of 30,000 elements in one another", page("<div>".repeat(30_000)), LATE],
  ["a page of 400 lists in one another", page("<ul><li>".repeat(400)), LATE],
];

describe("what is made to break what decodes it comes to a sentence:", () => {
  for (const [what, { in: folder, ...given }, why] of ROWS)
    test(`${what}: ${why}`, async (t) => {
      const clock = standingClock();
      const zz = await harness({ plugins: [join(ROOT, "plugins/shell/index.ts")], clock }, t);
      const near = pathToFileURL(join(ROOT, folder, "any.ts")).href;
      const decoded = rejects(decode({ near, ...given }, zz.ctx), { message: why });
      if (why === LATE) await clock.waits(15_000).then(() => clock.pass(15_000));
      await decoded;
    });
});

test("a page and a PDF that break what decodes them, by the tools that fetch them", async (t) => {
  const bodies: Record<string, [type: string, body: string | Buffer]> = {
    "/bomb.pdf": ["application/pdf", made.pdfBomb(1_000)],
    "/half.pdf": ["application/pdf", made.pdf({}).subarray(0, 150)],
    "/lists": ["text/html", `<!doctype html>${"<ul><li>".repeat(400)}at the end`],
  };
  const url = await listen(t, ({ url = "" }, response) => {
    const [type, body] = bodies[url]!;
    response.writeHead(200, { "content-type": type }).end(body);
  });
  const clock = standingClock();
  const plugins = ["packages/web", "plugins/shell"].map((name) => join(ROOT, name, "index.ts"));
  const settings = { web: { seconds: 100 } };
  const zz = await harness({ plugins, clock, settings, allow: { net: [new URL(url).host] } }, t);
  const get = async (path: string) => (await zz.call("web_fetch", { url: `${url}${path}` })).text;
  equal(await get("/bomb.pdf"), `Cannot read the PDF: ${MEMORY}.`);
  equal(await get("/half.pdf"), `Cannot read the PDF: ${DAMAGED}.`);
  const slow = get("/lists");
  await clock.waits(15_000);
  await clock.pass(15_000);
  match(
    await slow,
    /at the end\n\n\[It could not be read as a page \(reading it took longer than 15 s\): this is its bare text\.\]$/,
  );
});

for (const signal of ["SIGTERM", "SIGKILL"] as const)
  for (const sandbox of ["auto", "off"])
    test(`what decodes ends with zz, by ${signal}, sandbox ${sandbox}`, async (t) => {
      const url = await listen(t, (_, response) => {
        response.writeHead(200, { "content-type": "text/html" }).end("<ul><li>".repeat(400));
      });
      const fake = await fakeOpenAI([call(["web_fetch", { url: `${url}/` }]), say("Good.")]);
      t.after(fake.close);
      const where = place({}, { shell: { sandbox } });
      const model = `-m openai/m --base-url ${fake.url} --key x`.split(" ");
      const args = ["--once", ...model, `--allow-net=${new URL(url).host}`, "go"];
      let end = () => {};
      const ran = zzProcess(where, args, {
        started: (child) => void (end = () => child.kill(signal)),
      });
      const token = `{"url":"${url}/"}`;
      await waitFor("what decodes it", () => running(token).length);
      end();
      await ran;
      await waitFor("its end", () => !running(token).length);
    });

test("the sandbox of what decodes shows nothing but what is named, without Node's own walls too", async (t) => {
  const zz = await harness(
    { plugins: [join(ROOT, "plugins/shell/index.ts")], files: { "secret.txt": "s" } },
    t,
  );
  const open = join(zz.root, "open");
  mkdirSync(open);
  writeFileSync(join(open, "a.txt"), "a");
  const code = `
    const { readFileSync, readdirSync, writeFileSync } = require("fs");
    const tries = { open: () => readFileSync(${JSON.stringify(join(open, "a.txt"))}), secret: () => readFileSync(${JSON.stringify(join(zz.root, "secret.txt"))}),
      home: () => readdirSync(${JSON.stringify(zz.home)}), passwd: () => readFileSync("/etc/passwd"), proc: () => readFileSync("/proc/1/cmdline"),
      write: () => writeFileSync(${JSON.stringify(join(open, "b.txt"))}, ""), tmp: () => writeFileSync("/tmp/x", ""), root: () => writeFileSync("/x", "") };
    console.log(Object.keys(tries).filter((name) => { try { tries[name](); return true } catch { return false } }).join(), Object.keys(process.env).join());`;
  const argv = [process.execPath, "-e", code];
  const box = await zz.ctx.service("sandbox")?.startDecoder(argv, [process.execPath, open], zz.ctx);
  if (!box) return t.skip("no sandbox here");
  const [program = "", ...args] = box.argv.filter(
    (word, i, all) => word !== "--seccomp" && all[i - 1] !== "--seccomp",
  );
  const { stdout } = spawnSync(program, args, { env: { TOKEN: "x" }, encoding: "utf8" });
  deepEqual(stdout.trim().split(" "), ["open", "PWD"]);
});
