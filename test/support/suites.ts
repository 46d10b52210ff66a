// Which test files have a process of their own, and which of `npm run test:all` the CI runs.

/** Long ones, and those that start many programs or change their process; the longest first, so that none runs alone at the end. */
export const APART =
  `security/git-hostile plugins/install/install plugins/writing/writing plugins/search/search plugins/shell/effects e2e/symbols plugins/git/git
  security/canary security/planted-files e2e/readme kernel/plugin-lifecycle plugins/shell/sandbox plugins/shell/exec security/compiler-reads
  security/hangs security/permissions e2e/packages plugins/symbols/indexing security/plugins-and-servers plugins/read-tools kernel/undo
  e2e/one-shot plugins/shell/ways plugins/window/window`.split(/\s+/);

/** Files of test/all that take two minutes together. */
export const SLICE: string[] = [];
