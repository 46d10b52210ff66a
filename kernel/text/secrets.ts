// Secrets: values that nothing shows. Texts are veiled, and requests alone fill in the
// placeholders.
import fs from "node:fs";
import path from "node:path";
import type * as contract from "../contract.ts";
import { sentenceOf } from "./faults.ts";
import { textOf } from "./read-quietly.ts";
import { partsOf, tryTo } from "./words.ts";

/**
 * The message of an error, without a stack, and without the lines that tsx puts around a syntax
 * error.
 */
export const errorMessage = (error: unknown): string =>
  veil(sentenceOf(error))
    .split(/\n {4}at |\nRequire stack:/)[0]!
    .replace(/^Transform failed with \d+ errors?:\n.*?ERROR: ([^\n]*)[\s\S]*/, "$1");

export const KEY = "[key]";

const PLACEHOLDER_START = "zzkey_";
const PLACEHOLDERS = /zzkey_[0-9a-f]{32}/g; // as placeholderFor() makes them
// by placeholder: the value, and how it is written in a URL
const valuesByPlaceholder = new Map<string, { value: string; inUrl: string }>();
const placeholdersByValue = new Map<string, string>(); // by value
/**
 * What must not be shown, in every form that it may take, and what is shown instead. `loose`:
 * veiled in logs only.
 */
const veiledForms = new Map<string, { instead: string; loose: boolean }>();
let firmPattern: RegExp | undefined; // built on demand
let loosePattern: RegExp | undefined;
let longestForm = 0;

/**
 * A value that nothing shows. As text it is a placeholder, valid in headers and URLs, and new in
 * each process.
 */
export class Secret implements contract.Secret {
  constructor(value: string | (() => string)) {
    secretValues.set(this, value);
  }
  toString(): string {
    return placeholderFor(valueOfSecret(this));
  }
  toJSON(): string {
    return insteadOf(secretValues.get(this));
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return insteadOf(secretValues.get(this));
  }
}
// Kept apart, so that no object leads to a value; a function: fetched later.
const secretValues = new WeakMap<Secret, string | (() => string)>();
function valueOfSecret(secret: Secret): string {
  const value = secretValues.get(secret)!;
  if (typeof value === "string") return value;
  const fetched = value();
  learnSecret(fetched);
  secretValues.set(secret, fetched);
  return fetched;
}

/** What is shown in place of a value. */
const insteadOf = (value: unknown): string => veiledForms.get(value as string)?.instead ?? KEY;
/** The value itself, for code that stores it. */
export const revealSecret = (maybeSecret: unknown): unknown =>
  maybeSecret instanceof Secret ? valueOfSecret(maybeSecret) : maybeSecret;

export function makeSecret(value: string, instead = KEY): Secret {
  learnSecret(value, instead, instead === KEY ? MIN_SECRET_CHARS : MIN_VARIABLE_CHARS);
  return new Secret(value);
}

function placeholderFor(value: string, inUrl = encodeURIComponent(value.toWellFormed())): string {
  const id = `${value}\n${inUrl}`;
  const token = placeholdersByValue.get(id) ?? PLACEHOLDER_START + unguessable();
  placeholdersByValue.set(id, token);
  valuesByPlaceholder.set(token, { value, inUrl });
  return token;
}

/**
 * Random hex from the system's file if there is one: loading Node's crypto for 16 bytes costs every
 * answer 5 ms.
 */
export function unguessable(bytes = Buffer.alloc(16)): string {
  const file = tryTo(() => fs.openSync("/dev/urandom", "r"));
  const count =
    file === undefined ? 0 : tryTo(() => fs.readSync(file, bytes, 0, bytes.length, null));
  if (file !== undefined) fs.closeSync(file);
  return (
    count === bytes.length
      ? bytes
      : process.getBuiltinModule("node:crypto").randomBytes(bytes.length)
  ).toString("hex");
}

/**
 * Replaces placeholders by values, and adds these to `used`. For
 * kernel/conversation/http-transport.ts only.
 */
