// What must not stand in a log: keys and values that are known by where they are kept, and whatever looks like a key.
// Images are named and left out.
import fs from "node:fs";
import path from "node:path";
import type { Endpoint } from "zz";

const GONE = "[redacted]";
const SHORTEST = 6; // what is shorter stands in any text

/** In the environment; the second kind has short values that are no secrets. */
const KEY_NAME = /_API_KEY$/i;
const SECRET_NAME = /(^|_)(KEY|TOKEN|PAT)$|API_?KEY|SECRET|PASSW|PASSPHRASE|CREDENTIAL/i;
/** Of a field: whatever it holds. */
const SECRET_FIELD =
  /^((proxy-)?authorization|(set-)?cookie|(x-)?(api|auth)[-_]?(key|token)|password|passwd|passphrase|(access|refresh|id)_token|(client_)?secret|private_key)$/i;

const VALUE = /[^\s"'`,;$<{\\][^\s"'`,;\\]{5,}/.source;
const BASE64 = "[A-Za-z0-9+/=]";
const NUMBER = String.raw`(?:\d{1,6}\t)?`; // as read_file shows lines
const BEGIN = "-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----";
const END = "-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----";
/** Whole, without its end, without its beginning. */
const PRIVATE = new RegExp(
  [
    `${BEGIN}[^]{0,16000}?${END}`,
    String.raw`${BEGIN}(?:\s|\\n|\d{1,6}\t|${BASE64}{24,})*`,
    String.raw`(?<!${BASE64})(?:${BASE64}{40,80}\s+${NUMBER}){1,60}(?:${BASE64}{1,80}\s+${NUMBER})?${END}`,
  ].join("|"),
  "g",
);
const PATTERNS: [pattern: RegExp, instead: string][] = [
  [/(?<![A-Za-z0-9])(?:sk|rk|pk)[-_](?:live_|test_|proj-|ant-|or-)?[A-Za-z0-9][\w-]{7,}/g, GONE],
  [/(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|xapp-|npm_|hf_|gsk_|AIza|ya29\.)[\w-]{8,}/g, GONE],
  [/(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{12,}/g, GONE],
  [/(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?/g, GONE], // a JSON Web Token
  [
    new RegExp(
      `((?:authorization|x-api-key|api-key|x-auth-token)["'\`\\\\]*\\s*[:=]\\s*["'\`\\\\]*)(?:(?:bearer|basic|token|digest)\\s+|(?=\\S*\\d))${VALUE}`,
      "gi",
    ),
    `$1${GONE}`,
  ],
  [new RegExp(`\\b(bearer\\s+)(?=\\S*\\d)${VALUE}`, "gi"), `$1${GONE}`],
  [new RegExp(`\\b([A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)=["']?)${VALUE}`, "g"), `$1${GONE}`], // as in .env
  [/(\b\w+:\/\/[^\s/:@]+:)[^\s/@]+@/g, `$1${GONE}@`], // in a URL
];
const IMAGE = /data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=]{64,})/g;

export function redactor() {
  const known = new Set<string>();
  let pattern: RegExp | undefined;

  return { learn, from };

  function from(value: unknown, home: string): unknown {
    if (!pattern) learn(home);
    return clean(value, []);
  }

  /** Everything is looked up again: a value may have been set since. */
  function learn(home?: string, endpoint: Endpoint = {}): void {
    const before = known.size;
    for (const value of [endpoint.key, endpoint.kept]) add(value);
    for (const [name, value = ""] of Object.entries(process.env))
      if (KEY_NAME.test(name) || (SECRET_NAME.test(name) && value.length >= 8 && !value.startsWith("/"))) add(value);
    if (home) for (const value of kept(home)) add(value);
    if (pattern && known.size === before) return;
    const longest = [...known].sort((a, b) => b.length - a.length); // one may begin as another
    pattern = longest.length ? new RegExp(longest.map(escaped).join("|"), "g") : /(?!)/g;
  }

  /** Also as it stands in JSON and in a URL; of several lines each by itself, since a tool may number them. */
  function add(value: unknown): void {
    if (typeof value !== "string" && typeof value !== "number") return;
    const lines = String(value).trim().split(/\r?\n/);
    for (const line of lines.map((line) => line.trim()))
      if (line.length >= (lines.length > 1 ? 16 : SHORTEST))
        for (const form of [line, JSON.stringify(line).slice(1, -1), encodeURIComponent(line.toWellFormed())])
          known.add(form);
  }

  function clean(value: unknown, above: object[]): unknown {
    if (typeof value === "string") return cleanText(value);
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    if (above.includes(value)) return "[circular]";
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if ("toJSON" in value && typeof value.toJSON === "function") return clean(value.toJSON(), [...above, value]);
    const inside = [...above, value];
    if (Array.isArray(value)) return value.map((one) => clean(one, inside));
    const { base64, type } = value as { base64?: unknown; type?: unknown };
    if (typeof base64 === "string") return image(String(type), base64);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [cleanText(name), field(value, name, one)]));

    function field(of: object, name: string, one: unknown): unknown {
      const secret = typeof one === "string" && SECRET_FIELD.test(name);
      return secret ? GONE : clean(withoutValue(of, name, one), inside);
    }
  }

  /** What set_env is called with is kept from now on, and is not among what was kept before. */
  function withoutValue(of: object, name: string, value: unknown): unknown {
    const isCall = name === "args" && "name" in of && of.name === "set_env";
    return isCall && Object(value).value !== undefined ? { ...(value as object), value: GONE } : value;
  }

  function cleanText(text: string): string {
    let rest = text.replace(IMAGE, (_, type, base64) => image(type, base64)).replace(pattern!, GONE);
    if (rest.includes("PRIVATE KEY")) rest = rest.replace(PRIVATE, GONE);
    for (const [pattern, instead] of PATTERNS) rest = rest.replace(pattern, instead);
    return rest;
  }
}

const image = (type: string, base64: string): string =>
  `[image, ${type}, ${Math.floor((base64.replace(/=+$/, "").length * 3) / 4)} bytes]`;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");

/** Keys and variables that the home keeps. */
function kept(home: string): unknown[] {
  const read = (name: string): object => {
    try {
      return Object(JSON.parse(fs.readFileSync(path.join(home, name), "utf8")));
    } catch {
      return {}; // none
    }
  };
  const { providers } = read("zz.config.json") as { providers?: Record<string, Endpoint> };
  return [
    ...Object.values(read("env.json")),
    ...Object.values(read("keys.json")),
    ...Object.values(Object(providers)).map((one) => Object(one).key),
  ];
}
