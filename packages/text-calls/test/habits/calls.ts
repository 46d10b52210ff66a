// Calls as models make them that were trained inside other programs, and the calls of zz's own
// tools that each becomes.

const NOTEBOOK = {
  cells: [
    { cell_type: "markdown", id: "m1", metadata: {}, source: ["# Title\n", "text"] },
    {
      cell_type: "code",
      execution_count: null,
      id: "c1",
      metadata: {},
      outputs: [],
      source: ["x = 1"],
    },
  ],
  metadata: {},
  nbformat: 4,
  nbformat_minor: 5,
};

/** What the project holds. */
export const FILES: Record<string, string> = {
  "a.ts":
    "export function one() {\n  return 1;\n}\n\nexport function two() {\n  return one() + 1;\n}\n",
  "my file.txt": "alpha\nbeta\ngamma\n",
  "src/b.ts":
    'import { one } from "../a.ts";\n\nexport const needle = one();\nexport const Needle = "x(y";\n',
  "n.ipynb": `${JSON.stringify(NOTEBOOK, null, 1)}\n`,
  "narrow.ipynb": JSON.stringify(NOTEBOOK),
  "src/deep/c.py": "def needle():\n    return 1\n",
};

/**
 * One call or several: the tool with its arguments, or with why it cannot run; without either where
 * only the tool matters.
 */
type Own = [tool: string, args?: object | string];
export type Row = [program: string, tool: string, args: unknown, ...own: Own[]];

const BLOCKS = "<<<<<<< SEARCH\n  return 1;\n=======\n  return 2;\n>>>>>>> REPLACE";
const PATCH =
  "*** Begin Patch\n*** Update File: a.ts\n@@\n-  return 1;\n+  return 2;\n*** End Patch";
const LONG = 50_000;
const swap = { old_string: "return 1;", new_string: "return 2;" };

