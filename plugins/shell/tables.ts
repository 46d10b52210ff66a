// What zz knows of commands: which only read and by which options, which are denied, which start others.
import fs from "node:fs";
import path from "node:path";
import { ownPrograms, tracksSecret } from "./hostile.ts";
import { type Arg, inFolder } from "./words.ts";

export type Words = (string | undefined)[];
/** Why a command may not just run; nothing said is "allow". */
export interface Doubt {
  verdict: "open" | "ask";
  why: string;
  writes?: string[];
}
export interface Parsed {
  operands: Arg[];
  values: Map<string, string[]>; // what each option was given; an empty list for a switch
  files: string[]; // what options name to be read
  split?: true; // a -- stands between its operands
  bad?: string; // an option that the table does not hold
}
/** `-ab` switches, `-n:` takes a value, `-n?` may have one attached, `-#` a number; `@` for `:` is a file that is read. */
interface Reader {
  options?: string; // absent: whatever follows is text
  asks?: string; // what runs, writes or waits: no rule of the kernel may allow it
  operands?: "text"; // they name no files
  pattern?: true; // the first operand is none, unless an option gave it
  check?(parsed: Parsed, dirs: readonly string[]): Doubt | undefined;
}
/** A command that runs another. */
export interface Wrapper {
  options: string;
  skip?: number; // its own operands before the command
  sets?: true; // VAR=value may stand before the command
  adds?: true; // arguments come from elsewhere
  script?: string; // the option that holds a line for a shell
  late?: true; // that option may follow operands
  joins?: true; // its operands are such a line
  wipes?: string; // options that change where the command is looked for
  asks?: string; // why it asks, whatever it runs
  stays?: true; // it runs in this shell: a cd counts
}

const open = (why: string, writes?: string[]): Doubt => ({ verdict: "open", why, ...(writes && { writes }) });
const ask = (why: string): Doubt => ({ verdict: "ask", why });
const split = (text: string): string[] => text.split(/\s+/).filter(Boolean);

// ── Options ────────────────────────────────────────────────────────────────────────────────────────────

type Takes = "nothing" | "value" | "maybe" | "file";
const TAKES: Record<string, Takes> = { ":": "value", "=": "value", "?": "maybe", "@": "file" };

function optionsOf(spec: string): Map<string, Takes> {
  const all = new Map<string, Takes>();
  for (const one of split(spec)) {
    const takes = TAKES[one.at(-1)!];
    const name = takes ? one.slice(0, -1) : one;
    if (takes || name.startsWith("--")) all.set(name, takes ?? "nothing");
    else for (const letter of name.slice(1)) all.set(`-${letter}`, "nothing");
  }
  return all;
}

/** `early`: the first operand ends the options, as it does for a command that runs another. */
export function parse(args: readonly Arg[], spec: string, early = false): Parsed {
  const options = optionsOf(spec);
  const parsed: Parsed = { operands: [], values: new Map(), files: [] };
  const bad = (why: string): Parsed => ({ ...parsed, bad: why });
  for (let i = 0; i < args.length; i++) {
    const { text, shown } = args[i]!;
    if (text === undefined && early && !parsed.operands.length) return bad(shown);
    if (text === undefined || !/^-./s.test(text)) {
      if (early) return { ...parsed, operands: args.slice(i) };
      parsed.operands.push(args[i]!);
      continue;
    }
    if (text === "--") {
      if (parsed.operands.length) parsed.split = true;
      return { ...parsed, operands: [...parsed.operands, ...args.slice(i + 1)] };
    }
    if (/^-\d+$/.test(text) && options.has("-#")) continue;
    for (const [name, attached] of namesOf(text, options)) {
      const takes = options.get(name);
      if (!takes || (takes === "nothing" && attached !== undefined)) return bad(name);
      const given = parsed.values.get(name) ?? [];
      parsed.values.set(name, given);
      const needs = takes === "value" || takes === "file";
      const value = needs ? (attached ?? args[++i]?.text) : attached;
      if (value === undefined && needs) return bad(name);
      if (value !== undefined) given.push(value);
      if (value !== undefined && takes === "file") parsed.files.push(value);
    }
  }
  return parsed;
}

/** `-abn5` is a, b, and n with 5. */
function namesOf(text: string, options: Map<string, Takes>): [name: string, attached: string | undefined][] {
  if (text.startsWith("--")) {
    const at = text.indexOf("=");
    return [at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]];
  }
  const names: [string, string | undefined][] = [];
  for (let i = 1; i < text.length; i++) {
    const takes = options.get(`-${text[i]}`);
    const rest = text.slice(i + 1);
    if (takes && takes !== "nothing") return [...names, [`-${text[i]}`, rest || undefined]];
    names.push([`-${text[i]}`, undefined]);
  }
  return names;
}

/** Whether one of these options is there, shortened or among others; better too often than too seldom. */
export function holds(words: Words, names: string): boolean {
  const all = split(names);
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).some((word) => {
    const name = word?.split("=")[0];
    if (!name || !/^-./.test(name)) return false;
    if (name.startsWith("--")) return all.some((one) => one.startsWith(name));
    return all.some((one) => one.length === 2 && name.includes(one[1]!, 1));
  });
}

