// Which test files have a process of their own, and which of `npm run test:all` the CI runs.

/** Long ones, and those that start many programs or change their process; the longest first, so that none runs alone at the end. */
export const APART =
  `plugins/symbols/indexing security/canary plugins/writing/writing e2e/symbols plugins/read-tools plugins/install/install plugins/search/search
  plugins/git/git e2e/one-shot plugins/shell/effects security/permissions plugins/shell/exec kernel/undo security/compiler-reads plugins/shell/ways
  kernel/plugin-lifecycle security/plugins-and-servers security/hangs security/git-hostile plugins/shell/sandbox plugins/window/window e2e/readme
  security/planted-files`.split(/\s+/);

/** Files of test/all that take less than two minutes together. */
export const SLICE =
  `e2e/build e2e/kill-effects e2e/kill-turn e2e/packages e2e/readme e2e/symbols e2e/temporary-folders e2e/write-plugin kernel/house kernel/power-cut
  plugins/shell/asks plugins/servers-under-load plugins/shell/effects-property plugins/window sdk/package security/smuggling`
    .split(/\s+/)
    .map((name) => `test/all/${name}.test.ts`);
