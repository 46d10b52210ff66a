// What other agents call things: Claude Code, codex, opencode, pi, gemini, aider, llm, goose. A row
// that begins with a slash is obeyed instead, with the words that follow; any other says what to
// do. docs/coming-from.md is checked against this table.

/** Commands: what is typed after a slash. */
export const COMMANDS: Record<string, string> = {
  // conversations
  resume: "/sessions load",
  chat: "/sessions",
  session: "/status",
  history: "/tree",
  rewind: "/back",
  reset: "/clear",
  clone: "/fork",
  branch: "/fork",
  name: "/rename",
  compress: "/compact",
  summarize: "/compact",
  checkpoint:
    "Every change to a file is kept by itself. " +
    "/undo takes the last one back, /undo turn all of a turn, /back N your last messages.",
  restore: "/undo",
  unshare: "What /share writes is a file of yours, and goes nowhere by itself. Delete it.",
  import: "zz --store-copy FROM TO copies sessions from another place; /sessions all lists them.",
  q: "/quit",
  bye: "/quit",
  // the model and what it costs
  usage: "/cost",
  stats: "/status",
  tokens: "/context",
  about: "/status",
  doctor: "/status",
  version: "/status",
  thinking: "/effort",
  reasoning: "/effort",
  "think-tokens": "/effort",
  "reasoning-effort": "/effort",
  fast: "/effort none",
  "weak-model": "/config models",
  "scoped-models": "/config models",
  login: "/keys",
  auth: "/keys",
  connect: "/setup",
  logout: "/keys drop",
  // settings and what tools may do
  settings: "/config",
  preferences: "/config",
  theme: "/config display.theme",
  themes: "/config display.theme",
  details: "/config display.calls",
  "output-style":
    "Say how it should answer in AGENTS.md, or with zz --system TEXT for one conversation.",
  statusline: 'A plugin draws it: zz.wrap("prompt", …), as docs/plugins.md shows.',
  vi: "/vim",
  keybindings: "/help typing",
  hotkeys: "/help typing",
  approvals: "/permissions",
  approve: "/auto-apply",
  mode: "/auto-apply",
  "allowed-tools": "/permissions",
  sandbox: "/permissions",
  yolo:
    "zz -A starts without questions; /auto-apply on makes edits without asking, " +
    "and commands still ask.",
  "add-dir":
    "zz works in one folder. --allow-read=DIR and --allow-write=DIR let tools reach another; " +
    "/permissions allow does so now.",
  extensions: "/plugins",
  extension: "/plugins",
  // work
  diff: "/changes",
  plans: "/plan",
  architect: "/plan on",
  code: "/plan off",
  ask: "/plan on",
  "chat-mode": "/plan",
  "read-only": "/add",
  ls: "/add",
  mention: "Write @FILE, @FOLDER/ or @IMAGE in your message; Tab completes it.",
  image: "Write @IMAGE in your message, or take it from the clipboard with /paste.",
  editor: "/edit",
  "copy-context": "/copy",
  "security-review": "/review",
  "map-refresh": "/reindex",
  test: "Write !COMMAND to run your tests yourself, or ask for them: the tool run_tests runs them.",
  run: "Write !COMMAND to run a command of your own; !! then gives its output to the model.",
  git: "Write !git WORDS. /commit commits the changes, and the model has tools for git.",
  lint: "zz --install zz/lint runs your linter after each change.",
  web: "Give the address in your message: the tool web_fetch reads it, after asking.",
  todos: "/plan",
  agents:
    "The tool `task` sends helpers, which read and report; the setting `helpers` says how " +
    "many. Your own ones are files in .claude/agents or .agents/agents.",
  bashes: "Commands end with their call; none goes on in the background.",
  memories: "/memory",
  remember: 'Ask for it: "remember that …". /memory lists what is kept.',
  prompts: "/help templates",
  recipe: "A Markdown file in prompts/ of your home is a command: docs/prompt.md says how.",
  // around
  ide: "Editors drive zz by its flag --acp: docs/editors.md says how.",
  bug:
    "Describe it at the project's page, " +
    "with `zz --debug` and the lines of debug.log that show it.",
  feedback: "Describe it at the project's page.",
  changelog: "CHANGELOG.md lists what changed.",
  "release-notes": "CHANGELOG.md lists what changed.",
  upgrade: "Install zz again to get a newer one: docs/install.md. /update updates plugins.",
  "terminal-setup": "Nothing needs to be set up: Alt+Enter begins a new line.",
  "multiline-mode": "Alt+Enter begins a new line, as does a \\ at the end of one.",
  voice: "zz takes no speech. zz -a FILE attaches a sound for models that hear.",
  privacy: "zz sends what you say and what tools read to the model's provider alone: SECURITY.md.",
};

/**
 * Words that, alone on the command line, are no question: what is read instead of them. A word
 * without a dash is obeyed as the first message.
 */
export const WORDS: Record<string, readonly string[]> = {
  help: ["--help"],
  setup: ["/setup"],
  login: ["/setup"],
  configure: ["/setup"],
  auth: ["/setup"],
  sessions: ["--sessions"],
  resume: ["--continue"],
  mcp: ["--once", "/mcp"],
  update: ["--update"],
  models: ["--models"],
  keys: ["--keys"],
  tools: ["--tools"],
  plugins: ["--plugins"],
  permissions: ["--permissions"],
  config: ["--once", "/config"],
  status: ["--once", "/status"],
  doctor: ["--once", "/status"],
};