export function fillPlaceholders(text: string, where: "header" | "url", used: Set<string>): string {
  if (!text.includes(PLACEHOLDER_START)) return text;
  return text.replace(PLACEHOLDERS, (token) => {
    const secretForms = valuesByPlaceholder.get(token);
    if (!secretForms) return token;
    used.add(secretForms.value).add(secretForms.inUrl);
    return where === "url" ? secretForms.inUrl : secretForms.value;
  });
}

// Known secrets

const MIN_SECRET_CHARS = 8; // shorter ones occur in any text
const MIN_VARIABLE_CHARS = 6; // of the variables that the person keeps for commands
const MIN_LINE_CHARS = 16; // of a line in a value with several
/** What people enter for servers that need no key. */
const DUMMY_KEY = new RegExp(
  "^(sk-)?(x+|\\*+|ollama|dummy|none|null|undefined|true|false|empty|test(ing)?|fake|local(host)?|lm-?studio|anything|whatever" +
    "|placeholder|change-?me|secret|password|(your-)?(api-?)?key(-here)?|no-?(api-?)?key(-(required|needed))?" +
    "|not-?(needed|required|used)|unused|development|production)$",
  "i",
);
/**
 * Words, and addresses without a password or query, which any file may contain. A long word may be
 * a key.
 */
const PLAIN_TEXT = /^[A-Za-z]{1,19}$|^https?:\/\/[^@?#\s]+$/;

/** From now on the text is veiled everywhere, also as JSON, in URLs, and in base64. */
export function learnSecret(text: string, instead = KEY, least = MIN_SECRET_CHARS): void {
  const value = text.trim();
  if (value.length < 4 || DUMMY_KEY.test(value) || value === KEY) return;
  // a path is not a secret
  if (/^(~|\.{1,2})[\\/]/.test(value) || (path.isAbsolute(value) && fs.existsSync(value))) return;
  const loose = value.length < least || PLAIN_TEXT.test(value);
  if (loose && value.length < MIN_VARIABLE_CHARS) return;
  addForms(value, instead, loose);
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  if (lines.length > 1)
    for (const line of lines) if (line.length >= MIN_LINE_CHARS) addForms(line, instead, loose);
}

function addForms(value: string, instead: string, loose: boolean): void {
  const base64 = Buffer.from(value).toString("base64").replace(/=+$/, "");
  const forms = [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value.toWellFormed()),
    base64,
  ].flatMap(partsOf);
  if (loose ? veiledForms.has(forms[0]!) : veiledForms.get(forms[0]!)?.loose === false) return;
  for (const form of forms) veiledForms.set(form, { instead, loose });
  longestForm = Math.max(longestForm, ...forms.map((form) => form.length));
  firmPattern = loosePattern = undefined;
}

/** A pattern of all known secrets, longest first, since one may begin with another. */
function patternOf(withLoose: boolean): RegExp {
  const forms = [...veiledForms].flatMap(([form, { loose }]) =>
    withLoose || !loose ? [form] : [],
  );
  const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  return new RegExp(
    [PLACEHOLDERS.source, ...forms.sort((a, b) => b.length - a.length).map(literal)].join("|"),
    "g",
  );
}

/**
 * Replaces known secrets in a text. With `instead`, which then replaces each, short and plain
 * values go as well.
 */
export function veil(text: string, instead?: string): string {
  if (!veiledForms.size && !valuesByPlaceholder.size) return text;
  const pattern =
    instead === undefined ? (firmPattern ??= patternOf(false)) : (loosePattern ??= patternOf(true));
  return text.replace(
    pattern,
    (form) => instead ?? insteadOf(valuesByPlaceholder.get(form)?.value ?? form),
  );
}

/**
 * For text that arrives in pieces: whether a secret has occurred so far. Searching the whole text
 * each time would be quadratic.
 */
export function secretFinder(): (piece: string) => boolean {
  let [end, hasOccurred] = ["", false];
  return (piece) => {
    end = (end + piece).slice(-Math.max(longestForm, 64) - piece.length);
    return (hasOccurred ||= isVeiled(end));
  };
}

/**
 * For text that is passed on piece by piece: veils it, and holds back an end with which a secret
 * may begin until it is known how it goes on.
 */
