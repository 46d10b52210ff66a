// Other languages: what is read of a file of each, where their imports lead, and what bad input
// does.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import "../../../test/support/lean.ts";
import { some } from "../../../test/support/runs.ts";
import { usesOf } from "../../../test/support/symbols.ts";
import { warm } from "../../../test/support/warm.ts";
import { openImportFinder } from "../languages/find-imports.ts";
import { grammarOf, MAX_PARSE_S, prepare } from "../languages/grammar.ts";
import { namePositions } from "../languages/name-positions.ts";
import { scanLanguage } from "../languages/scan.ts";
import { LANGUAGES, languageOf } from "../languages/table.ts";
import { cycles, graphOf, openResolver } from "../resolve.ts";
import { pack, unpack } from "../rows.ts";
import type { Facts } from "../scan/facts.ts";
import { SAMPLES } from "./languages/samples.ts";

await prepare(LANGUAGES.map(({ ends }) => `a.${ends.split(" ")[0]}`));

/**
 * Of each sample, a row for each definition with its members, what it imports, and what is counted,
 * with TODO comments.
 */
const EXPECTED: Record<string, string> = {
  "shop/cart.py": `
    9 variable _cache private
    11-27 class Cart, 12 property currency, 13-14 method __init__, 16-20 method total, 21-27 method _save private,
      25-26 function _save.encode local
    28-32 function price_of
    imports 4 json; 5 os.path {* as osp}; 6 collections {defaultdict, OrderedDict as Ordered}; 7 . {prices}; 8
      .models.item {Item}
    30 lines, 4 branches, nesting 3; 17 TODO: discounts`,
  "server/main.go": `
    8 const MaxConns
    9 const stateIdle
    10 variable defaultName
    10 variable other
    11-13 interface Handler, 12 method Serve
    14-17 class Server, 15 property Addr, 16 property mu
    18 type ID
    19 class Pair
    20 function New
    22-31 method Server.Start
    32 method Pair.first
    imports 4 net/http; 5 github.com/sirupsen/logrus {* as log}; 6 example.com/shop/internal/store
    29 lines, 4 branches, nesting 3; 23 FIXME: the backlog`,
  "src/lib.rs": `
    5 const LIMIT
    6 variable COUNTER
    8-10 class Point, 9 property x
    11-13 enum Shape, 12 member Square
    14-20 interface Area, 15 property UNIT, 16 method area, 17-19 method double
    22-25 method Point.new
    28-33 method Shape.area
    35 type Pair
    36-38 function square
    39-43 function load, 41 function inner local
    45-49 namespace tests, 48 function squares
    imports 2 std::collections {HashMap}; 3 crate::store {self, Row}; 3 crate::store::inner {Page as P, *}; 4
      self::store; 46 super {*}
    47 lines, 4 branches, nesting 2; 23 HACK: no check`,
  "src/main/java/com/example/shop/Cart.java": `
    6-21 class Cart, 7 property MAX, 8 property items private, 9 method Cart, 11-17 method total, 18 method first
      private, 19 enum State, 19 member State.OPEN, 19 member State.PAID, 20 interface Listener, 20 method
      Listener.changed
    22 class Line, 22 property item, 22 property count
    23 interface Audited, 23 method value
    imports 2 java.util.List; 3 java.util.stream.Collectors.toList; 4 com.example.shop.prices {*}
    22 lines, 3 branches, nesting 3; 12 TODO: discounts`,
  "src/list.c": `
    3 const LIST_MAX
    4 function EACH
    5-8 type node, 6 property value, 7 property next
    9 class list, 9 property head
    10 enum color, 10 member RED, 10 member GREEN
    11 type compare_fn
    12 variable counter
    15-21 function list_new
    22-26 function list_len
    imports 1 <stdio.h>; 2 list.h
    23 lines, 2 branches, nesting 2; 17 TODO: an arena`,
  "src/engine.cpp": `
    3-28 namespace game
    4 type Clock
    5-11 class Unit, 7 method Unit, 8 method ~Unit, 9 method health, 10 method move
    13-19 class Grid, 14 property cells, 15-18 method at
    20 enum Side, 20 member Left, 20 member Right
    21-25 method Unit.move
    27 function clamp
    imports 1 engine.hpp; 2 <vector>
    27 lines, 4 branches, nesting 3; 16 FIXME: bounds`,
  "Shop/Cart.cs": `
    3-24 namespace Shop.Orders
    6-20 class Cart, 8 property items private, 9 property Owner, 10 property Changed, 11 method Cart, 13-18 method
      TotalAsync, 19 enum State, 19 member State.Open, 19 member State.Paid
    21 interface IPriced, 21 property Price
    22 class Line, 22 property Count
    23 type Handler
    imports 1 System; 2 Shop.Prices.Price {Price as Price}
    23 lines, 3 branches, nesting 3; 12 TODO: discounts`,
  "lib/shop/cart.rb": `
    4-17 namespace Shop, 5-16 class Cart, 6 property Cart.items, 6 property Cart.owner, 8-12 method Cart.total, 13
      method Cart.open, 15 method Cart.secret?
    18 function helper
    imports 2 json; 3 ./prices/rule
    15 lines, 3 branches, nesting 1; 9 TODO: discounts`,
  "src/Cart.php": `
    2 namespace App\\Shop
    6 const LIMIT
    8-23 class Cart, 11 property MAX, 12 property items private, 13 method __construct, 14-21 method total, 22 method
      first private
    24 interface Priced, 24 method price
    25 class Loggable, 25 method log protected
    26 enum State, 26 member Open, 26 member Paid
    27 function helper
    imports 3 App\\Models\\Item; 3 App\\Models\\Person {Person as Someone}; 4 Psr\\Log\\LoggerInterface; 5
      /helpers.php
    26 lines, 3 branches, nesting 3; 16 TODO: discounts`,
  "app/Cart.kt": `
    5-18 class Cart, 5 property owner, 5 property items private, 6 property size, 7-13 method total, 14 method save
      private, 16 method open
    19 interface Priced, 19 method price
    20 class State, 20 class Open
    21 enum Side, 21 member LEFT, 21 member RIGHT
    22 type Carts
    23 method Cart.describe
    24 function helper
    imports 2 com.example.model.Item; 3 com.example.prices.priceOf {priceOf as cost}
    23 lines, 3 branches, nesting 3; 8 TODO: discounts`,
  "Sources/Shop/Cart.swift": `
    4-16 class Cart, 5 property owner, 6 property items private, 7 method init, 8-14 method total, 15 method first
      private
    17-20 interface Priced, 18 property price, 19 method pay
    21 enum State, 21 member open, 21 member paid
    22 method Cart.describe
    23 type Carts
    24 function helper
    imports 1 Foundation; 2 Models
    23 lines, 3 branches, nesting 3; 9 TODO: discounts`,
  "bin/deploy.sh": `
    4 variable TARGET
    5-11 function build
    12-14 function deploy
    imports 2 ./lib/common.sh; 3 ./env.sh
    12 lines, 3 branches, nesting 2; 7 TODO: cache`,
  "lua/cart.lua": `
    1 variable json
    2 variable prices
    3 variable M, 4-7 method new, 8-16 method total, 17 method close
    18 function global_one
    imports 1 cjson; 2 shop.prices
    18 lines, 3 branches, nesting 3; 9 TODO: discounts`,
  "db/schema.sql": `
    1 namespace shop
    3-8 class carts, 4 property id, 5 property owner, 6 property made at
    9-10 class open_carts
    11-16 function total
    17 type mood
    16 lines, 0 branches, nesting 0; 5 TODO: a foreign key`,
  "web/site.css": `
    4 variable --accent
    6-9 class button
    6-9 class button--large
    6-9 class icon
    10 class main
    10 class card
    12 function spin
    imports 1 base.css; 2 theme/dark.css
    12 lines, 0 branches, nesting 0; 4 TODO: a better red`,
  "web/index.html": `
    5 key main
    5 key search
    7-9 function start
    imports 2 ./site.css; 3 ./main.js
    10 lines, 1 branches, nesting 2; 4 TODO: an icon`,
  "web/CartView.vue": `
    1-16 class CartView
    6 const props
    7 const items
    8-10 function total
    imports 2 vue {ref}; 3 ./ItemRow.vue {default as ItemRow}; 4 ./prices {priceOf}
    15 lines, 1 branches, nesting 1; 5 TODO: discounts; 13 FIXME: a list`,
  "web/Cart.svelte": `
    1-12 class Cart
    2 const prerender
    6 variable owner
    7 function total
    imports 5 ./Row.svelte {default as Row}
    11 lines, 0 branches, nesting 1; 9 TODO: a list`,
};

