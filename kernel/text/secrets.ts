// Secrets: values that nothing shows. Texts are veiled, and requests alone fill in the
// placeholders.
import fs from "node:fs";
import path from "node:path";
import type * as contract from "../contract.ts";
import { sentenceOf } from "./faults.ts";
import { jsonIn } from "./read-quietly.ts";
import { anyOf, mapValues, partsOf, tryTo } from "./words.ts";

/**
 * The message of an error, without a stack, and without the lines that tsx puts around a syntax
 * error.
 */
export const errorMessage = (thrownError: unknown): string =>
  veil(sentenceOf(thrownError))
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
  constructor(secretValue: string | (() => string)) {
    secretValues.set(this, secretValue);
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
  const storedValue = secretValues.get(secret)!;
  if (typeof storedValue === "string") return storedValue;
  const fetched = storedValue();
  learnSecret(fetched);
  secretValues.set(secret, fetched);
  return fetched;
}

/** What is shown in place of a value. */
const insteadOf = (secretValue: unknown): string =>
  veiledForms.get(secretValue as string)?.instead ?? KEY;
/** The value itself, for code that stores it. */
export const revealSecret = (maybeSecret: unknown): unknown =>
  maybeSecret instanceof Secret ? valueOfSecret(maybeSecret) : maybeSecret;

export function makeSecret(secretValue: string, instead = KEY): Secret {
  learnSecret(secretValue, instead, instead === KEY ? MIN_SECRET_CHARS : MIN_VARIABLE_CHARS);
  return new Secret(secretValue);
}

function placeholderFor(value: string, inUrl = encodeURIComponent(value.toWellFormed())): string {
  const id = `${value}\n${inUrl}`;
  const placeholder = placeholdersByValue.get(id) ?? PLACEHOLDER_START + unguessable();
  placeholdersByValue.set(id, placeholder);
  valuesByPlaceholder.set(placeholder, { value, inUrl });
  return placeholder;
}

/**
 * Random hex from the system's file if there is one: loading Node's crypto for 16 bytes costs every
 * answer 5 ms.
 */
export function unguessable(): string {
  const randomBuffer = Buffer.alloc(16);
  const bytesRead = tryTo(() => {
    const descriptor = fs.openSync("/dev/urandom", "r");
    try {
      return fs.readSync(descriptor, randomBuffer);
    } finally {
      fs.closeSync(descriptor);
    }
  });
  return (
    bytesRead === randomBuffer.length
      ? randomBuffer
      : process.getBuiltinModule("node:crypto").randomBytes(randomBuffer.length)
  ).toString("hex");
}

/**
 * Replaces placeholders by values, and adds these to `used`. For
 * kernel/conversation/http-transport.ts only.
 */
export function fillPlaceholders(
  requestText: string,
  destination: "header" | "url",
  used: Set<string>,
): string {
  if (!requestText.includes(PLACEHOLDER_START)) return requestText;
  return requestText.replace(PLACEHOLDERS, (placeholder) => {
    const secretForms = valuesByPlaceholder.get(placeholder);
    if (!secretForms) return placeholder;
    used.add(secretForms.value).add(secretForms.inUrl);
    return destination === "url" ? secretForms.inUrl : secretForms.value;
  });
}

// Known secrets

const MIN_SECRET_CHARS = 8; // shorter ones occur in any text
const MIN_VARIABLE_CHARS = 6; // of the variables that the person keeps for commands
const MIN_LINE_CHARS = 16; // of a line in a value with several
/** What people enter for servers that need no key. */
const DUMMY_KEY = new RegExp(
  "^(sk-)?(x+|\\*+|ollama|dummy|none|null|undefined|true|false|empty|test(ing)?|fake" +
    "|local(host)?|lm-?studio|anything|whatever|placeholder|change-?me|secret|password" +
    "|(your-)?(api-?)?key(-here)?|no-?(api-?)?key(-(required|needed))?" +
    "|not-?(needed|required|used)|unused|development|production)$",
  "i",
);
/**
 * Words, and addresses without a password or query, which any file may contain. A long word may be
 * a key.
 */
