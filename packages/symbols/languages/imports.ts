// What the text of an import says: from where, and which names.
import type { Import } from "../scan/facts.ts";

type Taken = Pick<Import, "from" | "names"> & { how?: Import["how"] };

export const importsIn = (language: string, text: string, line: number): Import[] =>
  (READERS[language]?.(text.trim()) ?? [])
    .filter(({ from }) => from)
    .map(({ from, names, how = "import" }) => ({ from: from.slice(0, 200), line, how, names }));

const quoted = (text: string): string => /["'`]([^"'`]*)["'`]/.exec(text)?.[1] ?? "";
const listOf = (text: string): string[] =>
  text
    .replace(/[(){}\\]/g, " ")
    .split(",")
    .map((one) => one.replace(/#.*/g, "").trim().replace(/\s+/g, " "))
    .filter(Boolean);
/** The last part of a dotted name is what it brings in. */
function lastOf(text: string, separator: string, as?: string): Taken {
  const at = text.lastIndexOf(separator);
  const [from, name] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
  const unnamed = name === "*" ? ["*"] : [];
  return {
    from: text,
    names: as && name ? [`${name} as ${as}`] : unnamed,
    ...(name === "*" && { from }),
  };
}

function python(text: string): Taken[] {
  const [, from, names = ""] = /^from\s+([\w.]+)\s+import\s+([\s\S]*)$/.exec(text) ?? [];
  if (from) return [{ from, names: listOf(names) }];
  return listOf(text.replace(/^import\s+/, "")).map((one) => {
    const [from = "", as] = one.split(" as ");
    return { from, names: as ? [`* as ${as}`] : [] };
  });
}

/** `use a::{b, c::{d as e, *}};` is one import of each path. */
function rust(text: string): Taken[] {
  const [, module] = /^(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)/.exec(text) ?? [];
  if (module) return [{ from: `self::${module}`, names: [] }];
  const how = /^pub\b/.test(text) ? ("export" as const) : ("import" as const);
  const tree = text.replace(/^(?:pub(?:\([^)]*\))?\s+)?use\s+/, "").replace(/;$/, "");
  const all = new Map<string, string[]>();
  expand("", tree.replace(/\s+/g, " "));
  return [...all].map(([from, names]) => ({ from, names, how }));

  function expand(prefix: string, rest: string): void {
    const brace = rest.indexOf("{");
    if (brace >= 0)
      for (const part of parts(rest.slice(brace + 1, rest.lastIndexOf("}"))))
        expand(prefix + rest.slice(0, brace), part);
    else {
      const path = (prefix + rest).replace(/ /g, (blank, at, all) =>
        / as /.test(all.slice(at - 3, at + 4)) ? blank : "",
      );
      const [whole = "", as] = path.split(" as ");
      const at = whole.lastIndexOf("::");
      const [from, name] = at < 0 ? [whole, ""] : [whole.slice(0, at), whole.slice(at + 2)];
      const known = all.get(from) ?? all.set(from, []).get(from)!;
      if (name) known.push(as ? `${name} as ${as}` : name);
    }
  }
}
/** At the commas that are in no inner braces. */
function parts(text: string): string[] {
  const found = [""];
  let depth = 0;
  for (const letter of text) {
    if (letter === "{") depth++;
    else if (letter === "}") depth--;
    if (letter === "," && !depth) found.push("");
    else found[found.length - 1] += letter;
  }
  return found.map((one) => one.trim()).filter(Boolean);
}

function php(text: string): Taken[] {
  if (!/^use\b/.test(text)) return [{ from: quoted(text), names: [], how: "require" }];
  const list = text.replace(/^use\s+(?:function\s+|const\s+)?/, "").replace(/;$/, "");
  const [, prefix, inner] = /^([^{]*)\{([\s\S]*)\}$/.exec(list) ?? [];
  const names =
    inner === undefined ? listed(list) : listed(inner).map((one) => `${prefix!.trim()}${one}`);
  return names.map((one) => {
    const [from = "", as] = one.split(/\s+as\s+/);
    return lastOf(from.replace(/^\\/, ""), "\\", as);
  });
}
const listed = (text: string): string[] =>
  text
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);

/** Of a shell: what it is relative to is often computed. */
const shell = (text: string): string =>
  text
    .replace(/^\S+\s+/, "")
    .replace(/\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|\$\w+/g, ".")
    .replace(/["']/g, "")
    .replace(/^\/?\.\//, "./")
    .split(/\s/)[0]!;

const READERS: Record<string, (text: string) => Taken[]> = {
  Python: python,
  Rust: rust,
  PHP: php,
  Go: (text) => {
    const [, name] = /^([\w.]+)\s/.exec(text) ?? [];
    return [{ from: quoted(text), names: name ? [`* as ${name}`] : [] }];
  },
  Java: (text) => [lastOf(text.replace(/^import\s+(?:static\s+)?|\s*;$/g, ""), ".")],
  Kotlin: (text) => {
    const [from = "", as] = text.replace(/^import\s+|\s*;$/g, "").split(/\s+as\s+/);
    return [lastOf(from, ".", as)];
  },
  Swift: (text) => [
    {
      from: text.replace(
        /^(?:@\w+\s+)*import\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?/,
        "",
      ),
      names: [],
    },
  ],
  "C#": (text) => {
    const path = text.replace(/^(?:global\s+)?using\s+(?:static\s+)?|\s*;$/g, "");
    const [, as, from] = /^(\w+)\s*=\s*(.*)$/.exec(path) ?? [];
    return [from ? lastOf(from, ".", as) : { from: path, names: [] }];
  },
  C: (text) => include(text),
  "C++": (text) => include(text),
  Ruby: (text) => [
    {
      from: (/^require_relative\b/.test(text) ? "./" : "") + quoted(text),
      names: [],
      how: "require",
    },
  ],
  Lua: (text) => [
    { from: quoted(text) || (/\[\[(.*?)\]\]/.exec(text)?.[1] ?? ""), names: [], how: "require" },
  ],
  Bash: (text) => [{ from: shell(text), names: [], how: "require" }],
  CSS: (text) => [{ from: quoted(text) || (/url\(\s*([^)\s]*)/.exec(text)?.[1] ?? ""), names: [] }],
};

/** `"x.h"` is looked for beside the file, `<x.h>` is not: the brackets stay. */
const include = (text: string): Taken[] => {
  const [, own, theirs] = /(?:"([^"]*)"|(<[^>]*>))/.exec(text) ?? [];
  return [{ from: own ?? theirs ?? "", names: [] }];
};
