// Answers for programs: --schema asks for JSON that fits, -x and --xl print a block of code, -t
// fills in a template, and --save keeps one.
import type { Command, Ctx, Zz } from "zz";
import { codeBlocks, unknown, usage } from "zz/text";
import type { JsonSchema } from "./schema.ts";

type Template = NonNullable<Command["template"]> & { name: string };
/** What the flags of this run ask for. */
export interface Wanted {
  schema?: JsonSchema;
  extract?: "first" | "last";
  template?: Template;
  named: Record<string, string>;
}

export default (zz: Zz) => {
  const wanted: Wanted = { named: {} };
  addFormFlags(zz, wanted);
  addTemplateFlags(zz, wanted);

  zz.wrap(
    "request",
    async (request, next) => {
      if (!wanted.schema || request.task !== "chat") return next(request);
      return (await import("./ask.ts")).askFor(wanted.schema, request, next);
    },
    "first",
  );

  zz.wrap(
    "render",
    async (answerText, next) => {
      if (wanted.schema)
        return zz.io.stdout.isTTY ? (await import("./ask.ts")).laidOut(answerText, 2) : answerText;
      return wanted.extract ? extracted(answerText, wanted.extract) : next(answerText);
    },
    "first",
  );

  zz.wrap("line", async (typedLine, next) => {
    const handledLine = await next(typedLine);
    const { template } = wanted;
    const [firstWord = ""] = handledLine.split(/\s/, 1);
    if (!template || firstWord !== `/${template.name}`) return handledLine;
    delete wanted.template; // used once: later lines are typed by the person
    const filledText = template.fill(handledLine.slice(firstWord.length).trim(), wanted.named);
    if (!filledText.trim())
      throw usage(`Nothing to ask: the template '${template.name}' is empty as it was filled in.`);
    return filledText.startsWith("/") ? `/${filledText}` : filledText; // not a command
  });
};

function addFormFlags(zz: Zz, wanted: Wanted): void {
  zz.flag({
    name: "schema",
    group: "output",
    value: "SCHEMA",
    description:
      "answer with JSON that fits: a file, a JSON Schema, or 'name, age int, tags: list'",
    async set(flagValue) {
      const { readSchema } = await import("./schema.ts");
      wanted.schema = await readSchema(String(flagValue), zz.io.cwd());
      checkForm();
    },
  });
  const extract = (position: "first" | "last") => () => {
    if (wanted.extract && wanted.extract !== position)
      throw usage("Cannot use --extract with --xl: one block is printed. Choose one.");
    wanted.extract = position;
    checkForm();
  };
  const [extractFirst, extractLast] = [extract("first"), extract("last")];
  const outputFlag = { group: "output" };
  zz.flag({
    ...outputFlag,
    name: "extract",
    short: "x",
    description: "print only the first block of code",
    set: extractFirst,
  });
  zz.flag({
    ...outputFlag,
    name: "xl",
    description: "print only the last block of code",
    set: extractLast,
  });
  zz.flag({
    ...outputFlag,
    name: "extract-last",
    description: "the same as --xl",
    set: extractLast,
  });

  function checkForm(): void {
    if (wanted.schema && wanted.extract)
      throw usage(
        "Cannot use --schema with --extract: all of the answer is JSON then. Leave one out.",
      );
  }
}

function addTemplateFlags(zz: Zz, wanted: Wanted): void {
  zz.flag({
    name: "template",
    short: "t",
    group: "asking",
    value: "NAME",
    description: "ask with a prompt file, or with what --save kept",
    async set(templateName, ctx) {
      const template = templateNamed(String(templateName), ctx);
      wanted.template = template;
      return { line: await (await import("./templates.ts")).expandTemplate(template, wanted) };
    },
  });
  zz.flag({
    name: "param",
    short: "p",
    group: "asking",
    value: "KEY VALUE",
    many: true,
    description: "what stands for $KEY in the template",
    set(paramPair) {
      const [, paramKey = "", paramValue = ""] = /^([^=]+)=(.*)$/s.exec(String(paramPair)) ?? [];
      if (!paramKey)
        throw usage(
          `Cannot use -p ${paramPair}: it takes a name and a value, as in -p lang German.`,
        );
      if (!wanted.template)
        throw usage(`Cannot use -p ${paramKey}: it fills in a template. Name one with -t NAME.`);
      wanted.named[paramKey] = paramValue;
    },
  });
  zz.flag({
    name: "save",
    group: "asking",
    value: "NAME [WORDS]",
    description: "keep the words and flags as a template for -t, and ask nothing",
    run: async (templateName, ctx, commandLine) =>
      (await import("./templates.ts")).save(String(templateName), ctx, commandLine, wanted),
  });
}

function templateNamed(name: string, { about }: Ctx): Template {
  const templates = about.commands.filter(({ template }) => template);
  const templateCommand = templates.find((command) => command.name === name);
  if (templateCommand) return { ...templateCommand.template!, name };
  throw usage(
    `Cannot use the template '${name}': ${unknown(
      "template",
      name,
      templates.map((command) => command.name),
    )}`,
  );
}

/** The first or last block of code alone; all of the text if there is none. */
function extracted(answerText: string, position: "first" | "last"): string {
  const codeBlock = codeBlocks(answerText).at(position === "first" ? 0 : -1);
  return codeBlock ? codeBlock.text : answerText;
}
