// Commands with effects that a copy of the project cannot contain, so they are asked for
// beforehand. All others run on the copy, where nothing that they do reaches anything else.
import path from "node:path";
import { reachesFurther } from "./files-only.ts";
import { changesRepository } from "./judge/git-writes.ts";
import type { Simple } from "./judge/judge-line.ts";
import { split } from "./judge/parse-options.ts";

/** Programs that reach other machines, services of this machine, or what belongs to the person. */
const PROGRAMS = new Set(
  split(`curl wget ssh mosh scp sftp nc ncat netcat telnet ftp ping dig nslookup host gh glab hub aws gcloud az kubectl helm
    terraform docker podman docker-compose vagrant apt apt-get dpkg yum dnf apk pacman brew snap systemctl service journalctl
    crontab at batch xdg-open open code psql mysql mongosh redis-cli tailscale ngrok cloudflared`),
);

/** Programs that run until they are stopped. */
const SERVERS = new Set(
  split(
    `watch serve http-server live-server json-server nodemon uvicorn gunicorn redis-server mongod postgres caddy nginx`,
  ),
);
const SERVING = new Set(
  split("vite next nuxt astro remix webpack-dev-server flask rails hugo jekyll wrangler"),
);
const ENDS_BY_ITSELF =
  /^(build|optimize|lint|info|generate|check|routes|typegen|types|db:\S+|--version|-v|--help)$/;

/** Programs, and the subcommands with which alone they reach the network or the person's home. */
const SUBCOMMANDS = new Map(
  `npm install i in add ci update up upgrade create publish login adduser audit outdated view info show search link
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
    .map((line) => {
      const [program, ...subcommands] = split(line);
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
export function whyNotOnCopy(line: readonly Simple[]): string | undefined {
  const hasBackground = line.some(({ ends }) => ends === "background");
  for (const simpleCommand of line) {
    if (simpleCommand.ends === undefined && staysUp(simpleCommand))
      return `'${simpleCommand.text}' runs until it is stopped`;
    if (!reachesOut(simpleCommand, hasBackground)) continue;
    const isGit = /^git(-|$)/.test(path.basename(simpleCommand.words[0] ?? ""));
    const effect = isGit
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
const onlyAsks = (name: string, [first]: readonly (string | undefined)[]): boolean =>
  Object.hasOwn(ONLY_ASKS, name) && ONLY_ASKS[name]!.test(first ?? "");

/**
 * A line may talk to programs that it started in the background: its network has nothing else on
 * it.
 */
function reachesOut(
  { words: [program, ...args], verdict, git }: Simple,
  hasBackground: boolean,
): boolean {
  if (program === undefined || args.some((word) => /^--(version|help)$/.test(word ?? "")))
    return false;
  const name = path.basename(program);
  if (onlyAsks(name, args)) return false;
  if (/^git(-|$)/.test(name))
    return (
      verdict !== "allow" &&
      (git === true || changesRepository(name === "git" ? args : [name.slice(4), ...args]))
    );
  if (name === "rsync") return reachesFurther(name, args);
  if (PROGRAMS.has(name))
    return !(hasBackground && /^(curl|wget|nc|ncat)$/.test(name) && asksOnlyHere(args));
  const [first, second] = args.filter((word) => word !== undefined && !word.startsWith("-"));
  if (name === "yarn" && args.length === 0) return true; // it installs
  if (reachesWith(name, first)) return true;
  if (/^python[\d.]*$/.test(name) && args[args.indexOf("-m") + 1] === "pip")
    return args.some((word) => reachesWith("pip", word));
  return name === "npx" && /^(npm|pnpm|yarn)$/.test(first ?? "") && reachesWith(first!, second);
}

const HERE = /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(:|\/|$)/;
const isAddress = (word: string): boolean =>
  /:\/\/|^[\w.[\]-]+(:\d+)?(\/|$)/.test(word) && /[.:/]|^localhost/.test(word);
/** Whether all addresses among the arguments are on this machine. */
function asksOnlyHere(args: readonly (string | undefined)[]): boolean {
  const plain = args.filter((word) => !word?.startsWith("-"));
  return (
    plain.some((word) => HERE.test(word ?? "")) &&
    plain.every((word) => !isAddress(word ?? "://") || HERE.test(word!))
  );
}

function staysUp({ words: [program, ...args] }: Simple): boolean {
  if (program === undefined) return false;
  const name = path.basename(program);
  if (SERVERS.has(name))
    return !onlyAsks(name, args) && !args.some((word) => /^--(version|help)$/.test(word ?? ""));
  const plain = args.filter((word) => word !== undefined && !word.startsWith("-"));
  const [first, second] = plain;
  if (RUNNERS.test(name))
    return SERVER.test((/^(run|run-script|task)$/.test(first ?? "") ? second : first) ?? "");
  if (/^python[\d.]*$/.test(name))
    return args.includes("http.server") || plain.includes("runserver");
  if (/^(npx|pnpx|bunx)$/.test(name)) return staysUp({ words: plain } as unknown as Simple);
  if (name === "tail") return args.some((word) => /^(-\d*[fF]|--follow.*)$/.test(word ?? ""));
  if (
    /^(tsc|jest|vitest|node|tsx|cargo|tailwindcss|esbuild|rollup|webpack)$/.test(name) &&
    args.some((word) => word?.startsWith("--watch"))
  )
    return true;
  return SERVING.has(name) && !args.some((word) => ENDS_BY_ITSELF.test(word ?? ""));
}
