// What a long conversation costs: its file.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listSessions, openSession } from "../../kernel/conversation/session-files.ts";
import type { Figure } from "../support/bench.ts";
import { figure, median, timed } from "../support/machine.ts";
import { place } from "../support/run.ts";

const MANY = 100_000;

export const figures: Figure[] = [
  figure("append to a long session", "times", 15, "At entry 100,000 beside entry 10.", async () => {
    const { lay, open } = sessions();
    lay("long", MANY);
    const long = open("long");
    return () => {
      lay("short", 10);
      const both = [open("short"), long] as const;
      const times: [number[], number[]] = [[], []];
      for (let i = 0; i < 20; i++)
        for (const [which, session] of both.entries()) {
          const began = performance.now();
          session.append("message", { message: message(i) });
          times[which]!.push(performance.now() - began);
        }
      both[0].close();
      return median(times[1]) / median(times[0]);
    };
  }),
  figure("open a long session", "ms", 7, "One of 100,000 entries, and its branch.", async () => {
    const { lay, open } = sessions();
    lay("long", MANY);
    return () =>
      timed(() => {
        const session = open("long");
        session.branch();
        session.close();
      });
  }),
  figure("list 10,000 sessions", "ms", 7, "What /sessions reads is listed.", async () => {
    const { home, lay } = sessions();
    for (let i = 0; i < 10_000; i++) lay(`20260101-${String(i).padStart(6, "0")}-aaaaaaaa`, 10);
    return () => timed(() => listSessions(home));
  }),
]; // biome-ignore format: a table

const message = (i: number) => ({
  role: "user" as const,
  text: `Question ${i}: why does the build fail in src/parse/tokens.ts when the flag is set? `.repeat(
    2,
  ),
});

function sessions() {
  const { home } = place();
  const folder = join(home, "sessions");
  mkdirSync(folder, { recursive: true });
  const at = new Date().toISOString();
  const header = { zz: 1, at, root: "/home/me/project", model: "openai/m", title: "Why?" };
  const entry = (i: number) => ({
    id: i + 1,
    parent: i || null,
    at,
    type: "message",
    message: message(i),
  });
  const lay = (id: string, count: number) => {
    const lines = [{ ...header, id }, ...Array.from({ length: count }, (_, i) => entry(i))];
    writeFileSync(
      join(folder, `${id}.jsonl`),
      lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
  };
  const loud = (text: string) => {
    throw new Error(text);
  };
  return { home, lay, open: (id: string) => openSession(home, id, loud) };
}
