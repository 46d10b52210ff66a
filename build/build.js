// `npm run build`: the program, the types that plugins see (which checks all types), and the one
// file. A step is left out where all that goes into it and all that came of it are as they were;
// `npm run build -- --all` leaves none out, and `npm run build -- --without=mcp,acp` builds zz
// without these packages (`--without`: without any).
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

process.chdir(join(import.meta.dirname, ".."));
const STAMPS = "dist/built.json";
const SOURCE = [
  "zz.ts",
  "kernel",
  "sdk",
  "plugins",
  "packages",
  "build",
  "package.json",
  "tsconfig.json",
  "node_modules/.package-lock.json",
];
const TSC = ["node_modules/typescript/bin/tsc", "-p", "tsconfig.json"];

/**
 * `from` is what goes into a step, `gives` what comes of it: files, folders, or patterns of names
 * in a folder.
 */
const STEPS = {
  program: {
    run: ["build/program.js", ...process.argv.filter((word) => word.startsWith("--without"))],
    from: SOURCE,
    gives: ["dist/chunks", "dist/grammars", ["dist", /\.(js|wasm)$|^plugins\.json$/]],
  },
  types: {
    run: [
      ...TSC,
      ..."--noEmit false --emitDeclarationOnly --declaration --outDir dist/types".split(" "),
    ],
    from: [...SOURCE, "test"],
    gives: ["dist/types/zz.d.ts", "dist/types/kernel", "dist/types/sdk"],
    clears: "dist/types",
  },
  file: {
    run: ["build/single-file.js"],
    from: [...SOURCE, "prompts", "LICENSE"],
    gives: ["dist/zz.mjs"],
  },
};

function filesOf(source) {
  const [folder, names] = Array.isArray(source) ? source : [source];
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (!stat) return [`${folder} is not there`];
  if (!stat.isDirectory()) return [folder];
  return readdirSync(folder, { recursive: !names, withFileTypes: true })
    .filter((dirent) => dirent.isFile() && (!names || names.test(dirent.name)))
    .map((dirent) => join(dirent.parentPath, dirent.name))
    .sort();
}

function stampOf({ run, from, gives }) {
  const hash = createHash("sha256").update(`${process.version} ${run.join(" ")}`);
  for (const name of [...from, ...gives].flatMap(filesOf)) {
    const content = statSync(name, { throwIfNoEntry: false }) ? readFileSync(name) : "";
    hash.update(`\0${name}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

function stamps() {
  try {
    return JSON.parse(readFileSync(STAMPS, "utf8"));
  } catch {
    return {}; // never built, or damaged: all is built
  }
}

/** Ends this process with the exit code of a step that fails. */
async function build(name) {
  const step = STEPS[name];
  if (!process.argv.includes("--all") && stamps()[name] === stampOf(step)) return;
  if (step.clears) rmSync(step.clears, { recursive: true, force: true });
  const child = spawn(process.execPath, step.run, { stdio: "inherit" });
  const code = await new Promise((done) => child.on("close", done));
  if (code !== 0) process.exit(code ?? 1);
  writeFileSync(STAMPS, JSON.stringify({ ...stamps(), [name]: stampOf(step) }));
}

if (process.argv.includes("--all")) rmSync(STAMPS, { force: true });
await build("program");
await build("types");
await build("file");
