// The files of a folder that git does not ignore, with git or without it.
import fs from "node:fs";
import path from "node:path";
import { whyNotProject } from "../gate/sensitive-paths.ts";
import { gitOf, mayBeInRepository } from "../system/safe-git.ts";
import { readRegular, repositoryTop, textOf } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";

/**
 * With that prefix to each name. top: where to start reading .gitignore files if git cannot help.
 */
export async function listUnignored(
  { root, top, folder }: { root: string; top: string; folder: string },
  prefix: string,
): Promise<string[]> {
  const listedByGit = await listByGit(root, folder);
  // Foreign: the folder is in a repository that ignores it.
  const isForeign =
    listedByGit &&
    !listedByGit.length &&
    (await gitOf(root).say(["check-ignore", "-q", top], top)) !== undefined;
  const fileNames = (
    listedByGit && !isForeign ? listedByGit : await listByWalk(root, top, folder)
  ).map((listedFile) => prefix + listedFile);
  return fileNames.filter((fileName) => !NEVER_LISTED.test(fileName)).sort();
}

const NEVER_LISTED = /(^|\/)(node_modules|\.git)(\/|$)/;
const IGNORED_WITHOUT_GIT = [
  "dist",
  "build",
  ".next",
  "coverage",
  ".venv",
  "__pycache__",
  "target",
];

/**
 * What git tracks or would track, in nested repositories too. Undefined: git may not be asked here.
 */
async function listByGit(root: string, folder: string): Promise<string[] | undefined> {
  const git = gitOf(root);
  const { why, reads } = await git
    .check(folder)
    .catch(() => ({ why: "git gives no answer", reads: [] }));
  // listing works without git, so no question is asked
  if (why || reads.length || !mayBeInRepository(folder)) return undefined;
  const topFolder = repositoryTop(folder) ?? folder;
  if (
    [folder, topFolder]
      .flatMap((gitFolder) => [`${gitFolder}/.gitignore`, `${gitFolder}/.git/info/exclude`])
      .some(isEndless)
  )
    return undefined;
  const gitOutput = await git.say(
    ["ls-files", "-coz", "--exclude-standard", "--deduplicate"],
    folder,
  );
  if (gitOutput === undefined) return undefined;
  // listing folders costs half of a stat for every file
  const folders = new Map<string, Map<string, fs.Dirent>>();
  const presentFiles: string[] = [];
  for (const listedName of gitOutput.split("\0")) {
    // tracked files may be missing
    const dirent = listedName ? entryOf(listedName.replace(/\/$/, "")) : undefined;
    const fullPath = `${folder}/${listedName}`;
    if (dirent?.isFile() || dirent?.isSymbolicLink()) presentFiles.push(listedName);
    else if (dirent?.isDirectory() && fs.existsSync(path.join(fullPath, ".git")))
      presentFiles.push(
        ...((await listByGit(root, fullPath)) ?? []).map((innerName) =>
          path.join(listedName, innerName),
        ),
      );
  }
  return presentFiles;

  function entryOf(entryName: string): fs.Dirent | undefined {
    const nameStart = entryName.lastIndexOf("/") + 1;
    const parentName = entryName.slice(0, nameStart);
    const readParent = () =>
      tryTo(() => fs.readdirSync(`${folder}/${parentName}`, { withFileTypes: true })) ?? [];
    if (!folders.has(parentName))
      folders.set(parentName, new Map(readParent().map((dirent) => [dirent.name, dirent])));
    return folders.get(parentName)!.get(entryName.slice(nameStart));
  }
}

