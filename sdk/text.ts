/**
 * `import { plural, clip } from "zz/text"`: the words that zz itself uses, for plugins. They depend on nothing but Node, and
 * on string-width for what a terminal shows.
 */
export { codeOf, errnoSentence, fault, usage } from "../kernel/faults.ts";
export {
  byName,
  CHARS_PER_TOKEN,
  clean,
  cleanRendered,
  compare,
  entriesOf,
  isInside,
  jsonOrText,
  nearest,
  oneLine,
  plural,
  shorten,
  stampOf,
  textOf,
  tokensOf,
  tryTo,
  unknown,
} from "../kernel/text.ts";
export { clip, terminalColumns, width, wrap } from "../kernel/width.ts";
