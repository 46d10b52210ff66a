// Writes an entry as a line of JSON, or as text to read. In the text, entries begin at the left margin and everything
// that was said is indented, so that nothing from a model or a file can look like an entry.
import { plural } from "zz/text";

export type Entry = { at: string; turn: number; step: number; type: string; pid: number } & Record<string, unknown>;

export const toJson = (entry: Entry): string => `${JSON.stringify(entry)}\n`;

export function toText(entry: Entry): string {
  const lines = SECTIONS[entry.type]?.(entry) ?? eventOf(entry);
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

const SECTIONS: Record<string, (entry: any) => string[]> = {
  HEADER: ({ at, pid, turn, step, type, prompt, task, ...rest }) => [
    "",
    `${"═".repeat(20)} ${titleOf(turn, task)} ${"═".repeat(60)}`,
    "── 1 HEADER",
    ...rows({ time: at, ...rest, ...(prompt && { prompt: inWords(prompt) }), pid }),
  ],
  PROMPT: ({ layers, news, text, ...entry }) => [
    heading("2 PROMPT", entry, inWords(entry)),
    ...layers.map((layer: any) => `  ${layerOf(layer)}`),
    ...(news ?? []).map((one: any) => `  ${layerOf({ ...one, slot: "told since, with a message" })}`),
    "  TEXT",
    indented(text),
  ],
  HISTORY: ({ messages, ...entry }) => [
    heading("3 HISTORY", entry, plural(messages.length, "message")),
    ...messages.flatMap(messageOf),
  ],
  TOOLS: ({ tools, ...entry }) => [
    heading("4 TOOLS", entry, tools.length ? String(tools.length) : "none"),
    ...tools.flatMap(({ name, description, schema }: any) => [
      `  ${name}`,
      indented(`${description}\n${JSON.stringify(schema)}`),
    ]),
  ],
  PARAMETERS: ({ at, pid, turn, step, type, changed, ...rest }) => [
    heading("5 PARAMETERS", { changed, task: rest.task === "chat" ? undefined : rest.task }),
    ...rows(rest),
  ],
};

function eventOf({ at, pid, turn, step, type, added, first, ...rest }: any): string[] {
  const { name, id, ...others } = rest;
  const mark = MARKS[type];
  const about = mark ? [mark, name, `(id=${id})`] : [];
  const fields = Object.entries(mark ? others : rest).filter(([key]) => !(key in BODIES));
  const said = fields.map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  const bodies = Object.entries(BODIES).flatMap(([key, label]) =>
    rest[key] === undefined ? [] : [`  ${label}:`, indented(rest[key])],
  );
  return [
    ...(first ? [heading("6 EVENTS", rest)] : []),
    [`[${at}]`, type, ...about, ...(step ? [`step=${step}`] : []), ...said].join(" "),
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
    ...(calls ?? []).map((call: any) => indented(`► ${call.name} (id=${call.id}) ${JSON.stringify(call.args)}`)),
    ...(images ?? []).map(indented),
  ];
}

const titleOf = (turn: number, task?: string): string =>
  [turn ? `TURN ${turn}` : "OUTSIDE OF ANY TURN", ...(task ? [task] : [])].join(" · ");

function heading(title: string, { task, changed }: { task?: string; changed?: true }, more?: string): string {
  return `── ${[title, ...(task ? [task] : []), ...(changed ? ["changed"] : []), ...(more ? [more] : [])].join(" · ")}`;
}

const layerOf = ({ name, slot, owner, chars, tokens }: any): string =>
  [name.padEnd(20), [slot, owner].filter(Boolean).join(", ").padEnd(28), inWords({ chars, tokens })].join(" ");

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
