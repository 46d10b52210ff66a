// -x and --xl: only a block of code of the answer, with the whole program.
import { deepEqual, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { say } from "../../../test/support/fake/openai.ts";
import { asks } from "../../../test/support/having.ts";
import { place } from "../../../test/support/run.ts";

const TWO =
  "First:\n\n```js\na();\n```\n\nor, in a list:\n\n1. this\n   ~~~~sh\n   b | c\n   ```\n   ~~~~\n\nDone.";

const asked = (text: string, args: string[]) =>
  asks(place(), [say(text)], ["--once", ...args, "hi"]);

describe("-x and --xl", { concurrency: 2 }, () => {
  const ROWS: [name: string, text: string, flag: string, out: string][] = [
    ["--extract prints the first block", TWO, "--extract", "a();\n"],
    ["--extract-last prints the last", TWO, "--extract-last", "b | c\n```\n"],
    ["without a block the text is printed", "No code.", "-x", "No code.\n"],
    ["a block that is never closed counts", "```\na\nb", "--xl", "a\nb\n"],
  ];
  for (const [name, text, flag, out] of ROWS)
    test(name, async () => {
      const ran = await asked(text, [flag]);
      deepEqual([ran.stdout, ran.stderr, ran.code], [out, "", 0]);
    });

  test("with --json the answer stays whole, and --rendered has the block", async () => {
    const { text, rendered } = JSON.parse(
      (await asked(TWO, ["-x", "--json", "--rendered"])).stdout,
    );
    deepEqual([text, rendered], [TWO, "a();"]);
  });

  test("both are wrong usage", async () => {
    const ran = await asked(TWO, ["-x", "--xl"]);
    deepEqual([ran.stdout, ran.code], ["", 2]);
    match(ran.stderr, /Cannot use --extract with --xl/);
  });
});
