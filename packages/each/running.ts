// What the jobs of a run share.
import type { Ctx, Price, Usage, Zz } from "zz";
import type { RunLedger } from "./run-ledger.ts";

export interface Running {
  zz: Zz;
  ctx: Ctx;
  ledger: RunLedger;
  stop: AbortController;
  limits: { jobs: number; dollars?: number; tokens?: number };
  price?: Price | undefined;
  window?: number | undefined;
  spent: Usage;
  isShown: boolean; // whether each answer is printed, or written to a file
  worst: number; // exit code
  asked: number;
  started: number;
  ended?: Error; // why nothing more is asked
  files: Map<string, number>; // that --out has written, and for which input
}
