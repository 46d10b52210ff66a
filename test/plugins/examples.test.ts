// The examples in plugins/examples, each through the test kit, as their authors would test them.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, type TestContext, test } from "node:test";
import type { Zz } from "zz";
import { type Harness, harness, type Setup, type Step, standingClock } from "zz/test";
import { type Seen, type Step as Served, serve } from "../support/fake/http.ts";
import { place, zz as program, ROOT } from "../support/run.ts";

import { waitFor } from "../support/wait.ts";

const file = (name: string) => join(ROOT, "plugins", "examples", `${name}.ts`);
const having = (t: TestContext, name: string, setup: Setup = {}) =>
  harness({ ...setup, plugins: [file(name)] }, t);

test("the examples are shipped, and none of them is loaded until it is asked for", async () => {
  const names = readdirSync(join(ROOT, "plugins", "examples")).sort();
  equal(names.join(" "), "attach.ts budget.ts data.ts lint.ts notify.ts sql.ts todo.ts weather.ts");
  const { stdout } = await program(place(), ["--plugins"]);
  doesNotMatch(stdout, /^(examples|attach|budget|data|lint|notify|sql|todo|weather)\b/m);
  ok(
    JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).files.includes("plugins/examples"),
  );
  for (const name of names) {
    const text = readFileSync(join(ROOT, "plugins", "examples", name), "utf8");
    doesNotMatch(
      text,
      /^import (?!type).* from "(?!node:(fs|path|url)")/m,
      `${name} loads something heavy`,
    );
  }
});

describe("weather", () => {
  const oslo = { name: "Oslo", latitude: 59.9, longitude: 10.7, country: "Norway", admin1: "Oslo" };
  const town = (name: string, admin1: string, country: string, population = 50_000) => ({
    name,
    admin1,
    country,
    population,
    latitude: population / 1e5,
    longitude: admin1.length,
  });
  const forecast = {
    current: { time: "2026-11-21T12:00", temperature_2m: 3.4, weather_code: 61,
      wind_speed_10m: 12 },
    current_units: { temperature_2m: "°C", wind_speed_10m: "km/h" },
    daily: { time: ["2026-11-21", "2026-11-22", "2026-11-23"], weather_code: [0, 3, 95],
      temperature_2m_max: [5, 6, 7], temperature_2m_min: [1, 2, 3] },
  }; // biome-ignore format: a table
  const json = (body: unknown, status = 200): Served => ({ status, body: [JSON.stringify(body)] });

  /** A server that knows these places, and a plugin that asks it. */
  async function asking(
    t: TestContext,
    places: unknown,
    weather: Served = json(forecast),
    more: object = {},
  ) {
    const clock = standingClock();
    const script = ({ path }: Seen) =>
      path.startsWith("/search")
        ? json({ results: typeof places === "function" ? places() : places })
        : weather;
    const server = await serve(script);
    t.after(server.close);
    const urls = { geocoding: `${server.url}/search`, forecast: `${server.url}/forecast` };
    const zz = await having(t, "weather", {
      allow: { net: ["127.0.0.1"] },
      clock,
      settings: { weather: { ...urls, ...more } },
    });
    const get = async (city: string, days?: number) =>
      zz.call("get_weather", { city, ...(days && { days }) });
    return {
      zz,
      get,
      clock,
      seen: () => server.requests.map(({ path }) => new URL(path, server.url)),
    };
  }

  test("now, and the next days", async (t) => {
    const { get, seen } = await asking(t, [oslo]);
    const days = "2026-11-21: 1 to 5 °C, clear\n2026-11-22: 2 to 6 °C, overcast";
    const { text } = await get("Oslo", 2);
    equal(text, `Oslo, Norway, 2026-11-21T12:00: 3.4 °C, rain, wind 12 km/h\n${days}`);
    const [search, asked] = seen();
    equal(search!.searchParams.get("name"), "Oslo");
    deepEqual(
      [asked!.searchParams.get("latitude"), asked!.searchParams.get("longitude")],
      ["59.9", "10.7"],
    );
    equal(asked!.searchParams.get("temperature_unit"), null);
  });

  const SPRINGFIELDS = ["Illinois", "Oregon"].map((state) =>
    town("Springfield", state, "United States"),
  );
  const cities: [city: string, places: unknown, answer: RegExp][] = [
    ["Springfield", SPRINGFIELDS, /^There are several of 'Springfield': Springfield, Illinois, United States; Springfield, Oregon,/],
    ["Springfield, Oregon", SPRINGFIELDS, /^Springfield, Oregon, United States, /],
    ["Paris, ile-de-france", [town("Paris", "Texas", "United States"), town("Paris", "Île-de-France", "France")], /^Paris, Île-de-France, France/],
    ["Nowhere", [], /^Cannot find 'Nowhere'\. Check how it is spelt\.$/],
  ]; // biome-ignore format: a table
  test("a city is found by its name, its region and its country", async (t) => {
    let known: unknown;
    const { get } = await asking(t, () => known);
    for (const [city, places, answer] of cities) {
      known = places;
      match((await get(city)).text, answer, `'${city}' of ${JSON.stringify(places)}`);
    }
  });

  const faults: [what: string, served: Served, words: RegExp][] = [
    ["an error", json({ error: true, reason: "Latitude must be in range" }, 400), /^Cannot get the weather from 127\.0\.0\.1:\d+: it answered 400\. Try again later\.$/],
    ["no forecast", json({}), /127\.0\.0\.1:\d+ sent no forecast\. Try again later\.$/],
    ["nothing", { ending: "hang" }, /nothing came within 7 s\. Try again later\.$/],
  ]; // biome-ignore format: a table
  for (const [what, served, words] of faults)
    test(`a server that sends ${what} is named`, async (t) => {
      const { get, seen, clock } = await asking(t, [oslo], served, { seconds: 7 });
      const asked = get("Oslo");
      await waitFor("the question for the forecast", () => seen().length === 2);
      if (served.ending === "hang") await clock.pass(7_000);
      const { text, failed } = await asked;
      match(text, words);
      ok(failed);
    });
});

