// Commands with effects that a copy of the project cannot contain, so they are asked for
// beforehand. All others run on the copy, where nothing that they do reaches anything else.
import path from "node:path";
import { ownValue } from "zz/text";
import { reachesFurther } from "./files-only.ts";
import { changesRepository } from "./judge/git-writes.ts";
import type { Simple } from "./judge/judge-line.ts";
import { split } from "./judge/parse-options.ts";

/** Programs that reach other machines, services of this machine, or what belongs to the person. */
const PROGRAMS = new Set(
  split(`curl wget ssh mosh scp sftp nc ncat netcat telnet ftp ping dig nslookup host gh glab hub
    aws gcloud az kubectl helm terraform docker podman docker-compose vagrant apt apt-get dpkg yum
    dnf apk pacman brew snap systemctl service journalctl crontab at batch xdg-open open code psql
    mysql mongosh redis-cli tailscale ngrok cloudflared`),
);

/** Programs that run until they are stopped. */
const SERVERS = new Set(
  split(
    "watch serve http-server live-server json-server nodemon uvicorn gunicorn " +
      "redis-server mongod postgres caddy nginx",
  ),
);
const SERVING = new Set(
  split("vite next nuxt astro remix webpack-dev-server flask rails hugo jekyll wrangler"),
);
const ENDS_BY_ITSELF =
  /^(build|optimize|lint|info|generate|check|routes|typegen|types|db:\S+|--version|-v|--help)$/;

/** Programs, and the subcommands with which alone they reach the network or the person's home. */
const SUBCOMMANDS = new Map(
  `npm install i in add ci update up upgrade create publish login adduser audit outdated view info \
show search link
  pnpm install i add update up upgrade create publish audit outdated dlx link
  yarn install add up upgrade create publish audit outdated dlx link
  bun install i add update upgrade create publish x link
  pip install download search
  pip3 install download search
  uv sync add pip lock tool
  poetry install add update lock publish
  cargo install add update fetch publish login search
  go get install
  gem install update push
  bundle install update
  composer install update require`
    .split("\n")
    .map((tableLine) => {
      const [program, ...subcommands] = split(tableLine);
      return [program, new Set(subcommands)];
    }),
);
const reachesWith = (program: string, subcommand = ""): boolean =>
  SUBCOMMANDS.get(program)?.has(subcommand) === true;
/**
 * Programs that run the scripts of a project. A script is taken to be a server by its name, as in
 * SERVER.
 */
const RUNNERS = /^(npm|pnpm|yarn|bun|make|gmake|just|task|deno)$/;
const SERVER = /^(start|dev|serve|server|watch|preview)(:|$)/;

/**
 * Why a copy cannot contain the effects of a command of the line; undefined if it can contain them
 * all.
 */
export function whyNotOnCopy(commandLine: readonly Simple[]): string | undefined {
  const hasBackground = commandLine.some(({ ends }) => ends === "background");
  for (const simpleCommand of commandLine) {
    if (simpleCommand.ends === undefined && staysUp(simpleCommand))
      return `'${simpleCommand.text}' runs until it is stopped`;
    if (!reachesOut(simpleCommand, hasBackground)) continue;
    const isGitCommand = /^git(-|$)/.test(path.basename(simpleCommand.words[0] ?? ""));
    const effect = isGitCommand
      ? "changes the repository"
      : "reaches other machines, or services of this one";
    return `'${simpleCommand.text}' ${effect}`;
  }
  return undefined;
}

/**
 * Questions about what is installed here, and options with which a server only tells about itself.
 */
