// One of two who want the same session: opens it, adds a few entries, closes it, again and again.
// Says each that was acknowledged. At some rounds it stops itself in their midst, as a machine does
// that is shut.
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { openSession } from "../../../kernel/conversation/session-files.ts";
import { openRedis } from "../store.ts";

const [url, id, name, rounds, ...stops] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  ...string[],
];
const plain = {
  password: "",
  prefix: "zz",
  cluster: false,
  replicas: 0,
  seconds: 5,
  lockSeconds: 2,
};
const store = openRedis({ url, where: url, ...plain });
let count = 0;
for (let won = 0; won < Number(rounds); )
  try {
    const session = openSession(store, id, () => {});
    const begun = session.entries.length;
    for (let i = 0; i < 5; i++) {
      session.append("state", { plugin: name, value: ++count });
      writeSync(1, `${name} ${count} ${begun}\n`);
      if (i === 2 && stops.includes(`${won}`)) {
        stops.splice(stops.indexOf(`${won}`), 1);
        writeSync(1, `${name} stops\n`);
        process.kill(process.pid, "SIGSTOP");
      }
      await sleep(1);
    }
    session.close();
    won++;
    await sleep(2);
  } catch (error) {
    const { message } = error as Error;
    if (!/another zz|went on with it/.test(message)) throw error;
    if (/went on with it/.test(message)) writeSync(1, `${name} refused\n`);
    await sleep(1);
  }
process.exit(0);
