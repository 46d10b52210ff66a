// Other languages: what is read of a file of each, where their imports lead, and what bad input does.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import "../../support/lean.ts";
import { grammarOf, MAX_PARSE_S, prepare } from "../../../plugins/symbols/languages/grammar.ts";
import { placesOf } from "../../../plugins/symbols/languages/places.ts";
import { openOthers } from "../../../plugins/symbols/languages/resolve.ts";
import { scanLanguage } from "../../../plugins/symbols/languages/scan.ts";
import { LANGUAGES, languageOf } from "../../../plugins/symbols/languages/table.ts";
import { readRow } from "../../../plugins/symbols/read.ts";
import { cycles, graphOf, openResolver } from "../../../plugins/symbols/resolve.ts";
import { pack, unpack, wordsOf } from "../../../plugins/symbols/rows.ts";
import type { Facts } from "../../../plugins/symbols/scan/facts.ts";
import { stem, wordHash } from "../../../plugins/symbols/scan/words.ts";
import type { Harness } from "../../../sdk/testing.ts";
import { place } from "../../support/run.ts";
import { some } from "../../support/runs.ts";
import { usesOf } from "../../support/symbols.ts";
import { warm } from "../../support/warm.ts";
import { SAMPLES } from "./languages/samples.ts";

await prepare(LANGUAGES.map(({ ends }) => `a.${ends.split(" ")[0]}`));

