// The row of a call: what it is about is named once.
import { equal } from "node:assert/strict";
import { test } from "node:test";
import { withoutSubject } from "../../../plugins/terminal/shorten-for-rows.ts";

const rows: [summary: string, subject: string, shown: string][] = [
  ["Edited src/a.ts: line 2 (exact).", "src/a.ts", "Edited: line 2 (exact)."],
  ["Deleted src/a.ts.", "src/a.ts", "Deleted."],
  ["Created a (2 lines).", "a", "Created (2 lines)."],
  ["Created a", "a", "Created"],
  ["Edited src/a.tsx: line 2.", "src/a.ts", "Edited src/a.tsx: line 2."],
  ["Found a match.", "a", "Found a match."],
  ["It is in a.", "a", "It is in a."],
  ["2 lines · const a: 1", "a", "2 lines · const a: 1"],
  ["Moved a: to a: b", "a", "Moved: to a: b"],
  ["Done : it", "", "Done : it"],
];
for (const [summary, subject, shown] of rows)
  test(`'${summary}' beside '${subject}'`, () => equal(withoutSubject(summary, subject), shown));
