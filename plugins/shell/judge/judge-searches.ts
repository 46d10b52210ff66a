// grep -r and rg: which of the files that they find by themselves may contain secrets.
import fs from "node:fs";
import path from "node:path";
import { textOf } from "zz/text";
import { direntsOf, inFolder, isFolderIn } from "../resolve-paths.ts";
import { KEEPS, keepsSecrets } from "./git-history.ts";
import { ask, type FileFacts, type Ruling } from "./judge-state.ts";
import type { ParsedOptions } from "./parse-options.ts";

/** What a search passes over. */
interface Search {
  ends: string[]; // only names that end so, if there are any
  skipped?: Set<string>; // folders by their names
  skipsHidden?: true; // names with a dot at their beginning, unless they end so
}

export const isRecursive = ({ values }: ParsedOptions): boolean =>
  ["-r", "--recursive"].some((name) => values.has(name));
const valuesOf = ({ values }: ParsedOptions, names: string[]): string[] =>
  names.flatMap((name) => values.get(name) ?? []);

export function checkGrep(
  parsed: ParsedOptions,
  dirs: readonly string[],
  facts: FileFacts,
): Ruling | undefined {
  if (!isRecursive(parsed)) return undefined;
  // Where something is left out first, what matches nothing is searched, too.
  const globs = parsed.values.has("--exclude") ? [] : valuesOf(parsed, ["--include"]);
  const ends = globs.map((glob) => /^\*(\.\w+)$/.exec(glob)?.[1] ?? "");
  const skipped = new Set(
    valuesOf(parsed, ["--exclude-dir"]).filter((name) => /^[\w.-]+$/.test(name)),
  );
  return checkFolders(parsed, dirs, facts, { ends, skipped });
}

/** Globs and types override what keeps rg from hidden files, so only plain ones run unasked. */
const RG_TYPE =
  /^(ts|js|py|python|rust|go|java|c|cpp|css|html|json|yaml|toml|md|markdown|txt|sql|swift|kotlin|php|lua)$/;
const RG_GLOB = /^!|^(([\w-]+|\*\*)\/)*\*(\.\w+)$/;
/** How names of some types end. They include hidden files that match. */
const TYPE_ENDS = [".ts", ".js", ".json", ".yaml", ".yml", ".toml", ".md", ".txt", ".py"];

export function checkRg(
  parsed: ParsedOptions,
  dirs: readonly string[],
  facts: FileFacts,
): Ruling | undefined {
  const { secret = () => true } = facts;
  const [globs, types] = [valuesOf(parsed, ["-g", "--glob"]), valuesOf(parsed, ["-t", "--type"])];
  const includesHidden = (glob: string) => {
    const [plain, , , end] = RG_GLOB.exec(glob) ?? [];
    return plain === undefined || (end !== undefined && (secret(end) || secret(`x${end}`)));
  };
  if (globs.some(includesHidden)) return ask("this glob may bring in hidden files");
  if (types.some((type) => !RG_TYPE.test(type))) return ask("this type may bring in hidden files");
  if (parsed.values.has("--files")) return undefined;
  const ends = globs.flatMap((glob) =>
    glob.startsWith("!") ? [] : glob.slice(glob.lastIndexOf(".")),
  );
  if (types.length) ends.push(...TYPE_ENDS);
  return checkFolders(parsed, dirs, facts, { ends, skipsHidden: true });
}

function checkFolders(
  { operands, values }: ParsedOptions,
  dirs: readonly string[],
  facts: FileFacts,
  search: Search,
): Ruling | undefined {
  const isNamed = values.has("-e") || values.has("--regexp");
  const names = (isNamed ? operands : operands.slice(1)).map(({ text }) => text ?? ".");
  for (const dir of dirs)
    for (const name of names.length ? names : ["."]) {
      const problem = isFolderIn(name, [dir]) && findSecret(inFolder(dir, name), search, facts);
      if (problem) return ask(problem);
    }
  return undefined;
}

const MAX_ENTRIES = 20_000;

/** Looks into all folders that the search would look into; neither program follows links. */
function findSecret(
  top: string,
  { ends, skipped, skipsHidden }: Search,
  facts: FileFacts,
): string | undefined {
  const { secret = () => true } = facts;
  if (keepsSecrets(top, facts)) return KEEPS;
  const hasEnd = (name: string) => ends.some((end) => name.endsWith(end));
  // the others have no ending
  const mayBeObjects = skipsHidden || !ends.length || ends.some((end) => !end || end === ".pack");
  const skipsModules = skipsHidden && ignoresModules(top);
  const isPassed = (name: string) =>
    skipsHidden
      ? (name === "node_modules" && skipsModules) || (name.startsWith(".") && !hasEnd(name))
      : ends.length > 0 && !hasEnd(name);
  const folders = [top];
  for (let count = 0; folders.length; ) {
    const folder = folders.pop()!;
    for (const dirent of direntsOf(folder)) {
      const [name, absolutePath] = [dirent.name, `${folder}/${dirent.name}`];
      if (++count > MAX_ENTRIES) return "there are too many files to tell what it would read";
      if (skipsHidden && /^\.(rg)?ignore$/.test(name)) return `${name} may bring in hidden files`;
      if (name === "objects" && mayBeObjects && keepsSecrets(absolutePath, facts)) return KEEPS;
      if (dirent.isDirectory()) {
        const isSkipped = skipsHidden ? name.startsWith(".") || isPassed(name) : skipped?.has(name);
        if (!isSkipped && !/\/\.git\/objects$/.test(absolutePath)) folders.push(absolutePath);
      } else if (dirent.isFile() && !isPassed(name) && secret(absolutePath))
        return `it would read '${name}', which may hold a secret`;
    }
  }
  return undefined;
}

/** rg obeys a .gitignore only in a repository. */
function ignoresModules(folder: string): boolean {
  for (let current = path.resolve(folder), ignored = false; ; current = path.dirname(current)) {
    ignored ||= /^\/?(\*\*\/)?node_modules\/?\s*$/m.test(textOf(path.join(current, ".gitignore")));
    if (fs.existsSync(path.join(current, ".git"))) return ignored;
    if (current === path.dirname(current)) return false;
  }
}
