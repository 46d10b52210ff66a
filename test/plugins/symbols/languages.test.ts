// Other languages: what is read of a file of each, where their imports lead, and what bad input does.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import "../../support/lean.ts";
import { grammarOf, MAX_PARSE_S, prepare } from "../../../plugins/symbols/languages/grammar.ts";
import { placesOf } from "../../../plugins/symbols/languages/places.ts";
import { openOthers } from "../../../plugins/symbols/languages/resolve.ts";
import { scanLanguage } from "../../../plugins/symbols/languages/scan.ts";
import { LANGUAGES, languageOf } from "../../../plugins/symbols/languages/table.ts";
import { cycles, graphOf, openResolver } from "../../../plugins/symbols/resolve.ts";
import { pack, unpack } from "../../../plugins/symbols/rows.ts";
import type { Facts } from "../../../plugins/symbols/scan/facts.ts";
import { some } from "../../support/runs.ts";
import { usesOf } from "../../support/symbols.ts";
import { warm } from "../../support/warm.ts";
import { SAMPLES } from "./languages/samples.ts";

await prepare(LANGUAGES.map(({ ends }) => `a.${ends.split(" ")[0]}`));

/** Of each sample, a row for each definition with its members, what it imports, and what is counted, with TODO comments. */
const EXPECTED: Record<string, string> = {
  "shop/cart.py": `
    9 variable _cache private
    12-28 class Cart, 13 property currency, 14-15 method __init__, 17-21 method total, 22-28 method _save private,
      26-27 function _save.encode local
    29-34 function price_of
    imports 4 json; 5 os.path {* as osp}; 6 collections {defaultdict, OrderedDict as Ordered}; 7 . {prices}; 8
      .models.item {Item}
    31 lines, 4 branches, nesting 3; 18 TODO: discounts`,
  "server/main.go": `
    10 const MaxConns
    11 const stateIdle
    12 variable defaultName
    12 variable other
    14-16 interface Handler, 15 method Serve
    18-21 class Server, 19 property Addr, 20 property mu
    22 type ID
    23 class Pair
    25 function New
    27-36 method Server.Start
    37 method Pair.first
    imports 5 fmt; 6 net/http; 7 github.com/sirupsen/logrus {* as log}; 8 example.com/shop/internal/store
    30 lines, 4 branches, nesting 3; 28 FIXME: the backlog`,
  "src/lib.rs": `
    6 const LIMIT
    7 variable COUNTER
    10-12 class Point, 11 property x
    13-15 enum Shape, 14 member Square
    16-22 interface Area, 17 property UNIT, 18 method area, 19-21 method double
    25-28 method Point.new
    31-36 method Shape.area
    38 type Pair
    39-41 function square
    42-46 function load, 44 function inner local
    48-52 namespace tests, 51 function squares
    imports 2 std::collections {HashMap}; 3 crate::store {self, Row}; 3 crate::store::inner {Page as P, *}; 4
      self::store; 49 super {*}
    47 lines, 4 branches, nesting 2; 26 HACK: no check`,
  "src/main/java/com/example/shop/Cart.java": `
    10-26 class Cart, 11 property MAX, 12 property items private, 13 method Cart, 16-22 method total, 23 method first
      private, 24 enum State, 24 member State.OPEN, 24 member State.PAID, 25 interface Listener, 25 method
      Listener.changed
    27 class Line, 27 property item, 27 property count
    28 interface Audited, 28 method value
    imports 3 java.util.List; 4 java.util.stream.Collectors.toList; 5 com.example.shop.prices {*}
    22 lines, 3 branches, nesting 3; 17 TODO: discounts`,
  "src/list.c": `
    4 const LIST_MAX
    5 function EACH
    7-10 type node, 8 property value, 9 property next
    12 class list, 12 property head
    13 enum color, 13 member RED, 13 member GREEN
    14 type compare_fn
    15 variable counter
    18-24 function list_new
    25-29 function list_len
    imports 1 <stdio.h>; 2 list.h
    23 lines, 2 branches, nesting 2; 20 TODO: an arena`,
  "src/engine.cpp": `
    4-31 namespace game
    6 type Clock
    8-14 class Unit, 10 method Unit, 11 method ~Unit, 12 method health, 13 method move
    16-22 class Grid, 17 property cells, 18-21 method at
    23 enum Side, 23 member Left, 23 member Right
    24-28 method Unit.move
    30 function clamp
    imports 1 engine.hpp; 2 <vector>
    27 lines, 4 branches, nesting 3; 19 FIXME: bounds`,
  "Shop/Cart.cs": `
    4-26 namespace Shop.Orders
    8-22 class Cart, 10 property items private, 11 property Owner, 12 property Changed, 13 method Cart, 15-20 method
      TotalAsync, 21 enum State, 21 member State.Open, 21 member State.Paid
    23 interface IPriced, 23 property Price
    24 class Line, 24 property Count
    25 type Handler
    imports 1 System; 2 Shop.Prices.Price {Price as Price}
    23 lines, 3 branches, nesting 3; 14 TODO: discounts`,
  "lib/shop/cart.rb": `
    5-19 namespace Shop, 7-18 class Cart, 8 property Cart.items, 8 property Cart.owner, 10-14 method Cart.total, 15
      method Cart.open, 17 method Cart.secret?
    20 function helper
    imports 2 json; 3 ./prices/rule
    15 lines, 3 branches, nesting 1; 11 TODO: discounts`,
  "src/Cart.php": `
    2 namespace App\\Shop
    7 const LIMIT
    12-27 class Cart, 15 property MAX, 16 property items private, 17 method __construct, 18-25 method total, 26 method
      first private
    28 interface Priced, 28 method price
    29 class Loggable, 29 method log protected
    30 enum State, 30 member Open, 30 member Paid
    31 function helper
    imports 4 App\\Models\\Item; 4 App\\Models\\Person {Person as Someone}; 5 Psr\\Log\\LoggerInterface; 6
      /helpers.php
    26 lines, 3 branches, nesting 3; 20 TODO: discounts`,
  "app/Cart.kt": `
    7-20 class Cart, 7 property owner, 7 property items private, 8 property size, 9-15 method total, 16 method save
      private, 18 method open
    21 interface Priced, 21 method price
    22 class State, 22 class Open
    23 enum Side, 23 member LEFT, 23 member RIGHT
    24 type Carts
    25 method Cart.describe
    26 function helper
    imports 3 com.example.model.Item; 4 com.example.prices.priceOf {priceOf as cost}
    23 lines, 3 branches, nesting 3; 10 TODO: discounts`,
  "Sources/Shop/Cart.swift": `
    6-18 class Cart, 7 property owner, 8 property items private, 9 method init, 10-16 method total, 17 method first
      private
    19-22 interface Priced, 20 property price, 21 method pay
    23 enum State, 23 member open, 23 member paid
    24 method Cart.describe
    25 type Carts
    26 function helper
    imports 1 Foundation; 2 Models
    23 lines, 3 branches, nesting 3; 11 TODO: discounts`,
  "bin/deploy.sh": `
    6 variable TARGET
    8-14 function build
    15-17 function deploy
    imports 3 ./lib/common.sh; 4 ./env.sh
    12 lines, 3 branches, nesting 2; 10 TODO: cache`,
  "lua/cart.lua": `
    2 variable json
    3 variable prices
    5 variable M, 7-11 method new, 12-20 method total, 21 method close
    22 function global_one
    imports 2 cjson; 3 shop.prices
    19 lines, 3 branches, nesting 3; 13 TODO: discounts`,
  "db/schema.sql": `
    2 namespace shop
    5-10 class carts, 6 property id, 7 property owner, 8 property made at
    11-12 class open_carts
    13-18 function total
    19 type mood
    16 lines, 0 branches, nesting 0; 7 TODO: a foreign key`,
  "web/site.css": `
    5 variable --accent
    8-11 class button
    8-11 class button--large
    8-11 class icon
    12 class main
    12 class card
    15 function spin
    imports 1 base.css; 2 theme/dark.css
    12 lines, 0 branches, nesting 0; 5 TODO: a better red`,
  "web/index.html": `
    9 key main
    9 key search
    11-13 function start
    imports 4 ./site.css; 5 ./main.js
    15 lines, 1 branches, nesting 2; 6 TODO: an icon`,
  "web/CartView.vue": `
    1-17 class CartView
    7 const props
    8 const items
    9-11 function total
    imports 2 vue {ref}; 3 ./ItemRow.vue {default as ItemRow}; 4 ./prices {priceOf}
    15 lines, 1 branches, nesting 1; 6 TODO: discounts; 14 FIXME: a list`,
  "web/Cart.svelte": `
    1-13 class Cart
    2 const prerender
    7 variable owner
    8 function total
    imports 6 ./Row.svelte {default as Row}
    11 lines, 0 branches, nesting 1; 10 TODO: a list`,
};

