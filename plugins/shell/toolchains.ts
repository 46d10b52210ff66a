// What a command may see of the programs on PATH that lie in hidden folders. A sandbox
// shows what is named here, never what lies beside it: next to `~/work/bin` are the person's other
// projects.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { isInside, isInsideAny, tryTo } from "zz/text";
import { split } from "./judge/parse-options.ts";
import { direntsOf, isFolder, real, realOf } from "./resolve-paths.ts";
import { pathFolders } from "./sandbox-limits.ts";
import { examineFolder } from "./unreadable-files.ts";

/** Lines such as `name: what it needs`. */
const parsePairs = (tableText: string): [name: string, needs: string][] =>
  tableText.split("\n").flatMap((tableLine) => {
    const [pairName = "", neededNames] = tableLine.trim().split(": ");
    return neededNames === undefined ? [] : [[pairName, neededNames]];
  });

/** Managers of versions, by their folder in the home, and what of it their programs need. */
const MANAGERS = parsePairs(`
  .nvm: versions alias nvm.sh nvm-exec
  .fnm: node-versions aliases
  .local/share/fnm: node-versions aliases
  .volta: bin tools
  .nodenv: bin libexec shims versions plugins version
  .pyenv: bin libexec shims versions plugins version
  .rbenv: bin libexec shims versions plugins version
  .plenv: bin libexec shims versions plugins version
  .phpenv: bin libexec shims versions plugins version
  .jenv: bin libexec shims versions plugins version
  .goenv: bin libexec shims versions plugins version
  .tfenv: bin lib libexec versions version
  .rvm: bin scripts rubies gems wrappers
  .asdf: bin lib libexec shims installs plugins asdf.sh
  .local/share/mise: shims installs
  .rustup: toolchains settings.toml
  .elan: bin toolchains settings.toml
  .ghcup: bin ghc
  .sdkman: bin candidates libexec src var
  .juliaup: bin
  .julia/juliaup: bin
  .swiftly: bin toolchains
  .dotnet: dotnet host sdk shared packs tools
  .deno: bin
  .bun: bin install/global/node_modules
  .local/share/pnpm: global nodejs pnpm pnpx
  .npm-global: bin lib/node_modules
  .yarn: bin
  .config/yarn/global/node_modules: .
  .local/share/pipx/venvs: .
  .local/pipx/venvs: .
  .local/share/uv: tools python`);
/**
 * rustup's programs in `.cargo/bin` are links of its own making: what they start lies elsewhere.
 */
const ALSO_NEEDED: Record<string, string> = {
  ".cargo/bin": ".rustup",
  ".juliaup/bin": ".julia/juliaup",
};

/**
 * Installations, known by a file of theirs in the folder above `bin`, and what of that folder their
 * programs need.
 */
const INSTALLATIONS = parsePairs(`
  include/node/node.h: bin lib/node_modules include/node share
  lib/node_modules/npm/package.json: bin lib/node_modules
  lib/jrt-fs.jar: bin lib conf jmods include release
  src/runtime/runtime.go: bin pkg src lib misc go.env VERSION
  pyvenv.cfg: bin lib lib64 include pyvenv.cfg
  conda-meta: bin condabin lib include share/terminfo etc/profile.d conda-meta
  lib/rustlib: bin lib libexec share etc
  lib/erlang: bin lib
  lib/ocaml: bin lib share
  lib/perl5: bin lib
  specifications: bin gems specifications extensions
  composer/installed.json: .
  libexec/git-core: bin libexec lib share
  boot/org.scala-lang: bin lib
  bin/m2.conf: bin boot conf/logging lib
  lib/gradle-launcher.jar: bin lib
  Homebrew/Library: bin sbin lib libexec opt share Cellar Homebrew include etc/ca-certificates
  Homebrew: bin sbin lib libexec opt share Cellar Homebrew include etc/ca-certificates`);
/**
 * What commands that were asked for need of a home besides programs: who the person is to git, and
 * what was downloaded before.
 */
