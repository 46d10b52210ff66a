// What zz knows about programs that run others, or may do anything: wrappers, shells, interpreters,
// editors.
import path from "node:path";
import { split } from "./parse-options.ts";

/** A command that runs another. */
export interface Wrapper {
  options: string;
  skipOperands?: number; // its own operands before the command
  allowsAssignments?: true; // VAR=value may come before the command
  addsArgs?: true; // further arguments are added
  script?: string; // the options whose value is a line for a shell
  scriptAfterOperands?: true; // those options may follow operands
  joinsOperands?: true; // its operands together are a line for a shell
  changesLookup?: string; // options that change where the command is looked for
  askReason?: string; // why it asks, whatever it runs
  inThisShell?: true; // it runs in this shell, so a cd has an effect
}

export const WRAPPERS: Record<string, Wrapper> = {
  env: {
    options: "-i0v -u: -S: --ignore-environment --unset= --null --split-string=",
    script: "-S --split-string",
    allowsAssignments: true,
    changesLookup: "-i --ignore-environment -u --unset",
  },
  sudo: {
    options: "-EHnkbPAS -u: -g: -C: -D: -h: -p: -r: -t: -T: -U: --user= --group=",
    allowsAssignments: true,
    askReason: "sudo runs it as another user",
  },
  doas: { options: "-ns -u: -C:", askReason: "doas runs it as another user" },
  pkexec: {
    options: "--user= --disable-internal-agent --keep-cwd",
    askReason: "pkexec runs it as another user",
  },
  su: {
    options: "-lmp -c: -s: -g: --command= --login",
    script: "-c --command",
    scriptAfterOperands: true,
    askReason: "su runs it as another user",
  },
  timeout: {
    options: "-vfp -k: -s: --foreground --preserve-status --verbose --kill-after= --signal=",
    skipOperands: 1,
  },
  nice: { options: "-# -n: --adjustment=" },
  nohup: { options: "" },
  time: { options: "-p", inThisShell: true },
  "!": { options: "", inThisShell: true, askReason: "zz does not follow a ! here" },
  command: { options: "-p", inThisShell: true },
  builtin: { options: "", inThisShell: true },
  exec: { options: "-cl -a:", inThisShell: true },
  stdbuf: { options: "-i: -o: -e: --input= --output= --error=" },
  setsid: { options: "-cfw --ctty --fork --wait" },
  ionice: { options: "-t -c: -n: --class= --classdata= --ignore" },
  chroot: {
    options: "--userspec= --groups= --skip-chdir",
    skipOperands: 1,
    askReason: "chroot changes what every path means",
  },
  watch: {
    options: "-bcdegtxwr -n: --interval= --differences? --color --no-title --exec",
    joinsOperands: true,
    askReason: "watch runs it forever",
  },
  script: {
    options: "-aefqr -c: -E: -O: -T: --command= --append --quiet --flush",
    script: "-c --command",
    scriptAfterOperands: true,
    askReason: "script writes what it sees",
  },
  flock: {
    options: "-seuxnoF -w: -E: --shared --exclusive --nonblock --timeout=",
    skipOperands: 1,
    script: "-c",
    askReason: "flock makes its file",
  },
  xargs: {
    options: `-0rtxpo -n: -P: -I: -L: -d: -s: -E: -a@ -i? -l? -e? --null --no-run-if-empty
      --max-args= --max-procs= --max-chars= --max-lines? --replace? --delimiter= --arg-file@
      --verbose --exit --interactive --open-tty`,
    addsArgs: true,
  },
  parallel: {
    options: "-k0uX -j: -n: -N: -I: -a: --jobs= --keep-order --dry-run --bar",
    addsArgs: true,
    askReason: "parallel runs what it is given",
  },
  busybox: { options: "", askReason: "busybox has options of its own" },
  toybox: { options: "", askReason: "toybox has options of its own" },
  coproc: { options: "", askReason: "zz does not follow coproc" },
  caffeinate: { options: "-dimsu -t:" },
};

/**
 * Programs that fetch and run others, by the words that make them do so; the command that follows
 * is judged, too.
 */
const RUNNER_OPTIONS =
  "-y -q -s -p: -c: -w: --yes --no --no-install --quiet --silent " +
  "--package= --call= --workspace= --bun";
export const PACKAGE_RUNNERS: (Wrapper & { words: string[] })[] = [
  ...[
    "npx",
    "pnpx",
    "bunx",
    "pnpm dlx",
    "pnpm exec",
    "npm exec",
    "npm x",
    "yarn dlx",
    "yarn exec",
    "bun x",
  ].map((runnerWords) => ({
    words: split(runnerWords),
    options: RUNNER_OPTIONS,
    script: "-c --call",
  })),
  ...[
    "uvx",
    "pipx run",
    "uv run",
    "poetry run",
    "pipenv run",
    "bundle exec",
    "npm-run",
    "dotenv --",
    "direnv exec .",
  ].map((words) => ({ words: split(words), options: "" })),
];

/** Programs whose arguments do not matter. */
export const ANY_ARGS = new Set(["echo", "true", "false", ":", "basename", "dirname"]);
export const SHELLS = new Set(split("bash sh dash ash zsh ksh mksh fish csh tcsh rbash"));
/**
 * Programs that run what they are given, so an entry of an allow list must say more than their
 * name.
 */
export const INTERPRETERS = new Set([
  ...SHELLS,
  ...split(`node nodejs deno bun python python2 python3 pypy3 perl ruby php lua luajit Rscript R
    julia osascript tclsh expect groovy scala swift ts-node tsx npx pnpx bunx uvx pipx`),
]);
export const INTERPRETER_SAFE = /^(--?(version|help)|-[vVhm]|--test|--check)$/;

const ASK_TABLE: [names: string, why: string][] = [
  ["awk gawk mawk nawk", "awk runs what it is given"],
  ["ssh mosh scp sftp rsync", "it runs or writes on another machine"],
  ["vi vim nvim view ex ed emacs nano pico", "an editor can run commands"],
  ["less more most man info", "a pager can run commands"],
  ["gdb lldb strace ltrace screen tmux at batch crontab", "it runs what it is given"],
  [". source", "it runs a file in this shell"],
  [
    `alias unalias trap set shopt hash enable unset export declare typeset local readonly read
      readarray mapfile getopts let bind complete compopt ulimit umask pushd popd dirs return fc
      history exit`,
    "it changes the shell itself",
  ],
  [
    "if then elif else fi for while until do done case esac select function { } [[ ]] in",
    "zz does not follow it here",
  ],
];
export const ASK_REASONS = new Map(
  ASK_TABLE.flatMap(([names, reason]) =>
    split(names).map((programName) => [programName, reason] as const),
  ),
);
/** Options with which a program runs what it is given. */
export const RUNNING_OPTIONS: Record<string, string> = {
  tar:
    "--checkpoint-action --to-command --use-compress-program --rsh-command " +
    "--info-script --new-volume-script -I -F",
  zip: "-T --unzip-command --test",
  curl: "-K --config",
};

const SYSTEM_BIN = /^\/((usr\/(local\/)?)?s?bin|opt\/homebrew\/bin)\//;

/** `/bin/rm` is rm; a program anywhere else keeps its path. */
export function programOf(programText: string): string {
  if (!programText.startsWith("/")) return programText;
  const shortName = path.posix.normalize(programText).replace(SYSTEM_BIN, "");
  return shortName && !shortName.includes("/") ? shortName : programText;
}
