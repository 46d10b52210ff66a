import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { listSessions, openSession } from "../../kernel/sessions.ts";
import type { Bench, Figure, Measure } from "../support/bench.ts";
import { having } from "../support/having.ts";
import { figure, median, timed } from "../support/machine.ts";
import { repl } from "../support/repl.ts";
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
  figure("what the model is told", "ms", 15, "From a line to its request, where nothing changed in a project.", told),
];

const message = (i: number) => ({
  role: "user" as const,
  text: `Question ${i}: why does the build fail in src/parse/tokens.ts when the flag is set? `.repeat(2),
});

function sessions() {
  const { home } = place();
  const folder = join(home, "sessions");
  mkdirSync(folder, { recursive: true });
  const at = new Date().toISOString();
  const header = { zz: 1, at, root: "/home/me/project", model: "openai/m", title: "Why?" };
  const entry = (i: number) => ({ id: i + 1, parent: i || null, at, type: "message", message: message(i) });
  const lay = (id: string, count: number) => {
    const lines = [{ ...header, id }, ...Array.from({ length: count }, (_, i) => entry(i))];
    writeFileSync(join(folder, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  };
  const loud = (text: string) => {
    throw new Error(text);
  };
  return { home, lay, open: (id: string) => openSession(home, id, loud) };
}

async function told(bench: Bench): Promise<Measure> {
  const where = place();
  const put = (name: string, text: string) => having({ [name]: text }, where);
  put("AGENTS.md", "Rules.\n".repeat(400));
  put("../home/memory/INDEX.md", "- note\n".repeat(100));
  const skill = (i: number) => `---\nname: s${i}\ndescription: does ${i} things\ntriggers: thing${i}\n---\nbody`;
  for (let i = 0; i < 12; i++) put(`~/skills/s${i}/SKILL.md`, skill(i));
  for (let i = 0; i < 500; i++)
    put(`src/p${i}.ts`, `export const part${i} = (a: number): number => a + ${i};\n`.repeat(5));
  const log = join(where.cwd, "../time");
  put(
    "../own.ts",
    `import { writeFileSync } from "node:fs";
     export default (zz) => {
       let began = 0;
       zz.on("phase", ({ from, to }) => { if (from === "idle" && to === "thinking") began = performance.now(); });
       zz.on("requested", () => writeFileSync(${JSON.stringify(log)}, String(performance.now() - began)));
     };`,
  );
  const args = ["--plugin", join(where.cwd, "../own.ts")];
  const zz = await repl(bench as TestContext, { where, args, process: true });
  await zz.say("/add src/p1.ts AGENTS.md", "Pinned");
  let turn = 0;
  return async () => {
    await zz.sees(/›$/);
    turn++;
    await zz.say(`turn ${turn} thing3`, new RegExp(`turn ${turn} [\\s\\S]*Good\\.[\\s\\S]*calls`));
    return Number(readFileSync(log, "utf8"));
  };
}
