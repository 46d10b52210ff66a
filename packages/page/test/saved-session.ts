// The file of a session as zz writes it, for pages: what was said, with parents of one's choice.
import type { Entry, Header } from "zz";
import { put } from "../../../test/support/files.ts";
import type { Place } from "../../../test/support/run.ts";

export const ID = "20260128-120000-page1234";
const AT = "2026-01-28T12:00:00.000Z";

type Part = Partial<Entry> & Pick<Entry, "type">;
export const said = (role: "user" | "assistant", text: string, more: object = {}): Part => ({
  type: "message",
  message: { role, text, ...more } as NonNullable<Entry["message"]>,
});

/** Each part follows the one before it, unless it names its parent. */
export function saveSession(where: Place, parts: Part[], title = "A talk"): string {
  const header: Header = { zz: 1, id: ID, at: AT, root: where.cwd, model: "script/n", title };
  const entries = parts.map((part, index) => ({
    id: index + 1,
    parent: index || null,
    at: AT,
    ...part,
  }));
  const lines = [header, ...entries].map((line) => `${JSON.stringify(line)}\n`);
  put(where.home, { [`sessions/${ID}.jsonl`]: lines.join("") });
  return ID;
}

/** A change of a file as the session keeps it: its whole text before, and what stands there then. */
export const changed = (path: string, before: string | null, after: string | null): Part => ({
  type: "change",
  change: 1,
  group: 1,
  turn: 1,
  tool: "edit_file",
  path,
  was: before === null ? null : "a",
  is: after === null ? null : "b",
  modes: [0, 0],
  ...(before !== null && { base: { text: before } }),
  place: 0,
  cut: before?.length ?? 0,
  put: { text: after ?? "" },
  made: [],
});

/** Markup, addresses and characters that must not do anything on a page. */
export const HOSTILE = [
  "<script>window.hacked = 1</script>",
  "<img src=x onerror='window.hacked = 1'>",
  "<svg onload='window.hacked = 1'></svg>",
  "<style>body{display:none}</style>",
  '<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe>',
  "<base href='https://evil.example/'>",
  "<meta http-equiv='refresh' content='0;url=https://evil.example/'>",
  "<form action='https://evil.example/'><button>Save</button></form>",
  "<details open ontoggle='window.hacked = 1'>x</details>",
  "<a href='javascript:window.hacked = 1' autofocus onfocus='window.hacked = 1'>x</a>",
  "[x](javascript:window.hacked=1)",
  "[x](data:text/html,<script>window.hacked=1</script>)",
  "[x](  JaVaScRiPt:window.hacked=1)",
  "[x](&#106;avascript:window.hacked=1)",
  "[x](vbscript:window.hacked)",
  '[x](https://evil.example/"onmouseover="window.hacked=1)',
  "![x](https://evil.example/pixel.png)",
  "![x](javascript:window.hacked=1)",
  '![" onerror="window.hacked=1](x)',
  "<https://evil.example/?'><script>window.hacked=1</script>",
  "<javascript:window.hacked=1>",
  "```html\n</code></pre><script>window.hacked=1</script>\n```",
  '```"><script>window.hacked=1</script>\nx\n```',
  "`</code><script>window.hacked=1</script>`",
  "</article></main><script>window.hacked=1</script>",
  "--></style></script><script>window.hacked=1</script>",
  "| <script>window.hacked=1</script> | x |\n|---|---|\n| <img src=x onerror=window.hacked=1> | y |",
  "# <script>window.hacked=1</script>",
  "> <script>window.hacked=1</script>",
  "- [ ] <script>window.hacked=1</script>",
  "<div>\n<script>window.hacked=1</script>\n</div>",
  "<pre>\n<script>window.hacked=1</script>\n</pre>",
  "<!-- <script>window.hacked=1</script> -->",
  "<![CDATA[<script>window.hacked=1</script>]]>",
  "\u202egpj.exe\u202c \u2066x\u2069 \u200fabc",
  "\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007 \u001b[2J",
  "&lt;script&gt;window.hacked=1&lt;/script&gt;",
  "[a]: javascript:window.hacked=1\n\n[a]",
  "[a]: https://evil.example '\"onload=\"window.hacked=1'\n\n![a]",
  `${"[".repeat(5_000)}x`,
  `${"> ".repeat(2_000)}x`,
  `${"*a ".repeat(5_000)}`,
  `${"`".repeat(3_000)}x`,
];
