// The options of an instance, as the flags of the command line name them.
import fs from "node:fs";
import path from "node:path";
import { type Io, KINDS, type Kind, type Rules } from "../contract.ts";
import { loadPrompts } from "../conversation/system-prompt.ts";
import { repositoryAround } from "../gate/sensitive-paths.ts";
import { projectExtras } from "../gate/trust.ts";
import type { Core, Options } from "../instance.ts";
import { allFlags } from "../settings/flag-table.ts";
import { readSettings } from "../settings/settings-files.ts";
import { homeFolder } from "../system/installation.ts";
import { say } from "../system/streams.ts";
import { dropUnusableTmpdir } from "../system/temporary-files.ts";
import { usage } from "../text/faults.ts";
import { jsonOrText, tryTo } from "../text/words.ts";
import { allValues, type CommandLine, lastValue, parseFlags } from "./parse-flags.ts";

export function resolveRoot({ root }: Options, io: Io): string {
  const realRoot = tryTo(() => fs.realpathSync(root ?? io.cwd()));
  if (realRoot && fs.statSync(realRoot).isDirectory()) return realRoot;
  const goneMessage =
    "Cannot work here: the folder is gone. Change to another, or name one with --cwd.";
  throw usage(
    root === undefined ? goneMessage : `Cannot work in '${root}': no such folder. Check the path.`,
  );
}

/** What holds before anything is read: the folder, and how the output looks. */
export function obeyEarlyFlags(cli: CommandLine, io: Io): void {
  if (cli.values.has("clean")) io.clean = true;
  if (cli.values.has("no-color")) io.env.NO_COLOR = "1";
  const namedFolder = lastValue(cli, "cwd");
  if (namedFolder === undefined) return;
  const folder = path.resolve(io.cwd(), namedFolder);
  if (!tryTo(() => fs.statSync(folder))?.isDirectory())
    throw usage(`Cannot use --cwd '${namedFolder}': no such folder, or none that you may enter.`);
  io.enter(folder);
  const tmpdirFault = dropUnusableTmpdir(tryTo(() => fs.realpathSync(io.cwd())) ?? "/gone", io.env);
  if (tmpdirFault) say(io, tmpdirFault);
}

function pathOf(cli: CommandLine, flagName: string, io: Io): string | undefined {
  const namedPath = lastValue(cli, flagName);
  return namedPath === undefined ? undefined : path.resolve(io.cwd(), namedPath);
}

/** What the home and the project set; the project is the folder, or the repository around it. */
async function settingsNear(cli: CommandLine, io: Io, home: string) {
  const realFolder = tryTo(() => fs.realpathSync(io.cwd())); // createZz() reports one that is gone
  const config = pathOf(cli, "config", io);
  const nearSettings = await readSettingsIn(realFolder);
  const hasWideScope =
    realFolder &&
    !cli.values.has("cwd") &&
    nearSettings.sources.home.project?.scope === "repository";
  const root = (hasWideScope && repositoryAround(realFolder)) || realFolder;
  return { root, config, read: root === realFolder ? nearSettings : await readSettingsIn(root) };

  function readSettingsIn(root: string | undefined) {
    const isBare = root === undefined || cli.values.has("no-plugins");
    const brought = !isBare && projectExtras({ root, home });
    return readSettings({ home, root, config, brought });
  }
}

export async function optionsFromFlags(
  cli: CommandLine,
  io: Io,
): Promise<Options & { home: string; io: Io }> {
  const hasFlag = (flagName: string) => cli.values.has(flagName);
  for (const flagName of ["model", "session", "base-url", "home", "config", "cwd"])
    if (lastValue(cli, flagName) === "")
      throw usage(`Flag --${flagName} has an empty value. Give it one, or leave it out.`);
  const home = pathOf(cli, "home", io) ?? homeFolder(io.env);
  const { root, config, read } = await settingsNear(cli, io, home);
  return {
    io,
    home,
    ...(root && { root }),
    ...(config && { config }),
    ...read,
    plugins: allValues(cli, "plugin"),
    own: !hasFlag("no-plugins"),
    given: cli.unknown,
    model: modelOfFlags(cli),
    baseUrl: lastValue(cli, "base-url"),
    key: lastValue(cli, "key"),
    system: lastValue(cli, "system"),
    options: Object.fromEntries(allValues(cli, "option").map(parseOption)),
    tools: hasFlag("no-tools") ? false : allValues(cli, "tool"),
    rounds: roundsOf(cli),
    save: !hasFlag("no-session") && !hasFlag("dry-run"),
    raw: hasFlag("raw"),
    rendered: hasFlag("rendered"),
    usage: hasFlag("usage"),
    quiet: hasFlag("quiet"),
    prompt: !hasFlag("no-prompt"),
    dry: hasFlag("dry-run"),
    allow: rulesOf(cli, "allow"),
    named: namedBesideAll(cli),
    deny: rulesOf(cli, "deny"),
  };
}