/** Of each sample, what it defines and where, what it imports, and its TODO comments. */
const EXPECTED: Record<string, { defines: string; imports: string; todos: string; measures: string }> = {
  "shop/cart.py": {
    defines: `
      10-10 variable MAX_ITEMS
      11-11 variable _cache private
      16-38 class Cart
      19-19 property Cart.currency
      21-22 method Cart.__init__
      25-29 method Cart.total
      31-38 method Cart._save private
      35-36 function Cart._save.encode local
      41-46 function price_of`,
    imports:
      "4 json; 5 os.path {* as osp}; 6 collections {defaultdict, OrderedDict as Ordered}; 7 . {prices}; 8 .models.item {Item}",
    todos: "26 TODO: discounts",
    measures: "33 lines, 4 branches, nesting 3",
  },
  "server/main.go": {
    defines: `
      13-13 const MaxConns
      16-16 const stateIdle
      17-17 const stateBusy
      20-20 variable defaultName
      20-20 variable other
      23-25 interface Handler
      24-24 method Handler.Serve
      28-31 class Server
      29-29 property Server.Addr
      30-30 property Server.mu
      33-33 type ID
      34-36 class Pair
      35-35 property Pair.Key
      39-41 function New
      44-54 method Server.Start
      56-56 method Pair.first`,
    imports: "5 fmt; 6 net/http; 8 github.com/sirupsen/logrus {* as log}; 9 example.com/shop/internal/store",
    todos: "45 FIXME: the backlog",
    measures: "38 lines, 4 branches, nesting 3",
  },
  "src/lib.rs": {
    defines: `
      7-7 const LIMIT
      8-8 variable COUNTER
      12-15 class Point
      13-13 property Point.x
      14-14 property Point.y
      17-20 enum Shape
      18-18 member Shape.Circle
      18-18 property Shape.Circle.radius
      19-19 member Shape.Square
      22-28 interface Area
      23-23 property Area.UNIT
      24-24 method Area.area
      25-27 method Area.double
      32-35 method Point.new
      39-45 method Shape.area
      48-48 type Pair
      50-52 function square
      54-58 function load
      56-56 function load.inner local
      61-65 namespace tests
      64-64 function tests.squares`,
    imports:
      "2 std::collections {HashMap}; 3 crate::store {self, Row}; 3 crate::store::inner {Page as P, *}; 4 self::store; 62 super {*}",
    todos: "33 HACK: no check",
    measures: "50 lines, 5 branches, nesting 2",
  },
  "src/main/java/com/example/shop/Cart.java": {
    defines: `
      12-35 class Cart
      13-13 property Cart.MAX
      14-14 property Cart.items private
      16-18 method Cart.Cart
      22-28 method Cart.total
      30-30 method Cart.first private
      32-32 enum Cart.State
      32-32 member Cart.State.OPEN
      32-32 member Cart.State.PAID
      34-34 interface Cart.Listener
      34-34 method Cart.Listener.changed
      37-37 class Line
      37-37 property Line.item
      37-37 property Line.count
      39-39 interface Audited
      39-39 method Audited.value`,
    imports:
      "3 java.util.List; 4 java.util.stream.Collectors.toList; 5 com.example.shop.model.Item; 6 com.example.shop.prices {*}",
    todos: "23 TODO: discounts",
    measures: "25 lines, 3 branches, nesting 3",
  },
  "src/list.c": {
    defines: `
      5-5 const LIST_MAX
      6-6 function EACH
      8-11 type node
      9-9 property node.value
      10-10 property node.next
      13-15 class list
      14-14 property list.head
      17-17 enum color
      17-17 member color.RED
      17-17 member color.GREEN
      18-18 type compare_fn
      19-19 type size
      21-21 variable counter
      22-22 variable names
      26-32 function list_new
      34-38 function list_len
      40-40 function list_push`,
    imports: "2 <stdio.h>; 3 list.h",
    todos: "28 TODO: an arena",
    measures: "28 lines, 2 branches, nesting 2",
  },
  "src/engine.cpp": {
    defines: `
      5-47 namespace game
      7-7 type Clock
      8-8 variable kMaxUnits
      11-20 class Unit
      13-13 method Unit.Unit
      14-14 method Unit.~Unit
      15-15 method Unit.health
      16-16 method Unit.move
      19-19 property Unit.health_
      23-29 class Grid
      24-24 property Grid.cells
      25-28 method Grid.at
      31-31 enum Side
      31-31 member Side.Left
      31-31 member Side.Right
      33-38 method Unit.move
      40-40 method Unit.Unit
      43-43 function clamp
      45-45 function operator==`,
    imports: "2 engine.hpp; 3 <vector>",
    todos: "26 FIXME: bounds",
    measures: "33 lines, 4 branches, nesting 3",
  },
  "Shop/Cart.cs": {
    defines: `
      5-35 namespace Shop.Orders
      9-29 class Cart
      11-11 property Cart.Max
      12-12 property Cart.items private
      13-13 property Cart.Owner
      14-14 property Cart.Changed
      16-16 method Cart.Cart
      19-24 method Cart.TotalAsync
      26-26 method Cart.First private
      28-28 enum Cart.State
      28-28 member Cart.State.Open
      28-28 member Cart.State.Paid
      31-31 interface IPriced
      31-31 property IPriced.Price
      32-32 class Line
      32-32 property Line.Count
      33-33 class Person
      33-33 property Person.Name
      34-34 type Handler`,
    imports: "1 System; 2 System.Collections.Generic; 3 Shop.Prices.Price {Price as Price}",
    todos: "18 TODO: discounts",
    measures: "27 lines, 3 branches, nesting 3",
  },
  "lib/shop/cart.rb": {
    defines: `
      5-33 namespace Shop
      7-32 class Shop.Cart
      9-9 property Shop.Cart.MAX
      10-10 property Shop.Cart.items
      10-10 property Shop.Cart.owner
      12-14 method Shop.Cart.initialize
      17-21 method Shop.Cart.total
      23-25 method Shop.Cart.open
      29-31 method Shop.Cart.secret?
      35-35 function helper`,
    imports: "2 json; 3 ./prices/rule",
    todos: "18 TODO: discounts",
    measures: "24 lines, 3 branches, nesting 1",
  },
  "src/Cart.php": {
    defines: `
      4-4 namespace App\\Shop
      10-10 const VERSION
      11-11 const LIMIT
      17-37 class Cart
      20-20 property Cart.MAX
      21-21 property Cart.items private
      23-23 method Cart.__construct
      25-34 method Cart.total
      36-36 method Cart.first private
      39-39 interface Priced
      39-39 method Priced.price
      40-40 class Loggable
      40-40 method Loggable.log protected
      41-41 enum State
      41-41 member State.Open
      41-41 member State.Paid
      43-43 function helper`,
    imports:
      "6 App\\Models\\Item; 6 App\\Models\\Person {Person as Someone}; 7 Psr\\Log\\LoggerInterface; 8 /helpers.php",
    todos: "27 TODO: discounts",
    measures: "30 lines, 3 branches, nesting 3",
  },
  "app/Cart.kt": {
    defines: `
      6-6 variable MAX
      10-26 class Cart
      10-10 property Cart.owner
      10-10 property Cart.items private
      11-11 property Cart.size
      13-19 method Cart.total
      21-21 method Cart.save private
      24-24 method Cart.open
      28-28 interface Priced
      28-28 method Priced.price
      29-29 class State
      29-29 class State.Open
      30-30 enum Side
      30-30 member Side.LEFT
      30-30 member Side.RIGHT
      31-31 class Registry
      31-31 property Registry.all
      32-32 type Carts
      34-34 method Cart.describe
      35-35 function helper`,
    imports: "3 com.example.model.Item; 4 com.example.prices.priceOf {priceOf as cost}",
    todos: "14 TODO: discounts",
    measures: "25 lines, 3 branches, nesting 3",
  },
  "Sources/Shop/Cart.swift": {
    defines: `
      4-4 variable maxItems
      8-25 class Cart
      9-9 property Cart.owner
      10-10 property Cart.items private
      12-14 method Cart.init
      16-22 method Cart.total
      24-24 method Cart.first private
      27-30 interface Priced
      28-28 property Priced.price
      29-29 method Priced.pay
      32-32 class Line
      32-32 property Line.count
      34-36 enum State
      35-35 member State.open
      35-35 member State.paid
      39-39 method Cart.describe
      42-42 type Carts
      44-44 function helper`,
    imports: "1 Foundation; 2 Models",
    todos: "17 TODO: discounts",
    measures: "31 lines, 3 branches, nesting 3",
  },
  "bin/deploy.sh": {
    defines: `
      7-7 variable TARGET
      8-8 variable RETRIES
      11-18 function build
      20-25 function deploy`,
    imports: "4 ./lib/common.sh; 5 ./env.sh",
    todos: "13 TODO: cache",
    measures: "19 lines, 3 branches, nesting 2",
  },
  "lua/cart.lua": {
    defines: `
      2-2 variable json
      3-3 variable prices
      5-5 variable M
      6-6 variable MAX
      9-13 method M.new
      15-23 method M.total
      25-27 function helper
      29-29 method M.close
      31-31 function global_one`,
    imports: "2 cjson; 3 shop.prices",
    todos: "16 TODO: discounts",
    measures: "23 lines, 3 branches, nesting 3",
  },
  "db/schema.sql": {
    defines: `
      2-2 namespace shop
      5-10 class carts
      6-6 property carts.id
      7-7 property carts.owner
      8-8 property carts.made at
      12-12 const carts_owner
      14-15 class open_carts
      17-22 function total
      24-24 type mood`,
    imports: "",
    todos: "7 TODO: a foreign key",
    measures: "18 lines, 0 branches, nesting 0",
  },
  "web/site.css": {
    defines: `
      5-5 variable --accent
      9-12 class button
      9-12 class button--large
      9-12 class icon
      14-14 class main
      14-14 class card
      20-22 function spin`,
    imports: "1 base.css; 2 theme/dark.css",
    todos: "5 TODO: a better red",
    measures: "16 lines, 0 branches, nesting 0",
  },
  "web/index.html": {
    defines: `
      11-11 key main
      11-11 key search
      13-15 function start`,
    imports: "5 ./site.css; 6 ./main.js",
    todos: "7 TODO: an icon",
    measures: "17 lines, 1 branches, nesting 2",
  },
  "web/CartView.vue": {
    defines: `
      1-22 class CartView
      7-7 const props
      8-8 const items
      9-11 function total`,
    imports: "2 vue {ref}; 3 ./ItemRow.vue {default as ItemRow}; 4 ./prices {priceOf}",
    todos: "6 TODO: discounts; 15 FIXME: a list",
    measures: "18 lines, 1 branches, nesting 1",
  },
  "web/Cart.svelte": {
    defines: `
      1-18 class Cart
      2-2 const prerender
      7-7 variable owner
      8-8 function total`,
    imports: "6 ./Row.svelte {default as Row}",
    todos: "11 TODO: a list",
    measures: "14 lines, 0 branches, nesting 1",
  },
};

