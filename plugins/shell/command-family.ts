// The commands that a person most likely wants to allow along with one, such as `npm run`
// for `npm run build`.

/** Programs whose second word says what they do. */
const WITH_VERBS = new Set(
  `npm pnpm yarn cargo go git gh docker podman kubectl helm terraform dotnet bundle rails composer
    poetry pipenv pip uv brew apt`.split(/\s+/),
);
/** Verbs that run whatever follows them. */
const RUNNING_VERBS = /^(exec|x|dlx|shell|sh|console|runner|eval|debug|attach)$/;
const RUNS_OF_OTHERS = /^(uv|poetry|pipenv|docker|podman|kubectl|go|dotnet) (run|tool)$/;
/**
 * Programs that run or destroy whatever they are given, so only the exact command can be allowed;
 * the judge knows them, too.
 */
const TOO_WIDE = new RegExp(
  String.raw`^(\w*sh|node\w*|deno|bun|python[\d.]*|pypy3?|perl|ruby|php|lua\w*|r|rscript|julia
    |osascript|tclsh|expect|ts-node|tsx|npx|pnpx|bunx|uvx|pipx|env|sudo|doas|su|ssh|exec|eval
    |command|builtin|source|xargs|time|nohup|nice|timeout|watch|find|fd|[gmn]?awk|sed|rm|dd|shred
    |chmod|chown|curl|wget|kill\w*)$`.replace(/\s+/g, ""),
  "i",
);
const RUN_OTHERS = new Set(
  `groovy scala swift stdbuf setsid ionice chrt taskset unbuffer chronic ltrace strace gdb lldb
    valgrind script flock parallel hatch pdm rye pixi tox nox invoke inv fab conda mamba micromamba
    nix nix-shell nix-env guix devbox mise rtx asdf volta fnm nvm corepack op doppler chamber teller
    aws-vault infisical sops heroku fly flyctl railway foreman honcho overmind concurrently nodemon
    pm2 turbo nx lerna lage pre-commit lefthook husky vagrant wsl limactl colima multipass distrobox
    toolbox flatpak snap act earthly dagger bazel bazelisk buck2 xcrun mix rebar3 sbt lein clj stack
    cabal opam dune zig elixir iex erl xvfb-run dbus-run-session proxychains proxychains4 torsocks
    tmuxinator busybox toybox coproc caffeinate systemd-run unshare nsenter chroot setpriv runuser
    pkexec run0 gosu su-exec sudoedit firejail bwrap entr make gmake just task rake gradle mvn ninja
    direnv dotenv npm-run mosh scp sftp rsync vi vim nvim view ex ed emacs nano pico less more most
    man info screen tmux at batch crontab alias unalias trap set shopt hash enable unset export
    declare typeset local readonly read readarray mapfile getopts let bind complete compopt ulimit
    umask pushd popd dirs return fc history exit if then elif else fi for while until do done case
    esac select function in`.split(/\s+/),
);
const PLAIN_WORD = /^[A-Za-z][\w.:-]*$/;

/**
 * The first words of the command's family; undefined if it has none, or one that is too wide to
 * allow.
 */
export function familyOf(command: string): string | undefined {
  const [program = "", verb = ""] = command.trim().split(/\s+/);
  if (!PLAIN_WORD.test(program) || TOO_WIDE.test(program) || RUN_OTHERS.has(program))
    return undefined;
  if (!/\s/.test(command.trim())) return undefined;
  if (!WITH_VERBS.has(program)) return program;
  const familyWords = `${program} ${verb}`;
  return PLAIN_WORD.test(verb) && !RUNNING_VERBS.test(verb) && !RUNS_OF_OTHERS.test(familyWords)
    ? familyWords
    : undefined;
}
