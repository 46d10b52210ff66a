// The style of the page: light and dark, readable on a phone, and quick where it is long.

const LIGHT_COLOURS =
  "--back:#fff;--front:#1f2328;--dim:#59636e;--line:#d1d9e0;--box:#f6f8fa;--link:#0550ae;" +
  "--good:#116329;--bad:#a40e26;--add:#dafbe1;--cut:#ffebe9;--mark:#ffe58f;" +
  "--word:#a40e26;--text:#0a3069;--name:#6639ba;--note:#59636e;--value:#0550ae";
const DARK_COLOURS =
  "--back:#0d1117;--front:#e6edf3;--dim:#9198a1;--line:#3d444d;--box:#151b23;--link:#79c0ff;" +
  "--good:#56d364;--bad:#ff9492;--add:#12361f;--cut:#4a1a1d;--mark:#6b5300;" +
  "--word:#ff9492;--text:#a5d6ff;--name:#d2a8ff;--note:#9198a1;--value:#79c0ff";

export const LOOK = `
:root{${LIGHT_COLOURS}}
@media(prefers-color-scheme:dark){:root{${DARK_COLOURS}}}
:root[data-theme=light]{${LIGHT_COLOURS};color-scheme:light}
:root[data-theme=dark]{${DARK_COLOURS};color-scheme:dark}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:0 1rem 4rem;background:var(--back);color:var(--front);
  font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
a{color:var(--link)}
h1{font-size:1.4rem;margin:1rem 0 0}
h2{font-size:1rem;margin:0}
.top p,.when,.count,nav{color:var(--dim);font-size:.9rem;margin:.2rem 0}
.head{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline}
.tools{position:sticky;top:0;display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;\
padding:.5rem 0}
input,button,select,textarea{font:inherit;color:inherit;background:var(--box);
  border:1px solid var(--line);border-radius:6px;padding:.25rem .6rem;max-width:100%}
button:disabled{color:var(--dim)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
article{content-visibility:auto;contain-intrinsic-size:auto 8rem;border-top:1px solid var(--line);
  padding:.8rem 0}
article[hidden]{display:none}
article.user{border-left:4px solid var(--link);padding-left:.8rem}
article.change{border-left:4px solid var(--good);padding-left:.8rem}
article.note,article.aside{color:var(--dim)}
main img{max-width:100%;height:auto}
summary{cursor:pointer}
.good{color:var(--good)}.bad{color:var(--bad)}
pre,code{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}
pre{background:var(--box);border:1px solid var(--line);border-radius:6px;padding:.6rem;
  overflow:auto;max-height:30rem;white-space:pre}
:not(pre)>code{background:var(--box);border-radius:4px;padding:.1em .3em}
main table:not(.diff){border-collapse:collapse;display:block;overflow:auto}
main table:not(.diff) :is(td,th){border:1px solid var(--line);padding:.2rem .5rem;
overflow-wrap:break-word}
.count{white-space:nowrap}
blockquote{margin:0;border-left:4px solid var(--line);padding-left:.8rem;color:var(--dim)}
.diff{width:100%;border-collapse:collapse;table-layout:fixed}
.diff td{display:block;padding:0;vertical-align:top}
.diff .same .old{display:none}
.sides .diff td,.sides .diff .same .old{display:table-cell;width:50%}
.sides .diff .gap td{width:100%}
.line{display:grid;grid-template-columns:3.2em 1.2em 1fr;text-decoration:none;white-space:pre-wrap}
.line i{color:var(--dim);font:12px/1.6 ui-monospace,monospace;text-align:right;padding-right:.4em;
  user-select:none}
.line b{font-weight:normal;user-select:none}
.line code{background:none;padding:0}
ins.line{background:var(--add)}del.line{background:var(--cut)}
.hljs-keyword,.hljs-built_in,.hljs-meta,.hljs-tag{color:var(--word)}
.hljs-string,.hljs-regexp{color:var(--text)}
.hljs-title,.hljs-section,.hljs-name{color:var(--name)}
.hljs-comment,.hljs-quote{color:var(--note)}
.hljs-number,.hljs-literal,.hljs-attr,.hljs-attribute,.hljs-variable,.hljs-type{color:var(--value)}
::highlight(found){background:var(--mark)}
.question{border:2px solid var(--link);border-radius:6px;padding:.6rem;margin:.6rem 0}
.settled{border-color:var(--line)}
#say{position:sticky;bottom:0;z-index:1;background:var(--back);padding:.5rem 0}
#say textarea{width:100%}
body:has(#say){padding-bottom:0}
article>:first-child,article>div:first-child>:first-child{margin-top:0}
:is(.user,.aside) p{white-space:pre-line}
article>:last-child,article>div>:last-child{margin-bottom:0}
#talk .folded{margin:.3rem 0}
@media(max-width:40rem){body{padding:0 .6rem 3rem}.line{grid-template-columns:2.4em 1em 1fr}}
@media print{.tools,nav{display:none}article{content-visibility:visible}}
`;
