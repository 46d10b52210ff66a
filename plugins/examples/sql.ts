// query_sql and /sql: reads a SQLite file, and never writes. An example of work in a process that
// can be killed.
import fs from "node:fs";
import { pathToFileURL } from "node:url";
import type { Ctx, Zz } from "zz";

export const defaults = { rows: 200, characters: 40_000, seconds: 10 }; // limits for a query
export const settings = {
  schema: {
    type: "object",
    properties: {
      rows: { type: "integer", minimum: 1, maximum: 100_000 },
      characters: { type: "integer", minimum: 1, maximum: 1_000_000 },
      seconds: { type: "number", minimum: 0.01, maximum: 3_600 },
    },
  },
};

type Cell = null | number | bigint | string | Uint8Array; // as SQLite has it
type QueryResult = { columns: string[]; rows: (string | number | null)[][]; more: boolean };
type Job = { url: string; sql: string; params: unknown } & typeof defaults;

const TABLES = `SELECT m.name, m.type, group_concat(p.name || ' ' || p.type, ', ') AS columns
  FROM sqlite_schema m JOIN pragma_table_info(m.name) p WHERE m.name NOT LIKE 'sqlite~_%' ESCAPE '~'
  GROUP BY m.name`;

export default (zz: Zz<typeof defaults>) => {
  zz.tool({
    name: "query_sql",
    kind: "read",
    description: "Query a SQLite file, reading only. Its tables: SELECT sql FROM sqlite_schema.",
    params: {
      type: "object",
      properties: {
        file: { type: "string" },
        sql: { type: "string", description: "one SELECT, WITH, EXPLAIN or PRAGMA table_info" },
        params: { anyOf: [{ type: "array" }, { type: "object" }], description: "for ? or :name" },
      },
      required: ["file", "sql"],
    },
    needs: ({ file }) => ({ read: [file] }),
    async run({ file, sql, params = [] }, ctx) {
      checkReads(sql);
      const path = ctx.files.path(file);
      if (!fs.statSync(path, { throwIfNoEntry: false })?.isFile())
        throw new Error(`Cannot query '${file}': no such file. Check the path.`);
      const result = await ask({ url: urlOf(path), sql, params, ...zz.config }, ctx).catch(
        (error) => {
          throw new Error(
            `Cannot query '${file}': ${error.message.replace(/\.$/, "")}. Change the query.`,
          );
        },
      );
      const line = (cells: unknown[]) =>
        cells.map((cell) => String(cell ?? "NULL").replaceAll("\n", "\\n")).join(" | ");
      const end = result.more
        ? `[more rows; narrow it, or LIMIT and OFFSET]`
        : `[rows: ${result.rows.length}]`;
      return {
        text: [line(result.columns), ...result.rows.map(line), end].join("\n"),
        data: result,
      };
    },
  });

  zz.command({
    name: "sql",
    description: "the tables of a SQLite file",
    examples: { "/sql data/shop.db": "list its tables" },
    usage: "FILE",
    complete: async (_, { files }) =>
      (await files.list()).filter((name) => /\.(db|sqlite3?)$/i.test(name)),
    async run(file, { call, note }) {
      if (!file) throw new Error("Name a file: /sql FILE.");
      const { text, data, failed } = await call("query_sql", { file, sql: TABLES });
      const tables = failed
        ? []
        : (data as QueryResult).rows.map(
            ([name, type, columns]) => `${name} (${type}): ${columns}`,
          );
      note(failed ? text : tables.join("\n") || `There are no tables in '${file}'.`);
    },
  });
};

const SCHEMA_QUERY =
  /^pragma\s+(\w+\.)?(table_x?info|table_list|index_list|index_x?info|foreign_key_list)\b[^=]*$/i;

/**
 * SQLite prevents writing; this prevents the use of other files (ATTACH, VACUUM INTO) and says what
 * is allowed.
 */
