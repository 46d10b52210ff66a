// grep -r: which of the files below a folder may contain secrets.
import { direntsOf, inFolder, isFolderIn } from "../paths.ts";
import { ask, type Doubt, type FileFacts } from "./doubts.ts";
import { KEEPS, keepsSecrets } from "./git-history.ts";
import type { Parsed } from "./options.ts";

export const isRecursive = ({ values }: Parsed): boolean => ["-r", "--recursive"].some((one) => values.has(one));

export function checkGrep(parsed: Parsed, dirs: readonly string[], fileFacts: FileFacts): Doubt | undefined {
  if (!isRecursive(parsed)) return undefined;
  const { operands, values } = parsed;
  const given = (name: string) => values.get(name) ?? [];
  const isNamed = ["-e", "--regexp"].some((one) => values.has(one));
  const names = (isNamed ? operands : operands.slice(1)).map(({ text }) => text ?? ".");
  // Where something is left out first, what matches nothing is searched, too.
  const ends = values.has("--exclude") ? [] : given("--include").map((glob) => /^\*(\.\w+)$/.exec(glob)?.[1] ?? "");
  const skipped = new Set([...given("--exclude-dir").filter((name) => /^[\w.-]+$/.test(name))]);
  for (const dir of dirs)
    for (const name of names.length ? names : ["."]) {
      const found = isFolderIn(name, [dir]) && findSecret(inFolder(dir, name), ends, skipped, fileFacts);
      if (found) return ask(found);
    }
  return undefined;
}

const MAX_ENTRIES = 20_000;

/** It looks into all folders and follows no links. */
function findSecret(folder: string, ends: string[], skipped: Set<string>, fileFacts: FileFacts): string | undefined {
  const { secret = () => true } = fileFacts;
  if (keepsSecrets(folder, fileFacts)) return KEEPS;
  const mayBeObjects = !ends.length || ends.some((end) => !end || end === ".pack"); // the others have no ending
  const folders = [folder];
  for (let seen = 0; folders.length; ) {
    const here = folders.pop()!;
    for (const entry of direntsOf(here)) {
      const [name, at] = [entry.name, `${here}/${entry.name}`];
      if (++seen > MAX_ENTRIES) return "there are too many files to tell what it would read";
      if (entry.isDirectory()) {
        if (skipped.has(name)) continue;
        if (name === "objects" && mayBeObjects && keepsSecrets(at, fileFacts)) return KEEPS;
        if (!/\/\.git\/objects$/.test(at)) folders.push(at);
      } else if (entry.isFile() && (!ends.length || ends.some((end) => name.endsWith(end))) && secret(at))
        return `it would read '${name}', which may hold a secret`;
    }
  }
  return undefined;
}
