// Which files are code, and symbols.ignore: those of them that the index and the map leave out, by
// patterns as in a .gitignore.
import { anyOf } from "zz/text";
import { LANGUAGES } from "./languages/table.ts";
import { isGenerated } from "./scan/generated-files.ts";

// in one name; with more a regular expression can run for ever
const [MAX_STARS, MAX_PATTERN_CHARS] = [3, 500];

const OTHER_ENDINGS = LANGUAGES.map(({ ends }) =>
  ends.replaceAll("+", "\\+").replaceAll(" ", "|"),
).join("|");
/** What is parsed. */
export const CODE = new RegExp(`\\.(?:[cm]?[jt]sx?|json|ya?ml|${OTHER_ENDINGS})$`, "i");
/** Other texts: the map goes by their words. */
const TEXT_FILE = anyOf(
  /\.(?:mdx?|markdown|rst|adoc|txt|toml|ini|s[ac]ss|less|styl|astro|scala|dart|exs?|erl|hs|clj)$/i,
  /\.(?:zig|fish|ps1|graphql|gql|prisma|proto|tf|nix|gradle|cmake|mk)$/i,
  /(?:^|\/)(?:Makefile|Dockerfile|README|LICENSE|CONTRIBUTING)$/i,
);

/**
 * The code among these files, the other texts, and what of it the patterns name. A pattern that
 * would take too long is left out, and told.
 */
export async function codeAmong(
  filePaths: readonly string[],
  patterns: readonly string[],
  noteProblem: (problem: string) => void,
): Promise<{ code: string[]; texts: string[]; ignored: ReadonlySet<string> }> {
  const codeFiles = filePaths.filter((filePath) => CODE.test(filePath));
  const textFiles = filePaths.filter(
    (filePath) => TEXT_FILE.test(filePath) && !CODE.test(filePath) && !isGenerated(filePath),
  );
  if (!patterns.length) return { code: codeFiles, texts: textFiles, ignored: new Set() };
  const { default: ignore } = await import("ignore");
  const ignoreRules = ignore().add(patterns.filter((pattern) => isQuick(pattern, noteProblem)));
  const ignored = new Set(codeFiles.filter((filePath) => ignoreRules.ignores(filePath)));
  const texts = textFiles.filter((filePath) => !ignoreRules.ignores(filePath));
  return { code: codeFiles.filter((filePath) => !ignored.has(filePath)), texts, ignored };
}

function isQuick(pattern: string, noteProblem: (problem: string) => void): boolean {
  const starCounts = pattern.split("/").map((segment) => segment.split(/\*+/).length - 1);
  if (pattern.length <= MAX_PATTERN_CHARS && Math.max(...starCounts) <= MAX_STARS) return true;
  noteProblem(
    `Cannot use '${pattern.slice(0, 60)}' of symbols.ignore: at most ${MAX_STARS} stars ` +
      `between slashes and ${MAX_PATTERN_CHARS} letters can be. Shorten it.`,
  );
  return false;
}
