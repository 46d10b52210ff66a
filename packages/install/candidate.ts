// A plugin that was fetched and read: what is shown of it before the person agrees to it.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { fault, plural } from "zz/text";
import { type Look, lookAt } from "./describe-plugin.ts";
import { fetchSpec } from "./fetch.ts";
import { counter, filesIn, inUnits, plain, sumOf } from "./files.ts";
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
  const isFile = fs.statSync(fetched.pluginPath).isFile();
  const top = isFile ? `${name}${path.extname(fetched.pluginPath)}` : name;
  fs.renameSync(fetched.pluginPath, path.join(stage.plugins, top));
  const packages = packagesIn(fetched.lock);
  const placed = { top, ...(packages.size && fetched.lock && { packages: fetched.lock }) };
  const bytes = bytesOf(stage.plugins, top, [...packages.keys()]);
  const files = sumsIn(stage.plugins, placed);
  const integrity = fetched.integrity ?? sumOf(JSON.stringify(files), "sha512");
  const { source, commit } = fetched;
  const lockEntry = {
    spec: spec.text,
    source,
    ...(version && { version }),
    ...(commit && { commit }),
    integrity,
    ...placed,
    files,
  };
  if (locked) assertSame(locked, lockEntry, name);
  const look = lookAt(Object.keys(files), (file) =>
    fs.readFileSync(path.join(stage.plugins, file), "utf8"),
  );
  const rows = [
    [
      "plugin",
      [name, versionOf(lockEntry), description && `(${description})`].filter(Boolean).join(" "),
    ],
    ["from", plain(source) + (commit ? `, commit ${commit}` : "")],
    ["integrity", integrity],
    ["license", isFile ? "" : (license ?? "not named")],
    ...contentRows(name, lockEntry, bytes),
    ["adds", listed(look.adds, 20) || "nothing that its text names"],
    ["reaches", look.reaches.join("; ") || "nothing past zz that its text names"],
    ["replaces", replaced ? `zz's own '${name}', until it is uninstalled` : ""],
    ["changes", old ? changes(name, lockEntry, old, home) : ""],
    ["note", [fetched.note, typeless && TYPELESS].filter(Boolean).join(" ")],
  ] as Candidate["rows"];
  return { called, name, rows, look, entry: locked ?? lockEntry, old, stage };
}

const builtIn = (name: string, { about }: Ctx) =>
  about.plugins.find(
    (plugin) => plugin.from === "zz" && plugin.name.toLowerCase() === name.toLowerCase(),
  );

function bytesOf(folder: string, top: string, packages: string[]): number {
  const count = counter();
  let bytes = 0;
  filesIn(folder, top, new Set(packages), (size) => {
    bytes = count(size);
  });
  return bytes;
}

function assertSame(locked: LockEntry, { source, integrity }: LockEntry, name: string): void {
  if (locked.integrity !== integrity)
    throw fault(
      `what ${plain(source)} gives is not what was installed (${integrity} instead of ${locked.integrity}). --update ${name} takes what there is now`,
    );
}

function contentRows(name: string, { files, packages }: LockEntry, bytes: number) {
  const names = Object.keys(files);
  const needed = namesOf(packagesIn(packages));
  return [
    [
      "files",
      `${names.length}, ${inUnits(bytes)}: ${listed(names.map((file) => shortName(name, file)))}`,
    ],
    [
      "needs",
      needed.length
        ? `${plural(needed.length, "package")}: ${listed(needed)}; none of their install scripts runs`
        : "",
    ],
  ];
}

function checkName(name: string, { about: { home } }: Ctx, zzs: object | undefined): void {
  if (zzs) throw fault(`zz has a plugin '${name}' of its own. It must be renamed`);
  const present = existingName(home, name);
  if (!present) return;
  const presentFile = path.join(pluginsOf(home), present);
  throw fault(`'${presentFile}' is there already, and was not installed so. Move it away first`);
}

export const namesOf = (packages: ReturnType<typeof packagesIn>): string[] =>
  [...packages].map(([name, { version = "" }]) => plain(`${name} ${version}`, 120));

const shortName = (name: string, file: string): string =>
  plain(file.startsWith(`${name}/`) ? file.slice(name.length + 1) : file, 80);

/** Describes an update: the old version and the new one, and which files differ. */
function changes(name: string, lockEntry: LockEntry, old: LockEntry, home: string): string {
  const differ = [...new Set([...Object.keys(lockEntry.files), ...Object.keys(old.files)])].flatMap(
    (file) => {
      const [before, after] = [old.files[file], lockEntry.files[file]];
      return before === after ? [] : [`${signOf(before, after)} ${shortName(name, file)}`];
    },
  );
  const [from, to] = [versionOf(old), versionOf(lockEntry)];
  const { changed } = changesOf(home, old);
  return [
    from === to ? from : `${from || "no version"} → ${to || "no version"}`,
    ...(lockEntry.spec === old.spec ? [] : [`it was installed from ${plain(old.spec)}`]),
    differ.length ? listed(differ, 20) : "no file differs",
    ...(changed.length ? [`what you changed since is lost: ${listed(changed)}`] : []),
  ]
    .filter(Boolean)
    .join("; ");
}

function signOf(before: unknown, after: unknown): string {
  if (!before) return "+";
  return after ? "~" : "-";
}

export const versionOf = ({ version, commit }: LockEntry): string =>
  plain([version, commit && `(${commit.slice(0, 10)})`].filter(Boolean).join(" "));

export const titleOf = (name: string, lockEntry: LockEntry): string =>
  `'${name}' ${versionOf(lockEntry)}`.trim();

export const listed = (names: string[], max = MAX_LISTED): string =>
  names.slice(0, max).join(", ") + (names.length > max ? `, and ${names.length - max} more` : "");
