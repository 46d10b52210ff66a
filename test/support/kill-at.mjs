// Kills this process, as by kill -9, right before its nth step on the disk that changes something
// below the folders of KILL_BELOW.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const STEPS = "mkdirSync linkSync renameSync unlinkSync rmdirSync rmSync openSync writeFileSync writeSync symlinkSync chmodSync fchmodSync fsyncSync copyFileSync";
const [below, nth] = [(process.env.KILL_BELOW ?? "").split(":"), Number(process.env.KILL_AT)];
let steps = 0;
for (const name of STEPS.split(" ")) {
  const act = fs[name];
  fs[name] = (...args) => {
    const at = args.map((arg) => (typeof arg === "number" ? named(`/proc/self/fd/${arg}`) : real(`${arg}`)));
    if (at.some((one) => below.some((folder) => one.startsWith(folder))) && ++steps === nth) process.kill(process.pid, "SIGKILL");
    return act(...args);
  };
}
syncBuiltinESMExports();

function real(at) {
  const [, fd, rest = ""] = /^(\/proc\/self\/fd\/\d+)(\/.*)?$/.exec(at) ?? [];
  return fd ? named(fd) + rest : at;
}
function named(link) {
  try {
    return fs.readlinkSync(link);
  } catch {
    return "";
  }
}