describe("sql", () => {
  const SHOP = `CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL, photo BLOB);
    CREATE VIEW cheap AS SELECT name FROM items WHERE price < 2;
    INSERT INTO items VALUES (1, 'apple', 1.5, x'010203'), (2, 'a
      "pear"; -- ripe', 2, NULL), (9007199254740993, 'fig', NULL, NULL)`;
  let opened: ReturnType<typeof open> | undefined;
  /** For tests that leave the database unchanged, as all that is asked must. */
  const shared = () => (opened ??= harness({ plugins: [file("sql")] }).then((zz) => open(zz)));
  after(async () => (await opened)?.zz.close());
  const shop = async (t: TestContext, setup: Setup = {}, before = "") =>
    open(await having(t, "sql", setup), before);
  async function open(zz: Harness, before = "") {
    const database = new DatabaseSync(join(zz.root, "shop.db"));
    database.exec(before + SHOP);
    database.close();
    const query = async (sql: string, params?: unknown) =>
      (
        await zz.call("query_sql", {
          file: "shop.db",
          sql,
          ...(params !== undefined && { params }),
        })
      ).text;
    return { zz, query };
  }

  const queries: [sql: string, answer: RegExp, params?: unknown][] = [
    ["SELECT id, name, photo FROM items WHERE id = 1", /^id \| name \| photo\n1 \| apple \| \[3 bytes\]\n\[rows: 1\]$/],
    ["SELECT name FROM items WHERE price > ? AND id < ?", /\n.*pear.*\n\[rows: 1\]/, [1.6, 5]],
    ["SELECT name FROM items WHERE name = :name", /\napple\n/, { name: "apple" }],
    ["WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 500) SELECT n FROM c", /\n200\n\[more rows; narrow it, or LIMIT and OFFSET\]$/],
    ["PRAGMA table_info(items)", /\n1 \| name \| TEXT \| 0 \| NULL \| 0\n/],
    ["SELECT printf('%.*c', 5000, 'x')", /x{1000}… \[5000 characters\]\n/],
    ["SELECT * FROM nope", /^Cannot query 'shop\.db': no such table: nope\. Change the query\.$/],
  ]; // biome-ignore format: a table
  for (const [sql, answer, params] of queries)
    test(sql, async () => {
      const { query } = await shared();
      match(await query(sql, params), answer);
    });

  const refused: [sql: string, answer: RegExp][] = [
    ["DELETE FROM items", /^Cannot run that: only SELECT, WITH, VALUES, EXPLAIN and PRAGMA table_info are/],
    ["/**/ATTACH 'other.db' AS other", /^Cannot run that/],
    ["VACUUM INTO 'copy.db'", /^Cannot run that/],
    ["PRAGMA query_only = 0", /^Cannot run that/],
    ["SELECT 1 /* ; */; ATTACH 'other.db' AS o", /^Cannot run several statements at once/],
    ["WITH x AS (SELECT 1) DELETE FROM items", /attempt to write a readonly database/],
    ["SELECT load_extension('x')", /not authorized/],
  ]; // biome-ignore format: a table
  for (const [sql, answer] of refused)
    test(`refused: ${sql}`, async () => {
      const { zz, query } = await shared();
      const before = readFileSync(join(zz.root, "shop.db"));
      match(await query(sql), answer);
      ok(before.equals(readFileSync(join(zz.root, "shop.db"))));
      deepEqual(readdirSync(zz.root), ["shop.db"]);
    });

  const RUNAWAY =
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c";
  test("a query that runs away is ended, by the limit and at Ctrl+C", async (t) => {
    const clock = standingClock();
    const { zz, query } = await shop(t, { clock, settings: { sql: { seconds: 7 } } });
    const late = query(RUNAWAY);
    await clock.waits(7_000);
    await clock.pass(7_000);
    equal(await late, "Cannot query 'shop.db': it took longer than 7 s. Change the query.");
    const running = () =>
      process.getActiveResourcesInfo().filter((one) => one === "ProcessWrap").length;
    const before = running();
    const asked = query(RUNAWAY);
    await clock.waits(7_000); // then it runs
    zz.stop();
    equal(await asked, "[interrupted]");
    await waitFor("its end", () => running() <= before);
  });

  const files: [file: string, content: string | undefined, answer: RegExp][] = [
    ["gone.db", undefined, /^Cannot query 'gone\.db': no such file\. Check the path\.$/],
    ["text.db", "This is no database, but it is long enough to be taken for one.".repeat(20), /^Cannot query 'text\.db': file is not a database\./],
    [".env", "A=1", /^Refused: the person said no to read access to "\.env"/],
  ]; // biome-ignore format: a table
  test("a file that is not there, no database, or a secret; one whose name looks like a URL is a file", async (t) => {
    const { zz } = await shop(t);
    const name = "file:shop #1?mode=rw%20.db";
    zz.write(name, readFileSync(join(zz.root, "shop.db")));
    const { text } = await zz.call("query_sql", { file: name, sql: "SELECT count(*) FROM items" });
    match(text, /\n3\n/);
    for (const [name, content, answer] of files) {
      if (content) zz.write(name, content);
      match((await zz.call("query_sql", { file: name, sql: "SELECT 1" })).text, answer);
    }
  });
});

