// Loaded before each test file: what was compiled once, TypeScript too, is not compiled again by the next of 150 processes.
import { enableCompileCache } from "node:module";

enableCompileCache();