const AT_HOME = split(`
  .gitconfig .config/git/config .config/git/ignore .config/git/attributes .gitignore
  .gitignore_global .npm/_cacache .npm/_npx .local/share/pnpm/store .pnpm-store
  .yarn/berry/cache .bun/install/cache .cargo/registry .cargo/git go/pkg/mod .m2/repository
  .gradle/caches .gradle/wrapper .ivy2/cache .nuget/packages .local/share/gem .gem/ruby
  .bundle/cache .composer/cache .hex/packages .hex/cache.ets .mix .pub-cache .stack/programs
  .stack/snapshots .stack/pantry .cabal/packages .local/lib .local/share/uv .platformio/packages
  .platformio/platforms .platformio/penv .terminfo .config/ripgrep`);
/**
 * The same in `.cache`. Beside them lie clipboards, mails, pages, and what servers answered to
 * those who had logged in.
 */
const NEEDED_CACHES = split(`
  pip pipenv pypoetry uv pdm hatch pre-commit virtualenv ruff mypy black pylint matplotlib numba
  torch huggingface/hub huggingface/datasets Cypress puppeteer ms-playwright selenium electron
  electron-builder node node-gyp yarn pnpm deno esbuild typescript turbo prisma go-build goimports
  golangci-lint staticcheck gopls sccache ccache bazel bazelisk composer coursier kotlin ghcup
  cabal rebar3 zig zls julia R vcpkg conan trunk cargo rust-analyzer jdtls fontconfig`);

/**
 * The home, for commands that were asked for: hidden but for what is known to be needed, and for
 * what the person allowed by name.
 */
export function hideHomeExceptNeeded(
  root: string,
  allowed: string[],
  isSecret: (filePath: string) => boolean,
): Shown {
  const hiddenHomes = real([os.homedir()]).filter(
    (homeFolder) => homeFolder !== "/" && !isInside(root, homeFolder),
  );
  const homeNames = [...AT_HOME, ...NEEDED_CACHES.map((cacheName) => `.cache/${cacheName}`)];
  const neededPaths = hiddenHomes.flatMap((homeFolder) =>
    homeNames.map((homeName) => path.join(homeFolder, homeName)),
  );
  const programs = toolchains(root, hiddenHomes, isSecret);
  const shownPaths = real([...neededPaths, ...allowed]).filter(
    (absolutePath) =>
      !isSecret(absolutePath) &&
      hiddenHomes.some(
        (homeFolder) => homeFolder !== absolutePath && isInside(homeFolder, absolutePath),
      ),
  );
  return {
    show: [...programs.show, ...shownPaths],
    hide: [...hiddenHomes, ...programs.hide, ...secretsIn(shownPaths, isSecret)],
  };
}

/**
 * Secret files in these folders, the nearest first. Allowing a folder does not allow its `.env`.
 */
const secretsIn = (folders: string[], isSecret: (filePath: string) => boolean): string[] =>
  folders.filter(isFolder).flatMap((folder) => secretsBelow(folder, isSecret));
function secretsBelow(folder: string, isSecret: (filePath: string) => boolean): string[] {
  const secrets: string[] = [];
  const openFolders = [folder];
  for (let i = 0; i < openFolders.length && i < MAX_FOLDERS; i++) {
    const current = openFolders[i]!;
    const { inner, secret } = examineFolder(current, isSecret, false);
    secrets.push(...secret);
    openFolders.push(
      ...inner
        .filter((innerName) => !SAMPLES.test(innerName))
        .map((innerName) => path.join(current, innerName)),
    );
  }
  return secrets;
}
/**
 * Deeper down lies what was downloaded: installations have a hundred thousand files, and each that
 * is hidden takes a mount.
 */
const MAX_FOLDERS = 200;
/** What everybody who downloads a package gets: keys to test it with. */
const SAMPLES = /^(tests?|testdata|fixtures|__pycache__)$/;

const PYTHON_LIBRARY = /^python3(?:\.\d+)?$/;
const MAX_LINKS = 2_000;

export interface Shown {
  show: string[];
  hide: string[]; // in what is shown
}

