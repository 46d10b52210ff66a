// A team's settings and prompts. What lies in the store is copied to team/.zz/ of the home, where
// it is read as what a project brings is, also when the store is out of reach.
import fs from "node:fs";
import path from "node:path";
import { entriesOf, fault, makeFolder, textOf, tryTo, usage, visible, writeWhole } from "zz/text";
import type { TeamFiles } from "./protocol.ts";

const SETTINGS = "zz.config.json";
const NAME = /^(zz\.config\.json|prompts\/[\w][\w.-]{0,99}\.md)$/;
const MAX_FILES = 200;
const MAX_BYTES = 100_000; // of a file
/** What the settings of a team have no business with: keys travel by `/keys` and the environment. */
const KEY = /"key"\s*:/;

/** The files of a folder that go into the store. */
export function readTeam(folder: string): TeamFiles {
  const names = [SETTINGS, ...entriesOf(path.join(folder, "prompts")).map((n) => `prompts/${n}`)];
  const texts = names
    .filter((name) => NAME.test(name) && fs.existsSync(path.join(folder, name)))
    .map((name) => [name, textOf(path.join(folder, name))] as const);
  const files = Object.fromEntries(texts.sort());
  const refuse = (why: string) => usage(`Cannot put '${visible(folder)}' into the store: ${why}`);
  if (!fs.existsSync(folder)) throw refuse("it is not there. Check the name.");
  if (!fs.statSync(folder).isDirectory()) throw refuse("it is no folder. Name one.");
  const large = texts.find(([, text]) => Buffer.byteLength(text) > MAX_BYTES)?.[0];
  if (large || texts.length > MAX_FILES)
    throw refuse(`${large ?? "it"} is too large: ${MAX_FILES} files of ${MAX_BYTES} bytes fit.`);
  const settings = files[SETTINGS] ?? "{}";
  if (!/^\{/.test(JSON.stringify(tryTo(() => JSON.parse(settings))) ?? ""))
    throw refuse(`its ${SETTINGS} is not a JSON object. Fix it.`);
  if (KEY.test(settings))
    throw refuse(`its ${SETTINGS} holds a key, which all could read. Each keeps theirs by /keys.`);
  return files;
}

/** Makes the home's copy what the store has. Files that a team does not share are left out. */
export function receiveTeam(home: string, given: TeamFiles): string[] {
  const folder = path.join(home, "team", ".zz");
  const files = Object.entries(given)
    .filter(([name, text]) => NAME.test(name) && Buffer.byteLength(text) <= MAX_BYTES)
    .slice(0, MAX_FILES);
  const present = [SETTINGS, ...entriesOf(path.join(folder, "prompts")).map((n) => `prompts/${n}`)];
  const gone = present.filter(
    (name) => !files.some(([kept]) => kept === name) && fs.existsSync(path.join(folder, name)),
  );
  const changed = files.filter(([name, text]) => textOf(path.join(folder, name)) !== text);
  if (!gone.length && !changed.length) return [];
  try {
    refuseLinks(folder, changed);
    for (const name of gone) fs.rmSync(path.join(folder, name), { recursive: true });
    if (files.length) makeFolder(path.join(folder, "prompts"), 0o700);
    for (const [name, text] of changed) writeWhole(path.join(folder, name), text, 0o600);
  } catch (error) {
    return [`Cannot keep your team's settings in '${folder}': ${(error as Error).message}`];
  }
  const names = [...changed.map(([name]) => name), ...gone.map((name) => `${name} (gone)`)];
  return [
    `Your team changed ${names.sort().join(", ")} in the store. It counts from the next start.`,
  ];
}

function refuseLinks(folder: string, changed: [name: string, text: string][]): void {
  for (const name of ["..", ".", "prompts", ...changed.map(([name]) => name)])
    if (fs.lstatSync(path.join(folder, name), { throwIfNoEntry: false })?.isSymbolicLink())
      throw fault(`'${path.join(folder, name)}' is a link. Remove it.`);
}
