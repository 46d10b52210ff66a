// What zz knows about programs that run others, or may do anything: wrappers, shells, interpreters, editors.
import path from "node:path";
import { split } from "./options.ts";

/** A command that runs another. */
export interface Wrapper {
  options: string;
  skip?: number; // its own operands before the command
  sets?: true; // VAR=value may come before the command
  adds?: true; // further arguments are added
  script?: string; // the option whose value is a line for a shell
  late?: true; // that option may follow operands
  joins?: true; // its operands are such a line
  wipes?: string; // options that change where the command is looked for
  asks?: string; // why it asks, whatever it runs
  stays?: true; // it runs in this shell, so a cd has an effect
}

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

/** Programs that fetch and run others, by the words that make them do so: what follows is judged, too. */
const CARRYING = "-y -q -s -p: -c: -w: --yes --no --no-install --quiet --silent --package= --call= --workspace= --bun";
export const CARRIERS: { words: string[]; options: string; script?: string }[] = [
  ...["npx", "pnpx", "bunx", "pnpm dlx", "pnpm exec", "npm exec", "npm x", "yarn dlx", "yarn exec", "bun x"].map(
    (one) => ({ words: split(one), options: CARRYING, script: "-c --call" }),
  ),
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
  ].map((one) => ({ words: split(one), options: "" })),
];

/** Their arguments do not matter. */
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
/** Options with which a command runs what it is given. */
export const RUNNING: Record<string, string> = {
  tar: `--checkpoint-action --to-command --use-compress-program --rsh-command --info-script --new-volume-script -I -F`,
  zip: "-T --unzip-command --test",
  curl: "-K --config",
};

const BIN = /^\/((usr\/(local\/)?)?s?bin|opt\/homebrew\/bin)\//;

/** `/bin/rm` is rm; a program anywhere else keeps its path. */
export function programOf(text: string): string {
  if (!text.startsWith("/")) return text;
  const name = path.posix.normalize(text).replace(BIN, "");
  return name && !name.includes("/") ? name : text;
}
