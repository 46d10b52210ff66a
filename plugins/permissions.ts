// /permissions and /auto-apply: what tools may do, and why; rules added, dropped, and kept for the
// project.
import type { Choice, Ctx, Kind, Rule, Zz } from "zz";

const NEED_KINDS: readonly string[] = ["read", "write", "run", "net", "env"];
const VERB_HINT = "It takes allow, ask, deny, only, keep or drop; /help permissions has examples";
const VERB_DESCRIPTIONS = {
  allow: "do it without asking, in this session",
  deny: "never do it, in this session",
  ask: "ask each time, whatever else allows it, in this session",
  only: "do nothing else of that kind, in this session",
  keep: "keep a rule of this session for this project",
  drop: "forget a rule",
};
const RULE_SOURCES: Record<Rule["from"], string> = {
  flag: "a flag",
  settings: "the settings",
  project: "kept for this project",
  answer: "this session",
};
const EDITS_RULE: Rule = { verdict: "allow", kind: "write", name: ".", from: "answer" };

export const defaults = { auto: false };
export const settings = {
  name: "edit",
  schema: {
    type: "object",
    properties: {
      auto: {
        type: "boolean",
        description: "edits in the project are made without asking, from the start",
      },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  applySetting(zz);
  zz.command({
    name: "permissions",
    usage: "[WHAT …]",
    description: "what tools may do: list the rules, add one, drop one",
    examples: {
      "/permissions": "list the rules in force",
      "/permissions allow run npm test": "let tools run it without asking, in this session",
      "/permissions deny read *.pem": "never let tools read such files",
      "/permissions only write plugins/**": "let tools write nothing else; that is still asked for",
      "/permissions keep 3": "keep answer 3 for this project",
      "/permissions drop 3": "take rule 3 back",
    },
    group: "settings",
    complete,
    run: (argument, ctx) => ctx.note(obeyCommand(argument, ctx)),
  });
  zz.command({
    name: "auto-apply",
    usage: "[on | off]",
    description: "make edits in the project without asking; never commands",
    examples: {
      "/auto-apply on": "make edits in the project without asking",
      "/auto-apply off": "ask again",
    },
    group: "settings",
    complete: (typedText) => ["on", "off"].filter((switchWord) => switchWord.startsWith(typedText)),
    run: (argument, ctx) => ctx.note(autoApply(argument, ctx)),
  });
  zz.flag({
    name: "only-write",
    value: "PATHS",
    group: "what tools may do",
    description: "change nothing but these; that is still asked for",
    set(flagValue, { permissions }) {
      const allowedPaths = String(flagValue).split(",").filter(Boolean);
      if (!allowedPaths.length)
        throw new Error("Flag --only-write has an empty list. Name something.");
      permissions.add(onlyRule("write", allowedPaths, "flag"));
    },
  });
  zz.flag({
    name: "permissions",
    group: "what tools may do",
    description: "list what tools may do here, and why",
    run: (_, { permissions }) => ({
      text: formatRules(permissions.rules),
      data: permissions.rules,
    }),
  });
};

/**
 * Applies edit.auto as /auto-apply would, at the start and whenever it changes; a later /auto-apply
 * wins.
 */
function applySetting(zz: Zz<typeof defaults>): void {
  let applied = false; // the setting's value when it was last applied
  const applyChange = (ctx: Ctx) => {
    if (applied === zz.config.auto) return;
    applied = zz.config.auto;
    autoApply(applied ? "on" : "off", ctx);
  };
  zz.on("started", (_, ctx) => applyChange(ctx));
  zz.on("configured", (_, ctx) => applyChange(ctx));
  zz.wrap(
    "call",
    (call, nextCall, ctx) => {
      // --call starts no conversation, so no event has applied it
      applyChange(ctx);
      return nextCall(call);
    },
    "first",
  );
}

/**
 * Runs /permissions. WHAT may contain *, ** and ?; the kernel refuses a name that could never
 * match.
 */
function obeyCommand(argument: string, { permissions }: Ctx): string {
  const [ruleVerb = "", subject = "", ...nameWords] = argument.split(/\s+/);
  const name = nameWords.join(" ").replace(/^(["'])(.*)\1$/, "$2"); // quoted as for a shell
  if (!ruleVerb) return formatRules(permissions.rules);
  if (ruleVerb === "only" && !name)
    return (
      `Cannot run '/permissions only ${subject}': name what may be done. ` +
      "/help permissions has examples."
    );
  if (ruleVerb === "allow" || ruleVerb === "ask" || ruleVerb === "deny" || ruleVerb === "only") {
    if (!NEED_KINDS.includes(subject))
      return (
        `Cannot ${ruleVerb} '${subject}': the kinds are ${NEED_KINDS.join(", ")}. ` +
        `For example: /permissions ${ruleVerb} run npm test`
      );
    const needKind = subject as Kind;
    permissions.add(
      ruleVerb === "only"
        ? onlyRule(needKind, nameWords)
        : { verdict: ruleVerb, kind: needKind, ...(name && { name }), from: "answer" },
    );
    return formatRules(permissions.rules);
  }
  const numberedRule = permissions.rules[Number(subject) - 1];
  if (ruleVerb !== "keep" && ruleVerb !== "drop")
    return `Cannot run '/permissions ${ruleVerb}'. ${VERB_HINT}.`;
  if (!subject)
    return (
      `Cannot ${ruleVerb} a rule: give its number, /permissions ${ruleVerb} N. ` +
      "/permissions lists them."
    );
  if (!numberedRule)
    return (
      `Cannot ${ruleVerb} '${subject}': there is no rule with that number. ` +
      "/permissions lists them."
    );
  if (ruleVerb === "keep" && numberedRule.from !== "answer")
    return `Cannot keep rule ${subject}: it comes from ${RULE_SOURCES[numberedRule.from]}.`;
  permissions.drop(numberedRule);
  if (ruleVerb === "keep") permissions.add({ ...numberedRule, from: "project" });
  return formatRules(permissions.rules);
}

/**
 * The rule that denies everything of that kind except these names, which are asked for as usual.
 */
function onlyRule(needKind: Kind, allowedNames: string[], from: Rule["from"] = "answer"): Rule {
  const but = needKind === "run" ? [allowedNames.join(" ")] : allowedNames;
  return { verdict: "deny", kind: needKind, but, why: `only ${but.join(", ")}`, from };
}

/** A kind after allow, ask, deny and only; the number of a rule after keep and drop. */
function complete(typedText: string, { permissions }: Ctx): Choice[] {
  const [, ruleVerb = "", typedSubject] = /^(\S*)(?:\s+(.*))?$/s.exec(typedText) ?? [];
  if (typedSubject === undefined)
    return Object.entries(VERB_DESCRIPTIONS).flatMap(([verbName, description]) =>
      verbName.startsWith(ruleVerb) ? [{ name: `${verbName} `, description }] : [],
    );
  const numbered = permissions.rules.flatMap((rule, i) =>
    ruleVerb === "drop" || (ruleVerb === "keep" && rule.from === "answer")
      ? [
          {
            name: `${ruleVerb} ${i + 1}`,
            description: `${rule.verdict} ${rule.kind} ${nameOf(rule)}`,
          },
        ]
      : [],
  );
  const kindChoices = /^(allow|ask|deny|only)$/.test(ruleVerb)
    ? NEED_KINDS.map((needKind) => ({ name: `${ruleVerb} ${needKind} ` }))
    : [];
  return [...numbered, ...kindChoices].filter(({ name }) =>
    name.startsWith(`${ruleVerb} ${typedSubject}`),
  );
}

function autoApply(argument: string, { permissions }: Ctx): string {
  const editRules = permissions.rules.filter((rule) =>
    Object.entries(EDITS_RULE).every(
      ([ruleField, fieldValue]) => rule[ruleField as keyof Rule] === fieldValue,
    ),
  );
  if (!/^(on|off)?$/.test(argument))
    return `Cannot set /auto-apply to '${argument}': it takes on or off.`;
  if (argument === "on" && !editRules.length) permissions.add({ ...EDITS_RULE });
  if (argument === "off") for (const editRule of editRules) permissions.drop(editRule);
  // another rule may allow or deny it anyway
  const { verdict, why: judgeReason } = permissions.judge("write", ".");
  const exception = verdict === "ask" ? "" : ` ${judgeReason}; /permissions lists it.`;
  if (argument === "on" && verdict === "deny") return `Edits in the project are denied${exception}`;
  if (argument === "on")
    return (
      "Edits in the project, and what commands change on a copy, are now kept without asking. " +
      "/undo takes them back."
    );
  if (argument === "off")
    return verdict === "allow"
      ? `Edits are still made without asking${exception}`
      : "Edits are asked for again.";
  const because = editRules.length || verdict !== "allow" ? "." : exception;
  return verdict === "allow"
    ? `/auto-apply is on${because} /auto-apply off turns it off.`
    : "/auto-apply is off. /auto-apply on turns it on.";
}

const nameOf = ({ name, but }: Rule): string =>
  name ?? (but ? `(all but ${but.join(", ")})` : "(all)");

/** The rules, numbered, and then those of zz, which are fixed. Deny wins, then ask, then allow. */
function formatRules(listedRules: readonly Rule[]): string {
  const ruleRows = listedRules.map(
    (rule, i) =>
      `${String(i + 1).padStart(3)}  ${rule.verdict.padEnd(5)}  ${rule.kind.padEnd(5)}  ` +
      `${nameOf(rule)}  (${RULE_SOURCES[rule.from]})`,
  );
  return [
    ...ruleRows,
    "  ·  allow  read   the project, except files that hold secrets  (zz)",
    "  ·  allow  run    commands that only read: git status, ls, cat, grep …  (zz)",
    "  ·  deny   run    sudo, chown, git push --force, npm publish …  (zz)",
    "  ·  ask           everything else, or what a command changed on a copy  (zz)",
    "  ·  deny          what would be asked for, where no terminal is there  (zz)",
  ].join("\n");
}
