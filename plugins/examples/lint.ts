// Runs a linter of yours on the files that a tool has changed, and tells the model what it says. An
// example of chat.tell() and of a tool that is called by an event.
import type { Zz } from "zz";

// such as "npx biome check"; which names
export const defaults = { command: "", files: "\\.[cm]?[jt]sx?$" };
export const settings = {
  schema: {
    type: "object",
    properties: {
      command: { type: "string", description: "what to run; the files come after it" },
      files: { type: "string", description: "which files, as a regular expression" },
    },
  },
};

const MAX_CHARS = 4_000;

export default (zz: Zz<typeof defaults>) =>
  zz.on("changed", async ({ paths }, ctx) => {
    const { command, files } = zz.config;
    const changed = paths.filter((path) => new RegExp(files).test(path));
    if (!command || !changed.length) return;
    const line = `${command} ${changed.map(quoted).join(" ")}`;
    const { text, data, refused } = await ctx.call("run_command", { command: line });
    const { exit } = (data ?? {}) as { exit?: number };
    if (refused) return ctx.note(`lint: ${text}`);
    if (exit !== 0)
      ctx.chat.tell(`[The linter ran after your change: ${line}]\n${text.slice(0, MAX_CHARS)}`);
  });

const quoted = (path: string): string =>
  /^[\w./@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
