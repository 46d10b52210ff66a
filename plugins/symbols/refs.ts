// What a name means: its uses, renaming it, and the errors in a file, by TypeScript's language service. Loads only
// files that can matter, and keeps them. The first question is slow; made to run in a worker.
import { realpathSync } from "node:fs";
import { getLibFiles } from "@ts-morph/common";
import type { CompilerGate } from "zz";
import { check } from "./refs/check.ts";
import type { Service } from "./refs/contract.ts";
import { absolute, diskOf, OPEN_GATE } from "./refs/disk.ts";
import { named } from "./refs/named.ts";
import { close, forgetModules } from "./refs/programs.ts";
import { references } from "./refs/references.ts";
import { renameThoroughly } from "./refs/rename.ts";
import { type Index, LIB, type Sources, type State } from "./refs/state.ts";
import { warm } from "./refs/warm.ts";

export type { At, Edit, Place, Renaming, Service } from "./refs/contract.ts";
export type { Index } from "./refs/state.ts";

export function openService(project: string, index: Index, gate: CompilerGate = OPEN_GATE): Service {
  const state = newState(project, index, gate);
  return {
    references: shallow(state, (at) => references(state, at)),
    named: shallow(state, (name, paths) => named(state, name, paths)),
    rename: shallow(state, (at, to) => renameThoroughly(state, at, to)),
    check: shallow(state, (paths) => check(state, paths)),
    unread: gate.unread,
    update: (list, sources = new Map()) => update(state, list, sources),
    warm: () => warm(state),
    close: () => close(state),
  };
}

function newState(project: string, index: Index, gate: CompilerGate): State {
  const root = realpathSync.native(project).replaceAll("\\", "/").replace(/\/$/, "");
  const state: Omit<State, "disk"> = {
    ...{ root, index, gate, libs: new Map(getLibFiles().map(({ fileName, text }) => [LIB + fileName, text])) },
    ...{ stats: new Map(), importers: new Map(), links: new WeakMap(), tables: new WeakMap(), specifiers: new Map() },
    ...{ configs: new Map(), settings: new Map(), installed: new Map(), missing: new Set() },
    ...{ names: new Set(), sources: new Map(), slices: [], isThorough: false },
  };
  return Object.assign(state, { disk: diskOf(state as State) });
}

/** TypeScript is recursive, and code may be nested deeper than the stack allows. */
function shallow<A extends unknown[], T>(state: State, ask: (...args: A) => T): (...args: A) => T {
  return (...args) => {
    try {
      return ask(...args);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      close(state);
      throw new Error("Cannot tell what that means: the code is nested too deep. Use grep instead.");
    }
  };
}

function update(state: State, list: string[], sources: Sources): void {
  const next = new Set(list.map((path) => absolute(state, path)));
  const isSameMap = [...sources].every(([key, to]) => state.sources.get(key) === to);
  const isSame = next.size === state.names.size && [...next].every((file) => state.names.has(file));
  if (isSame && isSameMap && sources.size === state.sources.size) return;
  state.names = next;
  state.sources = sources;
  forgetModules(state);
}
