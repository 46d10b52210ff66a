// Prompt files: layers and templates in Markdown, with front matter.
import path from "node:path";
import type { Ctx } from "../contract.ts";
import { isTrusted } from "../gate/trust.ts";
import { type Core, IDENTIFIER } from "../instance.ts";
import { sourcesOf } from "../settings/settings-files.ts";
import { PACKAGE_FOLDER } from "../system/installation.ts";
import { say } from "../system/streams.ts";
import { unknown } from "../text/did-you-mean.ts";
import { usage } from "../text/faults.ts";
import { entriesOf, textOf } from "../text/read-quietly.ts";

/** zz's own, the team's, the home's and the project's; of the second and last the trusted ones. */
export function promptFiles(core: Core): string[] {
  const { home, root } = core.options;
  const filesIn = (parentFolder: string) => filesOf(path.join(parentFolder, "prompts"));
  const zzFiles = filesIn(PACKAGE_FOLDER).sort();
  const homeFiles = home === PACKAGE_FOLDER ? [] : filesIn(home).sort();
  const teamFiles = sourcesOf(core.options).team?.prompts ?? [];
  const project = [
    ...OTHER_AGENTS.flatMap((agentFolder) =>
      filesOf(path.join(root, agentFolder, "commands")),
    ).sort(),
    ...filesIn(path.join(root, ".zz")).sort(),
  ].filter((projectFile) => isTrusted(core, projectFile));
  return [...zzFiles, ...teamFiles, ...homeFiles, ...project].filter((promptPath) =>
    promptPath.endsWith(".md"),
  );
}
/** Folders whose commands/ have the files of Claude Code. */
const OTHER_AGENTS = [".agents", ".claude"];
const filesOf = (promptFolder: string): string[] =>
  entriesOf(promptFolder).map((fileName) => path.join(promptFolder, fileName));

type Prompt = { head: Record<string, string>; body: string };
export type PromptFile = Prompt & { name: string; file: string };
/** On a name clash the nearer file wins. */
export function readPrompts(promptPaths: string[]): PromptFile[] {
  const parsedPrompts = promptPaths.map((file) => ({ file, ...promptOf(file) }));
  const prompts = parsedPrompts.map((prompt) => ({
    ...prompt,
    name: prompt.head.name ?? path.basename(prompt.file, ".md"),
  }));
  return [...new Map(prompts.map((prompt) => [prompt.name, prompt])).values()];
}

function promptOf(promptPath: string): Prompt {
  const prompt = frontMatter(textOf(promptPath));
  return path.basename(path.dirname(promptPath)) === "commands" ? commandOf(prompt) : prompt;
}

