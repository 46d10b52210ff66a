// Which tsconfig.json applies to a folder.
import fs from "node:fs";
import path from "node:path";
import { slashes, upwards } from "./paths.ts";
import type { Place, State } from "./state.ts";
import type { Modules } from "./typescript.ts";

export function placeOf(state: State, folder: string): Place {
  const place = state.places.get(folder);
  if (place) return place;
  const config = configOf(state, folder);
  const made = { folder, config, way: config === undefined ? "" : state.ways.get(config), near: new Map() };
  state.places.set(folder, made);
  return made;
}

function configOf(state: State, folder: string): string | undefined {
  for (const up of upwards(folder))
    for (const name of ["tsconfig.json", "jsconfig.json"])
      if (state.names.has(up ? `${up}/${name}` : name)) return up ? `${up}/${name}` : name;
  return state.parentConfig;
}

export async function wayOf(state: State, config: string): Promise<string> {
  const known = state.ways.get(config);
  if (known !== undefined) return known;
  state.hasNewAnswers = true;
  const way = (await load(state)).wayOf(config);
  state.ways.set(config, way);
  return way;
}

export async function load(state: State): Promise<Modules> {
  if (state.modules) return state.modules;
  const { openModules } = await import("./typescript.ts");
  return (state.modules = openModules(state.disk));
}

/** A project inside a repository may use a tsconfig.json above it. */
export function configAbove(root: string, mayRead: (file: string) => boolean): string | undefined {
  const found: string[] = [];
  for (let folder = root; ; folder = path.dirname(folder)) {
    if (folder !== root)
      for (const name of ["tsconfig.json", "jsconfig.json"])
        if (fs.existsSync(path.join(folder, name)) && mayRead(path.join(folder, name)))
          found.push(slashes(path.join(folder, name)));
    if (fs.existsSync(path.join(folder, ".git"))) return found[0];
    if (folder === path.dirname(folder)) return undefined;
  }
}
