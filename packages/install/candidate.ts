// A plugin that was fetched and read: what is shown of it before the person agrees to it.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { fault, plural, sizeInWords } from "zz/text";
import { type Look, lookAt } from "./describe-plugin.ts";
import { fetchSpec } from "./fetch.ts";
import { counter, filesIn, plain, sumOf } from "./files.ts";
import { assertAllowed, packagesIn } from "./npm.ts";
import { aboutOf } from "./package.ts";
import {
  changesOf,
  existingName,
  type LockEntry,
  pluginsOf,
  readLock,
  type Stage,
  sumsIn,
} from "./put-in-place.ts";
import type { Spec } from "./spec.ts";

/** Not confirmed yet. */
export interface Candidate {
  called: string; // by the person
  name: string;
  rows: [what: string, text: string][]; // what is shown of it
  look: Look;
  entry: LockEntry; // as it will stand in the lock file
  old: LockEntry | undefined;
  stage: Stage;
}

/** A plugin to get. `same`: what the lock file says of it, to get exactly that. */
export type Wanted = { called: string; spec: Spec; name?: string; locked?: LockEntry };

const MAX_LISTED = 8; // names per line
const TYPELESS = 'Its package.json does not say "type": "module"; Node may warn of that.';

export async function fetchCandidate(
  { called, spec, locked, ...wanted }: Wanted,
  stage: Stage,
  ctx: Ctx,
): Promise<Candidate> {
  const { home } = ctx.about;
  assertAllowed(ctx, "write", pluginsOf(home));
  ctx.progress(`Fetching ${plain(spec.text)}`);
  const fetched = await fetchSpec(spec, { work: stage.work, ctx, locked });
  const about = aboutOf(fetched.pluginPath, fetched.base);
  const { name = spec.kind === "example" ? spec.text.slice("zz/".length) : about.name } = wanted;
  assertAllowed(ctx, "write", path.join(pluginsOf(home), name));
  const old = readLock(home).get(name);
  const replaced = builtIn(name, ctx);
  if (!old) checkName(name, ctx, spec.kind === "example" ? undefined : replaced);
  const { version, license, description, typeless } = about;
  const isSingleFile = fs.statSync(fetched.pluginPath).isFile();
  const top = isSingleFile ? `${name}${path.extname(fetched.pluginPath)}` : name;
  fs.renameSync(fetched.pluginPath, path.join(stage.plugins, top));
  const packages = packagesIn(fetched.lock);
  const placedFields = { top, ...(packages.size && fetched.lock && { packages: fetched.lock }) };
  const byteCount = bytesOf(stage.plugins, top, [...packages.keys()]);
  const files = sumsIn(stage.plugins, placedFields);
  const integrity = fetched.integrity ?? sumOf(JSON.stringify(files), "sha512");
  const { source, commit } = fetched;
  const lockEntry = {
    spec: spec.text,
    source,
    ...(version && { version }),
    ...(commit && { commit }),
    integrity,
    ...placedFields,
    files,
  };
  if (locked) assertSame(locked, lockEntry, name);
  const look = lookAt(Object.keys(files), (fileName) =>
    fs.readFileSync(path.join(stage.plugins, fileName), "utf8"),
  );
  const rows = [
    [
      "plugin",
      [name, versionOf(lockEntry), description && `(${description})`].filter(Boolean).join(" "),
    ],
    ["from", plain(source) + (commit ? `, commit ${commit}` : "")],
    ["integrity", integrity],
    ["license", isSingleFile ? "" : (license ?? "not named")],
    ...contentRows(name, lockEntry, byteCount),
    ["adds", listed(look.adds, 20) || "nothing that its text names"],
    ["reaches", look.reaches.join("; ") || "nothing past zz that its text names"],
    ["replaces", replaced ? `zz's own '${name}', until it is uninstalled` : ""],
    ["changes", old ? describeUpdate(name, lockEntry, old, home) : ""],
    ["note", [fetched.note, typeless && TYPELESS].filter(Boolean).join(" ")],
  ] as Candidate["rows"];
  return { called, name, rows, look, entry: locked ?? lockEntry, old, stage };
}