const outline = ({ symbols }: Facts): string[] => {
  const rows: string[] = [];
  let head = "";
  for (const { line, end, kind, owner, name, local, visibility } of symbols) {
    const path = owner ? `${owner}.${name}` : name;
    const isMember = head && `${owner}.`.startsWith(`${head}.`);
    const place = line === end ? line : `${line}-${end}`;
    const said = [
      place,
      kind,
      isMember ? path.slice(head.length + 1) : path,
      local && "local",
      visibility,
    ];
    rows.push([...(isMember ? [`${rows.pop()},`] : []), ...said.filter(Boolean)].join(" "));
    if (!isMember) head = path;
  }
  return rows;
};

test("A sample is read in every language of the table", () => {
  deepEqual(Object.keys(SAMPLES), Object.keys(EXPECTED));
  deepEqual(new Set(Object.keys(SAMPLES).map((file) => languageOf(file))), new Set(LANGUAGES));
});

for (const [file, expected] of Object.entries(EXPECTED))
  test(`${file}: definitions, imports, TODO comments, lines and branches`, () => {
    const facts = scanLanguage(file, SAMPLES[file]!);
    const { imports, todos, loc, decisions, nesting } = facts;
    const braced = (names: string[]) => (names.length ? ` {${names.join(", ")}}` : "");
    const taken = imports.map(({ line, from, names }) => `${line} ${from}${braced(names)}`);
    const counted = `${loc} lines, ${decisions} branches, nesting ${nesting}`;
    const rest = [counted, ...todos.map(({ line, text }) => `${line} ${text}`)].join("; ");
    const rows = [
      ...outline(facts),
      ...(taken.length ? [`imports ${taken.join("; ")}`] : []),
      rest,
    ];
    const told = expected.replace(/\n {6}/g, " ").trim();
    deepEqual(rows, told.split(/\n +/));
    equal(facts.unread, undefined);
  });

