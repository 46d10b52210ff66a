// ctx.permissions: the rules, for plugins.

import type { Kind, Permissions, Rule } from "../contract.ts";
import type { Core, Where } from "../instance.ts";
import { BUILT, SELF_URL } from "../system/installation.ts";
import { updatePrivate } from "../system/locks.ts";
import { placeOf } from "../system/real-paths.ts";
import { fault } from "../text/faults.ts";
import { anyCase } from "../text/name-patterns.ts";
import { clean } from "../text/words.ts";
import { compilerRules } from "./compiler-gate.ts";
import { denialOf, fitsName, isSame, judge, keptFile, keptRules, placeOfRule, whyNever } from "./rules.ts";
import { credentials, holdsSecret } from "./secret-files.ts";
import { wideness } from "./sensitive-paths.ts";

/** The module that builds the gate for compilers, also in another thread or process. */
const COMPILERS = `${SELF_URL}/${BUILT ? "compilers.js" : "kernel/gate/compiler-gate.ts"}`;

export function permissions({ rules, options }: Core): Permissions {
  const wide = wideness(options.root);
  return {
    rules,
    judge: (kind, need) => judge({ rules, options }, kind, need),
    secret: holdsSecret,
    credentials,
    compiler: () => compilerRules({ rules, options }, COMPILERS),
    matches: (kind, pattern) => matcherOf(options, kind, pattern),
    place: (name) => placeOfRule(options, name),
    ...(wide !== undefined && { wide }),
    add(rule) {
      const named = rule.exact ? [] : [rule.but ?? rule.name ?? []].flat();
      const why = named.map((name) => whyNever(options, rule.kind, name)).find(Boolean);
      if (why) throw fault(`Cannot ${rule.verdict} ${rule.kind} '${clean(named.join(" "))}': ${why}.`);
      rules.push(rule);
      keep(rule, [rule]);
    },
    drop(rule) {
      rules.splice(rules.indexOf(rule), rules.includes(rule) ? 1 : 0);
      keep(rule, []);
    },
  };

  /** Changes what the file holds now: another zz may have changed it. */
  function keep(rule: Rule, now: Rule[]): void {
    const { home, root } = options;
    const next = (all = keptRules(home)) => ({ ...all, [root]: [...(all[root] ?? []).filter((one) => !isSame(one, rule)), ...now] });
    if (rule.from === "project") updatePrivate(keptFile(home), () => JSON.stringify(next(), null, 2));
  }
}

/** What a denial would cover, for whoever cannot judge call by call, such as the sandbox. Links are not followed. */
function matcherOf(where: Where, kind: Kind, name: string): (asked: string) => boolean {
  if (kind !== "read" && kind !== "write") return (asked) => fitsName(kind, anyCase(name), anyCase(asked));
  const fits = denialOf(where, name);
  return (asked) => fits(placeOf(where, asked));
}
