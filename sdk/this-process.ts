// The handle of a process: what `import { zz } from "zz"` gives in a script of `zz --run`, or in a
// program.
import type { Script } from "./script.ts";

const SCRIPT_KEY = Symbol.for("zz.script");
const globalHolder = globalThis as { [SCRIPT_KEY]?: Script | Promise<Script> };

/** Makes this the handle of the process. */
export const holdScript = (scriptHandle: Script): void =>
  void Object.defineProperty(globalHolder, SCRIPT_KEY, { value: scriptHandle, configurable: true });

/** The handle of `zz --run`, or else one that is opened when something is first asked of it. */
export function scriptOfProcess(openHandle: () => Promise<Script>): Script {
  const getHandle = async () => (globalHolder[SCRIPT_KEY] ??= openHandle());
  return {
    get args() {
      return (
        (globalHolder[SCRIPT_KEY] as Partial<Script> | undefined)?.args ?? process.argv.slice(2)
      );
    },
    stdin: async () => (await getHandle()).stdin(),
    ask: async (promptText: string, options?: any): Promise<any> =>
      (await getHandle()).ask(promptText, options),
    chat: async (options) => (await getHandle()).chat(options),
    call: async (toolName, args) => (await getHandle()).call(toolName, args),
    each: async (items, askAbout, options) => (await getHandle()).each(items, askAbout, options),
  };
}
