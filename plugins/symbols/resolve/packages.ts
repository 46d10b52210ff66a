// The packages of the project, and the files that their package.json names.
import type { Disk, Resolver } from "./contract.ts";
import { CODE, folderOf, join } from "./paths.ts";
import type { State } from "./state.ts";

export function packages(state: State): ReturnType<Resolver["packages"]> {
  const folders = state.list.filter((name) => /(?:^|\/)package\.json$/.test(name)).map(folderOf);
  return folders.map((folder) => ({ folder, mains: mainsOf(folder, state.disk) }));
}

function mainsOf(folder: string, { names, packageIn, sourceOf }: Disk): string[] {
  const { main, module, types, typings, bin, exports } = packageIn(folder) ?? {};
  return textsIn([main, module, types, typings, bin, exports]).flatMap((text) => {
    const at = join(folder, text);
    if (at === undefined || text.includes("*")) return [];
    const to = [at, `${at}.js`, `${at}/index.js`].flatMap((one) =>
      names.has(one) ? one : (sourceOf(one, [], true) ?? []),
    )[0];
    return to !== undefined && CODE.test(to) ? [to] : [];
  });
}
/** All strings in a value, however deep. */
function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const all = [value];
  for (const one of all)
    if (typeof one === "string") texts.push(one);
    else if (one && typeof one === "object") for (const inner of Object.values(one)) all.push(inner);
  return texts;
}
