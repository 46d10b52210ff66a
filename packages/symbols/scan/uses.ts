// How often each name occurs in a file, as one text: " hail:2 puts:1 ". It is kept, searched and
// counted as it is: an object with as many keys takes ten times the memory and the time.

export const NO_USES = "  ";

export function packUses(uses: Iterable<[name: string, count: number]>): string {
  let text = " ";
  for (const [name, count] of uses) text += `${name}:${count} `;
  return text.length > 1 ? text : NO_USES;
}

export function eachUse(text: string, take: (name: string, count: number) => void): void {
  let from = 1;
  for (let end = text.indexOf(" ", from); end > from; end = text.indexOf(" ", from)) {
    const cut = text.lastIndexOf(":", end);
    take(text.slice(from, cut), Number(text.slice(cut + 1, end)));
    from = end + 1;
  }
}
