// The settings of commands, and what is wrong with them.

export const defaults = {
  sandbox: "auto" as "auto" | "required" | "off",
  except: [] as string[], // entries of the deny list that ask instead
  seconds: 120, // the limit of a command unless the call sets one; 0: no limit
  maxSeconds: 600, // the highest limit that a call may set; 0: no limit
  // ask: unknown commands run on a copy; then their changes are asked for
  effects: "ask" as "ask" | "before" | "off",
  maxCopyMB: 2_048, // the most that a command may change on its copy
};

export type Config = Readonly<typeof defaults>;
const seconds = { type: "number", minimum: 0, maximum: 1_000_000 };
/** No command runs until all of it is right: a typo would lose the protection that it gives. */
export const settings = {
  schema: {
    type: "object",
    properties: {
      sandbox: {
        enum: ["auto", "required", "off"],
        description:
          "auto: commands run in a sandbox if there is one; required: only in one; off: without",
      },
      except: {
        type: "array",
        items: { type: "string" },
        description: "commands that otherwise never run, and that zz asks about instead",
      },
      seconds: {
        ...seconds,
        description:
          "seconds that a command may take unless the model asks for another limit (0: no limit)",
      },
      maxSeconds: {
        ...seconds,
        description: "seconds that the model may ask for at most (0: no limit)",
      },
      effects: {
        enum: ["ask", "before", "off"],
        description:
          "ask: unknown commands run on a copy, " +
          "and zz asks about changes; before, off: it asks first",
      },
      maxCopyMB: {
        type: "number",
        minimum: 1,
        maximum: 1_000_000,
        description: "MB that a command may change on its copy of the project",
      },
    },
    additionalProperties: false,
  },
};

/** The default time limit of a command, and the highest that a call may set. */
export function timeLimits({ seconds, maxSeconds }: Config): { ms: number; maxMs: number } {
  const [defaultMs, highestMs] = [seconds, maxSeconds].map((limit) =>
    limit > 0 ? limit * 1_000 : Number.POSITIVE_INFINITY,
  );
  return { ms: defaultMs!, maxMs: Math.max(defaultMs!, highestMs!) };
}

/** The limits in words, for the model. */
export function describeLimits(config: Config): string {
  const { ms, maxMs } = timeLimits(config);
  const upperBound = Number.isFinite(maxMs) ? `, at most ${maxMs}` : "";
  return `${Number.isFinite(ms) ? ms : "no limit"} unless it says otherwise${upperBound}`;
}

export function checkTime(timeoutMs: number, maxMs: number): void {
  const upperBound = Number.isFinite(maxMs) ? ` to ${maxMs}` : "";
  if (timeoutMs < 1)
    throw new Error(`Cannot run it for ${timeoutMs} ms. Give a timeout_ms from 1${upperBound}.`);
}
