// --audit FILE: a line of JSON for every decision of the gate, written before what was decided is done.
import { appendFileSync } from "node:fs";
import type { Zz } from "zz";

const WHY: Record<string, string> = {
  ENOENT: "no such file or folder. Name a file in a folder that is there.",
  ENOTDIR: "a part of the path is not a folder. Name a file in a folder that is there.",
  EISDIR: "it is a folder. Name a file.",
  EACCES: "permission denied. Name a file that you may write.",
  EROFS: "the file system is read-only. Name a file elsewhere.",
};

export default (zz: Zz) => {
  let file = "";
  zz.flag({
    name: "audit",
    value: "FILE",
    description: "append every permission decision to it, a line of JSON each",
    set: (value) => {
      file = String(value);
      try {
        appendFileSync(file, "", { mode: 0o600 });
      } catch (error) {
        const words = WHY[(error as NodeJS.ErrnoException).code ?? ""] ?? `${(error as Error).message}.`;
        throw Object.assign(new Error(`Cannot write the audit to '${file}': ${words}`), { exit: 2 });
      }
    },
  });
  zz.on("decided", (decision) => {
    if (file) appendFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), ...decision })}\n`);
  });
};
