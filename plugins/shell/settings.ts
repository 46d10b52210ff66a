// The settings of commands, and what is wrong with them.

export const defaults = {
  sandbox: "auto" as "auto" | "required" | "off",
  except: [] as string[], // entries of the deny list that ask instead
  seconds: 120, // the limit of a command unless the call sets one; 0: no limit
  maxSeconds: 600, // the highest limit that a call may set; 0: no limit
  effects: "ask" as "ask" | "before" | "off", // ask: unknown commands run on a copy; then their changes are asked for
  maxCopyMB: 2_048, // the most that a command may change on its copy
};
export type Config = Readonly<typeof defaults>;
/** Descriptions alone: of a value that a schema refuses the default would count, and nobody would notice. */
export const settings = {
  schema: {
    type: "object",
    properties: {
      sandbox: { description: "auto: commands run in a sandbox if there is one; required: only in one; off: without" },
      except: { description: "commands that otherwise never run, and that zz asks about instead" },
      seconds: { description: "seconds that a command may take unless the model asks for another limit (0: no limit)" },
      maxSeconds: { description: "seconds that the model may ask for at most (0: no limit)" },
      effects: {
        description: "ask: unknown commands run on a copy, and zz asks about changes; before, off: it asks first",
      },
      maxCopyMB: { description: "MB that a command may change on its copy of the project" },
    },
    additionalProperties: true,
  },
};

/** Checks for settings: what each must be, or undefined if it is right. */
const MUST_BE: { [K in keyof Config]: (value: unknown) => string | undefined } = {
  sandbox: (value) =>
    ["auto", "required", "off"].includes(String(value))
      ? undefined
      : `is ${JSON.stringify(value)}. It is "auto", "required" or "off"`,
  except: (value) =>
    Array.isArray(value) && value.every((entry) => typeof entry === "string")
      ? undefined
      : `must be a list of texts, such as ["chmod"]`,
  seconds: wrongSeconds,
  maxSeconds: wrongSeconds,
  effects: (value) =>
    ["ask", "before", "off"].includes(String(value))
      ? undefined
      : `is ${JSON.stringify(value)}. It is "ask", "before" or "off"`,
  maxCopyMB: wrongMegabytes,
};
function wrongMegabytes(value: unknown): string | undefined {
  const isRight = typeof value === "number" && value >= 1 && value <= 1_000_000;
  return isRight ? undefined : `is ${JSON.stringify(value)}. It is a number of MB from 1 to 1000000`;
}
function wrongSeconds(value: unknown): string | undefined {
  const isRight = typeof value === "number" && value >= 0 && value <= 1_000_000;
  return isRight ? undefined : `is ${JSON.stringify(value)}. It is a number of seconds up to 1000000; 0: no limit`;
}

/** What is wrong with a setting. No command runs until it is right: a typo would lose the protection that it gives. */
export function wrongSetting(config: object): string | undefined {
  const names = Object.keys(MUST_BE);
  const all = `There are: ${names.join(", ")}; allowed and denied commands go into "permissions"`;
  const wrong = Object.entries(config).flatMap(([name, value]) => {
    if (!Object.hasOwn(MUST_BE, name)) return `there is no "${name}". ${all}`;
    const why = MUST_BE[name as keyof Config](value);
    return why ? `"${name}" ${why}` : [];
  });
  return wrong.length ? `Cannot run commands: in the settings under "shell", ${wrong[0]}. Fix it.` : undefined;
}
