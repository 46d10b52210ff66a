// The one list of files that hold secrets, for the gate, commands, searches, the sandbox and git's
// history.
import os from "node:os";
import path from "node:path";
import secrets from "./secret-files.json" with { type: "json" };

/** Names that say so, in lower case, wherever the file is. */
const SECRET_NAMES = new RegExp(`^(${Object.values(secrets.names).flat().join("|")})$`);
/** Exceptions meant for everybody: templates, public keys, certificates of authorities. */
const PUBLIC_NAMES = new RegExp(secrets.public.join("|"));
/** Endings of copies that an editor, a person or a program makes of a file. */
const COPY_EXTENSIONS =
  /sw[a-p]|un~|bak|backup|orig|old|save|saved|copy|tmp|rej|dpkg-\w+|rpm\w+|\d{1,3}/.source;
const COPY_ENDING = new RegExp(
  String.raw`(~|\.(${COPY_EXTENSIONS})|[-_ ](copy|backup|old)( \d+)?)$`,
);

/**
 * `places`: a folder, or the end of a path, in a home or a project; `home`: further private files
 * in a home.
 */
const { places: PLACE_NAMES, home: AT_HOME, system: SYSTEM_NAMES } = secrets;
const MIXED_CASE: Record<string, string> = secrets.cases;
/** Git's own, which may hold a token: in a repository, in its submodules, and in a bare one. */
const GIT_CONFIG = String.raw`[^/]*\.git/(?:.+/)?(?:config(?:\.worktree)?|credentials)`;
const SECRET_PLACE = new RegExp(
  `/(?:${PLACE_NAMES.map((secretPlace) => secretPlace.replaceAll(".", "\\.")).join("|")}|` +
    `${GIT_CONFIG})/`,
);
const SYSTEM_PLACE = new RegExp(
  `^(?:${SYSTEM_NAMES.join("|")}|/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem))/`,
);

/**
 * Whether a path, absolute or relative, names what may hold a secret. Looks at the text only, not
 * at the disk.
 */
export function holdsSecret(filePath: string): boolean {
  const foldedPath = foldPath(filePath);
  const fileName = foldedPath.slice(foldedPath.lastIndexOf("/") + 1);
  if (namesSecret(fileName)) return true;
  // To Windows `x.pem:stream` is a part of x.pem, and to git `HEAD:.env` is a file.
  if (fileName.includes(":") && fileName.split(":").some(namesSecret)) return true;
  if (IN_SECRETS.test(foldedPath) && !ORDINARY_FILE.test(fileName) && !PUBLIC_NAMES.test(fileName))
    return true;
  const enclosedPath = `/${foldedPath}/`.replace(/\/{2,}/g, "/");
  return (
    (/\/\.|\.git\/|\/library\//.test(enclosedPath) && SECRET_PLACE.test(enclosedPath)) ||
    SYSTEM_PLACE.test(enclosedPath)
  );
}

const CODE_FOLDERS = "src|lib|libs|tests?|app|internal|pkg|cmd|packages|modules|components|docs";
/** In a folder of secrets, which is none of code. */
const IN_SECRETS = new RegExp(String.raw`(?<!(^|/)(${CODE_FOLDERS})/)(?<=^|/)\.?secrets/`);

/** A copy is as secret as the original. */
function namesSecret(fileName: string): boolean {
  if (fileName.length > MAX_PATH_CHARS || ORDINARY_FILE.test(fileName)) return false;
  let [candidate, isMatch] = [fileName, false];
  for (let attemptsLeft = 5; attemptsLeft && candidate; attemptsLeft--) {
    isMatch ||= SECRET_NAMES.test(candidate);
    const shorter = candidate.replace(/^\.?#+(.+?)#*$/, "$1").replace(COPY_ENDING, "");
    if (shorter === candidate) break;
    isMatch ||= shorter.startsWith(".") && SECRET_NAMES.test(shorter.slice(1)); // Vim's .NAME.swp
    candidate = shorter || candidate;
  }
  return isMatch && !PUBLIC_NAMES.test(candidate);
}
const MAX_PATH_CHARS = 1_000; // disks allow no longer names
const ORDINARY_EXTENSIONS =
  "[cm]?[jt]sx?|map|md|py|pyc|go|rs|rb|java|c|h|cc|cpp|cs|css|scss|html?|svg|png|jpe?g|vue|sh";
/** A quick answer for most files. */
const ORDINARY_FILE = new RegExp(String.raw`^[\w-][\w.-]*\.(${ORDINARY_EXTENSIONS})$`);

/**
 * Folds a name as disks do: by case and normal form, without invisible characters, trailing dots
 * and blanks.
 */
export function foldPath(filePath: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(filePath);
  const lowerPath = (isPlain ? filePath : filePath.normalize("NFKC").replace(INVISIBLE_CHARS, ""))
    .toLowerCase()
    .replaceAll("\\", "/");
  return /[. ](\/|$)|::\$/.test(lowerPath)
    ? lowerPath.replace(/::\$[a-z_]+(?=\/|$)/g, "").replace(/(?<=[^/. ])[. ]+(?=\/|$)/g, "")
    : lowerPath;
}
const INVISIBLE_CHARS = /\p{Default_Ignorable_Code_Point}/gu;

/** The absolute paths of the person's credentials: the sandbox hides all of them. */
export function credentials(userHome: string = os.homedir()): string[] {
  return [
    ...[
      ...PLACE_NAMES.map((secretPlace) => MIXED_CASE[secretPlace] ?? secretPlace),
      ...AT_HOME,
    ].map((placeName) => path.join(userHome, placeName)),
    ...SYSTEM_NAMES.map((systemPlace) => MIXED_CASE[systemPlace] ?? systemPlace),
  ];
}
