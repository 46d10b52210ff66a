// What a project brings that could run or steer zz: plugins, prompts, settings and hooks in its
// .zz/, the servers of its .mcp.json, and what it has for other agents. It counts only after the
// person has trusted exactly these bytes; trust.json in the home remembers them.

import fs from "node:fs";
import path from "node:path";
import type { Core, Hashes, ProjectExtras } from "../instance.ts";
import { fileFault } from "../system/atomic-write.ts";
import { hashOf } from "../system/file-state.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { errnoSentence, fault } from "../text/faults.ts";
import { jsonIn, lookAt, readRegular, stampOfStat } from "../text/read-quietly.ts";
import { compare, tryTo } from "../text/words.ts";

type TrustScope = { root: string; home: string };

const [MAX_FILES, MAX_BYTES] = [2_000, 20_000_000];
export const trustFile = (home: string): string => path.join(home, "trust.json");
const readTrustFile = (home: string): Record<string, Hashes> => jsonIn(trustFile(home)) ?? {};

/**
 * Undefined if the project brings nothing, or is the home itself. Files with the same size and time
 * as before are not read again.
 */
export function projectExtras(
  { root, home }: TrustScope,
  previousExtras?: ProjectExtras,
): ProjectExtras | undefined {
  const projectFolder = path.join(root, ".zz");
  if (tryTo(() => fs.realpathSync(projectFolder) === fs.realpathSync(home))) return undefined;
  const { hashes, stamps, wrong } = hashExtras(root, previousExtras);
  const files = Object.keys(hashes).sort(compare);
  if (!files.length && !wrong) return undefined;
  const trusted = readTrustFile(home)[root];
  const trustedNames = Object.keys(trusted ?? {});
  const isAgreement = (name: string) => name.startsWith(DESTINATION_MARK);
  const agreed = trustedNames
    .filter(isAgreement)
    .map((agreement) => agreement.slice(DESTINATION_MARK.length));
  const allNames = new Set([...files, ...trustedNames.filter((name) => !isAgreement(name))]);
  const changed = trusted && [...allNames].filter((name) => trusted[name] !== hashes[name]);
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
function hashExtras(root: string, previousExtras?: ProjectExtras) {
  const hashes: Hashes = {};
  const stamps: ProjectExtras["stamps"] = {};
  let totalBytes = 0;
  let wrong: string | undefined;
  for (const extraName of OWN_EXTRAS)
    lookInto(extraName, (extraPath) => {
      if (lookAt(extraPath)?.isSymbolicLink())
        throw fault(
          `${extraName} is a link, and what it leads to was not looked at. Put it there itself`,
        );
      hashBelow(extraPath);
    });
  for (const [agentFolder, fileNames] of Object.entries(AGENT_FILES))
    lookInto(agentFolder, (folderPath) => {
      // what a link leads to may be another project's
      if (!lookAt(folderPath)?.isDirectory()) return;
      for (const fileName of fileNames.split(" "))
        lookInto(`${agentFolder}/${fileName}`, (agentFile) => {
          if (isOfUse(agentFile)) hashBelow(agentFile);
        });
    });
  return { hashes, stamps, wrong };

  function lookInto(extraName: string, hashIt: (extraPath: string) => void): void {
    const extraPath = path.join(root, extraName);
    try {
      hashIt(extraPath);
    } catch (error) {
      const { message, path: unread = extraPath } = error as NodeJS.ErrnoException;
      const diskReason = errnoSentence(error).replace(/\.$/, "");
      wrong ??= diskReason ? `${relativeName(root, unread)}: ${diskReason}` : message;
    }
  }

  function hashBelow(inspected: string): void {
    const fileStat = lookAt(inspected);
    if (!fileStat) return;
    const extraName = relativeName(root, inspected);
    if (INVISIBLE_CHARS.test(extraName))
      throw fault(`the name ${JSON.stringify(extraName)} holds invisible characters`);
    if (fileStat.isDirectory())
      for (const childName of fs.readdirSync(inspected).sort(compare))
        hashBelow(path.join(inspected, childName));
    // a link leads to a file that is hashed anyway, or out of .zz/, where nothing is loaded
    if (!fileStat.isFile()) return;
    totalBytes += fileStat.size;
    if (Object.keys(hashes).length >= MAX_FILES || totalBytes > MAX_BYTES)
      throw fault("there is too much in .zz/ to look at");
    stamps[extraName] = stampOfStat(fileStat);
    hashes[extraName] =
      (previousExtras?.stamps[extraName] === stamps[extraName]
        ? previousExtras.hashes[extraName]
        : undefined) ?? hashOf(fs.readFileSync(inspected));
  }
}

const OWN_EXTRAS = [
  ".zz/plugins",
  ".zz/prompts",
  ".zz/zz.config.json",
  ".zz/hooks.json",
  ".mcp.json",
];
/** What other agents read, and zz too: commands, skills, agents and hooks. */
const AGENT_FILES = {
  ".claude": "commands skills agents hooks settings.json settings.local.json",
  ".agents": "commands skills agents hooks hooks.json",
  ".codex": "hooks.json",
};
/** Settings of another agent count for their hooks alone. */
function isOfUse(agentFile: string): boolean {
  const fileStat = lookAt(agentFile);
  if (!fileStat || fileStat.isSymbolicLink()) return false;
  return (
    !/settings(\.local)?\.json$/.test(agentFile) ||
    (fileStat.isFile() && readRegular(agentFile).includes('"hooks"'))
  );
}

const DESTINATION_MARK = "to "; // no file name in .zz/ begins like this
const INVISIBLE_CHARS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/**
 * Whether a file of .zz/plugins, by its path there, still has the trusted bytes: it may be imported
 * much later.
 */
export function trustChecker(
  core: Pick<Core, "extras">,
): (relativePath: string, pluginFile: string) => boolean {
  let trustedHashes: Hashes = {};
  return (relativePath, pluginFile) => {
    if (core.extras?.given) trustedHashes = core.extras.hashes;
    return trustedHashes[`.zz/plugins/${relativePath}`] === hashOf(fs.readFileSync(pluginFile));
  };
}

/** Whether it was hashed and trusted; a link never is. */
export function isTrusted(
  { extras, options: { root } }: Pick<Core, "extras" | "options">,
  filePath: string,
): boolean {
  return extras?.given === true && extras.files.includes(relativeName(root, filePath));
}
const relativeName = (root: string, filePath: string): string =>
  path.relative(root, filePath).replaceAll(path.sep, "/");

/** Trust holds for the bytes that were shown, not for what may be there by now. */
export function keepTrust(
  { root, home }: TrustScope,
  shownHashes: Hashes | undefined,
  destinations: string[] = [],
): void {
  const agreements = destinations.map((destination) => [DESTINATION_MARK + destination, "yes"]);
  const kept = shownHashes && { ...shownHashes, ...Object.fromEntries(agreements) };
  try {
    updatePrivateFile(trustFile(home), () => {
      const { [root]: _, ...others } = readTrustFile(home);
      const nextEntries = Object.entries({ ...others, ...(kept && { [root]: kept }) });
      return JSON.stringify(
        Object.fromEntries(
          nextEntries.sort(([firstRoot], [secondRoot]) => compare(firstRoot, secondRoot)),
        ),
        null,
        2,
      );
    });
  } catch (error) {
    throw fileFault("keep your answer in", trustFile(home), error);
  }
}
