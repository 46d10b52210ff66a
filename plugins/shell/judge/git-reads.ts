// What git commands read, and which of them may show more than the files that they name.
import type { GitDoubt } from "zz";
import { repositoryTop } from "zz/text";
import { inFolder, isFolderIn, realOf } from "../resolve-paths.ts";
import type { Arg } from "./bash-words.ts";
import {
  GIT_ASKS,
  GIT_OWN,
  GIT_PLAIN,
  GIT_READERS,
  GIT_RUNS,
  type GitReader,
  gitParts,
  isHeld,
  isObeyed,
} from "./git-commands.ts";
import { ask, type FileFacts, open, type ReadRuling, type Ruling } from "./judge-state.ts";
import { hasOption, type ParsedOptions, parseOptions, split } from "./parse-options.ts";

export function readsOfGit(
  args: readonly Arg[],
  dirs: readonly string[],
  fileFacts: FileFacts,
  repository?: GitDoubt,
): ReadRuling {
  const [options, command, commandArgs] = gitParts(args, ({ text }) => text);
  const before =
    isHere(options[1]?.text, dirs) && options[0]?.text === "-C" ? options.slice(2) : options;
  const name = command?.text;
  if (before.length === 1 && before[0]!.text === "--version" && !command) return { reads: [] };
  const global = before.find(({ text }) => !GIT_PLAIN.test(text!));
  if (global)
    return doubted(ask(`git ${global.text!.split("=")[0]} may run or read something else`));
  if (!name) return doubted(open("git alone"));
  const words = commandArgs.map(({ text }) => text);
  const pair = Object.hasOwn(GIT_READERS, `${name} ${words[0]}`);
  const key = pair ? `${name} ${words[0]}` : name;
  const reader = Object.hasOwn(GIT_READERS, key) ? GIT_READERS[key] : undefined;
  if (!reader && !GIT_OWN.has(name))
    return doubted(ask(`git ${name} may be an alias, which runs anything`));
  const runs = GIT_RUNS.test(name) || (name === "rebase" && hasOption(words, "-x"));
  if (runs || hasOption(words, GIT_ASKS) || words.some((word) => word?.startsWith("ext::")))
    return doubted(ask(`git ${name} can run other commands or write files this way`));
  if (!reader) return doubted(open(`git ${name} may change something`));
  const parsed = parseOptions(pair ? commandArgs.slice(1) : commandArgs, reader.options);
  if (parsed.unknownOption) return doubted(open(`'${parsed.unknownOption}' may do more than read`));
  const showsUnnamed = showsContent(name, parsed);
  const ownDoubt = checkGit(name, reader, parsed, dirs);
  if (ownDoubt) return doubted(ownDoubt);
  const doubt = checkRepository(repository) ?? checkShown(name, parsed, showsUnnamed, fileFacts);
  if (doubt) return doubted({ ...doubt, git: true });
  const obeyed = repository?.settings?.filter((key) => isObeyed(key, name)) ?? [];
  const beyond = obeyed.find((key) => !isHeld(key));
  const setting = beyond ?? obeyed[0];
  if (setting) {
    const reason = `git would run or read what the repository's own setting '${setting}' names`;
    return doubted({ ...ask(reason), ...(beyond && { git: true }) });
  }
  return {
    reads: [
      ...parsed.operands.flatMap(({ text }) => gitPaths(text!)),
      ...(repository?.reads ?? []),
    ],
    showsUnnamed,
  };
}

/** `git -C .`, by whatever name. */
const isHere = (name: string | undefined, [dir, ...others]: readonly string[]): boolean =>
  !!name && dir !== undefined && !others.length && realOf(inFolder(dir, name)) === realOf(dir);

function checkGit(
  name: string,
  { lists, maxOperands }: GitReader,
  parsed: ParsedOptions,
  dirs: readonly string[],
): Ruling | undefined {
  const { operands, values } = parsed;
  const listed = lists === undefined || split(lists).some((option) => values.has(option));
  if (operands.length > (listed ? (maxOperands ?? operands.length) : 0))
    return open(`git ${name} with a name may change something`);
  if (operands.some(({ text }) => /^:[(/!^]|[*?[\\]/.test(text!)))
    return ask("git itself looks for the files that this names");
  const formats = ["--format", "--pretty", "--sort"].flatMap((option) => values.get(option) ?? []);
  if (formats.some((format) => /%G|signature/.test(format)))
    return ask("git checks signatures with another program");
  // Two paths outside of a repository: git then compares their contents.
  if (name === "diff" && operands.length === 2 && !(parsed.split && repositoryTop(dirs[0] ?? "/")))
    if (operands.some(({ text }) => isFolderIn(text, dirs)))
      return ask("git diff may read every file of a folder");
  return undefined;
}

const doubted = (doubt: Ruling): ReadRuling => ({ doubt, reads: [] });

/** Options that show the contents of files, or search them. */
const PATCHES = `-p -u -c -m -U -W -S -G --patch --unified --cc --binary --patch-with-stat --patch-with-raw --word-diff
  --word-diff-regex --color-words --function-context --check`;
/** With one of these and none of PATCHES, a diff only names files and counts lines. */
const COUNTS = `-s --no-patch --raw --stat --numstat --shortstat --dirstat --summary --compact-summary --name-only
  --name-status --quiet`;

/** Whether it shows the contents of files that the command does not name. */
function showsContent(name: string, { operands, values }: ParsedOptions): boolean {
  const has = (names: string) => split(names).some((option) => values.has(option));
  if (name === "diff") return has(PATCHES) || !has(COUNTS);
  if (/^(show|stash|grep)$/.test(name)) return true;
  if (name === "status") return has("-v --verbose");
  if (name === "cat-file")
    return !has("-t -s -e") && operands.some(({ text }) => !text?.includes(":"));
  return /^(log|reflog|rev-list|shortlog)$/.test(name) && has(PATCHES);
}

function checkRepository(repository: GitDoubt | undefined): Ruling | undefined {
  if (!repository) return ask("git was not asked what the repository would make it run");
  return repository.why ? ask(repository.why) : undefined;
}

/**
 * Doubts a command that shows contents if git holds secrets, since it can show everything that was
 * ever committed.
 */
function checkShown(
  name: string,
  { operands, values }: ParsedOptions,
  showsUnnamed: boolean,
  { git, needsGit }: FileFacts,
): Ruling | undefined {
  if (!showsUnnamed) return undefined;
  const past =
    operands.length > 0 || name !== "diff" || values.has("--cached") || values.has("--staged");
  if (!git) needsGit?.();
  if (!git || git.index) return ask("the repository has files that may hold secrets");
  if (name === "grep" && !values.has("--cached") && git.linked)
    return ask("a folder of the repository's files is a link, which git grep follows");
  if (past && git.history) return ask("the repository's history holds files that may hold secrets");
  const names = operands.flatMap(({ text = "" }) =>
    text.split(/\.{2,3}/).map((revision) => revision.replace(/^\^|[~^@:].*$/gs, "")),
  );
  const hashes = names.flatMap(
    (revision) => /^(?:.*-g)?([0-9a-f]{4,64})$/i.exec(revision)?.[1] ?? [],
  );
  const unseen = hashes.find((hash) => !git.knows(hash));
  return unseen === undefined ? undefined : ask(`'${unseen}' may be what was never committed`);
}

/** `HEAD:src/a.ts` names src/a.ts, and so does `HEAD@{12:00}:src/a.ts`. */
const gitPaths = (text: string): string[] =>
  text.split(":").flatMap((_, i, parts) => parts.slice(i).join(":") || []);