// biome-ignore format: one call a row.
export const CALLS: Row[] = [
  ["claude-code", "Bash", { command: "echo hello", description: "Says hello", timeout: 5000 }, ["run_command", { command: "echo hello", timeout_ms: 5000 }]],
  ["claude-code", "Read", { file_path: "ROOT/my file.txt", offset: 2, limit: 1 }, ["read_file", { path: "my file.txt", start: 2, limit: 1 }]],
  ["claude-code", "Write", { file_path: "ROOT/new.txt", content: "x\n" }, ["write_file", { path: "new.txt", content: "x\n" }]],
  ["claude-code", "Edit", { file_path: "a.ts", old_string: "one()", new_string: "uno()", replace_all: true }, ["edit_file", { path: "a.ts", old_string: "one()", new_string: "uno()", replace_all: true }]],
  ["claude-code", "Edit", { file_path: "new.txt", old_string: "", new_string: "x\n" }, ["create_file", { path: "new.txt", content: "x\n" }]],
  ["claude-code", "MultiEdit", { file_path: "a.ts", edits: [swap, { old_string: "two()", new_string: "three()" }] }, ["edit_file", { path: "a.ts", edits: [swap, { old_string: "two()", new_string: "three()" }] }]],
  ["claude-code", "Grep", { pattern: "def\\s+needle", path: "src", output_mode: "content", "-n": true }, ["grep", { query: "def\\s+needle", path: "src", output: "lines", regex: true }]],
  ["claude-code", "Grep", { pattern: "return 1;", output_mode: "content", "-C": 1, "-n": true, path: "a.ts" }, ["grep", { query: "return 1;", path: "a.ts", output: "lines", before: 1, after: 1 }]],
  ["claude-code", "Grep", { pattern: "needle", type: "py", output_mode: "content" }, ["grep", { query: "needle", output: "lines", glob: "*.{py,pyi}" }]],
  ["claude-code", "Grep", { pattern: "one\\(\\) \\{\\n", multiline: true }, ["grep", { query: "one\\(\\) \\{\\n", multiline: true, regex: true }]],
  ["claude-code", "LS", { path: "ROOT/src", ignore: [] }, ["list_dir", { path: "src" }]],
  ["codex", "shell", { command: ["bash", "-lc", "cat b.ts"], workdir: "src" }, ["run_command", { command: "cd src && cat b.ts" }]],
  ["codex", "shell", { command: ["bash", "-lc", "echo a; cat b.ts || echo no\ncat deep/c.py"], workdir: "ROOT/src/" }, ["run_command", { command: "cd src/ && {\necho a; cat b.ts || echo no\ncat deep/c.py\n}" }]],
  ["codex", "shell", { command: ["printf", "%s", "it's $HOME `x` \"q\""] }, ["run_command", { command: "printf %s 'it'\\''s $HOME `x` \"q\"'" }]],
  ["codex", "shell", { command: '["bash","-lc","echo hello"]' }, ["run_command", { command: "echo hello" }]],
  ["codex", "shell", { command: ["apply_patch", PATCH] }, ["apply_patch", { patch: PATCH }]],
  ["codex", "shell", { command: ["bash", "-lc", `apply_patch <<'EOF'\n${PATCH}\nEOF`] }, ["apply_patch", { patch: PATCH }]],
  ["codex", "shell", { command: ["bash", "-lc", `cd src && apply_patch <<'PATCH'\n${PATCH.replace("a.ts", "b.ts").replaceAll(/ {2}return \d;/g, "").replace("@@\n-\n+\n", "@@\n-export const needle = one();\n+export const needle = 2;\n")}\nPATCH\n`] }, ["apply_patch", { patch: "*** Begin Patch\n*** Update File: src/b.ts\n@@\n-export const needle = one();\n+export const needle = 2;\n*** End Patch" }]],
  ["gemini-cli", "replace", { file_path: "ROOT/a.ts", ...swap, instruction: "Change it", expected_replacements: 1 }, ["edit_file", { path: "a.ts", ...swap }]],
  ["gemini-cli", "replace", { file_path: "a.ts", old_string: "one()", new_string: "uno()", expected_replacements: 2 }, ["edit_file", { path: "a.ts", old_string: "one()", new_string: "uno()", replace_all: true }]],
  ["gemini-cli", "search_file_content", { pattern: "NEEDLE", case_sensitive: true }, ["grep", { query: "NEEDLE", ignore_case: false }]],
  ["gemini-cli", "grep_search", { pattern: "x(y", fixed_strings: true, names_only: true }, ["grep", { query: "x(y", output: "files", ignore_case: true }]],
  ["gemini-cli", "read_many_files", { paths: ["a.ts", "my file.txt"] }, ["read_file", { path: "a.ts" }], ["read_file", { path: "my file.txt" }]],
  ["gemini-cli", "read_many_files", { include: ["src/**/*.py", "a.ts"] }, ["read_file", { path: "src/deep/c.py" }], ["read_file", { path: "a.ts" }]],
  ["gemini-cli", "read_many_files", { paths: ["src"], recursive: true }, ["read_file", { path: "src/b.ts" }], ["read_file", { path: "src/deep/c.py" }]],
  ["gemini-cli", "read_file", { absolute_path: "ROOT/my file.txt", offset: 1, limit: 1 }, ["read_file", { path: "my file.txt", start: 2, limit: 1 }]],
  ["gemini-cli", "glob", { pattern: "**/*.py", dir_path: "src", respect_git_ignore: true }, ["glob", { pattern: "**/*.py", path: "src" }]],
  ["cline", "replace_in_file", { path: "a.ts", diff: `------- SEARCH\n  return 1;\n=======\n  return 2;\n+++++++ REPLACE\n\n------- SEARCH\nexport function two() {\n=======\nexport function three() {\n+++++++ REPLACE\n` }, ["edit_file", { path: "a.ts", edits: [{ old_string: "  return 1;\n", new_string: "  return 2;\n" }, { old_string: "export function two() {\n", new_string: "export function three() {\n" }] }]],
  ["cline", "search_files", { path: "src", regex: "need\\w+", file_pattern: "*.py" }, ["grep", { query: "need\\w+", path: "src", glob: "*.py", regex: true }]],
  ["cline", "list_files", { path: "src", recursive: true }, ["glob", { pattern: "**/*", path: "src" }]],
  ["roo", "read_file", { args: { file: [{ path: "a.ts" }, { path: "my file.txt", line_range: "2-2" }] } }, ["read_file", { path: "a.ts" }], ["read_file", { path: "my file.txt", start: 2, end: 2 }]],
  ["roo", "read_file", { files: [{ path: "my file.txt", line_ranges: [[1, 1], [3, 3]] }] }, ["read_file", { path: "my file.txt", start: 1, end: 1 }], ["read_file", { path: "my file.txt", start: 3, end: 3 }]],
  ["roo", "apply_diff", { path: "a.ts", diff: "<<<<<<< SEARCH\n:start_line:2\n-------\n  return 1;\n=======\n  return 2;\n>>>>>>> REPLACE" }, ["edit_file", { path: "a.ts", edits: [{ old_string: "  return 1;\n", new_string: "  return 2;\n" }] }]],
  ["roo", "insert_content", { path: "my file.txt", line: 2, content: "new" }, ["edit_lines", { path: "my file.txt", content: "new", start: 2, end: 1 }]],
  ["roo", "insert_content", { path: "my file.txt", line: 0, content: "new" }, ["edit_lines", { path: "my file.txt", content: "new", start: 4, end: 3 }]],
  ["roo", "search_and_replace", { path: "a.ts", search: "one()", replace: "uno()" }, ["edit_file", { path: "a.ts", old_string: "one()", new_string: "uno()", replace_all: true }]],
  ["cursor", "read_file", { relative_workspace_path: "my file.txt", should_read_entire_file: true, start_line_one_indexed: 2 }, ["read_file", { path: "my file.txt" }]],
  ["cursor", "codebase_search", { query: "where is needle", target_directories: [], explanation: "x" }, ["repo_map", { query: "where is needle" }]],
  ["cursor", "file_search", { query: "c.p", explanation: "x" }, ["glob", { pattern: "**/*c.p*" }]],
  ["cursor", "edit_file", { target_file: "new.txt", instructions: "Make it", code_edit: "x\n" }, ["create_file", { path: "new.txt", content: "x\n" }]],
  ["cursor", "edit_file", { target_file: "a.ts", instructions: "Change", code_edit: "// ... existing code ...\nreturn 2;\n" }, ["edit_file", "it takes old_string and new_string, no code_edit. Nothing was changed. Copy the text to replace exactly."]],
  ["anthropic", "str_replace_based_edit_tool", { command: "view", path: "ROOT/my file.txt", view_range: [2, 2] }, ["read_file", { path: "my file.txt", start: 2, end: 2 }]],
  ["anthropic", "str_replace_based_edit_tool", { command: "create", path: "new.txt", file_text: "x\n" }, ["write_file", { path: "new.txt", content: "x\n" }]],
  ["anthropic", "str_replace_based_edit_tool", { command: "str_replace", path: "a.ts", old_str: "return 1;", new_str: "return 2;" }, ["edit_file", { path: "a.ts", ...swap }]],
  ["anthropic", "str_replace_editor", { command: "insert", path: "my file.txt", insert_line: 1, new_str: "new" }, ["edit_lines", { path: "my file.txt", content: "new", start: 2, end: 1 }]],
  ["anthropic", "str_replace_editor", { command: "undo_edit", path: "a.ts" }, ["edit_file", "only the person can undo (/undo). Edit the file back yourself: edit_file, with the two texts the other way round."]],
  ["anthropic", "str_replace_editor", { command: "erase", path: "a.ts" }, ["edit_file", "there is no command 'erase'. Give one of view, create, write, str_replace, insert."]],
  ["anthropic", "bash", { restart: true }, ["run_command", "there is nothing to restart, since each command runs in a shell of its own. Send a command."]],
  ["pi", "grep", { pattern: "return 1;", path: "a.ts", context: 1, literal: true, ignoreCase: true, limit: 50 }, ["grep", { query: "return 1;", path: "a.ts", ignore_case: true, limit: 50, before: 1, after: 1 }]],
  ["vscode", "multi_replace_string_in_file", { explanation: "x", replacements: [{ filePath: "a.ts", oldString: "return 1;", newString: "return 2;" }, { filePath: "my file.txt", oldString: "beta", newString: "b" }] }, ["edit_file", { path: "a.ts", edits: [swap] }], ["edit_file", { path: "my file.txt", edits: [{ old_string: "beta", new_string: "b" }] }]],
  ["windsurf", "run_command", { CommandLine: "cat b.ts", Cwd: "ROOT/src", Blocking: true, SafeToAutoRun: true, WaitMsBeforeAsync: 0 }, ["run_command", { command: "cd src && cat b.ts" }]],
  ["kimi", "WriteFile", { path: "my file.txt", content: "x\n", mode: "append" }, ["write_file", "it writes whole files and cannot append. Use edit_lines after the last line, or send all of the content."]],
  ["mcp", "edit_file", { path: "a.ts", edits: [{ oldText: "return 1;", newText: "return 2;" }], dryRun: true }, ["edit_file", "it always makes the edit, so dryRun cannot be true. Nothing was changed. Send the call without it."]],
  ["factory", "Glob", { folder: "ROOT", patterns: ["**/*.py", "*.ts"] }, ["glob", { pattern: "{**/*.py,*.ts}", path: "." }]],
  ["gpt-oss", "container.exec<|channel|>commentary", { cmd: ["bash", "-lc", "echo hello"] }, ["run_command", { command: "echo hello" }]],
  // zz's own calls stay as they are.
  ["zz", "read_file", { path: "my file.txt", start: 2, end: 2 }, ["read_file", { path: "my file.txt", start: 2, end: 2 }]],
  // Hostile, or broken.
  ["hostile", "Read", null, ["read_file", {}]],
  ["hostile", "Edit", { file_path: "a.ts", edits: [{ a: 1 }, null, "x"] }, ["edit_file", { path: "a.ts", edits: [{}, null, "x"], "edits.a": 1 }]],
  ["hostile", "MultiEdit", { file_path: "a.ts", edits: "no" }, ["edit_file", { path: "a.ts", edits: "no" }]],
  ["hostile", "shell", { command: [] }, ["run_command", "command is empty. Give one."]],
  ["hostile", "shell", { command: ["bash", "-lc", "apply_patch <<'EOF'\nno patch\nEOF"] }, ["apply_patch", { patch: "no patch" }]],
  ["hostile", "shell", { command: ["bash", "-lc", `apply_patch <<'EOF'\n${PATCH}`] }, ["run_command", "apply_patch is a tool of its own here, not a command. Call it with the patch."]],
  ["hostile", "Bash", { command: "ls", cwd: "../../etc; echo hi" }, ["run_command", { command: "cd '../../etc; echo hi' && ls" }]],
  ["hostile", "Bash", { command: "ls", cwd: 7 }, ["run_command", "cwd must be the name of a folder."]],
  ["hostile", "Grep", { pattern: 7, "-A": "x" }, ["grep", { query: 7, after: "x" }]],
  ["hostile", "find_file", { pattern: 7 }, ["glob", { pattern: 7 }]],
  ["hostile", "read_many_files", { paths: [{ a: 1 }] }, ["read_file", { a: 1 }]],
  ["hostile", "read_many_files", {}, ["read_file", "it names no file. Give paths."]],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "<<<<<<< SEARCH\n  return 1;\n>>>>>>> REPLACE" }, ["edit_file", "Line 3 of the blocks is a REPLACE line without a ======= line before it. Nothing was changed."]],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "  return 1;\n=======\n  return 2;\n>>>>>>> REPLACE" }, ["edit_file", "Line 1 of the blocks is outside of them: a block begins with <<<<<<< SEARCH. Nothing was changed."]],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "<<<<<<< SEARCH\n  return 1;\n=======\nx\n=======\n  return 2;\n>>>>>>> REPLACE" }, ["edit_file", "Line 5 of the blocks is a second ======= line; write \\======= for one that belongs to the text. Nothing was changed."]],
  ["hostile", "replace_in_file", { path: "a.ts", diff: `${BLOCKS}\n<<<<<<< SEARCH\n  return 9;\n=======\n` }, ["edit_file", "The last block has no >>>>>>> REPLACE line. Nothing was changed."]],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "" }, ["edit_file", "There is no SEARCH/REPLACE block: <<<<<<< SEARCH, the old lines, =======, the new ones, >>>>>>> REPLACE. Nothing was changed."]],
  ["hostile", "replace_in_file", { path: "a.ts", diff: 7 }, ["edit_file", "diff must be a text of SEARCH/REPLACE blocks."]],
  ["hostile", "replace", { file_path: "a.ts", old_string: "one()", new_string: "uno()", expected_replacements: 3 }, ["edit_file", "old_string stands in 2 places of 'a.ts', not in 3. Nothing was changed. Read the file again."]],
  ["hostile", "replace", { file_path: "/etc/passwd", old_string: "root", new_string: "x", expected_replacements: 2 }, ["edit_file", { path: "/etc/passwd", old_string: "root", new_string: "x", expected_replacements: 2, replace_all: true }]],
  ["hostile", "search_and_replace", { path: "a.ts", search: "o.e", replace: "x", use_regex: true }, ["edit_file", "it takes plain text, no patterns, so use_regex cannot be true. Nothing was changed. Send the call without it."]],
  ["hostile", "str_replace_editor", { path: "a.ts" }, ["edit_file", "it has no command. Give one of view, create, write, str_replace, insert."]],
  ["hostile", "str_replace_editor", { command: "insert", path: "a.ts", insert_line: "x", new_str: "y" }, ["edit_lines", "start must be the number of a line."]],
  ["hostile", "str_replace_editor", { command: "view", path: "a.ts", view_range: ["a", {}] }, ["read_file", "view_range must be two line numbers, such as [1, 50]."]],
  ["hostile", "Read", JSON.parse('{"__proto__":{"path":"a.ts"}}'), ["read_file", {}]],
  ["hostile", "Read", { file_path: "a.ts", view_range: " ".repeat(LONG) }, ["read_file", "view_range must be two line numbers, such as [1, 50]."]],
  ["hostile", "Read", { file_path: "a.ts", path: "src/b.ts" }, ["read_file", { path: "src/b.ts", file_path: "a.ts" }]],
  ["hostile", "Grep", { pattern: "[[:constructor:]]x", path: "a.ts" }, ["grep", { query: "[[:constructor:]]x", path: "a.ts", regex: true }]],
  ["hostile", "shell", { command: ["apply_patch", `${"*** Update File: ".repeat(1000)}`], workdir: "src" }, ["apply_patch"]],
  ["hostile", "TodoWrite", { todos: [{ content: "x", status: "pending" }] }, ["TodoWrite", { todos: [{ content: "x", status: "pending" }] }]],
];
