// What a long conversation costs: its file, what the model is told, what it says.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { listSessions, openSession } from "../../kernel/sessions.ts";
import { rescue } from "../../plugins/text-calls/rescue.ts";
import type { Bench, Figure, Measure } from "../support/bench.ts";
import { having } from "../support/having.ts";
import { figure, median, timed, worked } from "../support/machine.ts";
import { repl } from "../support/repl.ts";
import { place, ROOT } from "../support/run.ts";
import { STREAMS } from "../support/streams.ts";
import { FORMATS, RANDOM_TOOLS } from "../support/text-calls.ts";

const MB = 1024 * 1024;
const MANY = 100_000;

const STREAMED = ["Chat Completions", "Anthropic's Messages", "OpenAI's Responses", "Gemini's generateContent"];

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
  ...[...STREAMED, "Ollama's own API"].map((name) =>
    figure(
      `stream of ${name}`,
      "MB/s",
      3,
      "From the socket to the turn, a second of CPU.",
      async () => () => rateOf(name),
    ),
  ),
  ...Object.entries(texts()).map(([what, text]) =>
    figure(`calls in ${what}`, "MB/s", 7, "An answer is looked through, a second of CPU.", async () => async () => {
      const fresh = Buffer.from(text).toString(); // as it comes from the wire
      const reply = { text: fresh, thinking: "", calls: [], finish: "stop" as const };
      const ms = await worked(() => rescue(reply, { tools: RANDOM_TOOLS, options: {}, worded: false }));
      return (1_000 * Buffer.byteLength(text)) / MB / ms;
    }),
  ),
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

async function rateOf(name: string): Promise<number> {
  if (!STREAMS[name]) throw new Error(`There is no stream '${name}'.`);
  const bytes = 6 * MB;
  const program = join(ROOT, "test", "support", "streams.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [program, name, String(bytes)]);
  return bytes / MB / median((JSON.parse(stdout) as { seconds: number[] }).seconds);
}

function texts(): Record<string, string> {
  const size = 4 * MB;
  const line = '  if (list[i] < 3 && map["key"] === `a{b}`) { return { a: [1, 2], b: "<div>" }; } // a note on it\n';
  const prose = "The parser reads the text once, from its beginning (see below) to its end, and says what it found. ";
  const args = { path: "src/a.ts", text: line.repeat(1_000), count: 3, nested: { deep: [{ a: "b" }] } };
  const calls = FORMATS.map((format) => format.calls([{ id: "", name: "write_file", args }], RANDOM_TOOLS)).join("\n");
  return {
    prose: prose.repeat(size / prose.length),
    code: line.repeat(size / line.length),
    "calls of all formats": calls.repeat(Math.ceil(size / calls.length)),
  };
}