/** `hidden`: what else a command does not see; `isSecret` judges a name. */
export function toolchains(
  root: string,
  hidden: string[],
  isSecret: (filePath: string) => boolean,
): Shown {
  const homeFolders = real([os.homedir()]);
  const isTooWide = (absolutePath: string) =>
    absolutePath === "/" ||
    isInside(absolutePath, root) ||
    homeFolders.some((homeFolder) => isInside(absolutePath, homeFolder));
  const folders = real([...pathFolders(), path.dirname(process.execPath)]);
  const isHidden = (absolutePath: string) => isInsideAny(hidden, absolutePath);
  const shownPaths = new Set<string>();
  const hiddenBeside: string[] = [];
  const showPath = (absolutePath: string) => {
    if (!isTooWide(absolutePath) && fs.existsSync(absolutePath)) shownPaths.add(absolutePath);
  };
  for (const programFolder of folders) {
    if (!isFolder(programFolder) || isTooWide(programFolder) || !isHidden(programFolder)) continue;
    const neededParts = partsOf(programFolder) ?? [];
    for (const neededPart of neededParts) showPath(neededPart);
    if (!isInsideAny(neededParts, programFolder)) {
      showPath(programFolder);
      hiddenBeside.push(
        ...direntsOf(programFolder).flatMap((dirent) =>
          isProgram(programFolder, dirent) ? [] : path.join(programFolder, dirent.name),
        ),
      );
    }
    for (const linkTarget of targetsIn(programFolder))
      if (isHidden(linkTarget) && !isInsideAny([...shownPaths], linkTarget))
        for (const neededPart of partsOf(path.dirname(linkTarget)) ?? [
          packagesOf(linkTarget) ?? linkTarget,
        ])
          showPath(neededPart);
  }
  return {
    show: [...shownPaths],
    hide: [...new Set([...hiddenBeside, ...secretsIn([...shownPaths], isSecret)])],
  };
}

/**
 * What the programs of a folder need, if it belongs to something in the tables: in whatever home,
 * since HOME may name another.
 */
function partsOf(folder: string): string[] | undefined {
  for (const [binName, manager] of Object.entries(ALSO_NEEDED)) {
    if (!folder.endsWith(`/${binName}`)) continue;
    const [, neededNames] = MANAGERS.find(([managerName]) => managerName === manager)!;
    return [folder, ...needsIn(path.join(folder.slice(0, -binName.length), manager), neededNames)];
  }
  for (const [managerName, neededNames] of MANAGERS) {
    const [beforeName, ...afterName] = `${folder}/`.split(`/${managerName}/`);
    if (afterName.length)
      return [
        ...needsIn(`${beforeName}/${managerName}`, neededNames),
        ...(isBinFolder(folder) ? [folder] : []),
      ];
  }
  if (path.basename(folder) === ".bin" && path.basename(path.dirname(folder)) === "node_modules")
    return [path.dirname(folder)];
  if (!isBinFolder(folder)) return undefined;
  const installFolder = path.dirname(folder);
  const installation = INSTALLATIONS.find(([markerFile]) =>
    fs.existsSync(path.join(installFolder, markerFile)),
  );
  if (installation) return needsIn(installFolder, installation[1]);
  const pythonDirent = direntsOf(path.join(installFolder, "lib")).find(({ name }) =>
    PYTHON_LIBRARY.test(name),
  );
  const isPython =
    pythonDirent && fs.existsSync(path.join(installFolder, "lib", pythonDirent.name, "os.py"));
  return isPython
    ? [folder, path.join(installFolder, "lib"), path.join(installFolder, "include")]
    : undefined;
}

const isBinFolder = (folder: string): boolean => /^s?bin$/.test(path.basename(folder));
const needsIn = (folder: string, neededNames: string): string[] =>
  neededNames.split(" ").map((neededName) => path.join(folder, neededName));

/** A link, or a file that may be executed and does not hide. */
function isProgram(folder: string, dirent: fs.Dirent): boolean {
  if (dirent.name.startsWith(".")) return false;
  if (dirent.isSymbolicLink()) return true;
  const fileMode =
    dirent.isFile() && fs.statSync(path.join(folder, dirent.name), { throwIfNoEntry: false })?.mode;
  return Boolean(fileMode && fileMode & 0o111);
}

/** Where the links in a folder lead. */
const targetsIn = (folder: string): string[] =>
  direntsOf(folder)
    .filter((dirent) => dirent.isSymbolicLink())
    .slice(0, MAX_LINKS)
    .flatMap(({ name }) => realOf(path.join(folder, name)) ?? [])
    .filter((linkTarget) => tryTo(() => fs.statSync(linkTarget).isFile()) === true);

/** A program in packages of Node needs those around it. */
const packagesOf = (programFile: string): string | undefined =>
  /^.*?\/node_modules(?=\/)/.exec(programFile)?.[0];
