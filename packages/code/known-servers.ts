// Which language server knows which files, and what each needs. TypeScript's own comes with zz; the
// others are found on the PATH, outside of the project, and run in the sandbox, without network.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { tryTo } from "zz/text";

export interface ServerKind {
  name: string; // as it is called in sentences
  files: Record<string, string>; // endings, and what the protocol calls such a file
  program: string; // "": comes with zz
  args?: string[];
  install: string; // what to do where it is missing
  // so that it writes to the sandbox's own /tmp, and waits for no network
  env?: Record<string, string>;
  options?: object; // sent at its start
  settings?: (section: string) => unknown;
}

const SCRIPTS = {
  ts: "typescript",
  mts: "typescript",
  cts: "typescript",
  tsx: "typescriptreact",
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  jsx: "javascriptreact",
};
const C_FILES = {
  c: "c",
  h: "cpp",
  cc: "cpp",
  cpp: "cpp",
  cxx: "cpp",
  hh: "cpp",
  hpp: "cpp",
  hxx: "cpp",
};

export const TYPESCRIPT: ServerKind = {
  name: "TypeScript's language server",
  files: SCRIPTS,
  program: "",
  install: "npm install of zz without --omit=optional brings it",
  // a third faster until a project is read; after hours it keeps less garbage than without a limit
  env: { GOGC: "400", GOMEMLIMIT: "3GiB" },
  settings: () => ({
    preferences: { includePackageJsonAutoImports: "off" },
    tsserver: { automaticTypeAcquisition: { enabled: false } }, // it would start npm
  }),
};

const SERVERS: ServerKind[] = [
  TYPESCRIPT,
  {
    name: "gopls",
    files: { go: "go" },
    program: "gopls",
    install: "go install golang.org/x/tools/gopls@latest",
    env: { GOCACHE: "/tmp/go-build", GOPROXY: "off", GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" },
  },
  {
    name: "rust-analyzer", // runs build scripts and macros of the project
    files: { rs: "rust" },
    program: "rust-analyzer",
    install: "rustup component add rust-analyzer rust-src",
    env: { CARGO_TARGET_DIR: "/tmp/target", CARGO_NET_OFFLINE: "true" },
  },
  {
    name: "pyright",
    files: { py: "python", pyi: "python" },
    program: "pyright-langserver",
    args: ["--stdio"],
    install: "npm install -g pyright",
  },
  {
    name: "clangd",
    files: C_FILES,
    program: "clangd",
    args: ["--log=error"],
    install: "apt-get install clangd",
  },
  {
    name: "jdtls", // runs Gradle and Maven of the project
    files: { java: "java" },
    program: "jdtls",
    args: ["-data", "/tmp/jdtls"],
    install: "Eclipse JDT Language Server, with Java 21",
    env: { GRADLE_USER_HOME: "/tmp/gradle" },
  },
  { name: "ruby-lsp", files: { rb: "ruby" }, program: "ruby-lsp", install: "gem install ruby-lsp" },
  {
    name: "intelephense",
    files: { php: "php" },
    program: "intelephense",
    args: ["--stdio"],
    install: "npm install -g intelephense",
  },
  {
    name: "csharp-ls",
    files: { cs: "csharp" },
    program: "csharp-ls",
    install: "dotnet tool install -g csharp-ls",
  },
  {
    name: "sourcekit-lsp",
    files: { swift: "swift" },
    program: "sourcekit-lsp",
    install: "comes with Swift",
  },
  {
    name: "lua-language-server",
    files: { lua: "lua" },
    program: "lua-language-server",
    install: "github.com/LuaLS/lua-language-server",
  },
  {
    name: "kotlin-language-server",
    files: { kt: "kotlin", kts: "kotlin" },
    program: "kotlin-language-server",
    install: "github.com/fwcd/kotlin-language-server",
  },
];

const endingOf = (sourceFile: string): string => path.extname(sourceFile).slice(1).toLowerCase();
export const languageIdOf = ({ files }: ServerKind, sourceFile: string): string =>
  files[endingOf(sourceFile)] ?? "plaintext";
export const serverFor = (sourceFile: string): ServerKind | undefined =>
  SERVERS.find(({ files }) => Object.hasOwn(files, endingOf(sourceFile)));

/**
 * TypeScript's program in zz's own packages, never one of the project's; undefined: it was left
 * out.
 */
export function ownTypescript(): { folder: string; program: string; starter: string } | undefined {
  return tryTo(() => {
    const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
    const { version } = JSON.parse(fs.readFileSync(manifest, "utf8"));
    if (Number.parseInt(version, 10) < 7) throw new Error("no server is in it");
    const platform = `@typescript/typescript-${process.platform}-${process.arch}/package.json`;
    const platformFolder = path.dirname(createRequire(manifest).resolve(platform));
    const program = path.join(
      platformFolder,
      "lib",
      process.platform === "win32" ? "tsc.exe" : "tsc",
    );
    fs.accessSync(program, fs.constants.X_OK);
    return {
      folder: fs.realpathSync(platformFolder),
      program,
      starter: path.join(manifest, "../bin/tsc"),
    };
  });
}
