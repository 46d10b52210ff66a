// Reads MarkdownV2 as the Bot API does, and refuses what it refuses.
const RESERVED = /[_*[\]()~`>#+\-=|{}.!]/;
const MARKS = ["__", "||", "_", "*", "~"];

/** The text without marks, and the entities by name in the order in which they end. */
export function parseMarkdown(markdown: string): { text: string; entities: [string, string][] } {
  const open: { mark: string; at: number }[] = [];
  const entities: [string, string][] = [];
  let text = "";
  let i = 0;
  const close = () => {
    const { mark, at } = open.pop()!;
    entities.push([mark, text.slice(at)]);
  };
  const isQuoted = () => open.some(({ mark }) => mark === ">");
  while (i < markdown.length) {
    const sign = markdown[i]!;
    const isLineStart = i === 0 || markdown[i - 1] === "\n";
    if (isLineStart && isQuoted() && sign !== ">") {
      if (open.at(-1)!.mark !== ">") throw unparsed(`can't find end of ${open.at(-1)!.mark}`);
      close();
    }
    if (isLineStart && sign === ">") {
      if (!isQuoted()) {
        if (open.length) throw unparsed("a quotation begins in another entity");
        open.push({ mark: ">", at: text.length });
      }
      i++;
    } else if (sign === "\\" && /[\x01-\x7e]/.test(markdown[i + 1] ?? "")) {
      text += markdown[i + 1];
      i += 2;
    } else if (sign === "`") i = readCode(i);
    else if (sign === "[") {
      if (open.some(({ mark }) => mark === "[")) throw unparsed("a link in a link");
      open.push({ mark: "[", at: text.length });
      i++;
    } else if (sign === "]" && open.at(-1)?.mark === "[") {
      const url = /^\(((?:[^)\\]|\\.)*)\)/s.exec(markdown.slice(i + 1));
      if (!url) throw unparsed("can't find end of a URL");
      close();
      i += 1 + url[0].length;
    } else if (RESERVED.test(sign)) i = readMark(i, sign);
    else {
      text += sign;
      i++;
    }
  }
  if (open.at(-1)?.mark === ">") close();
  if (open.length) throw unparsed(`can't find end of '${open.at(-1)!.mark}'`);
  return { text, entities };

  function readMark(index: number, sign: string): number {
    const mark = MARKS.find((candidate) => markdown.startsWith(candidate, index));
    if (!mark)
      throw unparsed(`Character '${sign}' is reserved and must be escaped with the preceding '\\'`);
    if (open.at(-1)?.mark === mark) close();
    else if (open.some((entity) => entity.mark === mark))
      throw unparsed(`can't find end of '${open.at(-1)!.mark}' before '${mark}'`);
    else open.push({ mark, at: text.length });
    return index + mark.length;
  }

  function readCode(index: number): number {
    const fence = markdown.startsWith("```", index) ? "```" : "`";
    const start = text.length;
    let end = index + fence.length;
    if (fence === "```") end += /^[^\n`\\]*\n/.exec(markdown.slice(end))?.[0].length ?? 0;
    while (!markdown.startsWith(fence, end)) {
      if (end >= markdown.length) throw unparsed(`can't find end of '${fence}'`);
      if (markdown[end] === "\\" && end + 1 < markdown.length) end++;
      else if (markdown[end] === "`") throw unparsed("Character '`' is reserved");
      text += markdown[end++];
    }
    entities.push([fence, text.slice(start)]);
    return end + fence.length;
  }
}

const unparsed = (why: string) => new Error(`Bad Request: can't parse entities: ${why}`);