const linesOf = (text: string): string[] => text.trim().split(/\n\s*/);
const defined = ({ symbols }: Facts): string[] =>
  symbols.map(({ line, end, kind, owner, name, local, visibility }) =>
    [`${line}-${end}`, kind, owner ? `${owner}.${name}` : name, local && "local", visibility].filter(Boolean).join(" "),
  );

describe("A file is read", () => {
  test("in every language of the table", () => {
    deepEqual(Object.keys(SAMPLES), Object.keys(EXPECTED));
    deepEqual(new Set(Object.keys(SAMPLES).map((file) => languageOf(file))), new Set(LANGUAGES));
  });

  for (const [file, { defines, imports, todos, measures }] of Object.entries(EXPECTED))
    test(`${file}: definitions, imports, TODO comments, lines and branches`, () => {
      const facts = scanLanguage(file, SAMPLES[file]!);
      deepEqual(defined(facts), linesOf(defines));
      const taken = facts.imports.map(
        ({ line, from, names }) => `${line} ${from}${names.length ? ` {${names.join(", ")}}` : ""}`,
      );
      equal(taken.join("; "), imports);
      equal(facts.todos.map(({ line, text }) => `${line} ${text}`).join("; "), todos);
      equal(`${facts.loc} lines, ${facts.decisions} branches, nesting ${facts.nesting}`, measures);
      equal(facts.unread, undefined);
    });
});

