// Which files are code, and symbols.ignore: those of them that the index and the map leave out, by patterns as in a .gitignore.
import { isMade } from "./scan/made.ts";

const [MAX_STARS, MAX_PATTERN_CHARS] = [3, 500]; // in one name; with more a regular expression can run for ever

export const CODE = /\.(?:[cm]?[jt]sx?|json|ya?ml)$/i;
/** Other texts: the map goes by their words. */
const TEXT =
  /\.(?:mdx?|markdown|rst|adoc|txt|toml|ini|html?|css|s[ac]ss|less|styl|vue|svelte|astro|py|pyi|go|rs|java|kts?|swift|rb|php|c|h|cc|cpp|cxx|hpp|hh|cs|scala|dart|lua|ex|exs|erl|hs|clj|zig|sh|bash|fish|ps1|sql|graphql|gql|prisma|proto|tf|nix|gradle|cmake|mk)$|(?:^|\/)(?:Makefile|Dockerfile|README|LICENSE|CONTRIBUTING)$/i;

/** The code among these files, the other texts, and what of it the patterns name. A pattern that would take too long is left out, and told. */
export async function codeAmong(
  names: readonly string[],
  patterns: readonly string[],
  note: (text: string) => void,
): Promise<{ code: string[]; texts: string[]; ignored: ReadonlySet<string> }> {
  const all = names.filter((name) => CODE.test(name));
  const others = names.filter((name) => TEXT.test(name) && !isMade(name));
  if (!patterns.length) return { code: all, texts: others, ignored: new Set() };
  const { default: ignore } = await import("ignore");
  const rules = ignore().add(patterns.filter((pattern) => isQuick(pattern, note)));
  const ignored = new Set(all.filter((name) => rules.ignores(name)));
  const texts = others.filter((name) => !rules.ignores(name));
  return { code: all.filter((name) => !ignored.has(name)), texts, ignored };
}

function isQuick(pattern: string, note: (text: string) => void): boolean {
  const stars = pattern.split("/").map((part) => part.split(/\*+/).length - 1);
  if (pattern.length <= MAX_PATTERN_CHARS && Math.max(...stars) <= MAX_STARS) return true;
  note(
    `Cannot use '${pattern.slice(0, 60)}' of symbols.ignore: at most ${MAX_STARS} stars between slashes and ${MAX_PATTERN_CHARS} letters can be. Shorten it.`,
  );
  return false;
}