/** A flag without a list covers less than one that names, for instance, a file elsewhere. */
function namedBesideAll(cli: CommandLine): Rules {
  const namesByKind = KINDS.map(
    (needKind) => [needKind, allValues(cli, `allow-${needKind}`)] as const,
  );
  const isAllAllowed = (needKind: Kind) =>
    cli.values.has("allow-all") || cli.values.get(`allow-${needKind}`)?.includes(true);
  return Object.fromEntries(
    namesByKind
      .filter(([needKind, listedNames]) => listedNames.length && isAllAllowed(needKind))
      .map(([needKind, listedNames]) => [needKind, namesIn(listedNames)]),
  );
}
const namesIn = (lists: string[]): string[] =>
  lists.flatMap((joinedNames) => joinedNames.split(",").filter(Boolean));

function rulesOf(cli: CommandLine, ruleVerb: "allow" | "deny"): Rules {
  const flagRules: Rules = {};
  for (const needKind of KINDS) {
    const flagValues = cli.values.get(`${ruleVerb}-${needKind}`);
    if (flagValues?.includes(true)) flagRules[needKind] = true;
    else if (flagValues) flagRules[needKind] = namesIn(flagValues as string[]);
    if (Array.isArray(flagRules[needKind]) && !flagRules[needKind].length)
      throw usage(
        `Flag --${ruleVerb}-${needKind} has an empty list. Name something, or leave out the '='.`,
      );
    else if (ruleVerb === "allow" && cli.values.has("allow-all")) flagRules[needKind] = true;
  }
  return flagRules;
}

/**
 * `--provider NAME` says which provider `--model` belongs to; alone, it stands for that provider's
 * first model.
 */
function modelOfFlags(cli: CommandLine): string | undefined {
  const [modelName, provider] = [lastValue(cli, "model"), lastValue(cli, "provider")];
  if (!provider || modelName?.startsWith(`${provider}/`)) return modelName;
  return modelName ? `${provider}/${modelName}` : provider;
}

/** Reads the command line again, with the flags that a plugin's flag stands for in front. */
export async function parseAgainWith(
  core: Core,
  addedFlags: string[],
  argv: string[],
): Promise<CommandLine> {
  const cli = parseFlags([...addedFlags, ...argv], allFlags(core));
  const { model, system, options, tools } = await optionsFromFlags(cli, core.io);
  Object.assign(core.options, { model, system, options, tools });
  core.prompts.stamps = ""; // --system is a layer, so the prompts are loaded again
  loadPrompts(core);
  return cli;
}

function roundsOf(cli: CommandLine): number | undefined {
  const valueText = lastValue(cli, "rounds");
  const rounds = valueText ? Number(valueText) : undefined;
  if (rounds === undefined || (Number.isInteger(rounds) && rounds >= 0)) return rounds;
  throw usage(`Cannot use --rounds '${valueText}': it takes a whole number from 0.`);
}

/** Splits `key=value`; the value is JSON if it parses, else text. */
function parseOption(optionText: string): [string, unknown] {
  const equalsIndex = optionText.indexOf("=");
  if (equalsIndex < 1)
    throw usage(
      `Cannot use -o ${optionText}: it takes a name and a value, as in -o temperature 0.`,
    );
  return [optionText.slice(0, equalsIndex), jsonOrText(optionText.slice(equalsIndex + 1))];
}
