// Removes what must not be in a log: known secrets, including short ones, and whatever looks like a
// key. Images are only named.
import type { Zz } from "zz";
import { anyOf } from "zz/text";

const REDACTED = "[redacted]";

/** Fields whose value is always redacted. */
const SECRET_FIELD = anyOf(
  /^((proxy-)?authorization|(set-)?cookie|(x-)?(api|auth)[-_]?(key|token)|private_key)$/i,
  /^(password|passwd|passphrase|(access|refresh|id)_token|(client_)?secret)$/i,
);

const SECRET_VALUE = /[^\s"'`,;$<{\\][^\s"'`,;\\]{5,}/.source;
const BASE64_CHAR = "[A-Za-z0-9+/=]";
const LINE_NUMBER = String.raw`(?:\d{1,6}\t)?`; // as read_file shows lines
const FULL_KEY_LINE = String.raw`${BASE64_CHAR}{40,80}\s+${LINE_NUMBER}`;
const LAST_KEY_LINE = String.raw`${BASE64_CHAR}{1,80}\s+${LINE_NUMBER}`;
const KEY_BEGIN = "-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----";
const KEY_END = "-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----";
/** A private key: whole, without its end, or without its beginning. */
const PRIVATE = new RegExp(
  [
    `${KEY_BEGIN}[^]{0,16000}?${KEY_END}`,
    String.raw`${KEY_BEGIN}(?:\s|\\n|\d{1,6}\t|${BASE64_CHAR}{24,})*`,
    `(?<!${BASE64_CHAR})(?:${FULL_KEY_LINE}){1,60}(?:${LAST_KEY_LINE})?${KEY_END}`,
  ].join("|"),
  "g",
);
const TOKEN_BEGINNINGS = /gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|npm_|hf_|gsk_|AIza|ya29\./
  .source;
const SECRET_HEADER = /((?:authorization|x-api-key|api-key|x-auth-token)["'`\\]*\s*[:=]\s*["'`\\]*)/
  .source;
const SCHEME_OR_DIGIT = /(?:(?:bearer|basic|token|digest)\s+|(?=\S*\d))/.source;
const PATTERNS: [pattern: RegExp, instead: string][] = [
  [
    /(?<![A-Za-z0-9])(?:sk|rk|pk)[-_](?:live_|test_|proj-|ant-|or-)?[A-Za-z0-9][\w-]{7,}/g,
    REDACTED,
  ],
  [new RegExp(String.raw`(?<![A-Za-z0-9])(?:${TOKEN_BEGINNINGS})[\w-]{8,}`, "g"), REDACTED],
  [/(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{12,}/g, REDACTED],
  [/(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?/g, REDACTED], // a JSON Web Token
  [new RegExp(SECRET_HEADER + SCHEME_OR_DIGIT + SECRET_VALUE, "gi"), `$1${REDACTED}`],
  [new RegExp(`\\b(bearer\\s+)(?=\\S*\\d)${SECRET_VALUE}`, "gi"), `$1${REDACTED}`],
  [
    new RegExp(`\\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)=["']?)${SECRET_VALUE}`, "g"),
    `$1${REDACTED}`,
  ], // as in .env
  [/(\b\w+:\/\/[^\s/:@]+:)[^\s/@]+@/g, `$1${REDACTED}@`], // in a URL
];
const IMAGE_DATA = /data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=]{64,})/g;

/** Returns a function that makes a value safe to log. */
export function redactor(zz: Zz): (value: unknown) => unknown {
  return (value) => redactValue(value, []);

  function redactValue(value: unknown, ancestors: object[]): unknown {
    if (typeof value === "string") return redactText(value);
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    if (ancestors.includes(value)) return "[circular]";
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    const childAncestors = [...ancestors, value];
    if ("toJSON" in value && typeof value.toJSON === "function")
      return redactValue(value.toJSON(), childAncestors);
    if (Array.isArray(value)) return value.map((element) => redactValue(element, childAncestors));
    const { base64, type } = value as { base64?: unknown; type?: unknown };
    if (typeof base64 === "string") return describeImage(String(type), base64);
    return Object.fromEntries(
      Object.entries(value).map(([fieldName, fieldValue]) => [
        redactText(fieldName),
        typeof fieldValue === "string" && SECRET_FIELD.test(fieldName)
          ? REDACTED
          : redactValue(withoutValue(value, fieldName, fieldValue), childAncestors),
      ]),
    );
  }

  /** The value given to set_env is a secret from now on, but is not among the known ones yet. */
  function withoutValue(parent: object, fieldName: string, fieldValue: unknown): unknown {
    const isSetEnvCall = fieldName === "args" && "name" in parent && parent.name === "set_env";
    return isSetEnvCall && Object(fieldValue).value !== undefined
      ? { ...(fieldValue as object), value: REDACTED }
      : fieldValue;
  }

  function redactText(originalText: string): string {
    let redacted = zz.veil(
      originalText.replace(IMAGE_DATA, (_, imageType, base64) => describeImage(imageType, base64)),
      REDACTED,
    );
    if (redacted.includes("PRIVATE KEY")) redacted = redacted.replace(PRIVATE, REDACTED);
    for (const [pattern, instead] of PATTERNS) redacted = redacted.replace(pattern, instead);
    return redacted;
  }
}

const describeImage = (imageType: string, base64: string): string =>
  `[image, ${imageType}, ${Math.floor((base64.replace(/=+$/, "").length * 3) / 4)} bytes]`;