test("What stands in one line of Kotlin is no syntax error", () => {
  for (const text of [
    "class A { fun f() { if (a) { b() } else { c() } } }",
    "class A { var x: Int get() { return 1 } private set }",
    "class A { fun f() = '\"' }",
    'class A { fun f() = """a "b" c""" }',
    "enum class A { B { fun f() { } }, C { fun g() { } }; fun h() { } }",
  ])
    equal(scanLanguage("a.kt", `${text}\nfun last() = 1\n`).parseError, undefined, text);
});

for (const [file, name, signature, doc, text] of [
  ["shop/cart.py", "_save", "async def _save(self, path: str) -> None", undefined],
  [
    "server/main.go",
    "Start",
    "func (s *Server) Start(ctx context.Context) error",
    "Start listens.",
  ],
  ["src/list.c", "list_new", "struct list *list_new(void)", "Makes one."],
  ["lib/shop/cart.rb", "total", "def total", "The sum of all prices."],
  ["db/schema.sql", "total", "CREATE FUNCTION total(cart_id int) RETURNS int", undefined],
  ["a.py", "a", 'a = ("q",)', undefined, 'a = ("q",)'],
  [
    "a.rs",
    "f",
    "fn f<'a>(x: &'a str, y: T) -> &'a str",
    undefined,
    "fn f<'a>(x: &'a str, y: T) -> &'a str { x }",
  ],
] as [file: string, name: string, signature: string, doc?: string, text?: string][])
  test(`${file}: ${name} is shown as "${signature}"`, () => {
    const found = scanLanguage(file, text ?? SAMPLES[file]!).symbols.find(
      (sym) => sym.name === name,
    )!;
    deepEqual([found.signature, found.doc], [signature, doc]);
  });

