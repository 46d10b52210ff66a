// --audit FILE: a line of JSON for every decision of the gate, written before what was decided is done.
import { appendFileSync } from "node:fs";
import type { Zz } from "zz";

export default (zz: Zz) => {
  let file = "";
  zz.flag({
    name: "audit",
    value: "FILE",
    description: "append every permission decision to it, a line of JSON each",
    set: (value) => {
      file = String(value);
      appendFileSync(file, "", { mode: 0o600 });
    },
  });
  zz.on("decided", (decision) => {
    if (file) appendFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), ...decision })}\n`);
  });
};
