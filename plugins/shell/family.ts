// family: the commands that a person most likely wants to allow along with one, such as `npm run` for `npm run build`.

/** Programs whose second word says what they do. */
const WITH_VERBS = new Set(
  "npm pnpm yarn cargo go git gh docker podman kubectl helm terraform dotnet bundle rails composer poetry pip uv brew apt".split(
    " ",
  ),
);
/** Programs that run or destroy whatever they are given, so only the exact command can be allowed. */
const TOO_WIDE =
  /^(\w*sh|node\w*|deno|bun|python[\d.]*|pypy3?|perl|ruby|php|lua\w*|r|rscript|julia|osascript|tclsh|expect|ts-node|tsx|npx|pnpx|bunx|uvx|pipx|env|sudo|doas|su|ssh|exec|eval|command|builtin|source|xargs|time|nohup|nice|timeout|watch|find|fd|[gmn]?awk|sed|rm|dd|shred|chmod|chown|curl|wget|kill\w*)$/i;
const PLAIN = /^[A-Za-z][\w.:-]*$/;

/** The first words of the command's family; undefined if it has none, or one that is too wide to allow. */
export function familyOf(command: string): string | undefined {
  const [program = "", verb = ""] = command.trim().split(/\s+/);
  if (!PLAIN.test(program) || TOO_WIDE.test(program) || !/\s/.test(command.trim())) return undefined;
  if (!WITH_VERBS.has(program)) return program;
  return PLAIN.test(verb) && !/^(exec|x|dlx)$/.test(verb) ? `${program} ${verb}` : undefined;
}
