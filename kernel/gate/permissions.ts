// ctx.permissions: the rules, for plugins.

import type { Kind, Permissions, Rule } from "../contract.ts";
import type { Core, PathScope } from "../instance.ts";
import { IS_BUILT, SELF_URL } from "../system/installation.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { absolutePath } from "../system/real-paths.ts";
import { fault } from "../text/faults.ts";
import { anyCase } from "../text/name-patterns.ts";
import { refuseNoObject } from "../text/read-quietly.ts";
import { clean } from "../text/show-safely.ts";
import { compilerRules } from "./compiler-gate.ts";
import {
  denialOf,
  fitsName,
  isPathKind,
  isSameRule,
  keptRules,
  keptRulesFile,
  rulePath,
  verdictFor,
  whyRuleNeverMatches,
} from "./rules.ts";
import { credentials, holdsSecret } from "./secret-files.ts";
import { whyNotProject } from "./sensitive-paths.ts";

/** The module that builds the gate for compilers, also in another thread or process. */
const COMPILER_MODULE = `${SELF_URL}/${IS_BUILT ? "compilers.js" : "kernel/gate/compiler-gate.ts"}`;

export function permissions({ rules, options }: Core): Permissions {
  const wide = whyNotProject(options.root);
  return {
    rules,
    judge: (needKind, need) => verdictFor({ rules, options }, needKind, need),
    secret: holdsSecret,
    credentials,
    compiler: () => compilerRules({ rules, options }, COMPILER_MODULE),
    matches: (needKind, pattern) => matcherOf(options, needKind, pattern),
    place: (ruleName) => rulePath(options, ruleName),
    ...(wide !== undefined && { wide }),
    add(rule) {
      const ruleNames = rule.exact ? [] : [rule.but ?? rule.name ?? []].flat();
      const reason = ruleNames
        .map((ruleName) => whyRuleNeverMatches(options, rule.kind, ruleName))
        .find(Boolean);
      if (reason)
        throw fault(
          `Cannot ${rule.verdict} ${rule.kind} '${clean(ruleNames.join(" "))}': ${reason}.`,
        );
      rules.push(rule);
      updateKept(rule, [rule]);
    },
    drop(droppedRule) {
      rules.splice(rules.indexOf(droppedRule), rules.includes(droppedRule) ? 1 : 0);
      updateKept(droppedRule, []);
    },
  };

  /** Changes what the file holds now: another zz may have changed it. */
  function updateKept(changedRule: Rule, addedRules: Rule[]): void {
    const { home, root } = options;
    const nextRules = (allKept = keptRules(home)) => ({
      ...allKept,
      [root]: [
        ...(allKept[root] ?? []).filter((keptRule) => !isSameRule(keptRule, changedRule)),
        ...addedRules,
      ],
    });
    if (changedRule.from !== "project") return;
    refuseNoObject(keptRulesFile(home));
    updatePrivateFile(keptRulesFile(home), () => JSON.stringify(nextRules(), null, 2));
  }
}

/**
 * What a denial would cover, for what cannot judge call by call, such as the sandbox. Links are not
 * followed.
 */
function matcherOf(
  pathScope: PathScope,
  needKind: Kind,
  ruleName: string,
): (requestedName: string) => boolean {
  if (!isPathKind(needKind))
    return (requestedName) => fitsName(needKind, anyCase(ruleName), anyCase(requestedName));
  const coversPath = denialOf(pathScope, ruleName);
  return (requestedName) => coversPath(absolutePath(pathScope, requestedName));
}
