// zz.events(): the events of a server's answer, in whatever pieces they come.
import { deepEqual, equal, rejects } from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Delta, Zz } from "zz";
import { harness } from "zz/test";
import { deltasOf } from "zz/text";
import { serve } from "../support/fake/http.ts";

/** What a plugin hears from a server that writes these pieces. */
async function heard(t: TestContext, pieces: (string | Buffer)[]): Promise<unknown[]> {
  const { url, close } = await serve([{ body: pieces }]);
  t.after(close);
  const plugin = (zz: Zz) =>
    zz.tool({
      name: "it",
      description: "d",
      async run() {
        const all: unknown[] = [];
        for await (const one of zz.events(await zz.fetch(url))) all.push(one);
        return { text: "", data: all };
      },
    });
  const zz = await harness({ plugins: [plugin] }, t);
  const { data, text, failed } = await zz.call("it");
  if (failed) throw new Error(text);
  return data as unknown[];
}

describe("zz.events()", { concurrency: 4 }, () => {
  const euro = Buffer.from("data: 3 €\n\n");
  const ROWS: [what: string, pieces: (string | Buffer)[], events: unknown[]][] = [
    ["one after the other", ["data: a\n\ndata: b\n\n"], [{ data: "a" }, { data: "b" }]],
    ["with a name", ["event: ping\ndata: {}\n\n"], [{ event: "ping", data: "{}" }]],
    ["of several lines", ["data: a\ndata: b\n\n"], [{ data: "a\nb" }]],
    ["cut in a letter", [euro.subarray(0, 9), euro.subarray(9)], [{ data: "3 €" }]],
    ["with Windows line ends", ["data: a\r\n\r\ndata: b\r\n\r\n"], [{ data: "a" }, { data: "b" }]],
    ["comments are passed over", [": alive\n\ndata: a\n\n"], [{ data: "a" }]],
    ["the last without its empty line", ["data: a\n\ndata: b"], [{ data: "a" }, { data: "b" }]],
  ];
  for (const [what, pieces, events] of ROWS)
    test(what, async (t) => deepEqual(await heard(t, pieces), events));

  test("one that never ends is given up", async (t) => {
    const piece = "data: ".padEnd(1024 * 1024, "x");
    await rejects(
      heard(t, Array(10).fill(piece)),
      /The server sent a line of more than 8 MB, and was given up\. Check its address/,
    );
  });
  test("what was heard before stays", async (t) =>
    equal((await heard(t, ["data: a\n\n", "dat"])).length, 1));
});

describe("deltasOf()", () => {
  const groups = (all: (Delta | Error)[][], closed: string[] = []) =>
    (async function* () {
      try {
        for (const group of all)
          yield (function* () {
            for (const one of group) {
              if (one instanceof Error) throw one;
              yield one;
            }
          })();
      } finally {
        closed.push("closed");
      }
    })();
  const call: Delta = { call: { index: 0, name: "f", args: "{}" } };
  const ROWS: [what: string, groups: Delta[][], deltas: Delta[]][] = [
    ["texts that come at once are one", [[{ text: "a" }, { text: "" }, { text: "b" }], [{ text: "c" }]], [{ text: "ab" }, { text: "c" }]],
    ["thinking and text stay apart", [[{ thinking: "a" }, { thinking: "b" }, { text: "c" }, { thinking: "d" }]], [{ thinking: "ab" }, { text: "c" }, { thinking: "d" }]],
    ["what else there is keeps its place", [[{ text: "a" }, call, { text: "b" }, { finish: "stop" }]], [{ text: "a" }, call, { text: "b" }, { finish: "stop" }]],
    ["what is no text is left to be refused", [[{ text: 3 } as never, { text: "b" }]], [{ text: 3 } as never, { text: "b" }]],
  ]; // biome-ignore format: one case a row
  for (const [what, given, deltas] of ROWS)
    test(what, async () => {
      const come: Delta[] = [];
      for await (const one of deltasOf(groups(given))) come.push(one);
      deepEqual(come, deltas);
    });

  test("what came before an error is there, and the source is closed", async () => {
    const [closed, come]: [string[], Delta[]] = [[], []];
    const stream = deltasOf(
      groups([[{ text: "a" }, { text: "b" }, new Error("cut")], [{ text: "c" }]], closed),
    );
    await rejects(async () => {
      for await (const one of stream) come.push(one);
    }, /^Error: cut$/);
    deepEqual([come, closed], [[{ text: "ab" }], ["closed"]]);
  });
});
