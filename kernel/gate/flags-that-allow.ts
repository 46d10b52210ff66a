// Which flags would let a refused call through, beside those that are given: found by judging the
// call again with each.
import path from "node:path";
import { KINDS, type Kind, type Need, type Rule } from "../contract.ts";
import type { Core } from "../instance.ts";
import type { PendingNeed } from "./gate.ts";
import { flagOf, verdictFor } from "./rules.ts";

export const MAX_NAMED_NEEDS = 6;
const MAX_LISTED = 100; // names in a flag that somebody may still copy

export const needOf = ({ name, why, isUnlistable, exact }: PendingNeed): Need =>
  isUnlistable ? { name, verdict: "ask", why, ...(exact && { exact }) } : name;

/** "": no flag does. */
export function flagsFor(core: Core, open: PendingNeed[]): string {
  const asked = KINDS.map((kind) => open.filter((need) => need.kind === kind)).filter(
    (needs) => needs.length,
  );
  const flags = asked.map((needs) => flagFor(core, needs));
  return flags.every((flag) => flag !== undefined) ? flags.join(" ") : "";
}

function flagFor(core: Core, needs: PendingNeed[]): string | undefined {
  const { kind } = needs[0]!;
  const names = [...new Set(needs.map(({ name }) => name))];
  const isPath = kind === "read" || kind === "write";
  const folders = [...new Set(needs.map(({ target }) => path.dirname(target)))];
  const isBareFirst =
    names.length > MAX_NAMED_NEEDS ||
    needs.some(({ isUnlistable, exact }) => isUnlistable && !exact);
  const lists = [
    ...(isBareFirst ? [[], names] : [names, []]),
    // a name that no list can hold
    ...(isPath ? [folders] : []),
  ];
  const enough = lists.find((list) => list.length <= MAX_LISTED && lets(core, kind, list, needs));
  return enough && flagOf("allow", kind, enough);
}

/** Whether the flag with this list, or without one, lets all of it through. */
function lets(core: Core, kind: Kind, names: string[], needs: PendingNeed[]): boolean {
  const { options } = core;
  const flag = flagOf("allow", kind, names);
  if (names.length && !flag.includes("=")) return false; // no list can hold them
  const added: Rule[] = names.length
    ? names.map((name) => ({ verdict: "allow", kind, name, from: "flag" }))
    : [{ verdict: "allow", kind, from: "flag" }];
  const allow = names.length ? options.allow : { ...options.allow, [kind]: true };
  const judged = {
    rules: [...core.rules, ...added],
    options: { ...options, ...(allow && { allow }) },
  };
  return needs.every(
    (need) => verdictFor(judged, kind, needOf(need), need.target).verdict === "allow",
  );
}
