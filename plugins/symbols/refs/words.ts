// Two functions of "zz/text": this folder runs in its own thread, where that name does not resolve when zz runs from
// source without a build.

export function tryTo<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