// ── Commands that only read ────────────────────────────────────────────────────────────────────────────

const TEXT: Reader = { operands: "text" };
const HEAD = "-# -n: -c: -qvz --lines= --bytes= --quiet --silent --verbose --zero-terminated";
const GREP: Reader = {
  options: `-# -nivclLowxEFGPqshHbaIUzZT -A: -B: -C: -m: -e: --regexp= --extended-regexp --fixed-strings --basic-regexp
    --perl-regexp --ignore-case --no-ignore-case --word-regexp --line-regexp --no-messages --invert-match --max-count=
    --byte-offset --line-number --line-buffered --with-filename --no-filename --label= --only-matching --quiet --silent
    --text --binary-files= --files-without-match --files-with-matches --count --initial-tab --null --null-data
    --before-context= --after-context= --context= --color? --colour? --include= --exclude= --exclude-dir=`,
  asks: `-r -R -d -D -f --recursive --dereference-recursive --directories --devices --file --exclude-from`,
  pattern: true,
};

const READERS: Record<string, Reader> = {
  echo: TEXT,
  true: TEXT,
  false: TEXT,
  ":": TEXT,
  sleep: TEXT,
  printf: {
    operands: "text",
    check: ({ operands: [first, second] }) =>
      /^-(?!-$)|%[^%A-Za-z]*[hlLjzt]*n/s.test((first?.text === "--" ? second : first)?.text ?? "")
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
  command: { options: "-pvV", operands: "text" }, // command -v; any other is unwrapped
  tr: { options: "-cCdst --complement --delete --squeeze-repeats --truncate-set1", operands: "text" },
  date: {
    options: "-uR -d: -I? -r@ --date= --reference@ --iso-8601? --rfc-3339= --rfc-email --utc --universal",
    operands: "text",
    asks: "-s -f --set --file",
    check: ({ operands }) =>
      operands.every(({ text }) => text?.startsWith("+")) ? undefined : ask("date may set the clock"),
  },
  ls: {
    options: `-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I: -T: -w: --all --almost-all --author --escape --block-size=
      --ignore-backups --color? --directory --classify? --file-type --format= --full-time --group-directories-first
      --no-group --human-readable --si --hide= --hyperlink? --indicator-style= --inode --ignore= --literal
      --numeric-uid-gid --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse --recursive
      --size --sort= --time= --time-style= --width= --context --zero`,
  },
  cat: {
    options: `-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
      --show-nonprinting`,
  },
  head: { options: HEAD },
  tail: { options: HEAD, asks: "-f -F --follow --retry --pid" },
  wc: { options: "-cmlLw --bytes --chars --lines --words --max-line-length --total=", asks: "--files0-from" },
  nl: { options: "-b: -d: -f: -h: -i: -l: -n: -s: -v: -w: -p" },
  cut: {
    options: `-b: -c: -d: -f: -nsz --bytes= --characters= --delimiter= --fields= --only-delimited --complement
      --output-delimiter= --zero-terminated`,
  },
  cmp: { options: "-bls -i: -n: --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent" },
  diff: {
    options: `-abBcdeEinpqstTuwyZ -C: -U: -W: -I: --normal --brief --report-identical-files --context? --unified? --ed
      --side-by-side --width= --left-column --suppress-common-lines --show-c-function --show-function-line= --label=
      --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --text
      --strip-trailing-cr --minimal --speed-large-files --color? --expand-tabs --initial-tab --ignore-matching-lines=`,
    asks: "-r -l -N -x -X --recursive --paginate --from-file --to-file --exclude-from --new-file",
    check: ({ operands }, dirs) =>
      operands.some(({ text }) => isFolder(text, dirs)) ? ask("diff reads every file of a folder") : undefined,
  },
  du: {
    options: `-0abchHkmsSx -d: -B: -t: --all --apparent-size --block-size= --bytes --total --human-readable --si
      --max-depth= --summarize --separate-dirs --one-file-system --threshold= --time? --exclude= --null`,
    asks: "-L -X --dereference --exclude-from --files0-from",
  },
  df: {
    options: `-ahHiklmPT -B: -t: -x: --all --human-readable --si --inodes --local --portability --print-type
      --total --type= --exclude-type= --block-size= --output?`,
  },
  stat: { options: "-Lftx -c: --dereference --file-system --format= --printf= --terse" },
  file: {
    options: `-bhiIkLnNr0 -e: -F: --brief --mime --mime-type --mime-encoding --dereference --no-dereference
      --keep-going`,
    asks: "-C -m -f -z -Z -S --compile --magic-file --files-from --uncompress --no-sandbox",
  },
  realpath: {
    options: `-emsqzLP --canonicalize-existing --canonicalize-missing --no-symlinks --strip --quiet --zero --logical
      --physical --relative-to= --relative-base=`,
  },
  readlink: { options: "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --zero" },
  sort: {
    options: `-bcCdfghiMmnRrsuVz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case
      --general-numeric-sort --human-numeric-sort --ignore-nonprinting --month-sort --numeric-sort --random-sort
      --reverse --sort= --version-sort --check? --key= --merge --stable --field-separator= --unique --zero-terminated
      --parallel= --buffer-size=`,
    asks: "-o -T --output --temporary-directory --compress-program --files0-from --random-source",
  },
  uniq: {
    options: `-# -cdDiuz -f: -s: -w: --count --repeated --all-repeated? --skip-fields= --group? --ignore-case
      --skip-chars= --unique --zero-terminated --check-chars=`,
    check: ({ operands }) =>
      operands.length > 1 ? open("uniq writes to its second file", [operands[1]!.text ?? ""]) : undefined,
  },
  grep: GREP,
  egrep: GREP,
  fgrep: GREP,
  tree: {
    options: `-adfipshDugFqNQtcUrvCnASJXx -L: -I: -P: --noreport --dirsfirst --filesfirst --prune --du --si --inodes
      --device --charset= --filelimit= --sort= --timefmt= --matchdirs --ignore-case --gitignore --nolinks`,
    asks: "-o -R -l -H --output --fromfile --gitfile --infofile --info",
  },
  jq: {
    options: `-rcnseSjaMCR --raw-output --raw-output0 --compact-output --null-input --slurp --exit-status --sort-keys
      --join-output --ascii-output --monochrome-output --color-output --raw-input --tab --seq --indent=`,
    asks: "-f -L --from-file --slurpfile --rawfile --library-path",
    pattern: true,
    check: ({ operands: [filter] }) =>
      /env|\$__|import|include|modulemeta|input_filename|get_search_list|debug|stderr/i.test(filter?.text ?? "env")
        ? ask("the filter may read more than its files")
        : undefined,
  },
  rg: {
    options: `-nNilcwvFoqsSxUPHIaph0 -e: -A: -B: -C: -g: -t: -T: -m: -M: -d: -r: -j: --regexp= --glob= --type= --type-not=
      --ignore-case --smart-case --case-sensitive --invert-match --word-regexp --line-regexp --fixed-strings
      --files-with-matches --files-without-match --files --count --count-matches --only-matching --line-number
      --no-line-number --column --no-column --heading --no-heading --color= --context= --after-context=
      --before-context= --max-count= --max-depth= --max-columns= --max-columns-preview --multiline --multiline-dotall
      --pcre2 --quiet --replace= --sort= --sortr= --stats --trim --vimgrep --with-filename --no-filename --null --json
      --passthru --text --crlf --threads= --no-config --no-messages --pretty --type-list --version --one-file-system`,
    asks: `-z -u -. -L -f --pre --pre-glob --search-zip --hidden --unrestricted --no-ignore --no-ignore-vcs --no-ignore-dot
      --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-parent --follow --file --ignore-file
      --type-add --hostname-bin --hyperlink-format --iglob --debug --trace`,
    pattern: true,
    check: checkRg,
  },
};

/** Globs and types lift what keeps rg from hidden files, so only plain ones go unasked. */
const RG_TYPE =
  /^(ts|js|py|python|rust|go|java|c|cpp|css|html|json|yaml|toml|md|markdown|txt|sql|swift|kotlin|php|lua)$/;
const RG_GLOB = /^!|^(([\w-]+|\*\*)\/)*\*\.(?!env|pem|key|p12|pfx)\w+$/i;

function checkRg({ operands, values }: Parsed, dirs: readonly string[]): Doubt | undefined {
  const given = (...names: string[]) => names.flatMap((name) => values.get(name) ?? []);
  if (given("-g", "--glob").some((glob) => !RG_GLOB.test(glob))) return ask("this glob may bring in hidden files");
  if (given("-t", "--type").some((type) => !RG_TYPE.test(type))) return ask("this type may bring in hidden files");
  if (values.has("--files")) return undefined;
  // They bring in hidden files of their kind.
  const ends = given("-g", "--glob").flatMap((glob) => (glob.startsWith("!") ? [] : glob.slice(glob.lastIndexOf("."))));
  if (given("-t", "--type").length) ends.push(".ts", ".js", ".json", ".yaml", ".yml", ".toml", ".md", ".txt", ".py");
  const named = values.has("-e") || values.has("--regexp");
  const paths = (named ? operands : operands.slice(1)).map(({ text }) => text ?? ".");
  for (const dir of dirs)
    for (const one of paths.length ? paths : ["."]) {
      const secret = isFolder(one, [dir]) ? findSecret(inFolder(dir, one), ends) : undefined;
      if (secret) return ask(secret);
    }
  return undefined;
}

/** As the kernel's gate has it. */
const SECRET =
  /^(\.env(\..*)?|\.envrc|id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|key|p12|pfx)|\.npmrc|\.netrc|\.pypirc|\.git-credentials|zz\.config\.json)$/i;
