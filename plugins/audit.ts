// --audit FILE: a line of JSON for every decision of the gate, written before the decision takes
// effect.
import { appendFileSync } from "node:fs";
import path from "node:path";
import type { Zz } from "zz";
import { codeOf, errnoSentence, usage } from "zz/text";

const REASON_BY_CODE: Record<string, string> = {
  ENOENT: "no such file or folder. Name a file in a folder that is there.",
  ENOTDIR: "a part of the path is not a folder. Name a file in a folder that is there.",
  EISDIR: "it is a folder. Name a file.",
  EACCES: "permission denied. Name a file that you may write.",
  EROFS: "the file system is read-only. Name a file elsewhere.",
};

export default (zz: Zz) => {
  let auditFile = "";
  zz.flag({
    name: "audit",
    value: "FILE",
    group: "what tools may do",
    description: "append a line of JSON to it for every permission decision",
    set: (flagValue) => {
      auditFile = flagValue === "" ? "" : path.resolve(zz.io.cwd(), String(flagValue));
      try {
        appendFileSync(auditFile, "", { mode: 0o600 });
      } catch (error) {
        const reason =
          REASON_BY_CODE[codeOf(error)] ?? (errnoSentence(error) || `${(error as Error).message}.`);
        throw usage(`Cannot write the audit to '${flagValue}': ${reason}`);
      }
    },
  });
  zz.on("decided", (decision) => {
    if (auditFile)
      appendFileSync(
        auditFile,
        `${JSON.stringify({ at: new Date().toISOString(), ...decision })}\n`,
      );
  });
};