const ENUMS: Record<string, [text: string, defines: string]> = {
  "Op.java": [
    `public enum Op implements Fn {
    /** Adds. */
    PLUS("+") {
        @Override public int apply(int a, int b) { return a + b; }
    },
    MINUS("-") { int apply(int a, int b) { return a - b; } },
    @Deprecated TIMES("*"), LAST;
    private final String sign;
    Op(String sign) { this.sign = sign; }
}
`,
    `1-10 enum Op
    3-5 member Op.PLUS
    4-4 method Op.PLUS.apply
    6-6 member Op.MINUS
    6-6 method Op.MINUS.apply
    7-7 member Op.TIMES
    7-7 member Op.LAST
    8-8 property Op.sign private
    9-9 method Op.Op`,
  ],
  "Op.kt": [
    `enum class Op(val sign: String) : Fn {
    PLUS("+") {
        override fun apply(a: Int) = a
    },
    MINUS("-") { override fun apply(a: Int): Int { return a } fun other() { } };

    abstract fun apply(a: Int): Int
}
enum class Small { A, B { override fun toString() = "\${ run { 1 } }" }, @Deprecated("c") C { } }
`,
    `1-8 enum Op
    1-1 property Op.sign
    2-4 member Op.PLUS
    3-3 method Op.PLUS.apply
    5-5 member Op.MINUS
    5-5 method Op.MINUS.apply
    5-5 method Op.MINUS.other
    7-7 method Op.apply
    9-9 enum Small
    9-9 member Small.A
    9-9 member Small.B
    9-9 method Small.B.toString
    9-9 member Small.C`,
  ],
  "Op.swift": [
    `enum Op: String {
    case plus = "+", minus
    indirect case sum(Op, of: Op)
    func apply() -> Int { 1 }
    enum Inner { case x; case y }
}
`,
    `1-6 enum Op
    2-2 member Op.plus
    2-2 member Op.minus
    3-3 member Op.sum
    4-4 method Op.apply
    5-5 enum Op.Inner
    5-5 member Op.Inner.x
    5-5 member Op.Inner.y`,
  ],
};
describe("An enum is read with its constants, and what is in them", () => {
  for (const [file, [text, defines]] of Object.entries(ENUMS))
    test(file, () => {
      const facts = scanLanguage(file, text);
      deepEqual(defined(facts), linesOf(defines));
      equal(facts.parseError, undefined);
    });
});

test("What stands in one line of Kotlin is no syntax error", () => {
  for (const text of [
    "class A { fun f() { if (a) { b() } else { c() } } }",
    "class A { fun f(): Int { return a } private val y = 1 }",
    "class A { var x: Int get() { return 1 } private set }",
    "class A { fun f() = when (x) { 1 -> { a } else -> { b } } }",
    'class A { fun f() = "a ${b { it } } c" }',
    "class A { fun f() = '\"' }",
    "class A { fun f() = '\\'' }",
    'class A { fun f() = """a "b" c""" }',
    "class A {  }",
    "val f = { { { 1 } } }",
    "enum class A { B { fun f() { } }, C { fun g() { } }; fun h() { } }",
  ])
    equal(scanLanguage("a.kt", `${text}\nfun last() = 1\n`).parseError, undefined, text);
});

for (const [file, name, signature, doc] of [
  ["shop/cart.py", "_save", "async def _save(self, path: str) -> None", undefined],
  ["shop/cart.py", "price_of", "def price_of(item: Item) -> int", "What one costs."],
  [
    "server/main.go",
    "Start",
    "func (s *Server) Start(ctx context.Context) error",
    "Start listens, until it is told to stop.",
  ],
  ["src/lib.rs", "Point", "pub struct Point<T>", "A point in the plane."],
  ["src/main/java/com/example/shop/Cart.java", "total", "public int total()", "The sum of all prices."],
  ["src/list.c", "list_new", "struct list *list_new(void)", "Makes one."],
  ["src/engine.cpp", "clamp", "T clamp(T value, T low, T high)", undefined],
  ["lib/shop/cart.rb", "total", "def total", "The sum of all prices."],
  ["src/Cart.php", "first", "private static function first(array $all): ?Item", undefined],
  [
    "app/Cart.kt",
    "Cart",
    "data class Cart(val owner: String, private val items: List<Item>) : Base(), Priced",
    "What a person wants to buy.",
  ],
  ["Sources/Shop/Cart.swift", "total", "public func total(limit: Int) async throws -> Int", undefined],
  ["bin/deploy.sh", "build", "build()", "Builds all of it."],
  ["db/schema.sql", "total", "CREATE FUNCTION total(cart_id int) RETURNS int", undefined],
] as const)
  test(`${file}: ${name} is shown as "${signature}"`, () => {
    const found = scanLanguage(file, SAMPLES[file]!).symbols.find((sym) => sym.name === name)!;
    deepEqual([found.signature, found.doc], [signature, doc]);
  });

