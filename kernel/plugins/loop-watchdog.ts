// Ends an endless loop in a plugin that is being loaded: once its time is over, or by Ctrl+C, which
// zz itself does not hear meanwhile.
import { codeOf, fault } from "../text/faults.ts";

// what the script below calls: Node limits only the time of scripts
const ACT_SYMBOL = Symbol.for("zz.act");

/** Calls a function. What it waits for is not limited, only what it does at once. */
export function endingLoops<T>(seconds: number, callPlugin: () => T): T {
  const { runInThisContext } = process.getBuiltinModule("node:vm");
  const globalHolder = globalThis as { [ACT_SYMBOL]?: () => T };
  globalHolder[ACT_SYMBOL] = callPlugin;
  try {
    return runInThisContext('globalThis[Symbol.for("zz.act")]()', {
      timeout: seconds * 1_000,
      breakOnSigint: true,
    });
  } catch (error) {
    if (codeOf(error) === "ERR_SCRIPT_EXECUTION_TIMEOUT")
      throw fault(`it ran for ${seconds} s without an end. Fix its loop.`);
    if (codeOf(error) !== "ERR_SCRIPT_EXECUTION_INTERRUPTED") throw error;
    if (!process.emit("SIGINT")) process.kill(process.pid, "SIGINT"); // as if zz had heard it
    throw fault("Ctrl+C ended it.");
  } finally {
    delete globalHolder[ACT_SYMBOL];
  }
}
