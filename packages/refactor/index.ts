// refactor: changes of TypeScript and JavaScript that reach other files, made by ts-morph in a
// process of its own and shown as one diff.
import type { Zz } from "zz";

const LIMIT_MS = 200_000; // that of the process, and of those that are asked afterwards
const ACTIONS =
  "move, organize_imports, fix_imports, remove_unused, change_signature, " +
  "extract_function, extract_constant";

export default (zz: Zz) =>
  zz.tool({
    name: "refactor",
    description:
      "Change TypeScript or JavaScript in every affected file: " +
      "move a file or folder with all imports, organize or " +
      "fix (add missing) imports, remove what is unused, " +
      "change a function's parameters with its calls, extract code.",
    params: {
      action: `string ${ACTIONS}`,
      path: "string the file; to move or tidy, also a folder",
      to: "string? move: the new path",
      name: "string? change_signature: the function, or Class.method; extract: the new name",
      parameters:
        "string[]? change_signature: all in order: a name keeps that one, 'name: type' adds one",
      value: "string? change_signature: what calls pass for the new one",
      code: "string? extract: the code, exactly as in the file",
      line: "integer? change_signature, extract: its line, if there are several",
    },
    also: {
      path: ["file", "file_path", "from"],
      to: ["new_path", "destination"],
      name: ["symbol", "new_name"],
    },
    changes: true,
    timeout: LIMIT_MS,
    needs: async ({ action, path }, ctx) =>
      (await import("./run-refactoring.ts")).needsOf(action, path, ctx),
    run: async (args, ctx) => (await import("./run-refactoring.ts")).run(args, ctx),
  });
