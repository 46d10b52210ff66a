// rg: which of the files that it finds by itself may contain secrets.
import fs from "node:fs";
import path from "node:path";
import { textOf } from "zz/text";
import { direntsOf, inFolder, isFolderIn } from "../paths.ts";
import { ask, type Doubt, type FileFacts } from "./doubts.ts";
import { KEEPS, keepsSecrets } from "./git-history.ts";
import type { Parsed } from "./options.ts";

/** Globs and types override what keeps rg from hidden files, so only plain ones run unasked. */
const RG_TYPE =
  /^(ts|js|py|python|rust|go|java|c|cpp|css|html|json|yaml|toml|md|markdown|txt|sql|swift|kotlin|php|lua)$/;
const RG_GLOB = /^!|^(([\w-]+|\*\*)\/)*\*(\.\w+)$/;

export function checkRg(
  { operands, values }: Parsed,
  dirs: readonly string[],
  fileFacts: FileFacts,
): Doubt | undefined {
  const { secret = () => true } = fileFacts;
  const given = (...names: string[]) => names.flatMap((name) => values.get(name) ?? []);
  const includesHidden = (glob: string) => {
    const [plain, , , end] = RG_GLOB.exec(glob) ?? [];
    return plain === undefined || (end !== undefined && (secret(end) || secret(`x${end}`)));
  };
  if (given("-g", "--glob").some(includesHidden)) return ask("this glob may bring in hidden files");
  if (given("-t", "--type").some((type) => !RG_TYPE.test(type))) return ask("this type may bring in hidden files");
  if (values.has("--files")) return undefined;
  // They include hidden files that match.
  const ends = given("-g", "--glob").flatMap((glob) => (glob.startsWith("!") ? [] : glob.slice(glob.lastIndexOf("."))));
  if (given("-t", "--type").length) ends.push(".ts", ".js", ".json", ".yaml", ".yml", ".toml", ".md", ".txt", ".py");
  const named = values.has("-e") || values.has("--regexp");
  const paths = (named ? operands : operands.slice(1)).map(({ text }) => text ?? ".");
  for (const dir of dirs)
    for (const one of paths.length ? paths : ["."]) {
      const found = isFolderIn(one, [dir]) ? findSecret(inFolder(dir, one), ends, fileFacts) : undefined;
      if (found) return ask(found);
    }
  return undefined;
}

const MAX_ENTRIES = 20_000;

/** By default rg skips hidden files, but not keys; and an .ignore file may include hidden ones again. */
function findSecret(folder: string, ends: string[], fileFacts: FileFacts): string | undefined {
  const { secret = () => true } = fileFacts;
  if (keepsSecrets(folder, fileFacts)) return KEEPS;
  const folders = [folder];
  const skipsModules = ignoresModules(folder);
  for (let seen = 0; folders.length; ) {
    const here = folders.pop()!;
    for (const entry of direntsOf(here)) {
      const { name } = entry;
      if (++seen > MAX_ENTRIES) return "there are too many files to tell what it would read";
      if (/^\.(rg)?ignore$/.test(name)) return `${name} may bring in hidden files`;
      if (
        (name === "node_modules" && skipsModules) ||
        (name.startsWith(".") && !ends.some((end) => name.endsWith(end)))
      )
        continue;
      if (name === "objects" && keepsSecrets(`${here}/${name}`, fileFacts)) return KEEPS;
      if (entry.isDirectory() && !name.startsWith(".")) folders.push(`${here}/${name}`);
      else if (secret(`${here}/${name}`)) return `it would read '${name}', which may hold a secret`;
    }
  }
  return undefined;
}

/** rg obeys a .gitignore only in a repository. */
function ignoresModules(folder: string): boolean {
  for (let at = path.resolve(folder), ignored = false; ; at = path.dirname(at)) {
    ignored ||= /^\/?(\*\*\/)?node_modules\/?\s*$/m.test(textOf(path.join(at, ".gitignore")));
    if (fs.existsSync(path.join(at, ".git"))) return ignored;
    if (at === path.dirname(at)) return false;
  }
}