for (const [file, text, expected] of [
  ["a.go", "package m\nconst X, Y = 1, 2\nconst (\n\tA, B = iota, 2\n\tC, D\n)\nvar p, q int", "X Y A B C D p q"],
  ["a.py", "a, b = 1, 2\n(c, (d, *e)) = f()\n[g] = h()\nx = y = z = 5\no.p, q[0], r = 3", "a b c d e g x y z r"],
  ["a.py", "class K:\n  m, n = 1, 2\ndef f():\n  l = k = 1", "K K.m K.n f()"],
  ["a.lua", "GLOBAL = 3\nP, Q = 1, function() end\nlocal z\nM.x = 4\nGLOBAL = 4\nz = 5", "GLOBAL P Q z M.x"],
  [
    "a.lua",
    "globalfn = function() end\nlocal fn = function() end\nlocal t = { k = function() end }",
    "globalfn() fn() t k()",
  ],
  ["a.rb", 'class A\n  define_method(:dm) { |x| x }\n  define_method "ds" do 3 end\nend', "A A.dm() A.ds()"],
  ["a.rb", "X, Y = 1, 2\nZ ||= 3\nclass A\n  delegate :foo, :bar, to: :b\nend", "X Y Z A A.foo() A.bar()"],
  ["a.kts", "val (a, b) = f()\nval c: Int = 1", "a b c"],
  ["a.swift", "let (a, b) = f()\nlet c = 1, d = 2\nvar (x: e, y: g) = h()\nmacro m() = 1", "a b c d e g m()"],
  [
    "a.rs",
    "lazy_static! {\n  static ref C: i32 = 3;\n  pub static ref D: i32 = 4;\n}\nthread_local! { static E: u8 = 1; }",
    "C D E",
  ],
  ["a.php", "<?php function q() { $l = 3; }\nconst X = 1, Y = 2;\nclass K { public $m, $n; }", "q() X Y K K.m K.n"],
  ["a.c", "int a, *b, c[3], (*d)(void);\nint f(int), g(void);\nstruct S { int e, *h; };", "a b c d f() g() S S.e S.h"],
  ["a.cpp", "auto [x, y] = f();\nclass K { void f(), g(); };\nnamespace al = a::b;", "x y K K.f() K.g() al"],
  [
    "A.cs",
    "class A { int a, b; event E c, d; const int X = 1, Y = 2; record R(int S, int T); }",
    "A A.a A.b A.c A.d A.X A.Y A.R A.R.S A.R.T",
  ],
  [
    "A.java",
    "class A { int a, b = 1; static int X = 1, Y[] = {}; record R(int s, T t) {} }",
    "A A.a A.b A.X A.Y A.R A.R.s A.R.t",
  ],
  ["a.sh", "declare -r X=1 Y=2\ndeclare -A m\na=1 b=2\nf() { declare l; }", "X Y m a b f()"],
  [
    "a.sql",
    "CREATE TABLE t (a INT)\nGO\nCREATE PROC dbo.p @id INT AS SELECT 1\r\ngo\r\nCREATE VIEW v AS SELECT 1",
    "t t.a p() v",
  ],
  [
    "a.sql",
    "DELIMITER //\nCREATE PROCEDURE p()\nBEGIN\n SELECT 1; CREATE TABLE x (a INT);\nEND //\nDELIMITER ;\nCREATE VIEW v AS 1;",
    "p() v",
  ],
  [
    "a.sql",
    "DELIMITER $$\nCREATE PROCEDURE p() BEGIN END$$\nCREATE PROCEDURE q() BEGIN END $$\nDELIMITER ;",
    "p() q()",
  ],
  ["a.sql", "CREATE INDEX ON t (a);\nCREATE INDEX CONCURRENTLY ON t (a);\nCREATE INDEX IF NOT EXISTS i ON t (a);", "i"],
  [
    "a.php",
    '<?php list($a, $b) = f();\n[$c, [$d]] = f();\ndefine("Z", 3);\n$e = 1;\n$e = 2;\n$o->p = 3;',
    "a b c d Z e",
  ],
  ["a.sql", "CREATE OR REPLACE PROCEDURE p AS\nBEGIN\n NULL;\nEND;\n/\nCREATE VIEW v AS SELECT 4\n/ 2;", "p() v"],
  ["a.rb", "class A\n  alias_method :nu, :old\n  alias nn old\nend", "A A.nu() A.nn()"],
  ["a.css", 'a[href=".fake"]:not(.x) {}\na[href="#not"] .y, #z {}\n.p /* .q */ {}', "x y z p"],
] as const)
  test(`${file}: every name that is defined is found: ${text}`, () => {
    const { symbols } = scanLanguage(file, text);
    const shown = symbols.map(({ owner, name, kind }) => {
      return (owner ? `${owner}.${name}` : name) + (/^(?:function|method)$/.test(kind) ? "()" : "");
    });
    equal(shown.join(" "), expected);
  });

for (const [file, text, expected] of [
  ["a.py", 'a = ("q",)', 'a = ("q",)'],
  ["a.py", "def f(\n    a,\n    b,\n):\n  pass", "def f(a, b)"],
  ["a.lua", "local s = [[ TODO x ]]", "local s = [[ TODO x ]]"],
  ["a.lua", "local t = { k = function() end }\nlocal fn = function(a, b)\nend", "local t = { k = function() end }"],
  ["a.rs", "pub fn f<'a>(x: &'a str, y: char) -> &'a str { x }", "pub fn f<'a>(x: &'a str, y: char) -> &'a str"],
] as const)
  test(`${file}: a signature keeps what is in quotes, and commas that mean something: ${text}`, () => {
    const [sym] = scanLanguage(file, text).symbols;
    equal(sym!.signature, expected);
  });