for (const [file, text, expected] of [
  [
    "a.go",
    "package m\nconst X, Y = 1, 2\nconst (\n\tA, B = iota, 2\n\tC, D\n)\nvar p, q int",
    "X Y A B C D p q",
  ],
  [
    "a.py",
    "a, b = 1, 2\n(c, (d, *e)) = f()\n[g] = h()\nx = y = z = 5\no.p, q[0], r = 3",
    "a b c d e g x y z r",
  ],
  [
    "a.lua",
    "GLOBAL = 3\nP, Q = 1, function() end\nlocal z\nM.x = 4\nGLOBAL = 4\nz = 5",
    "GLOBAL P Q z M.x",
  ],
  [
    "a.lua",
    "g = function() end\nlocal f = function() end\nlocal t = { k = function() end }",
    "g() f() t k()",
  ],
  [
    "a.rb",
    'class A\n  define_method(:dm) { |x| x }\n  define_method "ds" do 3 end\nend',
    "A A.dm() A.ds()",
  ],
  [
    "O.java",
    'enum O { P("+") { int f() {} }, @D T("*"), L; int s; O(int s) {} }',
    "O O.P O.P.f() O.T O.L O.s O.O()",
  ],
  [
    "O.kt",
    'enum class O(val s: T) {\n  P("+") {\n fun f() = a\n},\n  M;\n  fun f()\n}',
    "O O.s O.P O.P.f() O.M O.f()",
  ],
  [
    "a.swift",
    'enum O { case p = "+", m\nindirect case s(O, of: O)\nenum I { case x } }',
    "O O.p O.m O.s O.I O.I.x",
  ],
  [
    "a.swift",
    "let (a, b) = f()\nlet c = 1, d = 2\nvar (x: e, y: g) = h()\nmacro m() = 1",
    "a b c d e g m()",
  ],
  [
    "a.rs",
    "lazy_static! {\n  static ref C: T;\n  pub static ref D: T;\n}\nthread_local! { static E: T; }",
    "C D E",
  ],
  [
    "a.php",
    "<?php function q() { $l = 3; }\nconst X = 1, Y = 2;\nclass K { public $m, $n; }",
    "q() X Y K K.m K.n",
  ],
  [
    "a.c",
    "int a, *b, c[3], (*d)(void);\nint f(int), g(void);\nstruct S { int e, *h; };",
    "a b c d f() g() S S.e S.h",
  ],
  [
    "a.cpp",
    "auto [x, y] = f;\nclass K { T f() };\nnamespace n = a;\nT operator==() {}",
    "x y K K.f() n operator==()",
  ],
  [
    "A.cs",
    "class A { T a, b; event E c, d; const T X, Y = 2; record R(T S); }",
    "A A.a A.b A.c A.d A.X A.Y A.R A.R.S",
  ],
  [
    "A.java",
    "class A { int a, b = 1; static int X, Y[] = {}; record R(T t) {} }",
    "A A.a A.b A.X A.Y A.R A.R.t",
  ],
  ["a.sh", "declare -r X=1 Y=2\ndeclare -A m\na=1 b=2\nf() { declare l; }", "X Y m a b f()"],
  [
    "a.sql",
    "CREATE TABLE t (a INT)\nGO\nCREATE PROC d.p @i INT AS SELECT\r\ngo\r\nCREATE VIEW v AS 1",
    "t t.a p() v",
  ],
  [
    "a.sql",
    "DELIMITER //\nCREATE PROCEDURE p()\nBEGIN\n CREATE TABLE x;END //\nDELIMITER ;\nCREATE VIEW v;",
    "p() v",
  ],
  [
    "a.sql",
    "CREATE INDEX ON t (a);\nCREATE INDEX CONCURRENTLY ON t (a);\nCREATE INDEX IF NOT EXISTS i ON t (a);",
    "i",
  ],
  [
    "a.php",
    '<?php list($a, $b) = f();\n[$c, [$d]] = f();\ndefine("Z", 3);\n$e = 1;\n$e = 2;$o->p = 3',
    "a b c d Z e",
  ],
  ["a.css", 'a[href=".fake"]:not(.x) {}\na[href="#not"] .y, #z {}\n.p /* .q */ {}', "x y z p"],
] as const)
  test(`${file}: every name that is defined is found: ${text}`, () => {
    const { symbols } = scanLanguage(file, text);
    const sign = (kind: string) => (/^(?:function|method)$/.test(kind) ? "()" : "");
    const shown = symbols.map(
      ({ owner, name, kind }) => (owner ? `${owner}.` : "") + name + sign(kind),
    );
    equal(shown.join(" "), expected);
  });

