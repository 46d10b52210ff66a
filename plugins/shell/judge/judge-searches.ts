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
  ["-r", "--recursive"].some((optionName) => values.has(optionName));
const valuesOf = ({ values }: ParsedOptions, optionNames: string[]): string[] =>
  optionNames.flatMap((optionName) => values.get(optionName) ?? []);

export function checkGrep(
  parsedOptions: ParsedOptions,
  dirs: readonly string[],
  fileFacts: FileFacts,
): Ruling | undefined {
  if (!isRecursive(parsedOptions)) return undefined;
  // Where something is left out first, what matches nothing is searched, too.
  const includeGlobs = parsedOptions.values.has("--exclude")
    ? []
    : valuesOf(parsedOptions, ["--include"]);
  const ends = includeGlobs.map((glob) => /^\*(\.\w+)$/.exec(glob)?.[1] ?? "");
  const skipped = new Set(
    valuesOf(parsedOptions, ["--exclude-dir"]).filter((folderName) => /^[\w.-]+$/.test(folderName)),
  );
  return checkFolders(parsedOptions, dirs, fileFacts, { ends, skipped });
}

/** Globs and types override what keeps rg from hidden files, so only plain ones run unasked. */
const RG_TYPES = new Set(
  `ts js py python rust go java c cpp css html json yaml toml md markdown txt sql swift kotlin php
    lua`.split(/\s+/),
);
const RG_GLOB = /^!|^(([\w-]+|\*\*)\/)*\*(\.\w+)$/;
/** How names of some types end. They include hidden files that match. */
const TYPE_ENDS = [".ts", ".js", ".json", ".yaml", ".yml", ".toml", ".md", ".txt", ".py"];

export function checkRg(
  parsedOptions: ParsedOptions,
  dirs: readonly string[],
  fileFacts: FileFacts,
): Ruling | undefined {
  const { secret = () => true } = fileFacts;
  const [globs, fileTypes] = [
    valuesOf(parsedOptions, ["-g", "--glob"]),
    valuesOf(parsedOptions, ["-t", "--type"]),
  ];
  const includesHidden = (glob: string) => {
    const [plainGlob, , , nameEnd] = RG_GLOB.exec(glob) ?? [];
    return (
      plainGlob === undefined ||
      (nameEnd !== undefined && (secret(nameEnd) || secret(`x${nameEnd}`)))
    );
  };
  if (globs.some(includesHidden)) return ask("this glob may bring in hidden files");
  if (fileTypes.some((fileType) => !RG_TYPES.has(fileType)))
    return ask("this type may bring in hidden files");
  if (parsedOptions.values.has("--files")) return undefined;
  const ends = globs.flatMap((glob) =>
    glob.startsWith("!") ? [] : glob.slice(glob.lastIndexOf(".")),
  );
  if (fileTypes.length) ends.push(...TYPE_ENDS);
  return checkFolders(parsedOptions, dirs, fileFacts, { ends, skipsHidden: true });
}

function checkFolders(
  { operands, values }: ParsedOptions,
  dirs: readonly string[],
  fileFacts: FileFacts,
  searchRules: Search,
): Ruling | undefined {
  const isNamed = values.has("-e") || values.has("--regexp");
  const searchedPaths = (isNamed ? operands : operands.slice(1)).map(({ text }) => text ?? ".");
  for (const folder of dirs)
    for (const searchedPath of searchedPaths.length ? searchedPaths : ["."]) {
      const problem =
        isFolderIn(searchedPath, [folder]) &&
        findSecret(inFolder(folder, searchedPath), searchRules, fileFacts);
      if (problem) return ask(problem);
    }
  return undefined;
}

const MAX_ENTRIES = 20_000;

/** Looks into all folders that the search would look into; neither program follows links. */
function findSecret(
  topFolder: string,
  { ends, skipped, skipsHidden }: Search,
  fileFacts: FileFacts,
): string | undefined {
  const { secret = () => true } = fileFacts;
  if (keepsSecrets(topFolder, fileFacts)) return KEEPS;
  const hasWantedEnd = (fileName: string) => ends.some((wantedEnd) => fileName.endsWith(wantedEnd));
  // the others have no ending
  const mayBeObjects =
    skipsHidden || !ends.length || ends.some((wantedEnd) => !wantedEnd || wantedEnd === ".pack");
  const skipsModules = skipsHidden && ignoresModules(topFolder);
  const isPassed = (entryName: string) =>
    skipsHidden
      ? (entryName === "node_modules" && skipsModules) ||
        (entryName.startsWith(".") && !hasWantedEnd(entryName))
      : ends.length > 0 && !hasWantedEnd(entryName);
  const folders = [topFolder];
  let entryCount = 0;
  while (folders.length) {
    const folder = folders.pop()!;
    for (const dirent of direntsOf(folder)) {
      const [entryName, absolutePath] = [dirent.name, `${folder}/${dirent.name}`];
      if (++entryCount > MAX_ENTRIES) return "there are too many files to tell what it would read";
      if (skipsHidden && /^\.(rg)?ignore$/.test(entryName))
        return `${entryName} may bring in hidden files`;
      if (entryName === "objects" && mayBeObjects && keepsSecrets(absolutePath, fileFacts))
        return KEEPS;
      if (dirent.isDirectory()) {
        const isSkipped = skipsHidden
          ? entryName.startsWith(".") || isPassed(entryName)
          : skipped?.has(entryName);
        if (!isSkipped && !/\/\.git\/objects$/.test(absolutePath)) folders.push(absolutePath);
      } else if (dirent.isFile() && !isPassed(entryName) && secret(absolutePath))
        return `it would read '${entryName}', which may hold a secret`;
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
