// Which test files there are, which have a process of their own, and which of `npm run test:all`
// the CI runs.
import { globSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..", "..");

/** What `npm test` runs, and with `all` what `npm run test:all` adds. A package has its tests
 * beside it. */
export function testFiles(all: boolean): string[] {
  const files = [
    "test/{kernel,sdk,plugins,security,e2e}/**/*.test.ts",
    "packages/*/test/**/*.test.ts",
  ];
  const isOfAll = (file: string) => /^packages\/[^/]+\/test\/all\//.test(file);
  const found = globSync([...files, ...(all ? ["test/all/**/*.test.ts"] : [])], { cwd: ROOT });
  return found.filter((file) => all || !isOfAll(file)).sort();
}

/** Long ones, and those that start many programs or change their process; the longest first, so
 * that none runs alone at the end. */
export const APART = `security/canary e2e/symbols plugins/read-tools plugins/search/search
  packages/git/test/git e2e/one-shot plugins/shell/effects security/permissions plugins/shell/exec kernel/undo security/compiler-reads plugins/shell/ways
  kernel/plugin-lifecycle security/plugins-and-servers security/hangs security/git-hostile plugins/shell/sandbox plugins/window/window e2e/readme
  security/planted-files`.split(/\s+/);

/** Files that only `npm run test:all` has, which take less than two minutes together. */
const ALL = `e2e/build e2e/kill-effects e2e/kill-turn e2e/packages e2e/readme e2e/symbols e2e/temporary-folders e2e/write-plugin kernel/house kernel/power-cut
  plugins/shell/asks plugins/servers-under-load plugins/shell/effects-property plugins/window sdk/package security/smuggling`;
const PACKAGES = `acp/acp cassette/cassette debug/debug each/batch each/reduce env/env eval/eval install/commands mcp/login mcp/serve memory/memory
  setup/setup symbols/indexing symbols/rank symbols/unread text-calls/other-names web/fetch writing/writing`;
const inPackage = (name: string): string => name.replace("/", "/test/all/");
export const SLICE = [
  ...ALL.split(/\s+/).map((name) => `test/all/${name}.test.ts`),
  ...PACKAGES.split(/\s+/).map((name) => `packages/${inPackage(name)}.test.ts`),
];
