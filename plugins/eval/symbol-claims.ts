// Claims about names in code.
import { type Claim, SOFT } from "./claims.ts";
import {
  at,
  capital,
  containsName,
  definitionOf,
  escaped,
  type Facts,
  firstOf,
  lastOf,
  missing,
  type Verdict,
} from "./facts.ts";
import {
  definitionPlace,
  linesOf,
  literalPlace,
  nearestDefinition,
  type Place,
  placeInCode,
  placeInProse,
  registeredPlace,
} from "./texts.ts";

export function symbolVerdict(facts: Facts, claim: Claim): Verdict {
  const { name } = claim;
  const [last, root] = [lastOf(name), firstOf(name)];
  const own = facts.index.get(name) ?? [];
  if (own.length) return ["good", `${at(own[0]!)}${own.length > 1 ? ` and ${own.length - 1} more` : ""}`];
  const place =
    memberPlace(facts, name) ??
    facts.elsewhere.grepped.get(name) ??
    (root
      ? placeOfLiteral(facts, name)
      : (definitionPlace(facts.texts, last) ?? registeredPlace(facts.texts, last) ?? placeInCode(facts.texts, last)));
  if (place && !claim.weak) return ["good", at(place)];
  if (place) return undefined;
  const inText = root ? placeOfLiteral(facts, name, true) : placeInProse(facts.texts, last);
  if (inText) return claim.weak ? undefined : ["open", `no code holds it, only ${at(inText)}`];
  if (root) return memberVerdict(facts, claim, root, last);
  return externalVerdict(facts, claim, last) ?? unknownVerdict(facts, claim, "nowhere in the project");
}

/** The place of a member such as `ctx.note`, if the type `Ctx` has a member `note`. */
function memberPlace(facts: Facts, name: string): Place | undefined {
  return facts.index.get(capital(name))?.[0];
}

/** The verdict on a member such as `Session.open` that is nowhere written literally. */
function memberVerdict(facts: Facts, claim: Claim, root: string, last: string): Verdict {
  const [owner] = facts.index.get(root) ?? [];
  if (owner && CLOSED.test(owner.kind) && !/\bextends\b/.test(owner.signature)) {
    if (!placeInCode(facts.texts, last))
      return unknownVerdict(facts, claim, `\`${root}\` (${at(owner)}) has no \`${last}\``);
    const inside = linesOf(facts.texts.byName.get(owner.path) ?? "").slice(owner.line - 1, owner.end);
    if (!inside.some((row) => containsName(row, last)))
      return unknownVerdict(facts, claim, `\`${root}\` (${at(owner)}) has no \`${last}\``, false);
  }
  if (!owner && facts.elsewhere.own().hasGlobal(root))
    return facts.elsewhere.own().has(last) ? ["good", BUILT_IN] : ["open", "it is not of this project"];
  const other = definitionPlace(facts.texts, last) ?? placeInCode(facts.texts, last);
  if (other) return ["open", `\`${last}\` is at ${at(other)}, but nothing there says \`${claim.name}\``];
  const known = externalVerdict(facts, claim, last);
  if (known) return known;
  return owner || placeInCode(facts.texts, root)
    ? unknownVerdict(facts, claim, `nothing in the project is called \`${last}\``)
    : ["open", "it is not of this project"];
}

function externalVerdict(facts: Facts, { name, soft }: Claim, last: string): Verdict {
  if (facts.elsewhere.own().has(last)) return ["good", BUILT_IN];
  const from = facts.elsewhere.packages.get(last);
  if (from) return ["good", `of the package ${from}`];
  if (facts.defines.has(last)) return ["open", "nowhere in the project; the answer's own code defines it"];
  if (/^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*$/.test(name))
    return ["open", `nowhere in the project; it may be a variable of the environment${soft ? `; ${SOFT[soft]}` : ""}`];
  return undefined;
}

function unknownVerdict(facts: Facts, claim: Claim, message: string, guess = true): Verdict {
  const near = guess ? nearestDefinition(facts.texts, lastOf(claim.name)) : undefined;
  const place = near && (definitionOf(facts, near) ?? definitionPlace(facts.texts, near));
  const doubt =
    facts.texts.isWhole || facts.elsewhere.searched.has(claim.name)
      ? ""
      : "nothing of it was found, but not all files were looked through";
  const whole = `${message}${place ? `; nearest: ${near}, ${at(place)}` : ""}`;
  return doubt && !claim.weak ? ["open", doubt] : missing(claim, whole);
}

/** Where a member such as `chat.messages` is written literally. */
function placeOfLiteral(facts: Facts, name: string, prose = false): Place | undefined {
  const dotted = escaped(name).replaceAll("\\.", "(?:\\??\\.|::|#|->)");
  return literalPlace(facts.texts, new RegExp(`(?<![\\w$])${dotted}(?![\\w$])`), lastOf(name), prose);
}
const BUILT_IN = "JavaScript's own, or Node's";
const CLOSED = /^(?:class|enum)$/; // kinds that have only the members they declare
