// What the text of an import says: from where, and which names.
import type { Import } from "../scan/facts.ts";

type ImportClause = Pick<Import, "from" | "names"> & { how?: Import["how"] };

export const importsIn = (language: string, text: string, line: number): Import[] =>
  (READERS[language]?.(text.trim()) ?? [])
    .filter(({ from }) => from)
    .map(({ from, names, how: importForm = "import" }) => ({
      from: from.slice(0, 200),
      line,
      how: importForm,
      names,
    }));

const quoted = (text: string): string => /["'`]([^"'`]*)["'`]/.exec(text)?.[1] ?? "";
const listOf = (text: string): string[] =>
  text
    .replace(/[(){}\\]/g, " ")
    .split(",")
    .map((name) => name.replace(/#.*/g, "").trim().replace(/\s+/g, " "))
    .filter(Boolean);
/** The last part of a dotted name is what it brings in. */
function lastOf(text: string, separator: string, as?: string): ImportClause {
  const index = text.lastIndexOf(separator);
  const [from, name] =
    index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + separator.length)];
  const unnamed = name === "*" ? ["*"] : [];
  return {
    from: text,
    names: as && name ? [`${name} as ${as}`] : unnamed,
    ...(name === "*" && { from }),
  };
}

function python(text: string): ImportClause[] {
  const [, from, names = ""] = /^from\s+([\w.]+)\s+import\s+([\s\S]*)$/.exec(text) ?? [];
  if (from) return [{ from, names: listOf(names) }];
  return listOf(text.replace(/^import\s+/, "")).map((clause) => {
    const [from = "", as] = clause.split(" as ");
    return { from, names: as ? [`* as ${as}`] : [] };
  });
}

/** `use a::{b, c::{d as e, *}};` is one import of each path. */
function rust(text: string): ImportClause[] {
  const [, module] = /^(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)/.exec(text) ?? [];
  if (module) return [{ from: `self::${module}`, names: [] }];
  const importForm = /^pub\b/.test(text) ? ("export" as const) : ("import" as const);
  const tree = text.replace(/^(?:pub(?:\([^)]*\))?\s+)?use\s+/, "").replace(/;$/, "");
  const namesByPath = new Map<string, string[]>();
  expand("", tree.replace(/\s+/g, " "));
  return [...namesByPath].map(([from, names]) => ({ from, names, how: importForm }));

  function expand(prefix: string, remaining: string): void {
    const brace = remaining.indexOf("{");
    if (brace >= 0)
      for (const part of parts(remaining.slice(brace + 1, remaining.lastIndexOf("}"))))
        expand(prefix + remaining.slice(0, brace), part);
    else {
      const path = (prefix + remaining).replace(/ /g, (blank, index, searched) =>
        / as /.test(searched.slice(index - 3, index + 4)) ? blank : "",
      );
      const [importPath = "", as] = path.split(" as ");
      const separatorIndex = importPath.lastIndexOf("::");
      const [from, name] =
        separatorIndex < 0
          ? [importPath, ""]
          : [importPath.slice(0, separatorIndex), importPath.slice(separatorIndex + 2)];
      const names = namesByPath.get(from) ?? namesByPath.set(from, []).get(from)!;
      if (name) names.push(as ? `${name} as ${as}` : name);
    }
  }
}
/** At the commas that are in no inner braces. */
function parts(text: string): string[] {
  const pieces = [""];
  let depth = 0;
  for (const letter of text) {
    if (letter === "{") depth++;
    else if (letter === "}") depth--;
    if (letter === "," && !depth) pieces.push("");
    else pieces[pieces.length - 1] += letter;
  }
  return pieces.map((piece) => piece.trim()).filter(Boolean);
}

function php(text: string): ImportClause[] {
  if (!/^use\b/.test(text)) return [{ from: quoted(text), names: [], how: "require" }];
  const list = text.replace(/^use\s+(?:function\s+|const\s+)?/, "").replace(/;$/, "");
  const [, prefix, inner] = /^([^{]*)\{([\s\S]*)\}$/.exec(list) ?? [];
  const names =
    inner === undefined
      ? listed(list)
      : listed(inner).map((suffix) => `${prefix!.trim()}${suffix}`);
  return names.map((clause) => {
    const [from = "", as] = clause.split(/\s+as\s+/);
    return lastOf(from.replace(/^\\/, ""), "\\", as);
  });
}
const listed = (text: string): string[] =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);

/** Of a shell: what it is relative to is often computed. */
const shell = (text: string): string =>
  text
    .replace(/^\S+\s+/, "")
    .replace(/\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|\$\w+/g, ".")
    .replace(/["']/g, "")
    .replace(/^\/?\.\//, "./")
    .split(/\s/)[0]!;

const READERS: Record<string, (text: string) => ImportClause[]> = {
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
const include = (text: string): ImportClause[] => {
  const [, quotedPath, theirs] = /(?:"([^"]*)"|(<[^>]*>))/.exec(text) ?? [];
  return [{ from: quotedPath ?? theirs ?? "", names: [] }];
};
