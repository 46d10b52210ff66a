// ctx.permissions: the rules, for plugins.
import { compilerRules } from "./compilers.ts";
import type { Kind, Permissions, Rule } from "./contract.ts";
import type { Core } from "./core.ts";
import { fault } from "./faults.ts";
import { updatePrivate } from "./locks.ts";
import { placeOf } from "./paths.ts";
import { anyCase } from "./patterns.ts";
import { wideness } from "./places.ts";
import { denialOf, fitsName, judge, keptFile, keptRules, placeOfRule, type Where, whyNever } from "./rules.ts";
import { credentials, holdsSecret } from "./secret-files.ts";
import { BUILT, SELF_URL } from "./self.ts";
import { clean } from "./text.ts";

/** The module that builds the gate for compilers, also in another thread or process. */
const COMPILERS = `${SELF_URL}/${BUILT ? "compilers.js" : "kernel/compilers.ts"}`;

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
      if (rule.from === "project") keep((own) => [...own.filter((one) => !isSame(one, rule)), rule]);
    },
    drop(rule) {
      rules.splice(rules.indexOf(rule), rules.includes(rule) ? 1 : 0);
      if (rule.from === "project") keep((own) => own.filter((one) => !isSame(one, rule)));
    },
  };

  /** Adds to what the file holds now: another zz may have changed it. */
  function keep(change: (own: Rule[]) => Rule[]): void {
    const { home, root } = options;
    updatePrivate(keptFile(home), () => {
      const all = keptRules(home);
      return JSON.stringify({ ...all, [root]: change(all[root] ?? []) }, null, 2);
    });
  }
}
const isSame = (one: Rule, two: Rule): boolean =>
  (["verdict", "kind", "name", "exact", "but"] as const).every((key) => `${one[key]}` === `${two[key]}`);

/** What a denial would cover, for whoever cannot judge call by call, such as the sandbox. Links are not followed. */
function matcherOf(where: Where, kind: Kind, name: string): (asked: string) => boolean {
  if (kind !== "read" && kind !== "write") return (asked) => fitsName(kind, anyCase(name), anyCase(asked));
  const fits = denialOf(where, name);
  return (asked) => fits(placeOf(where, asked));
}