describe("data", () => {
  let opened: Promise<Harness> | undefined;
  const shared = () => (opened ??= harness({ plugins: [file("data")] }));
  after(async () => (await opened)?.close());
  const FRUIT =
    'name,kind,price,sold\napple,pome,1.5,10\npear,pome,2,\nfig,other,4,3\n"plum, ripe",stone,0.1,7\n';
  const PEOPLE = JSON.stringify({
    total: 3,
    people: [
      { name: "Ada", home: { city: "London" } },
      { name: "Bo", home: { city: "Oslo" } },
      { name: "Cy", age: null },
    ],
  });
  const LINES =
    '{"level":"info","ms":5}\n\n{"level":"error","ms":50,"why":"no"}\r\n{"level":"info","ms":"9"}\n';
  const rows: [what: string, name: string, text: string, args: object, answer: string][] = [
    ["numbers are compared as such, not as text", "f.csv", FRUIT, { where: ["sold > 9"], select: ["name"] }, "name\napple\n[rows: 1]"],
    ["contains, in any case", "f.csv", FRUIT, { where: ["name contains PLUM"], select: ["name"] }, "name\nplum, ripe\n[rows: 1]"],
    ["sorted, what is empty last", "f.csv", FRUIT, { select: ["name", "sold"], sort: "sold desc" }, "name | sold\napple | 10\nplum, ripe | 7\nfig | 3\npear | \n[rows: 4]"],
    ["grouped and summed up", "f.csv", FRUIT, { group: ["kind"], select: ["sum price", "avg(price)", "min name", "max sold", "count sold"], sort: "sum price desc", limit: 1 }, "kind | sum price | avg price | min name | max sold | count sold\nother | 4 | 4 | fig | 3 | 1\n[rows: 1 of 3]"],
    ["what is no number is told of", "f.csv", "a\n1\nx\n2\n", { select: ["sum a"] }, "sum a\n3 (1 of 3 are not numbers)\n[rows: 1]"],
    ["a byte order mark, CRLF, quotes with commas, quotes and line ends", "q.csv", '\ufeff"a",b\r\n"1, 2","say ""hi""\r\nthere"\r\n', { where: ["a = '1, 2'"] }, 'a | b\n1, 2 | say "hi"\r\\nthere\n[rows: 1]'],
    ["short and long rows, columns without a name or twice", "o.csv", "a,,a\n1\n1,2,3,4\n", {}, "a | column 2 | a 3 | column 4\n1 |  |  | \n1 | 2 | 3 | 4\n[rows: 2]"],
    ["a column called __proto__", "p.csv", "__proto__,constructor\n1,2\n", { where: ["__proto__ = 1"] }, "__proto__ | constructor\n1 | 2\n[rows: 1]"],
    ["JSON: the list inside, a column inside a column", "p.json", PEOPLE, { select: ["name", "home.city"], where: ["home.city != ''"] }, "name | home.city\nAda | London\nBo | Oslo\n[rows: 2]"],
    ["JSON Lines, with empty ones", "l.jsonl", LINES, { group: ["level"], select: ["count", "sum ms"] }, "level | count | sum ms\ninfo | 2 | 14\nerror | 1 | 50\n[rows: 2]"],
  ]; // biome-ignore format: a table
  for (const [what, name, text, args, answer] of rows)
    test(what, async () => {
      const zz = await shared();
      zz.write(name, text);
      equal((await zz.call("query_data", { file: name, ...args })).text, answer);
    });

  const faults: [args: object, words: RegExp][] = [
    [{ where: ["cost > 1"] },
      /^There is no column in 'cost > 1'\. There are: name, kind, price, sold\.$/],
    [{ where: ["price"] },
      /^Cannot filter by 'price': after the column comes one of = != < <= > >= contains\.$/],
    [{ sort: "cost" }, /There is no column in 'cost'/],
    [{ select: ["sum"] }, /^Cannot compute 'sum': name a column, as in "sum price"\.$/],
    [{ file: "bad.jsonl" }, /^Cannot read 'bad\.jsonl' at line 2: it is not JSON/],
  ]; // biome-ignore format: a table
  for (const [args, words] of faults)
    test(`wrong: ${JSON.stringify(args)}`, async () => {
      const zz = await shared();
      zz.write("f.csv", FRUIT);
      zz.write("bad.jsonl", "{}\n{\n");
      const { text, failed } = await zz.call("query_data", { file: "f.csv", ...args });
      match(text, words);
      ok(failed);
    });
});

