// What counts as a secret, by name, by value and in an address; what stands for it, and what is
// left alone.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import type { Zz } from "zz";
import { fillSecrets } from "../../kernel/conversation/http-transport.ts";
import {
  fillPlaceholders,
  isVeiled,
  learnData,
  learnHome,
  learnSecret,
  makeSecret,
  namesSecret,
  revealSecret,
  Secret,
  sealSecrets,
  sealUrl,
  secretFinder,
  veil,
  veilData,
  veiledJson,
  veilPieces,
} from "../../kernel/text/secrets.ts";
import { harness } from "../../sdk/testing.ts";
import { place } from "../support/run.ts";

describe("a secret", () => {
  const KEY = "sk-0123-abcd";
  const one = makeSecret(KEY);
  const ways: [how: string, shown: () => string][] = [
    ["String()", () => String(one)],
    ["JSON", () => JSON.stringify({ one, all: [one] })],
    ["util.inspect", () => inspect({ one }, { depth: 9, showHidden: true })],
    ["util.inspect without own words",
      () => inspect(one, { customInspect: false, showHidden: true, getters: true })],
    ["structuredClone", () => JSON.stringify(structuredClone({ one }))],
    ["its properties",
      () => JSON.stringify(Object.getOwnPropertyDescriptors(one)) + Reflect.ownKeys(one).join()],
  ]; // biome-ignore format: a table
  for (const [how, shown] of ways)
    test(`shows no value by ${how}`, () => ok(!shown().includes("0123"), shown()));

  test("has one placeholder in a process, legal in a header and in each part of an address", () => {
    equal(String(makeSecret(KEY)), String(one));
    ok(String(makeSecret("another-0123")) !== String(one));
    match(String(one), /^zzkey_[0-9a-f]{32}$/);
    equal(
      new URL(`https://${one}:${one}@a.example/${one}?k=${one}`).href.split(String(one)).length,
      5,
    );
  });

  test("gets its value back in a header and an address, and in nothing else", () => {
    const body = JSON.stringify({ key: String(one) });
    const headers = { authorization: `Bearer ${one}` };
    const { url, request } = fillSecrets(`https://a.example/?key=${makeSecret("a b/c+d&e")}`, {
      headers,
      body,
    });
    equal(url, "https://a.example/?key=a%20b%2Fc%2Bd%26e");
    deepEqual(request.headers, { authorization: `Bearer ${KEY}` });
    equal(request.body, body);
    equal(revealSecret(one), KEY);
    equal(revealSecret("text"), "text");
    const guessed = `zzkey_${"0".repeat(32)}`;
    equal(fillPlaceholders(guessed, "header", new Set()), guessed);
  });

  test("is no value to who has only the object", () => {
    const own = one.constructor as unknown as Record<string, unknown>;
    ok(one instanceof Secret);
    deepEqual(Reflect.ownKeys(own).sort(), ["length", "name", "prototype"]);
    equal(JSON.stringify(new (own as any)("x")), '"[key]"');
  });
});

test("A secret with words of its own is shown as these, in texts, in JSON and in what is printed", () => {
  const one = makeSecret("a-vault-0123456789", "[vault]");
  deepEqual(
    [veil(`it is ${one}`), JSON.stringify([one]), inspect(one)],
    ["it is [vault]", '["[vault]"]', "[vault]"],
  );
  equal(veil("it is a-vault-0123456789"), "it is [vault]");
  equal(veil(`${makeSecret("another-0123456789")}`), "[key]");
});

describe("what is called so is a secret:", () => {
  const SECRET = `key apiKey api_key x-api-key OPENAI_API_KEY GH_TOKEN SECRET_KEY_BASE password
    PGPASSWORD passphrase authorization Cookie SMTP_PASS MYSQL_PWD GITHUB_PAT sas_sig`.split(/\s+/);
  const PLAIN = `PWD PATH max_tokens keyboard monkey GIT_ASKPASS SSH_AUTH_SOCK author bypass`.split(
    " ",
  );
  for (const name of SECRET) test(`${name} is`, () => equal(namesSecret(name), true));
  for (const name of PLAIN) test(`${name} is not`, () => equal(namesSecret(name), false));
});

