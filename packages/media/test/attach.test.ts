// -a FILE|URL|-: what the model is sent, and what is refused before anything is.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { truncateSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { listen } from "../../../test/support/fake/http.ts";
import { fakeOllama, say as sayOllama } from "../../../test/support/fake/ollama.ts";
import { fakeOpenAI, say } from "../../../test/support/fake/openai.ts";
import { JPEG, MP3, PDF, png, WAV } from "../../../test/support/media.ts";
import { type How, type Place, place, zz, zzProcess } from "../../../test/support/run.ts";

const PNG = png();
const url = (type: string, bytes: Buffer): string =>
  `data:${type};base64,${bytes.toString("base64")}`;
const image = (type: string, bytes: Buffer) => ({
  type: "image_url",
  image_url: { url: url(type, bytes) },
});

const QUESTION = { type: "text", text: "what is it?" };

function project(): Place {
  const where = place({
    "dot.png": PNG,
    photo: JPEG,
    "paper.pdf": PDF,
    "name.txt": PDF,
    "beep.wav": WAV,
    "song.mp3": MP3,
    "notes.png": "only words\n",
    "none.pdf": "%PDF-1.7\nhello\n",
    "huge.png": PNG,
    "folder.png/": null,
    "fifo.png": "|",
  });
  truncateSync(join(where.cwd, "huge.png"), 200 * 1024 * 1024);
  return where;
}

async function ask(t: TestContext, args: string[], how: How = {}, run = zz) {
  const fake = await fakeOpenAI([say("Seen.")]);
  t.after(fake.close);
  const ran = await run(
    project(),
    ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args],
    how,
  );
  return { ran, contents: fake.requests.map(({ body }) => body.messages.at(-1).content) };
}

const audio = (bytes: Buffer, format: string) => ({ data: bytes.toString("base64"), format });
const sound = (...of: [Buffer, string]) => ({ type: "input_audio", input_audio: audio(...of) });
const paper = {
  type: "file",
  file: { filename: "document.pdf", file_data: url("application/pdf", PDF) },
};
const SENT: [what: string, args: string[], parts: object[]][] = [
  [
    "two images",
    ["-a", "dot.png", "--attachment", "photo"],
    [image("image/png", PNG), image("image/jpeg", JPEG)],
  ],
  ["a PDF that is named otherwise", ["-a", "name.txt"], [paper]],
  ["a WAV", ["-a", "beep.wav"], [sound(WAV, "wav")]],
  ["an MP3", ["-a", "song.mp3"], [sound(MP3, "mp3")]],
];
for (const [what, args, parts] of SENT)
  test(`-a sends ${what}`, async (t) => {
    const { ran, contents } = await ask(t, [...args, "what is it?"]);
    deepEqual([ran.code, ran.stdout], [0, "Seen.\n"], ran.stderr);
    deepEqual(contents, [[QUESTION, ...parts]]);
  });

test("-a - takes the bytes of the pipe", async (t) => {
  const how: How = { input: null, started: (child) => void child.stdin!.end(PNG) };
  const { ran, contents } = await ask(t, ["-a", "-", "what is it?"], how, zzProcess);
  deepEqual([ran.code, ran.stdout], [0, "Seen.\n"], ran.stderr);
  deepEqual(contents, [[QUESTION, image("image/png", PNG)]]);
});

const REFUSED: [what: string, args: string[], why: RegExp][] = [
  [
    "a text with the name of an image",
    ["-a", "notes.png"],
    /it is no image, PDF or sound that zz knows\. -f FILE /,
  ],
  [
    "an image of 200 MB",
    ["-a", "huge.png"],
    /200 MB are too many for an image \(20 MB\)\. Make it smaller\.$/m,
  ],
  [
    "a folder",
    ["-a", "folder.png"],
    /^Cannot attach 'folder\.png': it is a folder\. Name a file\.$/m,
  ],
  [
    "a FIFO",
    ["-a", "fifo.png"],
    /^Cannot attach 'fifo\.png': it is not a regular file\. Name another\.$/m,
  ],
  ["an empty pipe", ["-a", "-"], /^Cannot attach '-': nothing came through the pipe\./m],
  ["the pipe twice", ["-a", "-", "-a", "-"], /^Cannot attach '-': /m],
  [
    "one bad of two",
    ["-a", "dot.png", "-a", "none.pdf"],
    /^Cannot attach 'none\.pdf': .* but holds no document/m,
  ],
];
for (const [what, args, why] of REFUSED)
  test(`-a refuses ${what}, and nothing is sent`, async (t) => {
    const { ran, contents } = await ask(t, [...args, "what is it?"]);
    deepEqual([ran.code, ran.stdout, contents], [2, "", []]);
    match(ran.stderr, why);
  });

