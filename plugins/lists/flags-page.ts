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
export function help(flags: Flag[], maxColumns: number): string {
  const flagGroups = Map.groupBy(flags, ({ group = OTHER }) => group);
  const groupNames = [...new Set([...FLAG_GROUPS, ...flagGroups.keys()])].filter((groupName) =>
    flagGroups.has(groupName),
  );
  const usageRows: Row[] = [
    ["zz [flags] [words]", "open a conversation; with words, answer those first"],
    ["echo words | zz --once", "print one answer and exit"],
    ["zz words < data", "send the data, then the words"],
  ];
  return [
    ...wrapped("zz: a terminal agent whose story you can read in one sitting.", maxColumns),
    "",
    ...columns(usageRows, maxColumns, FLAG_COLUMNS),
    ...groupNames.flatMap((groupName) => [
      "",
      `${groupName}:`,
      ...columns(flagGroups.get(groupName)!.map(flagRow), maxColumns, FLAG_COLUMNS),
    ]),
    "",
    ...wrapped(EXIT_CODES, maxColumns),
  ].join("\n");
}
const FLAG_COLUMNS = 30;
const EXIT_CODES =
  "Exit codes: 0 answered, 1 the provider or zz failed, 2 wrong usage, 3 stopped by a limit, " +
  "4 answered but something was refused, 130 and 143 interrupted.";
function flagRow({ name, short, value, optional, description }: Flag): Row {
  const valueText = optional ? `[=${value}]` : ` ${value}`;
  const shownValue = value ? valueText : "";
  return [`${short ? `-${short}, ` : "    "}--${name}${shownValue}`, description];
}
