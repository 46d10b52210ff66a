// sed: whether a script only prints. It can also run commands, and read or write files that its line does not name.

import { bracket } from "./brackets.ts";

/** A pattern up to its end, in which the delimiter stands for nothing else. */
const pattern = (end: string): string => String.raw`(?:[^\\\n[${end}]|\\[^\nc]|${bracket(end)})*`;
const replacement = (end: string): string => String.raw`(?:[^\\\n${end}]|\\[^\n])*`;
const ADDRESS = String.raw`(?:\d+(?:~\d+)?|\$|/${pattern("/")}/I?)`;
const RANGE = String.raw`(?:${ADDRESS}(?:,[ ]*(?:${ADDRESS}|[+~]\d+))?[ ]*(?:![ ]*)?)?`;
const SUBSTITUTION = ["/", "|", "#", ",", ":", "@"]
  .map((end) => `s${`\\${end}`}${pattern(`\\${end}`)}\\${end}${replacement(`\\${end}`)}\\${end}[gpIi\\d]*`)
  .join("|");
const COMMAND = `[ ]*${RANGE}(?:[pd=]|[qQ]\\d*|${SUBSTITUTION})[ ]*`;
const SCRIPT = new RegExp(`^${COMMAND}(?:[;\\n]${COMMAND})*(?:[;\\n]\\s*)?$`);

export const SED_OPTIONS =
  "-nErsuz -e: --expression= --quiet --silent --regexp-extended --separate --unbuffered --null-data";

/** Scripts that print, delete or replace lines of what is read. */
export const onlyPrints = (script: string): boolean => SCRIPT.test(script);
