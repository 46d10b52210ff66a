// Writes an entry as a line of JSON, or as text to read. In the text, entries begin at the left
// margin and everything that was said is indented, so that nothing from a model or a file can look
// like an entry.
import { plural } from "zz/text";

export type LogEntry = {
  at: string;
  turn: number;
  step: number;
  type: string;
  pid: number;
} & Record<string, unknown>;

export const toJson = (logEntry: LogEntry): string => `${JSON.stringify(logEntry)}\n`;

export function toText(logEntry: LogEntry): string {
  const lines = SECTIONS[logEntry.type]?.(logEntry) ?? eventOf(logEntry);
  return `${visible(lines.join("\n"))}\n`;
}

/** Makes control characters visible, so that a terminal that shows the log does not obey them. */
const visible = (text: string): string =>
  text
    .replace(/\r\n/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (char) =>
      char < " " ? String.fromCharCode(0x2400 + char.charCodeAt(0)) : "\ufffd",
    );

const MARKS: Record<string, string> = { "TOOL-CALL": "►", "TOOL-RESULT": "◄", "TOOL-ERROR": "◄" };
/** The fields shown below the line of an event. */
const BODIES: Record<string, string> = {
  text: "TEXT",
  args: "INPUT ARGUMENTS",
  output: "RESULT OUTPUT",
  summary: "SUMMARY",
  partial: "WHAT HAD COME",
};

const SECTIONS: Record<string, (logEntry: any) => string[]> = {
  HEADER: ({ at, pid, turn, step, type, prompt, task, ...otherFields }) => [
    "",
    `${"═".repeat(20)} ${titleOf(turn, task)} ${"═".repeat(60)}`,
    "── 1 HEADER",
    ...rows({ time: at, ...otherFields, ...(prompt && { prompt: inWords(prompt) }), pid }),
  ],
  PROMPT: ({ layers, news, text, ...size }) => [
    heading("2 PROMPT", size, inWords(size)),
    ...layers.map((layer: any) => `  ${layerOf(layer)}`),
    ...(news ?? []).map(
      (update: any) => `  ${layerOf({ ...update, slot: "told since, with a message" })}`,
    ),
    "  TEXT",
    indented(text),
  ],
  HISTORY: ({ messages, ...fields }) => [
    heading("3 HISTORY", fields, plural(messages.length, "message")),
    ...messages.flatMap(messageOf),
  ],
  TOOLS: ({ tools, ...fields }) => [
    heading("4 TOOLS", fields, tools.length ? String(tools.length) : "none"),
    ...tools.flatMap(({ name, description, schema }: any) => [
      `  ${name}`,
      indented(`${description}\n${JSON.stringify(schema)}`),
    ]),
  ],
  PARAMETERS: ({ at, pid, turn, step, type, changed, ...parameters }) => [
    heading("5 PARAMETERS", {
      changed,
      task: parameters.task === "chat" ? undefined : parameters.task,
    }),
    ...rows(parameters),
  ],
};

function eventOf({ at, pid, turn, step, type, added, first, ...otherFields }: any): string[] {
  const { name, id, ...others } = otherFields;
  const mark = MARKS[type];
  const about = mark ? [mark, name, `(id=${id})`] : [];
  const fields = Object.entries(mark ? others : otherFields).filter(([key]) => !(key in BODIES));
  const shownFields = fields.map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  const bodies = Object.entries(BODIES).flatMap(([key, label]) =>
    otherFields[key] === undefined ? [] : [`  ${label}:`, indented(otherFields[key])],
  );
  return [
    ...(first ? [heading("6 EVENTS", otherFields)] : []),
    [`[${at}]`, type, ...about, ...(step ? [`step=${step}`] : []), ...shownFields].join(" "),
    ...bodies,
    ...(added ?? []).flatMap(messageOf),
  ];
}

function messageOf({
  index,
  role,
  name,
  id,
  failed,
  chars,
  tokens,
  thinking,
  text,
  calls,
  images,
  above,
}: any): string[] {
  const about = [
    `[${index}] ${role}${name ? ` ${name} (id=${id})` : ""}`,
    inWords({ chars, tokens }),
    ...(failed ? ["failed"] : []),
    ...(thinking ? [`thinking of ${inWords(thinking)}`] : []),
    ...(above && text ? ["as above"] : []),
  ];
  return [
    `  ${about.join(" · ")}`,
    ...(text && !above ? [indented(text)] : []),
    ...(calls ?? []).map((call: any) =>
      indented(`► ${call.name} (id=${call.id}) ${JSON.stringify(call.args)}`),
    ),
    ...(images ?? []).map(indented),
  ];
}

const titleOf = (turn: number, task?: string): string =>
  [turn ? `TURN ${turn}` : "OUTSIDE OF ANY TURN", ...(task ? [task] : [])].join(" · ");

function heading(
  title: string,
  { task, changed }: { task?: string; changed?: true },
  note?: string,
): string {
  return `── ${[title, ...(task ? [task] : []), ...(changed ? ["changed"] : []), ...(note ? [note] : [])].join(" · ")}`;
}

const layerOf = ({ name, slot, owner, chars, tokens }: any): string =>
  [
    name.padEnd(20),
    [slot, owner].filter(Boolean).join(", ").padEnd(28),
    inWords({ chars, tokens }),
  ].join(" ");

function rows(fields: Record<string, unknown>): string[] {
  const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.entries(fields).map(([name, value]) => `  ${name.padEnd(10)} ${shown(value)}`);
}

/** Indents a text, or anything else as JSON. */
function indented(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return `    ${text.replaceAll("\n", "\n    ")}`;
}

const inWords = ({ chars, tokens }: { chars: number; tokens: number }): string =>
  `${plural(chars, "character")}, about ${plural(tokens, "token")}`;
