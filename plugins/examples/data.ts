// query_data: filters, groups and sums up CSV, JSON and JSON Lines. An example of a tool that saves
// the model a script.
import type { Zz } from "zz";

// limits: rows per answer, and characters per cell
export const defaults = { rows: 50, characters: 200 };
export const settings = {
  schema: {
    type: "object",
    properties: {
      rows: { type: "integer", minimum: 1, maximum: 100_000 },
      characters: { type: "integer", minimum: 1, maximum: 1_000_000 },
    },
  },
};

type Row = Record<string, unknown>;
type Test = (row: Row) => boolean;

export default (zz: Zz<typeof defaults>) =>
  zz.tool({
    name: "query_data",
    kind: "read",
    description:
      "Filter, sort, group and count rows of a CSV, TSV, JSON or JSON Lines file. " +
      "Without more: its first rows.",
    params: {
      file: "string",
      where: 'string[]? all hold; = != < <= > >= contains: "age >= 18"',
      select: 'string[]? columns, or "count", "sum price", avg, min, max',
      group: "string[]? columns",
      sort: 'string? "price desc, name"',
      limit: "integer?",
    },
    needs: ({ file }) => ({ read: [file] }),
    async run(
      { file, where = [], select = [], group = [], sort = "", limit = zz.config.rows },
      { files },
    ) {
      const rows = parse(file, (await files.read(file)).text.replace(/^\ufeff/, ""));
      const names = [...new Set(rows.flatMap(Object.keys))];
      const tests = where.map((text) => testOf(names, text));
      const kept = rows.filter((row) => tests.every((test) => test(row)));
      const sorted = project(names, kept, select, group, sort);
      const shown = sorted.slice(0, Math.max(0, limit));
      const heads = [...new Set(shown.flatMap(Object.keys))];
      const lines = shown.map((row) => heads.map((name) => cell(row[name])).join(" | "));
      const shownShare = shown.length === sorted.length ? "" : `${shown.length} of `;
      const count = `[rows: ${shownShare}${sorted.length}]`;
      return { text: [heads.join(" | "), ...lines, count].join("\n"), data: shown };
    },
  });

// Reading

function parse(file: string, text: string): Row[] {
  if (/\.(jsonl|ndjson)$/i.test(file))
    return text.split("\n").flatMap((line, i) => (line.trim() ? json(line, i + 1) : []));
  if (!/\.json$/i.test(file)) return table(text);
  const parsed = json(text);
  const inner = Array.isArray(parsed)
    ? parsed
    : (Object.values(Object(parsed)).find(Array.isArray) ?? [parsed]);
  return inner.map(asRow);

  function json(text: string, line?: number): any {
    try {
      return line ? asRow(JSON.parse(text)) : JSON.parse(text);
    } catch (error) {
      const where = line ? ` at line ${line}` : "";
      throw new Error(
        `Cannot read '${file}'${where}: ` +
          `it is not JSON (${(error as Error).message}). Fix the file.`,
      );
    }
  }
  function asRow(value: unknown): Row {
    return typeof value === "object" && value && !Array.isArray(value) ? (value as Row) : { value };
  }
}

/**
 * CSV with the most frequent separator of its first line: a comma, a semicolon or a tab. Quoted
 * values may contain these and line ends.
 */
function table(text: string): Row[] {
  const head = text.replace(/"[^"]*"/g, "").split(/[\r\n]/, 1)[0]!;
  const separator = [",", ";", "\t"].toSorted(
    (a, b) => head.split(b).length - head.split(a).length,
  )[0]!;
  const piece = new RegExp(
    `("[^"]*(?:""[^"]*)*"?|[^${separator}\\r\\n]*)(${separator}|\\r\\n|\\n|\\r|$)`,
    "y",
  );
  const lines: string[][] = [[]];
  while (piece.lastIndex < text.length) {
    const [, raw = "", end] = piece.exec(text)!;
    lines.at(-1)!.push(raw.startsWith('"') ? raw.replace(/^"|"$/g, "").replaceAll('""', '"') : raw);
    if (end !== separator) lines.push([]);
  }
  const [names = [], ...cells] = lines.filter((line) => line.some(Boolean));
  const nameAt = (i: number) => {
    const name = names[i]?.trim() || `column ${i + 1}`;
    return names.slice(0, i).some((earlier) => earlier.trim() === name) ? `${name} ${i + 1}` : name;
  };
  const width = cells.reduce((widest, line) => Math.max(widest, line.length), names.length);
  const heads = Array.from({ length: width }, (_, i) => nameAt(i));
  return cells.map((line) => Object.fromEntries(line.map((value, i) => [heads[i]!, value])));
}