for (const [file, text, expected] of [
  ["a.py", '# hail\nhail("hail", f"{hail} hail", "half hail")', { hail: 2 }],
  ["a.go", "package a // hail\nvar x = hail(`hail`)", { package: 1, a: 1, var: 1, x: 1, hail: 1 }],
  ["a.sh", 'echo "hail $hail $(hail)" # hail', { echo: 1, hail: 2 }],
  [
    "a.vue",
    '<template><hail-box :size="hail" title="no" />{{ hail }}</template>',
    { HailBox: 1, hail: 2 },
  ],
  [
    "a.html",
    '<p id=b class="btn x-y" title="no" onclick="go">btn<a href=#t>',
    { b: 1, btn: 1, "x-y": 1, go: 1, t: 1 },
  ],
  [
    "a.vue",
    `<template><p class="btn" :class="['is-on', on]" /></template>`,
    { btn: 1, is: 1, on: 2, "is-on": 1 },
  ],
] as const)
  test(`${file}: a use is in code, also within a string, not in text: ${text}`, () =>
    deepEqual(usesOf(scanLanguage(file, text)), expected));

test("what other files may use is told by the language's own rules", () => {
  const hidden = (file: string) =>
    scanLanguage(file, SAMPLES[file]!).symbols.flatMap((sym) => (sym.exported ? [] : [sym.name]));
  deepEqual(hidden("shop/cart.py"), ["_cache", "_save", "encode"]);
  deepEqual(hidden("server/main.go"), ["stateIdle", "defaultName", "other", "mu", "first"]);
  deepEqual(hidden("src/list.c"), ["counter", "list_len"]);
  deepEqual(hidden("Shop/Cart.cs"), ["items"]);
  deepEqual(hidden("lua/cart.lua"), ["json", "prices", "M"]);
});

const FILES = [
  "shop/__init__.py shop/cart.py shop/prices.py shop/models/__init__.py shop/models/item.py src/pkg/mod.py tests/test_cart.py",
  "go.mod main.go internal/store/open.go internal/store/open_test.go internal/store/close.go tools/go.mod tools/x/x.go",
  "crate/src/lib.rs crate/src/store.rs crate/src/store/inner.rs crate/src/net/mod.rs other-crate/src/lib.rs",
  "crate/Cargo.toml crate/src/main.rs crate/src/bin/tool.rs crate/tests/it.rs crate/tests/common/mod.rs",
  "engines/fast/Cargo.toml engines/fast/code/root.rs engines/fast/code/part.rs",
  "src/main/java/shop/Cart.java src/main/java/fees/A.java src/main/java/fees/B.java",
  "src/main/kotlin/shop/Shop.kt app/Models/Item.php app/helpers.php include/engine/unit.h src/engine.cpp src/engine.h",
  "lib/shop/cart.rb lib/shop/prices/rule.rb lua/shop/prices.lua lua/cart.lua bin/env.sh bin/deploy.sh web/site.css web/base.css",
  "Shop/Prices/Price.cs Shop/Cart.cs Sources/Models/Item.swift Sources/Shop/Cart.swift",
]
  .join(" ")
  .split(" ");
const MODULES: Record<string, string> = {
  "go.mod": "module example.com/shop\n\ngo 1.22\n",
  "crate/Cargo.toml":
    '[package]\nname = "my-shop" # its name\nversion = "0.1.0"\n\n[dependencies]\nserde = "1"\n',
  "engines/fast/Cargo.toml":
    "[package]\nname = 'fast'\n[lib]\nname = 'engine'\npath = 'code/root.rs'\n",
  "tools/go.mod": 'module "example.com/shop/tools"\n',
};

