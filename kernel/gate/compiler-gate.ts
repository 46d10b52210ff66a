// The gate for compilers, which read whatever an import leads to.
import path from "node:path";
import type { CompilerGate, CompilerRules, MakeCompilerGate } from "../contract.ts";
import type { Core } from "../instance.ts";
import { followLinks } from "../system/open-real.ts";
import { isInside, isInsideAny } from "../text/read-quietly.ts";
import { verdictFor } from "./rules.ts";
import { holdsSecret } from "./secret-files.ts";

const MAX_PATH_DEPTH = 1_000;
const MODULES_FOLDER = `${path.sep}node_modules${path.sep}`;
const TYPES_FILE = /\.d\.(?:[\w-]+\.)?[cm]?ts$/;

/**
 * The rules as plain data without keys, for another thread. `module`: where that thread imports
 * this file from.
 */
export function compilerRules(
  { rules, options }: Pick<Core, "rules" | "options">,
  module: string,
): CompilerRules {
  const { root, home, allow, deny, settings } = options;
  const { projects, permissions } = settings;
  return structuredClone({
    module,
    rules,
    where: { root, home, allow, deny, settings: { projects, permissions } },
  });
}

/**
 * `own`: of zz itself, always read. `near`: being checked, read also outside of the project, unless
 * denied or with secrets.
 */
export const compilerGate: MakeCompilerGate = (
  compiled,
  { own = [], near = [] } = {},
): CompilerGate => {
  const { whyUnreadable, mayList, isInstalled, isAround } = pathJudge(compiled, own, near);
  const { root } = compiled.where as Core["options"];
  const verdicts = new Map<string, string | undefined>();
  const unreadFiles = new Map<string, string>();
  return {
    mayRead(file) {
      const reason = whyNot(file, false);
      if (reason && !isUntyped(file, reason)) note(shown(file), reason);
      return !reason;
    },
    mayLookUp(file) {
      const reason = whyNot(file, true);
      // elsewhere, a note would reveal what exists
      if (reason && isAround(file) && !isUntyped(file, reason)) note(shown(file), reason);
      return !reason;
    },
    mayList,
    leadsOut(name, file) {
      const isPackages =
        // not through a link
        isInstalled(file) && isInstalled(followLinks(path.dirname(file)) + path.sep);
      const reason = isPackages ? undefined : whyNot(file, true);
      if (reason) note(name, reason);
    },
    unread: () => [...unreadFiles].map(([file, reason]) => `'${file}' ${reason}: not read.`),
    again() {
      verdicts.clear();
      unreadFiles.clear();
    },
  };

  /** Of an installed package types alone are read: one that has none is left out in silence. */
  function isUntyped(file: string, reason: string): boolean {
    return reason === OUTSIDE && isInstalled(followLinks(file));
  }
  function note(name: string, reason: string): void {
    if (unreadFiles.size < MAX_UNREAD_NAMED) unreadFiles.set(name, reason);
  }
  function shown(file: string): string {
    return isInside(root, file) ? path.relative(root, file) : file;
  }

  /** Why a file may not be read; undefined if it may. `lookUp`: only to resolve an import. */
  function whyNot(file: string, lookUp: boolean): string | undefined {
    const key = `${lookUp ? "?" : ""}${file}`;
    if (!verdicts.has(key)) verdicts.set(key, whyUnreadable(file, lookUp));
    return verdicts.get(key);
  }
};
const MAX_UNREAD_NAMED = 20;
const OUTSIDE = "lies outside of the project";

/** What the rules and the place of a path say, without a memory of it. */
function pathJudge({ rules, where }: CompilerRules, own: string[], near: string[]) {
  const options = where as Core["options"];
  const core = { rules: [...rules], options };
  const root = followLinks(options.root);
  const [mine, nearby] = [own.map(followLinks), near.map(followLinks)];
  const anchors = [root, ...mine, ...nearby];
  return { whyUnreadable, mayList, isInstalled, isAround };

  function whyUnreadable(file: string, lookUp: boolean): string | undefined {
    if (file.includes("\0") || file.split("/").length > MAX_PATH_DEPTH) return "is not a path";
    const real = followLinks(file);
    if (isInsideAny(mine, real)) return undefined;
    const { verdict, why } = verdictFor(core, "read", real);
    if (verdict === "allow") return undefined;
    if (verdict === "deny") return `is denied ${why}`;
    if (holdsSecret(real)) return "may hold secrets";
    if (isInsideAny(nearby, real)) return undefined;
    if (
      (TYPES_FILE.test(real) || (lookUp && path.basename(real) === "package.json")) &&
      isInstalled(real)
    )
      return undefined;
    return isInside(root, real) ? why || "has to be asked for" : OUTSIDE;
  }
  /**
   * Whether it is in a node_modules of a folder above what is checked, where workspaces keep their
   * packages.
   */
  function isInstalled(real: string): boolean {
    const index = real.indexOf(MODULES_FOLDER);
    return (
      index >= 0 && anchors.some((anchor) => isInside(real.slice(0, index) || path.sep, anchor))
    );
  }

  function mayList(folder: string): boolean {
    const real = followLinks(folder);
    if (isInstalled(real + path.sep) || isInsideAny(mine, real)) return true;
    const { verdict } = verdictFor(core, "read", real);
    return verdict === "allow" || (verdict === "ask" && isInsideAny(nearby, real));
  }
  /**
   * Whether its existence may be revealed: it is part of what is checked, or of installed packages.
   */
  function isAround(file: string): boolean {
    return isInsideAny([options.root, ...own, ...near, ...anchors], file) || isInstalled(file);
  }
}
