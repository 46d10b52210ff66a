// /permissions and /auto-apply: what tools may do, and why; rules added, dropped, and kept for the
// project.
import type { Choice, Ctx, Kind, Rule, Zz } from "zz";

const KINDS: readonly string[] = ["read", "write", "run", "net", "env"];
const VERBS = "It takes allow, ask, deny, only, keep or drop; /help permissions has examples";
const WORDS = {
  allow: "do it without asking, in this session",
  deny: "never do it, in this session",
  ask: "ask each time, whatever else allows it, in this session",
  only: "do nothing else of that kind, in this session",
  keep: "keep a rule of this session for this project",
  drop: "forget a rule",
};
const FROM: Record<Rule["from"], string> = {
  flag: "a flag",
  settings: "the settings",
  project: "kept for this project",
  answer: "this session",
};
const EDITS: Rule = { verdict: "allow", kind: "write", name: ".", from: "answer" };

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
    run: (argument, ctx) => ctx.note(obey(argument, ctx)),
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
    complete: (typed) => ["on", "off"].filter((word) => word.startsWith(typed)),
    run: (argument, ctx) => ctx.note(autoApply(argument, ctx)),
  });
  zz.flag({
    name: "only-write",
    value: "PATHS",
    group: "what tools may do",
    description: "change nothing but these; that is still asked for",
    set(value, { permissions }) {
      const names = String(value).split(",").filter(Boolean);
      if (!names.length) throw new Error("Flag --only-write has an empty list. Name something.");
      permissions.add(onlyRule("write", names, "flag"));
    },
  });
  zz.flag({
    name: "permissions",
    group: "what tools may do",
    description: "list what tools may do here, and why",
    run: (_, { permissions }) => ({ text: table(permissions.rules), data: permissions.rules }),
  });
};

/**
 * Applies edit.auto as /auto-apply would, at the start and whenever it changes; a later /auto-apply
 * wins.
 */
function applySetting(zz: Zz<typeof defaults>): void {
  let applied = false; // the setting's value when it was last applied
  const apply = (ctx: Ctx) => {
    if (applied === zz.config.auto) return;
    applied = zz.config.auto;
    autoApply(applied ? "on" : "off", ctx);
  };
  zz.on("started", (_, ctx) => apply(ctx));
  zz.on("configured", (_, ctx) => apply(ctx));
  zz.wrap(
    "call",
    (call, next, ctx) => {
      // --call starts no conversation, so no event has applied it
      apply(ctx);
      return next(call);
    },
    "first",
  );
}

/**
 * Runs /permissions. WHAT may contain *, ** and ?; the kernel refuses a name that could never
 * match.
 */
function obey(argument: string, { permissions }: Ctx): string {
  const [word = "", subject = "", ...nameWords] = argument.split(/\s+/);
  const name = nameWords.join(" ").replace(/^(["'])(.*)\1$/, "$2"); // quoted as for a shell
  if (!word) return table(permissions.rules);
  if (word === "only" && !name)
    return `Cannot run '/permissions only ${subject}': name what may be done. /help permissions has examples.`;
  if (word === "allow" || word === "ask" || word === "deny" || word === "only") {
    if (!KINDS.includes(subject))
      return `Cannot ${word} '${subject}': the kinds are ${KINDS.join(", ")}. For example: /permissions ${word} run npm test`;
    const needKind = subject as Kind;
    permissions.add(
      word === "only"
        ? onlyRule(needKind, nameWords)
        : { verdict: word, kind: needKind, ...(name && { name }), from: "answer" },
    );
    return table(permissions.rules);
  }
  const rule = permissions.rules[Number(subject) - 1];
  if (word !== "keep" && word !== "drop") return `Cannot run '/permissions ${word}'. ${VERBS}.`;
  if (!subject)
    return `Cannot ${word} a rule: give its number, /permissions ${word} N. /permissions lists them.`;
  if (!rule)
    return `Cannot ${word} '${subject}': there is no rule with that number. /permissions lists them.`;
  if (word === "keep" && rule.from !== "answer")
    return `Cannot keep rule ${subject}: it comes from ${FROM[rule.from]}.`;
  permissions.drop(rule);
  if (word === "keep") permissions.add({ ...rule, from: "project" });
  return table(permissions.rules);
}

/**
 * The rule that denies everything of that kind except these names, which are asked for as usual.
 */
function onlyRule(needKind: Kind, names: string[], from: Rule["from"] = "answer"): Rule {
  const but = needKind === "run" ? [names.join(" ")] : names;
  return { verdict: "deny", kind: needKind, but, why: `only ${but.join(", ")}`, from };
}

/** A kind after allow, ask, deny and only; the number of a rule after keep and drop. */
function complete(typed: string, { permissions }: Ctx): Choice[] {
  const [, word = "", typedSubject] = /^(\S*)(?:\s+(.*))?$/s.exec(typed) ?? [];
  if (typedSubject === undefined)
    return Object.entries(WORDS).flatMap(([name, description]) =>
      name.startsWith(word) ? [{ name: `${name} `, description }] : [],
    );
  const numbered = permissions.rules.flatMap((rule, i) =>
    word === "drop" || (word === "keep" && rule.from === "answer")
      ? [{ name: `${word} ${i + 1}`, description: `${rule.verdict} ${rule.kind} ${nameOf(rule)}` }]
      : [],
  );
  const kinds = /^(allow|ask|deny|only)$/.test(word)
    ? KINDS.map((needKind) => ({ name: `${word} ${needKind} ` }))
    : [];
  return [...numbered, ...kinds].filter(({ name }) => name.startsWith(`${word} ${typedSubject}`));
}

function autoApply(argument: string, { permissions }: Ctx): string {
  const editRules = permissions.rules.filter(({ verdict, kind: needKind, name, from }) =>
    Object.entries({ verdict, kind: needKind, name, from }).every(
      ([key, value]) => EDITS[key as keyof Rule] === value,
    ),
  );
  if (!/^(on|off)?$/.test(argument))
    return `Cannot set /auto-apply to '${argument}': it takes on or off.`;
  if (argument === "on" && !editRules.length) permissions.add({ ...EDITS });
  if (argument === "off") for (const rule of editRules) permissions.drop(rule);
  // another rule may allow or deny it anyway
  const { verdict, why: reason } = permissions.judge("write", ".");
  const exception = verdict === "ask" ? "" : ` ${reason}; /permissions lists it.`;
  if (argument === "on" && verdict === "deny") return `Edits in the project are denied${exception}`;
  if (argument === "on")
    return "Edits in the project, and what commands change on a copy, are now kept without asking. /undo takes them back.";
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
function table(rules: readonly Rule[]): string {
  const rows = rules.map(
    (rule, i) =>
      `${String(i + 1).padStart(3)}  ${rule.verdict.padEnd(5)}  ${rule.kind.padEnd(5)}  ${nameOf(rule)}  (${FROM[rule.from]})`,
  );
  return [
    ...rows,
    "  ·  allow  read   the project, except files that hold secrets  (zz)",
    "  ·  allow  run    commands that only read: git status, ls, cat, grep …  (zz)",
    "  ·  deny   run    sudo, chown, git push --force, npm publish …  (zz)",
    "  ·  ask           everything else, or what a command changed on a copy  (zz)",
    "  ·  deny          what would be asked for, where no terminal is there  (zz)",
  ].join("\n");
}
