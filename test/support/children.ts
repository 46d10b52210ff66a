// The processes that decode for zz (sdk/decode.ts), found by a word of their command line.
import { readdirSync, readFileSync } from "node:fs";
import { tryTo } from "../../kernel/text/words.ts";

/** Those whose command line has this word; sandboxes around them count, too. */
export const running = (word: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === `${process.pid}`) return false;
    // it may have ended
    return tryTo(() => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(word)) ?? false;
  });

/** The processes that this one started, those first that it started first. */
export const childrenOf = (parent: number): number[] =>
  readdirSync(`/proc/${parent}/task`)
    .flatMap((task) =>
      (tryTo(() => readFileSync(`/proc/${parent}/task/${task}/children`, "utf8")) ?? "").split(" "),
    )
    .filter(Boolean)
    .map(Number)
    .sort((a, b) => a - b);
