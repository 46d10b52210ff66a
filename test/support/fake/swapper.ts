// Swaps what a path leads to as fast as it can. Its parent sends [HOW, NAME, INSIDE, OUTSIDE], or [] to pause it.
import fs from "node:fs";

let [how, name = "", inside = "", outside = "", aside = ""]: string[] = [];
const link = (to: string) => {
  fs.symlinkSync(to, aside);
  fs.renameSync(aside, name);
};
const STEPS: Record<string, () => void> = {
  /** Swaps a file and a link. */
  file() {
    fs.copyFileSync(inside, aside);
    fs.renameSync(aside, name);
    fs.copyFileSync(inside, `${aside}.2`); // so that it exists as long as the link does
    link(outside);
  },
  /** Points a link now to one folder or file, now to another. */
  link() {
    link(inside);
    link(outside);
  },
  /** Swaps a folder and a link. */
  folder() {
    fs.renameSync(name, aside);
    fs.symlinkSync(outside, name);
    fs.unlinkSync(name);
    fs.renameSync(aside, name);
  },
};
process.on("message", (job: string[]) => {
  const wasIdle = how === undefined;
  [how, name = "", inside = "", outside = ""] = job;
  aside = `${name}.aside-of-the-swapper`;
  process.send?.(how ? "swapping" : "paused");
  if (wasIdle) some();
});
process.on("disconnect", () => process.exit());
function some(): void {
  if (!how) return;
  for (let i = 0; i < 200; i++) STEPS[how]!();
  setImmediate(some);
}
