// ctx.permissions: the rules, for plugins.

import type { Kind, Permissions, Rule } from "../contract.ts";
import type { Core, PathScope } from "../instance.ts";
import { IS_BUILT, SELF_URL } from "../system/installation.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { absolutePath } from "../system/real-paths.ts";
import { fault } from "../text/faults.ts";
import { anyCase } from "../text/name-patterns.ts";
import { clean } from "../text/show-safely.ts";
import { compilerRules } from "./compiler-gate.ts";
import {
  denialOf,
  fitsName,
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
    place: (name) => rulePath(options, name),
    ...(wide !== undefined && { wide }),
    add(rule) {
      const named = rule.exact ? [] : [rule.but ?? rule.name ?? []].flat();
      const reason = named
        .map((name) => whyRuleNeverMatches(options, rule.kind, name))
        .find(Boolean);
      if (reason)
        throw fault(`Cannot ${rule.verdict} ${rule.kind} '${clean(named.join(" "))}': ${reason}.`);
      rules.push(rule);
      keep(rule, [rule]);
    },
    drop(rule) {
      rules.splice(rules.indexOf(rule), rules.includes(rule) ? 1 : 0);
      keep(rule, []);
    },
  };

  /** Changes what the file holds now: another zz may have changed it. */
  function keep(rule: Rule, addedRules: Rule[]): void {
    const { home, root } = options;
    const next = (allKept = keptRules(home)) => ({
      ...allKept,
      [root]: [...(allKept[root] ?? []).filter((kept) => !isSameRule(kept, rule)), ...addedRules],
    });
    if (rule.from === "project")
      updatePrivateFile(keptRulesFile(home), () => JSON.stringify(next(), null, 2));
  }
}

/**
 * What a denial would cover, for what cannot judge call by call, such as the sandbox. Links are not
 * followed.
 */
function matcherOf(where: PathScope, needKind: Kind, name: string): (asked: string) => boolean {
  if (needKind !== "read" && needKind !== "write")
    return (asked) => fitsName(needKind, anyCase(name), anyCase(asked));
  const fits = denialOf(where, name);
  return (asked) => fits(absolutePath(where, asked));
}
