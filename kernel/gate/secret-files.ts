// The one list of files that hold secrets, for the gate, commands, searches, the sandbox and git's
// history.
import os from "node:os";
import path from "node:path";
import secrets from "./secret-files.json" with { type: "json" };

/** Names that say so, in lower case, wherever the file is. */
const NAMES = new RegExp(`^(${Object.values(secrets.names).flat().join("|")})$`);
/** Exceptions meant for everybody: templates, public keys, certificates of authorities. */
const PUBLIC = new RegExp(secrets.public.join("|"));
/** Endings of copies that an editor, a person or a program makes of a file. */
const COPY =
  /(~|\.(sw[a-p]|un~|bak|backup|orig|old|save|saved|copy|tmp|rej|dpkg-\w+|rpm\w+|\d{1,3})|[-_ ](copy|backup|old)( \d+)?)$/;

/**
 * `places`: a folder, or the end of a path, in a home or a project; `home`: further private files
 * in a home.
 */
const { places: PLACES, home: AT_HOME, system: SYSTEM } = secrets;
const CASES: Record<string, string> = secrets.cases;
/** Git's own, which may hold a token: in a repository, in its submodules, and in a bare one. */
const GIT = String.raw`[^/]*\.git/(?:.+/)?(?:config(?:\.worktree)?|credentials)`;
const PLACE = new RegExp(
  `/(?:${PLACES.map((place) => place.replaceAll(".", "\\.")).join("|")}|${GIT})/`,
);
const SYSTEM_PLACE = new RegExp(`^(?:${SYSTEM.join("|")}|/proc/[^/]+/(?:environ|mem))/`);

/**
 * Whether a path, absolute or relative, names what may hold a secret. Looks at the text only, not
 * at the disk.
 */
export function holdsSecret(file: string): boolean {
  const whole = folded(file);
  const name = whole.slice(whole.lastIndexOf("/") + 1);
  if (namesSecret(name)) return true;
  // To Windows `x.pem:stream` is a part of x.pem, and to git `HEAD:.env` is a file.
  if (name.includes(":") && name.split(":").some(namesSecret)) return true;
  if (IN_SECRETS.test(whole) && !ORDINARY.test(name) && !PUBLIC.test(name)) return true;
  const place = `/${whole}/`.replace(/\/{2,}/g, "/");
  return (/\/\.|\.git\/|\/library\//.test(place) && PLACE.test(place)) || SYSTEM_PLACE.test(place);
}

/** In a folder of secrets, which is none of code. */
const IN_SECRETS =
  /(?<!(^|\/)(src|lib|libs|tests?|app|internal|pkg|cmd|packages|modules|components|docs)\/)(?<=^|\/)\.?secrets\//;

/** A copy is as secret as the original. */
function namesSecret(name: string): boolean {
  if (name.length > MAX_PATH_CHARS || ORDINARY.test(name)) return false;
  let [one, found] = [name, false];
  for (let left = 5; left && one; left--) {
    found ||= NAMES.test(one);
    const shorter = one.replace(/^\.?#+(.+?)#*$/, "$1").replace(COPY, "");
    if (shorter === one) break;
    found ||= shorter.startsWith(".") && NAMES.test(shorter.slice(1)); // Vim's .NAME.swp
    one = shorter || one;
  }
  return found && !PUBLIC.test(one);
}
const MAX_PATH_CHARS = 1_000; // disks allow no longer names
/** A quick answer for most files. */
const ORDINARY =
  /^[\w-][\w.-]*\.([cm]?[jt]sx?|map|md|py|pyc|go|rs|rb|java|c|h|cc|cpp|cs|css|scss|html?|svg|png|jpe?g|vue|sh)$/;

/**
 * Folds a name as disks do: by case and normal form, without invisible characters, trailing dots
 * and blanks.
 */
export function folded(file: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(file);
  const low = (isPlain ? file : file.normalize("NFKC").replace(UNSEEN, ""))
    .toLowerCase()
    .replaceAll("\\", "/");
  return /[. ](\/|$)|::\$/.test(low)
    ? low.replace(/::\$[a-z_]+(?=\/|$)/g, "").replace(/(?<=[^/. ])[. ]+(?=\/|$)/g, "")
    : low;
}
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;

/** The absolute paths of the person's credentials: the sandbox hides all of them. */
export function credentials(home: string = os.homedir()): string[] {
  return [
    ...[...PLACES.map((place) => CASES[place] ?? place), ...AT_HOME].map((name) =>
      path.join(home, name),
    ),
    ...SYSTEM,
  ];
}
