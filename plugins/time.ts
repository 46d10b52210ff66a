// Tells the model the time when a conversation begins, and again whenever ten minutes have passed.
import type { Zz } from "zz";

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const MAX_AGE = 10 * 60_000; // ms; a time that is not older is good enough, and costs no tokens

export default (zz: Zz) => {
  let lastTold = { at: Number.NEGATIVE_INFINITY, text: "" };
  zz.layer({
    name: "time",
    slot: "turn",
    text({ chat }) {
      const currentTime = new Date();
      const isOutdated = Math.abs(currentTime.getTime() - lastTold.at) >= MAX_AGE;
      if (isOutdated || chat.messages.length < 2)
        lastTold = { at: currentTime.getTime(), text: formatTime(currentTime) };
      return lastTold.text;
    },
  });
};

/**
 * Local time. Written by hand, since the first use of Intl costs 15 ms, a fifth of a whole
 * one-shot.
 */
function formatTime(localTime: Date): string {
  const dateText = [
    localTime.getFullYear(),
    twoDigits(localTime.getMonth() + 1),
    twoDigits(localTime.getDate()),
  ].join("-");
  const minutesAhead = -localTime.getTimezoneOffset(); // minutes before UTC
  const zoneText =
    `UTC${minutesAhead < 0 ? "-" : "+"}${twoDigits(Math.floor(Math.abs(minutesAhead) / 60))}:` +
    twoDigits(Math.abs(minutesAhead) % 60);
  return (
    `${WEEKDAYS[localTime.getDay()]}, ${dateText} ` +
    `${twoDigits(localTime.getHours())}:${twoDigits(localTime.getMinutes())} (${zoneText})`
  );
}

const twoDigits = (timePart: number): string => String(timePart).padStart(2, "0");
