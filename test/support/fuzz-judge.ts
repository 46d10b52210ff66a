// The fuzzer: makes lines, judges them, really runs those that are allowed, and reports which did
// more than the judge had said.
import path from "node:path";
import { type Judged, judgeLine } from "../../plugins/shell/judge/judge-line.ts";
import { programOf, SHELLS, WRAPPERS } from "../../plugins/shell/judge/program-table.ts";
import { linesFrom } from "./bash-lines.ts";
import { type Jail, openJail, type Started } from "./jail.ts";

export type Found = { line: string; did: string };
/** `empty`: lines that need nothing, so there is nothing to deny. */
type Tally = { allowed: number; found: Found[]; empty: number };
type Allowed = { line: string; judged: Judged };

const BATCH = 300;
const NONE = { deny: [], except: [] };
/** The system's own scripts that wrap another program. */
const SCRIPTS = /^\/+(usr\/+)?bin\/+(which|which\.debianutils|egrep|fgrep)$/;

/** Whether a line runs unasked. The gate asks for reads elsewhere, where the jail has other
 * files. */
const isUnasked = ({ verdict, reads }: Judged, { root }: Jail): boolean =>
  verdict === "allow" && reads.every((one) => path.resolve(root, one).startsWith(root));

/** Programs that were started without the judge knowing. */
function unknownPrograms({ simple }: Judged, all: Started[]): Started[] {
  const known = simple.filter(({ words }) => words.length);
  return all.filter(({ file, argv: [name = "", ...rest] }) => {
    if (!/^\/usr\/|^\/bin\//.test(file)) return true;
    const program = path.basename(/^\/(usr\/)?bin\/(dash|bash)$/.test(file) ? name : file);
    if (SHELLS.has(program))
      return !(rest.some((one) => /^-[a-z]*c[a-z]*$/.test(one)) || SCRIPTS.test(rest[0] ?? ""));
    if (program !== "command" && Object.hasOwn(WRAPPERS, program)) return false;
    return !known.some(({ words: [first, ...words] }) => {
      const named = first !== undefined && programOf(first).split("/").at(-1);
      if (/^[ef]?grep$/.test(String(named)) && program === "grep") return true;
      // awk is a link to one of several
      if (named !== program && !(named === "awk" && /awk$/.test(program))) return false;
      return words.includes(undefined) || JSON.stringify(words) === JSON.stringify(rest);
    });
  });
}

/** What an allowed line does on its own but should not; undefined if all is well. */
async function faultOf(jail: Jail, line: string): Promise<string | undefined> {
  const judged = await judgeLine(line, jail.root, { ...NONE, env: jail.env });
  if (!isUnasked(judged, jail)) return undefined;
  const { started, touched } = jail.run([line]);
  const more = unknownPrograms(judged, started[0] ?? []);
  return touched.length || more.length ? JSON.stringify({ touched, started: more }) : undefined;
}

/** All at once; by halves where they did not end, or touched a file, which does not show the line
 * that did. */
async function tryAll(jail: Jail, all: Allowed[]): Promise<Found[]> {
  if (!all.length) return [];
  const { started, touched, stuck } = jail.run(all.map(({ line }) => line));
  const half = all.length >> 1;
  if ((stuck || touched.length) && half)
    return [...(await tryAll(jail, all.slice(0, half))), ...(await tryAll(jail, all.slice(half)))];
  const suspects = all.filter(
    ({ judged }, i) => touched.length || unknownPrograms(judged, started[i] ?? []).length,
  );
  const found: Found[] = [];
  for (const { line } of suspects) {
    const did = await faultOf(jail, line);
    if (did) found.push({ line, did });
  }
  return found;
}

export async function fuzz(seed: number, lines: number): Promise<Tally> {
  const jail = openJail();
  const make = linesFrom(seed);
  const tally: Tally = { allowed: 0, found: [], empty: 0 };
  const waiting: Allowed[] = [];
  try {
    for (let made = 1; made <= lines; made++) {
      const line = make();
      const judged = await judgeLine(line, jail.root, { ...NONE, env: jail.env });
      if (!judged.simple.length) tally.empty++;
      if (isUnasked(judged, jail) && line.trim()) {
        tally.allowed++;
        waiting.push({ line, judged });
      }
      if (waiting.length < BATCH && made < lines) continue;
      tally.found.push(...(await tryAll(jail, waiting.splice(0))));
    }
  } finally {
    jail.close();
  }
  return tally;
}
