// Loaded before each test file: switches off the hooks by which node:test tells which test an uncaught error belongs to.
// They follow every promise, which takes up to a fifth of the time. Such an error still fails its file.
import { createHook } from "node:async_hooks";

Object.getPrototypeOf(createHook({})).enable = function (): unknown {
  return this;
};
