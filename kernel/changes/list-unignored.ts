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
  const names = (listedByGit && !isForeign ? listedByGit : await listByWalk(root, top, folder)).map(
    (file) => prefix + file,
  );
  return names.filter((file) => !NEVER_LISTED.test(file)).sort();
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
  const top = repositoryTop(folder) ?? folder;
  if (
    [folder, top]
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
  const files: string[] = [];
  for (const name of gitOutput.split("\0")) {
    // tracked files may be missing
    const dirent = name ? entryOf(name.replace(/\/$/, "")) : undefined;
    const file = `${folder}/${name}`;
    if (dirent?.isFile() || dirent?.isSymbolicLink()) files.push(name);
    else if (dirent?.isDirectory() && fs.existsSync(path.join(file, ".git")))
      files.push(...((await listByGit(root, file)) ?? []).map((inner) => path.join(name, inner)));
  }
  return files;

  function entryOf(name: string): fs.Dirent | undefined {
    const cut = name.lastIndexOf("/") + 1;
    const parent = name.slice(0, cut);
    const read = () =>
      tryTo(() => fs.readdirSync(`${folder}/${parent}`, { withFileTypes: true })) ?? [];
    if (!folders.has(parent))
      folders.set(parent, new Map(read().map((child) => [child.name, child])));
    return folders.get(parent)!.get(name.slice(cut));
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
  const isWide = whyNotProject(root) !== undefined;
  const files: string[] = [];
  // reading in blocks of 30 ms is three times as fast as awaiting each folder
  let pauseAt = performance.now() + 30;
  await walk("", [], { names: new Set(), alone: false });
  return files.map((name) => name.slice(wanted.length));

  async function walk(
    folderName: string,
    above: { base: string; rules: ReturnType<typeof ignore> }[],
    tracks: Tracks,
  ): Promise<void> {
    if (performance.now() > pauseAt) pauseAt = (await setImmediate(30)) + performance.now();
    const folder = path.join(top, folderName);
    const entries = tryTo(() => fs.readdirSync(folder, { withFileTypes: true })) ?? [];
    const listedFiles =
      folderName && !isWide && entries.some((dirent) => dirent.name === ".git")
        ? await listByGit(root, folder)
        : undefined;
    if (listedFiles)
      return void files.push(
        ...listedFiles.map((name) => folderName + name).filter((name) => name.startsWith(wanted)),
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
      const judged = rules.map((rule) => rule.rules.test(name.slice(rule.base.length)));
      const last = judged.findLast(({ ignored, unignored }) => ignored || unignored);
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
function trackedIn(index: string, folderName: string): Set<string> {
  const bytes = tryTo(() => readRegular(index)) ?? Buffer.alloc(0);
  const names = new Set<string>();
  const version =
    bytes.length > 12 && bytes.toString("latin1", 0, 4) === "DIRC" ? bytes.readUInt32BE(4) : 0;
  if (version !== 2 && version !== 3 && version !== 4) return names;
  let [start, before] = [12, ""];
  for (
    let remaining = bytes.readUInt32BE(8);
    remaining > 0 && start + 62 < bytes.length;
    remaining--
  ) {
    let from = start + (version > 2 && bytes[start + 60]! & 0x40 ? 64 : 62);
    let kept = 0;
    if (version === 4) {
      let byte = bytes[from++]!;
      for (kept = byte & 127; byte & 128; kept = ((kept + 1) << 7) | (byte & 127))
        byte = bytes[from++]!;
    }
    const end = bytes.indexOf(0, from);
    if (end < 0) break;
    const name =
      (version === 4 ? before.slice(0, before.length - kept) : "") +
      bytes.toString("latin1", from, end);
    before = name;
    start = version === 4 ? end + 1 : start + (((end - start) >> 3) + 1) * 8;
    const trackedName = Buffer.from(name, "latin1").toString();
    for (let cut = trackedName.indexOf("/"); cut >= 0; cut = trackedName.indexOf("/", cut + 1))
      names.add(folderName + trackedName.slice(0, cut + 1));
    names.add(folderName + trackedName);
  }
  return names;
}

/**
 * The rules of a .gitignore that are safe as regular expressions: many stars could take forever.
 */
function rulesIn(text: string): string[] {
  let starred = 0;
  return text
    .split(/\r?\n/, MAX_IGNORE_RULES)
    .filter(
      (line) =>
        line.length <= MAX_IGNORE_RULE_CHARS &&
        starCount(line) <= 3 &&
        (starCount(line) < 2 || starred++ < MAX_STARRED_RULES),
    );
}
const starCount = (line: string): number =>
  Math.max(...line.split("/").map((part) => part.split(/\*+/).length - 1));
/**
 * Whether git could take minutes for such rules, at each listing: each star in a name multiplies
 * its work.
 */
const isEndless = (file: string): boolean =>
  textOf(file)
    .split("\n", MAX_IGNORE_RULES)
    .some((line) => starCount(line) > 3);
const [MAX_IGNORE_RULES, MAX_IGNORE_RULE_CHARS, MAX_STARRED_RULES] = [10_000, 500, 100];
