// beyond: commands with effects that a copy of the project cannot contain, so they are asked for beforehand. All others
// run on the copy, where nothing that they do reaches anything else.
import path from "node:path";
import { reachesFurther } from "./files-only.ts";
import { changesRepository } from "./judge/git-writes.ts";
import type { Simple } from "./judge/index.ts";

const words = (text: string): Set<string> => new Set(text.split(" "));

/** Programs that reach other machines, services of this machine, or what belongs to the person. */
const PROGRAMS = words(
  "curl wget ssh mosh scp sftp nc ncat netcat telnet ftp ping dig nslookup host gh glab hub aws gcloud az kubectl helm " +
    "terraform docker podman docker-compose vagrant apt apt-get dpkg yum dnf apk pacman brew snap systemctl service " +
    "journalctl crontab at batch xdg-open open code psql mysql mongosh redis-cli tailscale ngrok cloudflared",
);

/** Programs that run until they are stopped. */
const SERVERS = words(
  "watch serve http-server live-server json-server nodemon uvicorn gunicorn redis-server mongod postgres caddy nginx",
);
const SERVING = words("vite next nuxt astro remix webpack-dev-server flask rails hugo jekyll wrangler");
const ENDS_BY_ITSELF = /^(build|optimize|lint|info|generate|check|routes|typegen|types|db:\S+|--version|-v|--help)$/;

/** Programs that reach the network or the person's home only with these subcommands. */
const SUBCOMMANDS: Record<string, Set<string>> = {
  npm: words(
    "install i in add ci update up upgrade create publish login adduser audit outdated view info show search link",
  ),
  pnpm: words("install i add update up upgrade create publish audit outdated dlx link"),
  yarn: words("install add up upgrade create publish audit outdated dlx link"),
  bun: words("install i add update upgrade create publish x link"),
  pip: words("install download search"),
  pip3: words("install download search"),
  uv: words("sync add pip lock tool"),
  poetry: words("install add update lock publish"),
  cargo: words("install add update fetch publish login search"),
  go: words("get install"),
  gem: words("install update push"),
  bundle: words("install update"),
  composer: words("install update require"),
};
/** Programs that run the scripts of a project. A script is taken to be a server by its name, as in SERVER. */
const RUNNERS = /^(npm|pnpm|yarn|bun|make|gmake|just|task|deno)$/;
const SERVER = /^(start|dev|serve|server|watch|preview)(:|$)/;

/** Why a copy cannot contain the effects of a command of the line; undefined if it can contain them all. */
export function whyBeyond(line: readonly Simple[]): string | undefined {
  const hasBackground = line.some(({ ends }) => ends === "background");
  for (const one of line) {
    if (one.ends === undefined && staysUp(one)) return `'${one.text}' runs until it is stopped`;
    if (!reachesOut(one, hasBackground)) continue;
    const isGit = /^git(-|$)/.test(path.basename(one.words[0] ?? ""));
    const what = isGit ? "changes the repository" : "reaches other machines, or services of this one";
    return `'${one.text}' ${what}`;
  }
  return undefined;
}

/** A line may talk to programs that it started in the background: its network has nothing else on it. */
function reachesOut({ words: [program, ...rest], verdict, git }: Simple, hasBackground: boolean): boolean {
  if (program === undefined || rest.some((word) => /^--(version|help)$/.test(word ?? ""))) return false;
  const name = path.basename(program);
  if (/^git(-|$)/.test(name))
    return verdict !== "allow" && (git === true || changesRepository(name === "git" ? rest : [name.slice(4), ...rest]));
  if (name === "rsync") return reachesFurther(name, rest);
  if (PROGRAMS.has(name)) return !(hasBackground && /^(curl|wget|nc|ncat)$/.test(name) && asksOnlyHere(rest));
  const [first, second] = rest.filter((word) => word !== undefined && !word.startsWith("-"));
  if (name === "yarn" && rest.length === 0) return true; // it installs
  if (first !== undefined && SUBCOMMANDS[name]?.has(first)) return true;
  if (/^python[\d.]*$/.test(name) && rest[rest.indexOf("-m") + 1] === "pip")
    return rest.some((word) => SUBCOMMANDS.pip!.has(word ?? ""));
  return name === "npx" && /^(npm|pnpm|yarn)$/.test(first ?? "") && SUBCOMMANDS[first!]!.has(second ?? "");
}

const HERE = /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(:|\/|$)/;
const isAddress = (word: string): boolean =>
  /:\/\/|^[\w.[\]-]+(:\d+)?(\/|$)/.test(word) && /[.:/]|^localhost/.test(word);
/** Whether all addresses among the arguments are on this machine. */
function asksOnlyHere(rest: readonly (string | undefined)[]): boolean {
  const plain = rest.filter((word) => !word?.startsWith("-"));
  return (
    plain.some((word) => HERE.test(word ?? "")) && plain.every((word) => !isAddress(word ?? "://") || HERE.test(word!))
  );
}

function staysUp({ words: [program, ...rest] }: Simple): boolean {
  if (program === undefined) return false;
  const name = path.basename(program);
  if (SERVERS.has(name)) return true;
  const plain = rest.filter((word) => word !== undefined && !word.startsWith("-"));
  const [first, second] = plain;
  if (RUNNERS.test(name)) return SERVER.test((/^(run|run-script|task)$/.test(first ?? "") ? second : first) ?? "");
  if (/^python[\d.]*$/.test(name)) return rest.includes("http.server") || plain.includes("runserver");
  if (/^(npx|pnpx|bunx)$/.test(name)) return staysUp({ words: plain } as unknown as Simple);
  if (name === "tail") return rest.some((word) => /^(-\d*[fF]|--follow.*)$/.test(word ?? ""));
  if (
    /^(tsc|jest|vitest|node|tsx|cargo|tailwindcss|esbuild|rollup|webpack)$/.test(name) &&
    rest.some((word) => word?.startsWith("--watch"))
  )
    return true;
  return SERVING.has(name) && !rest.some((word) => ENDS_BY_ITSELF.test(word ?? ""));
}
