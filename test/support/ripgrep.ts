// ripgrep for the tests, from npm. zz starts no program in a node_modules, so PATH leads to a copy
// outside.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rgPath } from "@vscode/ripgrep";

/** The folder that holds only the copy, made once for each version. */
function folderOfCopy(): string {
  const about = join(
    dirname(fileURLToPath(import.meta.resolve("@vscode/ripgrep"))),
    "..",
    "package.json",
  );
  const { version } = JSON.parse(readFileSync(about, "utf8"));
  const folder = join(tmpdir(), `zz-ripgrep-${version}-${userInfo().uid}`);
  const file = join(folder, process.platform === "win32" ? "rg.exe" : "rg");
  if (existsSync(file)) return folder;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const whole = `${file}.${process.pid}`;
  copyFileSync(rgPath, whole);
  chmodSync(whole, 0o755);
  renameSync(whole, file);
  return folder;
}

const folder = folderOfCopy();
if (!process.env.PATH?.split(delimiter).includes(folder))
  process.env.PATH = `${folder}${delimiter}${process.env.PATH}`;