const PLAIN_TEXT = /^[A-Za-z]{1,19}$|^https?:\/\/[^@?#\s]+$/;

/** From now on the text is veiled everywhere, also as JSON, in URLs, and in base64. */
export function learnSecret(
  secretText: string,
  instead = KEY,
  minimumChars = MIN_SECRET_CHARS,
): void {
  const secretValue = secretText.trim();
  if (secretValue.length < 4 || DUMMY_KEY.test(secretValue) || secretValue === KEY) return;
  // a path is not a secret
  if (
    /^(~|\.{1,2})[\\/]/.test(secretValue) ||
    (path.isAbsolute(secretValue) && fs.existsSync(secretValue))
  )
    return;
  const isLoose = secretValue.length < minimumChars || PLAIN_TEXT.test(secretValue);
  if (isLoose && secretValue.length < MIN_VARIABLE_CHARS) return;
  addForms(secretValue, instead, isLoose);
  const secretLines = secretValue.split(/\r?\n/).map((secretLine) => secretLine.trim());
  if (secretLines.length > 1)
    for (const secretLine of secretLines)
      if (secretLine.length >= MIN_LINE_CHARS) addForms(secretLine, instead, isLoose);
}

function addForms(secretValue: string, instead: string, loose: boolean): void {
  const base64Form = Buffer.from(secretValue).toString("base64").replace(/=+$/, "");
  const valueForms = [
    secretValue,
    JSON.stringify(secretValue).slice(1, -1),
    encodeURIComponent(secretValue.toWellFormed()),
    base64Form,
  ].flatMap(partsOf);
  if (loose ? veiledForms.has(valueForms[0]!) : veiledForms.get(valueForms[0]!)?.loose === false)
    return;
  for (const secretForm of valueForms) veiledForms.set(secretForm, { instead, loose });
  longestForm = Math.max(longestForm, ...valueForms.map((secretForm) => secretForm.length));
  firmPattern = loosePattern = undefined;
}

const knowsNothing = (): boolean => !veiledForms.size && !valuesByPlaceholder.size;
const knownPattern = (): RegExp => (firmPattern ??= patternOf(false));
/** A pattern of all known secrets, longest first, since one may begin with another. */
function patternOf(withLoose: boolean): RegExp {
  const secretForms = [...veiledForms].flatMap(([secretForm, { loose }]) =>
    withLoose || !loose ? [secretForm] : [],
  );
  const literal = (formText: string) => formText.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
  return new RegExp(
    [
      PLACEHOLDERS.source,
      ...secretForms.sort((first, second) => second.length - first.length).map(literal),
    ].join("|"),
    "g",
  );
}

/**
 * Replaces known secrets in a text. With `instead`, which then replaces each, short and plain
 * values go as well.
 */
export function veil(shownText: string, instead?: string): string {
  if (knowsNothing()) return shownText;
  const pattern = instead === undefined ? knownPattern() : (loosePattern ??= patternOf(true));
  return shownText.replace(
    pattern,
    (matchedForm) =>
      instead ?? insteadOf(valuesByPlaceholder.get(matchedForm)?.value ?? matchedForm),
  );
}

/**
 * For text that arrives in pieces: whether a secret has occurred so far. Searching the whole text
 * each time would be quadratic.
 */
export function secretFinder(): (piece: string) => boolean {
  let [recentText, hasOccurred] = ["", false];
  return (piece) => {
    recentText = (recentText + piece).slice(-Math.max(longestForm, 64) - piece.length);
    return (hasOccurred ||= isVeiled(recentText));
  };
}

/**
 * For text that is passed on piece by piece: veils it, and holds back an end with which a secret
 * may begin until it is known how it goes on.
 */
export function veilPieces(): (piece: string, isLastPiece?: boolean) => string {
  let heldBack = "";
  return (piece, isLastPiece = false) => {
    const pendingText = heldBack + piece;
    const secretStart = isLastPiece ? pendingText.length : startOfSecret(pendingText);
    heldBack = pendingText.slice(secretStart);
    return veil(pendingText.slice(0, secretStart));
  };
}

/** Where, at the end of a text, a secret may have begun; its length if none can have. */
function startOfSecret(pendingText: string): number {
  let secretStart = pendingText.length;
  for (const secretForm of [PLACEHOLDER_START, ...veiledForms.keys()])
    for (let i = Math.max(0, pendingText.length - secretForm.length + 1); i < secretStart; i++) {
      i = pendingText.indexOf(secretForm[0]!, i);
      if (i < 0) break;
      if (i < secretStart && secretForm.startsWith(pendingText.slice(i))) secretStart = i;
    }
  // one secret may end as another begins
  for (const { 0: secretForm, index } of pendingText.matchAll(knownPattern()))
    if (index < secretStart && index + secretForm.length > secretStart) secretStart = index;
  return secretStart;
}

export const isVeiled = (shownText: string): boolean =>
  !knowsNothing() && shownText.search(knownPattern()) >= 0;

/** Veils every text in plain data; returns the same object if there is nothing to veil. */
export function veilData<T>(plainData: T, depth = 0): T {
  if (typeof plainData === "string") return veil(plainData) as T;
  if (!plainData || typeof plainData !== "object" || depth > 100 || knowsNothing())
    return plainData;
  if (!Array.isArray(plainData) && Object.getPrototypeOf(plainData) !== Object.prototype)
    return plainData;
  const keyNames = Object.keys(plainData);
  const entries = keyNames.map(
    (keyName) => [veil(keyName), veilData((plainData as any)[keyName], depth + 1)] as const,
  );
  if (
    entries.every(
      ([veiledKey, veiledValue], i) =>
        veiledKey === keyNames[i] && Object.is((plainData as any)[veiledKey], veiledValue),
    )
  )
    return plainData;
  return (
    Array.isArray(plainData)
      ? entries.map(([, veiledValue]) => veiledValue)
      : Object.fromEntries(entries)
  ) as T;
}

/** JSON.stringify for what is printed and saved. */
export function veiledJson(plainData: unknown, indentWidth?: number): string {
  const jsonText = JSON.stringify(plainData, null, indentWidth);
  if (jsonText === undefined || !isVeiled(jsonText)) return jsonText;
  const veiledText = JSON.stringify(
    plainData,
    (_, innerValue) => (typeof innerValue === "string" ? veil(innerValue) : innerValue),
    indentWidth,
  );
  return veil(veiledText); // a secret in a key, or across several values
}

// By name

const SECRET_NAME = anyOf(
  /(^|[_.\-\s])(key|token|pat|pass|auth|sig|signature|cookie|credentials?)$/i,
  /api[_-]?key|secret|passw|passphrase|authorization|_pwd$/i,
);
const CAMEL_CASE_NAME = /[a-z](Key|Token|Pat)$/;

// whether something with this name is a secret
export const namesSecret = (keyName: string): boolean =>
  SECRET_NAME.test(keyName) || CAMEL_CASE_NAME.test(keyName);

/** What keys of well-known services look like. */
const SECRET_LOOK = anyOf(
  /^(sk|rk|pk)[-_][\w-]{12,}$/,
  /^(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|npm_|hf_|gsk_|AIza|AKIA)[\w-]{10,}$/,
  /^eyJ[\w-]+\.[\w-]+/,
);

/**
 * Learns all texts in plain data that are secrets by their key or by their look, and those in
 * addresses.
 */
export function learnData(plainData: unknown, keyName = "", depth = 0): void {
  if (typeof plainData === "string") {
    if (namesSecret(keyName) || SECRET_LOOK.test(plainData)) learnSecret(plainData);
    else sealAny(plainData);
  } else if (plainData && typeof plainData === "object" && depth < 20)
    for (const [innerKey, innerValue] of Object.entries(plainData))
      learnData(innerValue, Array.isArray(plainData) ? keyName : innerKey, depth + 1);
}

/** Settings that can be shown: secrets, by their names, are replaced by Secret objects. */
export function sealSecrets(settingName: string, settingValue: unknown): unknown {
  if (typeof settingValue === "string" && settingValue)
    return namesSecret(settingName) ? makeSecret(settingValue) : sealAny(settingValue);
  if (!settingValue || typeof settingValue !== "object" || settingValue instanceof Secret)
    return settingValue;
  if (Array.isArray(settingValue))
    return settingValue.map((element) => sealSecrets(settingName, element));
  return mapValues(settingValue, (innerValue, innerKey) => sealSecrets(innerKey, innerValue));
}

/** Learns the secrets in the environment, by the variables' names and by the values' look. */
function learnEnvironment(environment: NodeJS.ProcessEnv): void {
  for (const [variableName, variableValue = ""] of Object.entries(environment))
    learnData(variableValue, variableName);
}

/** Learns what the home keeps: keys of providers, and variables for commands. */
export function learnHome(homeFolder: string): void {
  const readEntries = (fileName: string) =>
    Object.entries<unknown>(Object(jsonIn(path.join(homeFolder, fileName))));
  for (const [, apiKey] of readEntries("keys.json"))
    if (typeof apiKey === "string") learnSecret(apiKey);
  for (const [variableName, variableValue] of readEntries("env.json"))
    if (typeof variableValue === "string")
      learnSecret(variableValue, `[value of ${variableName}]`, MIN_VARIABLE_CHARS);
}
/** Learns all that is secret before anything is read, printed or asked. */
export function learnSecrets(
  environment: NodeJS.ProcessEnv,
  homeFolder: string,
  {
    settings,
    options,
    baseUrl,
    key,
  }: { [K in "settings" | "options" | "baseUrl" | "key"]?: unknown },
): void {
  learnEnvironment(environment);
  learnHome(homeFolder);
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
export function sealUrl(address: string): string {
  if (!/[@=]/.test(address)) return address;
  return sealText(
    address,
    USER_IN_ADDRESS.exec(address) ??
      USER_WITHOUT_SCHEME.exec(address) ??
      (!URL.canParse(address) ? BROKEN_ADDRESS.exec(address) : null),
  );
}

/** The same for a text of any kind. */
const sealAny = (plainText: string): string =>
  /[@=]/.test(plainText) ? sealText(plainText, USER_IN_ADDRESS.exec(plainText)) : plainText;

function sealText(addressText: string, userPart: RegExpExecArray | null): string {
  const [matchedStart = "", schemePart = "", credentials = ""] = userPart ?? [];
  const remaining = addressText
    .slice(matchedStart.length)
    .replace(SECRET_IN_QUERY, (_, queryName, rawValue) => queryName + sealValue(rawValue));
  if (!matchedStart) return remaining;
  const [, userName = "", colon = "", password = ""] = /^([^:]*)(:?)(.*)$/s.exec(credentials)!;
  const isToken = NO_PASSWORD.test(password);
  if (userName && !isToken && !password.includes(PLACEHOLDER_START))
    // for basic authorization
    learnSecret(`${decodePercents(userName)}:${decodePercents(password)}`);
  const shownUser = isToken
    ? sealValue(userName, SECRET_LOOK.test(userName) || /^(?=.*\d).{16,}$/.test(userName))
    : userName;
  const shownPassword = isToken ? password : sealValue(password);
  return `${schemePart}${shownUser}${colon}${shownPassword}@${remaining}`;
}

function sealValue(rawValue: string, isSecret = true): string {
  if (!rawValue || rawValue.includes(PLACEHOLDER_START)) return rawValue;
  const decodedValue = decodePercents(rawValue);
  if (isSecret) for (const variant of new Set([rawValue, decodedValue])) learnSecret(variant);
  return placeholderFor(decodedValue, rawValue);
}
const decodePercents = (encodedText: string): string =>
  tryTo(() => decodeURIComponent(encodedText)) ?? encodedText;
