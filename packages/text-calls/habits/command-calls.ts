// Commands in the forms of other programs: a list of words, a folder to run in, a limit in seconds,
// or a patch.
import { basename, posix } from "node:path";
import { tryTo } from "zz/text";
import { type Args, bareName, hasOwnName, withoutFolder } from "./rename-arguments.ts";
import type { AskedCall, GivenCall } from "./values.ts";

const FOLDERS = [
  "workdir",
  "cwd",
  "cd",
  "directory",
  "dir_path",
  "working_directory",
  "working_dir",
  "folder",
  "dir",
  "exec_dir",
].map(bareName);
const SECONDS = ["timeout_seconds", "timeout_secs", "timeout_sec", "timeout_s"].map(bareName);
// tools whose timeout is in seconds
const IN_SECONDS = ["executebash", "executecommand", "terminal"];
const LEAST_MS = 1_000; // a smaller timeout counts as seconds

export function commandCall({
  args,
  name,
  tool,
  tools,
  ctx,
}: GivenCall): AskedCall[] | string | undefined {
  if (args.command === undefined && args.restart === true)
    return "there is nothing to restart, since each command runs in a shell of its own. Send a command.";
  const wrong = hasOwnName(tool, "timeout") ? undefined : setTimeLimit(args, name);
  if (wrong) return wrong;
  const key = Object.keys(args).find(
    (candidate) => FOLDERS.includes(bareName(candidate)) && !hasOwnName(tool, candidate),
  );
  const folder = key === undefined ? "" : withoutFolder(args[key], ctx.root);
  if (typeof folder !== "string") return `${key} must be the name of a folder.`;
  if (key) delete args[key];
  const words = wordsOf(args.command);
  const command = words ? lineOf(words) : args.command;
  if (typeof command !== "string" || !command.trim()) return words && "command is empty. Give one.";
  const patch =
    tools.some((tool) => tool.name === "apply_patch") && patchOf(words, command, folder);
  if (patch) return typeof patch === "string" ? patch : [["apply_patch", patch]];
  args.command = inFolder(folder, command);
  return undefined;
}

function setTimeLimit(args: Args, name: string): string | undefined {
  const key = Object.keys(args).find(
    (candidate) => bareName(candidate) === "timeout" || SECONDS.includes(bareName(candidate)),
  );
  if (!key || args.timeout_ms !== undefined) return undefined;
  const limit = Number(args[key]);
  if (typeof args[key] === "object" || !Number.isFinite(limit)) return `${key} must be a number.`;
  const isSeconds =
    SECONDS.includes(bareName(key)) || IN_SECONDS.includes(name) || limit < LEAST_MS;
  delete args[key];
  args.timeout_ms = Math.round(limit * (isSeconds ? 1_000 : 1));
  return undefined;
}

/** The words of a command such as ["ls", "my file"], also as JSON in a text. */
function wordsOf(command: unknown): string[] | undefined {
  const list =
    typeof command === "string" && /^\s*\["/.test(command)
      ? tryTo(() => JSON.parse(command))
      : command;
  return Array.isArray(list) && list.every((word) => typeof word === "string") ? list : undefined;
}

/**
 * A command line for exactly these words. Of `bash -c LINE` and the like, it is the line itself.
 */
function lineOf(words: string[]): string {
  const [shell = "", flag = "", script = ""] = words;
  const isShell =
    ["bash", "sh"].includes(basename(shell)) && /^-(c|lc|cl)$/.test(flag) && words.length === 3;
  return isShell ? script : words.map(quoteWord).join(" ");
}

const PLAIN = /^[\w@%+:,./-]+$/;
const KEYWORDS =
  "if then else elif fi do done case esac while until for in function select time coproc".split(
    " ",
  );
function quoteWord(word: string, index: number): string {
  if (PLAIN.test(word) && (index || !KEYWORDS.includes(word))) return word;
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The command with `cd` in front, so that the question and the judge see the folder. */
function inFolder(folder: string, command: string): string {
  if (!folder.trim() || /^\.\/*$/.test(folder)) return command;
  const enter = `cd ${quoteWord(folder.startsWith("-") ? `./${folder}` : folder, 1)}`;
  return /[\n;&]|\|\|/.test(command) ? `${enter} && {\n${command}\n}` : `${enter} && ${command}`;
}

const HEREDOC =
  /^\s*(?:cd\s+(?<cd>[\w./-]+)\s*&&\s*)?apply_?patch\s*<<-?\s*(['"]?)(?<end>\w+)\2[^\S\n]*\n(?<patch>[\s\S]*?)\n\k<end>\s*$/i;

/** The patch, if the command does nothing but apply one. */
function patchOf(
  words: string[] | undefined,
  command: string,
  folder: string,
): Args | string | undefined {
  if (words?.length === 2 && /^apply_?patch$/i.test(words[0]!))
    return { patch: patchBelow(folder, words[1]!) };
  const { cd, patch } = HEREDOC.exec(command)?.groups ?? {};
  if (patch !== undefined)
    return { patch: patchBelow(posix.join(folder || ".", cd ?? "."), patch) };
  return /^\s*(cd\s+\S+\s*&&\s*)?apply_?patch\b(?!\.)/i.test(command)
    ? "apply_patch is a tool of its own here, not a command. Call it with the patch."
    : undefined;
}

/** The patch with its paths put below a folder. */
function patchBelow(folder: string, patch: string): string {
  if (!folder || /^\.\/*$/.test(folder)) return patch;
  const inside = (_: string, head: string, path: string) =>
    head + (path.startsWith("/") ? path : posix.join(folder, path));
  return patch.replace(/^(\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: )(.+)$/gm, inside);
}