for (const [file, text, expected] of [
  ["shop/cart.py", "from . import prices", "shop/prices.py"],
  ["shop/models/item.py", "from .. import cart, nothing", "shop/cart.py shop/__init__.py"],
  ["tests/test_cart.py", "import shop.cart as c", "shop/cart.py"],
  ["tests/test_cart.py", "from pkg import mod", "src/pkg/mod.py"],
  [
    "main.go",
    'package a\nimport "example.com/shop/internal/store"',
    "internal/store/open.go internal/store/close.go",
  ],
  ["main.go", 'package a\nimport "example.com/shop/tools/x"', "tools/x/x.go"],
  ["crate/src/lib.rs", "mod store;", "crate/src/store.rs"],
  ["crate/src/lib.rs", "use std::fmt;", "builtin"],
  [
    "crate/src/store.rs",
    "mod a { mod b { use super::super::super::net; } }",
    "crate/src/net/mod.rs",
  ],
  ["crate/src/store.rs", "use crate::Shape::{Circle, Square};", "crate/src/lib.rs"],
  ["crate/src/store.rs", "mod deep { mod inner; }", "missing"],
  ["crate/src/lib.rs", "mod store { mod inner; }", "crate/src/store/inner.rs"],
  ["crate/src/main.rs", "use my_shop::store::Row;", "crate/src/store.rs"],
  ["crate/tests/it.rs", "use crate::common::setup;", "crate/tests/common/mod.rs"],
  ["crate/src/lib.rs", "use engine::Thing;", "engines/fast/code/root.rs"],
  [
    "src/main/java/shop/Cart.java",
    "import fees.*;",
    "src/main/java/fees/A.java src/main/java/fees/B.java",
  ],
  ["src/main/kotlin/shop/Shop.kt", "import shop.Cart", "src/main/java/shop/Cart.java"],
  ["app/helpers.php", "<?php use App\\Models\\Item;", "app/Models/Item.php"],
  ["app/Models/Item.php", "<?php require __DIR__ . '/../helpers.php';", "app/helpers.php"],
  ["src/engine.cpp", '#include "engine.h"', "src/engine.h"],
  ["src/engine.cpp", "#include <engine/unit.h>", "include/engine/unit.h"],
  ["lib/shop/prices/rule.rb", 'require "shop/cart"', "lib/shop/cart.rb"],
  ["lib/shop/cart.rb", 'require_relative "prices/rule"', "lib/shop/prices/rule.rb"],
  ["lua/cart.lua", 'local p = require("shop.prices")', "lua/shop/prices.lua"],
  ["bin/deploy.sh", 'source "$(dirname "$0")/env.sh"', "bin/env.sh"],
  ["web/site.css", '@import url("base.css");', "web/base.css"],
  ["Shop/Cart.cs", "using Shop.Prices;", "Shop/Prices/Price.cs"],
  ["Sources/Shop/Cart.swift", "import Models", "Sources/Models/Item.swift"],
] as const)
  test(`${file}: "${text.split("\n").at(-1)}" leads to ${expected}`, () => {
    const leads = openImportFinder(FILES, (name) => MODULES[name]);
    const [one] = scanLanguage(file, text).imports;
    const found = leads(file, one!);
    const names: Record<string, string> = { "": "external", "node:": "builtin" };
    equal(names[found[0] ?? "?"] ?? (found.join(" ") || "missing"), expected);
  });

test("a file that takes its own names in a module of tests is in no circle, and is not its own importer", async () => {
  const files = {
    "src/lib.rs": "mod a;\nmod tests { use super::*; }",
    "src/a.rs": "mod tests { use super::A; }",
  };
  const resolver = openResolver("/", ["Cargo.toml", ...Object.keys(files)]);
  const read = Object.entries(files).map(
    ([name, text]) => [name, scanLanguage(name, text)] as const,
  );
  const packed = read.map(([name, facts]) => [name, unpack(pack(facts, Buffer.alloc(0)))] as const);
  const graph = await graphOf(packed, resolver);
  deepEqual(cycles(graph), []);
  deepEqual(graph.dependents, new Map([["src/a.rs", ["src/lib.rs"]]]));
});

test("TODO comments in the body of a SQL function are found, between whatever dollar signs", () => {
  const text =
    "CREATE FUNCTION f() AS $b$\nBEGIN\n  -- TODO one; it's\n  x := 'TODO no';\n/* FIXME two */\nEND;\n$b$;\n-- HACK three";
  const { todos } = scanLanguage("a.sql", text);
  equal(
    todos.map(({ line, text }) => `${line} ${text}`).join(),
    "3 TODO one; it's,5 FIXME two,8 HACK three",
  );
  const noise =
    Array.from({ length: 20_000 }, (_, at) => `$a${at}$`).join(" ") + " ".repeat(100_000);
  ok(Array.isArray(scanLanguage("a.sql", `GO${noise}x`).symbols));
});

