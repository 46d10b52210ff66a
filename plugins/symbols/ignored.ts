// symbols.ignore: the files that the index and the map leave out, by patterns as in a .gitignore.
const [MAX_STARS, MAX_PATTERN_CHARS] = [3, 500]; // in one name; with more a regular expression can run for ever

/** The files that the patterns name. A pattern that would take too long is left out, and told. */
export async function ignoredAmong(
  names: readonly string[],
  patterns: readonly string[],
  note: (text: string) => void,
): Promise<ReadonlySet<string>> {
  if (!patterns.length) return new Set();
  const { default: ignore } = await import("ignore");
  const rules = ignore().add(patterns.filter((pattern) => isQuick(pattern, note)));
  return new Set(names.filter((name) => rules.ignores(name)));
}

function isQuick(pattern: string, note: (text: string) => void): boolean {
  const stars = pattern.split("/").map((part) => part.split(/\*+/).length - 1);
  if (pattern.length <= MAX_PATTERN_CHARS && Math.max(...stars) <= MAX_STARS) return true;
  note(
    `Cannot use '${pattern.slice(0, 60)}' of symbols.ignore: at most ${MAX_STARS} stars between slashes and ${MAX_PATTERN_CHARS} letters can be. Shorten it.`,
  );
  return false;
}
