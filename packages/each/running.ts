// What the jobs of a run share.
import type { Ctx, Model, Usage, Zz } from "zz";
import type { RunLedger } from "./run-ledger.ts";

export interface Running {
  zz: Zz;
  ctx: Ctx;
  ledger: RunLedger;
  stop: AbortController;
  limits: { jobs: number; dollars?: number; tokens?: number };
  price?: Model["price"];
  window?: number;
  spent: Usage;
  isShown: boolean; // whether each answer is printed, or written to a file
  worst: number; // exit code
  asked: number;
  started: number;
  ended?: Error; // why nothing more is asked
  files: Map<string, number>; // that --out has written, and for which input
}
