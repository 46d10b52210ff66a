// git's commands: which of them only read, with which options, and which may change something.
import { split } from "./parse-options.ts";

const GIT_DIFF = `-pusaRwbWz -U: -M? -C? -B? -S: -G: --patch --no-patch --unified= --raw
  --patch-with-raw --minimal --patience --histogram --diff-algorithm= --stat? --numstat --shortstat
  --dirstat? --summary --patch-with-stat --compact-summary --name-only --name-status --color?
  --no-color --color-moved? --color-words? --word-diff? --word-diff-regex= --no-renames
  --find-renames? --find-copies? --check --full-index --binary --abbrev? --no-abbrev --diff-filter=
  --pickaxe-all --pickaxe-regex --relative? --no-relative --text --ignore-cr-at-eol
  --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines
  --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv
  --ignore-submodules? --src-prefix= --dst-prefix= --no-prefix --indent-heuristic --cached --staged
  --merge-base`;
const GIT_LOG = `${GIT_DIFF} -# -n: -iEFPgmcq --max-count= --skip= --since= --after= --until=
  --before= --author= --committer= --grep= --all-match --invert-grep --regexp-ignore-case
  --extended-regexp --fixed-strings --perl-regexp --merges --no-merges --first-parent --all
  --branches? --tags? --remotes? --exclude= --reflog --walk-reflogs --cherry-pick --cherry-mark
  --cherry --left-only --right-only --left-right --graph --no-graph --oneline --pretty? --format=
  --abbrev-commit --no-abbrev-commit --decorate? --no-decorate --decorate-refs= --date=
  --relative-date --parents --children --reverse --topo-order --date-order --author-date-order
  --follow --full-history --dense --sparse --simplify-merges --simplify-by-decoration
  --ancestry-path? --boundary --count --no-walk --source --cc --root --notes? --no-notes
  --use-mailmap --mailmap --no-mailmap --full-diff --log-size --show-pulls`;

export interface GitReader {
  options: string;
  lists?: string; // with operands it creates something, unless one of these options is given
  maxOperands?: number; // the most operands that it takes
}

export const GIT_READERS: Record<string, GitReader> = {
  status: {
    options: `-sbvz -u? -M? --short --branch --show-stash --porcelain? --long --verbose
      --untracked-files? --ignore-submodules? --ignored? --column? --no-column --ahead-behind
      --no-ahead-behind --renames --no-renames --find-renames?`,
  },
  diff: { options: GIT_DIFF },
  log: { options: GIT_LOG },
  show: { options: GIT_LOG },
  shortlog: { options: `${GIT_LOG} -sne --summary --numbered --email --group=` },
  "rev-list": { options: GIT_LOG },
  "rev-parse": {
    options: `-q --show-toplevel --abbrev-ref? --short? --verify --quiet --git-dir
      --absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir
      --is-bare-repository --show-prefix --show-cdup --symbolic-full-name --symbolic --all
      --branches? --tags? --remotes? --show-superproject-working-tree --revs-only
      --no-revs`,
  },
  blame: {
    options: `-ltsefnpwb -L: -M? -C? --date= --porcelain --line-porcelain --incremental --root
      --show-stats --since= --abbrev= --show-name --show-number --show-email --color-lines
      --color-by-age`,
  },
  "ls-files": {
    options: `-cdmoisuztvf -x: --cached --deleted --modified --others --ignored --stage --directory
      --unmerged --killed --exclude= --exclude-standard --error-unmatch --full-name --abbrev?
      --deduplicate --eol --no-empty-directory`,
  },
  "ls-tree": {
    options:
      "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev?",
  },
  grep: {
    options: `-niwvhHEGPFclLoqpWaIz -A: -B: -C: -e: -m: --line-number --column --ignore-case
      --word-regexp --invert-match --extended-regexp --basic-regexp --perl-regexp --fixed-strings
      --count --files-with-matches --name-only --files-without-match --only-matching --quiet
      --show-function --function-context --text --null --after-context= --before-context= --context=
      --max-count= --max-depth= --color? --no-color --break --heading --cached --full-name
      --all-match`,
  },
  "cat-file": { options: "-tsep" },
  "merge-base": { options: "-a --all --octopus --is-ancestor --independent --fork-point" },
  describe: {
    options: `--all --tags --contains --abbrev= --candidates= --exact-match --long --match=
      --exclude= --always --first-parent --dirty? --broken?`,
  },
  "show-ref": {
    options: "-qds --head --heads --tags --verify --quiet --dereference --hash? --abbrev?",
  },
  "for-each-ref": {
    options:
      "--count= --sort= --format= --points-at= --merged? --no-merged? --contains? --ignore-case",
  },
  "count-objects": { options: "-vH --verbose --human-readable" },
  branch: {
    options: `-arvi --show-current --list --all --remotes --verbose --no-abbrev --abbrev= --merged?
      --no-merged? --contains? --no-contains? --points-at= --sort= --format= --column? --no-column
      --color? --no-color --ignore-case`,
    lists: "--list --merged --no-merged --contains --no-contains",
  },
  tag: {
    options: `-l -n? -i --list --sort= --format= --merged? --no-merged? --contains? --no-contains?
      --points-at= --column? --no-column --color? --ignore-case`,
    lists: "-l --list --merged --no-merged --contains --no-contains",
  },
  remote: { options: "-v --verbose", maxOperands: 0 },
  reflog: { options: GIT_LOG, maxOperands: 0 },
  "remote get-url": { options: "--push --all" },
  "reflog show": { options: GIT_LOG },
  "stash list": { options: GIT_LOG },
  "stash show": { options: GIT_DIFF },
  "worktree list": { options: "-vz --verbose --porcelain" },
};

