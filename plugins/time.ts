// The time, to the minute when a conversation begins, and anew when what was said of it is old.
import type { Zz } from "zz";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const OLD = 10 * 60_000; // ms; until then what was said is near enough, and costs nothing

export default (zz: Zz) => {
  let last = { at: Number.NEGATIVE_INFINITY, text: "" };
  zz.layer({
    name: "time",
    slot: "turn",
    text({ chat }) {
      const now = new Date();
      const old = Math.abs(now.getTime() - last.at) >= OLD;
      if (old || chat.messages.length < 2) last = { at: now.getTime(), text: told(now) };
      return last.text;
    },
  });
};

/** Local, year first. By hand: the first use of Intl costs 15 ms, a fifth of a whole one-shot. */
function told(now: Date): string {
  const date = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join("-");
  const ahead = -now.getTimezoneOffset(); // minutes before UTC
  const zone = `UTC${ahead < 0 ? "-" : "+"}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`;
  return `${DAYS[now.getDay()]}, ${date} ${two(now.getHours())}:${two(now.getMinutes())} (${zone})`;
}

const two = (part: number): string => String(part).padStart(2, "0");
