// beyond: commands whose work an overlay of the project cannot hold: they are asked for beforehand.
import path from "node:path";
import { gitParts } from "./judge/git-commands.ts";
import type { Simple } from "./judge/index.ts";

const words = (text: string): Set<string> => new Set(text.split(" "));

/** They reach other machines, other processes, services, or the person's own places. */
const PROGRAMS = words(
  "curl wget ssh scp sftp rsync nc ncat netcat telnet ftp ping dig nslookup host gh glab hub aws gcloud az kubectl helm " +
    "terraform docker podman docker-compose vagrant apt apt-get dpkg yum dnf apk pacman brew snap systemctl service " +
    "journalctl crontab at kill pkill killall xdg-open open code vim vi nano emacs less more man top htop watch " +
    "serve http-server live-server nodemon ngrok uvicorn gunicorn redis-server mongod postgres psql mysql",
);

/** Of programs that also do other things, the words that follow. */
const SUBCOMMANDS: Record<string, Set<string>> = {
  npm: words("install i ci add update up upgrade create init publish login audit outdated view info start link exec"),
  pnpm: words("install i add update up upgrade create publish audit outdated dlx start link"),
  yarn: words("install add up upgrade create publish audit outdated dlx start link"),
  bun: words("install i add update upgrade create publish x"),
  pip: words("install download"),
  pip3: words("install download"),
  uv: words("sync add pip lock"),
  poetry: words("install add update lock publish"),
  cargo: words("install add update fetch publish login search"),
  go: words("get install"),
  gem: words("install update push"),
  bundle: words("install update"),
  composer: words("install update require"),
};
const SERVER = /^(start|dev|serve|watch|preview)(:|$)/;

export function goesBeyond({ words: [program, ...rest], verdict }: Simple): boolean {
  if (program === undefined) return false;
  const name = path.basename(program);
  if (/^git(-|$)/.test(name)) return verdict !== "allow" && gitParts(rest, (word) => word)[1] !== "clean";
  if (PROGRAMS.has(name)) return true;
  const [first, second] = rest.filter((word) => word !== undefined && !word.startsWith("-"));
  if (name === "yarn" && first === undefined) return true; // it installs
  if (first !== undefined && SUBCOMMANDS[name]?.has(first)) return true;
  if (/^(npm|pnpm|yarn|bun)$/.test(name)) return SERVER.test(first === "run" ? (second ?? "") : (first ?? ""));
  if (/^python[\d.]*$/.test(name)) return rest.includes("http.server") || rest.includes("pip");
  return (
    /^(vite|next|nuxt|astro|webpack-dev-server|flask|rails|hugo|jekyll)$/.test(name) &&
    !/^(build|optimize)$/.test(first ?? "")
  );
}