// Filtering

/** The column that a text begins with; in JSON, dots lead to nested ones. */
function columnIn(names: string[], text: string): { name: string; remainder: string } {
  const begins = (name: string) => text.toLowerCase().startsWith(name.toLowerCase());
  const ends = (name: string) => /^(\W|$)/.test(text.slice(name.length));
  const name = names
    .filter((name) => begins(name) && ends(name))
    .sort((a, b) => b.length - a.length)[0];
  if (name === undefined)
    throw new Error(
      `There is no column in '${text}'. There are: ${names.slice(0, 50).join(", ")}.`,
    );
  const deeper = /^(\.[\w-]+)*/.exec(text.slice(name.length))![0];
  return { name: name + deeper, remainder: text.slice(name.length + deeper.length).trim() };
}

function valueIn(row: Row, name: string): unknown {
  if (Object.hasOwn(row, name)) return row[name];
  const inside = (value: any, key: string) =>
    value && Object.hasOwn(Object(value), key) ? value[key] : undefined;
  return name.split(".").reduce<unknown>(inside, row);
}

const TESTS: Record<string, (value: unknown, operand: string) => boolean> = {
  "=": (value, operand) => (isEmpty(value) ? operand === "" : compare(value, operand) === 0),
  "!=": (value, operand) => !TESTS["="]!(value, operand),
  "<": (value, operand) => !isEmpty(value) && compare(value, operand) < 0,
  "<=": (value, operand) => !isEmpty(value) && compare(value, operand) <= 0,
  ">": (value, operand) => !isEmpty(value) && compare(value, operand) > 0,
  ">=": (value, operand) => !isEmpty(value) && compare(value, operand) >= 0,
  contains: (value, operand) =>
    cell(value, Number.POSITIVE_INFINITY).toLowerCase().includes(operand.toLowerCase()),
};