export function veilPieces(): (piece: string, isLast?: boolean) => string {
  let held = "";
  return (piece, isLast = false) => {
    const text = held + piece;
    const from = isLast ? text.length : startOfSecret(text);
    held = text.slice(from);
    return veil(text.slice(0, from));
  };
}

/** Where, at the end of a text, a secret may have begun; its length if none can have. */
function startOfSecret(text: string): number {
  let from = text.length;
  for (const form of [PLACEHOLDER_START, ...veiledForms.keys()])
    for (let i = Math.max(0, text.length - form.length + 1); i < from; i++) {
      i = text.indexOf(form[0]!, i);
      if (i < 0) break;
      if (i < from && form.startsWith(text.slice(i))) from = i;
    }
  // one secret may end as another begins
  for (const { 0: form, index } of text.matchAll((firmPattern ??= patternOf(false))))
    if (index < from && index + form.length > from) from = index;
  return from;
}

export function isVeiled(text: string): boolean {
  if (!veiledForms.size && !valuesByPlaceholder.size) return false;
  return text.search((firmPattern ??= patternOf(false))) >= 0;
}

/** Veils every text in plain data; returns the same object if there is nothing to veil. */
export function veilData<T>(data: T, depth = 0): T {
  if (typeof data === "string") return (isVeiled(data) ? veil(data) : data) as T;
  if (
    !data ||
    typeof data !== "object" ||
    depth > 100 ||
    (!veiledForms.size && !valuesByPlaceholder.size)
  )
    return data;
  if (!Array.isArray(data) && Object.getPrototypeOf(data) !== Object.prototype) return data;
  const names = Object.keys(data);
  const entries = names.map(
    (name) => [veil(name), veilData((data as any)[name], depth + 1)] as const,
  );
  if (entries.every(([key, inner], i) => key === names[i] && Object.is((data as any)[key], inner)))
    return data;
  return (
    Array.isArray(data) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
  ) as T;
}

/** JSON.stringify for what is printed and saved. */
export function veiledJson(data: unknown, space?: number): string {
  const text = JSON.stringify(data, null, space);
  if (text === undefined || !isVeiled(text)) return text;
  const shown = JSON.stringify(
    data,
    (_, inner) => (typeof inner === "string" ? veil(inner) : inner),
    space,
  );
  return isVeiled(shown) ? veil(shown) : shown; // a secret in a key, or across several values
}

// By name

const SECRET_NAME =
  /(^|[_.\-\s])(key|token|pat|pass|auth|sig|signature|cookie|credentials?)$|api[_-]?key|secret|passw|passphrase|authorization|_pwd$/i;
const CAMEL_CASE_NAME = /[a-z](Key|Token|Pat)$/;

// whether something with this name is a secret
export const namesSecret = (name: string): boolean =>
  SECRET_NAME.test(name) || CAMEL_CASE_NAME.test(name);

/** What keys of well-known services look like. */
const SECRET_LOOK =
  /^(sk|rk|pk)[-_][\w-]{12,}$|^(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|npm_|hf_|gsk_|AIza|AKIA)[\w-]{10,}$|^eyJ[\w-]+\.[\w-]+/;

/**
 * Learns all texts in plain data that are secrets by their key or by their look, and those in
 * addresses.
 */
export function learnData(data: unknown, name = "", depth = 0): void {
  if (typeof data === "string") {
    if (namesSecret(name) || SECRET_LOOK.test(data)) learnSecret(data);
    else sealAny(data);
  } else if (data && typeof data === "object" && depth < 20)
    for (const [key, inner] of Object.entries(data))
      learnData(inner, Array.isArray(data) ? name : key, depth + 1);
}

/** Settings that can be shown: secrets, by their names, are replaced by Secret objects. */
export function sealSecrets(name: string, value: unknown): unknown {
  if (typeof value === "string" && value)
    return namesSecret(name) ? makeSecret(value) : sealAny(value);
  if (!value || typeof value !== "object" || value instanceof Secret) return value;
  if (Array.isArray(value)) return value.map((element) => sealSecrets(name, element));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, sealSecrets(key, inner)]),
  );
}

