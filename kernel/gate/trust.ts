// What a project brings that could run or steer zz: plugins, prompts, settings and hooks in its
// .zz/, the servers of its .mcp.json, and what it has for other agents. It counts only after the
// person has trusted exactly these bytes; trust.json in the home remembers them.

import fs from "node:fs";
import path from "node:path";
import type { Core, Hashes, ProjectExtras } from "../instance.ts";
import { fileFault } from "../system/atomic-write.ts";
import { hashOf } from "../system/file-state.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { fault } from "../text/faults.ts";
import { entriesOf, textOf } from "../text/read-quietly.ts";
import { compare, tryTo } from "../text/words.ts";

type TrustScope = { root: string; home: string };

const [MAX_FILES, MAX_BYTES] = [2_000, 20_000_000];
const trustFile = (home: string): string => path.join(home, "trust.json");
const readTrustFile = (home: string): Record<string, Hashes> =>
  tryTo(() => JSON.parse(textOf(trustFile(home)))) ?? {};

/**
 * Undefined if the project brings nothing, or is the home itself. Files with the same size and time
 * as before are not read again.
 */
export function projectExtras(
  { root, home }: TrustScope,
  before?: ProjectExtras,
): ProjectExtras | undefined {
  const projectFolder = path.join(root, ".zz");
  if (tryTo(() => fs.realpathSync(projectFolder) === fs.realpathSync(home))) return undefined;
  const { hashes, stamps, wrong } = hashExtras(root, before);
  const files = Object.keys(hashes).sort(compare);
  if (!files.length && !wrong) return undefined;
  const trustEntries = readTrustFile(home)[root];
  const yes =
    trustEntries &&
    Object.fromEntries(
      Object.entries(trustEntries).filter(([name]) => !name.startsWith(DESTINATION_MARK)),
    );
  const agreed = Object.keys(trustEntries ?? {}).flatMap((name) =>
    name.startsWith(DESTINATION_MARK) ? [name.slice(DESTINATION_MARK.length)] : [],
  );
  const changed =
    yes &&
    files
      .filter((name) => yes[name] !== hashes[name])
      .concat(Object.keys(yes).filter((name) => !Object.hasOwn(hashes, name)));
  return {
    files,
    hashes,
    agreed,
    stamps,
    given: !wrong && changed?.length === 0,
    ...(changed && { changed }),
    ...(wrong && { wrong }),
  };
}

/** What is there as it is now; `wrong`: why it cannot be trusted. */
function hashExtras(root: string, before?: ProjectExtras) {
  const hashes: Hashes = {};
  const stamps: ProjectExtras["stamps"] = {};
  let bytes = 0;
  let wrong: string | undefined;
  const others = OTHER_AGENTS.filter(
    (name) => !isBehindLink(root, name) && isOfUse(path.join(root, name)),
  );
  for (const name of [...OWN, ...others])
    try {
      if (tryTo(() => fs.lstatSync(path.join(root, name)).isSymbolicLink()))
        throw fault(
          `${name} is a link, and what it leads to was not looked at. Put it there itself`,
        );
      look(path.join(root, name));
    } catch (error) {
      wrong = (error as Error).message;
    }
  return { hashes, stamps, wrong };

  function look(inspected: string): void {
    const stat = fs.lstatSync(inspected, { throwIfNoEntry: false });
    const name = relativeName(root, inspected);
    if (INVISIBLE_CHARS.test(name))
      throw fault(`the name ${JSON.stringify(name)} holds invisible characters`);
    if (stat?.isDirectory())
      for (const childName of entriesOf(inspected).sort(compare))
        look(path.join(inspected, childName));
    // a link leads to a file that is hashed anyway, or out of .zz/, where nothing is loaded
    if (!stat?.isFile()) return;
    bytes += stat.size;
    if (Object.keys(hashes).length >= MAX_FILES || bytes > MAX_BYTES)
      throw fault("there is too much in .zz/ to look at");
    stamps[name] = `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size} ${stat.ino}`;
    hashes[name] =
      (before?.stamps[name] === stamps[name] ? before.hashes[name] : undefined) ??
      hashOf(fs.readFileSync(inspected));
  }
}

const OWN = [".zz/plugins", ".zz/prompts", ".zz/zz.config.json", ".zz/hooks.json", ".mcp.json"];
/** What other agents read, and zz too: commands, skills, agents and hooks. */
const OTHER_AGENTS = [
  ...[".claude", ".agents"].flatMap((folder) => [
    `${folder}/commands`,
    `${folder}/skills`,
    `${folder}/agents`,
    `${folder}/hooks`,
  ]),
  ".agents/hooks.json",
  ".codex/hooks.json",
  ".claude/settings.json",
  ".claude/settings.local.json",
];
/** What a link leads to may be another project's. */
const isBehindLink = (root: string, name: string): boolean =>
  [path.dirname(name), name].some((part) =>
    fs.lstatSync(path.join(root, part), { throwIfNoEntry: false })?.isSymbolicLink(),
  );
/** Settings of another agent count for their hooks alone. */
const isOfUse = (file: string): boolean =>
  !/settings(\.local)?\.json$/.test(file) || textOf(file).includes('"hooks"');

const DESTINATION_MARK = "to "; // no file name in .zz/ begins like this
const INVISIBLE_CHARS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/**
 * Whether a file of .zz/plugins, by its path there, still has the trusted bytes: it may be imported
 * much later.
 */
export function trustChecker(core: Pick<Core, "extras">): (name: string, file: string) => boolean {
  let hashes: Hashes = {};
  return (name, file) => {
    if (core.extras?.given) hashes = core.extras.hashes;
    return hashes[`.zz/plugins/${name}`] === hashOf(fs.readFileSync(file));
  };
}

/** Whether it was hashed and trusted; a link never is. */
export function isTrusted(
  { extras, options: { root } }: Pick<Core, "extras" | "options">,
  file: string,
): boolean {
  return extras?.given === true && extras.files.includes(relativeName(root, file));
}
const relativeName = (root: string, file: string): string =>
  path.relative(root, file).replaceAll(path.sep, "/");

/** Trust holds for the bytes that were shown, not for what may be there by now. */
export function keepTrust(
  { root, home }: TrustScope,
  hashes: Hashes | undefined,
  agreed: string[] = [],
): void {
  if (hashes)
    hashes = {
      ...hashes,
      ...Object.fromEntries(agreed.map((to) => [DESTINATION_MARK + to, "yes"])),
    };
  try {
    updatePrivateFile(trustFile(home), () => {
      const { [root]: _, ...others } = readTrustFile(home);
      const next = Object.entries(hashes ? { ...others, [root]: hashes } : others);
      return JSON.stringify(
        Object.fromEntries(next.sort(([first], [two]) => compare(first, two))),
        null,
        2,
      );
    });
  } catch (error) {
    throw fileFault("keep your answer in", trustFile(home), error);
  }
}