function testOf(names: string[], text: string): Test {
  const { name, remainder } = columnIn(names, text.trim());
  const [, sign = "", operand = ""] =
    /^(<=|>=|!=|==?|<|>|contains\b)\s*(.*)$/is.exec(remainder) ?? [];
  const test = TESTS[sign.toLowerCase().replace("==", "=")];
  if (!test)
    throw new Error(
      `Cannot filter by '${text}': after the column comes one of ${Object.keys(TESTS).join(" ")}.`,
    );
  const plain = operand.replace(/^(["'])(.*)\1$/s, "$2");
  return (row) => test(valueIn(row, name), plain);
}

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === "";

/** Compares two values as numbers if both are numbers, otherwise as texts. */
function compare(a: unknown, b: unknown): number {
  const [first, second] = [numberOf(a), numberOf(b)];
  if (!Number.isNaN(first) && !Number.isNaN(second)) return first - second;
  const [firstText, right] = [cell(a, Number.POSITIVE_INFINITY), cell(b, Number.POSITIVE_INFINITY)];
  if (firstText < right) return -1;
  if (firstText > right) return 1;
  return 0;
}

/** Reads 1,5 as a number too, but not 1,500, which is ambiguous. */
function numberOf(value: unknown): number {
  if (typeof value !== "string") return typeof value === "number" ? value : Number.NaN;
  const text = value.trim().replace(/^(-?\d+),(\d\d?)$/, "$1.$2");
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}

// Making rows

type Sum = { label: string; of(rows: Row[]): unknown };

/** The requested columns, sorted; with a group, or if something is summed up, a row per group. */
function project(
  names: string[],
  rows: Row[],
  select: string[],
  group: string[],
  sort: string,
): Row[] {
  const parts = select.map(
    (text) => sumOf(names, text, group.length > 0) ?? columnIn(names, text).name,
  );
  const sums = parts.filter((part) => typeof part !== "string");
  const columns = parts.filter((part) => typeof part === "string");
  if (!sums.length && !group.length) {
    const sorted = sortRows(rows, sort, names);
    if (!columns.length) return sorted;
    return sorted.map((row) =>
      Object.fromEntries(columns.map((name) => [name, valueIn(row, name)])),
    );
  }
  const by = [...new Set([...group.map((text) => columnIn(names, text).name), ...columns])];
  const groups = Map.groupBy(rows, (row) =>
    JSON.stringify(by.map((name) => valueIn(row, name) ?? null)),
  );
  if (!by.length && !rows.length) groups.set("[]", []);
  const counted = sums.length ? sums : [sumOf([], "count", true)!];
  const grouped = [...groups].map(([key, groupRows]) => {
    const values: unknown[] = JSON.parse(key);
    const keyValues = by.map((name, i) => [name, values[i]] as const);
    return Object.fromEntries([
      ...keyValues,
      ...counted.map(({ label, of }) => [label, of(groupRows)] as const),
    ]);
  });
  return sortRows(grouped, sort, [...by, ...counted.map(({ label }) => label)]);
}

/**
 * "count", "sum price" or "sum(price)"; without a group, a column of that name takes precedence.
 */
function sumOf(names: string[], text: string, grouped: boolean): Sum | undefined {
  const [, verb = "", of = ""] =
    /^(count|sum|avg|min|max)\b[\s(]*(.*?)\)?$/i.exec(text.trim()) ?? [];
  const aggregate = verb.toLowerCase();
  if (!aggregate || (names.includes(text.trim()) && !(grouped && aggregate === "count")))
    return undefined;
  const name = of && of !== "*" ? columnIn(names, of).name : "";
  if (!name && aggregate !== "count")
    throw new Error(`Cannot compute '${aggregate}': name a column, as in "${aggregate} price".`);
  return { label: name ? `${aggregate} ${name}` : aggregate, of: count };

  function count(rows: Row[]): unknown {
    const values = name
      ? rows.map((row) => valueIn(row, name)).filter((value) => !isEmpty(value))
      : rows;
    if (aggregate === "count") return values.length;
    if (aggregate === "min" || aggregate === "max")
      return values.toSorted(compare).at(aggregate === "min" ? 0 : -1) ?? null;
    const numbers = values.map(numberOf).filter((number) => !Number.isNaN(number));
    const sum = numbers.reduce((sum, number) => sum + number, 0);
    const invalid = values.length - numbers.length;
    const average = numbers.length ? sum / numbers.length : null;
    const result = aggregate === "sum" ? sum : average;
    // hides the error of 0.1 + 0.2
    const rounded = result === null ? null : Number(result.toPrecision(12));
    return invalid ? `${rounded} (${invalid} of ${values.length} are not numbers)` : rounded;
  }
}

/** Empty values come last in both directions. */
function sortRows(rows: Row[], sort: string, names: string[]): Row[] {
  const keys = sort.split(",").flatMap((text) => {
    if (!text.trim()) return [];
    const { name, remainder } = columnIn(names, text.trim());
    return { name, direction: /^desc/i.test(remainder) ? -1 : 1 };
  });
  return rows.toSorted((a, b) => {
    for (const { name, direction } of keys) {
      const [first, second] = [valueIn(a, name), valueIn(b, name)];
      const order =
        Number(isEmpty(first)) - Number(isEmpty(second)) || direction * compare(first, second);
      if (order) return order;
    }
    return 0;
  });
}

function cell(value: unknown, maxChars = defaults.characters): string {
  const written = typeof value === "object" ? JSON.stringify(value) : String(value);
  const text = isEmpty(value) ? "" : written;
  return (text.length > maxChars ? `${text.slice(0, maxChars)}…` : text).replaceAll("\n", "\\n");
}