const outline = ({ symbols }: Facts): string[] => {
  const rows: string[] = [];
  let head = "";
  for (const { line, end, kind, owner, name, local, visibility } of symbols) {
    const path = owner ? `${owner}.${name}` : name;
    const isMember = head && `${owner}.`.startsWith(`${head}.`);
    const place = line === end ? line : `${line}-${end}`;
    const said = [place, kind, isMember ? path.slice(head.length + 1) : path, local && "local", visibility];
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
    const rows = [...outline(facts), ...(taken.length ? [`imports ${taken.join("; ")}`] : []), rest];
    deepEqual(
      rows,
      expected
        .replace(/\n {6}/g, " ")
        .trim()
        .split(/\n +/),
    );
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

for (const [file, name, signature, doc] of [
  ["shop/cart.py", "_save", "async def _save(self, path: str) -> None", undefined],
  ["server/main.go", "Start", "func (s *Server) Start(ctx context.Context) error", "Start listens."],
  ["src/list.c", "list_new", "struct list *list_new(void)", "Makes one."],
  ["lib/shop/cart.rb", "total", "def total", "The sum of all prices."],
  ["db/schema.sql", "total", "CREATE FUNCTION total(cart_id int) RETURNS int", undefined],
] as const)
  test(`${file}: ${name} is shown as "${signature}"`, () => {
    const found = scanLanguage(file, SAMPLES[file]!).symbols.find((sym) => sym.name === name)!;
    deepEqual([found.signature, found.doc], [signature, doc]);
  });

for (const [file, text, expected] of [
  ["a.go", "package m\nconst X, Y = 1, 2\nconst (\n\tA, B = iota, 2\n\tC, D\n)\nvar p, q int", "X Y A B C D p q"],
  ["a.py", "a, b = 1, 2\n(c, (d, *e)) = f()\n[g] = h()\nx = y = z = 5\no.p, q[0], r = 3", "a b c d e g x y z r"],
  ["a.lua", "GLOBAL = 3\nP, Q = 1, function() end\nlocal z\nM.x = 4\nGLOBAL = 4\nz = 5", "GLOBAL P Q z M.x"],
  ["a.lua", "g = function() end\nlocal f = function() end\nlocal t = { k = function() end }", "g() f() t k()"],
  ["a.rb", 'class A\n  define_method(:dm) { |x| x }\n  define_method "ds" do 3 end\nend', "A A.dm() A.ds()"],
  ["O.java", 'enum O { P("+") { int f() {} }, @D T("*"), L; int s; O(int s) {} }', "O O.P O.P.f() O.T O.L O.s O.O()"],
  ["O.kt", 'enum class O(val s: T) {\n  P("+") {\n fun f() = a\n},\n  M;\n  fun f()\n}', "O O.s O.P O.P.f() O.M O.f()"],
  ["a.swift", 'enum O { case p = "+", m\nindirect case s(O, of: O)\nenum I { case x } }', "O O.p O.m O.s O.I O.I.x"],
  ["a.swift", "let (a, b) = f()\nlet c = 1, d = 2\nvar (x: e, y: g) = h()\nmacro m() = 1", "a b c d e g m()"],
  ["a.rs", "lazy_static! {\n  static ref C: T;\n  pub static ref D: T;\n}\nthread_local! { static E: T; }", "C D E"],
  ["a.php", "<?php function q() { $l = 3; }\nconst X = 1, Y = 2;\nclass K { public $m, $n; }", "q() X Y K K.m K.n"],
  ["a.c", "int a, *b, c[3], (*d)(void);\nint f(int), g(void);\nstruct S { int e, *h; };", "a b c d f() g() S S.e S.h"],
  [
    "a.cpp",
    "auto [x, y] = f();\nclass K { T f() };\nnamespace n = a::b;\nT operator==() {}",
    "x y K K.f() n operator==()",
  ],
  ["A.cs", "class A { T a, b; event E c, d; const T X, Y = 2; record R(T S); }", "A A.a A.b A.c A.d A.X A.Y A.R A.R.S"],
  ["A.java", "class A { int a, b = 1; static int X, Y[] = {}; record R(T t) {} }", "A A.a A.b A.X A.Y A.R A.R.t"],
  ["a.sh", "declare -r X=1 Y=2\ndeclare -A m\na=1 b=2\nf() { declare l; }", "X Y m a b f()"],
  ["a.sql", "CREATE TABLE t (a INT)\nGO\nCREATE PROC d.p @i INT AS SELECT\r\ngo\r\nCREATE VIEW v AS 1", "t t.a p() v"],
  ["a.sql", "DELIMITER //\nCREATE PROCEDURE p()\nBEGIN\n CREATE TABLE x;END //\nDELIMITER ;\nCREATE VIEW v;", "p() v"],
  ["a.sql", "CREATE INDEX ON t (a);\nCREATE INDEX CONCURRENTLY ON t (a);\nCREATE INDEX IF NOT EXISTS i ON t (a);", "i"],
  ["a.php", '<?php list($a, $b) = f();\n[$c, [$d]] = f();\ndefine("Z", 3);\n$e = 1;\n$e = 2;$o->p = 3', "a b c d Z e"],
  ["a.css", 'a[href=".fake"]:not(.x) {}\na[href="#not"] .y, #z {}\n.p /* .q */ {}', "x y z p"],
] as const)
  test(`${file}: every name that is defined is found: ${text}`, () => {
    const { symbols } = scanLanguage(file, text);
    const sign = (kind: string) => (/^(?:function|method)$/.test(kind) ? "()" : "");
    const shown = symbols.map(({ owner, name, kind }) => (owner ? `${owner}.` : "") + name + sign(kind));
    equal(shown.join(" "), expected);
  });

for (const [file, text, expected] of [
  ["a.py", 'a = ("q",)', 'a = ("q",)'],
  ["a.py", "def f(\n    a,\n    b,\n):\n  pass", "def f(a, b)"],
  ["a.rs", "pub fn f<'a>(x: &'a str, y: char) -> &'a str { x }", "pub fn f<'a>(x: &'a str, y: char) -> &'a str"],
] as const)
  test(`${file}: a signature keeps what is in quotes, and commas that mean something: ${text}`, () => {
    equal(scanLanguage(file, text).symbols[0]!.signature, expected);
  });

for (const [file, text, expected] of [
  ["a.py", '# hail\nhail("hail", f"{hail} hail", "half hail")', { hail: 2 }],
  ["a.go", "package a // hail\nvar x = hail(`hail`)", { package: 1, a: 1, var: 1, x: 1, hail: 1 }],
  ["a.sh", 'echo "hail $hail $(hail)" # hail', { echo: 1, hail: 2 }],
  ["a.vue", '<template><hail-box :size="hail" title="no" />{{ hail }}</template>', { HailBox: 1, hail: 2 }],
  ["a.html", '<p id=b class="btn x-y" title="no" onclick="go">btn<a href=#t>', { b: 1, btn: 1, "x-y": 1, go: 1, t: 1 }],
  ["a.vue", `<template><p class="btn" :class="['is-on', on]" /></template>`, { btn: 1, is: 1, on: 2, "is-on": 1 }],
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
  "crate/Cargo.toml": '[package]\nname = "my-shop" # its name\nversion = "0.1.0"\n\n[dependencies]\nserde = "1"\n',
  "engines/fast/Cargo.toml": "[package]\nname = 'fast'\n[lib]\nname = 'engine'\npath = 'code/root.rs'\n",
  "tools/go.mod": 'module "example.com/shop/tools"\n',
};

for (const [file, text, expected] of [
  ["shop/cart.py", "from . import prices", "shop/prices.py"],
  ["shop/models/item.py", "from .. import cart, nothing", "shop/cart.py shop/__init__.py"],
  ["tests/test_cart.py", "import shop.cart as c", "shop/cart.py"],
  ["tests/test_cart.py", "from pkg import mod", "src/pkg/mod.py"],
  ["main.go", 'package a\nimport "example.com/shop/internal/store"', "internal/store/open.go internal/store/close.go"],
  ["main.go", 'package a\nimport "example.com/shop/tools/x"', "tools/x/x.go"],
  ["crate/src/lib.rs", "mod store;", "crate/src/store.rs"],
  ["crate/src/lib.rs", "use std::fmt;", "builtin"],
  ["crate/src/lib.rs", "mod tests { use super::*; }", "crate/src/lib.rs"],
  ["crate/src/store.rs", "mod a { mod b { use super::super::super::net; } }", "crate/src/net/mod.rs"],
  ["crate/src/store.rs", "use crate::Shape::{Circle, Square};", "crate/src/lib.rs"],
  ["crate/src/store.rs", "mod deep { mod inner; }", "missing"],
  ["crate/src/lib.rs", "mod store { mod inner; }", "crate/src/store/inner.rs"],
  ["crate/src/main.rs", "use my_shop::store::Row;", "crate/src/store.rs"],
  ["crate/tests/it.rs", "use crate::common::setup;", "crate/tests/common/mod.rs"],
  ["crate/src/lib.rs", "use engine::Thing;", "engines/fast/code/root.rs"],
  ["src/main/java/shop/Cart.java", "import fees.*;", "src/main/java/fees/A.java src/main/java/fees/B.java"],
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
    const leads = openOthers(FILES, (name) => MODULES[name]);
    const [one] = scanLanguage(file, text).imports;
    const found = leads(file, one!);
    equal(found[0] === "" ? "external" : found[0] === "node:" ? "builtin" : found.join(" ") || "missing", expected);
  });

test("a file that takes its own names in a module of tests is in no circle, and is not its own importer", async () => {
  const files = { "src/lib.rs": "mod a;\nmod tests { use super::*; }", "src/a.rs": "mod tests { use super::A; }" };
  const resolver = openResolver("/", ["Cargo.toml", ...Object.keys(files)]);
  const read = Object.entries(files).map(([name, text]) => [name, scanLanguage(name, text)] as const);
  const packed = read.map(([name, facts]) => [name, unpack(pack(facts, Buffer.alloc(0)))] as const);
  const graph = await graphOf(packed, resolver);
  deepEqual(cycles(graph), []);
  deepEqual(graph.dependents, new Map([["src/a.rs", ["src/lib.rs"]]]));
});

test("TODO comments in the body of a SQL function are found, between whatever dollar signs", () => {
  const text =
    "CREATE FUNCTION f() AS $b$\nBEGIN\n  -- TODO one; it's\n  x := 'TODO no';\n/* FIXME two */\nEND;\n$b$;\n-- HACK three";
  const { todos } = scanLanguage("a.sql", text);
  equal(todos.map(({ line, text }) => `${line} ${text}`).join(), "3 TODO one; it's,5 FIXME two,8 HACK three");
  const noise = Array.from({ length: 20_000 }, (_, at) => `$a${at}$`).join(" ") + " ".repeat(100_000);
  ok(Array.isArray(scanLanguage("a.sql", `GO${noise}x`).symbols));
});

test("a class or an id stands where a page uses it, not in its text, nor in a longer name", () => {
  const page = `<style>.b{}</style><!-- b --><a class="b-x b" title="b" id='b'>b</a><script>b(b - 1)</script>`;
  const around = placesOf("a.html", page, "b").map(({ start }) => page.slice(start - 2, start + 2));
  deepEqual(around, ['x b"', "='b'", "t>b(", "b(b "]);
  equal(placesOf("a.css", ".btn, .btn-x, .x-btn, .a > .btn:hover {}", "btn").length, 2);
});

test("A header is C++ where it says so", () => {
  const names = (text: string) => scanLanguage("a.h", text).symbols.map(({ kind, name }) => `${kind} ${name}`);
  deepEqual(names("struct a { int b; };\nint c(void);\n"), ["class a", "property b", "function c"]);
  deepEqual(names("namespace n {\nclass A {\n public:\n  int b();\n};\n}\n"), ["namespace n", "class A", "method b"]);
});

describe("Bad input", () => {
  for (const [file, text] of some(Object.entries(SAMPLES), 3))
    test(`${file}: a part of it, in a wrong language, and noise do no harm`, () => {
      const whole = scanLanguage(file, text).symbols;
      const half = scanLanguage(file, text.slice(0, 0.7 * text.length));
      ok(half.symbols.length > 0 && !half.unread, half.unread);
      const noise = Array.from({ length: 2_000 }, (_, at) => String.fromCharCode((at * 7919) % 0x3000)).join("");
      for (const other of [SAMPLES["src/lib.rs"]!, noise, "", "\ufeff", "{".repeat(5_000), "(".repeat(5_000)])
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
    "shop/prices.py": "RULES = []\n",
    "shop/app.py": 'from shop.cart import price_of\n\nprint(price_of(1), "price_of")  # price_of\n',
  });
  const says = async (tool: string, args: object) => (await it.call(tool, args)).text.trimEnd();
  equal(await says("find_definition", { symbol: "Cart.total" }), "shop/cart.py:17: def total(self) -> int");
  deepEqual((await says("find_references", { symbol: "price_of" })).split("\n"), [
    "[By name: what else is called price_of counts too, since Python is not read by meaning]",
    "shop/app.py:1: from shop.cart import price_of  [import]",
    'shop/app.py:3: print(price_of(1), "price_of")  # price_of',
    'shop/cart.py:21: return sum(f"{price_of(item)}" for item in self.items)',
    "shop/cart.py:29: def price_of(item: Item) -> int:  [definition]",
  ]);
  match(
    await says("rename_symbol", { symbol: "price_of", to: "x" }),
    /^Cannot rename .*: shop\/cart\.py:29 is known by name alone \(/,
  );
  match(await says("repo_map", { query: "price rule", tokens: 300 }), /^shop\/cart\.py:29: def price_of/m);
  equal(await says("get_dependents", { path: "shop/cart.py" }), "shop/app.py:1: shop.cart");
});
