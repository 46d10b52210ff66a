// A zz of its own that takes turns in a session of a store, and says each turn that it
// acknowledged. It runs until it is killed.
import { writeSync } from "node:fs";
import { harness } from "../../../sdk/testing.ts";

const [url, session, first, most] = process.argv.slice(2) as [string, string, string, string];
const zz = await harness({
  plugins: [new URL("../index.ts", import.meta.url)],
  settings: { store: url, redis: { seconds: 20 } },
  script: Array.from({ length: Number(most) }, (_, i) => ({ text: `answer ${Number(first) + i}` })),
});
if (session) zz.ctx.sessions.open(session);
for (let turn = Number(first); turn < Number(first) + Number(most); turn++) {
  await zz.ask(`turn ${turn}`);
  writeSync(1, `${zz.chat.id} ${turn}\n`);
}
process.exit(0); // as if it were killed: nothing is closed
