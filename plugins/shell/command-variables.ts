// Which of the person's variables a command does not get, by name and by value.
import type { Ctx } from "zz";
import { anyOf, keptVariables } from "zz/text";
import type { Decision } from "./decide-call.ts";
import type { NetworkAccess } from "./network-access.ts";

/** Names that contain one of these hold a secret. */
const SECRET_NAME = anyOf(
  /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|MNEMONIC|BEARER/i,
  /(?:^|_)(?:PASS|PAT|AUTH|PW|OTP|CREDS?)$|(?:^|_)(?:MY|DB|PG|SSH)?PASS(?:_|$)|._PWD$/i,
);

/** Variables that would make bash read a line differently from how it was judged. */
const STEERS_BASH = anyOf(
  /^(BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|CDPATH)$/,
  /^(GLOBIGNORE|POSIXLY_CORRECT|TEXTDOMAIN.*|IFS)$/,
);

const SECRET_WORDS = "password|passwd|secret|token|api_?key|account_?key|access_?key|private_key";
const SECRET_FIELD = String.raw`(?:^|[?&;,{\s"'])(?:\w*(?:${SECRET_WORDS})|pwd|sig)`;
/** A password in an address, or among the fields of a connection string or a query. */
const WITH_PASSWORD = [
  /[a-z][a-z\d+.-]*:\/\/[^\s/@?#:]*:(?!\d+(?:[/?#]|$))[^\s@]+@/i,
  /[a-z][a-z\d+.-]*:\/\/[^\s/@?#:]{20,}@/i,
  new RegExp(String.raw`${SECRET_FIELD}["']?\s*[=:]\s*["']?[^\s&;"',}]`, "i"),
  /\b(?:bearer|basic|token)\s+[\w+/.~-]{12,}=*/i,
];
/** Shapes of common tokens and keys. */
const TOKEN_SHAPES = [
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /\bAGE-SECRET-KEY-1[\dA-Z]{20}/,
  /\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*/, // a JWT
  /\b(?:AKIA|ASIA|ABIA|ACCA)[\dA-Z]{16}\b/, // AWS
  // OpenAI, Anthropic, Stripe
  /\bsk-[\w-]{16,}|\b(?:sk|rk|pk|whsec)_(?:live|test)_\w{10,}|\bwhsec_\w{16,}/,
  /\bgh[opusr]_\w{20,}|\bgithub_pat_\w{20,}|\bgl(?:pat|dt|rt|cbt|ptt|soat)-[\w-]{16,}/,
  /\bxox[a-z]-[\w-]{8,}|\bxapp-[\w-]{8,}|hooks\.slack\.com\/services\/\w/,
  /\bAIza[\w-]{30,}|\bya29\.[\w-]{16,}|\bGOCSPX-[\w-]{16,}/, // Google
  /\bnpm_\w{30,}|\bpypi-[\w-]{30,}|\bdckr_pat_[\w-]{20,}|\brubygems_[\da-f]{30,}|\bcio\w{30,}/,
  /\b(?:hf|r8|gsk|xai|pplx|tvly|nvapi|fw|figd|sbp|nfp|ntn|glsa|shp(?:at|ca|pa|ss))[_-][\w-]{20,}/,
  /\bATATT3x[\w=-]{16,}|\bdapi[\da-f]{32}\b/,
  /\b(?:dop|doo|dor)_v1_\w{30,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\bkey-[\da-f]{32}\b|\bSK[\da-f]{32}\b/,
  /\bhv[sbr]\.[\w-]{20,}|\btskey-[\w-]{16,}|\blin_api_\w{20,}|\bsntrys_\w{16,}|\bPMAK-[\da-f]{20,}/,
  /discord(?:app)?\.com\/api\/webhooks\/\d|\b\d{8,10}:AA[\w-]{30,}/, // Discord, Telegram
];

function looksSecret(value: string): boolean {
  return (
    value.length > 5 &&
    [...WITH_PASSWORD, ...TOKEN_SHAPES].some((shape) => shape.test(value.slice(0, 100_000)))
  );
}
const MIN_COPY_CHARS = 8; // of a secret that is looked for in other variables

/**
 * What any program needs, and where toolchains lie. Whatever else is set may be a secret: no list
 * of shapes knows all of them.
 */
const NEEDED_NAMES = new Set(
  `HOME PATH PWD TERM COLORTERM NO_COLOR FORCE_COLOR COLUMNS LINES SHELL USER LOGNAME TZ TMPDIR CI
    NODE_ENV`.split(/\s+/),
);
// ssh passes on whatever begins with LC_
const LOCALES = new Set(
  `LANG LANGUAGE LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES
    LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME`.split(/\s+/),
);
const LOCALE_VALUE =
  /^(?:(?:[a-z]{1,3}|POSIX|UTF-8)(?:_[a-z]{2,4})?(?:\.[\w-]{1,12})?(?:@\w{1,12})?(?::|$))*$/i;
const TOOLCHAINS = new Set(
  `XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME NIX_PATH NIX_PROFILES NVM_DIR NVM_BIN
    NVM_INC FNM_DIR FNM_MULTISHELL_PATH VOLTA_HOME N_PREFIX NODENV_ROOT PNPM_HOME BUN_INSTALL
    DENO_DIR DENO_INSTALL COREPACK_HOME YARN_CACHE_FOLDER npm_config_cache npm_config_prefix
    PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX CONDA_EXE PIPX_HOME UV_CACHE_DIR POETRY_HOME RUSTUP_HOME
    CARGO_HOME CARGO_TARGET_DIR GOPATH GOROOT GOBIN GOCACHE GOMODCACHE JAVA_HOME JDK_HOME SDKMAN_DIR
    JENV_ROOT GRADLE_HOME GRADLE_USER_HOME MAVEN_HOME M2_HOME ANDROID_HOME ANDROID_SDK_ROOT
    ANDROID_NDK_HOME RBENV_ROOT GEM_HOME GEM_PATH BUNDLE_PATH PHPENV_ROOT COMPOSER_HOME PLENV_ROOT
    GHCUP_INSTALL_BASE_PREFIX STACK_ROOT OPAMROOT OPAM_SWITCH_PREFIX DOTNET_ROOT ASDF_DIR
    ASDF_DATA_DIR MISE_DATA_DIR MISE_CACHE_DIR SWIFTLY_HOME_DIR ZIG_GLOBAL_CACHE_DIR CCACHE_DIR
    CMAKE_PREFIX_PATH PKG_CONFIG_PATH HOMEBREW_PREFIX HOMEBREW_CELLAR
    HOMEBREW_REPOSITORY`.split(/\s+/),
);
const isPathList = (value: string): boolean =>
  value.split(":").every((folder) => !folder || folder.startsWith("/"));

/**
 * The environment of a command that nobody was asked about: what it needs, and what the person
 * allowed by name.
 */
export function neededEnv(
  variables: NodeJS.ProcessEnv,
  allowed: (name: string) => boolean,
): NodeJS.ProcessEnv {
  const isNeeded = (name: string, value = "") =>
    NEEDED_NAMES.has(name) ||
    (LOCALES.has(name) && LOCALE_VALUE.test(value)) ||
    (TOOLCHAINS.has(name) && isPathList(value));
  const neededVariables = Object.entries(variables).filter(
    ([name, value]) => allowed(name) || isNeeded(name, value),
  );
  return cleanEnv(Object.fromEntries(neededVariables), allowed);
}

/** Removes variables that would steer bash, and secrets except those allowed by name. */
export function cleanEnv(
  variables: NodeJS.ProcessEnv,
  allowed: (name: string) => boolean,
): NodeJS.ProcessEnv {
  const harmlessVariables = Object.entries(variables).filter(([name]) => !STEERS_BASH.test(name));
  const mayStay = (name: string, value = "") =>
    allowed(name) || !(SECRET_NAME.test(name) || looksSecret(value));
  // The same text under another name is just as secret.
  const dropped = harmlessVariables.flatMap(([name, value = ""]) =>
    mayStay(name, value) || value.length < MIN_COPY_CHARS ? [] : [value],
  );
  const copiesSecret = (name: string, value = "") =>
    !allowed(name) && dropped.some((droppedValue) => value.includes(droppedValue));
  return Object.fromEntries(
    harmlessVariables.filter(([name, value]) => mayStay(name, value) && !copiesSecret(name, value)),
  );
}

/** Variables that the person allowed by name; what a rule denies stays denied. */
export function allowedVariables({ about: { home }, permissions }: Ctx): Record<string, string> {
  const keptEntries = Object.entries(keptVariables(home));
  return Object.fromEntries(
    keptEntries.filter(([name]) => permissions.judge("env", name).verdict !== "deny"),
  );
}
export const withVariables = (variables: Record<string, string>): NodeJS.ProcessEnv => ({
  ...process.env,
  ...variables,
});
/** A git that runs unasked must not run anything that a repository's configuration names. */
const GIT_ASKED = gitVariables({ "core.fsmonitor": "false" });
/**
 * Nor does it show more than its plain form, whatever the person's own configuration says: it stays
 * in this repository.
 */
const GIT_UNASKED = gitVariables({
  "core.fsmonitor": "false",
  "submodule.recurse": "false",
  "diff.submodule": "short",
  "status.submoduleSummary": "false",
  "grep.fallbackToNoIndex": "false",
});
function gitVariables(gitSettings: Record<string, string>): Record<string, string> {
  const settingPairs = Object.entries(gitSettings);
  return {
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CONFIG_COUNT: `${settingPairs.length}`,
    ...Object.fromEntries(
      settingPairs.flatMap(([settingKey, settingValue], i) => [
        [`GIT_CONFIG_KEY_${i}`, settingKey],
        [`GIT_CONFIG_VALUE_${i}`, settingValue],
      ]),
    ),
  };
}

/** Without a network, package managers need not try again and again, for up to minutes. */
const WITHOUT_RETRIES = {
  npm_config_fetch_retries: "0",
  YARN_HTTP_RETRY: "0",
  PIP_RETRIES: "0",
  UV_HTTP_RETRIES: "0",
  CARGO_NET_RETRY: "0",
  BUNDLE_RETRY: "0",
};

/** The whole environment of a command. */
export function environmentFor(
  { sandbox, strict, argv }: Pick<Decision, "sandbox" | "strict" | "argv">,
  access: NetworkAccess,
  allowed: Record<string, string>,
  { permissions, git }: Ctx,
): NodeJS.ProcessEnv {
  const isUnasked = strict || argv !== undefined;
  const mayHave = (name: string) =>
    Object.hasOwn(allowed, name) || permissions.judge("env", name).verdict === "allow";
  const environment = {
    ...(isUnasked ? GIT_UNASKED : GIT_ASKED),
    ...(sandbox && access === "none" && WITHOUT_RETRIES),
    ...(isUnasked ? neededEnv : cleanEnv)(withVariables(allowed), mayHave),
  };
  return strict ? git.env(environment) : environment;
}
