// Commands in the forms of other programs: a list of words, a folder to run in, a limit in seconds,
// or a patch.
import { basename, posix } from "node:path";
import { tryTo } from "zz/text";
import { type Args, bareName, bareNames, hasOwnName, withoutFolder } from "./rename-arguments.ts";
import type { AskedCall, GivenCall } from "./values.ts";

const FOLDERS = bareNames(
  "workdir cwd cd directory dir_path working_directory working_dir folder dir exec_dir",
);
const SECONDS = bareNames("timeout_seconds timeout_secs timeout_sec timeout_s");
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
    return (
      "there is nothing to restart, " +
      "since each command runs in a shell of its own. Send a command."
    );
  const timeProblem = hasOwnName(tool, "timeout") ? undefined : setTimeLimit(args, name);
  if (timeProblem) return timeProblem;
  const folderKey = Object.keys(args).find(
    (candidate) => FOLDERS.includes(bareName(candidate)) && !hasOwnName(tool, candidate),
  );
  const workFolder = folderKey === undefined ? "" : withoutFolder(args[folderKey], ctx.root);
  if (typeof workFolder !== "string") return `${folderKey} must be the name of a folder.`;
  if (folderKey) delete args[folderKey];
  const commandWords = wordsOf(args.command);
  const command = commandWords ? buildLine(commandWords) : args.command;
  if (typeof command !== "string" || !command.trim())
    return commandWords && "command is empty. Give one.";
  const patchArgs =
    tools.some((tool) => tool.name === "apply_patch") && patchOf(commandWords, command, workFolder);
  if (patchArgs) return typeof patchArgs === "string" ? patchArgs : [["apply_patch", patchArgs]];
  args.command = inFolder(workFolder, command);
  return undefined;
}

function setTimeLimit(args: Args, toolName: string): string | undefined {
  const timeKey = Object.keys(args).find(
    (candidate) => bareName(candidate) === "timeout" || SECONDS.includes(bareName(candidate)),
  );
  if (!timeKey || args.timeout_ms !== undefined) return undefined;
  const timeLimit = Number(args[timeKey]);
  if (typeof args[timeKey] === "object" || !Number.isFinite(timeLimit))
    return `${timeKey} must be a number.`;
  const isSeconds =
    SECONDS.includes(bareName(timeKey)) || IN_SECONDS.includes(toolName) || timeLimit < LEAST_MS;
  delete args[timeKey];
  args.timeout_ms = Math.round(timeLimit * (isSeconds ? 1_000 : 1));
  return undefined;
}

/** The words of a command such as ["ls", "my file"], also as JSON in a text. */
function wordsOf(command: unknown): string[] | undefined {
  const wordList =
    typeof command === "string" && /^\s*\["/.test(command)
      ? tryTo(() => JSON.parse(command))
      : command;
  return Array.isArray(wordList) && wordList.every((word) => typeof word === "string")
    ? wordList
    : undefined;
}

/**
 * A command line for exactly these words. Of `bash -c LINE` and the like, it is the line itself.
 */
function buildLine(commandWords: string[]): string {
  const [shellName = "", shellFlag = "", shellScript = ""] = commandWords;
  const isShell =
    ["bash", "sh"].includes(basename(shellName)) &&
    /^-(c|lc|cl)$/.test(shellFlag) &&
    commandWords.length === 3;
  return isShell ? shellScript : commandWords.map(quoteWord).join(" ");
}

const PLAIN_WORD = /^[\w@%+:,./-]+$/;
const KEYWORDS =
  "if then else elif fi do done case esac while until for in function select time coproc".split(
    " ",
  );
function quoteWord(commandWord: string, wordIndex: number): string {
  if (PLAIN_WORD.test(commandWord) && (wordIndex || !KEYWORDS.includes(commandWord)))
    return commandWord;
  return `'${commandWord.replaceAll("'", `'\\''`)}'`;
}

/** The command with `cd` in front, so that the question and the judge see the folder. */
function inFolder(workFolder: string, command: string): string {
  if (!workFolder.trim() || /^\.\/*$/.test(workFolder)) return command;
  const folderPath = workFolder.startsWith("-") ? `./${workFolder}` : workFolder;
  const cdCommand = `cd ${quoteWord(folderPath, 1)}`;
  return /[\n;&]|\|\|/.test(command)
    ? `${cdCommand} && {\n${command}\n}`
    : `${cdCommand} && ${command}`;
}

const CD_BEFORE = String.raw`(?:cd\s+(?<cd>[\w./-]+)\s*&&\s*)?`;
const HEREDOC = new RegExp(
  String.raw`^\s*${CD_BEFORE}apply_?patch\s*<<-?\s*(['"]?)(?<end>\w+)\2[^\S\n]*\n` +
    String.raw`(?<patch>[\s\S]*?)\n\k<end>\s*$`,
  "i",
);

/** The patch, if the command does nothing but apply one. */
function patchOf(
  commandWords: string[] | undefined,
  command: string,
  workFolder: string,
): Args | string | undefined {
  if (commandWords?.length === 2 && /^apply_?patch$/i.test(commandWords[0]!))
    return { patch: patchBelow(workFolder, commandWords[1]!) };
  const { cd, patch } = HEREDOC.exec(command)?.groups ?? {};
  if (patch !== undefined)
    return { patch: patchBelow(posix.join(workFolder || ".", cd ?? "."), patch) };
  return /^\s*(cd\s+\S+\s*&&\s*)?apply_?patch\b(?!\.)/i.test(command)
    ? "apply_patch is a tool of its own here, not a command. Call it with the patch."
    : undefined;
}

/** The patch with its paths put below a folder. */
function patchBelow(workFolder: string, patchText: string): string {
  if (!workFolder || /^\.\/*$/.test(workFolder)) return patchText;
  const movePath = (_: string, lineHead: string, filePath: string) =>
    lineHead + (filePath.startsWith("/") ? filePath : posix.join(workFolder, filePath));
  return patchText.replace(
    /^(\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: )(.+)$/gm,
    movePath,
  );
}