/** A command of Claude Code: its description may be absent, and $ARGUMENTS is all words. */
function commandOf({ head, body }: Prompt): Prompt {
  const { description = body.split("\n")[0]!.replace(/^#+ /, "") } = head;
  const usage = head["argument-hint"] ?? "";
  return { head: { description, usage }, body: body.replaceAll("$ARGUMENTS", "$@") };
}

/**
 * A Markdown file in prompts/ with a description but no slot is a command that sends it. The home's
 * win over zz's.
 */
export function addTemplates(core: Core, prompts: PromptFile[]): void {
  for (const { file, name, head, body } of prompts) {
    const { slot, description, usage, example } = head;
    if (slot || !description) continue;
    const commandOwner = core.commands.get(name)?.owner;
    const reason = IDENTIFIER.test(name)
      ? commandOwner && commandOwner !== TEMPLATE_OWNER && `'${commandOwner}' has it already`
      : "no command has such a name";
    if (reason)
      say(core.io, `Cannot make '/${name}' of '${file}': ${reason}. Give it another name.`);
    const template = {
      head,
      fill: (typedWords: string, namedValues = {}) =>
        fillTemplate(body, typedWords, namedValues, name),
    };
    const run = (typedWords: string, { chat }: Ctx) => chat.send(template.fill(typedWords));
    const value = {
      name,
      description,
      usage,
      examples: example ? { [example]: description } : {},
      group: TEMPLATE_OWNER,
      template,
      run,
    };
    if (!reason) core.commands.set(name, { owner: TEMPLATE_OWNER, value });
  }
}
export const TEMPLATE_OWNER = "templates";

/** `$1` to `$9` are the words, `$@` is all of them, `$lang` is the value given as lang=german,
 * `${1:-else}` has a default. Unused words are appended. `$$lang` is left as it is. */
export function fillTemplate(
  templateBody: string,
  typedWords: string,
  namedValues: Record<string, string> = {},
  command = "",
): string {
  const placeNames = new Set(
    [...templateBody.matchAll(PLACEHOLDER)].map(([, escaped, bracedName, , bareName]) =>
      escaped ? "" : (bracedName ?? bareName ?? ""),
    ),
  );
  const valuesByName = new Map(Object.entries(namedValues));
  const plainWords: string[] = [];
  const unnamedWords = typedWords.replace(
    /(?:([a-z]\w{0,63})=)?(?:"([^"]*)"|'([^']*)'|(\S+))/g,
    (argument, argumentName, doubleQuoted, singleQuoted, unquoted) => {
      const argumentValue = doubleQuoted ?? singleQuoted ?? unquoted;
      if (placeNames.has(argumentName)) valuesByName.set(argumentName, argumentValue);
      else plainWords.push(argumentName ? argument : argumentValue);
      return placeNames.has(argumentName) ? "" : argument;
    },
  );
  const missing: string[] = [];
  const filledText = templateBody.replace(
    PLACEHOLDER,
    (placeholder, escaped, bracedName, otherwise, bareName) => {
      if (escaped) return placeholder.slice(1);
      const placeName = bracedName ?? bareName;
      const placeValue =
        (placeName === "@"
          ? unnamedWords.trim()
          : (valuesByName.get(placeName) ?? plainWords[placeName - 1])) || otherwise;
      if (placeValue === undefined && /^[a-z]/.test(placeName) && !missing.includes(placeName))
        missing.push(placeName);
      return placeValue ?? "";
    },
  );
  const namedPlaces = [...placeNames].filter((placeholder) => /^[a-z]/.test(placeholder));
  const strayName = [...valuesByName.keys()].find((valueName) => !namedPlaces.includes(valueName));
  const strayReason =
    strayName &&
    unknown(
      "place",
      strayName,
      namedPlaces,
      namedPlaces.length ? undefined : "It has none with a name.",
    );
  const remedy =
    `it needs ${missing.join(" and ")}. ` +
    `Add ${missing.map((missingName) => `${missingName}=VALUE`).join(" ")} after the name.`;
  if (strayReason || missing.length)
    throw usage(`Cannot fill in '/${command}': ${strayReason || remedy}`);
  return /[1-9@]/.test(
    [...placeNames].filter((placeholder) => !namedPlaces.includes(placeholder)).join(),
  ) || !plainWords.length
    ? filledText
    : `${filledText}\n\n${unnamedWords.trim()}`;
}
const PLACEHOLDER =
  /(\$)?\$(?:\{([1-9@]|[a-z]\w{0,63})(?::-([^}]{0,1000}))?\}|([1-9@]|[a-z]\w{0,63}))/g;

/** Splits a file into its front matter (`---`, lines of `key: value`, `---`) and its body. */
export function frontMatter(fileText: string): Prompt {
  const [, headText = "", bodyText = fileText] =
    /^---\r?\n(.*?)\r?\n---\r?\n?(.*)$/s.exec(fileText) ?? [];
  const headLines = [...headText.matchAll(/^(\w[\w-]*):[^\S\r\n]*(.*?)\s*$/gm)];
  return {
    head: Object.fromEntries(headLines.map(([, headKey, headValue]) => [headKey, headValue])),
    body: bodyText.trim(),
  };
}
