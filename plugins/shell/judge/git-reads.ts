// What git commands read, and which of them may show more than the files that they name.
import type { GitDoubt } from "zz";
import { ownValue, repositoryTop } from "zz/text";
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
import {
  ask,
  type FileFacts,
  leaveToRules,
  type ReadRuling,
  type Ruling,
  textsOf,
} from "./judge-state.ts";
import { hasOption, type ParsedOptions, parseOptions, split } from "./parse-options.ts";

export function readsOfGit(
  args: readonly Arg[],
  dirs: readonly string[],
  fileFacts: FileFacts,
  repository?: GitDoubt,
): ReadRuling {
  const [options, command, commandArgs] = gitParts(args, ({ text }) => text);
  const globalOptions =
    isSameFolder(options[1]?.text, dirs) && options[0]?.text === "-C" ? options.slice(2) : options;
  const commandName = command?.text;
  if (globalOptions.length === 1 && globalOptions[0]!.text === "--version" && !command)
    return { reads: [] };
  const doubtfulOption = globalOptions.find(({ text }) => !GIT_PLAIN.test(text!));
  if (doubtfulOption)
    return doubted(ask(`git ${doubtfulOption.text!.split("=")[0]} may run or read something else`));
  if (!commandName) return doubted(leaveToRules("git alone"));
  const wordTexts = textsOf(commandArgs);
  const pairReader = ownValue(GIT_READERS, `${commandName} ${wordTexts[0]}`);
  const gitReader = pairReader ?? ownValue(GIT_READERS, commandName);
  if (!gitReader && !GIT_OWN.has(commandName))
    return doubted(ask(`git ${commandName} may be an alias, which runs anything`));
  const runsOthers =
    GIT_RUNS.test(commandName) || (commandName === "rebase" && hasOption(wordTexts, "-x"));
  if (
    runsOthers ||
    hasOption(wordTexts, GIT_ASKS) ||
    wordTexts.some((wordText) => wordText?.startsWith("ext::"))
  )
    return doubted(ask(`git ${commandName} can run other commands or write files this way`));
  if (!gitReader) return doubted(leaveToRules(`git ${commandName} may change something`));
  const parsedOptions = parseOptions(
    pairReader ? commandArgs.slice(1) : commandArgs,
    gitReader.options,
  );
  if (parsedOptions.unknownOption)
    return doubted(leaveToRules(`'${parsedOptions.unknownOption}' may do more than read`));
  const showsUnnamed = showsContent(commandName, parsedOptions);
  const ownDoubt = checkGit(commandName, gitReader, parsedOptions, dirs);
  if (ownDoubt) return doubted(ownDoubt);
  const doubt =
    checkRepository(repository) ?? checkShown(commandName, parsedOptions, showsUnnamed, fileFacts);
  if (doubt) return doubted({ ...doubt, git: true });
  const obeyedKeys =
    repository?.settings?.filter((settingKey) => isObeyed(settingKey, commandName)) ?? [];
  const unheldKey = obeyedKeys.find((settingKey) => !isHeld(settingKey));
  const setting = unheldKey ?? obeyedKeys[0];
  if (setting) {
    const reason = `git would run or read what the repository's own setting '${setting}' names`;
    return doubted({ ...ask(reason), ...(unheldKey && { git: true }) });
  }
  return {
    reads: [
      ...parsedOptions.operands.flatMap(({ text }) => gitPaths(text!)),
      ...(repository?.reads ?? []),
    ],
    showsUnnamed,
  };
}

/** `git -C .`, by whatever name. */
const isSameFolder = (
  folderName: string | undefined,
  [folder, ...otherFolders]: readonly string[],
): boolean =>
  !!folderName &&
  folder !== undefined &&
  !otherFolders.length &&
  realOf(inFolder(folder, folderName)) === realOf(folder);

