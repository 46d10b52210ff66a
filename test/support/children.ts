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