function checkReads(sql: string): void {
  const withoutText = sql.replace(
    /--[^\n]*|\/\*.*?(\*\/|$)|(['"`])(?:(?!\2).|\2\2)*\2/gs,
    (text) => (/^['"`]/.test(text) ? "x" : " "),
  );
  const [first = "", ...furtherStatements] = withoutText
    .split(";")
    .map((statement) => statement.trim());
  const isRead = /^(select|values|with|explain)\b/i.test(first);
  const isSchemaQuery = SCHEMA_QUERY.test(first);
  if (!isRead && !isSchemaQuery)
    throw new Error(
      "Cannot run that: only SELECT, WITH, VALUES, EXPLAIN and PRAGMA table_info are. " +
        "Write it as one of them.",
    );
  if (furtherStatements.some(Boolean))
    throw new Error("Cannot run several statements at once. Send them one at a time.");
}

/**
 * Even a reader would create files next to a database with a write-ahead log that no program has
 * open; `immutable` prevents that.
 */
function urlOf(path: string): string {
  const head = Buffer.alloc(20);
  const fd = fs.openSync(path, "r");
  fs.readSync(fd, head);
  fs.closeSync(fd);
  const url = pathToFileURL(path);
  if (head[19] === 2 && !fs.existsSync(`${path}-wal`)) url.search = "immutable=1";
  return url.href;
}

/**
 * Runs a query in a separate process, since nothing else stops a runaway one. It gets no variables,
 * so no secrets.
 */
async function ask(
  job: Job,
  { programs, signal, io }: Pick<Ctx, "programs" | "signal" | "io">,
): Promise<QueryResult> {
  const late = io.clock.limit(Math.ceil(job.seconds * 1000));
  const processOptions = {
    signal: AbortSignal.any([signal, late]),
    killSignal: "SIGKILL",
    env: {},
  } as const;
  const output = await new Promise<string>((resolve, reject) => {
    const tooLate = new Error(`it took longer than ${job.seconds} s`);
    const args = ["--no-warnings", "-e", `(${runQuery})()`];
    const child = programs.start(process.execPath, args, {
      ...processOptions,
      stdio: ["pipe", "pipe", "ignore"],
    });
    let written = "";
    child.stdout!.setEncoding("utf8").on("data", (text) => (written += text));
    // also when it was stopped
    child.on("error", (error) => reject(late.aborted ? tooLate : error));
    child.on("close", (code) =>
      code === 0 ? resolve(written) : reject(new Error("it ended early")),
    );
    child.stdin!.on("error", () => {}).end(JSON.stringify(job));
  });
  const { why: reason, ...result } = JSON.parse(output);
  if (reason) throw new Error(reason);
  return result;
}

/** Runs in that process. It is passed as text, so it cannot refer to anything around it. */
function runQuery(): void {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const { readFileSync, writeFileSync } = process.getBuiltinModule("node:fs");
  const { url, sql, params, rows: maxRows, characters }: Job = JSON.parse(readFileSync(0, "utf8"));
  const result: QueryResult & { why?: string } = { columns: [], rows: [], more: false };
  try {
    const database = new DatabaseSync(new URL(url), { readOnly: true, timeout: 1000 });
    database.exec("PRAGMA query_only = 1; PRAGMA trusted_schema = 0");
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    result.columns = statement.columns().map(({ name }) => name);
    let room = characters;
    for (const row of statement.iterate(
      ...((Array.isArray(params) ? params : [params]) as any[]),
    )) {
      const cells = (Object.values(row) as Cell[]).map((cell) => {
        if (cell === null || typeof cell === "number") return cell;
        if (typeof cell === "bigint")
          return Number.isSafeInteger(Number(cell)) ? Number(cell) : String(cell);
        if (typeof cell !== "string") return `[${cell.length} bytes]`;
        return cell.length > 1000 ? `${cell.slice(0, 1000)}… [${cell.length} characters]` : cell;
      });
      room -= JSON.stringify(cells).length;
      result.more = result.rows.length === maxRows || room < 0;
      if (result.more) break;
      result.rows.push(cells);
    }
  } catch (error) {
    result.why = (error as Error).message;
  }
  writeFileSync(1, JSON.stringify(result));
}