const MOST_ENTRIES = 20_000;

/** rg leaves out hidden files by itself, but not keys; and an .ignore file may bring hidden ones back. */
function findSecret(folder: string, ends: string[]): string | undefined {
  const folders = [folder];
  for (let seen = 0; folders.length; ) {
    const here = folders.pop()!;
    for (const entry of entriesOf(here)) {
      const { name } = entry;
      if (++seen > MOST_ENTRIES) return "there are too many files to tell what it would read";
      if (/^\.(rg)?ignore$/.test(name)) return `${name} may bring in hidden files`;
      if (name === "node_modules" || (name.startsWith(".") && !ends.some((end) => name.endsWith(end)))) continue;
      if (SECRET.test(name)) return `it would read '${name}', which may hold a secret`;
      if (entry.isDirectory() && !name.startsWith(".")) folders.push(`${here}/${name}`);
    }
  }
  return undefined;
}

function entriesOf(folder: string): fs.Dirent[] {
  try {
    return fs.readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isFolder(name: string | undefined, dirs: readonly string[]): boolean {
  return dirs.some((dir) => {
    try {
      return name !== undefined && fs.statSync(inFolder(dir, name)).isDirectory();
    } catch {
      return false;
    }
  });
}

export interface Read {
  doubt?: Doubt;
  reads: string[];
  whole?: boolean; // the content of files that nobody named
}

/** What may go unasked by its name, and what such a name may stand behind. */
export const isKnown = (name: string): boolean =>
  /^(git|find|sed)$/.test(name) || Object.hasOwn(READERS, name) || Object.hasOwn(WRAPPERS, name);

/** What a command does that may only read; undefined where it is none of those. */
export function readsOf(name: string, args: readonly Arg[], dirs: readonly string[]): Read | undefined {
  const words = args.map(({ text }) => text);
  if (name === "test" || name === "[") return readsOfTest(name, words);
  if (name === "sed") return readsOfSed(words);
  if (name === "git") return readsOfGit(args, dirs);
  return Object.hasOwn(READERS, name) ? readBy(READERS[name]!, args, dirs) : undefined;
}

function readBy(
  { options, operands, pattern, asks = "", check }: Reader,
  args: readonly Arg[],
  dirs: readonly string[],
): Read {
  const parsed: Parsed =
    options === undefined ? { operands: [...args], values: new Map(), files: [] } : parse(args, options);
  if (parsed.bad) {
    const why = `'${parsed.bad}' may do more than read`;
    return {
      doubt: holds(
        args.map(({ text }) => text),
        asks,
      )
        ? ask(why)
        : open(why),
      reads: [],
    };
  }
  const named =
    ["-e", "--regexp"].some((one) => parsed.values.get(one)?.length) ||
    ["--files", "--type-list"].some((one) => parsed.values.has(one));
  const files = operands === "text" ? [] : pattern && !named ? parsed.operands.slice(1) : parsed.operands;
  const doubt = check?.(parsed, dirs);
  // rg looks through folders; a named file is judged by its name.
  const whole =
    pattern === true && check === checkRg && !(files.length && files.every(({ text }) => !isFolder(text, dirs)));
  return { ...(doubt && { doubt }), whole, reads: [...parsed.files, ...files.map(({ text }) => text ?? "")] };
}

/** `test -v 'a[$(x)]'` runs x. */
function readsOfTest(name: string, words: Words): Read {
  if (name === "[" && words.at(-1) !== "]") return { doubt: ask("its ] is missing"), reads: [] };
  if (words.some((word) => word === "-v" || word === "-R"))
    return { doubt: ask("test -v may run what it is given"), reads: [] };
  const inner = name === "[" ? words.slice(0, -1) : words;
  return { reads: inner.filter((word): word is string => Boolean(word) && !/^(-.*|[=!<>()]|==|!=)$/s.test(word!)) };
}

function readsOfSed([flag, script, ...files]: Words): Read {
  const plain = flag === "-n" && /^(\d+|\$)(,(\d+|\$))?p$/.test(script ?? "");
  return plain && !files.some((file) => file?.startsWith("-"))
    ? { reads: files.map((file) => file ?? "") }
    : { doubt: ask("sed can write and run; only sed -n 'N,Mp' goes unasked"), reads: [] };
}

// ── find ───────────────────────────────────────────────────────────────────────────────────────────────

/** What it looks at, and how many words follow each. */
export const FIND_TESTS: Record<string, number> = Object.fromEntries([
  ...split(`-print -print0 -ls -o -or -a -and -not ! ( ) , -prune -empty -true -false -depth -mount -xdev -daystart -quit
    -noleaf -nouser -nogroup -readable -writable -executable -P -nowarn -warn`).map((name) => [name, 0]),
  ...split(`-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -atime -ctime -mmin
    -amin -cmin -newer -anewer -cnewer -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -samefile -printf
    -regextype -fstype -used -lname -ilname -newermt -newerct -newerat -newermm -newercm`).map((name) => [name, 1]),
]);
export const FIND_ASKS = /^-(delete|fprint0?|fprintf|fls|files0-from|L|H|follow|D|O.*)$/;
export const FIND_RUNS = /^-(exec|execdir|ok|okdir)$/;

// ── git ────────────────────────────────────────────────────────────────────────────────────────────────

const GIT_DIFF = `-pusaRwbWz -U: -M? -C? -B? -S: -G: --patch --no-patch --unified= --raw --patch-with-raw --minimal
  --patience --histogram --diff-algorithm= --stat? --numstat --shortstat --dirstat? --summary --patch-with-stat
  --compact-summary --name-only --name-status --color? --no-color --color-moved? --color-words? --word-diff?
  --word-diff-regex= --no-renames --find-renames? --find-copies? --check --full-index --binary --abbrev? --no-abbrev
  --diff-filter= --pickaxe-all --pickaxe-regex --relative? --no-relative --text --ignore-cr-at-eol
  --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --inter-hunk-context=
  --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules? --src-prefix= --dst-prefix=
  --no-prefix --indent-heuristic --cached --staged --merge-base`;
const GIT_LOG = `${GIT_DIFF} -# -n: -iEFPgmcq --max-count= --skip= --since= --after= --until= --before= --author=
  --committer= --grep= --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp
  --merges --no-merges --first-parent --all --branches? --tags? --remotes? --exclude= --reflog --walk-reflogs
  --cherry-pick --cherry-mark --cherry --left-only --right-only --left-right --graph --no-graph --oneline --pretty?
  --format= --abbrev-commit --no-abbrev-commit --decorate? --no-decorate --decorate-refs= --date= --relative-date
  --parents --children --reverse --topo-order --date-order --author-date-order --follow --full-history --dense --sparse
  --simplify-merges --simplify-by-decoration --ancestry-path? --boundary --count --no-walk --source --cc --root --notes?
  --no-notes --use-mailmap --mailmap --no-mailmap --full-diff --log-size --show-pulls`;

interface GitReader {
  options: string;
  lists?: string; // with operands it makes something, unless one of these options is there
  most?: number; // operands
}
const GIT_READERS: Record<string, GitReader> = {
  status: {
    options: `-sbvz -u? -M? --short --branch --show-stash --porcelain? --long --verbose --untracked-files?
      --ignore-submodules? --ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames
      --find-renames?`,
  },
  diff: { options: GIT_DIFF },
  log: { options: GIT_LOG },
  show: { options: GIT_LOG },
  shortlog: { options: `${GIT_LOG} -sne --summary --numbered --email --group=` },
  "rev-list": { options: GIT_LOG },
  "rev-parse": {
    options: `-q --show-toplevel --abbrev-ref? --short? --verify --quiet --git-dir --absolute-git-dir --git-common-dir
      --is-inside-work-tree --is-inside-git-dir --is-bare-repository --show-prefix --show-cdup --symbolic-full-name
      --symbolic --all --branches? --tags? --remotes? --show-superproject-working-tree --revs-only --no-revs`,
  },
  blame: {
    options: `-ltsefnpwb -L: -M? -C? --date= --porcelain --line-porcelain --incremental --root --show-stats --since=
      --abbrev= --show-name --show-number --show-email --color-lines --color-by-age`,
  },
  "ls-files": {
    options: `-cdmoisuztvf -x: --cached --deleted --modified --others --ignored --stage --directory --unmerged --killed
      --exclude= --exclude-standard --error-unmatch --full-name --abbrev? --deduplicate --eol --no-empty-directory`,
  },
  "ls-tree": { options: "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev?" },
  "cat-file": { options: "-tsep" },
  "merge-base": { options: "-a --all --octopus --is-ancestor --independent --fork-point" },
  describe: {
    options: `--all --tags --contains --abbrev= --candidates= --exact-match --long --match= --exclude= --always
      --first-parent --dirty? --broken?`,
  },
  "show-ref": { options: "-qds --head --heads --tags --verify --quiet --dereference --hash? --abbrev?" },
  "for-each-ref": {
    options: "--count= --sort= --format= --points-at= --merged? --no-merged? --contains? --ignore-case",
  },
  "count-objects": { options: "-vH --verbose --human-readable" },
  branch: {
    options: `-arvi --show-current --list --all --remotes --verbose --no-abbrev --abbrev= --merged? --no-merged?
      --contains? --no-contains? --points-at= --sort= --format= --column? --no-column --color? --no-color
      --ignore-case`,
    lists: "--list --merged --no-merged --contains --no-contains",
  },
  tag: {
    options: `-l -n? -i --list --sort= --format= --merged? --no-merged? --contains? --no-contains? --points-at= --column?
      --no-column --color? --ignore-case`,
    lists: "-l --list --merged --no-merged --contains --no-contains",
  },
  remote: { options: "-v --verbose", most: 0 },
  reflog: { options: GIT_LOG, most: 0 },
  "remote get-url": { options: "--push --all" },
  "reflog show": { options: GIT_LOG },
  "stash list": { options: GIT_LOG },
  "stash show": { options: GIT_DIFF },
  "worktree list": { options: "-vz --verbose --porcelain" },
};
/** git's own commands that may change something. What is neither here nor above may be an alias, which runs anything. */
const GIT_OWN = new Set(
  split(`add am apply archive bisect branch bundle checkout cherry cherry-pick clean clone commit commit-graph
    commit-tree diff-files diff-index diff-tree difftool fetch filter-branch format-patch fsck gc grep hash-object
    index-pack init interpret-trailers ls-remote maintenance merge merge-file merge-tree mktree mv name-rev notes
    pack-objects pack-refs prune prune-packed pull push range-diff read-tree rebase reflog remote repack replace
    request-pull rerere reset restore revert rm sparse-checkout stash submodule switch symbolic-ref tag update-index
    update-ref var verify-commit verify-tag version worktree write-tree check-ignore check-attr check-ref-format
    whatchanged`),
);
const GIT_RUNS = /^(bisect|submodule|filter-branch|difftool)$/;
const GIT_ASKS = `--exec --upload-pack --receive-pack --ext-diff --textconv --open-files-in-pager --output --no-index
  --config --config-env --template --show-signature --exec-path -O`;
const GIT_TAKES = /^(-C|-c|--git-dir|--work-tree|--namespace|--super-prefix|--config-env|--attr-source)$/;
const GIT_PLAIN = /^(--no-pager|-P|--no-optional-locks|--literal-pathspecs)$/;

/** What stands before git's command, the command, and what follows. */
function gitParts<T>(words: readonly T[], textOf: (word: T) => string | undefined): [T[], T | undefined, T[]] {
  let i = 0;
  while (i < words.length && textOf(words[i]!)?.startsWith("-")) i += GIT_TAKES.test(textOf(words[i]!)!) ? 2 : 1;
  return [words.slice(0, i), words[i], words.slice(i + 1)];
}

const noRead = (doubt: Doubt): Read => ({ doubt, reads: [] });

function readsOfGit(args: readonly Arg[], dirs: readonly string[]): Read {
  const [before, command, rest] = gitParts(args, ({ text }) => text);
  const name = command?.text;
  if (before.length === 1 && before[0]!.text === "--version" && !command) return { reads: [] };
  const global = before.find(({ text }) => !GIT_PLAIN.test(text!));
  if (global) return noRead(ask(`git ${global.text!.split("=")[0]} may run or read something else`));
  if (!name) return noRead(open("git alone"));
  const words = rest.map(({ text }) => text);
  const pair = Object.hasOwn(GIT_READERS, `${name} ${words[0]}`);
  const key = pair ? `${name} ${words[0]}` : name;
  const reader = Object.hasOwn(GIT_READERS, key) ? GIT_READERS[key] : undefined;
  if (!reader && !GIT_OWN.has(name)) return noRead(ask(`git ${name} may be an alias, which runs anything`));
  const runs = GIT_RUNS.test(name) || (name === "rebase" && holds(words, "-x"));
  if (runs || holds(words, GIT_ASKS) || words.some((word) => word?.startsWith("ext::")))
    return noRead(ask(`git ${name} can run other commands or write files this way`));
  if (!reader) return noRead(open(`git ${name} may change something`));
  const parsed = parse(pair ? rest.slice(1) : rest, reader.options);
  if (parsed.bad) return noRead(open(`'${parsed.bad}' may do more than read`));
  const whole = showsContent(name, parsed);
  const doubt = checkGit(name, reader, parsed, dirs) ?? checkRepository(dirs[0], whole);
  return doubt ? noRead(doubt) : { reads: parsed.operands.flatMap(({ text }) => gitPaths(text!)), whole };
}

function checkGit(
  name: string,
  { lists, most }: GitReader,
  parsed: Parsed,
  dirs: readonly string[],
): Doubt | undefined {
  const { operands, values } = parsed;
  const listed = lists === undefined || split(lists).some((one) => values.has(one));
  if (operands.length > (listed ? (most ?? operands.length) : 0))
    return open(`git ${name} with a name may change something`);
  if (operands.some(({ text }) => /^:[(/!^]|[*?[\\]/.test(text!)))
    return ask("git itself looks for the files that this names");
  const formats = ["--format", "--pretty", "--sort"].flatMap((one) => values.get(one) ?? []);
  if (formats.some((one) => /%G|signature/.test(one))) return ask("git checks signatures with another program");
  // Two paths where there is no repository: git then compares whatever they hold.
  if (name === "diff" && operands.length === 2 && !(parsed.split && isRepository(dirs[0])))
    if (operands.some(({ text }) => isFolder(text, dirs))) return ask("git diff may read every file of a folder");
  return undefined;
}

const PATCHES = `-p -u -c -m -U -W --patch --unified --cc --binary --patch-with-stat --patch-with-raw --word-diff
  --color-words --function-context`;

/** Whether it shows what is in files, of whatever name. */
function showsContent(name: string, { operands, values }: Parsed): boolean {
  if (/^(diff|show|stash)$/.test(name)) return true;
  if (name === "cat-file") return values.has("-p") && operands.some(({ text }) => !text?.includes(":"));
  return /^(log|reflog|rev-list|shortlog)$/.test(name) && split(PATCHES).some((one) => values.has(one));
}

function checkRepository(folder: string | undefined, whole: boolean): Doubt | undefined {
  const runs = ownPrograms(folder);
  if (runs) return ask(`git would run or read what the repository's own ${runs} names`);
  return whole && tracksSecret(folder, SECRET) ? ask("the repository holds files that may hold secrets") : undefined;
}

function isRepository(folder = "/"): boolean {
  const above = path.dirname(folder);
  return fs.existsSync(path.join(folder, ".git")) || (above !== folder && isRepository(above));
}

/** `HEAD:src/a.ts` names src/a.ts, and so does `HEAD@{12:00}:src/a.ts`. */
const gitPaths = (text: string): string[] => text.split(":").flatMap((_, i, parts) => parts.slice(i).join(":") || []);

// ── What is denied ─────────────────────────────────────────────────────────────────────────────────────

interface Switches {
  letters: Set<string>;
  longs: string[];
  operands: Words;
}

/** The switches of a command, without the values that the letters of `takes` have. */
function switchesOf(words: Words, takes = ""): Switches {
  const found: Switches = { letters: new Set(), longs: [], operands: [] };
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (word === "--") return { ...found, operands: [...found.operands, ...words.slice(i + 1)] };
    if (!word || !/^-./.test(word)) found.operands.push(word);
    else if (word.startsWith("--")) found.longs.push(word.split("=")[0]!);
    else
      for (let at = 1; at < word.length; at++) {
        if (takes.includes(word[at]!)) {
          if (at === word.length - 1) i++;
          break;
        }
        found.letters.add(word[at]!);
      }
  }
  return found;
}

/** GNU's tools and git take any beginning of a long option. */
const means = ({ longs }: Switches, name: string): boolean =>
  longs.some((one) => one.length > 2 && name.startsWith(one));

function isRm([name, ...rest]: Words, forced: boolean): boolean {
  if (name !== "rm") return false;
  const found = switchesOf(rest);
  const recursive = found.letters.has("r") || found.letters.has("R") || means(found, "--recursive");
  return recursive && (found.letters.has("f") || means(found, "--force")) === forced;
}

function isGit([name, ...rest]: Words, command: string, takes: string, test: (found: Switches) => boolean): boolean {
  if (name !== "git") return false;
  const [, found, words] = gitParts(rest, (word) => word);
  return found === command && test(switchesOf(words, takes));
}

const isForced = (found: Switches): boolean =>
  found.letters.has("f") ||
  means(found, "--force") ||
  means(found, "--mirror") ||
  found.operands.some((one) => one?.startsWith("+"));

const isClean = (found: Switches): boolean =>
  found.letters.has("d") &&
  (found.letters.has("f") || means(found, "--force")) &&
  !(found.letters.has("n") || means(found, "--dry-run"));

/** npm takes the beginning of a command for the whole. */
const PUBLISH = ["publish", "publis", "publi", "publ", "pub"].flatMap((name) =>
  ["npm", "pnpm", "yarn", "bun", "yarn npm", "pnpm recursive"].map((one) => [...split(one), name]),
);
const isPublish = (words: Words): boolean =>
  PUBLISH.some((entry) => startsWith(words, entry)) ||
  (words[0] === "yarn" && words[1] === "workspace" && startsWith(words.slice(2), [words[2] ?? "", "publish"]));

/** Refused whatever allows them, each under the name that lifts it. Words start with the plain name of the program. */
export const DENIED: [name: string, test: (words: Words) => boolean][] = [
  ["rm -rf", (words) => isRm(words, true)],
  ["rm -r", (words) => isRm(words, false)],
  ["git push --force", (words) => isGit(words, "push", "o", isForced)],
  ["git reset --hard", (words) => isGit(words, "reset", "", (found) => means(found, "--hard"))],
  ["git clean -fd", (words) => isGit(words, "clean", "e", isClean)],
  ["npm publish", isPublish],
  ...split("sudo sudoedit doas su pkexec chmod chown").map((name): [string, (words: Words) => boolean] => [
    name,
    ([first]) => first === name,
  ]),
];

/** Whether these words begin so, options in between and what those may take left out of account. */
export function startsWith(words: Words, entry: string[]): boolean {
  let places = new Set([0]);
  for (const [i, part] of entry.entries()) {
    // A set grows while it is walked: behind an option its value may stand, and behind that another option.
    if (i) for (const at of places) if (words[at]?.startsWith("-")) places.add(at + 1).add(at + 2);
    places = new Set([...places].filter((at) => words[at] === part).map((at) => at + 1));
  }
  return places.size > 0;
}

// ── Commands that run others, and those of which nobody can tell ───────────────────────────────────────

export const WRAPPERS: Record<string, Wrapper> = {
  env: {
    options: "-i0v -u: -S: --ignore-environment --unset= --null --split-string=",
    script: "-S --split-string",
    sets: true,
    wipes: "-i --ignore-environment -u --unset",
  },
  sudo: {
    options: "-EHnkbPAS -u: -g: -C: -D: -h: -p: -r: -t: -T: -U: --user= --group=",
    sets: true,
    asks: "sudo runs it as another user",
  },
  doas: { options: "-ns -u: -C:", asks: "doas runs it as another user" },
  pkexec: { options: "--user= --disable-internal-agent --keep-cwd", asks: "pkexec runs it as another user" },
  su: {
    options: "-lmp -c: -s: -g: --command= --login",
    script: "-c --command",
    late: true,
    asks: "su runs it as another user",
  },
  timeout: { options: "-vfp -k: -s: --foreground --preserve-status --verbose --kill-after= --signal=", skip: 1 },
  nice: { options: "-# -n: --adjustment=" },
  nohup: { options: "" },
  time: { options: "-p", stays: true },
  "!": { options: "", stays: true, asks: "zz does not follow a ! here" },
  command: { options: "-p", stays: true },
  builtin: { options: "", stays: true },
  exec: { options: "-cl -a:", stays: true },
  stdbuf: { options: "-i: -o: -e: --input= --output= --error=" },
  setsid: { options: "-cfw --ctty --fork --wait" },
  ionice: { options: "-t -c: -n: --class= --classdata= --ignore" },
  chroot: { options: "--userspec= --groups= --skip-chdir", skip: 1, asks: "chroot changes what every path means" },
  watch: {
    options: "-bcdegtxwr -n: --interval= --differences? --color --no-title --exec",
    joins: true,
    asks: "watch runs it for ever",
  },
  script: {
    options: "-aefqr -c: -E: -O: -T: --command= --append --quiet --flush",
    script: "-c --command",
    late: true,
    asks: "script writes what it sees",
  },
  flock: {
    options: "-seuxnoF -w: -E: --shared --exclusive --nonblock --timeout=",
    skip: 1,
    script: "-c",
    asks: "flock makes its file",
  },
  xargs: {
    options: `-0rtxpo -n: -P: -I: -L: -d: -s: -E: -a@ -i? -l? -e? --null --no-run-if-empty --max-args= --max-procs=
      --max-chars= --max-lines? --replace? --delimiter= --arg-file@ --verbose --exit --interactive --open-tty`,
    adds: true,
  },
  parallel: {
    options: "-k0uX -j: -n: -N: -I: -a: --jobs= --keep-order --dry-run --bar",
    adds: true,
    asks: "parallel runs what it is given",
  },
  busybox: { options: "", asks: "busybox has options of its own" },
  toybox: { options: "", asks: "toybox has options of its own" },
  coproc: { options: "", asks: "zz does not follow coproc" },
  caffeinate: { options: "-dimsu -t:" },
};

/** Whose arguments may be anything at all. */
export const TAKES_ANYTHING = new Set(["echo", "true", "false", ":", "basename", "dirname"]);
export const SHELLS = new Set(split("bash sh dash ash zsh ksh mksh fish csh tcsh rbash"));
/** They run what they are given: their name alone on an allow list is not enough. */
export const INTERPRETERS = new Set([
  ...SHELLS,
  ...split(`node nodejs deno bun python python2 python3 pypy3 perl ruby php lua luajit Rscript R julia osascript tclsh
    expect groovy scala swift ts-node tsx npx pnpx bunx uvx pipx`),
]);
export const INTERPRETER_SAFE = /^(--?(version|help)|-[vVhm]|--test|--check)$/;

const ALWAYS: [names: string, why: string][] = [
  ["awk gawk mawk nawk", "awk runs what it is given"],
  ["ssh mosh scp sftp rsync", "it runs or writes on another machine"],
  ["vi vim nvim view ex ed emacs nano pico", "an editor can run commands"],
  ["less more most man info", "a pager can run commands"],
  ["gdb lldb strace ltrace screen tmux at batch crontab", "it runs what it is given"],
  [". source", "it runs a file in this shell"],
  [
    `alias unalias trap set shopt hash enable unset export declare typeset local readonly read readarray mapfile getopts
      let bind complete compopt ulimit umask pushd popd dirs return fc history exit`,
    "it changes the shell itself",
  ],
  ["if then elif else fi for while until do done case esac select function { } [[ ]] in", "zz does not follow it here"],
];
export const ASKS = new Map(ALWAYS.flatMap(([names, why]) => split(names).map((name) => [name, why] as const)));
/** Options by which a command runs what it is given. */
export const RUNNING: Record<string, string> = {
  tar: `--checkpoint-action --to-command --use-compress-program --rsh-command --info-script --new-volume-script -I -F`,
  zip: "-T --unzip-command --test",
  curl: "-K --config",
};

/** The environment that a reading command may be given, and with what. */
export const HARMLESS =
  /^(NO_COLOR|CI|LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|COLUMNS|LINES|NODE_ENV|DEBUG|FORCE_COLOR|TZ)$/;
export const HARMLESS_VALUE = /^(?!.*\.\.)([\w@+*-][\w@+.:,=*/-]*)?$/;
/** What the shell, or a program that it starts, goes by. */
export const TELLING = [
  /^[A-Z]*PATH$|^(IFS|ENV|HOME|PWD|OLDPWD|SHELL|TMPDIR|PS\d|PROMPT_COMMAND|EXECIGNORE|SHELLOPTS|BASHOPTS)$/,
  /^(GLOBIGNORE|POSIXLY_CORRECT|TEXTDOMAIN\w*|FUNCNEST|HIST\w*)$/,
  /(PAGER|EDITOR|VISUAL|BROWSER|ASKPASS|_OPTIONS|OPTS|PRELOAD|PROXY|_proxy)$/,
  /^(GIT|LD|DYLD|BASH|NODE|NPM|npm|PYTHON|PERL|RUBY|LESS|SSH|RIPGREP|GREP|JAVA|MAKE|XDG|LC|GCONV|LOCPATH)/,
];

const BIN = /^\/((usr\/(local\/)?)?s?bin|opt\/homebrew\/bin)\//;

/** `/bin/rm` is rm; a program somewhere else stays as it is written. */
export function programOf(text: string): string {
  if (!text.startsWith("/")) return text;
  const name = path.posix.normalize(text).replace(BIN, "");
  return name && !name.includes("/") ? name : text;
}
