// Removes what must not be in a log: known secrets, including short ones, and whatever looks like a
// key. Images are only named.
import type { Zz } from "zz";

const REDACTED = "[redacted]";

/** Fields whose value is always redacted. */
const SECRET_FIELD =
  /^((proxy-)?authorization|(set-)?cookie|(x-)?(api|auth)[-_]?(key|token)|password|passwd|passphrase|(access|refresh|id)_token|(client_)?secret|private_key)$/i;

const VALUE = /[^\s"'`,;$<{\\][^\s"'`,;\\]{5,}/.source;
const BASE64 = "[A-Za-z0-9+/=]";
const NUMBER = String.raw`(?:\d{1,6}\t)?`; // as read_file shows lines
const BEGIN = "-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----";
const END = "-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----";
/** A private key: whole, without its end, or without its beginning. */
const PRIVATE = new RegExp(
  [
    `${BEGIN}[^]{0,16000}?${END}`,
    String.raw`${BEGIN}(?:\s|\\n|\d{1,6}\t|${BASE64}{24,})*`,
    String.raw`(?<!${BASE64})(?:${BASE64}{40,80}\s+${NUMBER}){1,60}(?:${BASE64}{1,80}\s+${NUMBER})?${END}`,
  ].join("|"),
  "g",
);
const PATTERNS: [pattern: RegExp, instead: string][] = [
  [
    /(?<![A-Za-z0-9])(?:sk|rk|pk)[-_](?:live_|test_|proj-|ant-|or-)?[A-Za-z0-9][\w-]{7,}/g,
    REDACTED,
  ],
  [
    /(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|npm_|hf_|gsk_|AIza|ya29\.)[\w-]{8,}/g,
    REDACTED,
  ],
  [/(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{12,}/g, REDACTED],
  [/(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?/g, REDACTED], // a JSON Web Token
  [
    new RegExp(
      `((?:authorization|x-api-key|api-key|x-auth-token)["'\`\\\\]*\\s*[:=]\\s*["'\`\\\\]*)(?:(?:bearer|basic|token|digest)\\s+|(?=\\S*\\d))${VALUE}`,
      "gi",
    ),
    `$1${REDACTED}`,
  ],
  [new RegExp(`\\b(bearer\\s+)(?=\\S*\\d)${VALUE}`, "gi"), `$1${REDACTED}`],
  [
    new RegExp(`\\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)=["']?)${VALUE}`, "g"),
    `$1${REDACTED}`,
  ], // as in .env
  [/(\b\w+:\/\/[^\s/:@]+:)[^\s/@]+@/g, `$1${REDACTED}@`], // in a URL
];
const IMAGE = /data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=]{64,})/g;

/** Returns a function that makes a value safe to log. */
export function redactor(zz: Zz): (value: unknown) => unknown {
  return (value) => redact(value, []);

  function redact(value: unknown, above: object[]): unknown {
    if (typeof value === "string") return redactText(value);
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    if (above.includes(value)) return "[circular]";
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if ("toJSON" in value && typeof value.toJSON === "function")
      return redact(value.toJSON(), [...above, value]);
    const inside = [...above, value];
    if (Array.isArray(value)) return value.map((element) => redact(element, inside));
    const { base64, type } = value as { base64?: unknown; type?: unknown };
    if (typeof base64 === "string") return image(String(type), base64);
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [redactText(name), field(value, name, child)]),
    );

    function field(of: object, name: string, child: unknown): unknown {
      const secret = typeof child === "string" && SECRET_FIELD.test(name);
      return secret ? REDACTED : redact(withoutValue(of, name, child), inside);
    }
  }

  /** The value given to set_env is a secret from now on, but is not among the known ones yet. */
  function withoutValue(of: object, name: string, value: unknown): unknown {
    const isCall = name === "args" && "name" in of && of.name === "set_env";
    return isCall && Object(value).value !== undefined
      ? { ...(value as object), value: REDACTED }
      : value;
  }

  function redactText(text: string): string {
    let redacted = zz.veil(
      text.replace(IMAGE, (_, type, base64) => image(type, base64)),
      REDACTED,
    );
    if (redacted.includes("PRIVATE KEY")) redacted = redacted.replace(PRIVATE, REDACTED);
    for (const [pattern, instead] of PATTERNS) redacted = redacted.replace(pattern, instead);
    return redacted;
  }
}

const image = (type: string, base64: string): string =>
  `[image, ${type}, ${Math.floor((base64.replace(/=+$/, "").length * 3) / 4)} bytes]`;
