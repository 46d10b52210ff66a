// What nobody writes by hand: build output, copies of others' code, snapshots, lock files,
// generated code.
import { anyOf } from "zz/text";

const OUTPUT_FOLDERS = (
  "dist node_modules bower_components jspm_packages vendor third_party coverage " +
  "storybook-static site-packages Pods venv " +
  "__snapshots__ __pycache__ __generated__ generated .venv .next .nuxt .output .svelte-kit " +
  ".astro .angular .docusaurus .expo " +
  ".vite .wrangler .turbo .vercel .netlify .serverless .yarn .pnpm .cache .parcel-cache .nyc_output"
).split(" ");
const OUTPUT_FOLDER = new RegExp(`(?:^|/)(?:${OUTPUT_FOLDERS.join("|").replaceAll(".", "\\.")})/`);
/**
 * These hold output, or scripts that make it: those are source files of a language that is
 * compiled, or lie in a source folder.
 */
const MAYBE_FOLDER = /(?:^|\/)(?:build|out|_build|target)\//;
const SOURCE_FOLDER =
  /(?:^|\/)(?:src|lib|app|source|scripts|test|tests|docs)\/(?:.+\/)?(?:build|out|_build|target)\//;
const SOURCE_FILE = anyOf(
  /(?<!\.d)\.[cm]?tsx?$/,
  /\.(?:vue|svelte|astro|py|go|rs|java|kts?|rb|php|cs|swift|c|cc|cpp|h|hpp|sh|lua|sql|mdx?)$/,
);
const OUTPUT_FILE = new RegExp(
  [
    /[.-]min\.(?:[cm]?js|css)$|(?:^|[/.-])bundle\.[cm]?js$|[.-]chunk\.(?:[cm]?js|css)$/,
    /[.-](?=[a-f]*\d)[\da-f]{8,32}\.(?:[cm]?js|css)$/, // by its hash
    /\.(?:snap|map|tsbuildinfo|lock|lockb)$/,
    /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|composer\.lock|go\.sum)$/,
    /[._](?:generated|gen|g)\.\w+$|_pb\d?(?:_grpc)?\.(?:[cm]?[jt]s|pyi?)$/,
    /\.pb\.(?:go|cc|h|[cm]?[jt]s)$|\.designer\.cs$/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);
/** Named by its hash, where capitals count. */
const HASHED_ASSET = /(?:^|\/)assets\/[^/]*-(?=[\w-]{0,7}[A-Z\d])[\w-]{8}\.(?:[cm]?js|css)$/;

/** Told by its path. */
export const isGenerated = (filePath: string): boolean =>
  OUTPUT_FOLDER.test(filePath) ||
  OUTPUT_FILE.test(filePath) ||
  HASHED_ASSET.test(filePath) ||
  (MAYBE_FOLDER.test(filePath) && !SOURCE_FOLDER.test(filePath) && !SOURCE_FILE.test(filePath));

const [MARK_CHARS, MARK_LINES] = [2_000, 12]; // from the beginning, in which a mark counts
const COMMENT = /^\s*(?:\/\/|\/\*|\*|#|<!--|;|--)/;
const FILE_IS = "(?:this )?(?:file|code|module) (?:is |was |has been )?";
const GENERATED_MARK = new RegExp(
  [
    "@generated\\b",
    `^\\W*(?:${FILE_IS})?auto(?:matically)?[- ]?generated\\b`,
    `^\\W*(?:${FILE_IS})?generated (?:by|from|using|with)\\b`,
    "\\bgenerated\\b.*\\bdo not (?:edit|modify)\\b",
    "\\bdo not (?:edit|modify)\\b.*\\bgenerated\\b",
  ].join("|"),
  "i",
);

/** Told by a comment in its first lines. */
export const isMarkedGenerated = (sourceText: string): boolean =>
  sourceText
    .slice(0, MARK_CHARS)
    .split("\n", MARK_LINES)
    .some((commentLine) => COMMENT.test(commentLine) && GENERATED_MARK.test(commentLine));