test("SQL is read right behind a comment with signs of two halves", () => {
  const { symbols } = scanLanguage("a.sql", "-- 🎉🎉\nCREATE TABLE users (id int);\n");
  deepEqual(
    symbols.map(({ name, doc }) => [name, doc]),
    [
      ["users", "🎉🎉"],
      ["id", undefined],
    ],
  );
});

test("a class or an id stands where a page uses it, not in its text, nor in a longer name", () => {
  const page = `<style>.b{}</style><!-- b --><a class="b-x b" title="b" id='b'>b</a><script>b(b - 1)</script>`;
  const around = namePositions("a.html", page, "b").map(({ start }) =>
    page.slice(start - 2, start + 2),
  );
  deepEqual(around, ['x b"', "='b'", "t>b(", "b(b "]);
  equal(namePositions("a.css", ".btn, .btn-x, .x-btn, .a > .btn:hover {}", "btn").length, 2);
});

test("A header is C++ where it says so", () => {
  const names = (text: string) =>
    scanLanguage("a.h", text).symbols.map(({ kind, name }) => `${kind} ${name}`);
  deepEqual(names("struct a { int b; };\nint c(void);\n"), ["class a", "property b", "function c"]);
  deepEqual(names("namespace n {\nclass A {\n public:\n  int b();\n};\n}\n"), [
    "namespace n",
    "class A",
    "method b",
  ]);
});

describe("Bad input", () => {
  for (const [file, text] of some(Object.entries(SAMPLES), 3))
    test(`${file}: a part of it, in a wrong language, and noise do no harm`, () => {
      const whole = scanLanguage(file, text).symbols;
      const half = scanLanguage(file, text.slice(0, 0.7 * text.length));
      ok(half.symbols.length > 0 && !half.unread, half.unread);
      const noise = Array.from({ length: 2_000 }, (_, at) =>
        String.fromCharCode((at * 7919) % 0x3000),
      ).join("");
      for (const other of [
        SAMPLES["src/lib.rs"]!,
        noise,
        "",
        "\ufeff",
        "{".repeat(5_000),
        "(".repeat(5_000),
      ])
        ok(Array.isArray(scanLanguage(file, other).symbols));
      deepEqual(scanLanguage(file, text).symbols, whole, "the parser goes on");
    });

  test("what is not understood is told by its line, and the rest is read", () => {
    const facts = scanLanguage("a.py", "def one(): pass\n\nclass (:\n\ndef two(): pass\n");
    match(facts.parseError!, /^line [34] is not understood$/);
    equal(facts.symbols.map(({ name }) => name).join(), "one,two");
  });

  test("what takes too long is listed, and the parser goes on", () => {
    const facts = scanLanguage("a.go", `${"(".repeat(60)}\n`.repeat(3_000), 0.2);
    deepEqual([facts.unread, MAX_PARSE_S], ["its Go takes more than 0.2 s to parse", 4]);
    equal(scanLanguage("b.go", "package b\n\nfunc Two() {}\n").symbols[0]!.name, "Two");
  });

  test("a grammar that does not load names its language, and the file is looked at again", () => {
    const broken = { ...languageOf("a.py")!, query: "(no_such_node) @class" };
    match(String(grammarOf(broken, "no-such")), /^the grammar of Python cannot be loaded: /);
  });
});

test("The program answers in a Python project", async () => {
  const it = await warm({
    "shop/cart.py": SAMPLES["shop/cart.py"]!,
    "shop/app.py": 'from shop.cart import price_of\n\nprint(price_of(1), "price_of")  # price_of\n',
  });
  const says = async (tool: string, args: object) => (await it.call(tool, args)).text.trimEnd();
  deepEqual((await says("find_references", { symbol: "price_of" })).split("\n"), [
    "[By name: what else is called price_of counts too, since Python is not read by meaning]",
    "shop/app.py:1: from shop.cart import price_of  [import]",
    'shop/app.py:3: print(price_of(1), "price_of")  # price_of',
    'shop/cart.py:20: return sum(f"{price_of(item)}" for item in self.items)',
    "shop/cart.py:28: def price_of(item: Item) -> int:  [definition]",
  ]);
  const renamed = await says("rename_symbol", { symbol: "price_of", to: "x" });
  match(renamed, /^Cannot rename .*: shop\/cart\.py:28 is known by name alone \(/);
});
