// --each: one question about many inputs, each answered once. The run is kept in the home and goes
// on where it stopped.
import type { Ctx, Result, Typed, Zz } from "zz";

type Kind = "file" | "line" | "row";

export default (zz: Zz) => {
  const group = "many inputs";
  const start =
    (kind: Kind) =>
    async (value: string | boolean, ctx: Ctx, line: Typed): Promise<Result> =>
      (await import("./run.ts")).obey(
        zz,
        ctx,
        kind,
        [...(typeof value === "string" ? [value] : []), ...line.words],
        line,
      );
  zz.flag({
    name: "each",
    group,
    value: "GLOB [WORDS]",
    optional: true,
    description: "ask about each of these files, for one answer a line",
    run: start("file"),
  });
  zz.flag({
    name: "each-line",
    group,
    value: "PROMPT [WORDS]",
    optional: true,
    description: "ask about each line of stdin",
    run: start("line"),
  });
  zz.flag({
    name: "each-json",
    group,
    value: "PROMPT [WORDS]",
    optional: true,
    description: "ask about each JSON line of stdin; {field} in the prompt is its value",
    run: start("row"),
  });
  addOptions(zz, group);
};

function addOptions(zz: Zz, group: string): void {
  zz.flag({ name: "jobs", group, value: "N", description: "how many are asked at a time (4)" });
  zz.flag({
    name: "out",
    group,
    value: "FILE",
    description: "write each answer to a file: 'notes/{name}.md'",
  });
  zz.flag({
    name: "reduce",
    group,
    value: "PROMPT",
    description: "with --each: one answer made of all answers",
  });
  zz.flag({
    name: "batch",
    group,
    description: "by the provider's batches, for half the price within a day; without tools",
  });
  zz.flag({ name: "wait", group, description: "with --batch: wait for the answers" });
  zz.flag({ name: "unordered", group, description: "print answers as they come" });
  zz.flag({
    name: "budget",
    group,
    value: "DOLLARS",
    description: "stop before more is spent; 50000t: tokens",
  });
  zz.flag({ name: "status", group, description: "with --each: what a run came to" });
}
