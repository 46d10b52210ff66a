// Claims about names in code.
import { type Claim, SOFT } from "./claims.ts";
import {
  at,
  capital,
  definitionOf,
  escaped,
  type Facts,
  firstOf,
  holds,
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
  titledPlace,
} from "./texts.ts";

export function symbolVerdict(facts: Facts, claim: Claim): Verdict {
  const { name } = claim;
  const [last, root] = [lastOf(name), firstOf(name)];
  const own = facts.index.get(name) ?? [];
  if (own.length) return ["good", `${at(own[0]!)}${own.length > 1 ? ` and ${own.length - 1} more` : ""}`];
  const place =
    member(facts, name) ??
    facts.elsewhere.grepped.get(name) ??
    (root
      ? literal(facts, name)
      : (definitionPlace(facts.texts, last) ?? titledPlace(facts.texts, last) ?? placeInCode(facts.texts, last)));
  if (place && !claim.weak) return ["good", at(place)];
  if (place) return undefined;
  const told = root ? literal(facts, name, true) : placeInProse(facts.texts, last);
  if (told) return claim.weak ? undefined : ["open", `no code holds it, only ${at(told)}`];
  if (root) return memberVerdict(facts, claim, root, last);
  return foreign(facts, claim, last) ?? unknown(facts, claim, "nowhere in the project");
}

/** The place of `ctx.note` if `Ctx` has a member `note`. */
function member(facts: Facts, name: string): Place | undefined {
  return facts.index.get(capital(name))?.[0];
}

/** The verdict on `Session.open` if it is nowhere written literally. */
function memberVerdict(facts: Facts, claim: Claim, root: string, last: string): Verdict {
  const [owner] = facts.index.get(root) ?? [];
  if (owner && CLOSED.test(owner.kind) && !/\bextends\b/.test(owner.signature)) {
    if (!placeInCode(facts.texts, last)) return unknown(facts, claim, `\`${root}\` (${at(owner)}) has no \`${last}\``);
    const inside = linesOf(facts.texts.byName.get(owner.path) ?? "").slice(owner.line - 1, owner.end);
    if (!inside.some((row) => holds(row, last)))
      return unknown(facts, claim, `\`${root}\` (${at(owner)}) has no \`${last}\``, false);
  }
  if (!owner && facts.elsewhere.own().holds(root))
    return facts.elsewhere.own().has(last) ? ["good", OWN] : ["open", "it is not of this project"];
  const other = definitionPlace(facts.texts, last) ?? placeInCode(facts.texts, last);
  if (other) return ["open", `\`${last}\` is at ${at(other)}, but nothing there says \`${claim.name}\``];
  const known = foreign(facts, claim, last);
  if (known) return known;
  return owner || placeInCode(facts.texts, root)
    ? unknown(facts, claim, `nothing in the project is called \`${last}\``)
    : ["open", "it is not of this project"];
}

function foreign(facts: Facts, { name, soft }: Claim, last: string): Verdict {
  if (facts.elsewhere.own().has(last)) return ["good", OWN];
  const from = facts.elsewhere.packages.get(last);
  if (from) return ["good", `of the package ${from}`];
  if (facts.defines.has(last)) return ["open", "nowhere in the project; the answer's own code defines it"];
  if (/^[A-Z][A-Z\d]*(?:_[A-Z\d]+)*$/.test(name))
    return ["open", `nowhere in the project; it may be a variable of the environment${soft ? `; ${SOFT[soft]}` : ""}`];
  return undefined;
}

function unknown(facts: Facts, claim: Claim, says: string, guess = true): Verdict {
  const near = guess ? nearestDefinition(facts.texts, lastOf(claim.name)) : undefined;
  const place = near && (definitionOf(facts, near) ?? definitionPlace(facts.texts, near));
  const doubt =
    facts.texts.isWhole || facts.elsewhere.searched.has(claim.name)
      ? ""
      : "nothing of it was found, but not all files were looked through";
  const whole = `${says}${place ? `; nearest: ${near}, ${at(place)}` : ""}`;
  return doubt && !claim.weak ? ["open", doubt] : missing(claim, whole);
}

/** Where `chat.messages` is written literally. */
function literal(facts: Facts, name: string, prose = false): Place | undefined {
  const dotted = escaped(name).replaceAll("\\.", "(?:\\??\\.|::|#|->)");
  return literalPlace(facts.texts, new RegExp(`(?<![\\w$])${dotted}(?![\\w$])`), lastOf(name), prose);
}
const OWN = "JavaScript's own, or Node's";
const CLOSED = /^(?:class|enum)$/; // kinds that have only the members they declare