for (const [file, text, expected] of [
  ["a.py", '# hail\nhail("hail", f"{hail} hail", "half hail")', { hail: 2 }],
  ["a.go", "package a // hail\nvar x = hail(`hail`)", { package: 1, a: 1, var: 1, x: 1, hail: 1 }],
  ["a.rb", '# hail\nputs "#{hail} b" # c', { puts: 1, hail: 1 }],
  ["a.sh", 'echo "hail $hail $(hail)" # hail', { echo: 1, hail: 2 }],
  ["a.vue", '<template><hail-box :size="hail" title="no" />{{ hail }}</template>', { HailBox: 1, hail: 2 }],
  [
    "a.html",
    '<p id=b class="btn card-x" title="no" onclick="go(1)">btn <a href="#top">',
    { b: 1, btn: 1, "card-x": 1, go: 1, top: 1 },
  ],
  ["a.vue", `<template><p class="btn" :class="['is-on', on]" /></template>`, { btn: 1, is: 1, on: 2, "is-on": 1 }],
  ["a.svelte", '<p class="btn {kind}" class:active={on}>x</p>', { btn: 1, "{kind}": 1, active: 1, kind: 1, on: 1 }],
] as const)
  test(`${file}: a use is in code, also within a string, not in text: ${text}`, () => {
    deepEqual(usesOf(scanLanguage(file, text)), expected);
  });

test("what other files may use is told by the language's own rules", () => {
  const hidden = (file: string) =>
    scanLanguage(file, SAMPLES[file]!).symbols.flatMap((sym) => (sym.exported ? [] : [sym.name]));
  deepEqual(hidden("shop/cart.py"), ["_cache", "_save", "encode"]);
  deepEqual(hidden("server/main.go"), ["stateIdle", "stateBusy", "defaultName", "other", "mu", "first"]);
  deepEqual(hidden("src/list.c"), ["counter", "list_len"]);
  deepEqual(hidden("Shop/Cart.cs"), ["items", "First"]);
  deepEqual(hidden("lua/cart.lua"), ["json", "prices", "M", "MAX", "helper"]);
});

test("a name that JavaScript's objects have is an ordinary name", () => {
  const { uses, symbols } = scanLanguage("a.py", "def constructor(__proto__): return toString\n");
  equal(Object.hasOwn(usesOf({ uses }), "__proto__"), true);
  equal(symbols[0]!.name, "constructor");
});

