// Which flags would let a refused call through, beside those that are given: found by judging the
// call again with each.
import path from "node:path";
import { KINDS, type Kind, type Need, type Rule } from "../contract.ts";
import type { Core } from "../instance.ts";
import type { PendingNeed } from "./gate.ts";
import { flagOf, isPathKind, verdictFor } from "./rules.ts";

export const MAX_NAMED_NEEDS = 6;
const MAX_LISTED = 100; // names in a flag that somebody may still copy

export const needOf = ({ name, why, isUnlistable, exact }: PendingNeed): Need =>
  isUnlistable ? { name, verdict: "ask", why, ...(exact && { exact }) } : name;

/** The flags that would let all of them through; "" if none would. */
export function flagsFor(core: Core, openNeeds: PendingNeed[]): string {
  const needsByKind = KINDS.map((needKind) =>
    openNeeds.filter((openNeed) => openNeed.kind === needKind),
  ).filter((kindNeeds) => kindNeeds.length);
  const kindFlags = needsByKind.map((kindNeeds) => flagFor(core, kindNeeds));
  return kindFlags.every((kindFlag) => kindFlag !== undefined) ? kindFlags.join(" ") : "";
}

function flagFor(core: Core, kindNeeds: PendingNeed[]): string | undefined {
  const { kind } = kindNeeds[0]!;
  const needNames = [...new Set(kindNeeds.map(({ name }) => name))];
  const folders = [...new Set(kindNeeds.map(({ target }) => path.dirname(target)))];
  const isBareFirst =
    needNames.length > MAX_NAMED_NEEDS ||
    kindNeeds.some(({ isUnlistable, exact }) => isUnlistable && !exact);
  const nameLists = [
    ...(isBareFirst ? [[], needNames] : [needNames, []]),
    // a name that no list can hold
    ...(isPathKind(kind) ? [folders] : []),
  ];
  const enoughNames = nameLists.find(
    (nameList) => nameList.length <= MAX_LISTED && allowsNeeds(core, kind, nameList, kindNeeds),
  );
  return enoughNames && flagOf("allow", kind, enoughNames);
}

/** Whether the flag with this list, or without one, lets all of it through. */
function allowsNeeds(
  core: Core,
  kind: Kind,
  listedNames: string[],
  kindNeeds: PendingNeed[],
): boolean {
  const { options } = core;
  const flagText = flagOf("allow", kind, listedNames);
  if (listedNames.length && !flagText.includes("=")) return false; // no list can hold them
  const addedRules: Rule[] = listedNames.length
    ? listedNames.map((name) => ({ verdict: "allow", kind, name, from: "flag" }))
    : [{ verdict: "allow", kind, from: "flag" }];
  const widerCore = {
    rules: [...core.rules, ...addedRules],
    options: listedNames.length
      ? options
      : { ...options, allow: { ...options.allow, [kind]: true } },
  };
  return kindNeeds.every(
    (openNeed) =>
      verdictFor(widerCore, kind, needOf(openNeed), openNeed.target).verdict === "allow",
  );
}