describe("todo", () => {
  const rows: [args: object, text: string][] = [
    [{ add: ["test\n it"] }, "1. [x] look\n2. [ ] fix\n3. [ ] test it"],
    [{ done: [2] }, "1. [x] look\n2. [x] fix"],
    [{ done: [3] }, "There is no step 3. 1. [x] look\n2. [ ] fix"],
    [{ add: [" "] }, "Cannot add an empty step. Say what is to be done."],
    [{ set: Array(51).fill("x") }, "Cannot keep 51 steps: 50 is the limit. Combine some."],
  ];
  test("steps are added and ticked off, and what is wrong changes nothing", async (t) => {
    const zz = await having(t, "todo");
    for (const [args, text] of rows) {
      await zz.call("todo", { set: ["look", "fix"], done: [1] });
      equal((await zz.call("todo", args)).text, text);
    }
  });

  test("the model is told what is open with its next message, and nothing when all is done", async (t) => {
    const zz = await having(t, "todo", {
      script: [{ call: ["todo", { set: ["look", "fix"], done: [1] }] }, "ok"],
    });
    await zz.ask("Fix it.");
    await zz.ask("Go on.");
    match(
      zz.requests.at(-1)!.messages.at(-1)!.text,
      /--- TODO ---\n1\. \[x\] look\n2\. \[ \] fix\n--- END TODO ---/,
    );
    await zz.call("todo", { done: [2] });
    await zz.ask("Thanks.");
    match(zz.requests.at(-1)!.messages.at(-1)!.text, /--- TODO ---\nNothing any more\./);
  });

  test("/todo for the person", async (t) => {
    const zz = await having(t, "todo");
    deepEqual(await zz.command("/todo"), ["The list is empty."]);
    deepEqual(await zz.command("/todo add buy milk"), ["1. [ ] buy milk"]);
    deepEqual(await zz.command("/todo done 1"), ["1. [x] buy milk"]);
    deepEqual(await zz.command("/todo clear"), ["The list is empty."]);
    for (const line of ["add", "done 1", "nonsense"])
      await rejects(zz.command(`/todo ${line}`), {
        message: `Cannot do '/todo ${line}': /todo add TEXT, /todo done NUMBER, /todo clear.`,
      });
  });
});