const FILES = [
  "shop/__init__.py shop/cart.py shop/prices.py shop/models/__init__.py shop/models/item.py src/pkg/mod.py tests/test_cart.py",
  "go.mod main.go internal/store/open.go internal/store/open_test.go internal/store/close.go tools/go.mod tools/x/x.go",
  "crate/src/lib.rs crate/src/store.rs crate/src/store/inner.rs crate/src/net/mod.rs other-crate/src/lib.rs",
  "crate/Cargo.toml crate/src/main.rs crate/src/bin/tool.rs crate/tests/it.rs crate/tests/common/mod.rs",
  "engines/fast/Cargo.toml engines/fast/code/root.rs engines/fast/code/part.rs",
  "src/main/java/com/example/Cart.java src/main/java/com/example/prices/Price.java src/main/java/com/example/prices/Rule.java",
  "src/main/kotlin/com/example/Shop.kt app/Models/Item.php app/helpers.php include/engine/unit.h src/engine.cpp src/engine.h",
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
  ["shop/cart.py", "from .models.item import Item", "shop/models/item.py"],
  ["shop/models/item.py", "from .. import cart, nothing", "shop/cart.py shop/__init__.py"],
  ["tests/test_cart.py", "import shop.cart as c", "shop/cart.py"],
  ["tests/test_cart.py", "from pkg import mod", "src/pkg/mod.py"],
  ["shop/cart.py", "import json", "builtin"],
  ["shop/cart.py", "import numpy as np", "external"],
  ["shop/cart.py", "from .gone import x", "missing"],
  ["main.go", 'package a\nimport "example.com/shop/internal/store"', "internal/store/open.go internal/store/close.go"],
  ["main.go", 'package a\nimport "example.com/shop/tools/x"', "tools/x/x.go"],
  ["main.go", 'package a\nimport "net/http"', "builtin"],
  ["main.go", 'package a\nimport "github.com/x/store"', "external"],
  ["crate/src/lib.rs", "mod store;", "crate/src/store.rs"],
  ["crate/src/store.rs", "mod inner;", "crate/src/store/inner.rs"],
  ["crate/src/net/mod.rs", "use crate::store::inner::Page;", "crate/src/store/inner.rs"],
  ["crate/src/net/mod.rs", "use super::store::{self, Row};", "crate/src/store.rs"],
  ["crate/src/lib.rs", "use other_crate::Thing;", "other-crate/src/lib.rs"],
  ["crate/src/lib.rs", "use std::fmt;", "builtin"],
  ["crate/src/lib.rs", "use serde::Serialize;", "external"],
  ["crate/src/lib.rs", "mod tests { use super::*; }", "crate/src/lib.rs"],
  ["crate/src/store.rs", "mod tests { use super::inner::Page; }", "crate/src/store/inner.rs"],
  ["crate/src/store.rs", "mod a { mod b { use super::super::super::net; } }", "crate/src/net/mod.rs"],
  ["crate/src/store.rs", "mod a { use super::super::*; }", "crate/src/lib.rs"],
  ["crate/src/store.rs", "use super::*;", "crate/src/lib.rs"],
  ["crate/src/store.rs", "use Row::*;", "crate/src/store.rs"],
  ["crate/src/store.rs", "use crate::Shape::{Circle, Square};", "crate/src/lib.rs"],
  ["crate/src/lib.rs", "mod gone;", "missing"],
  ["crate/src/store.rs", "mod deep { mod inner; }", "missing"],
  ["crate/src/lib.rs", "mod store { mod inner; }", "crate/src/store/inner.rs"],
  ["crate/src/main.rs", "use my_shop::store::Row;", "crate/src/store.rs"],
  ["crate/src/main.rs", "use crate::Options;", "crate/src/main.rs"],
  ["crate/tests/it.rs", "use my_shop::top;", "crate/src/lib.rs"],
  ["crate/tests/it.rs", "use crate::common::setup;", "crate/tests/common/mod.rs"],
  ["crate/src/bin/tool.rs", "use my_shop::{net, store::inner};", "crate/src/net/mod.rs"],
  ["crate/src/lib.rs", "use engine::Thing;", "engines/fast/code/root.rs"],
  ["engines/fast/code/part.rs", "use engine::part;", "engines/fast/code/part.rs"],
  [
    "src/main/java/com/example/Cart.java",
    "import com.example.prices.Price;",
    "src/main/java/com/example/prices/Price.java",
  ],
  [
    "src/main/java/com/example/Cart.java",
    "import com.example.prices.*;",
    "src/main/java/com/example/prices/Price.java src/main/java/com/example/prices/Rule.java",
  ],
  ["src/main/java/com/example/Cart.java", "import java.util.List;", "builtin"],
  ["src/main/kotlin/com/example/Shop.kt", "import com.example.Cart", "src/main/java/com/example/Cart.java"],
  ["app/helpers.php", "<?php use App\\Models\\Item;", "app/Models/Item.php"],
  ["app/Models/Item.php", "<?php require __DIR__ . '/../helpers.php';", "app/helpers.php"],
  ["app/helpers.php", "<?php use Psr\\Log\\Logger;", "external"],
  ["src/engine.cpp", '#include "engine.h"', "src/engine.h"],
  ["src/engine.cpp", "#include <engine/unit.h>", "include/engine/unit.h"],
  ["src/engine.cpp", "#include <vector>", "builtin"],
  ["src/engine.cpp", '#include "gone.h"', "missing"],
  ["lib/shop/cart.rb", 'require_relative "prices/rule"', "lib/shop/prices/rule.rb"],
  ["lib/shop/prices/rule.rb", 'require "shop/cart"', "lib/shop/cart.rb"],
  ["lib/shop/cart.rb", 'require "json"', "external"],
  ["lib/shop/cart.rb", 'require_relative "gone"', "missing"],
  ["lua/cart.lua", 'local p = require("shop.prices")', "lua/shop/prices.lua"],
  ["bin/deploy.sh", 'source "$(dirname "$0")/env.sh"', "bin/env.sh"],
  ["web/site.css", '@import url("base.css");', "web/base.css"],
  ["Shop/Cart.cs", "using Shop.Prices;", "Shop/Prices/Price.cs"],
  ["Shop/Cart.cs", "using System.Text;", "builtin"],
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
  const graph = await graphOf(
    read.map(([name, facts]) => [name, unpack(pack(facts, Buffer.alloc(0)))] as const),
    resolver,
  );
  deepEqual(cycles(graph), []);
  deepEqual(graph.dependents, new Map([["src/a.rs", ["src/lib.rs"]]]));
});

test("TODO comments in the body of a SQL function are found, between whatever dollar signs", () => {
  const text =
    "CREATE FUNCTION f() AS $b$\nBEGIN\n  -- TODO one; it's\n  x := 'TODO no';\n/* FIXME two */\nEND;\n$b$;\n-- HACK three";
  deepEqual(scanLanguage("a.sql", text).todos, [
    { line: 3, text: "TODO one; it's" },
    { line: 5, text: "FIXME two" },
    { line: 8, text: "HACK three" },
  ]);
  const noise = Array.from({ length: 20_000 }, (_, at) => `$a${at}$`).join(" ") + " ".repeat(100_000);
  ok(Array.isArray(scanLanguage("a.sql", `GO${noise}x`).symbols));
});

