// What a person sees of a turn: thinking, calls as they are announced and as they end, and a line of figures at its
// end.
import type { Answer, Zz } from "zz";
import { plural, terminalColumns } from "zz/text";
import { argumentsOf, folded, short, summary } from "./format.ts";
import { isPlain, isRich, look, print, row, type Screen, signs } from "./screen.ts";

const MAX_REFUSAL_COLUMNS = 1_000; // a refusal says what would allow the call, so it is not cut to a row

export function showTurns(zz: Zz<any>, screen: Screen): void {
  const { line, config } = screen;
  zz.on("started", ({ live, stays }) => void Object.assign(screen, { live, stays, since: Date.now() }));
  zz.on("phase", ({ to }) => {
    screen.idle = to === "idle";
    line.stop();
    if (to === "thinking") line.begin("thinking");
    if (to === "executing_tools") line.begin(screen.running[0] ?? "");
    if (to === "thinking" && isRich(screen)) import("./markdown.ts").catch(() => {}); // it is heavy: loaded while the model thinks
    if (to === "thinking" && screen.live && isPlain(screen)) print(screen, "thinking");
  });
  zz.on("received", ({ tokens, thinking }) => line.thinks(tokens, thinking));
  zz.on("thought", ({ text, ms }) => {
    const { thinking } = config();
    if (thinking === "off" || !screen.live) return;
    const plain = isPlain(screen);
    const rows = plain
      ? [`thought for ${seconds(ms)}`]
      : folded(text, terminalColumns() - 2, thinking === "full" ? Number.POSITIVE_INFINITY : 2).map(
          (one) => `┆ ${one}`,
        );
    for (const one of rows) print(screen, look(screen).dim(one));
  });
  zz.on("asked", line.stop);
  zz.on("planned", ({ calls, text }) => {
    if (text) print(screen, look(screen).dim(short(text, terminalColumns() - 1)));
    const sign = look(screen).accent(signs(screen).call);
    for (const { name, args } of calls) print(screen, row(screen, `${sign} ${short(name)}`, argumentsOf(args)));
    screen.running = calls.map(({ name }) => short(name));
  });
  zz.on("called", ({ call, result, ms, shown, inner }) => {
    if (inner) return;
    const name = short(call.name);
    const { ok, bad } = signs(screen);
    const sign = result.failed ? look(screen).bad(bad) : look(screen).ok(ok);
    const time = ` · ${seconds(ms)}`;
    print(
      screen,
      result.refused
        ? `${sign} ${name} · ${short(result.text, MAX_REFUSAL_COLUMNS)}${time}`
        : row(screen, `${sign} ${name} ·`, shown ?? summary(result.text), time),
    );
    screen.running.splice(screen.running.indexOf(name), 1);
    if (screen.running.length) line.begin(screen.running[0]!);
  });
  zz.on("progressed", ({ text }) => (text || !screen.idle ? line.progress(text) : line.stop()));
  zz.on("retried", line.wipe);
  zz.on("noted", line.wipe);
  zz.on("answered", (answer) => {
    if (!screen.live || !screen.stays) return;
    const { stats, bell, bellAfter } = config();
    if (stats) print(screen, `${look(screen).dim(short(figures(answer), terminalColumns() - 1))}\n`);
    if (bell && answer.ms > bellAfter * 1000) process.stderr.write("\x07");
  });
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** Tokens are left out if the server did not report them. */
function figures({ usage, calls, ms, used, window }: Answer): string {
  const number = (count: number) => count.toLocaleString("en");
  const { input, output } = usage;
  const tokens = input || output ? [`${number(input)} tokens in, ${number(output)} out`] : [];
  const context = used && window ? [`context ${Math.round((100 * used) / window)} % of ${number(window)}`] : [];
  return [seconds(ms), ...tokens, plural(calls.length, "call"), ...context].join(" · ");
}