/** Without git: a folder's .gitignore applies below it, and the last rule that matches wins. */
async function listByWalk(root: string, top: string, under: string): Promise<string[]> {
  const [{ default: ignore }, { setImmediate }] = await Promise.all([
    import("ignore"),
    import("node:timers/promises"),
  ]);
  const wanted = under === top ? "" : `${path.relative(top, under)}/`;
  // there may be hundreds of repositories: none is asked
  const isTooWide = whyNotProject(root) !== undefined;
  const files: string[] = [];
  // reading in blocks of 30 ms is three times as fast as awaiting each folder
  let pauseAt = performance.now() + 30;
  await walk("", [], { names: new Set(), alone: false });
  return files.map((fileName) => fileName.slice(wanted.length));

  async function walk(
    folderName: string,
    above: { base: string; rules: ReturnType<typeof ignore> }[],
    tracks: Tracks,
  ): Promise<void> {
    const folder = path.join(top, folderName);
    const entries = tryTo(() => fs.readdirSync(folder, { withFileTypes: true })) ?? [];
    const listedFiles =
      folderName && !isTooWide && entries.some((dirent) => dirent.name === ".git")
        ? await listByGit(root, folder)
        : undefined;
    if (listedFiles)
      return void files.push(
        ...listedFiles
          .map((name) => folderName + name)
          .filter((fullName) => fullName.startsWith(wanted)),
      );
    const { names, alone } = entries.some(
      (dirent) => dirent.name === ".git" && dirent.isDirectory(),
    )
      ? { names: trackedIn(path.join(folder, ".git", "index"), folderName), alone: false }
      : tracks;
    const hasOwnRules = entries.some((dirent) => dirent.name === ".gitignore" && dirent.isFile());
    const rules = hasOwnRules
      ? [
          ...above,
          {
            base: folderName,
            rules: ignore().add(rulesIn(textOf(path.join(folder, ".gitignore")))),
          },
        ]
      : above;
    for (const child of entries) {
      if (performance.now() > pauseAt) pauseAt = (await setImmediate(30)) + performance.now();
      const name = folderName + child.name + (child.isDirectory() ? "/" : "");
      if (!name.startsWith(wanted) && !(child.isDirectory() && wanted.startsWith(name))) continue;
      const verdicts = rules.map((ruleSet) => ruleSet.rules.test(name.slice(ruleSet.base.length)));
      const last = verdicts.findLast(({ ignored, unignored }) => ignored || unignored);
      const isLeftOut = alone || (last ? last.ignored : IGNORED_WITHOUT_GIT.includes(child.name));
      if (NEVER_LISTED.test(name) || (isLeftOut && !names.has(name))) continue;
      if (child.isDirectory()) await walk(name, rules, { names, alone: isLeftOut });
      else if (child.isFile() || child.isSymbolicLink()) files.push(name);
    }
  }
}

/**
 * What a repository tracks below a folder, as paths with its folders; alone: nothing else counts
 * there.
 */
type Tracks = { names: ReadonlySet<string>; alone: boolean };

/**
 * The names in git's index, which can be read without running anything. Empty if it is not of a
 * form that is known.
 */
function trackedIn(indexFile: string, folderName: string): Set<string> {
  const indexBytes = tryTo(() => readRegular(indexFile)) ?? Buffer.alloc(0);
  const trackedNames = new Set<string>();
  const version =
    indexBytes.length > 12 && indexBytes.toString("latin1", 0, 4) === "DIRC"
      ? indexBytes.readUInt32BE(4)
      : 0;
  if (version !== 2 && version !== 3 && version !== 4) return trackedNames;
  let [entryStart, previousName] = [12, ""];
  for (
    let remaining = indexBytes.readUInt32BE(8);
    remaining > 0 && entryStart + 62 < indexBytes.length;
    remaining--
  ) {
    let nameStart = entryStart + (version > 2 && indexBytes[entryStart + 60]! & 0x40 ? 64 : 62);
    let droppedBytes = 0;
    if (version === 4) {
      let nextByte = indexBytes[nameStart++]!;
      for (
        droppedBytes = nextByte & 127;
        nextByte & 128;
        droppedBytes = ((droppedBytes + 1) << 7) | (nextByte & 127)
      )
        nextByte = indexBytes[nameStart++]!;
    }
    const nameEnd = indexBytes.indexOf(0, nameStart);
    if (nameEnd < 0) break;
    const rawName =
      (version === 4 ? previousName.slice(0, previousName.length - droppedBytes) : "") +
      indexBytes.toString("latin1", nameStart, nameEnd);
    previousName = rawName;
    entryStart = version === 4 ? nameEnd + 1 : entryStart + (((nameEnd - entryStart) >> 3) + 1) * 8;
    const trackedName = Buffer.from(rawName, "latin1").toString();
    for (
      let slashIndex = trackedName.indexOf("/");
      slashIndex >= 0;
      slashIndex = trackedName.indexOf("/", slashIndex + 1)
    )
      trackedNames.add(folderName + trackedName.slice(0, slashIndex + 1));
    trackedNames.add(folderName + trackedName);
  }
  return trackedNames;
}

/**
 * The rules of a .gitignore that are safe as regular expressions: many stars could take forever.
 */
function rulesIn(ignoreText: string): string[] {
  let starred = 0;
  return ignoreText
    .split(/\r?\n/, MAX_IGNORE_RULES)
    .filter(
      (ruleLine) =>
        ruleLine.length <= MAX_IGNORE_RULE_CHARS &&
        starCount(ruleLine) <= 3 &&
        (starCount(ruleLine) < 2 || starred++ < MAX_STARRED_RULES),
    );
}
const starCount = (ruleLine: string): number =>
  Math.max(...ruleLine.split("/").map((pathPart) => pathPart.split(/\*+/).length - 1));
/**
 * Whether git could take minutes for such rules, at each listing: each star in a name multiplies
 * its work.
 */
const isEndless = (ignoreFile: string): boolean =>
  textOf(ignoreFile)
    .split("\n", MAX_IGNORE_RULES)
    .some((ruleLine) => starCount(ruleLine) > 3);
const [MAX_IGNORE_RULES, MAX_IGNORE_RULE_CHARS, MAX_STARRED_RULES] = [10_000, 500, 100];