test("-a URL fetches it, and goes by its bytes, not by what the server says", async (t) => {
  const at = await listen(t, (_, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end(PNG),
  );
  const { contents } = await ask(t, ["-a", `${at}/x.pdf?a=b`, "what is it?"]);
  deepEqual(contents, [[QUESTION, image("image/png", PNG)]]);
});

const endless: RequestListener = (_, response) => {
  response.writeHead(200).write(PNG);
  const more = () => {
    while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024)));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
};
const gone: RequestListener = (_, response) => void response.writeHead(404).end();
const damaged: RequestListener = (_, response) =>
  void response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip at all");
const cut: RequestListener = (_, response) => {
  response.writeHead(200, { "content-length": 1_000 }).write(PNG);
  setImmediate(() => response.destroy());
};
const failing: RequestListener = (_, response) => void response.writeHead(503).end();
const WEB: [what: string, listener: RequestListener, code: number, why: RegExp, args?: string[]][] =
  [
    ["what is not there", gone, 2, /answered 404/],
    ["what comes damaged", damaged, 1, /Cannot attach .*Cannot unpack what/],
    ["what breaks off", cut, 1, /Cannot attach .*broke off/],
    ["a server that fails", failing, 1, /answered 503/],
    ["what never ends", endless, 2, /it has more than 32 MB\. Make it smaller\./],
    [
      "a host that is denied",
      gone,
      4,
      /reaching '127\.0\.0\.1' is denied by/,
      ["--deny-net=127.0.0.1"],
    ],
  ];
for (const [what, listener, code, why, args = []] of WEB)
  test(`-a URL refuses ${what}`, async (t) => {
    let asked = 0;
    const at = await listen(t, (request, response) => {
      asked++;
      listener(request, response);
    });
    const { ran, contents } = await ask(t, [...args, "-a", `${at}/x.png`, "what is it?"]);
    deepEqual([ran.code, contents], [code, []], ran.stderr);
    match(ran.stderr, why);
    equal(asked, args.length ? 0 : 1);
  });

for (const [file, capabilities, says] of [
  [
    "dot.png",
    ["completion"],
    "Cannot send an image to 'm:1b': it does not take images. Choose a model that does.",
  ],
  [
    "paper.pdf",
    ["completion", "vision"],
    "Cannot send application/pdf to 'm:1b': Ollama takes images alone.",
  ],
] as const)
  test(`A model of Ollama that does not take it is not asked: ${file}`, async (t) => {
    const fake = await fakeOllama(
      [sayOllama("?")],
      [{ name: "m:1b", capabilities: [...capabilities] }],
    );
    t.after(fake.close);
    const env = { OLLAMA_HOST: fake.url };
    const ran = await zz(project(), ["-m", "ollama/m:1b", "-a", file, "what is it?"], { env });
    deepEqual([ran.code, ran.stdout, fake.requests.length], [2, "", 0]);
    ok(ran.stderr.includes(says), ran.stderr);
  });

const TELL = "yield { text: JSON.stringify(messages.at(-1)) }";
const PROVIDER = (model: string, tell = TELL) => `export default (zz) => zz.provider({
  name: "own", models: async () => [], model: (id) => (${model}),
  async *chat({ messages }) { ${tell}; yield { finish: "stop" }; } });`;
const KNOWN: [what: string, model: string, args: string[], code: number, says: RegExp][] = [
  [
    "takes images, by a word",
    '{ id, takes: ["text", "image"] }',
    ["-a", "dot.png"],
    0,
    /"type":"image\/png"/,
  ],
  [
    "takes images alone",
    '{ id, takes: ["image/*"] }',
    ["-a", "paper.pdf"],
    2,
    /^Cannot send a PDF to 'm'/m,
  ],
  [
    "takes PDFs alone",
    '{ id, takes: ["application/pdf"] }',
    ["-a", "song.mp3"],
    2,
    /it does not take sound\./,
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
  const blind = PROVIDER('id === "sees" ? undefined : { id, vision: false }');
  writeFileSync(join(where.cwd, "own.ts"), blind.replace("messages.at(-1)", "messages"));
  const own = ["--plugin", "own.ts"];
  await zz(where, [...own, "-m", "own/sees", "-a", "dot.png", "what is it?"]);
  const { code, stdout, stderr } = await zz(where, [...own, "-c", "-m", "own/blind", "and now?"]);
  equal(code, 0, stderr);
  const messages = JSON.parse(stdout);
  match(
    messages[0].text,
    /what is it\?\n\[image\/png: left out, since you do not take such files\]$/,
  );
  deepEqual(messages[0].images, undefined);
});

test("An image that a tool gave is told in words to a model that does not see", async () => {
  const where = project();
  const read = 'yield { call: { id: "a", name: "read_file", args: { path: "dot.png" } } }';
  const tell = `if (messages.at(-1).role === "tool") ${TELL}; else ${read}`;
  writeFileSync(join(where.cwd, "own.ts"), PROVIDER("{ id, vision: false }", tell));
  const { code, stdout, stderr } = await zz(where, ["--plugin", "own.ts", "-m", "own/m", "look"]);
  equal(code, 0, stderr);
  match(stdout, /image dot\.png.*\[image\/png: left out/);
  doesNotMatch(stdout, /base64/);
});