/**
 * git's own commands that may change something. A name that is neither here nor above may be an
 * alias, which can run anything.
 */
export const GIT_OWN = new Set(
  split(`add am apply archive bisect branch bundle checkout cherry cherry-pick clean clone commit
    commit-graph commit-tree diff-files diff-index diff-tree difftool fetch filter-branch
    format-patch fsck gc grep hash-object index-pack init interpret-trailers ls-remote maintenance
    merge merge-file merge-tree mktree mv name-rev notes pack-objects pack-refs prune prune-packed
    pull push range-diff read-tree rebase reflog remote repack replace request-pull rerere reset
    restore revert rm sparse-checkout stash submodule switch symbolic-ref tag update-index
    update-ref var verify-commit verify-tag version worktree write-tree check-ignore check-attr
    check-ref-format whatchanged`),
);
/** Commands of git that run other commands. */
export const GIT_RUNS = /^(bisect|submodule|filter-branch|difftool)$/;
/** Options with which any git command can run others, or write files. */
export const GIT_ASKS = `--exec --upload-pack --receive-pack --ext-diff --textconv
  --open-files-in-pager --output --no-index --config --config-env --template --show-signature
  --exec-path -O`;
/**
 * Settings of a repository that a command which looks obeys only if its name fits; all others count
 * for every command. Nothing is fetched or edited by one, it has no terminal for a pager, and zz
 * switches the watcher of files off.
 */
const OBEYED_BY: [keys: RegExp, commands: RegExp][] = [
  [/^core\.(hookspath|editor|pager|sshcommand|askpass|gitproxy|fsmonitor)$/, /^$/],
  [/^(alias|pager|credential|sequence|rebase|merge|mergetool|difftool)\./, /^$/],
  [/^(sendemail|ssh|http|remote|protocol|commit|pull|push|fetch|receive)\./, /^$/],
  [/^(uploadpack|transfer|tar|am|gc|init|interactive|browser|web|man|help)\./, /^$/],
  [/^diff\.(gui)?tool$|^submodule\..*\.update$/, /^$/],
  [/^(filter|lfs)\./, /^(status|diff|blame|ls-files|describe|stash|grep)$/],
  [
    /^(diff\.external|diff\..*\.(command|(cache)?textconv)|gpg\..*)$/,
    /^(diff|log|show|shortlog|rev-list|blame|grep|reflog|stash|status)$/,
  ],
  [/^blame\./, /^blame$/],
];
export const isObeyed = (settingKey: string, command: string): boolean =>
  OBEYED_BY.find(([keys]) => keys.test(settingKey))?.[1].test(command) ?? true;
/**
 * Whether it is known what a setting makes git do: a copy holds that, with no network, and .git to
 * read alone.
 */
export const isHeld = (settingKey: string): boolean =>
  OBEYED_BY.some(([keys]) => keys.test(settingKey));
/** Options before the command that take a value. */
const GIT_TAKES =
  /^(-C|-c|--git-dir|--work-tree|--namespace|--super-prefix|--config-env|--attr-source)$/;
/** Options before the command that do not change what it reads. */
export const GIT_PLAIN = /^(--no-pager|-P|--no-optional-locks|--literal-pathspecs)$/;

/** Splits the words into the options before git's command, the command, and the rest. */
export function gitParts<T>(
  gitWords: readonly T[],
  textOf: (word: T) => string | undefined,
): [T[], T | undefined, T[]] {
  let i = 0;
  while (i < gitWords.length && textOf(gitWords[i]!)?.startsWith("-"))
    i += GIT_TAKES.test(textOf(gitWords[i]!)!) ? 2 : 1;
  return [gitWords.slice(0, i), gitWords[i], gitWords.slice(i + 1)];
}
