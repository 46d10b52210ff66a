// -a FILE|URL|-: what the model is sent, and what is refused before anything is.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fakeOllama, say as sayOllama } from "../../support/fake/ollama.ts";
import { call, fakeOpenAI, say } from "../../support/fake/openai.ts";
import { JPEG, MP3, PDF, png, WAV } from "../../support/media.ts";
import { repl } from "../../support/repl.ts";
import { type How, type Place, place, type Ran, zz, zzProcess } from "../../support/run.ts";

const PNG = png();
const url = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString("base64")}`;
const image = (type: string, bytes: Buffer) => ({ type: "image_url", image_url: { url: url(type, bytes) } });

function project(): Place {
  const where = place();
  const put = (name: string, content: string | Buffer) => writeFileSync(join(where.cwd, name), content);
  put("dot.png", PNG);
  put("photo", JPEG);
  put("paper.pdf", PDF);
  put("name.txt", PDF);
  put("beep.wav", WAV);
  put("song.mp3", MP3);
  put("notes.png", "only words\n");
  put("none.pdf", "%PDF-1.7\nhello\n");
  put("head.png", PNG.subarray(0, 33));
  put("empty.png", "");
  put("huge.png", PNG);
  truncateSync(join(where.cwd, "huge.png"), 200 * 1024 * 1024);
  mkdirSync(join(where.cwd, "folder.png"));
  execFileSync("mkfifo", [join(where.cwd, "fifo.png")]);
  return where;
}

type Sent = { ran: Ran; contents: any[] };
async function ask(t: TestContext, args: string[], how: How = {}, where = project(), run = zz): Promise<Sent> {
  const fake = await fakeOpenAI([say("Seen.")]);
  t.after(fake.close);
  const ran = await run(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args], how);
  return { ran, contents: fake.requests.map(({ body }) => body.messages.at(-1).content) };
}

const SENT: [what: string, args: string[], parts: object[]][] = [
  ["a PNG", ["-a", "dot.png"], [image("image/png", PNG)]],
  ["an image whose name tells nothing", ["--attachment", "photo"], [image("image/jpeg", JPEG)]],
  [
    "a PDF",
    ["-a", "paper.pdf"],
    [{ type: "file", file: { filename: "document.pdf", file_data: url("application/pdf", PDF) } }],
  ],
  [
    "a PDF that is named otherwise",
    ["-a", "name.txt"],
    [{ type: "file", file: { filename: "document.pdf", file_data: url("application/pdf", PDF) } }],
  ],
  [
    "a WAV",
    ["-a", "beep.wav"],
    [{ type: "input_audio", input_audio: { data: WAV.toString("base64"), format: "wav" } }],
  ],
  [
    "an MP3",
    ["-a", "song.mp3"],
    [{ type: "input_audio", input_audio: { data: MP3.toString("base64"), format: "mp3" } }],
  ],
  ["several", ["-a", "dot.png", "-a", "photo"], [image("image/png", PNG), image("image/jpeg", JPEG)]],
];
for (const [what, args, parts] of SENT)
  test(`-a sends ${what}: ${args.join(" ")}`, async (t) => {
    const { ran, contents } = await ask(t, [...args, "what is it?"]);
    deepEqual([ran.code, ran.stdout], [0, "Seen.\n"], ran.stderr);
    deepEqual(contents, [[{ type: "text", text: "what is it?" }, ...parts]]);
  });

test("-a goes with words that come through the pipe", async (t) => {
  const { ran, contents } = await ask(t, ["-a", "dot.png"], { input: "what is it?\n" });
  equal(ran.code, 0, ran.stderr);
  deepEqual(contents, [[{ type: "text", text: "what is it?" }, image("image/png", PNG)]]);
});

test("-a - takes the bytes of the pipe", async (t) => {
  const how: How = { input: null, started: (child) => void child.stdin!.end(PNG) };
  const { ran, contents } = await ask(t, ["-a", "-", "what is it?"], how, project(), zzProcess);
  deepEqual([ran.code, ran.stdout], [0, "Seen.\n"], ran.stderr);
  deepEqual(contents, [[{ type: "text", text: "what is it?" }, image("image/png", PNG)]]);
});

const REFUSED: [what: string, args: string[], why: RegExp][] = [
  [
    "a text with the name of an image",
    ["-a", "notes.png"],
    /^Cannot attach 'notes\.png': it is no image, PDF or sound that zz knows\. -f FILE attaches a text\.$/m,
  ],
  [
    "a PDF that is none",
    ["-a", "none.pdf"],
    /^Cannot attach 'none\.pdf': it begins as application\/pdf, but holds no document\. Get a whole copy of it\.$/m,
  ],
  [
    "a PNG's header and nothing more",
    ["-a", "head.png"],
    /^Cannot attach 'head\.png': it begins as image\/png, but is cut off\./m,
  ],
  ["an empty file", ["-a", "empty.png"], /^Cannot attach 'empty\.png': it is empty\. Name another\.$/m],
  [
    "an image of 200 MB",
    ["-a", "huge.png"],
    /^Cannot attach 'huge\.png': 200 MB are too many for an image \(20 MB\)\. Make it smaller\.$/m,
  ],
  ["a folder", ["-a", "folder.png"], /^Cannot attach 'folder\.png': it is a folder\. Name a file\.$/m],
  ["a FIFO", ["-a", "fifo.png"], /^Cannot attach 'fifo\.png': it is not a regular file\. Name another\.$/m],
  ["a file that is not there", ["-a", "gone.png"], /^Cannot attach 'gone\.png': .*no such file/m],
  ["an empty name", ["-a", ""], /^Cannot attach '': it names no file\./m],
  ["an empty pipe", ["-a", "-"], /^Cannot attach '-': nothing came through the pipe\./m],
  ["the pipe twice", ["-a", "-", "-a", "-"], /^Cannot attach '-': /m],
  ["one bad of two", ["-a", "dot.png", "-a", "none.pdf"], /^Cannot attach 'none\.pdf'/m],
];
for (const [what, args, why] of REFUSED)
  test(`-a refuses ${what}, and nothing is sent`, async (t) => {
    const { ran, contents } = await ask(t, [...args, "what is it?"]);
    deepEqual([ran.code, ran.stdout, contents], [2, "", []]);
    match(ran.stderr, why);
  });

async function web(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("-a URL fetches it, and goes by its bytes, not by what the server says", async (t) => {
  const at = await web(t, (_, response) => response.writeHead(200, { "content-type": "text/html" }).end(PNG));
  const { ran, contents } = await ask(t, ["-a", `${at}/x.pdf?a=b`, "what is it?"]);
  equal(ran.code, 0, ran.stderr);
  deepEqual(contents, [[{ type: "text", text: "what is it?" }, image("image/png", PNG)]]);
});

const WEB: [what: string, listener: RequestListener, code: number, why: RegExp, args?: string[]][] = [
  ["a web page", (_, response) => void response.end("<!doctype html>"), 2, /it is no image, PDF or sound/],
  ["what is not there", (_, response) => void response.writeHead(404).end(), 2, /answered 404/],
  [
    "what says that it is 200 MB",
    (_, response) => void response.writeHead(200, { "content-length": String(200 * 1024 * 1024) }).write(PNG),
    2,
    /it has more than 32 MB\. Make it smaller\./,
  ],
  [
    "what never ends",
    (_, response) => {
      response.writeHead(200).write(PNG);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    },
    2,
    /it has more than 32 MB\. Make it smaller\./,
  ],
  [
    "a host that is denied",
    (_, response) => void response.end(PNG),
    4,
    /reaching '127\.0\.0\.1' is denied by/,
    ["--deny-net=127.0.0.1"],
  ],
];
for (const [what, listener, code, why, args = []] of WEB)
  test(`-a URL refuses ${what}`, async (t) => {
    let asked = 0;
    const at = await web(t, (request, response) => {
      asked++;
      listener(request, response);
    });
    const { ran, contents } = await ask(t, [...args, "-a", `${at}/x.png`, "what is it?"]);
    deepEqual([ran.code, contents], [code, []], ran.stderr);
    match(ran.stderr, why);
    equal(asked, args.length ? 0 : 1);
  });

test("A model that does not see is not asked: one sentence, exit 2", async (t) => {
  const where = project();
  const fake = await fakeOllama([sayOllama("?")], [{ name: "blind:1b", trained: 8_192, capabilities: ["completion"] }]);
  t.after(fake.close);
  const ran = await zz(where, ["-m", "ollama/blind:1b", "-a", "dot.png", "what is it?"], {
    env: { OLLAMA_HOST: fake.url },
  });
  deepEqual([ran.code, ran.stdout], [2, ""]);
  match(ran.stderr, /^Cannot send an image to 'blind:1b': it does not take images\. Choose a model that does\.$/m);
});

test("Ollama takes no PDF, and says so", async (t) => {
  const where = project();
  const fake = await fakeOllama(
    [sayOllama("?")],
    [{ name: "m:1b", trained: 8_192, capabilities: ["completion", "vision"] }],
  );
  t.after(fake.close);
  const ran = await zz(where, ["-m", "ollama/m:1b", "-a", "paper.pdf", "what is it?"], {
    env: { OLLAMA_HOST: fake.url },
  });
  deepEqual([ran.code, ran.stdout], [2, ""]);
  match(ran.stderr, /^Cannot send application\/pdf to 'm:1b': Ollama takes images alone\./m);
});

const PROVIDER = (model: string) => `export default (zz) => zz.provider({
  name: "own", models: async () => [], model: (id) => (${model}),
  async *chat({ messages }) { yield { text: JSON.stringify(messages.at(-1)) }; yield { finish: "stop" }; } });`;
const KNOWN: [what: string, model: string, args: string[], code: number, says: RegExp][] = [
  ["nothing is known of", "undefined", ["-a", "paper.pdf"], 0, /"type":"application\/pdf"/],
  ["takes images of any kind", '{ id, takes: ["image/*"] }', ["-a", "dot.png"], 0, /"type":"image\/png"/],
  ["takes images, by a word", '{ id, takes: ["text", "image"] }', ["-a", "dot.png"], 0, /"type":"image\/png"/],
  ["takes files, by a word", '{ id, takes: ["file"] }', ["-a", "paper.pdf"], 0, /"type":"application\/pdf"/],
  [
    "takes images alone",
    '{ id, takes: ["image/*"] }',
    ["-a", "paper.pdf"],
    2,
    /^Cannot send a PDF to 'm': it does not take PDFs\./m,
  ],
  [
    "takes PDFs alone",
    '{ id, takes: ["application/pdf"] }',
    ["-a", "song.mp3"],
    2,
    /^Cannot send a sound to 'm': it does not take sound\./m,
  ],
  [
    "takes text alone",
    '{ id, takes: ["text"] }',
    ["-a", "dot.png"],
    2,
    /^Cannot send an image to 'm': it does not take images\./m,
  ],
];
for (const [what, model, args, code, says] of KNOWN)
  test(`A model that ${what}: ${args.join(" ")} ${code ? "is refused" : "is sent"}`, async () => {
    const where = project();
    writeFileSync(join(where.cwd, "own.ts"), PROVIDER(model));
    const ran = await zz(where, ["--plugin", "own.ts", "-m", "own/m", ...args, "what is it?"]);
    equal(ran.code, code, ran.stderr);
    match(code ? ran.stderr : ran.stdout, says);
  });

test("Of earlier messages a model is told in words what it does not take", async () => {
  const where = project();
  writeFileSync(
    join(where.cwd, "own.ts"),
    PROVIDER('id === "sees" ? undefined : { id, vision: false }').replace("messages.at(-1)", "messages"),
  );
  const own = ["--plugin", "own.ts"];
  const first = await zz(where, [...own, "-m", "own/sees", "-a", "dot.png", "what is it?"]);
  equal(first.code, 0, first.stderr);
  const { code, stdout, stderr } = await zz(where, [...own, "-c", "-m", "own/blind", "and now?"]);
  equal(code, 0, stderr);
  const messages = JSON.parse(stdout);
  match(messages[0].text, /what is it\?\n\[image\/png: left out, since you do not take such files\]$/);
  deepEqual(messages[0].images, undefined);
});

test("A conversation goes on after a refusal: the next message is answered", async (t) => {
  const where = project();
  writeFileSync(join(where.cwd, "own.ts"), PROVIDER("{ id, vision: false }"));
  const term = await repl(t, { where, rows: 40, args: ["--plugin", "own.ts", "-m", "own/m"] });
  await term.say("what is @dot.png?", /Cannot send an image to 'm': it does not take images\.[\s\S]{0,200}\[S\]kip/);
  term.type("s");
  await term.sees(/another \[m\]odel\?[\s\S]*›\s*$/);
  await term.say("and without it?", /left\s+out,\s+since\s+you\s+do\s+not\s+take\s+such\s+files\]/);
});

test("An image that a tool gave is told in words to a model that does not see", async (t) => {
  const where = project();
  const plugin = `export default (zz) => zz.provider({
    name: "own", models: async () => [], model: (id) => ({ id, vision: false }),
    async *chat({ messages }) {
      if (messages.at(-1).role === "tool") yield { text: JSON.stringify(messages.at(-1)) };
      else yield { call: { id: "a", name: "read_file", args: { path: "dot.png" } } };
      yield { finish: "stop" };
    } });`;
  writeFileSync(join(where.cwd, "own.ts"), plugin);
  const { code, stdout, stderr } = await zz(where, ["--plugin", "own.ts", "-m", "own/m", "look"]);
  equal(code, 0, stderr);
  match(stdout, /image dot\.png.*\[image\/png: left out/);
  doesNotMatch(stdout, /base64/);
  const fake = await fakeOpenAI([call(["read_file", { path: "dot.png" }]), say("Seen.")]);
  t.after(fake.close);
  await zz(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", "look"]);
  match(JSON.stringify(fake.requests[1]!.body.messages), /image_url/);
});
