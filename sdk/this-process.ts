// The handle of a process: what `import { zz } from "zz"` gives in a script of `zz --run`, or in a
// program.
import type { Script } from "./script.ts";

const SCRIPT = Symbol.for("zz.script");
const holder = globalThis as { [SCRIPT]?: Script | Promise<Script> };

/** Makes this the handle of the process. */
export const holdScript = (handle: Script): void =>
  void Object.defineProperty(holder, SCRIPT, { value: handle, configurable: true });

/** The handle of `zz --run`, or else one that is opened when something is first asked of it. */
export function scriptOfProcess(open: () => Promise<Script>): Script {
  const handle = async () => (holder[SCRIPT] ??= open());
  return {
    get args() {
      return (holder[SCRIPT] as Partial<Script> | undefined)?.args ?? process.argv.slice(2);
    },
    stdin: async () => (await handle()).stdin(),
    ask: async (text: string, options?: any): Promise<any> => (await handle()).ask(text, options),
    chat: async (options) => (await handle()).chat(options),
    call: async (tool, args) => (await handle()).call(tool, args),
    each: async (items, ask, options) => (await handle()).each(items, ask, options),
  };
}