/** Learns the secrets in the environment, by the variables' names and by the values' look. */
function learnEnvironment(env: NodeJS.ProcessEnv): void {
  for (const [name, value = ""] of Object.entries(env)) learnData(value, name);
}

/** Learns what the home keeps: keys of providers, and variables for commands. */
export function learnHome(home: string): void {
  const read = (name: string) =>
    Object.entries(
      Object(tryTo(() => JSON.parse(textOf(path.join(home, name))))) as Record<string, unknown>,
    );
  for (const [, key] of read("keys.json")) if (typeof key === "string") learnSecret(key);
  for (const [name, value] of read("env.json"))
    if (typeof value === "string") learnSecret(value, `[value of ${name}]`, MIN_VARIABLE_CHARS);
}
/** Learns all that is secret before anything is read, printed or asked. */
export function learnSecrets(
  env: NodeJS.ProcessEnv,
  home: string,
  {
    settings,
    options,
    baseUrl,
    key,
  }: { [K in "settings" | "options" | "baseUrl" | "key"]?: unknown },
): void {
  learnEnvironment(env);
  learnHome(home);
  learnData([settings, options, baseUrl]);
  if (typeof key === "string" && key) learnSecret(key);
}

// In addresses

const QUERY_KEYS =
  "key|api-?key|token|sig|signature|secret|password|passwd|pwd|auth|access-?token|credentials?";
const SECRET_IN_QUERY = new RegExp(
  String.raw`([?&#;](?!next|page|continuation)(?:[\w.-]*[_.-])?(?:${QUERY_KEYS})=)([^&#;\s]+)`,
  "gi",
);
const USER_IN_ADDRESS = /^(\s*[a-z][a-z0-9+.-]*:\/\/)([^/?#\s]*)@(?=[^\s@])/i;
// an address without a scheme
const USER_WITHOUT_SCHEME = /^(\s*)([^/?#\s@:]*:[^/?#\s]*)@(?=[^\s@])/;
// a password with characters that no address may have: all up to the last @
const BROKEN_ADDRESS = /^(\s*[a-z][a-z0-9+.-]*:\/\/)(.*)@/is;
// in place of a password, if the user's name is the secret
const NO_PASSWORD = /^(x|x-oauth-basic|oauth2?)?$/i;

/** The address with placeholders for its user and password, and for keys in its query. */
export function sealUrl(url: string): string {
  if (!/[@=]/.test(url)) return url;
  return sealText(
    url,
    USER_IN_ADDRESS.exec(url) ??
      USER_WITHOUT_SCHEME.exec(url) ??
      (!URL.canParse(url) ? BROKEN_ADDRESS.exec(url) : null),
  );
}

/** The same for a text of any kind. */
const sealAny = (text: string): string =>
  /[@=]/.test(text) ? sealText(text, USER_IN_ADDRESS.exec(text)) : text;

function sealText(text: string, userPart: RegExpExecArray | null): string {
  const [start = "", before = "", credentials = ""] = userPart ?? [];
  const remaining = text
    .slice(start.length)
    .replace(SECRET_IN_QUERY, (_, name, raw) => name + seal(raw));
  if (!start) return remaining;
  const [, user = "", colon = "", password = ""] = /^([^:]*)(:?)(.*)$/s.exec(credentials)!;
  const isToken = NO_PASSWORD.test(password);
  if (user && !isToken && !password.includes(PLACEHOLDER_START))
    learnSecret(`${decodePercents(user)}:${decodePercents(password)}`); // for basic authorization
  const shown = isToken
    ? seal(user, SECRET_LOOK.test(user) || /^(?=.*\d).{16,}$/.test(user))
    : user;
  return `${before}${shown}${colon}${isToken ? password : seal(password)}@${remaining}`;
}

function seal(raw: string, isSecret = true): string {
  if (!raw || raw.includes(PLACEHOLDER_START)) return raw;
  const value = decodePercents(raw);
  if (isSecret) for (const variant of new Set([raw, value])) learnSecret(variant);
  return placeholderFor(value, raw);
}
const decodePercents = (raw: string): string => tryTo(() => decodeURIComponent(raw)) ?? raw;
