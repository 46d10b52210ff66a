// Commands that only read: their options, and which files they read.
import type { GitDoubt } from "zz";
import { ownValue } from "zz/text";
import { isFolderIn } from "../resolve-paths.ts";
import { type Arg, ASSIGNMENT } from "./bash-words.ts";
import { readsOfGit } from "./git-reads.ts";
import { checkGrep, checkRg, isRecursive } from "./judge-searches.ts";
import {
  ask,
  type FileFacts,
  leaveToRules,
  type ReadRuling,
  type Ruling,
  textsOf,
} from "./judge-state.ts";
import { hasOption, type ParsedOptions, parseOptions, type Words } from "./parse-options.ts";
import { isPrintingAwk, isPrintingSed } from "./printing-scripts.ts";
import { SHELLS, WRAPPERS } from "./program-table.ts";

interface ReaderRules {
  options?: string; // in the format of parse-options.ts; absent: everything after the name is text
  asks?: string; // options that run, write or wait: no rule of the gate may allow it
  otherwise?: string; // why it asks with any other option
  searches?: string; // options with which it reads files that the line does not name
  // options with which it follows links that the line does not name, and so may leave the project
  follows?: string;
  operands?: "text"; // its operands are texts, not files
  early?: true; // nothing after its first operand is an option
  pattern?: true; // the first operand is a pattern or a program, unless an option gave it
  check?(
    parsedOptions: ParsedOptions,
    dirs: readonly string[],
    fileFacts: FileFacts,
  ): Ruling | undefined;
}

