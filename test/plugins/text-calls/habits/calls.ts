// Calls as models make them that were trained inside other programs, and what each must do here.

/** What the project holds; a model has read the first four before it makes a call. */
export const FILES: Record<string, string> = {
  "a.ts": "export function one() {\n  return 1;\n}\n\nexport function two() {\n  return one() + 1;\n}\n",
  "my file.txt": "alpha\nbeta\ngamma\n",
  "src/b.ts": 'import { one } from "../a.ts";\n\nexport const needle = one();\nexport const Needle = "x(y";\n',
  "n.ipynb": `${JSON.stringify(
    {
      cells: [
        { cell_type: "markdown", id: "m1", metadata: {}, source: ["# Title\n", "text"] },
        { cell_type: "code", execution_count: null, id: "c1", metadata: {}, outputs: [], source: ["x = 1"] },
      ],
      metadata: {},
      nbformat: 4,
      nbformat_minor: 5,
    },
    null,
    1,
  )}\n`,
  "src/deep/c.py": "def needle():\n    return 1\n",
};
export const READ = ["a.ts", "my file.txt", "src/b.ts", "n.ipynb"];

export interface Expected {
  to: string; // zz's own tools that are shown, judged and saved
  says?: RegExp | string; // what the model reads; of several calls one after the other
  not?: RegExp; // what it does not read
  files?: Record<string, string | null>; // afterwards; null: not there
  failed?: true; // a sentence, and nothing is done
}
export type Row = [program: string, tool: string, args: unknown, expected: Expected];

const A = FILES["a.ts"]!;
const TEXT = FILES["my file.txt"]!;
const edited = { "a.ts": A.replace("return 1;", "return 2;") };
const EDITED: Expected = { to: "edit_file", says: /^Edited a\.ts/, files: edited };
const made = (content = "x\n", path = "new.txt") => ({ [path]: content });
const ran = (text: string): Expected => ({ to: "run_command", says: text, not: /Ignored/ });
const RAN = ran("hello");
const read = (says: RegExp | string, not: RegExp = /Ignored/): Expected => ({ to: "read_file", says, not });
const READ_LINES = read(/^2\tbeta$/);
const found = (says: RegExp, not: RegExp = /Ignored/): Expected => ({ to: "grep", says, not });
const NEEDLES = /src\/b\.ts:3: export const needle/;
const listed = (says: RegExp, not = /Ignored/): Expected => ({ to: "list_dir", says, not });
const globbed = (says: RegExp, not = /Ignored/): Expected => ({ to: "glob", says, not });
const refused = (to: string, says: RegExp): Expected => ({ to, says, failed: true, files: FILES });
const BLOCKS = "<<<<<<< SEARCH\n  return 1;\n=======\n  return 2;\n>>>>>>> REPLACE";
const PATCH = "*** Begin Patch\n*** Update File: a.ts\n@@\n-  return 1;\n+  return 2;\n*** End Patch";
const PATCHED: Expected = { to: "apply_patch", says: /^Applied: edited a\.ts/, files: edited };
const LONG = 50_000;
const swap = { old_string: "return 1;", new_string: "return 2;" };
const two = { "a.ts": A.replace("return 1;", "return 2;").replace("two()", "three()") };

