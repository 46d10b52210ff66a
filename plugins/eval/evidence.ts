// Which of an answer's claims are true, checked against the disk and the index of symbols.
import type { Ctx } from "zz";
import type { AnswerClaims, Claim } from "./claims.ts";
import { type Facts, type Finding, gatherFacts, missing, type Verdict } from "./facts.ts";
import { pathVerdict } from "./path-claims.ts";
import { quoteVerdict } from "./quote-claims.ts";
import { symbolVerdict } from "./symbol-claims.ts";
import { distance } from "./texts.ts";

export type { Finding } from "./facts.ts";

export async function evidence(answer: AnswerClaims, ctx: Ctx): Promise<Finding[]> {
  const facts = await gatherFacts(answer, ctx);
  const findings: Finding[] = [];
  for (const claim of answer.claims) {
    ctx.signal.throwIfAborted();
    const verdict = await judge(facts, claim);
    if (verdict) findings.push({ sign: verdict[0], name: shown(claim), message: verdict[1] });
  }
  return findings;
}

function judge(facts: Facts, claim: Claim): Verdict | Promise<Verdict> {
  if (claim.kind === "path") return pathVerdict(facts, claim);
  if (claim.kind === "symbol") return symbolVerdict(facts, claim);
  return claim.kind === "quote" ? quoteVerdict(facts, claim) : scriptVerdict(facts, claim);
}

function scriptVerdict(facts: Facts, claim: Claim): Verdict {
  const own = facts.scripts.get(claim.name);
  if (own) return ["good", own];
  if (!facts.scripts.size) return ["open", "no package.json here has scripts"];
  const near = [...facts.scripts.keys()]
    .map((name) => ({ name, far: distance(name, claim.name) }))
    .sort((a, b) => a.far - b.far)[0];
  const others = near && near.far < 0.6 ? `; nearest: ${near.name}` : "";
  return missing(claim, `no package.json has that script${others}`);
}

function shown({ kind, name, line, end }: Claim): string {
  if (kind === "command") return `npm run ${name}`;
  if (kind === "quote") return `\`${name.split("\n")[0]!.trim().slice(0, 60)}${name.includes("\n") ? " …" : ""}\``;
  const spot = line ? `:${line}${end && end !== line ? `–${end}` : ""}` : "";
  return kind === "path" ? `${name}${spot}` : `\`${name}\``;
}
