// git's commands that change the repository or reach another machine: they fail on a copy, where
// .git is read-only.
import { ownValue } from "zz/text";
import { gitParts } from "./git-commands.ts";
import { hasOption, split, type Words } from "./parse-options.ts";

const CHANGES = new Set(
  split(`add am bisect checkout cherry-pick clone commit commit-graph commit-tree fast-import fetch
    filter-branch gc init lfs ls-remote maintenance merge mv notes pack-objects pack-refs prune
    prune-packed pull push read-tree rebase remote-update repack replace rerere reset restore revert
    rm send-email sparse-checkout stash submodule switch svn update-index update-ref worktree
    write-tree`),
);
/** Commands that only read if one of these words follows. */
const READING_VERBS: Record<string, RegExp> = {
  stash: /^(list|show)$/,
  worktree: /^list$/,
  submodule: /^(status|summary)$/,
  notes: /^(list|show)$/,
  bisect: /^(log|view|visualize)$/,
  remote: /^(show|get-url)$/,
  reflog: /^(show|exists)$/,
  rerere: /^(status|diff|remaining)$/,
  "sparse-checkout": /^list$/,
};
/** Commands that list, but create or change something if they are given a name. */
const LISTING_OPTIONS: Record<string, string> = {
  branch:
    "-l -a -r -v -vv --list --all --remotes --contains --no-contains --merged " +
    "--no-merged --points-at --show-current",
  tag: "-l -n --list --contains --no-contains --merged --no-merged --points-at",
  "symbolic-ref": "",
  config: "--get --get-all --get-regexp --get-urlmatch --get-color -l --list",
};
const REMOVES =
  "-d -D -m -M -c -C -u -f --delete --move --copy --set-upstream-to " +
  "--unset-upstream --edit-description --unset";

/**
 * False for an alias or an unknown command: it is tried on the copy, and asked about if it fails
 * there.
 */
export function changesRepository(gitWords: Words): boolean {
  const [, commandName, args] = gitParts(gitWords, (word) => word);
  if (commandName === undefined) return false;
  const operands = args.filter((argument) => argument === undefined || !argument.startsWith("-"));
  const [firstOperand = ""] = operands;
  const readingVerbs = ownValue(READING_VERBS, commandName);
  if (readingVerbs)
    return (
      !readingVerbs.test(firstOperand) &&
      (CHANGES.has(commandName) ||
        firstOperand !== "" ||
        (commandName === "remote" && args.includes("update")))
    );
  const listingOptions = ownValue(LISTING_OPTIONS, commandName);
  if (listingOptions !== undefined) {
    if (hasOption(args, REMOVES)) return true;
    if (commandName === "config" && /^(get|list)$/.test(firstOperand)) return false;
    const isListing = args.some((argument) =>
      split(listingOptions).includes(argument?.split("=")[0] ?? ""),
    );
    return (
      !isListing &&
      operands.length > (commandName === "config" || commandName === "symbolic-ref" ? 1 : 0)
    );
  }
  return CHANGES.has(commandName);
}
