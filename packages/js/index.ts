// /js evaluates TypeScript, with access to the conversation: for looking at things, and for small
// calculations.
import type { Ctx, Zz } from "zz";

export const defaults = { seconds: 10 }; // for code without an await, which Ctrl+C cannot stop
export const settings = {
  schema: {
    type: "object",
    properties: {
      seconds: {
        type: "number",
        exclusiveMinimum: 0,
        description: "seconds after which /js ends a loop",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  let lastValue: unknown;
  zz.command({
    name: "js",
    usage: "EXPRESSION",
    description: "evaluate TypeScript, with chat, ctx and zz; _ is the last value",
    examples: {
      "/js 2 ** 10": "evaluate an expression",
      "/js chat.messages.length": "look at this conversation",
      "/js _ / 2": "use the last value",
    },
    group: "code",
    async run(typedCode, ctx) {
      if (!typedCode) throw new Error("Cannot evaluate nothing: /js chat.messages.length");
      const { inspect } = process.getBuiltinModule("node:util");
      try {
        const codeScope = { chat: ctx.chat, ctx, zz, _: lastValue };
        lastValue = await Promise.race([
          evaluate(await compiled(typedCode), codeScope, zz.config.seconds * 1_000),
          stopped(ctx),
        ]);
        ctx.note(
          typeof lastValue === "string"
            ? lastValue
            : inspect(lastValue, { depth: 4, maxArrayLength: 50, maxStringLength: 2_000 }),
        );
      } catch (error) {
        throw new Error(
          "Cannot evaluate that: " +
            `${error instanceof Error ? `${error.name}: ${error.message}` : inspect(error)}`,
        );
      }
    },
  });
};

const AsyncFunction = (async () => {}).constructor as new (
  ...functionParts: string[]
) => (...scopeValues: unknown[]) => Promise<unknown>;

function evaluate(
  compiledCode: string,
  codeScope: Record<string, unknown>,
  timeout: number,
): Promise<unknown> {
  const { runInThisContext } = process.getBuiltinModule("node:vm");
  const runCode = new AsyncFunction(...Object.keys(codeScope), compiledCode);
  const globalKey = Symbol.for("zz.js");
  Object.defineProperty(globalThis, globalKey, {
    value: () => runCode(...Object.values(codeScope)),
    configurable: true,
  });
  try {
    return runInThisContext('globalThis[Symbol.for("zz.js")]()', { timeout });
  } finally {
    Reflect.deleteProperty(globalThis, globalKey);
  }
}

const stopped = ({ signal }: Ctx): Promise<never> =>
  new Promise((_, rejectStopped) =>
    signal.addEventListener("abort", () => rejectStopped(new Error("stopped")), { once: true }),
  );

/**
 * The body of a function that returns the expression's value, or of statements with a `return` of
 * their own.
 */
async function compiled(typedCode: string): Promise<string> {
  const codeForms = [`return (${typedCode}\n)`, typedCode];
  for (const codeForm of codeForms) if (canParse(codeForm)) return codeForm;
  // code that still does not parse may have types
  const { withoutTypes } = await import("./types.ts");
  for (const codeForm of codeForms) {
    const plain = `return ${withoutTypes(`(async () => {${codeForm}\n})`).replace(/;$/, "")}()`;
    if (canParse(plain)) return plain;
  }
  return typedCode; // running it reports what is wrong
}

function canParse(codeToParse: string): boolean {
  try {
    new AsyncFunction(codeToParse);
    return true;
  } catch {
    return false;
  }
}
