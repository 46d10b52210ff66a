// --each: one question about many inputs, each answered once. The run is kept in the home and goes
// on where it stopped.
import type { Result, Zz } from "zz";

type Kind = "file" | "line" | "row";

export default (zz: Zz) => {
  const group = "many inputs";
  for (const [inputKind, name, value, description] of INPUT_FLAGS)
    zz.flag({
      name,
      group,
      value,
      optional: true,
      description,
      async run(flagValue, ctx, typedLine): Promise<Result> {
        const { runFromFlags } = await import("./run.ts");
        const typedWords =
          typeof flagValue === "string" ? [flagValue, ...typedLine.words] : [...typedLine.words];
        return runFromFlags(zz, ctx, inputKind, typedWords, typedLine);
      },
    });
  for (const [name, description, value] of OPTIONS)
    zz.flag({ name, group, description, ...(value && { value }) });
};

const INPUT_FLAGS: [kind: Kind, name: string, value: string, description: string][] = [
  ["file", "each", "GLOB [WORDS]", "ask about each of these files, for one answer a line"],
  ["line", "each-line", "PROMPT [WORDS]", "ask about each line of stdin"],
  [
    "row",
    "each-json",
    "PROMPT [WORDS]",
    "ask about each JSON line of stdin; {field} in the prompt is its value",
  ],
];

const OPTIONS: [name: string, description: string, value?: string][] = [
  ["jobs", "how many are asked at a time (4)", "N"],
  ["out", "write each answer to a file: 'notes/{name}.md'", "FILE"],
  ["reduce", "with --each: one answer made of all answers", "PROMPT"],
  ["batch", "by the provider's batches, for half the price within a day; without tools"],
  ["wait", "with --batch: wait for the answers"],
  ["unordered", "print answers as they come"],
  ["budget", "stop before more is spent; 50000t: tokens", "DOLLARS"],
  ["status", "with --each: what a run came to"],
];