const ONLY_ASKS: Record<string, RegExp> = {
  dpkg: /^(-[lLsSpV]|--(list|listfiles|status|search|verify))$/,
  apt: /^(list|show|search|policy|depends|rdepends)$/,
  dnf: /^(list|info|search|repoquery)$/,
  yum: /^(list|info|search)$/,
  apk: /^(info|list|search)$/,
  brew: /^(list|info|config)$/,
  pacman: /^-Q[a-z]*$/,
  nginx: /^-[vVtT]$/,
  "redis-server": /^-v$/,
  postgres: /^-V$/,
  gunicorn: /^-v$/,
  caddy: /^(version|validate)$/,
};
const onlyAsks = (programName: string, args: readonly (string | undefined)[]): boolean =>
  ownValue(ONLY_ASKS, programName)?.test(args[0] ?? "") ||
  args.some((argument) => /^--(version|help)$/.test(argument ?? ""));

/**
 * A line may talk to programs that it started in the background: its network has nothing else on
 * it.
 */
function reachesOut(
  { words: [program, ...args], verdict, git }: Simple,
  hasBackground: boolean,
): boolean {
  if (program === undefined) return false;
  const programName = path.basename(program);
  if (onlyAsks(programName, args)) return false;
  if (/^git(-|$)/.test(programName))
    return (
      verdict !== "allow" &&
      (git === true ||
        changesRepository(programName === "git" ? args : [programName.slice(4), ...args]))
    );
  if (programName === "rsync") return reachesFurther(programName, args);
  if (PROGRAMS.has(programName))
    return !(hasBackground && /^(curl|wget|nc|ncat)$/.test(programName) && asksOnlyHere(args));
  const [firstWord, secondWord] = args.filter(
    (argument) => argument !== undefined && !argument.startsWith("-"),
  );
  if (programName === "yarn" && args.length === 0) return true; // it installs
  if (reachesWith(programName, firstWord)) return true;
  if (/^python[\d.]*$/.test(programName) && args[args.indexOf("-m") + 1] === "pip")
    return args.some((argument) => reachesWith("pip", argument));
  return (
    programName === "npx" &&
    /^(npm|pnpm|yarn)$/.test(firstWord ?? "") &&
    reachesWith(firstWord!, secondWord)
  );
}

const LOCAL_ADDRESS = /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(:|\/|$)/;
const isAddress = (argument: string): boolean =>
  /:\/\/|^[\w.[\]-]+(:\d+)?(\/|$)/.test(argument) && /[.:/]|^localhost/.test(argument);
/** Whether all addresses among the arguments are on this machine. */
function asksOnlyHere(args: readonly (string | undefined)[]): boolean {
  const plainWords = args.filter((argument) => !argument?.startsWith("-"));
  return (
    plainWords.some((plainWord) => LOCAL_ADDRESS.test(plainWord ?? "")) &&
    plainWords.every(
      (plainWord) => !isAddress(plainWord ?? "://") || LOCAL_ADDRESS.test(plainWord!),
    )
  );
}

function staysUp({ words: [program, ...args] }: Simple): boolean {
  if (program === undefined) return false;
  const programName = path.basename(program);
  if (SERVERS.has(programName)) return !onlyAsks(programName, args);
  const plainWords = args.filter((argument) => argument !== undefined && !argument.startsWith("-"));
  const [firstWord, secondWord] = plainWords;
  if (RUNNERS.test(programName))
    return SERVER.test(
      (/^(run|run-script|task)$/.test(firstWord ?? "") ? secondWord : firstWord) ?? "",
    );
  if (/^python[\d.]*$/.test(programName))
    return args.includes("http.server") || plainWords.includes("runserver");
  if (/^(npx|pnpx|bunx)$/.test(programName))
    return staysUp({ words: plainWords } as unknown as Simple);
  if (programName === "tail")
    return args.some((argument) => /^(-\d*[fF]|--follow.*)$/.test(argument ?? ""));
  if (
    /^(tsc|jest|vitest|node|tsx|cargo|tailwindcss|esbuild|rollup|webpack)$/.test(programName) &&
    args.some((argument) => argument?.startsWith("--watch"))
  )
    return true;
  return SERVING.has(programName) && !args.some((argument) => ENDS_BY_ITSELF.test(argument ?? ""));
}
