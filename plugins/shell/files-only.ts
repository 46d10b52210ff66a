// Lines of plain file tools. All that they do is in the project's files, so a copy
// holds it, and undo brings it back.
import path from "node:path";
import type { Judged, Simple } from "./judge/judge-line.ts";
import { split } from "./judge/parse-options.ts";

/** Programs that change files that they are told, and reach nothing else. */
const FILE_TOOLS = new Set(
  split(
    `rm mv cp ln mkdir rmdir touch truncate shred sed gsed dd tee install unlink find xargs sort awk
      gawk mawk patch tar bsdtar unzip zip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd split
      csplit rename chmod chgrp rsync cat echo printf test true : [ env nice timeout nohup time
      ionice stdbuf cd pushd popd set export`,
  ),
);
/** With these words, they reach further: another machine, or a device. */
const FURTHER =
  /^[^/=]*:|^--rsh\b|^-\w*e$|^(if=|of=)?\/dev\/(?!null$|zero$|u?random$|std(in|out|err)$)/;

/** Whether a line changes files by such tools alone, with what only reads beside them. */
export function changesOnlyFiles({ simple, writes }: Judged): boolean {
  const changes = simple.filter(({ verdict }) => verdict !== "allow");
  return (changes.length > 0 || writes.length > 0) && changes.every(isFileTool);
}

function isFileTool({ words: [program, ...args], verdict }: Simple): boolean {
  if (!/^(open|ask)$/.test(verdict)) return false;
  return (
    !program ||
    (FILE_TOOLS.has(path.basename(program)) && !reachesFurther(path.basename(program), args))
  );
}

/** rsync and dd change files, or another machine, or a device. */
export const reachesFurther = (programName: string, args: Simple["words"]): boolean =>
  (programName === "rsync" || programName === "dd") &&
  args.some((argument) => argument === undefined || FURTHER.test(argument));
