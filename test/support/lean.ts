// For files whose tests start many programs: starting one copies the page tables of the process
// that starts it, so that each megabyte costs 0.1 ms of every start.
import { setFlagsFromString } from "node:v8";

/** The judge's grammar is compiled once, quickly: compiling it again, for speed, would leave 45 MB
 * behind. */
for (const flag of ["--liftoff-only", "--no-wasm-dynamic-tiering", "--no-wasm-tier-up"])
  setFlagsFromString(flag);
