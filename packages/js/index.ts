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
  let last: unknown;
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
    async run(code, ctx) {
      if (!code) return ctx.note("Cannot evaluate nothing: /js chat.messages.length");
      const { inspect } = process.getBuiltinModule("node:util");
      try {
        const about = { chat: ctx.chat, ctx, zz, _: last };
        last = await Promise.race([
          evaluate(await compiled(code), about, zz.config.seconds * 1_000),
          stopped(ctx),
        ]);
        ctx.note(
          typeof last === "string"
            ? last
            : inspect(last, { depth: 4, maxArrayLength: 50, maxStringLength: 2_000 }),
        );
      } catch (error) {
        ctx.note(
          `Cannot evaluate that: ${error instanceof Error ? `${error.name}: ${error.message}` : inspect(error)}`,
        );
      }
    },
  });
};

const AsyncFunction = (async () => {}).constructor as new (
  ...code: string[]
) => (...args: unknown[]) => Promise<unknown>;

function evaluate(code: string, about: Record<string, unknown>, timeout: number): Promise<unknown> {
  const { runInThisContext } = process.getBuiltinModule("node:vm");
  const run = new AsyncFunction(...Object.keys(about), code);
  const key = Symbol.for("zz.js");
  Object.defineProperty(globalThis, key, {
    value: () => run(...Object.values(about)),
    configurable: true,
  });
  try {
    return runInThisContext('globalThis[Symbol.for("zz.js")]()', { timeout });
  } finally {
    Reflect.deleteProperty(globalThis, key);
  }
}

const stopped = ({ signal }: Ctx): Promise<never> =>
  new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true }),
  );

/**
 * The body of a function that returns the expression's value, or of statements with a `return` of
 * their own.
 */
async function compiled(code: string): Promise<string> {
  const forms = [`return (${code}\n)`, code];
  for (const form of forms) if (parses(form)) return form;
  // code that still does not parse may have types
  const { withoutTypes } = await import("./types.ts");
  for (const form of forms) {
    const plain = `return ${withoutTypes(`(async () => {${form}\n})`).replace(/;$/, "")}()`;
    if (parses(plain)) return plain;
  }
  return code; // running it reports what is wrong
}

function parses(code: string): boolean {
  try {
    new AsyncFunction(code);
    return true;
  } catch {
    return false;
  }
}
