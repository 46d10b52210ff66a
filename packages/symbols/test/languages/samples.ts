// A file of each language that is read by a grammar or by hand, as people write them.

export const SAMPLES: Record<string, string> = {
  "shop/cart.py": `"""A cart."""
from __future__ import annotations

import json
import os.path as osp
from collections import defaultdict, OrderedDict as Ordered
from . import prices
from .models.item import Item
_cache: dict[str, int] = {}
@dataclass
class Cart(Base, metaclass=Meta):
    currency: str = "EUR"
    def __init__(self, owner: str) -> None:
        self.owner = owner
    @property
    def total(self) -> int:
        # TODO: discounts
        if not self.items or self.owner == "nobody":
            return 0
        return sum(f"{price_of(item)}" for item in self.items)
    async def _save(
        self,
        path: str,
    ) -> None:
        def encode(it):
            return json.dumps(it)
        await write(path, encode(self))
def price_of(item: Item) -> int:
    for rule in prices.RULES:
        if rule.fits(item):
            return rule.price
    return 0
`,
  "server/main.go": `// Package server answers requests.
package server
import (
	"net/http"
	log "github.com/sirupsen/logrus"
	"example.com/shop/internal/store"
)
const MaxConns = 10
const stateIdle = 1
var defaultName, other = "zz", 1
type Handler interface {
	Serve(w http.ResponseWriter) error
}
type Server struct {
	Addr string
	mu   sync.Mutex
}
type ID string
type Pair[K comparable, V any] struct{}
func New(addr string) *Server { return nil }
// Start listens.
func (s *Server) Start(ctx context.Context) error {
	// FIXME: the backlog
	for i := 0; i < MaxConns; i++ {
		if i%2 == 0 && s.Addr != "" {
		} else if i > 5 {
			continue
		}
	}
	return store.Open(s.Addr)
}
func (p Pair[K, V]) first() K { return p.Key }
`,
  "src/lib.rs": `//! A library.
use std::collections::HashMap;
use crate::store::{self, Row, inner::{Page as P, *}};
mod store;
pub const LIMIT: usize = 10;
static mut COUNTER: u32 = 0;
#[derive(Debug, Clone)]
pub struct Point<T> {
    pub x: T,
}
pub enum Shape {
    Square(f64),
}
pub trait Area {
    const UNIT: &'static str;
    fn area(&self) -> f64;
    fn double(&self) -> f64 {
        self.area() * 2.0
    }
}
impl<T: Copy> Point<T> {
    pub fn new(x: T, y: T) -> Self {
        // HACK: no check
        Point { x, y }
    }
}
impl Area for Shape {
    fn area(&self) -> f64 {
        match self {
            Shape::Square(side) if *side > 0.0 && *side < 9.0 => side * side,
            _ => 0.0,
        }
    }
}
type Pair = (Point<i32>, Point<i32>);
macro_rules! square {
    ($x:expr) => { $x * $x };
}
pub(crate) async fn load<'a>(name: &'a str) -> Result<P, Error> {
    let rows = HashMap::new();
    fn inner() {}
    store::read(name, rows).await
}
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn squares() { assert_eq!(square!(2), 4); }
}
`,
  "src/main/java/com/example/shop/Cart.java": `package com.example.shop;
import java.util.List;
import static java.util.stream.Collectors.toList;
import com.example.shop.prices.*;
@Entity(name = "carts")
public class Cart extends Base implements Priced, Comparable<Cart> {
    public static final int MAX = 100;
    private List<Item> items;
    public Cart(String owner) {}
    @Override
    public int total() {
        // TODO: discounts
        for (Item item : items) {
            if (item.price() > MAX || item.isFree()) continue;
        }
        return items.size();
    }
    private static <T> T first(List<T> all) { return all.get(0); }
    enum State { OPEN, PAID }
    interface Listener { void changed(Cart cart); }
}
record Line(Item item, int count) {}
@interface Audited { String value(); }
`,
  "src/list.c": `#include <stdio.h>
#include "list.h"
#define LIST_MAX 64
#define EACH(list, it) for (node *it = (list)->head; it; it = it->next)
typedef struct node {
    int value;
    struct node *next;
} node;
struct list { node *head; };
enum color { RED, GREEN = 2 };
typedef int (*compare_fn)(const void *, const void *);
static int counter = 0;
/* Makes one.
 * Never NULL. */
struct list *list_new(void)
{
    /* TODO: an arena */
    if (counter > LIST_MAX && counter)
        return NULL;
    return calloc(1, sizeof(struct list));
}
static inline size_t list_len(const struct list *l) {
    size_t n = 0;
    EACH(l, it) n++;
    return n;
}
`,
  "src/engine.cpp": `#include "engine.hpp"
#include <vector>
namespace game {
using Clock = std::chrono::steady_clock;
class Unit : public Base {
public:
    explicit Unit(std::string name);
    virtual ~Unit() = default;
    int health() const { return 1; }
    void move(int dx, int dy);
};
template <typename T>
struct Grid {
    std::vector<T> cells;
    T &at(int x, int y) {
        // FIXME: bounds
        return cells[y * width + x];
    }
};
enum class Side { Left, Right };
void Unit::move(int dx, int dy) {
    while (dx > 0) {
        if (dx == 1 || dy == 1) break;
    }
}
template <typename T>
T clamp(T value, T low, T high) { return value < low ? low : value; }
}  // namespace game
`,
  "Shop/Cart.cs": `using System;
using Price = Shop.Prices.Price;
namespace Shop.Orders
{
    [Serializable]
    public class Cart : Base, IPriced
    {
        private readonly List<Item> items = new();
        public string Owner { get; set; }
        public event EventHandler Changed;
        public Cart(string owner) => Owner = owner;
        // TODO: discounts
        public async Task<int> TotalAsync(int limit)
        {
            foreach (var item in items)
                if (item.Price > limit && item.IsFree) return 0;
            return await SumAsync($"{Owner}");
        }
        public enum State { Open, Paid }
    }
    public interface IPriced { int Price { get; } }
    public struct Line { public int Count; }
    public delegate void Handler(object sender);
}
`,
  "lib/shop/cart.rb": `# frozen_string_literal: true
require "json"
require_relative "prices/rule"
module Shop
  class Cart < Base
    attr_reader :items, :owner
    # The sum of all prices.
    def total
      # TODO: discounts
      return 0 unless items && items.any?
      items.each { |item| price_of(item) if item }
    end
    def self.open(path) = new(path)
    private
    def secret? = true
  end
end
def helper(x) = x + 1
`,
  "src/Cart.php": `<?php
namespace App\\Shop;
use App\\Models\\{Item, Person as Someone};
use Psr\\Log\\LoggerInterface;
require_once __DIR__ . '/helpers.php';
define('LIMIT', 10);
#[Entity]
final class Cart extends Base implements Priced
{
    use Loggable;
    public const MAX = 100;
    private array $items = [];
    public function __construct(private LoggerInterface $log) {}
    public function total(int $limit): int
    {
        // TODO: discounts
        foreach ($this->items as $item) {
            if ($item->price > $limit || !$item->free) return 0;
        }
        return array_sum($this->items);
    }
    private static function first(array $all): ?Item { return $all[0]; }
}
interface Priced { public function price(): int; }
trait Loggable { protected function log(string $line): void {} }
enum State: string { case Open = 'open'; case Paid = 'paid'; }
function helper(int $x): int { return $x + 1; }
`,
  "app/Cart.kt": `package com.example.shop
import com.example.model.Item
import com.example.prices.priceOf as cost
@Serializable
data class Cart(val owner: String, private val items: List<Item>) : Base(), Priced {
    val size: Int get() = items.size
    override fun total(limit: Int): Int {
        // TODO: discounts
        for (item in items) {
            if (item.price > limit && item.isFree) return 0
        }
        return cost("\${items.first()}")
    }
    private suspend fun save() {}
    companion object {
        fun open(path: String): Cart = Cart(path, emptyList())
    }
}
interface Priced { fun price(): Int }
sealed class State { object Open : State() }
enum class Side { LEFT, RIGHT }
typealias Carts = List<Cart>
fun Cart.describe(): String = "cart of $owner"
fun helper(x: Int) = x + 1
`,
  "Sources/Shop/Cart.swift": `import Foundation
@testable import Models
@MainActor
public final class Cart: Base, Priced {
    public var owner: String
    private let items: [Item] = []
    init(owner: String) {}
    public func total(limit: Int) async throws -> Int {
        // TODO: discounts
        for item in items where item.price > limit {
            if item.isFree || item.price == 0 { return 0 }
        }
        return try await sum("\\(owner)")
    }
    private static func first<T>(_ all: [T]) -> T { all[0] }
}
protocol Priced {
    var price: Int { get }
    func pay() -> Bool
}
enum State: String { case open, paid }
extension Cart { func describe() {} }
typealias Carts = [Cart]
func helper(_ x: Int) -> Int { x + 1 }
`,
  "bin/deploy.sh": `#!/usr/bin/env bash
source "$(dirname "$0")/lib/common.sh"
. ./env.sh
readonly TARGET="prod"
build() {
  local out=dist
  # TODO: cache
  if [[ -d "$out" && -w "$out" ]]; then
    rm -r "$out"
  fi
}
function deploy {
  for host in $HOSTS; do copy "$host"; done
}
`,
  "lua/cart.lua": `local json = require("cjson")
local prices = require "shop.prices"
local M = {}
function M.new(owner)
  local self = setmetatable({}, M)
  return self
end
function M:total(limit)
  -- TODO: discounts
  for _, item in ipairs(self.items) do
    if item.price > limit and item.free then
      return 0
    end
  end
  return prices.sum(self.items)
end
M.close = function(self) end
function global_one() end
return M
`,
  "db/schema.sql": `CREATE SCHEMA shop;
/* What a person wants to buy. */
CREATE TABLE IF NOT EXISTS shop.carts (
  id serial PRIMARY KEY,
  owner text NOT NULL DEFAULT 'nobody; really', -- TODO: a foreign key
  "made at" timestamptz,
  CONSTRAINT positive CHECK (id > 0)
);
CREATE OR REPLACE VIEW open_carts AS
  SELECT c.id FROM shop.carts c WHERE c.paid IS NULL;
CREATE FUNCTION total(cart_id int) RETURNS int AS $$
BEGIN
  CREATE TEMP TABLE inner_one (x int);
  RETURN (SELECT sum(price) FROM lines WHERE cart = cart_id);
END;
$$ LANGUAGE plpgsql;
CREATE TYPE mood AS ENUM ('sad', 'ok');
`,
  "web/site.css": `@import url("base.css");
@import "theme/dark.css" screen;
:root {
  --accent: #c33; /* TODO: a better red */
}
.button,
.button--large:hover > .icon {
  color: var(--accent);
}
#main .card { padding: 1em; }
@media print { .card { padding: 0; } }
@keyframes spin { to { color: red; } }
`,
  "web/index.html": `<html>
    <link rel="stylesheet" href="site.css">
    <script type="module" src="./main.js"></script>
    <!-- TODO: an icon -->
    <main id="main"><form id="search" name="q"></form></main>
    <script>
      function start(count) {
        if (count) return count;
      }
    </script>
</html>
`,
  "web/CartView.vue": `<script setup lang="ts">
import { ref } from "vue";
import ItemRow from "./ItemRow.vue";
import { priceOf } from "./prices";
// TODO: discounts
const props = defineProps<{ owner: string }>();
const items = ref<string[]>([]);
function total(limit: number): number {
  return items.value.length ? priceOf(limit) : 0;
}
</script>
<template>
  <!-- FIXME: a list -->
  <ItemRow v-for="item in items" :key="item" @remove="total(1)" />
  <p>{{ total(3) }}</p>
</template>
`,
  "web/Cart.svelte": `<script context="module">
  export const prerender = true;
</script>
<script lang="ts">
  import Row from "./Row.svelte";
  export let owner: string;
  const total = (limit: number) => limit + 1;
</script>
<!-- TODO: a list -->
{#if owner}
  <Row on:click={() => total(2)} />
{/if}
`,
};
