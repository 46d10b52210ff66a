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
  const filesIn = (folder: string) => filesOf(path.join(folder, "prompts"));
  const zzs = filesIn(PACKAGE_FOLDER).sort();
  const own = home === PACKAGE_FOLDER ? [] : filesIn(home).sort();
  const team = sourcesOf(core.options).team?.prompts ?? [];
  const project = [
    ...OTHER_AGENTS.flatMap((folder) => filesOf(path.join(root, folder, "commands"))).sort(),
    ...filesIn(path.join(root, ".zz")).sort(),
  ].filter((file) => isTrusted(core, file));
  return [...zzs, ...team, ...own, ...project].filter((file) => file.endsWith(".md"));
}
/** Folders whose commands/ have the files of Claude Code. */
const OTHER_AGENTS = [".agents", ".claude"];
const filesOf = (folder: string): string[] =>
  entriesOf(folder).map((name) => path.join(folder, name));

export type PromptFile = ReturnType<typeof frontMatter> & { name: string; file: string };
/** On a name clash the nearer file wins. */
export function readPrompts(files: string[]): PromptFile[] {
  const read = files.map((file) => ({ file, ...promptOf(file) }));
  const prompts = read.map((prompt) => ({
    ...prompt,
    name: prompt.head.name ?? path.basename(prompt.file, ".md"),
  }));
  return [...new Map(prompts.map((prompt) => [prompt.name, prompt])).values()];
}

function promptOf(file: string): ReturnType<typeof frontMatter> {
  const prompt = frontMatter(textOf(file));
  return path.basename(path.dirname(file)) === "commands" ? commandOf(prompt) : prompt;
}

/** A command of Claude Code: its description may be absent, and $ARGUMENTS is all words. */
function commandOf({ head, body }: ReturnType<typeof frontMatter>): ReturnType<typeof frontMatter> {
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
    const owner = core.commands.get(name)?.owner;
    const reason = IDENTIFIER.test(name)
      ? owner && owner !== TEMPLATE_OWNER && `'${owner}' has it already`
      : "no command has such a name";
    if (reason)
      say(core.io, `Cannot make '/${name}' of '${file}': ${reason}. Give it another name.`);
    const template = {
      head,
      fill: (words: string, named = {}) => fillTemplate(body, words, named, name),
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
  body: string,
  typedWords: string,
  namedValues: Record<string, string> = {},
  command = "",
): string {
  const places = new Set(
    [...body.matchAll(PLACEHOLDER)].map(([, escaped, first, , two]) =>
      escaped ? "" : (first ?? two ?? ""),
    ),
  );
  const named = new Map(Object.entries(namedValues));
  const words: string[] = [];
  const unnamedWords = typedWords.replace(
    /(?:([a-z]\w{0,63})=)?(?:"([^"]*)"|'([^']*)'|(\S+))/g,
    (argument, name, quoted, two, three) => {
      const value = quoted ?? two ?? three;
      if (places.has(name)) named.set(name, value);
      else words.push(name ? argument : value);
      return places.has(name) ? "" : argument;
    },
  );
  const missing: string[] = [];
  const text = body.replace(PLACEHOLDER, (placeholder, escaped, braced, otherwise, bare) => {
    if (escaped) return placeholder.slice(1);
    const which = braced ?? bare;
    const value =
      (which === "@" ? unnamedWords.trim() : (named.get(which) ?? words[which - 1])) || otherwise;
    if (value === undefined && /^[a-z]/.test(which) && !missing.includes(which))
      missing.push(which);
    return value ?? "";
  });
  const names = [...places].filter((placeholder) => /^[a-z]/.test(placeholder));
  const stray = [...named.keys()].find((name) => !names.includes(name));
  const wrong =
    stray && unknown("place", stray, names, names.length ? undefined : "It has none with a name.");
  const remedy = `it needs ${missing.join(" and ")}. Add ${missing.map((name) => `${name}=VALUE`).join(" ")} after the name.`;
  if (wrong || missing.length) throw usage(`Cannot fill in '/${command}': ${wrong || remedy}`);
  return /[1-9@]/.test([...places].filter((placeholder) => !names.includes(placeholder)).join()) ||
    !words.length
    ? text
    : `${text}\n\n${unnamedWords.trim()}`;
}
const PLACEHOLDER =
  /(\$)?\$(?:\{([1-9@]|[a-z]\w{0,63})(?::-([^}]{0,1000}))?\}|([1-9@]|[a-z]\w{0,63}))/g;

/** Splits a file into its front matter (`---`, lines of `key: value`, `---`) and its body. */
export function frontMatter(text: string): { head: Record<string, string>; body: string } {
  const [, head = "", body = text] = /^---\r?\n(.*?)\r?\n---\r?\n?(.*)$/s.exec(text) ?? [];
  const lines = [...head.matchAll(/^(\w[\w-]*):[^\S\r\n]*(.*?)\s*$/gm)];
  return {
    head: Object.fromEntries(lines.map(([, key, value]) => [key, value])),
    body: body.trim(),
  };
}
