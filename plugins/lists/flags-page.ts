// --help and --completion: every flag.
import type { Flag } from "zz";
import { columns, type Row, wrapped } from "./aligned-rows.ts";
import { OTHER } from "./help-page.ts";

/** In the order of --help. */
const FLAG_GROUPS = [
  "asking",
  "model",
  "the conversation",
  "output",
  "the model's tools",
  "what tools may do",
  "files and undo",
  "your plugins",
  "folders and settings",
  "about zz",
];
export const MAX_COLUMNS = 80; // of --help, however wide the terminal is
export function help(flags: Flag[], room: number): string {
  const groups = Map.groupBy(flags, ({ group = OTHER }) => group);
  const names = [...new Set([...FLAG_GROUPS, ...groups.keys()])].filter((name) => groups.has(name));
  const uses: Row[] = [
    ["zz [flags] [words]", "open a conversation; with words, answer those first"],
    ["echo words | zz --once", "print one answer and exit"],
    ["zz words < data", "send the data, then the words"],
  ];
  return [
    ...wrapped("zz: a terminal agent whose story you can read in one sitting.", room),
    "",
    ...columns(uses, room, FLAG_COLUMNS),
    ...names.flatMap((name) => [
      "",
      `${name}:`,
      ...columns(groups.get(name)!.map(flagRow), room, FLAG_COLUMNS),
    ]),
    "",
    ...wrapped(EXIT_CODES, room),
  ].join("\n");
}
const FLAG_COLUMNS = 30;
const EXIT_CODES =
  "Exit codes: 0 answered, 1 the provider or zz failed, 2 wrong usage, 3 stopped by a limit, 4 answered but something was refused, 130 and 143 interrupted.";
function flagRow({ name, short, value, optional, description }: Flag): Row {
  const valueText = optional ? `[=${value}]` : ` ${value}`;
  const shown = value ? valueText : "";
  return [`${short ? `-${short}, ` : "    "}--${name}${shown}`, description];
}
