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
  const entryLines = SECTIONS[logEntry.type]?.(logEntry) ?? eventOf(logEntry);
  return `${visible(entryLines.join("\n"))}\n`;
}

/** Makes control characters visible, so that a terminal that shows the log does not obey them. */
const visible = (entryText: string): string =>
  entryText
    .replace(/\r\n/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (character) =>
      character < " " ? String.fromCharCode(0x2400 + character.charCodeAt(0)) : "\ufffd",
    );

const MARKS: Record<string, string> = { "TOOL-CALL": "►", "TOOL-RESULT": "◄", "TOOL-ERROR": "◄" };
/** The fields shown below the line of an event. */
const BODY_LABELS: Record<string, string> = {
  text: "TEXT",
  args: "INPUT ARGUMENTS",
  output: "RESULT OUTPUT",
  summary: "SUMMARY",
  partial: "WHAT HAD COME",
};

const SECTIONS: Record<string, (logEntry: any) => string[]> = {
  HEADER: ({ at, pid, turn, step, type, prompt, task, ...otherFields }) => [
    "",
    `${"═".repeat(20)} ${titleOf(turn ? `TURN ${turn}` : "OUTSIDE OF ANY TURN", task)} ` +
      "═".repeat(60),
    "── 1 HEADER",
    ...formatFields({ time: at, ...otherFields, ...(prompt && { prompt: inWords(prompt) }), pid }),
  ],
  PROMPT: ({ layers, news, text, ...size }) => [
    heading("2 PROMPT", size, inWords(size)),
    ...layers.map((layer: any) => `  ${layerOf(layer)}`),
    ...(news ?? []).map(
      (newsUpdate: any) => `  ${layerOf({ ...newsUpdate, slot: "told since, with a message" })}`,
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
    ...formatFields(parameters),
  ],
};

function eventOf({ at, pid, turn, step, type, added, first, ...otherFields }: any): string[] {
  const { name, id, ...others } = otherFields;
  const callMark = MARKS[type];
  const callParts = callMark ? [callMark, name, `(id=${id})`] : [];
  const inlineFields = Object.entries(callMark ? others : otherFields).filter(
    ([fieldName]) => !(fieldName in BODY_LABELS),
  );
  const shownFields = inlineFields.map(
    ([fieldName, fieldValue]) => `${fieldName}=${JSON.stringify(fieldValue)}`,
  );
  const bodyLines = Object.entries(BODY_LABELS).flatMap(([fieldName, label]) =>
    otherFields[fieldName] === undefined ? [] : [`  ${label}:`, indented(otherFields[fieldName])],
  );
  return [
    ...(first ? [heading("6 EVENTS", otherFields)] : []),
    [`[${at}]`, type, ...callParts, ...(step ? [`step=${step}`] : []), ...shownFields].join(" "),
    ...bodyLines,
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
  const messageTitle = titleOf(
    `[${index}] ${role}${name ? ` ${name} (id=${id})` : ""}`,
    inWords({ chars, tokens }),
    failed && "failed",
    thinking && `thinking of ${inWords(thinking)}`,
    above && text && "as above",
  );
  return [
    `  ${messageTitle}`,
    ...(text && !above ? [indented(text)] : []),
    ...(calls ?? []).map((toolCall: any) =>
      indented(`► ${toolCall.name} (id=${toolCall.id}) ${JSON.stringify(toolCall.args)}`),
    ),
    ...(images ?? []).map(indented),
  ];
}

const titleOf = (...titleParts: (string | false | undefined)[]): string =>
  titleParts.filter(Boolean).join(" · ");

const heading = (
  sectionTitle: string,
  { task, changed }: { task?: string; changed?: true },
  titleNote?: string,
): string => `── ${titleOf(sectionTitle, task, changed && "changed", titleNote)}`;

const layerOf = ({ name, slot, owner, chars, tokens }: any): string =>
  [
    name.padEnd(20),
    [slot, owner].filter(Boolean).join(", ").padEnd(28),
    inWords({ chars, tokens }),
  ].join(" ");

function formatFields(rowFields: Record<string, unknown>): string[] {
  const shownValue = (fieldValue: unknown) =>
    typeof fieldValue === "string" ? fieldValue : JSON.stringify(fieldValue);
  return Object.entries(rowFields).map(
    ([fieldName, fieldValue]) => `  ${fieldName.padEnd(10)} ${shownValue(fieldValue)}`,
  );
}

/** Indents a text, or anything else as JSON. */
function indented(bodyValue: unknown): string {
  const bodyText = typeof bodyValue === "string" ? bodyValue : JSON.stringify(bodyValue, null, 2);
  return `    ${bodyText.replaceAll("\n", "\n    ")}`;
}

const inWords = ({ chars, tokens }: { chars: number; tokens: number }): string =>
  `${plural(chars, "character")}, about ${plural(tokens, "token")}`;
