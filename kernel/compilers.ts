// The gate for compilers, which read wherever an import leads.
import path from "node:path";
import type { CompilerGate, CompilerRules, MakeCompilerGate } from "./contract.ts";
import type { Core } from "./core.ts";
import { followLinks } from "./disk.ts";
import { judge } from "./rules.ts";
import { holdsSecret } from "./secret-files.ts";
import { isInside } from "./text.ts";

const MAX_PATH_DEPTH = 1_000;
const MODULES = `${path.sep}node_modules${path.sep}`;
const TYPES = /\.d\.(?:[\w-]+\.)?[cm]?ts$/;

/** Plain data, with no key in it. `module`: this one, as it is loaded there. */
export function compilerRules({ rules, options }: Pick<Core, "rules" | "options">, module: string): CompilerRules {
  const { root, home, allow, deny, settings } = options;
  const { projects, permissions } = settings;
  return structuredClone({ module, rules, where: { root, home, allow, deny, settings: { projects, permissions } } });
}

/** `own`: the files and folders of zz itself, which may always be read. `near`: those of what is checked, which may be read though they lie
 * outside of the project, unless they are denied or hold secrets. */
export const compilerGate: MakeCompilerGate = ({ rules, where }, { own = [], near = [] } = {}): CompilerGate => {
  const options = where as Core["options"];
  const core = { rules: [...rules], options };
  const root = followLinks(options.root);
  const [mine, nearby] = [own.map(followLinks), near.map(followLinks)];
  const anchors = [root, ...mine, ...nearby];
  const known = new Map<string, string | undefined>();
  const said = new Map<string, string>();
  return {
    mayRead(file) {
      const why = whyNot(file, false);
      if (why) note(shown(file), why);
      return !why;
    },
    mayLookUp(file) {
      const why = whyNot(file, true);
      if (why && isAround(file)) note(shown(file), why); // elsewhere it would tell what is there
      return !why;
    },
    mayList,
    leadsOut(name, file) {
      const isPackages = isInstalled(file) && isInstalled(followLinks(path.dirname(file)) + path.sep); // no link on its way
      const why = isPackages ? undefined : whyNot(file, true);
      if (why) note(name, why);
    },
    unread: () => [...said].map(([file, why]) => `'${file}' ${why}: not read.`),
    again() {
      known.clear();
      said.clear();
    },
  };

  function note(name: string, why: string): void {
    if (said.size < MAX_UNREAD_NAMED) said.set(name, why);
  }
  function shown(file: string): string {
    return isInside(options.root, file) ? path.relative(options.root, file) : file;
  }

  /** Undefined: it may be read. `lookUp`: only to find out where an import leads. */
  function whyNot(file: string, lookUp: boolean): string | undefined {
    const key = `${lookUp ? "?" : ""}${file}`;
    if (!known.has(key)) known.set(key, weigh(file, lookUp));
    return known.get(key);
  }
  function weigh(file: string, lookUp: boolean): string | undefined {
    if (file.includes("\0") || file.split("/").length > MAX_PATH_DEPTH) return "is not a path";
    const real = followLinks(file);
    if (mine.some((one) => isInside(one, real))) return undefined;
    const { verdict, why } = judge(core, "read", real);
    if (verdict === "allow") return undefined;
    if (verdict === "deny") return `is denied ${why}`;
    if (holdsSecret(real)) return "may hold secrets";
    if (nearby.some((one) => isInside(one, real))) return undefined;
    const isTypes = TYPES.test(real) || (lookUp && path.basename(real) === "package.json");
    if (isTypes && isInstalled(real)) return undefined;
    return isInside(root, real) ? why || "has to be asked for" : "lies outside of the project";
  }
  /** In a node_modules of the folders above what is checked: there a workspace keeps its packages. */
  function isInstalled(real: string): boolean {
    const at = real.indexOf(MODULES);
    return at >= 0 && anchors.some((one) => isInside(real.slice(0, at) || path.sep, one));
  }

  function mayList(folder: string): boolean {
    const real = followLinks(folder);
    if (isInstalled(real + path.sep) || mine.some((one) => isInside(one, real))) return true;
    const { verdict } = judge(core, "read", real);
    return verdict === "allow" || (verdict === "ask" && nearby.some((one) => isInside(one, real)));
  }
  /** Whether it may be known that something is there, by its own name: it is in what is checked, or where packages are. */
  function isAround(file: string): boolean {
    return [options.root, ...own, ...near, ...anchors].some((one) => isInside(one, file)) || isInstalled(file);
  }
};
const MAX_UNREAD_NAMED = 20;
