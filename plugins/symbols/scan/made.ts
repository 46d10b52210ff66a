// What nobody writes by hand: build output, copies of others' code, snapshots, lock files, generated code.

const OUTPUT_FOLDER =
  /(?:^|\/)(?:dist|node_modules|bower_components|vendor|third_party|\.?venv|site-packages|Pods|\.(?:next|nuxt|output|svelte-kit|turbo|vercel|yarn|cache)|coverage|__snapshots__|__pycache__)\//;
/** These hold output, or scripts that make it: those are source files of a language that is compiled, or lie in a source folder. */
const MAYBE_FOLDER = /(?:^|\/)(?:build|out|_build)\//;
const SOURCE_FOLDER = /(?:^|\/)(?:src|lib|app|source|scripts|test|tests|docs)\/(?:.+\/)?(?:build|out|_build)\//;
const SOURCE =
  /(?<!\.d)\.[cm]?tsx?$|\.(?:vue|svelte|astro|py|go|rs|java|kts?|rb|php|cs|swift|c|cc|cpp|h|hpp|sh|lua|sql|mdx?)$/;
const OUTPUT_FILE =
  /[.-]min\.(?:[cm]?js|css)$|[.-]bundle\.[cm]?js$|\.(?:snap|map|tsbuildinfo|lock|lockb)$|(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|composer\.lock|go\.sum)$|[._](?:generated|gen)\.\w+$|_pb\d?(?:_grpc)?\.(?:[cm]?[jt]s|pyi?)$|\.pb\.(?:go|cc|h)$|\.designer\.cs$/i;

/** Told by its path. */
export const isMade = (path: string): boolean =>
  OUTPUT_FOLDER.test(path) ||
  OUTPUT_FILE.test(path) ||
  (MAYBE_FOLDER.test(path) && !SOURCE_FOLDER.test(path) && !SOURCE.test(path));

const [MARK_CHARS, MARK_LINES] = [2_000, 12]; // from the beginning, in which a mark counts
const COMMENT = /^\s*(?:\/\/|\/\*|\*|#|<!--|;|--)/;
const IS = "(?:this )?(?:file|code|module) (?:is |was |has been )?";
const MARK = new RegExp(
  [
    "@generated\\b",
    `^\\W*(?:${IS})?auto(?:matically)?[- ]?generated\\b`,
    `^\\W*(?:${IS})?generated (?:by|from|using|with)\\b`,
    "\\bgenerated\\b.*\\bdo not (?:edit|modify)\\b",
    "\\bdo not (?:edit|modify)\\b.*\\bgenerated\\b",
  ].join("|"),
  "i",
);

/** Told by a comment in its first lines. */
export const isMarkedGenerated = (text: string): boolean =>
  text
    .slice(0, MARK_CHARS)
    .split("\n", MARK_LINES)
    .some((line) => COMMENT.test(line) && MARK.test(line));
