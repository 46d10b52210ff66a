// Turns functions into a script for a browser, and names it in the content security policy.
import { createHash } from "node:crypto";

/** Calls the first function. tsx wraps functions in `__name`, so the script defines it. */
export const scriptOf = (functions: ((...parameters: never[]) => unknown)[]): string =>
  [
    '(()=>{"use strict";const __name=(f)=>f;',
    ...functions.map(String),
    `${functions[0]!.name}();})();`,
  ].join("\n");

/** The hash by which a content security policy allows an inline text. */
export const allowed = (pageText: string): string =>
  `'sha256-${createHash("sha256").update(pageText).digest("base64")}'`;
