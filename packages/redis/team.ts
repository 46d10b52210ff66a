// A team's settings and prompts. What lies in the store is copied to team/.zz/ of the home, where
// it is read as what a project brings is, also when the store is out of reach.
import fs from "node:fs";
import path from "node:path";
import { entriesOf, fault, makeFolder, textOf, tryTo, usage, visible, writeWhole } from "zz/text";
import type { TeamFiles } from "./protocol.ts";

const SETTINGS = "zz.config.json";
const TEAM_FILE_NAME = /^(zz\.config\.json|prompts\/[\w][\w.-]{0,99}\.md)$/;
const MAX_FILES = 200;
const MAX_BYTES = 100_000; // of a file
/** What a team's settings have no business with: keys travel by `/keys` and the environment. */
const KEY_SETTING = /"key"\s*:/;

/** The settings and all that is among the prompts, as far as it is there. */
const filesIn = (folder: string): string[] =>
  [
    SETTINGS,
    ...entriesOf(path.join(folder, "prompts")).map((promptName) => `prompts/${promptName}`),
  ].filter((fileName) => fs.existsSync(path.join(folder, fileName)));

/** The files of a folder that go into the store. */
export function readTeam(folder: string): TeamFiles {
  const namedTexts = filesIn(folder)
    .filter((fileName) => TEAM_FILE_NAME.test(fileName))
    .map((fileName) => [fileName, textOf(path.join(folder, fileName))] as const);
  const teamFiles = Object.fromEntries(namedTexts.sort());
  const refuse = (refusalReason: string) =>
    usage(`Cannot put '${visible(folder)}' into the store: ${refusalReason}`);
  if (!fs.existsSync(folder)) throw refuse("it is not there. Check the name.");
  if (!fs.statSync(folder).isDirectory()) throw refuse("it is no folder. Name one.");
  const large = namedTexts.find(([, fileText]) => Buffer.byteLength(fileText) > MAX_BYTES)?.[0];
  if (large || namedTexts.length > MAX_FILES)
    throw refuse(`${large ?? "it"} is too large: ${MAX_FILES} files of ${MAX_BYTES} bytes fit.`);
  const settings = teamFiles[SETTINGS] ?? "{}";
  if (!/^\{/.test(JSON.stringify(tryTo(() => JSON.parse(settings))) ?? ""))
    throw refuse(`its ${SETTINGS} is not a JSON object. Fix it.`);
  if (KEY_SETTING.test(settings))
    throw refuse(`its ${SETTINGS} holds a key, which all could read. Each keeps theirs by /keys.`);
  return teamFiles;
}

/** Makes the home's copy what the store has. Files that a team does not share are left out. */
export function receiveTeam(homeFolder: string, storedFiles: TeamFiles): string[] {
  const folder = path.join(homeFolder, "team", ".zz");
  const acceptedFiles = Object.entries(storedFiles)
    .filter(
      ([fileName, fileText]) =>
        TEAM_FILE_NAME.test(fileName) && Buffer.byteLength(fileText) <= MAX_BYTES,
    )
    .slice(0, MAX_FILES);
  const goneNames = filesIn(folder).filter(
    (fileName) => !acceptedFiles.some(([keptName]) => keptName === fileName),
  );
  const changed = acceptedFiles.filter(
    ([fileName, fileText]) => textOf(path.join(folder, fileName)) !== fileText,
  );
  if (!goneNames.length && !changed.length) return [];
  try {
    refuseLinks(folder, changed);
    for (const goneName of goneNames) fs.rmSync(path.join(folder, goneName), { recursive: true });
    if (acceptedFiles.length) makeFolder(path.join(folder, "prompts"), 0o700);
    for (const [fileName, fileText] of changed)
      writeWhole(path.join(folder, fileName), fileText, 0o600);
  } catch (error) {
    return [`Cannot keep your team's settings in '${folder}': ${(error as Error).message}`];
  }
  const noticeNames = [
    ...changed.map(([fileName]) => fileName),
    ...goneNames.map((goneName) => `${goneName} (gone)`),
  ];
  return [
    `Your team changed ${noticeNames.sort().join(", ")} in the store. ` +
      "It counts from the next start.",
  ];
}

function refuseLinks(folder: string, changed: [name: string, text: string][]): void {
  for (const pathInTeam of ["..", ".", "prompts", ...changed.map(([fileName]) => fileName)])
    if (fs.lstatSync(path.join(folder, pathInTeam), { throwIfNoEntry: false })?.isSymbolicLink())
      throw fault(`'${path.join(folder, pathInTeam)}' is a link. Remove it.`);
}