const builtIn = (pluginName: string, { about }: Ctx) =>
  about.plugins.find(
    (plugin) => plugin.from === "zz" && plugin.name.toLowerCase() === pluginName.toLowerCase(),
  );

function bytesOf(pluginsFolder: string, topPath: string, packages: string[]): number {
  const countBytes = counter();
  let byteTotal = 0;
  filesIn(pluginsFolder, topPath, new Set(packages), (fileSize) => {
    byteTotal = countBytes(fileSize);
  });
  return byteTotal;
}

function assertSame(locked: LockEntry, { source, integrity }: LockEntry, pluginName: string): void {
  if (locked.integrity !== integrity)
    throw fault(
      `what ${plain(source)} gives is not what was installed (${integrity} instead of ` +
        `${locked.integrity}). --update ${pluginName} takes what there is now`,
    );
}

function contentRows(pluginName: string, { files, packages }: LockEntry, byteCount: number) {
  const fileNames = Object.keys(files);
  const neededNames = namesOf(packagesIn(packages));
  return [
    [
      "files",
      `${fileNames.length}, ${sizeInWords(byteCount)}: ` +
        listed(fileNames.map((fileName) => shortName(pluginName, fileName))),
    ],
    [
      "needs",
      neededNames.length
        ? `${plural(neededNames.length, "package")}: ${listed(neededNames)}; ` +
          "none of their install scripts runs"
        : "",
    ],
  ];
}

function checkName(
  pluginName: string,
  { about: { home } }: Ctx,
  builtInPlugin: object | undefined,
): void {
  if (builtInPlugin) throw fault(`zz has a plugin '${pluginName}' of its own. It must be renamed`);
  const present = existingName(home, pluginName);
  if (!present) return;
  const presentFile = path.join(pluginsOf(home), present);
  throw fault(`'${presentFile}' is there already, and was not installed so. Move it away first`);
}

export const namesOf = (packages: ReturnType<typeof packagesIn>): string[] =>
  [...packages].map(([name, { version = "" }]) => plain(`${name} ${version}`, 120));

const shortName = (pluginName: string, fileName: string): string =>
  plain(
    fileName.startsWith(`${pluginName}/`) ? fileName.slice(pluginName.length + 1) : fileName,
    80,
  );

/** Describes an update: the old version and the new one, and which files differ. */
function describeUpdate(
  pluginName: string,
  lockEntry: LockEntry,
  oldEntry: LockEntry,
  homeFolder: string,
): string {
  const differences = [
    ...new Set([...Object.keys(lockEntry.files), ...Object.keys(oldEntry.files)]),
  ].flatMap((fileName) => {
    const [sumBefore, sumAfter] = [oldEntry.files[fileName], lockEntry.files[fileName]];
    return sumBefore === sumAfter
      ? []
      : [`${signOf(sumBefore, sumAfter)} ${shortName(pluginName, fileName)}`];
  });
  const [oldVersion, newVersion] = [versionOf(oldEntry), versionOf(lockEntry)];
  const { changed } = changesOf(homeFolder, oldEntry);
  return [
    oldVersion === newVersion
      ? oldVersion
      : `${oldVersion || "no version"} → ${newVersion || "no version"}`,
    lockEntry.spec !== oldEntry.spec && `it was installed from ${plain(oldEntry.spec)}`,
    differences.length ? listed(differences, 20) : "no file differs",
    changed.length > 0 && `what you changed since is lost: ${listed(changed)}`,
  ]
    .filter(Boolean)
    .join("; ");
}

function signOf(sumBefore: unknown, sumAfter: unknown): string {
  if (!sumBefore) return "+";
  return sumAfter ? "~" : "-";
}

export const versionOf = ({ version, commit }: LockEntry): string =>
  plain([version, commit && `(${commit.slice(0, 10)})`].filter(Boolean).join(" "));

export const titleOf = (pluginName: string, lockEntry: LockEntry): string =>
  `'${pluginName}' ${versionOf(lockEntry)}`.trim();

export const listed = (names: string[], maxNames = MAX_LISTED): string =>
  names.slice(0, maxNames).join(", ") +
  (names.length > maxNames ? `, and ${names.length - maxNames} more` : "");
