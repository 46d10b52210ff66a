// The table of habits: other programs' names for zz's tools and parameters. No model sees it. Case,
// "-" and "_" do not count: file_path covers filePath and FilePath too. If a call needs more than
// other names, the function of values.ts for its tool converts it.

export interface Habit {
  to: string; // zz's own tool
  names: string; // other programs' names for it
  // zz's own parameter: other names for it, the first that is given wins
  params: Record<string, string>;
  idle?: string; // parameters without effect here, which are dropped: a name, or name=value
}

const PATH_NAMES =
  "file_path filename file target_file absolute_path " +
  "relative_workspace_path relative_path file_name";
const FOLDER_NAMES =
  "folder directory dir dir_path directory_path target_directory search_path search_directory";
const CONTENT = "contents file_text file_content text data code_content new_content";

/** Parameters without effect in any call: reasons for it, and data for the other program. */
export const IDLE =
  "description explanation instruction instructions thought reason " +
  "justification security_risk requires_approval " +
  "tool_summary tool_action wait_for_previous wait_for_previous_tools " +
  "ai_proposed_content modified_by_user task_progress " +
  "summary risk_level risk_level_reason instruction_reminder instructions_reminder sudo=false " +
  "respect_gemini_ignore respect_git_ignore=true file_filtering_options";

/** Other names for the fields of an entry in edit_file's edits. */
export const EDIT = {
  old_string:
    "old_str old_str_1 old_text old search search_text find target " +
    "target_content original old_content",
  new_string:
    "new_str new_str_1 new_text new replace replacement " +
    "replacement_content updated new_content replace_text",
  replace_all: "all allow_multiple change_all",
};