/** Whether zz knows the program as one that may run unasked, or run such programs. */
export const isKnown = (programName: string): boolean =>
  /^(git|find|test|\[)$/.test(programName) ||
  SHELLS.has(programName) ||
  Object.hasOwn(READERS, programName) ||
  Object.hasOwn(WRAPPERS, programName);

/** Programs that tell their version before they look at anything else. */
const TELLS_VERSION =
  /^(node|python|python3|perl|ruby|gcc|g\+\+|clang|make|cmake|bash|curl|tar|sqlite3)$/;

/** What a command reads, if it may only read; undefined for any other. */
export function readsOf(
  programName: string,
  args: readonly Arg[],
  dirs: readonly string[],
  fileFacts: FileFacts = {},
  repository?: GitDoubt,
): ReadRuling | undefined {
  const wordTexts = textsOf(args);
  if (programName === "test" || programName === "[") return readsOfTest(programName, wordTexts);
  if (TELLS_VERSION.test(programName) && wordTexts.length === 1 && wordTexts[0] === "--version")
    return { reads: [] };
  if (programName === "git") return readsOfGit(args, dirs, fileFacts, repository);
  const readerRules = ownValue(READERS, programName);
  return readerRules && readsByRules(programName, readerRules, args, dirs, fileFacts);
}

function readsByRules(
  programName: string,
  readerRules: ReaderRules,
  args: readonly Arg[],
  dirs: readonly string[],
  fileFacts: FileFacts,
): ReadRuling {
  const { options, operands, early, pattern, otherwise, check } = readerRules;
  const wordTexts = textsOf(args);
  const hasAnyOf = (optionNames = "") => hasOption(wordTexts, optionNames);
  if (hasAnyOf(readerRules.follows))
    return {
      doubt: ask(`with such an option ${programName} follows links, also out of the project`),
      reads: [],
    };
  const parsedOptions: ParsedOptions =
    options === undefined
      ? { operands: [...args], values: new Map(), files: [] }
      : parseOptions(args, options, early);
  if (parsedOptions.unknownOption) {
    const { unknownOption: option } = parsedOptions;
    const searches = `with '${option}' ${programName} reads files that the line does not name`;
    const reason =
      otherwise ??
      (hasAnyOf(readerRules.searches) ? searches : `'${option}' may do more than read`);
    return {
      doubt: otherwise || hasAnyOf(readerRules.asks) ? ask(reason) : leaveToRules(reason),
      reads: [],
    };
  }
  const isGiven = ["-e", "--regexp", "--expression"].some(
    (option) => parsedOptions.values.get(option)?.length,
  );
  const hasPattern =
    pattern &&
    !isGiven &&
    !["--files", "--type-list"].some((option) => parsedOptions.values.has(option));
  const namedOperands = hasPattern ? parsedOptions.operands.slice(1) : parsedOptions.operands;
  const fileOperands = operands === "text" ? [] : namedOperands;
  const doubt = check?.(parsedOptions, dirs, fileFacts);
  // A search looks through folders; a named file is judged by its name.
  const isSearch = check === checkRg || (check === checkGrep && isRecursive(parsedOptions));
  const showsUnnamed =
    isSearch && !(fileOperands.length && fileOperands.every(({ text }) => !isFolderIn(text, dirs)));
  return {
    ...(doubt && { doubt }),
    showsUnnamed,
    reads: [...parsedOptions.files, ...fileOperands.map(({ text }) => text ?? "")],
  };
}

/** `test -v 'a[$(x)]'` runs x. */
function readsOfTest(programName: string, words: Words): ReadRuling {
  if (programName === "[" && words.at(-1) !== "]")
    return { doubt: ask("its ] is missing"), reads: [] };
  if (words.some((testWord) => testWord === "-v" || testWord === "-R"))
    return { doubt: ask("test -v may run what it is given"), reads: [] };
  const innerWords = programName === "[" ? words.slice(0, -1) : words;
  return {
    reads: innerWords.filter(
      (innerWord): innerWord is string =>
        Boolean(innerWord) && !/^(-.*|[=!<>()]|==|!=)$/s.test(innerWord!),
    ),
  };
}

// ── The table ────────────────────────────────────────────────────────────────────────────────────

const TEXT_ONLY: ReaderRules = { operands: "text" };
const HEAD_OPTIONS =
  "-# -n: -c: -qvz --lines= --bytes= --quiet --silent --verbose --zero-terminated";
const GREP_RULES: ReaderRules = {
  options: `-# -nivclLowxEFGPqshHbaIUzZTr -A: -B: -C: -m: -e: --regexp= --extended-regexp
    --fixed-strings --basic-regexp --perl-regexp --ignore-case --no-ignore-case --word-regexp
    --line-regexp --no-messages --invert-match --max-count= --byte-offset --line-number
    --line-buffered --with-filename --no-filename --label= --only-matching --quiet --silent --text
    --binary-files= --files-without-match --files-with-matches --count --initial-tab --null
    --null-data --before-context= --after-context= --context= --color? --colour? --include=
    --exclude= --exclude-dir= --recursive`,
  asks: "-d -D -f --directories --devices --file --exclude-from",
  searches: "-r -R -d --recursive --dereference-recursive --directories",
  follows: "-R --dereference-recursive",
  pattern: true,
  check: checkGrep,
};
const AWK_RULES: ReaderRules = {
  options: "-F: -v:",
  early: true,
  pattern: true,
  check: ({ operands: [program, ...awkFiles] }) =>
    isPrintingAwk(program?.text ?? "@") &&
    !awkFiles.some(({ text = "" }) => ASSIGNMENT.test(text) || /^-./.test(text))
      ? undefined
      : ask("awk runs what it is given"),
};

const SED_REASON =
  "sed can write and run; only scripts that print lines, " +
  "or replace text in them, run without a question";

const READERS: Record<string, ReaderRules> = {
  echo: TEXT_ONLY,
  true: TEXT_ONLY,
  false: TEXT_ONLY,
  ":": TEXT_ONLY,
  sleep: TEXT_ONLY,
  printf: {
    operands: "text",
    check: ({ operands: [firstWord, secondWord] }) =>
      /^-(?!-$)|%[^%A-Za-z]*[hlLjzt]*n/s.test(
        (firstWord?.text === "--" ? secondWord : firstWord)?.text ?? "",
      )
        ? ask("printf -v and %n set a variable")
        : undefined,
  },
  pwd: { options: "-LP", operands: "text" },
  whoami: { options: "", operands: "text" },
  uname: { options: "-asnrvmpio --all --machine --kernel-name --kernel-release", operands: "text" },
  id: { options: "-aguGnrz --user --group --groups --name --real --zero", operands: "text" },
  seq: { options: "-w -s: -f: --equal-width --separator= --format=", operands: "text" },
  basename: { options: "-az -s: --multiple --zero --suffix=", operands: "text" },
  dirname: { options: "-z --zero", operands: "text" },
  which: { options: "-as --all", operands: "text" },
  type: { options: "-afptP", operands: "text" },
  // command -v; without these options it is unwrapped
  command: { options: "-pvV", operands: "text" },
  tr: {
    options: "-cCdst --complement --delete --squeeze-repeats --truncate-set1",
    operands: "text",
  },
  date: {
    options:
      "-uR -d: -I? -r@ --date= --reference@ --iso-8601? --rfc-3339= --rfc-email --utc --universal",
    operands: "text",
    asks: "-s -f --set --file",
    check: ({ operands }) =>
      operands.every(({ text }) => text?.startsWith("+"))
        ? undefined
        : ask("date may set the clock"),
  },
  ls: {
    options: `-aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ1 -I: -T: -w: --all --almost-all --author --escape
      --block-size= --ignore-backups --color? --directory --classify? --file-type --format=
      --full-time --group-directories-first --no-group --human-readable --si --hide= --hyperlink?
      --indicator-style= --inode --ignore= --literal --numeric-uid-gid --hide-control-chars
      --show-control-chars --quote-name --quoting-style= --reverse --recursive --size --sort=
      --time= --time-style= --width= --context --zero`,
    follows:
      "-L -H --dereference --dereference-command-line --dereference-command-line-symlink-to-dir",
  },
  cat: {
    options: `-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank
      --show-tabs --show-nonprinting`,
  },
  head: { options: HEAD_OPTIONS },
  tail: { options: HEAD_OPTIONS, asks: "-f -F --follow --retry --pid" },
  wc: {
    options: "-cmlLw --bytes --chars --lines --words --max-line-length --total=",
    asks: "--files0-from",
  },
  nl: { options: "-b: -d: -f: -h: -i: -l: -n: -s: -v: -w: -p" },
  cut: {
    options: `-b: -c: -d: -f: -nsz --bytes= --characters= --delimiter= --fields= --only-delimited
      --complement --output-delimiter= --zero-terminated`,
  },
  cmp: {
    options: "-bls -i: -n: --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent",
  },
  diff: {
    options: `-abBcdeEinpqstTuwyZ -C: -U: -W: -I: --normal --brief --report-identical-files
      --context? --unified? --ed --side-by-side --width= --left-column --suppress-common-lines
      --show-c-function --show-function-line= --label= --ignore-case --ignore-all-space
      --ignore-space-change --ignore-blank-lines --ignore-trailing-space --text --strip-trailing-cr
      --minimal --speed-large-files --color? --expand-tabs --initial-tab
      --ignore-matching-lines=`,
    searches: "-r --recursive",
    asks: "-r -l -N -x -X --recursive --paginate --from-file --to-file --exclude-from --new-file",
    check: ({ operands }, dirs) =>
      operands.some(({ text }) => isFolderIn(text, dirs))
        ? ask("diff reads every file of a folder")
        : undefined,
  },
  du: {
    options: `-0abchkmsSx -d: -B: -t: --all --apparent-size --block-size= --bytes --total
      --human-readable --si --max-depth= --summarize --separate-dirs --one-file-system --threshold=
      --time? --exclude= --null`,
    asks: "-X --exclude-from --files0-from",
    follows: "-L -D -H --dereference --dereference-args",
  },
  df: {
    options: `-ahHiklmPT -B: -t: -x: --all --human-readable --si --inodes --local --portability
      --print-type --total --type= --exclude-type= --block-size= --output?`,
  },
  stat: { options: "-Lftx -c: --dereference --file-system --format= --printf= --terse" },
  file: {
    options: `-bhiIkLnNr0 -e: -F: --brief --mime --mime-type --mime-encoding --dereference
      --no-dereference --keep-going`,
    asks: "-C -m -f -z -Z -S --compile --magic-file --files-from --uncompress --no-sandbox",
  },
  realpath: {
    options: `-emsqzLP --canonicalize-existing --canonicalize-missing --no-symlinks --strip
      --quiet --zero --logical --physical --relative-to= --relative-base=`,
  },
  readlink: {
    options:
      "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --zero",
  },
  sort: {
    options: `-bcCdfghiMmnRrsuVz -k: -t: -S: --ignore-leading-blanks --dictionary-order
      --ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting --month-sort
      --numeric-sort --random-sort --reverse --sort= --version-sort --check? --key= --merge --stable
      --field-separator= --unique --zero-terminated --parallel= --buffer-size=`,
    asks: "-o -T --output --temporary-directory --compress-program --files0-from --random-source",
  },
  uniq: {
    options: `-# -cdDiuz -f: -s: -w: --count --repeated --all-repeated? --skip-fields= --group?
      --ignore-case --skip-chars= --unique --zero-terminated --check-chars=`,
    check: ({ operands }) =>
      operands.length > 1
        ? leaveToRules("uniq writes to its second file", [operands[1]!.text ?? ""])
        : undefined,
  },
  grep: GREP_RULES,
  egrep: GREP_RULES,
  fgrep: GREP_RULES,
  awk: AWK_RULES,
  gawk: AWK_RULES,
  mawk: AWK_RULES,
  nawk: AWK_RULES,
  sed: {
    options:
      "-nErsuz -e: --expression= --quiet --silent --regexp-extended " +
      "--separate --unbuffered --null-data",
    otherwise: SED_REASON,
    early: true,
    pattern: true,
    check: ({ operands, values }) => {
      const scripts = [...(values.get("-e") ?? []), ...(values.get("--expression") ?? [])];
      const operandTexts = operands.map(({ text = "" }) => text);
      const isPrinting = (scripts.length ? scripts : [operandTexts[0] ?? "{"]).every(isPrintingSed);
      // Whether an option after an operand is one differs between programs, and so what the script
      // is.
      return isPrinting && !operandTexts.some((operandText) => /^-./.test(operandText))
        ? undefined
        : ask(SED_REASON);
    },
  },
  tree: {
    options: `-adfipshDugFqNQtcUrvCnASJXx -L: -I: -P: --noreport --dirsfirst --filesfirst --prune
      --du --si --inodes --device --charset= --filelimit= --sort= --timefmt= --matchdirs
      --ignore-case --gitignore --nolinks`,
    follows: "-l",
    asks: "-o -R -H --output --fromfile --gitfile --infofile --info",
  },
  jq: {
    options: `-rcnseSjaMCR --raw-output --raw-output0 --compact-output --null-input --slurp
      --exit-status --sort-keys --join-output --ascii-output --monochrome-output --color-output
      --raw-input --tab --seq --indent=`,
    asks: "-f -L --from-file --slurpfile --rawfile --library-path",
    pattern: true,
    check: ({ operands: [filter] }) =>
      /env|\$__|import|include|modulemeta|input_filename|get_search_list|debug|stderr/i.test(
        filter?.text ?? "env",
      )
        ? ask("the filter may read more than its files")
        : undefined,
  },
  rg: {
    options: `-nNilcwvFoqsSxUPHIaph0 -e: -A: -B: -C: -g: -t: -T: -m: -M: -d: -r: -j: --regexp=
      --glob= --type= --type-not= --ignore-case --smart-case --case-sensitive --invert-match
      --word-regexp --line-regexp --fixed-strings --files-with-matches --files-without-match --files
      --count --count-matches --only-matching --line-number --no-line-number --column --no-column
      --heading --no-heading --color= --context= --after-context= --before-context= --max-count=
      --max-depth= --max-columns= --max-columns-preview --multiline --multiline-dotall --pcre2
      --quiet --replace= --sort= --sortr= --stats --trim --vimgrep --with-filename --no-filename
      --null --json --passthru --text --crlf --threads= --no-config --no-messages --pretty
      --type-list --version --one-file-system`,
    asks: `-z -u -. -f --pre --pre-glob --search-zip --hidden --unrestricted --no-ignore
      --no-ignore-vcs --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global
      --no-ignore-parent --file --ignore-file --type-add --hostname-bin --hyperlink-format --iglob
      --debug --trace`,
    searches:
      "-z -u -. -L --search-zip --hidden --unrestricted --no-ignore --no-ignore-vcs --follow",
    follows: "-L --follow",
    pattern: true,
    check: checkRg,
  },
};