describe("in an address", () => {
  const rows: [url: string, shown: string][] = [
    ["https://me:hunter-22x@a.example/v1", "https://me:[key]@a.example/v1"],
    ["https://ghp_0123456789abcdef@a.example", "https://[key]@a.example"],
    ["https://oauth2:tok-0123456@a.example", "https://oauth2:[key]@a.example"],
    ["http://a.example/?x=1&api_key=abc&y=2", "http://a.example/?x=1&api_key=[key]&y=2"],
    ["http://a.example/?key=1#token=2", "http://a.example/?key=[key]#token=[key]"],
    ["http://a/?page_token=1&next_token=1&tokens=5&monkey=1",
      "http://a/?page_token=1&next_token=1&tokens=5&monkey=1"],
    ["me:pass-word1@box:11434", "me:[key]@box:11434"],
    ["no address, me@home.example a=b", "no address, me@home.example a=b"],
  ]; // biome-ignore format: a table
  for (const [url, shown] of rows)
    test(url, () => {
      equal(veil(sealUrl(url)), shown);
      equal(fillPlaceholders(sealUrl(url), "url", new Set()), url);
      equal(sealUrl(sealUrl(url)), sealUrl(url));
    });
  for (const text of "npm:left-pad@1.2.3 mailto:john.smith@a.example git@a.example:me/x.git ssh://git@a.b/x".split(
    " ",
  ))
    test(`${text} in a setting is not veiled elsewhere`, () => {
      learnData({ x: text });
      equal(veil(text), text);
      equal(veil("left-pad by john.smith"), "left-pad by john.smith");
    });
});