export const HABITS: Habit[] = [
  {
    to: "read_file",
    names:
      "read read_file view view_file view_image read_text_file get_file get_lines file_read " +
      "repo_browser.open_file open_file open cat read_file_range",
    params: {
      path: `${PATH_NAMES} image_path notebook_path`,
      start:
        "offset start_line line_start from_line from start_line_one_indexed " +
        "line_offset start_line_number begin_line",
      end: "end_line line_end to_line to end_line_one_indexed_inclusive end_line_number",
      limit: "max_lines line_count num_lines n_lines",
    },
    idle: "mode=slice encoding=utf-8 encoding=utf8 include_line_numbers",
  },
  {
    to: "read_file",
    names: "read_many_files read_multiple_files read_files",
    params: {},
    idle: "recursive=true use_default_excludes",
  },
  {
    to: "write_file",
    names: "write write_file write_to_file write_text_file file_write fs_write",
    params: { path: PATH_NAMES, content: CONTENT },
    idle:
      "line_count empty_file=false overwrite=true mode=overwrite mode=w mode=rewrite " +
      "code_markdown_language create_dirs create_directories",
  },
  {
    to: "create_file",
    names: "create create_file new_file file_create create_new_file create_text_file save_file",
    params: { path: PATH_NAMES, content: `${CONTENT} code` },
    idle: "line_count overwrite=false",
  },
  {
    to: "edit_file",
    names:
      "edit edit_file multi_edit str_replace replace replace_in_file " +
      "replace_string_in_file multi_replace_string_in_file " +
      "apply_diff search_replace search_and_replace str_replace_file " +
      "replace_file_content multi_replace_file_content " +
      "insert_edit_into_file edit_existing_file single_find_and_replace file_str_replace",
    params: {
      path: PATH_NAMES,
      edits: "changes replacements replacement_chunks edit operations",
      ...EDIT,
    },
    idle:
      "dry_run=false use_regex=false is_regex=false code_markdown_language " +
      "target_lint_error_ids expected_replacements=1",
  },
  {
    to: "edit_file",
    names: "notebook_edit edit_notebook edit_notebook_file",
    params: {
      path: `notebook_path target_notebook ${PATH_NAMES}`,
      old_string: "old_str",
      new_string: "new_source new_str new_code source",
    },
  },
  {
    to: "edit_lines",
    names: "insert_content insert_line insert_lines replace_lines",
    params: {
      path: PATH_NAMES,
      start: "start_line from",
      end: "end_line to",
      content: `${CONTENT} new_string new_str insert_text`,
    },
  },
  {
    to: "delete_file",
    names: "delete delete_file remove_file file_delete delete_path rm",
    params: { path: PATH_NAMES },
  },
  {
    to: "move_file",
    names: "move_file rename_file move_path move mv rename_path",
    params: {
      from: "source source_path src old_path path source_file",
      to: "destination destination_path dest new_path target target_path destination_file",
    },
    idle: "overwrite=false",
  },
  {
    to: "apply_patch",
    names: "apply_patch patch",
    params: { patch: "input patch_text diff content text" },
  },
  {
    to: "list_dir",
    names:
      "ls list list_dir print_tree list_directory list_files read_folder " +
      "view_directory list_directory_contents",
    params: { path: `${FOLDER_NAMES} relative_workspace_path ${PATH_NAMES}` },
    idle: "recursive=false offset=0 offset=1",
  },
  {
    to: "glob",
    names:
      "glob find find_file file_glob_search file_find_by_name find_files file_search " +
      "glob_search find_by_name find_path glob_files glob_file_search search_file_names",
    params: {
      pattern: "patterns file_mask glob_pattern file_pattern query glob name file_name",
      path: FOLDER_NAMES,
    },
    idle: "offset=0 include_dirs=false type=file type=any case_sensitive=true",
  },
  {
    to: "grep",
    names:
      "grep grep_search search_file_content search_files grep_files search rg " +
      "ripgrep search_text search_in_files " +
      "file_find_in_content search_dir search_file " +
      "file_content_search search_code search_for_pattern",
    params: {
      query: "pattern regex substring_pattern search_pattern text search search_term search_query",
      path: `${FOLDER_NAMES} ${PATH_NAMES} relative_path`,
      glob: "include include_pattern file_pattern includes file_glob filter glob_pattern",
      ignore_case: "case_insensitive i",
      regex: "is_regexp is_regex use_regex",
      output: "output_mode",
      before: "b context_before before_context before_lines context_lines_before",
      after: "a context_after after_context after_lines context_lines_after",
      limit: "head_limit max_results total_max_matches max_matches max_count",
    },
    idle:
      "n line_number line_numbers multiline=false no_ignore=false offset=0 match_per_line=true " +
      "head_limit=0 include_ignored_files=false",
  },
  {
    to: "run_command",
    names:
      "bash shell exec_command run_shell_command execute_command run_terminal_cmd " +
      "run_terminal_command run_in_terminal " +
      "execute_bash shell_command local_shell container_exec developer_shell " +
      "terminal exec execute run run_bash " +
      "run_command execute_shell_command launch_process shell_exec bash_tool",
    params: {
      command: "cmd command_line script code",
      timeout_ms: "timeout_milliseconds",
      hosts: "net network",
    },
    idle:
      "is_background=false run_in_background=false background=false blocking=true " +
      "safe_to_auto_run wait_ms_before_async " +
      "is_input=false require_user_approval reset=false restart=false yield_time_ms " +
      "login tty=false interactive=false " +
      "shell=bash shell=/bin/bash shell=sh " +
      "sandbox_permissions=use_default with_escalated_permissions=false " +
      "dangerously_disable_sandbox=false goal prefix_rule wait_for_completion=true wait=true " +
      "async=false mode=sync initial_wait fire_and_forget=false",
  },
  {
    to: "get_structure",
    names:
      "list_code_definition_names get_symbols_overview view_file_outline " +
      "outline structure document_symbols",
    params: { path: `${PATH_NAMES} ${FOLDER_NAMES}` },
  },
  {
    to: "find_references",
    names:
      "list_code_usages find_referencing_symbols find_usages references " +
      "get_references usages find_callers",
    params: { symbol: "symbol_name name name_path", path: `${PATH_NAMES} file_paths` },
  },
  {
    to: "repo_map",
    names: "codebase_search codebase_retrieval semantic_search code_search finder codebase_map",
    params: {
      query: "search question task information_request",
      focus: "paths files",
      tokens: "max_tokens budget",
    },
    idle: "path=. path=./ target_directories=.",
  },
  {
    to: "check_types",
    names: "get_errors read_lints diagnostics get_diagnostics get_problems typecheck",
    params: { paths: "file_paths path files file file_path" },
  },
  {
    to: "todo",
    names:
      "todo_write write_todos update_plan set_todo_list update_todo_list " +
      "manage_todo_list todo_list task_tracker",
    params: { set: "todos plan items todo_list task_list" },
    idle: "merge=false command=plan operation=write",
  },
  {
    to: "task",
    names:
      "task agent delegate look_into dispatch_agent delegate_task " +
      "new_task subagent run_subagent spawn_agent",
    params: { question: "prompt message task query instructions objective" },
    idle: "subagent_type agent_type agent mode model",
  },
  {
    to: "web_fetch",
    names: "web_fetch fetch fetch_url fetch_webpage read_url_content read_web_page open_url",
    params: { url: "uri link href address" },
    idle: "prompt format=markdown format=text timeout query",
  },
  {
    to: "web_search",
    names: "web_search search_web google_web_search internet_search",
    params: {
      query: "q search_term search_query question",
      count: "num_results max_results limit",
    },
  },
  {
    to: "read_skill",
    names: "skill use_skill load_skill activate_skill",
    params: { name: "skill skill_name command" },
  },
];

/** A single tool for everything about files: its command decides which of zz's tools is meant. */
export const EDITORS = {
  names:
    "str_replace_editor str_replace_based_edit_tool fs_write file_editor " +
    "text_editor developer_text_editor edit_tool " +
    "text_editor_20241022 text_editor_20250124 text_editor_20250429 text_editor_20250728",
  undo:
    "only the person can undo (/undo). " +
    "Edit the file back yourself: edit_file, with the two texts the other way round.",
  to: {
    view: "read_file",
    create: "write_file",
    write: "write_file",
    str_replace: "edit_file",
    insert: "edit_lines",
  } as Record<string, string>,
};
