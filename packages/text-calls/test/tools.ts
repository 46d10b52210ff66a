// The tools that the tests of calls in text offer, and how such a text is read.
import type { Reply } from "../../../kernel/contract.ts";
import { rescue } from "../rescue.ts";

const object = (properties: object, ...required: string[]) => ({
  type: "object",
  properties,
  required,
});
const [string, integer, boolean, number] = ["string", "integer", "boolean", "number"].map(
  (type) => ({ type }),
);
const strings = { type: "array", items: string };
const tool = (name: string, schema: Record<string, unknown>) => ({
  name,
  description: `The ${name}.`,
  schema,
});

export const TOOLS = [
  tool("tide", object({ port: string, day: integer }, "port")),
  tool("move", object({ id: string, dx: integer, dy: integer, fast: boolean }, "id")),
  tool("log", object({ text: string }, "text")),
  tool("lamp_dim", object({ level: integer, rooms: strings }, "level")),
  tool("kiln", object({})),
  tool(
    "note",
    object({ title: string, body: { type: "object" }, tags: strings, weight: number }, "title"),
  ),
];

type How = { worded?: boolean; tools?: typeof TOOLS };
export const readReply = (
  given: Partial<Reply>,
  { worded = false, tools = TOOLS }: How = {},
): Promise<Reply> =>
  rescue(
    { text: "", thinking: "", calls: [], finish: "stop", ...given },
    { tools, options: {}, worded },
  );

/** `name {args}` of each call; what is broken says so. */
export const shown = ({ calls }: Reply): string[] =>
  calls.map(({ name, args, broken }) => `${name} ${broken ? "broken" : JSON.stringify(args)}`);