describe("a value that is known", () => {
  const forms: [what: string, value: string, text: string, shown: string][] = [
    ["as it is", "val-ue/1+2", "it is val-ue/1+2.", "it is [key]."],
    ["in JSON", 'va"l\\ue-3', '{"a":"va\\"l\\\\ue-3"}', '{"a":"[key]"}'],
    ["in a URL", "va ue&4=5", "?a=va%20ue%264%3D5", "?a=[key]"],
    ["in base64", "value-six-6", `x ${btoa("value-six-6")}`, "x [key]="],
    ["of several lines", "-----first line of it\nsecond line of it--", "7\tsecond line of it--",
      "7\t[key]"],
  ]; // biome-ignore format: a table
  for (const [what, value, text, shown] of forms)
    test(what, () => {
      learnSecret(value);
      equal(veil(text), shown);
      ok(isVeiled(text));
    });
  test("the longest goes first", () => {
    learnSecret("begin-99");
    learnSecret("begin-99-more");
    equal(veil("begin-99-more begin-99"), "[key] [key]");
  });
  for (const value of ["ollama", "x", "sk-no-key-required", "not-needed", "changeme", "short7!"])
    test(`is not looked for when it is ${value}`, () => {
      learnSecret(value);
      equal(veil(`it is ${value}.`), `it is ${value}.`);
      equal(JSON.stringify(makeSecret(value)), '"[key]"');
    });
  for (const value of [process.execPath, "~/.ssh/mine", "./keys/mine.txt", "https://a.example/x"])
    test(`is no secret as an address or a path: ${value}`, () => {
      learnData({ apiKey: value });
      equal(veil(value), value);
    });
  test("one of any size goes, in every form, and its parts veil nothing else", () => {
    for (const chars of [999, 1_001, 2_001, 100_000]) {
      const long = Array.from({ length: Math.ceil(chars / 8) }, (_, i) =>
        `k"${i % chars}`.padEnd(8, `${chars}é`),
      )
        .join("")
        .slice(0, chars);
      learnSecret(long, "[long]");
      const json = JSON.stringify(long).slice(1, -1);
      for (const form of [
        long,
        json,
        encodeURIComponent(long),
        Buffer.from(long).toString("base64"),
      ]) {
        match(veil(`a ${form} b`), /^a (\[long\])+=* b$/, `${chars} characters`);
        ok(isVeiled(form));
      }
      equal(veil(long.slice(-90)), long.slice(-90));
    }
  });
  test("has its own word instead", () => {
    learnSecret("val-of-name", "[value of NAME]", 6);
    learnSecret("six666", "[value of SIX]", 6);
    equal(veil("val-of-name six666"), "[value of NAME] [value of SIX]");
  });
  test("is learnt from env.json in the home, if it is a text", () => {
    learnHome(place({}, {}, { "env.json": { NUMBER: 123_456, MINE: "of-env-13" } }).home);
    equal(veil("of-env-13 123456"), "[value of MINE] 123456");
  });
  test("goes from the thinking that is told of while it comes", async (t) => {
    const told: unknown[] = [];
    const plugin = (zz: Zz) => zz.on("received", ({ thinking }) => void told.push(thinking));
    const zz = await harness(
      { plugins: [plugin], script: [{ thinking: "hm, in-think-14", text: "ok" }] },
      t,
    );
    learnSecret("in-think-14");
    await zz.ask("go");
    deepEqual([...new Set(told)], ["hm, [key]"]);
  });
  test("goes from an answer that is told of in pieces", async (t) => {
    learnSecret("in-pieces-15");
    async function* chat() {
      for (const text of ["so in-pie", "ces-15."]) {
        yield { text };
        await new Promise(setImmediate); // the piece is told of
      }
      yield { finish: "stop" as const };
    }
    let told = "";
    const plugin = (zz: Zz) => {
      zz.provider({ name: "slow", models: async () => [], chat });
      zz.on("received", ({ text }) => void (told += text));
    };
    const zz = await harness({ plugins: [plugin] }, t);
    await zz.chat.use("slow/m");
    await zz.ask("go");
    equal(told, "so [key].");
  });
  test("goes from data and from JSON, and what holds none stays the same object", () => {
    learnSecret("in-data-11");
    const data = {
      a: ["in-data-11", 1, null],
      "in-data-11": { b: "x in-data-11" },
      c: new Date(0),
    };
    deepEqual(veilData(data), { a: ["[key]", 1, null], "[key]": { b: "x [key]" }, c: new Date(0) });
    equal(veiledJson({ a: "in-data-11", b: [1] }), '{"a":"[key]","b":[1]}');
    const bare = { a: [{ b: "x" }], c: 1 };
    equal(veilData(bare), bare);
    doesNotMatch(
      JSON.stringify(sealSecrets("web", { token: "in-sett-12", n: 5, list: ["x"] })),
      /in-sett/,
    );
  });
  test("goes from a text that is passed on in pieces, of which none is lost", () => {
    const value = "tok-passed-on-0123456789";
    makeSecret(value);
    const text = `tok- and ${value}, then tok-pas`;
    for (const size of [1, 2, 7, text.length]) {
      const next = veilPieces();
      const pieces: string[] = [];
      for (let i = 0; i < text.length; i += size) pieces.push(next(text.slice(i, i + size)));
      for (const piece of pieces) ok(!/passed|012/.test(piece), piece);
      equal([...pieces, next("", true)].join(""), veil(text));
    }
  });

  test("is found in a text that grows, also where it was cut", () => {
    learnSecret("growing-1234");
    const text = "so far growing-1234";
    for (let at = 1; at < text.length; at++) {
      const finds = secretFinder();
      deepEqual(
        [text.slice(0, at), text.slice(at), "and on"].map(finds),
        [false, true, true],
        String(at),
      );
    }
    const letters = secretFinder();
    deepEqual(Array.from(text, letters).indexOf(true), text.length - 1);
  });
});
