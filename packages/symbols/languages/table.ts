// The languages that are read beside TypeScript, JavaScript, JSON and YAML: their files, their
// grammars, and what in a tree is
// a definition, an import, a comment, a string, a branch. TypeScript's own files are read by
// TypeScript's parser, exactly.
//
// A query names what it finds: a kind of symbol (@class, @function, …) with its @name, or a pattern
// that holds several
// @names, and, where that stands apart, its @owner; @scope for what only has an owner; @import,
// @comment, @string, @code (within a string), @branch (it nests), @case.
import type { Sym } from "../scan/facts.ts";

export interface Language {
  name: string;
  ends: string; // the endings of its files
  grammar?: string; // a key of grammars.json; without one it is read by hand
  query?: string;
  // the kind of a class, by how its declaration begins
  kinds?: [head: RegExp, kind: Sym["kind"] | "scope"][];
  before?: Record<string, string>; // by type of node: the keyword that stands before it
  names?: RegExp; // what a head that has no @name declares
  nested?: true; // a name begins with its namespaces
  logic?: RegExp; // operators that branch; && and || unless given
  word?: RegExp; // an identifier
  isPrivate?(symbolName: string, headText: string): boolean;
  isExported?(symbolName: string, headText: string): boolean;
  // for a grammar that is stricter than the language; keeps the length
  repair?(sourceText: string): string;
  hasMacros?: true; // code that the grammar does not understand may still be right
  isMarkup?: true; // no code: it stands in no map, and has no branches
}

const PRIVATE = /\b(?:private|fileprivate)\b/;
const AND_OR_PATTERN = /&&|\|\||\b(?:and|or)\b/g;
const isHidden = (_: string, headText: string) => PRIVATE.test(headText);

const C_DECLARATIONS = `
(function_definition) @function
(declaration) @variable
(field_declaration) @property
(type_definition) @type
(union_specifier name: (_) @name body: (_)) @class
(struct_specifier name: (_) @name body: (_)) @class
(enum_specifier name: (_) @name body: (_)) @enum
(enumerator name: (identifier) @name) @member
(preproc_def name: (identifier) @name) @const
(preproc_function_def name: (identifier) @name) @function
(preproc_include) @import
(comment) @comment
[(string_literal) (char_literal) (system_lib_string)] @string
[(if_statement) (for_statement) (while_statement) (do_statement) (switch_statement)] @branch
[(case_statement) (conditional_expression)] @case`;

const KOTLIN_MODIFIER =
  "(?:private|public|internal|protected|override|open|abstract|final|suspend)";
