// Tells the model the time when a conversation begins, and again whenever ten minutes have passed.
import type { Zz } from "zz";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const MAX_AGE = 10 * 60_000; // ms; a time that is not older is good enough, and costs no tokens

export default (zz: Zz) => {
  let last = { at: Number.NEGATIVE_INFINITY, text: "" };
  zz.layer({
    name: "time",
    slot: "turn",
    text({ chat }) {
      const time = new Date();
      const old = Math.abs(time.getTime() - last.at) >= MAX_AGE;
      if (old || chat.messages.length < 2) last = { at: time.getTime(), text: format(time) };
      return last.text;
    },
  });
};

/**
 * Local time. Written by hand, since the first use of Intl costs 15 ms, a fifth of a whole
 * one-shot.
 */
function format(time: Date): string {
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join("-");
  const ahead = -time.getTimezoneOffset(); // minutes before UTC
  const zone = `UTC${ahead < 0 ? "-" : "+"}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`;
  return `${DAYS[time.getDay()]}, ${date} ${two(time.getHours())}:${two(time.getMinutes())} (${zone})`;
}

const two = (part: number): string => String(part).padStart(2, "0");
