// Which files are code, and symbols.ignore: those of them that the index and the map leave out, by
// patterns as in a .gitignore.
import { LANGUAGES } from "./languages/table.ts";
import { isGenerated } from "./scan/generated-files.ts";

// in one name; with more a regular expression can run for ever
const [MAX_STARS, MAX_PATTERN_CHARS] = [3, 500];

const OTHERS = LANGUAGES.map(({ ends }) => ends.replaceAll("+", "\\+").replaceAll(" ", "|")).join(
  "|",
);
/** What is parsed. */
export const CODE = new RegExp(`\\.(?:[cm]?[jt]sx?|json|ya?ml|${OTHERS})$`, "i");
/** Other texts: the map goes by their words. */
const TEXT =
  /\.(?:mdx?|markdown|rst|adoc|txt|toml|ini|s[ac]ss|less|styl|astro|scala|dart|exs?|erl|hs|clj|zig|fish|ps1|graphql|gql|prisma|proto|tf|nix|gradle|cmake|mk)$|(?:^|\/)(?:Makefile|Dockerfile|README|LICENSE|CONTRIBUTING)$/i;

/**
 * The code among these files, the other texts, and what of it the patterns name. A pattern that
 * would take too long is left out, and told.
 */
export async function codeAmong(
  names: readonly string[],
  patterns: readonly string[],
  note: (text: string) => void,
): Promise<{ code: string[]; texts: string[]; ignored: ReadonlySet<string> }> {
  const codeFiles = names.filter((name) => CODE.test(name));
  const others = names.filter((name) => TEXT.test(name) && !CODE.test(name) && !isGenerated(name));
  if (!patterns.length) return { code: codeFiles, texts: others, ignored: new Set() };
  const { default: ignore } = await import("ignore");
  const rules = ignore().add(patterns.filter((pattern) => isQuick(pattern, note)));
  const ignored = new Set(codeFiles.filter((name) => rules.ignores(name)));
  const texts = others.filter((name) => !rules.ignores(name));
  return { code: codeFiles.filter((name) => !ignored.has(name)), texts, ignored };
}

function isQuick(pattern: string, note: (text: string) => void): boolean {
  const stars = pattern.split("/").map((part) => part.split(/\*+/).length - 1);
  if (pattern.length <= MAX_PATTERN_CHARS && Math.max(...stars) <= MAX_STARS) return true;
  note(
    `Cannot use '${pattern.slice(0, 60)}' of symbols.ignore: at most ${MAX_STARS} stars between slashes and ${MAX_PATTERN_CHARS} letters can be. Shorten it.`,
  );
  return false;
}
