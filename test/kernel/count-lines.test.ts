// What /undo says of each file: how many lines came and went.
import { equal } from "node:assert/strict";
import { test } from "node:test";
import { countLines } from "../../kernel/changes/preview-change.ts";
import { FILE, FOLDER } from "../../kernel/system/file-state.ts";

const file = (text: string, mode = 0o644) => ({ bytes: Buffer.from(text), mode: FILE | mode });
const folder = { bytes: Buffer.alloc(0), mode: FOLDER | 0o755 };
const long = "x\n".repeat(300_000);

type State = Parameters<typeof countLines>[0];
const rows: [before: State, after: State, says: string][] = [
  [file("a\nb\n"), file("a\nc\nd\n"), "+2 −1"],
  [file("a\n"), file("a\nb\n"), "+1"],
  [file("a\nb\n"), file("a\n"), "−1"],
  [file("-a\n+b\n"), file("+b\n"), "−1"],
  [file("a"), file("a\n"), "+1 −1"],
  [undefined, file("a\nb"), "back, 2 lines"],
  [file("a"), undefined, "removed, 1 line"],
  [file(""), undefined, "removed, 0 lines"],
  [file("a\0\n"), undefined, "removed, 3 bytes"],
  [file("a\0"), file("b\0b"), "now 3 bytes"],
  [file("a\n"), file("a\n", 0o755), "its mode"],
  [file(long), file(`${long}y\n`), "+1"],
  [file("é\n"), file("è\n"), "+1 −1"],
  [undefined, folder, "back, a folder"],
  [folder, undefined, "removed, a folder"],
];
for (const [before, after, says] of rows)
  test(`${JSON.stringify([before, after].map((state) => state?.bytes.toString().slice(0, 8)))} is "${says}"`, async () =>
    equal(await countLines(before, after), says));
