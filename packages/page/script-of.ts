// Functions as a script for a browser, and what a policy says so that only it runs.
import { createHash } from "node:crypto";

/** The first one is called. `__name` is what tsx puts around functions. */
export const scriptOf = (functions: ((...parameters: never[]) => unknown)[]): string =>
  [
    '(()=>{"use strict";const __name=(f)=>f;',
    ...functions.map(String),
    `${functions[0]!.name}();})();`,
  ].join("\n");

/** How a content security policy names a text that may stand in the page. */
export const allowed = (pageText: string): string =>
  `'sha256-${createHash("sha256").update(pageText).digest("base64")}'`;