/** Kotlin: strings, and the blanks that end a statement in the middle of a line. */
const ENDED_STATEMENT = new RegExp(
  /"""|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.){1,6}'| (?=\})(?<=[\w?>)\]"'}!+-] +)/.source +
    String.raw`|(?<=\}) (?=(?:${KOTLIN_MODIFIER} )*(?:fun|val|var)\b)`,
  "g",
);

export const LANGUAGES: readonly Language[] = [
  {
    name: "Python",
    ends: "py pyi pyw",
    grammar: "python",
    query: `
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(type_alias_statement left: (type (identifier) @name)) @type
(assignment left: (_) @names) @variable
[(import_statement) (import_from_statement)] @import
(comment) @comment
(string) @string
(interpolation) @code
[(if_statement) (for_statement) (while_statement) (try_statement) (match_statement)] @branch
[(elif_clause) (except_clause) (conditional_expression) (case_clause)] @case`,
    logic: AND_OR_PATTERN,
    isPrivate: (symbolName) => /^_(?!_.*__$)/.test(symbolName),
  },
  {
    name: "Go",
    ends: "go",
    grammar: "go",
    query: `
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
  name: (_) @name) @method
(type_spec name: (_) @name type: (struct_type)) @class
(type_spec name: (_) @name type: (interface_type)) @interface
(type_spec name: (_) @name) @type
(type_alias name: (_) @name) @type
(method_elem name: (_) @name) @method
(field_declaration name: (_) @name) @property
(const_spec (identifier) @name) @const
(var_spec name: (identifier) @name) @variable
(import_spec) @import
(comment) @comment
[(interpreted_string_literal) (raw_string_literal) (rune_literal)] @string
[(if_statement) (for_statement) (expression_switch_statement) (type_switch_statement)
  (select_statement)] @branch
[(expression_case) (type_case) (communication_case)] @case`,
    before: { type_spec: "type ", type_alias: "type ", const_spec: "const ", var_spec: "var " },
    isExported: (symbolName) => /^\p{Lu}/u.test(symbolName),
  },
  {
    name: "Rust",
    ends: "rs",
    grammar: "rust",
    query: `
[(struct_item name: (_) @name) (union_item name: (_) @name)] @class
(enum_item name: (_) @name) @enum
(enum_variant name: (_) @name) @member
(trait_item name: (_) @name) @interface
(impl_item type: (_) @owner) @scope
(mod_item name: (_) @name body: (_)) @namespace
[(function_item name: (_) @name) (function_signature_item name: (_) @name)
  (macro_definition name: (_) @name)] @function
(const_item name: (_) @name) @const
(static_item name: (_) @name) @variable
(token_tree "pub" @variable . "static" . (identifier)? . (identifier) @name . ":")
(token_tree "static" @variable . (identifier)? . (identifier) @name . ":")
[(type_item name: (_) @name) (associated_type name: (_) @name)] @type
(field_declaration name: (_) @name) @property
(use_declaration) @import
(mod_item !body) @import
[(line_comment) (block_comment)] @comment
[(string_literal) (raw_string_literal) (char_literal)] @string
[(if_expression) (for_expression) (while_expression) (loop_expression) (match_expression)] @branch
(match_arm) @case`,
    nested: true,
    isExported: (_, headText) => /^pub\b/.test(headText),
  },
  {
    name: "Java",
    ends: "java",
    grammar: "java",
    query: `
[(class_declaration name: (_) @name) (record_declaration name: (_) @name)] @class
[(interface_declaration name: (_) @name) (annotation_type_declaration name: (_) @name)] @interface
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @property))
(enum_declaration name: (_) @name) @enum
(enum_constant name: (_) @name) @member
[(method_declaration name: (_) @name) (constructor_declaration name: (_) @name)] @method
[(annotation_type_element_declaration name: (_) @name)
  (compact_constructor_declaration name: (_) @name)] @method
(field_declaration declarator: (variable_declarator name: (_) @name)) @property
(constant_declaration declarator: (variable_declarator name: (_) @name)) @property
(import_declaration) @import
[(line_comment) (block_comment)] @comment
[(string_literal) (character_literal)] @string
[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement)
  (switch_expression) (try_statement)] @branch
[(switch_label) (catch_clause) (ternary_expression)] @case`,
    isPrivate: isHidden,
  },
  {
    name: "C",
    ends: "c h",
    grammar: "c",
    query: C_DECLARATIONS,
    hasMacros: true,
    isExported: (_, headText) => !/^static\b/.test(headText),
  },
  {
    name: "C++",
    ends: "cc cpp cxx c++ hh hpp hxx ipp inl cu cuh",
    grammar: "cpp",
    query: `${C_DECLARATIONS}
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
(namespace_alias_definition name: (_) @name) @namespace
(alias_declaration name: (_) @name) @type
(concept_definition name: (_) @name) @type
(raw_string_literal) @string
[(for_range_loop) (try_statement)] @branch
(catch_clause) @case`,
    hasMacros: true,
    isExported: (_, headText) => !/^static\b/.test(headText),
  },
  {
    name: "C#",
    ends: "cs csx",
    grammar: "c_sharp",
    query: `
[(class_declaration name: (_) @name) (struct_declaration name: (_) @name)
  (record_declaration name: (_) @name)] @class
(record_declaration (parameter_list (parameter name: (_) @name) @property))
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(enum_member_declaration name: (_) @name) @member
(delegate_declaration name: (_) @name) @type
[(namespace_declaration name: (_) @name)
  (file_scoped_namespace_declaration name: (_) @name)] @namespace
[(method_declaration name: (_) @name) (constructor_declaration name: (_) @name)] @method
(local_function_statement name: (_) @name) @function
[(property_declaration name: (_) @name) (event_declaration name: (_) @name)] @property
(field_declaration (variable_declaration (variable_declarator name: (_) @name))) @property
(event_field_declaration (variable_declaration (variable_declarator name: (_) @name))) @property
(using_directive) @import
(comment) @comment
[(string_literal) (verbatim_string_literal) (raw_string_literal) (character_literal)
  (interpolated_string_expression)] @string
(interpolation) @code
[(if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement)
  (switch_statement) (switch_expression) (try_statement)] @branch
[(switch_section) (switch_expression_arm) (catch_clause) (conditional_expression)] @case`,
    isPrivate: isHidden,
  },
  {
    name: "Ruby",
    ends: "rb rake gemspec ru",
    grammar: "ruby",
    query: `
(class name: (_) @name) @class
(module name: (_) @name) @namespace
[(method name: (_) @name) (singleton_method name: (_) @name)] @function
[(assignment left: (constant) @name) (operator_assignment left: (constant) @name)] @const
(assignment left: (left_assignment_list (constant) @name)) @const
((call method: (identifier) @method arguments: (argument_list (simple_symbol) @name)) @property
  (#any-of? @method "attr_reader" "attr_writer" "attr_accessor" "class_attribute" "cattr_accessor"
    "mattr_accessor"))
(alias name: (identifier) @name) @function
((call method: (identifier) @method
  arguments: (argument_list . [(simple_symbol) @name (string (string_content) @name)]))
  @function (#any-of? @method "alias_method" "define_method" "define_singleton_method"))
((call method: (identifier) @method arguments: (argument_list (simple_symbol) @name))
  @function (#eq? @method "delegate"))
((call method: (identifier) @method arguments: (argument_list (string))) @import
  (#any-of? @method "require" "require_relative" "load" "autoload"))
(comment) @comment
[(string) (heredoc_body) (regex)] @string
(interpolation) @code
[(if) (unless) (while) (until) (for) (case) (case_match) (begin)] @branch
[(elsif) (when) (in_clause) (rescue) (conditional) (if_modifier) (unless_modifier)
  (while_modifier)] @case`,
    nested: true,
    logic: AND_OR_PATTERN,
  },
  {
    name: "PHP",
    ends: "php phtml",
    grammar: "php",
    query: `
[(class_declaration name: (_) @name) (trait_declaration name: (_) @name)] @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(enum_case name: (_) @name) @member
(namespace_definition name: (_) @name) @namespace
(method_declaration name: (_) @name) @method
(function_definition name: (_) @name) @function
(const_declaration (const_element (name) @name)) @const
(property_declaration (property_element name: (variable_name (name) @name))) @property
(property_promotion_parameter name: (variable_name (name) @name)) @property
((function_call_expression function: (name) @function_name
  arguments: (arguments . (argument
    [(string (string_content) @name) (encapsed_string . (string_content) @name .)])))
  @const (#eq? @function_name "define"))
(program (expression_statement (assignment_expression left: (_) @names)) @variable)
[(namespace_use_declaration) (require_expression) (require_once_expression) (include_expression)
  (include_once_expression)] @import
(comment) @comment
[(string) (encapsed_string) (heredoc) (nowdoc)] @string
(encapsed_string (variable_name) @code)
[(if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement)
  (switch_statement) (match_expression) (try_statement)] @branch
[(else_if_clause) (case_statement) (match_conditional_expression) (catch_clause)
  (conditional_expression)] @case`,
    logic: AND_OR_PATTERN,
    isPrivate: isHidden,
  },
  {
    name: "Kotlin",
    ends: "kt kts",
    grammar: "kotlin",
    query: `
(class_declaration name: (_) @name) @class
(object_declaration name: (_) @name) @class
(function_declaration (user_type) @owner . "." . name: (_) @name) @function
(function_declaration name: (_) @name) @function
(property_declaration [(variable_declaration) (multi_variable_declaration)] @names) @variable
(class_parameter ["val" "var"] (identifier) @name) @property
(type_alias type: (_) @name) @type
(enum_entry (identifier) @name) @member
(import) @import
[(line_comment) (block_comment)] @comment
[(string_literal) (multiline_string_literal) (character_literal)] @string
(interpolation) @code
[(if_expression) (for_statement) (while_statement) (do_while_statement) (when_expression)
  (try_expression)] @branch
[(when_entry) (catch_block)] @case`,
    kinds: [
      [/\binterface\b/, "interface"],
      [/\benum class\b/, "enum"],
    ],
    isPrivate: isHidden,
    // it wants an end of the line there
    repair: (sourceText) =>
      sourceText.replace(ENDED_STATEMENT, (matched) => (matched === " " ? ";" : matched)),
  },
  {
    name: "Swift",
    ends: "swift",
    grammar: "swift",
    query: `
(class_declaration name: (_) @name) @class
(protocol_declaration name: (_) @name) @interface
[(function_declaration name: (simple_identifier) @name)
  (protocol_function_declaration name: (simple_identifier) @name)] @function
(init_declaration "init" @name) @function
(property_declaration name: (pattern) @names) @variable
(macro_declaration (simple_identifier) @name) @function
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name))
  @property
(typealias_declaration name: (type_identifier) @name) @type
(associatedtype_declaration name: (type_identifier) @name) @type
(enum_entry name: (simple_identifier) @name) @member
(import_declaration) @import
[(comment) (multiline_comment)] @comment
[(line_string_literal) (multi_line_string_literal) (raw_string_literal)] @string
(interpolated_expression) @code
[(if_statement) (guard_statement) (for_statement) (while_statement) (repeat_while_statement)
  (switch_statement) (do_statement)] @branch
[(switch_entry) (catch_block) (ternary_expression)] @case`,
    kinds: [
      [/\bextension\b/, "scope"],
      [/\benum\b/, "enum"],
    ],
    isPrivate: isHidden,
  },
  {
    name: "Bash",
    ends: "sh bash",
    grammar: "bash",
    query: `
(function_definition name: (word) @name) @function
(variable_assignment name: (variable_name) @name) @variable
(declaration_command ["declare" "typeset"] (variable_name) @name) @variable
((command name: (command_name (word) @command)) @import (#any-of? @command "source" "."))
(comment) @comment
[(string) (raw_string) (ansi_c_string) (heredoc_body)] @string
[(simple_expansion) (expansion) (command_substitution)] @code
[(if_statement) (for_statement) (c_style_for_statement) (while_statement) (case_statement)] @branch
[(elif_clause) (case_item)] @case`,
    word: /[\p{L}_][\p{L}\p{N}_-]*/gu,
  },
  {
    name: "Lua",
    ends: "lua",
    grammar: "lua",
    query: `
(function_declaration name: (identifier) @name) @function
(function_declaration name: (dot_index_expression table: (_) @owner field: (_) @name)) @method
(function_declaration name: (method_index_expression table: (_) @owner method: (_) @name)) @method
(assignment_statement
  (variable_list name: (dot_index_expression table: (_) @owner field: (_) @name))
  (expression_list value: (function_definition))) @method
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition) .))) @function
(assignment_statement
  (variable_list . name: (identifier) @name .)
  (expression_list . value: (function_definition) .)) @function
(field name: (identifier) @name value: (function_definition)) @function
(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name)))
  @variable)
(chunk (variable_declaration (variable_list name: (identifier) @name)) @variable)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @variable)
(chunk (assignment_statement
  (variable_list name: (dot_index_expression table: (identifier) @owner field: (_) @name)))
  @property)
((function_call name: (identifier) @called) @import (#any-of? @called "require" "dofile"))
(comment) @comment
(string) @string
[(if_statement) (for_statement) (while_statement) (repeat_statement)] @branch
(elseif_statement) @case`,
    logic: AND_OR_PATTERN,
    isExported: (_, headText) => !/^local\b/.test(headText),
  },
  { name: "SQL", ends: "sql ddl" },
  {
    name: "CSS",
    ends: "css",
    grammar: "css",
    query: `
(rule_set) @class
(keyframes_statement (keyframes_name) @name) @function
((declaration (property_name) @name) @variable (#match? @name "^--"))
(import_statement) @import
(comment) @comment
(string_value) @string`,
    names: /[.#](-?[_\p{L}][\p{L}\p{N}_-]*)/gu,
    word: /(?:--)?[\p{L}_][\p{L}\p{N}_-]*/gu,
    isMarkup: true,
  },
  { name: "HTML", ends: "html htm", isMarkup: true },
  { name: "Vue", ends: "vue" },
  { name: "Svelte", ends: "svelte" },
];

const LANGUAGES_BY_END = new Map(
  LANGUAGES.flatMap((language) =>
    language.ends.split(" ").map((ending) => [ending, language] as const),
  ),
);

export const languageOf = (filePath: string): Language | undefined =>
  LANGUAGES_BY_END.get(filePath.slice(filePath.lastIndexOf(".") + 1).toLowerCase());

/**
 * What of it is a script is read by TypeScript's parser, and TypeScript says where its imports
 * lead.
 */
export const isComponent = (filePath: string): boolean => /\.(?:vue|svelte|html?)$/i.test(filePath);
