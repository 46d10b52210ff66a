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
    mayRead: (filePath) => mayUse(filePath, false),
    mayLookUp: (filePath) => mayUse(filePath, true),
    mayList,
    leadsOut(importName, filePath) {
      const isPackages =
        // not through a link
        isInstalled(filePath) && isInstalled(followLinks(path.dirname(filePath)) + path.sep);
      const reason = isPackages ? undefined : recallReason(filePath, true);
      if (reason) noteUnread(importName, reason);
    },
    unread: () =>
      [...unreadFiles].map(([shownName, reason]) => `'${shownName}' ${reason}: not read.`),
    again() {
      verdicts.clear();
      unreadFiles.clear();
    },
  };

  function mayUse(filePath: string, lookUp: boolean): boolean {
    const reason = recallReason(filePath, lookUp);
    if (!reason) return true;
    // Of an installed package types alone are read: one that has none is left out in silence.
    const isUntyped = reason === OUTSIDE && isInstalled(followLinks(filePath));
    // a note on what is only looked up elsewhere would reveal what exists
    if (!isUntyped && (!lookUp || isAround(filePath))) noteUnread(shortenPath(filePath), reason);
    return false;
  }
  function noteUnread(shownName: string, reason: string): void {
    if (unreadFiles.size < MAX_UNREAD_NAMED) unreadFiles.set(shownName, reason);
  }
  function shortenPath(filePath: string): string {
    return isInside(root, filePath) ? path.relative(root, filePath) : filePath;
  }

  /** Why a file may not be read; undefined if it may. `lookUp`: only to resolve an import. */
  function recallReason(filePath: string, lookUp: boolean): string | undefined {
    const verdictKey = `${lookUp ? "?" : ""}${filePath}`;
    if (!verdicts.has(verdictKey)) verdicts.set(verdictKey, whyUnreadable(filePath, lookUp));
    return verdicts.get(verdictKey);
  }
};
const MAX_UNREAD_NAMED = 20;
const OUTSIDE = "lies outside of the project";

/** What the rules and the place of a path say, without a memory of it. */
function pathJudge({ rules, where }: CompilerRules, ownPaths: string[], nearPaths: string[]) {
  const options = where as Core["options"];
  const judgedCore = { rules: [...rules], options };
  const realRoot = followLinks(options.root);
  const [ownRealPaths, nearRealPaths] = [ownPaths.map(followLinks), nearPaths.map(followLinks)];
  const anchors = [realRoot, ...ownRealPaths, ...nearRealPaths];
  return { whyUnreadable, mayList, isInstalled, isAround: mayRevealExistence };

  function whyUnreadable(filePath: string, lookUp: boolean): string | undefined {
    if (filePath.includes("\0") || filePath.split("/").length > MAX_PATH_DEPTH)
      return "is not a path";
    const realPath = followLinks(filePath);
    if (isInsideAny(ownRealPaths, realPath)) return undefined;
    const { verdict, why } = verdictFor(judgedCore, "read", realPath);
    if (verdict === "allow") return undefined;
    if (verdict === "deny") return `is denied ${why}`;
    if (holdsSecret(realPath)) return "may hold secrets";
    if (isInsideAny(nearRealPaths, realPath)) return undefined;
    if (
      (TYPES_FILE.test(realPath) || (lookUp && path.basename(realPath) === "package.json")) &&
      isInstalled(realPath)
    )
      return undefined;
    return isInside(realRoot, realPath) ? why || "has to be asked for" : OUTSIDE;
  }
  /**
   * Whether it is in a node_modules of a folder above what is checked, where workspaces keep their
   * packages.
   */
  function isInstalled(realPath: string): boolean {
    const modulesIndex = realPath.indexOf(MODULES_FOLDER);
    return (
      modulesIndex >= 0 &&
      anchors.some((anchor) => isInside(realPath.slice(0, modulesIndex) || path.sep, anchor))
    );
  }

  function mayList(folderPath: string): boolean {
    const realPath = followLinks(folderPath);
    if (isInstalled(realPath + path.sep) || isInsideAny(ownRealPaths, realPath)) return true;
    const { verdict } = verdictFor(judgedCore, "read", realPath);
    return verdict === "allow" || (verdict === "ask" && isInsideAny(nearRealPaths, realPath));
  }
  /**
   * Whether its existence may be revealed: it is part of what is checked, or of installed packages.
   */
  function mayRevealExistence(filePath: string): boolean {
    return (
      isInsideAny([options.root, ...ownPaths, ...nearPaths, ...anchors], filePath) ||
      isInstalled(filePath)
    );
  }
}
