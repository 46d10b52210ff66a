// How often each name occurs in a file, as one text: " hail:2 puts:1 ". It is kept, searched and
// counted as it is: an object with as many keys takes ten times the memory and the time.

export const NO_USES = "  ";

export function packUses(nameCounts: Iterable<[name: string, count: number]>): string {
  let packedUses = " ";
  for (const [usedName, useCount] of nameCounts) packedUses += `${usedName}:${useCount} `;
  return packedUses.length > 1 ? packedUses : NO_USES;
}

export function eachUse(
  packedUses: string,
  takeUse: (usedName: string, useCount: number) => void,
): void {
  for (let start = 1, end = 0; (end = packedUses.indexOf(" ", start)) > start; start = end + 1) {
    const colon = packedUses.lastIndexOf(":", end);
    takeUse(packedUses.slice(start, colon), Number(packedUses.slice(colon + 1, end)));
  }
}