function checkGit(
  commandName: string,
  { lists, maxOperands }: GitReader,
  parsedOptions: ParsedOptions,
  dirs: readonly string[],
): Ruling | undefined {
  const { operands, values } = parsedOptions;
  const isListing = lists === undefined || split(lists).some((option) => values.has(option));
  if (operands.length > (isListing ? (maxOperands ?? operands.length) : 0))
    return leaveToRules(`git ${commandName} with a name may change something`);
  if (operands.some(({ text }) => /^:[(/!^]|[*?[\\]/.test(text!)))
    return ask("git itself looks for the files that this names");
  const formats = ["--format", "--pretty", "--sort"].flatMap((option) => values.get(option) ?? []);
  if (formats.some((format) => /%G|signature/.test(format)))
    return ask("git checks signatures with another program");
  // Two paths outside of a repository: git then compares their contents.
  if (
    commandName === "diff" &&
    operands.length === 2 &&
    !(parsedOptions.split && repositoryTop(dirs[0] ?? "/"))
  )
    if (operands.some(({ text }) => isFolderIn(text, dirs)))
      return ask("git diff may read every file of a folder");
  return undefined;
}

const doubted = (doubt: Ruling): ReadRuling => ({ doubt, reads: [] });

/** Options that show the contents of files, or search them. */
const PATCHES = `-p -u -c -m -U -W -S -G --patch --unified --cc --binary --patch-with-stat
  --patch-with-raw --word-diff --word-diff-regex --color-words --function-context
  --check`;
/** With one of these and none of PATCHES, a diff only names files and counts lines. */
const COUNT_OPTIONS = `-s --no-patch --raw --stat --numstat --shortstat --dirstat --summary
  --compact-summary --name-only --name-status --quiet`;

/** Whether it shows the contents of files that the command does not name. */
function showsContent(commandName: string, { operands, values }: ParsedOptions): boolean {
  const hasAnyOf = (optionNames: string) => split(optionNames).some((option) => values.has(option));
  if (commandName === "diff") return hasAnyOf(PATCHES) || !hasAnyOf(COUNT_OPTIONS);
  if (/^(show|stash|grep)$/.test(commandName)) return true;
  if (commandName === "status") return hasAnyOf("-v --verbose");
  if (commandName === "cat-file")
    return !hasAnyOf("-t -s -e") && operands.some(({ text }) => !text?.includes(":"));
  return /^(log|reflog|rev-list|shortlog)$/.test(commandName) && hasAnyOf(PATCHES);
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
  commandName: string,
  { operands, values }: ParsedOptions,
  showsUnnamed: boolean,
  { git, needsGit }: FileFacts,
): Ruling | undefined {
  if (!showsUnnamed) return undefined;
  const showsPast =
    operands.length > 0 ||
    commandName !== "diff" ||
    values.has("--cached") ||
    values.has("--staged");
  if (!git) needsGit?.();
  if (!git || git.index) return ask("the repository has files that may hold secrets");
  if (commandName === "grep" && !values.has("--cached") && git.linked)
    return ask("a folder of the repository's files is a link, which git grep follows");
  if (showsPast && git.history)
    return ask("the repository's history holds files that may hold secrets");
  const revisionNames = operands.flatMap(({ text = "" }) =>
    text.split(/\.{2,3}/).map((revision) => revision.replace(/^\^|[~^@:].*$/gs, "")),
  );
  const namedHashes = revisionNames.flatMap(
    (revision) => /^(?:.*-g)?([0-9a-f]{4,64})$/i.exec(revision)?.[1] ?? [],
  );
  const unknownHash = namedHashes.find((hash) => !git.knows(hash));
  return unknownHash === undefined
    ? undefined
    : ask(`'${unknownHash}' may be what was never committed`);
}

/** `HEAD:src/a.ts` names src/a.ts, and so does `HEAD@{12:00}:src/a.ts`. */
const gitPaths = (operandText: string): string[] =>
  operandText.split(":").flatMap((_, i, textParts) => textParts.slice(i).join(":") || []);
