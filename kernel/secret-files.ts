// The one list of files that hold secrets: for the gate, commands, searches, the sandbox and git's history alike.
import os from "node:os";
import path from "node:path";
import secrets from "./secret-files.json" with { type: "json" };

/** A name that says so, in lower case, wherever the file lies. */
const NAMES = new RegExp(`^(${Object.values(secrets.names).flat().join("|")})$`);
/** Of these, what is there to be seen by everybody: templates, public halves of keys, the certificates of authorities. */
const PUBLIC = new RegExp(secrets.public.join("|"));
/** What an editor, a person or a program puts beside a file: a copy of it. */
const COPY = /(~|\.(sw[a-p]|un~|bak|backup|orig|old|save|saved|copy|tmp|rej|dpkg-\w+|rpm\w+|\d{1,3})|[-_ ](copy|backup|old)( \d+)?)$/;

/** `places`: the folder that a file lies in, or the end of its path, in a home or in a project; `home`: what is the person's besides. */
const { places: PLACES, home: AT_HOME, system: SYSTEM } = secrets;
const CASES: Record<string, string> = secrets.cases;
/** Git's own: a remote may hold a token. In the repository, in its modules, and in one without files of its own. */
const GIT = String.raw`[^/]*\.git/(?:.+/)?(?:config(?:\.worktree)?|credentials)`;
const PLACE = new RegExp(`/(?:${PLACES.map((place) => place.replaceAll(".", "\\.")).join("|")}|${GIT})/`);
const SYSTEM_PLACE = new RegExp(`^(?:${SYSTEM.join("|")}|/proc/[^/]+/(?:environ|mem))/`);

/** Whether a path, absolute or relative, names what may hold a secret. The text alone is looked at, not the disk. */
export function holdsSecret(file: string): boolean {
  const whole = folded(file);
  const name = whole.slice(whole.lastIndexOf("/") + 1);
  if (namesSecret(name)) return true;
  // `x.pem:stream` is a part of x.pem to Windows, `HEAD:.env` a file to git.
  if (name.includes(":") && name.split(":").some(namesSecret)) return true;
  const place = `/${whole}/`.replace(/\/{2,}/g, "/");
  return (/\/\.|\.git\/|\/library\//.test(place) && PLACE.test(place)) || SYSTEM_PLACE.test(place);
}

/** A copy is as secret as what it is a copy of. */
function namesSecret(name: string): boolean {
  if (name.length > MAX_PATH_CHARS || ORDINARY.test(name)) return false;
  let [one, found] = [name, false];
  for (let left = 5; left && one; left--) {
    found ||= NAMES.test(one);
    const shorter = one.replace(/^\.?#+(.+?)#*$/, "$1").replace(COPY, "");
    if (shorter === one) break;
    found ||= shorter.startsWith(".") && NAMES.test(shorter.slice(1)); // as Vim names it: .NAME.swp
    one = shorter || one;
  }
  return found && !PUBLIC.test(one);
}
const MAX_PATH_CHARS = 1_000; // no disk has longer names
/** Most files there are, told at once. */
const ORDINARY = /^[\w-][\w.-]*\.([cm]?[jt]sx?|map|md|py|pyc|go|rs|rb|java|c|h|cc|cpp|cs|css|scss|html?|svg|png|jpe?g|vue|sh)$/;

/** As a disk takes it that does not tell letters apart: by case, by form, with what is not seen, dots or blanks behind. */
export function folded(file: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(file);
  const low = (isPlain ? file : file.normalize("NFKC").replace(UNSEEN, "")).toLowerCase().replaceAll("\\", "/");
  return /[. ](\/|$)|::\$/.test(low) ? low.replace(/::\$[a-z_]+(?=\/|$)/g, "").replace(/(?<=[^/. ])[. ]+(?=\/|$)/g, "") : low;
}
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;

/** Where the person's own credentials lie, absolute: the sandbox hides all of them. */
export function credentials(home: string = os.homedir()): string[] {
  const names = [...PLACES.map((place) => CASES[place] ?? place), ...AT_HOME];
  return [...names.map((name) => path.join(home, name)), ...SYSTEM];
}