test("a class or an id stands where a page uses it, not in its text, nor in a longer name", () => {
  const page =
    '<style>.btn{}</style><!-- btn --><a class="btn-x btn" title="btn" id=\'btn\'>btn</a><script>btn(btn - 1)</script>';
  deepEqual(
    placesOf("a.html", page, "btn").map(({ start }) => page.slice(start - 2, start + 4)),
    ['x btn"', "='btn'", "t>btn(", "n(btn "],
  );
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
      const half = scanLanguage(file, text.slice(0, 0.7 * text.length));
      ok(half.symbols.length > 0 && !half.unread, half.unread);
      const noise = Array.from({ length: 2_000 }, (_, at) => String.fromCharCode((at * 7919) % 0x3000)).join("");
      for (const other of [SAMPLES["src/lib.rs"]!, noise, "", "\ufeff", "{".repeat(5_000), "(".repeat(5_000)])
        ok(Array.isArray(scanLanguage(file, other).symbols));
      equal(scanLanguage(file, text).symbols.length, linesOf(EXPECTED[file]!.defines).length, "the parser goes on");
    });

  test("what is not understood is told by its line, and the rest is read", () => {
    const facts = scanLanguage("a.py", "def one(): pass\n\nclass (:\n\ndef two(): pass\n");
    match(facts.parseError!, /^line [34] is not understood$/);
    deepEqual(
      facts.symbols.map(({ name }) => name),
      ["one", "two"],
    );
  });

  test("what takes too long is listed, and the parser goes on", () => {
    const facts = scanLanguage("a.go", `${"(".repeat(60)}\n`.repeat(3_000), 0.2);
    deepEqual([facts.unread, MAX_PARSE_S], ["its Go takes more than 0.2 s to parse", 4]);
    equal(scanLanguage("b.go", "package b\n\nfunc Two() {}\n").symbols[0]!.name, "Two");
  });

  const where = place();
  const rowOf = (name: string, bytes: Buffer | string) => {
    fs.writeFileSync(join(where.cwd, name), bytes);
    return readRow(where.cwd, name)!;
  };

  for (const [what, bytes] of [
    ["Latin-1", Buffer.from("# caf\xe9\ndef caller(): pass\n", "latin1")],
    ["UTF-16", Buffer.from("\ufeff# café\ndef caller(): pass\n", "utf16le")],
  ] as const)
    test(`a file in ${what} is read`, () => {
      const row = Buffer.from(rowOf("enc.py", bytes).text);
      deepEqual(defined(unpack(row)), ["2-2 function caller"]);
      ok(wordsOf(row).hashes.includes(wordHash(stem("caller"))), "its words count");
    });

  test("a grammar that does not load names its language, and the file is looked at again", () => {
    const broken = { ...languageOf("a.py")!, query: "(no_such_node) @class" };
    match(String(grammarOf(broken, "no-such")), /^the grammar of Python cannot be loaded: /);
  });
});

async function says(it: Harness, tool: string, args: object, expected: RegExp | string): Promise<void> {
  const { text } = await it.call(tool, args);
  if (typeof expected === "string") equal(text.trimEnd(), expected);
  else match(text, expected);
}

describe("The program", () => {
  test("answers in a Python project", async () => {
    const it = await warm({
      "shop/cart.py": SAMPLES["shop/cart.py"]!,
      "shop/prices.py": "RULES = []\n",
      "shop/app.py": 'from shop.cart import price_of\n\nprint(price_of(1), "price_of")  # price_of\n',
    });
    await says(it, "find_definition", { symbol: "Cart.total" }, "shop/cart.py:25: def total(self) -> int");
    await says(
      it,
      "find_references",
      { symbol: "price_of" },
      [
        "[By name: what else is called price_of counts too, since Python is not read by meaning]",
        "shop/app.py:1: from shop.cart import price_of  [import]",
        'shop/app.py:3: print(price_of(1), "price_of")  # price_of',
        'shop/cart.py:29: return sum(f"{price_of(item)}" for item in self.items)',
        "shop/cart.py:41: def price_of(item: Item) -> int:  [definition]",
      ].join("\n"),
    );
    await says(
      it,
      "rename_symbol",
      { symbol: "price_of", to: "x" },
      /Cannot rename 'price_of' to 'x': only TypeScript and /,
    );
    await says(
      it,
      "repo_map",
      { query: "price rule", tokens: 300 },
      /^shop\/cart\.py:41: def price_of\(item: Item\) -> int$/m,
    );
    await says(it, "get_dependents", { path: "shop/cart.py" }, "shop/app.py:1: shop.cart");
  });

  test("answers in a Go project", async () => {
    const it = await warm({
      "go.mod": "module example.com/shop\n",
      "server/main.go": SAMPLES["server/main.go"]!,
      "internal/store/open.go": "package store\n\n// Open opens it.\nfunc Open(addr string) error { return nil }\n",
    });
    await says(
      it,
      "find_definition",
      { symbol: "Server.Start" },
      "server/main.go:44: func (s *Server) Start(ctx context.Context) error  // Start listens, until it is told to stop.",
    );
    await says(it, "get_dependencies", { path: "server/main.go" }, /store → internal\/store\/open\.go$/m);
    await says(it, "get_function", { name: "Open" }, /^4\tfunc Open\(addr string\) error/m);
  });
});
