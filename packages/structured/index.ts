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
    async (text, next) => {
      if (wanted.schema)
        return zz.io.stdout.isTTY ? (await import("./ask.ts")).laidOut(text, 2) : text;
      return wanted.extract ? extracted(text, wanted.extract) : next(text);
    },
    "first",
  );

  zz.wrap("line", async (typed, next) => {
    const line = await next(typed);
    const { template } = wanted;
    const [word = ""] = line.split(/\s/, 1);
    if (!template || word !== `/${template.name}`) return line;
    delete wanted.template; // used once: later lines are typed by the person
    const text = template.fill(line.slice(word.length).trim(), wanted.named);
    if (!text.trim())
      throw usage(`Nothing to ask: the template '${template.name}' is empty as it was filled in.`);
    return text.startsWith("/") ? `/${text}` : text; // not a command
  });
};

function addFormFlags(zz: Zz, wanted: Wanted): void {
  zz.flag({
    name: "schema",
    group: "output",
    value: "SCHEMA",
    description:
      "answer with JSON that fits: a file, a JSON Schema, or 'name, age int, tags: list'",
    async set(text) {
      const { readSchema } = await import("./schema.ts");
      wanted.schema = await readSchema(String(text), zz.io.cwd());
      checkForm();
    },
  });
  const extract = (which: "first" | "last") => () => {
    if (wanted.extract && wanted.extract !== which)
      throw usage("Cannot use --extract with --xl: one block is printed. Choose one.");
    wanted.extract = which;
    checkForm();
  };
  const [first, last] = [extract("first"), extract("last")];
  const row = { group: "output" };
  zz.flag({
    ...row,
    name: "extract",
    short: "x",
    description: "print only the first block of code",
    set: first,
  });
  zz.flag({ ...row, name: "xl", description: "print only the last block of code", set: last });
  zz.flag({ ...row, name: "extract-last", description: "the same as --xl", set: last });

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
    async set(name, ctx) {
      const template = templateNamed(String(name), ctx);
      wanted.template = template;
      return { line: await (await import("./templates.ts")).lineOf(template, wanted) };
    },
  });
  zz.flag({
    name: "param",
    short: "p",
    group: "asking",
    value: "KEY VALUE",
    many: true,
    description: "what stands for $KEY in the template",
    set(pair) {
      const [, key = "", value = ""] = /^([^=]+)=(.*)$/s.exec(String(pair)) ?? [];
      if (!key)
        throw usage(`Cannot use -p ${pair}: it takes a name and a value, as in -p lang German.`);
      if (!wanted.template)
        throw usage(`Cannot use -p ${key}: it fills in a template. Name one with -t NAME.`);
      wanted.named[key] = value;
    },
  });
  zz.flag({
    name: "save",
    group: "asking",
    value: "NAME [WORDS]",
    description: "keep the words and flags as a template for -t, and ask nothing",
    run: async (name, ctx, line) =>
      (await import("./templates.ts")).save(String(name), ctx, line, wanted),
  });
}

function templateNamed(name: string, { about }: Ctx): Template {
  const templates = about.commands.filter(({ template }) => template);
  const found = templates.find((command) => command.name === name);
  if (found) return { ...found.template!, name };
  throw usage(
    `Cannot use the template '${name}': ${unknown(
      "template",
      name,
      templates.map((command) => command.name),
    )}`,
  );
}

/** The first or last block of code alone; all of the text if there is none. */
function extracted(text: string, which: "first" | "last"): string {
  const block = codeBlocks(text).at(which === "first" ? 0 : -1);
  return block ? block.text : text;
}