// biome-ignore format: one call a row.
export const CALLS: Row[] = [
  ["claude-code", "Bash", { command: "echo hello", description: "Says hello", timeout: 5000 }, RAN],
  ["claude-code", "Bash", { command: "echo hello", run_in_background: false }, RAN],
  ["claude-code", "Bash", { command: "echo hello", run_in_background: true }, { to: "run_command", says: /hello[\s\S]*\[Ignored: run_in_background\./ }],
  ["claude-code", "Read", { file_path: "ROOT/my file.txt", offset: 2, limit: 1 }, READ_LINES],
  ["claude-code", "Read", { file_path: "ROOT/a.ts" }, read(/^1\texport function one/)],
  ["claude-code", "Write", { file_path: "ROOT/new.txt", content: "x\n" }, { to: "write_file", files: made() }],
  ["claude-code", "Edit", { file_path: "ROOT/a.ts", ...swap }, EDITED],
  ["claude-code", "Edit", { file_path: "a.ts", old_string: "one()", new_string: "uno()", replace_all: true }, { to: "edit_file", files: { "a.ts": A.replaceAll("one()", "uno()") } }],
  ["claude-code", "Edit", { file_path: "new.txt", old_string: "", new_string: "x\n" }, { to: "create_file", files: made() }],
  ["claude-code", "MultiEdit", { file_path: "a.ts", edits: [swap, { old_string: "two()", new_string: "three()" }] }, { to: "edit_file", files: two }],
  ["claude-code", "NotebookEdit", { notebook_path: "ROOT/n.ipynb", cell_id: "c1", new_source: "x = 2\ny = 3" }, { to: "edit_file", files: { "n.ipynb": FILES["n.ipynb"]!.replace('"x = 1"', '"x = 2\\n",\n    "y = 3"') } }],
  ["claude-code", "NotebookEdit", { notebook_path: "n.ipynb", cell_id: "m1", edit_mode: "delete", new_source: "" }, { to: "edit_file", files: { "n.ipynb": without("n.ipynb", 0) } }],
  ["claude-code", "NotebookEdit", { notebook_path: "n.ipynb", cell_number: 0, edit_mode: "insert", cell_type: "code", new_source: "z" }, { to: "edit_file", says: /^Edited n\.ipynb/ }],
  ["claude-code", "NotebookEdit", { notebook_path: "n.ipynb", cell_id: "zz", new_source: "z" }, refused("edit_file", /no cell 'zz'/)],
  ["claude-code", "Grep", { pattern: "needle" }, found(NEEDLES)],
  ["claude-code", "Grep", { pattern: "def\\s+needle", path: "src", output_mode: "content", "-n": true }, found(/src\/deep\/c\.py:1: def needle/)],
  ["claude-code", "Grep", { pattern: "needle", output_mode: "files_with_matches" }, found(/^src\/b\.ts\nsrc\/deep\/c\.py$/)],
  ["claude-code", "Grep", { pattern: "one", output_mode: "count", path: "a.ts" }, found(/^a\.ts: 2$/)],
  ["claude-code", "Grep", { pattern: "return 1;", output_mode: "content", "-A": 1, path: "a.ts" }, found(/^a\.ts:2: {3}return 1;\na\.ts-3- }$/)],
  ["claude-code", "Grep", { pattern: "return 1;", output_mode: "content", "-B": 1, path: "a.ts" }, found(/^a\.ts-1- export function one\(\) \{\na\.ts:2: {3}return 1;$/)],
  ["claude-code", "Grep", { pattern: "return 1;", output_mode: "content", "-C": 1, "-n": true, path: "a.ts" }, found(/^a\.ts-1- .*\na\.ts:2: .*\na\.ts-3- }$/)],
  ["claude-code", "Grep", { pattern: "NEEDLE", "-i": true, output_mode: "content" }, found(NEEDLES)],
  ["claude-code", "Grep", { pattern: "needle", glob: "*.py", output_mode: "content" }, found(/c\.py:1/, /b\.ts|Ignored/)],
  ["claude-code", "Grep", { pattern: "needle", type: "py", output_mode: "content" }, found(/c\.py:1/, /b\.ts|Ignored/)],
  ["claude-code", "Grep", { pattern: "needle", type: "ts", output_mode: "files_with_matches", head_limit: 1 }, found(/^src\/b\.ts$/)],
  ["claude-code", "Grep", { pattern: "e", output_mode: "content", head_limit: 2, path: "a.ts" }, found(/^a\.ts:1:.*\na\.ts:2:.*\n\[2 more hits/)],
  ["claude-code", "Grep", { pattern: "one\\(\\) \\{\\n", multiline: true }, { to: "grep", says: /single line/ }],
  ["claude-code", "Grep", { pattern: "needle", multiline: true }, { to: "grep", says: /needle[\s\S]*\[Ignored: multiline\./ }],
  ["claude-code", "Grep", { pattern: "x(y" }, found(/src\/b\.ts:4/)],
  ["claude-code", "Glob", { pattern: "**/*.py" }, globbed(/^src\/deep\/c\.py$/)],
  ["claude-code", "Glob", { pattern: "*.ts", path: "ROOT/src" }, globbed(/^src\/b\.ts$/)],
  ["claude-code", "LS", { path: "ROOT/src", ignore: [] }, listed(/^b\.ts\ndeep\/ \(1 file\)$/)],
  ["claude-code", "LS", { path: "ROOT" }, listed(/a\.ts/)],

  ["codex", "shell", { command: ["bash", "-lc", "echo hello"] }, RAN],
  ["codex", "shell", { command: ["bash", "-lc", "echo a b; echo hello"], workdir: "ROOT", timeout_ms: 5000 }, RAN],
  ["codex", "shell", { command: ["bash", "-lc", "cat b.ts"], workdir: "src" }, ran("needle")],
  ["codex", "shell", { command: ["bash", "-lc", "echo a; cat b.ts || echo no\ncat deep/c.py"], workdir: "ROOT/src/" }, { to: "run_command", says: /needle[\s\S]*def needle/ }],
  ["codex", "shell", { command: ["cat", "my file.txt"] }, ran("gamma")],
  ["codex", "shell", { command: ["printf", "%s", "it's $HOME `x` \"q\""] }, ran("it's $HOME `x` \"q\"")],
  ["codex", "shell", { command: '["bash","-lc","echo hello"]' }, RAN],
  ["codex", "shell", { command: ["apply_patch", PATCH] }, PATCHED],
  ["codex", "shell", { command: ["bash", "-lc", `apply_patch <<'EOF'\n${PATCH}\nEOF`] }, PATCHED],
  ["codex", "shell", { command: ["bash", "-lc", `cd src && apply_patch <<'PATCH'\n${PATCH.replace("a.ts", "b.ts").replaceAll(/ {2}return \d;/g, "").replace("@@\n-\n+\n", "@@\n-export const needle = one();\n+export const needle = 2;\n")}\nPATCH\n`] }, { to: "apply_patch", says: /edited src\/b\.ts/ }],
  ["codex", "exec_command", { cmd: "echo hello", yield_time_ms: 1000, login: true }, RAN],
  ["codex", "exec_command", { cmd: "cat b.ts", workdir: "ROOT/src" }, ran("needle")],
  ["codex", "exec_command", { cmd: "echo hello", max_output_tokens: 10 }, { to: "run_command", says: /\[Ignored: max_output_tokens\./ }],
  ["codex", "shell_command", { command: "echo hello", workdir: "." }, RAN],
  ["codex", "local_shell", { command: ["echo", "hello"] }, RAN],
  ["codex", "container.exec", { cmd: ["bash", "-lc", "echo hello"] }, RAN],
  ["codex", "apply_patch", { input: PATCH }, PATCHED],
  ["codex", "view_image", { path: "my file.txt" }, read(/alpha/)],
  ["codex", "read_file", { file_path: "ROOT/my file.txt", offset: 2, limit: 1, mode: "slice" }, READ_LINES],
  ["codex", "list_dir", { dir_path: "ROOT/src" }, listed(/b\.ts/)],
  ["codex", "grep_files", { pattern: "needle", include: "*.ts", path: "src", limit: 10 }, found(NEEDLES, /c\.py|Ignored/)],

  ["gemini-cli", "replace", { file_path: "ROOT/a.ts", ...swap, instruction: "Change it", expected_replacements: 1 }, EDITED],
  ["gemini-cli", "replace", { file_path: "a.ts", old_string: "one()", new_string: "uno()", expected_replacements: 2 }, { to: "edit_file", not: /Ignored/, files: { "a.ts": A.replaceAll("one()", "uno()") } }],
  ["gemini-cli", "run_shell_command", { command: "cat b.ts", description: "Reads", dir_path: "src" }, ran("needle")],
  ["gemini-cli", "run_shell_command", { command: "cat b.ts", directory: "src", is_background: false }, ran("needle")],
  ["gemini-cli", "search_file_content", { pattern: "NEEDLE", include: "*.ts" }, found(NEEDLES, /c\.py|Ignored/)],
  ["gemini-cli", "search_file_content", { pattern: "NEEDLE", case_sensitive: true }, found(/^Nothing holds/)],
  ["gemini-cli", "search_file_content", { pattern: "return 1;", dir_path: ".", context: 1, include: "a.ts" }, found(/a\.ts-3- }/)],
  ["gemini-cli", "grep_search", { pattern: "x(y", fixed_strings: true, names_only: true }, found(/^src\/b\.ts$/)],
  ["gemini-cli", "read_many_files", { paths: ["a.ts", "my file.txt"] }, { to: "read_file read_file", says: /function one[\s\S]*alpha/ }],
  ["gemini-cli", "read_many_files", { include: ["src/**/*.py", "a.ts"] }, { to: "read_file read_file", says: /def needle[\s\S]*function one/ }],
  ["gemini-cli", "read_many_files", { paths: ["src"], recursive: true }, { to: "read_file read_file", says: /const needle[\s\S]*def needle/ }],
  ["gemini-cli", "read_file", { absolute_path: "ROOT/my file.txt", offset: 1, limit: 1 }, READ_LINES],
  ["gemini-cli", "read_file", { file_path: "my file.txt", start_line: 2, end_line: 2 }, read(/^2\tbeta$/)],
  ["gemini-cli", "list_directory", { path: "ROOT/src", file_filtering_options: { respect_git_ignore: true } }, listed(/b\.ts/)],
  ["gemini-cli", "list_directory", { dir_path: "src", ignore: ["*.ts"] }, { to: "list_dir", says: /\[Ignored: ignore\./ }],
  ["gemini-cli", "glob", { pattern: "**/*.py", dir_path: "src", respect_git_ignore: true }, globbed(/c\.py/)],
  ["gemini-cli", "write_file", { file_path: "ROOT/new.txt", content: "x\n" }, { to: "write_file", files: made() }],

  ["opencode", "read", { filePath: "ROOT/my file.txt", offset: 2, limit: 1 }, READ_LINES],
  ["opencode", "edit", { filePath: "a.ts", oldString: "return 1;", newString: "return 2;" }, EDITED],
  ["opencode", "edit", { filePath: "a.ts", oldString: "one()", newString: "uno()", replaceAll: true }, { to: "edit_file", files: { "a.ts": A.replaceAll("one()", "uno()") } }],
  ["opencode", "write", { filePath: "new.txt", content: "x\n" }, { to: "write_file", files: made() }],
  ["opencode", "multiedit", { filePath: "a.ts", edits: [{ filePath: "a.ts", oldString: "return 1;", newString: "return 2;" }, { oldString: "two()", newString: "three()" }] }, { to: "edit_file", files: two }],
  ["opencode", "list", { path: "src" }, listed(/b\.ts/)],
  ["opencode", "grep", { pattern: "need\\w+", include: "*.{ts,tsx}" }, found(NEEDLES, /c\.py|Ignored/)],
  ["opencode", "patch", { patchText: PATCH }, PATCHED],
  ["opencode", "bash", { command: "cat b.ts", workdir: "src", description: "Reads", timeout: 10000 }, ran("needle")],

  ["cline", "execute_command", { command: "echo hello", requires_approval: false }, RAN],
  ["cline", "read_file", { path: "a.ts" }, read(/function one/)],
  ["cline", "write_to_file", { path: "new.txt", content: "x\n", line_count: 1 }, { to: "write_file", files: made() }],
  ["cline", "replace_in_file", { path: "a.ts", diff: BLOCKS }, EDITED],
  ["cline", "replace_in_file", { path: "a.ts", diff: `------- SEARCH\n  return 1;\n=======\n  return 2;\n+++++++ REPLACE\n\n------- SEARCH\nexport function two() {\n=======\nexport function three() {\n+++++++ REPLACE\n` }, { to: "edit_file", files: two }],
  ["cline", "search_files", { path: "src", regex: "need\\w+", file_pattern: "*.py" }, found(/c\.py:1/, /b\.ts|Ignored/)],
  ["cline", "list_files", { path: "src", recursive: true }, globbed(/src\/deep\/c\.py/)],
  ["cline", "list_files", { path: "src", recursive: "false" }, listed(/b\.ts/)],
  ["cline", "list_code_definition_names", { path: "src" }, { to: "get_structure", says: /needle/ }],

  ["roo", "execute_command", { command: "cat b.ts", cwd: "src" }, ran("needle")],
  ["roo", "read_file", { args: { file: [{ path: "a.ts" }, { path: "my file.txt", line_range: "2-2" }] } }, { to: "read_file read_file", says: /function one[\s\S]*2\tbeta$/ }],
  ["roo", "read_file", { files: [{ path: "my file.txt", line_ranges: [[1, 1], [3, 3]] }] }, { to: "read_file read_file", says: /^1\talpha[\s\S]*3\tgamma/ }],
  ["roo", "apply_diff", { path: "a.ts", diff: "<<<<<<< SEARCH\n:start_line:2\n-------\n  return 1;\n=======\n  return 2;\n>>>>>>> REPLACE" }, EDITED],
  ["roo", "insert_content", { path: "my file.txt", line: 2, content: "new" }, { to: "edit_lines", files: { "my file.txt": "alpha\nnew\nbeta\ngamma\n" } }],
  ["roo", "insert_content", { path: "my file.txt", line: 0, content: "new" }, { to: "edit_lines", files: { "my file.txt": `${TEXT}new\n` } }],
  ["roo", "search_and_replace", { path: "a.ts", search: "one()", replace: "uno()" }, { to: "edit_file", files: { "a.ts": A.replaceAll("one()", "uno()") } }],
  ["roo", "codebase_search", { query: "needle", path: null }, { to: "repo_map", says: /b\.ts/ }],

  ["cursor", "read_file", { target_file: "my file.txt", should_read_entire_file: false, start_line_one_indexed: 2, end_line_one_indexed_inclusive: 2, explanation: "why" }, read(/^2\tbeta$/)],
  ["cursor", "read_file", { relative_workspace_path: "my file.txt", should_read_entire_file: true, start_line_one_indexed: 2 }, read(/^1\talpha/)],
  ["cursor", "run_terminal_cmd", { command: "echo hello", is_background: false, require_user_approval: true, explanation: "x" }, RAN],
  ["cursor", "codebase_search", { query: "where is needle", target_directories: [], explanation: "x" }, { to: "repo_map", says: /b\.ts/ }],
  ["cursor", "list_dir", { relative_workspace_path: "src", explanation: "x" }, listed(/b\.ts/)],
  ["cursor", "grep_search", { query: "need\\w+", include_pattern: "*.ts", case_sensitive: true, explanation: "x" }, found(NEEDLES, /c\.py|Ignored/)],
  ["cursor", "file_search", { query: "c.p", explanation: "x" }, globbed(/c\.py/)],
  ["cursor", "search_replace", { file_path: "a.ts", ...swap }, EDITED],
  ["cursor", "delete_file", { target_file: "my file.txt", explanation: "x" }, { to: "delete_file", files: { "my file.txt": null } }],
  ["cursor", "edit_file", { target_file: "new.txt", instructions: "Make it", code_edit: "x\n" }, { to: "create_file", files: made() }],
  ["cursor", "edit_file", { target_file: "a.ts", instructions: "Change", code_edit: "// ... existing code ...\nreturn 2;\n" }, refused("edit_file", /code_edit/)],

  ["anthropic", "str_replace_based_edit_tool", { command: "view", path: "ROOT/my file.txt", view_range: [2, 2] }, read(/^2\tbeta$|^2\tbeta\n\[1/)],
  ["anthropic", "str_replace_based_edit_tool", { command: "view", path: "my file.txt", view_range: [2, -1] }, read(/^2\tbeta\n3\tgamma$/)],
  ["anthropic", "str_replace_based_edit_tool", { command: "view", path: "ROOT/src" }, listed(/b\.ts/)],
  ["anthropic", "str_replace_based_edit_tool", { command: "create", path: "new.txt", file_text: "x\n" }, { to: "write_file", files: made() }],
  ["anthropic", "str_replace_based_edit_tool", { command: "str_replace", path: "a.ts", old_str: "return 1;", new_str: "return 2;" }, EDITED],
  ["anthropic", "str_replace_based_edit_tool", { command: "str_replace", path: "my file.txt", old_str: "beta\n" }, { to: "edit_file", files: { "my file.txt": "alpha\ngamma\n" } }],
  ["anthropic", "str_replace_editor", { command: "insert", path: "my file.txt", insert_line: 1, new_str: "new" }, { to: "edit_lines", files: { "my file.txt": "alpha\nnew\nbeta\ngamma\n" } }],
  ["anthropic", "str_replace_based_edit_tool", { command: "insert", path: "my file.txt", insert_line: 0, insert_text: "new\n" }, { to: "edit_lines", files: { "my file.txt": `new\n${TEXT}` } }],
  ["anthropic", "str_replace_editor", { command: "undo_edit", path: "a.ts" }, refused("edit_file", /only the person/)],
  ["anthropic", "str_replace_editor", { command: "erase", path: "a.ts" }, refused("edit_file", /'erase'/)],
  ["anthropic", "bash", { command: "echo hello" }, RAN],
  ["anthropic", "bash", { restart: true }, { to: "run_command", says: /shell of its own/, failed: true }],

  ["openhands", "execute_bash", { command: "echo hello", is_input: "false", timeout: 10, security_risk: "LOW" }, RAN],
  ["openhands", "str_replace_editor", { command: "view", path: "ROOT/a.ts", security_risk: "LOW" }, read(/function one/)],
  ["openhands", "str_replace_editor", { command: "create", path: "new.txt", file_text: "x\n", old_str: null }, { to: "write_file", files: made() }],
  ["openhands", "terminal", { command: "echo hello", reset: false }, RAN],
  ["openhands", "file_editor", { command: "str_replace", path: "a.ts", old_str: "return 1;", new_str: "return 2;" }, EDITED],

  ["pi", "read", { path: "my file.txt", offset: 2, limit: 1 }, READ_LINES],
  ["pi", "edit", { path: "a.ts", oldText: "return 1;", newText: "return 2;" }, EDITED],
  ["pi", "edit", { path: "a.ts", edits: [{ oldText: "return 1;", newText: "return 2;" }] }, EDITED],
  ["pi", "find", { pattern: "*.py" }, globbed(/src\/deep\/c\.py/)],
  ["pi", "grep", { pattern: "return 1;", path: "a.ts", context: 1, literal: true, ignoreCase: true, limit: 50 }, found(/a\.ts-3- }/)],
  ["pi", "ls", { path: "src" }, listed(/b\.ts/)],
  ["pi", "bash", { command: "echo hello", timeout: 5 }, RAN],

  ["vscode", "replace_string_in_file", { filePath: "ROOT/a.ts", oldString: "return 1;", newString: "return 2;" }, EDITED],
  ["vscode", "multi_replace_string_in_file", { explanation: "x", replacements: [{ filePath: "a.ts", oldString: "return 1;", newString: "return 2;" }, { filePath: "my file.txt", oldString: "beta", newString: "b" }] }, { to: "edit_file edit_file", files: { ...edited, "my file.txt": "alpha\nb\ngamma\n" } }],
  ["vscode", "run_in_terminal", { command: "echo hello", explanation: "x", isBackground: false }, RAN],
  ["vscode", "grep_search", { query: "need\\w+", isRegexp: true, includePattern: "src/**" }, found(NEEDLES)],
  ["vscode", "grep_search", { query: "x(y", isRegexp: false }, found(/b\.ts:4/)],
  ["vscode", "read_file", { filePath: "my file.txt", startLine: 2, endLine: 2 }, read(/^2\tbeta$/)],
  ["vscode", "list_code_usages", { symbolName: "one", filePaths: ["a.ts"] }, { to: "find_references", says: /b\.ts/ }],
  ["vscode", "semantic_search", { query: "needle" }, { to: "repo_map", says: /b\.ts/ }],
  ["windsurf", "view_file", { AbsolutePath: "ROOT/my file.txt", StartLine: 2, EndLine: 2 }, read(/^2\tbeta$/)],
  ["windsurf", "run_command", { CommandLine: "cat b.ts", Cwd: "ROOT/src", Blocking: true, SafeToAutoRun: true, WaitMsBeforeAsync: 0 }, ran("needle")],
  ["windsurf", "write_to_file", { TargetFile: "new.txt", CodeContent: "x\n", EmptyFile: false }, { to: "write_file", files: made() }],
  ["windsurf", "replace_file_content", { TargetFile: "a.ts", CodeMarkdownLanguage: "ts", Instruction: "x", ReplacementChunks: [{ TargetContent: "return 1;", ReplacementContent: "return 2;", AllowMultiple: false }] }, EDITED],
  ["windsurf", "grep_search", { SearchPath: "ROOT/src", Query: "needle", MatchPerLine: true, Includes: ["*.py"], CaseInsensitive: false }, found(/c\.py:1/, /b\.ts|Ignored/)],
  ["windsurf", "find_by_name", { SearchDirectory: "src", Pattern: "*.py" }, globbed(/c\.py/)],
  ["goose", "developer__shell", { command: "echo hello" }, RAN],
  ["goose", "developer__text_editor", { command: "write", path: "new.txt", file_text: "x\n" }, { to: "write_file", files: made() }],
  ["zed", "grep", { regex: "need\\w+", include_pattern: "**/*.py", case_sensitive: true }, found(/c\.py:1/, /b\.ts|Ignored/)],
  ["zed", "find_path", { glob: "**/*.py", offset: 0 }, globbed(/c\.py/)],
  ["zed", "terminal", { command: "cat b.ts", cd: "src" }, ran("needle")],
  ["amp", "edit_file", { path: "a.ts", old_str: "return 1;", new_str: "return 2;" }, EDITED],
  ["amp", "Read", { path: "my file.txt", read_range: [2, 2] }, read(/^2\tbeta$/)],
  ["kimi", "StrReplaceFile", { path: "a.ts", edit: { old: "return 1;", new: "return 2;" } }, EDITED],
  ["kimi", "ReadFile", { path: "my file.txt", line_offset: 2, n_lines: 1 }, READ_LINES],
  ["kimi", "WriteFile", { path: "new.txt", content: "x\n", mode: "overwrite" }, { to: "write_file", files: made() }],
  ["kimi", "WriteFile", { path: "my file.txt", content: "x\n", mode: "append" }, refused("write_file", /append/)],
  ["mcp", "read_multiple_files", { paths: ["a.ts", "my file.txt"] }, { to: "read_file read_file", says: /alpha/ }],
  ["mcp", "edit_file", { path: "a.ts", edits: [{ oldText: "return 1;", newText: "return 2;" }], dryRun: false }, EDITED],
  ["mcp", "edit_file", { path: "a.ts", edits: [{ oldText: "return 1;", newText: "return 2;" }], dryRun: true }, refused("edit_file", /dryRun/)],
  ["mcp", "move_file", { source: "my file.txt", destination: "new.txt" }, { to: "move_file", files: { "my file.txt": null, "new.txt": TEXT } }],

  ["copilot-cli", "view", { path: "ROOT/my file.txt", view_range: "[2, 2]" }, read(/^2\tbeta$/)],
  ["copilot-cli", "view", { path: "ROOT/src" }, listed(/b\.ts/)],
  ["copilot-cli", "create", { path: "ROOT/new.txt", file_text: "x\n" }, { to: "create_file", files: made() }],
  ["copilot-cli", "bash", { command: "echo hello", description: "x", mode: "sync", initial_wait: 30 }, RAN],
  ["continue", "read_file_range", { filepath: "my file.txt", startLine: 2, endLine: 2 }, read(/^2\tbeta$/)],
  ["continue", "single_find_and_replace", { filepath: "a.ts", old_string: "return 1;", new_string: "return 2;" }, EDITED],
  ["continue", "run_terminal_command", { command: "echo hello", waitForCompletion: true }, RAN],
  ["continue", "create_new_file", { filepath: "new.txt", contents: "x\n" }, { to: "create_file", files: made() }],
  ["kiro", "strReplace", { path: "a.ts", oldStr: "return 1;", newStr: "return 2;" }, EDITED],
  ["kiro", "fsWrite", { path: "new.txt", text: "x\n" }, { to: "write_file", files: made() }],
  ["amazon-q", "fs_write", { command: "str_replace", path: "a.ts", old_str: "return 1;", new_str: "return 2;" }, EDITED],
  ["warp", "read_files", { files: [{ path: "a.ts" }, { path: "my file.txt", line_ranges: ["2-2"] }] }, { to: "read_file read_file", says: /function one[\s\S]*2\tbeta$/ }],
  ["augment", "str-replace-editor", { command: "str_replace", path: "a.ts", instruction_reminder: "x", old_str_1: "return 1;", new_str_1: "return 2;" }, EDITED],
  ["augment", "save-file", { path: "new.txt", file_content: "x\n", instructions_reminder: "x" }, { to: "create_file", files: made() }],
  ["augment", "launch-process", { command: "cat b.ts", wait: true, cwd: "ROOT/src" }, ran("needle")],
  ["augment", "codebase-retrieval", { information_request: "needle" }, { to: "repo_map", says: /b\.ts/ }],
  ["manus", "shell_exec", { exec_dir: "ROOT/src", command: "cat b.ts" }, ran("needle")],
  ["manus", "file_read", { file: "ROOT/my file.txt", start_line: 2, end_line: 2, sudo: false }, read(/^2\tbeta$/)],
  ["manus", "file_str_replace", { file: "ROOT/a.ts", old_str: "return 1;", new_str: "return 2;" }, EDITED],
  ["swe-agent", "search_dir", { search_term: "needle", dir: "src" }, found(NEEDLES)],
  ["swe-agent", "find_file", { file_name: "c.py", dir: "src" }, globbed(/c\.py/)],
  ["factory", "Edit", { file_path: "a.ts", old_str: "one()", new_str: "uno()", change_all: true }, { to: "edit_file", files: { "a.ts": A.replaceAll("one()", "uno()") } }],
  ["factory", "Glob", { folder: "ROOT", patterns: ["**/*.py", "*.ts"] }, globbed(/a\.ts[\s\S]*c\.py/)],
  ["factory", "Execute", { command: "echo hello", summary: "x", riskLevel: "low", riskLevelReason: "x", timeout: 60 }, RAN],
  ["factory", "Grep", { pattern: "return 1;", path: "a.ts", output_mode: "content", context_after: 1, context_before: 0 }, found(/^a\.ts:2: .*\na\.ts-3- }$/)],
  ["gpt-oss", "repo_browser.open_file", { path: "my file.txt", line_start: 2, line_end: 2 }, read(/^2\tbeta$/)],
  ["gpt-oss", "repo_browser.search", { path: "src", query: "needle", max_results: 50 }, found(NEEDLES)],
  ["gpt-oss", "container.exec<|channel|>commentary", { cmd: ["bash", "-lc", "echo hello"] }, RAN],
  ["gpt-oss", "functions.shell", { command: ["bash", "-lc", "echo hello"] }, RAN],
  ["roo", "apply_diff", { path: "a.ts", operations: [{ search: "return 1;", replace: "return 2;" }] }, EDITED],
  ["cline", "replace_in_file", { absolutePath: "ROOT/a.ts", diff: BLOCKS, task_progress: "- [ ] x" }, EDITED],
  ["gemini-cli", "grep_search", { pattern: "NEEDLE", dir_path: "src", include_pattern: "*.py" }, found(/c\.py:1/, /b\.ts|Ignored/)],

  // zz's own calls stay as they are.
  ["zz", "read_file", { path: "my file.txt", start: 2, end: 2 }, read(/^2\tbeta$/)],
  ["zz", "grep", { query: "x(y" }, found(/b\.ts:4/)],
  ["zz", "grep", { query: "x.y" }, found(/^Nothing holds/)],
  ["zz", "edit_file", { path: "a.ts", ...swap }, EDITED],
  ["zz", "run_command", { command: "echo hello", timeout_ms: 5000 }, RAN],
  ["zz", "glob", { pattern: "**/*.py" }, globbed(/c\.py/)],

  // Hostile, or broken.
  ["hostile", "Read", { file_path: 7 }, refused("read_file", /path/)],
  ["hostile", "Read", { file_path: { a: 1 } }, refused("read_file", /path/)],
  ["hostile", "Read", null, refused("read_file", /read_file/)],
  ["hostile", "Read", ["a.ts"], refused("read_file", /not usable/)],
  ["hostile", "Edit", { file_path: "a.ts", edits: [{ a: 1 }, null, "x"] }, refused("edit_file", /old_string/)],
  ["hostile", "MultiEdit", { file_path: "a.ts", edits: "no" }, refused("edit_file", /edits/)],
  ["hostile", "shell", { command: ["ls", { a: 1 }] }, refused("run_command", /command/)],
  ["hostile", "shell", { command: [] }, refused("run_command", /command/)],
  ["hostile", "shell", { command: { a: "ls" } }, refused("run_command", /command/)],
  ["hostile", "Bash", {}, refused("run_command", /command/)],
  ["hostile", "shell", { command: ["bash", "-lc", "apply_patch <<'EOF'\nno patch\nEOF"] }, refused("apply_patch", /patch/i)],
  ["hostile", "shell", { command: ["bash", "-lc", `apply_patch <<'EOF'\n${PATCH}`] }, refused("run_command", /apply_patch/)],
  ["hostile", "Bash", { command: "ls", cwd: "../../etc; echo hi" }, { to: "run_command", failed: true, not: /^hi$/m }],
  ["hostile", "Bash", { command: "echo a; echo hello", cwd: "nowhere" }, { to: "run_command", failed: true, not: /^hello$/m }],
  ["hostile", "Bash", { command: "ls", cwd: 7 }, refused("run_command", /cwd/)],
  ["hostile", "Grep", { pattern: 7, "-A": "x" }, refused("grep", /./)],
  ["hostile", "Grep", { pattern: "needle", "-A": -3 }, refused("grep", /-3 after/)],
  ["hostile", "Grep", { pattern: "needle", output_mode: "colours" }, refused("grep", /output/)],
  ["hostile", "read_many_files", { paths: "a.ts" }, read(/function one/)],
  ["hostile", "read_many_files", { paths: [{ a: 1 }] }, refused("read_file", /path/)],
  ["hostile", "read_many_files", {}, refused("read_file", /path/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "<<<<<<< SEARCH\n  return 1;\n=======\n  return 2;\n" }, refused("edit_file", /REPLACE/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "<<<<<<< SEARCH\n  return 1;\n>>>>>>> REPLACE" }, refused("edit_file", /=======/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "  return 1;\n=======\n  return 2;\n>>>>>>> REPLACE" }, refused("edit_file", /SEARCH/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "<<<<<<< SEARCH\n  return 1;\n=======\nx\n=======\n  return 2;\n>>>>>>> REPLACE" }, refused("edit_file", /=======/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: `${BLOCKS}\n<<<<<<< SEARCH\n  return 9;\n=======\n` }, refused("edit_file", /REPLACE/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "" }, refused("edit_file", /SEARCH/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "just words" }, refused("edit_file", /SEARCH/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: 7 }, refused("edit_file", /diff/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: BLOCKS.replace("return 1", "return 8") }, refused("edit_file", /not found/)],
  ["hostile", "replace", { file_path: "a.ts", old_string: "one()", new_string: "uno()", expected_replacements: 3 }, refused("edit_file", /2 places/)],
  ["hostile", "replace", { file_path: "/etc/passwd", old_string: "root", new_string: "x", expected_replacements: 2 }, refused("edit_file", /passwd/)],
  ["hostile", "search_and_replace", { path: "a.ts", search: "o.e", replace: "x", use_regex: true }, refused("edit_file", /use_regex/)],
  ["hostile", "str_replace_editor", { path: "a.ts" }, refused("edit_file", /command/)],
  ["hostile", "str_replace_editor", { command: ["view"], path: "a.ts" }, refused("edit_file", /command/)],
  ["hostile", "str_replace_editor", { command: "insert", path: "a.ts", insert_line: "x", new_str: "y" }, refused("edit_lines", /start/)],
  ["hostile", "str_replace_editor", { command: "view", path: "a.ts", view_range: ["a", {}] }, refused("read_file", /view_range|start/)],
  ["hostile", "Read", JSON.parse('{"__proto__":{"path":"a.ts"}}'), refused("read_file", /path/)],
  ["hostile", "Read", { path: "a.ts", constructor: 1, toString: 2 }, { to: "read_file", says: /\[Ignored: constructor, toString\./ }],
  ["hostile", "Read", { file_path: "a.ts", view_range: " ".repeat(LONG) }, refused("read_file", /view_range/)],
  ["hostile", "Read", { file_path: "a.ts", path: "src/b.ts" }, { to: "read_file", says: /needle[\s\S]*\[Ignored: file_path\./ }],
  ["hostile", "Grep", { pattern: "x".repeat(LONG), glob: " ".repeat(LONG) }, refused("grep", /characters/)],
  ["hostile", "Grep", { pattern: "needle", output_mode: "constructor" }, refused("grep", /constructor/)],
  ["hostile", "Grep", { pattern: "[[:constructor:]]x", path: "a.ts" }, found(/^Nothing holds/)],
  ["hostile", "shell", { command: ["bash", "-lc", `${" ".repeat(LONG)}x`] }, { to: "run_command", failed: true }],
  ["hostile", "shell", { command: ["apply_patch", `${"*** Update File: ".repeat(1000)}`], workdir: "src" }, refused("apply_patch", /./)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: "<".repeat(LONG) }, refused("edit_file", /outside/)],
  ["hostile", "replace_in_file", { path: "a.ts", diff: `<<<<<<< SEARCH\n${" ".repeat(LONG)}\n=======\nx\n>>>>>>> REPLACE` }, refused("edit_file", /./)],
  ["hostile", "TodoWrite", { todos: [{ content: "x", status: "pending" }] }, { to: "TodoWrite", says: /no tool|Cannot call 'TodoWrite'/, failed: true }],
  ["hostile", "NotebookEdit", { notebook_path: "a.ts", cell_id: "x", new_source: "y" }, refused("edit_file", /notebook/)],
  ["hostile", "WebSearch", { query: "x" }, { to: "WebSearch", says: /Cannot call 'WebSearch'/, failed: true }],
];

/** A notebook without one of its cells. */
function without(name: string, cell: number): string {
  const notebook = JSON.parse(FILES[name]!);
  notebook.cells.splice(cell, 1);
  return `${JSON.stringify(notebook, null, 1)}\n`;
}