describe("notify", () => {
  /** A program that writes what it was told, a line each time. */
  async function notified(t: TestContext, setup: Setup & { notify?: object } = {}) {
    const { notify = {}, plugins = [], ...more } = setup;
    const log = join(mkdtempSync(join(tmpdir(), "notified-")), "log");
    t.after(() => rmSync(join(log, ".."), { recursive: true }));
    const command = ["sh", "-c", `printf '%s\\t%s\\n' "$@" >> '${log}'`, "sh", "$1", "$2"];
    const settings = { notify: { after: 0, command, ...notify } };
    const zz = await harness(
      { live: true, settings, ...more, plugins: [file("notify"), ...plugins] },
      t,
    );
    /** What came, once so many were there. Of none: what came before another program that was
     * started later had ended. */
    const told = async (count: number): Promise<string[][]> => {
      const lines = () => (existsSync(log) && readFileSync(log, "utf8").match(/.+\n/g)) || [];
      if (count) await waitFor(`${count} notes`, () => lines().length >= count);
      else await once(spawn("sh", ["-c", ":"]), "close");
      return lines().map((line) => line.slice(0, -1).split("\t"));
    };
    return { zz, told };
  }

  test("a short one is not told of", async (t) => {
    const clock = standingClock();
    const long = async () => {
      await clock.pass(1_000);
      return "Long.";
    };
    const script: Step[] = ["Short.", long];
    const { zz, told } = await notified(t, { clock, script, notify: { after: 1 } });
    for (const line of ["hi", "and now?"]) await zz.ask(line);
    deepEqual(await told(1), [["zz has answered", "Long."]]);
  });

  test("a failure, but not what the person stopped", async (t) => {
    const { zz, told } = await notified(t, {
      script: [
        () => new Promise<string>(() => setImmediate(zz.stop)),
        { fail: "The key is wrong." },
      ],
    });
    await rejects(zz.ask("hi"), /Stopped/);
    await rejects(zz.ask("hi"), /key/);
    deepEqual(await told(1), [["zz has failed", "The key is wrong."]]);
  });
  test("never in a pipe, nor when it is off", async (t) => {
    for (const setup of [{ live: false }, { notify: { by: "off" } }]) {
      const { zz, told } = await notified(t, setup);
      await zz.ask("hi");
      deepEqual(await told(0), []);
    }
  });

  const rings = (zz: Zz) =>
    zz.tool({
      name: "rings",
      description: "d",
      needs: () => ({ net: ["x.example"] }),
      run: () => "ok",
    });
  test("a question that nobody answers for a while, but not one that is answered at once, nor the time it took", async (t) => {
    let wait = 600;
    const clock = standingClock();
    const answer = async () => {
      await clock.pass(wait);
      return "y";
    };
    const setup = {
      clock,
      plugins: [rings],
      script: [{ call: ["rings"] } as Step],
      answer,
      notify: { after: 0.3 },
    };
    const { zz, told } = await notified(t, setup);
    await zz.ask("ring");
    const [[title, text] = []] = await told(1);
    equal(title, "zz is waiting for you");
    match(text!, /^rings wants to reach x\.example\. Allow\?/);
    for (wait of [299, 300]) await zz.ask("ring");
    equal((await told(2)).length, 2);
  });

  test("the text: letters that turn the line around, dollars, and too much of it", async (t) => {
    const { zz, told } = await notified(t, { script: [`a\u202eb\n$1 and $& ${"é".repeat(300)}`] });
    await zz.ask("hi");
    deepEqual(await told(1), [["zz has answered", `a b $1 and $& ${"é".repeat(185)}…`]]);
  });

  test("a command that is not there is named, and the turn goes on", async (t) => {
    const { zz } = await notified(t, { notify: { command: ["no-such-program"] } });
    const { text, notes } = await zz.ask("hi");
    equal(text, "ok");
    match(notes.join(), /Plugin 'notify' failed on 'answered': Cannot start 'no-such-program'/);
  });
});
