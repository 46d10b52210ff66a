// What the text of an import says: from where, and which names.
import type { Import } from "../scan/facts.ts";

type ImportClause = Pick<Import, "from" | "names"> & { how?: Import["how"] };

export const importsIn = (language: string, importText: string, line: number): Import[] =>
  (READERS[language]?.(importText.trim()) ?? [])
    .filter(({ from }) => from)
    .map(({ from, names, how: importForm = "import" }) => ({
      from: from.slice(0, 200),
      line,
      how: importForm,
      names,
    }));

const quotedIn = (importText: string) => /["'`]([^"'`]*)["'`]/.exec(importText)?.[1] ?? "";
const splitNames = (namesText: string) =>
  namesText
    .replace(/[(){}\\]/g, " ")
    .split(",")
    .map((listedName) => listedName.replace(/#.*/g, "").trim().replace(/\s+/g, " "))
    .filter(Boolean);
/** What is before the last separator, and what follows it; "": there is none. */
function cutAtLast(dottedText: string, separator: string): [before: string, last: string] {
  const index = dottedText.lastIndexOf(separator);
  return index < 0
    ? [dottedText, ""]
    : [dottedText.slice(0, index), dottedText.slice(index + separator.length)];
}
/** The last part of a dotted name is what it brings in. */
function splitAtLast(dottedText: string, separator: string, alias?: string): ImportClause {
  const [before, lastName] = cutAtLast(dottedText, separator);
  if (lastName === "*") return { from: before, names: [alias ? `* as ${alias}` : "*"] };
  return { from: dottedText, names: alias && lastName ? [`${lastName} as ${alias}`] : [] };
}

function readPython(importText: string): ImportClause[] {
  const [, from, namesText = ""] = /^from\s+([\w.]+)\s+import\s+([\s\S]*)$/.exec(importText) ?? [];
  if (from) return [{ from, names: splitNames(namesText) }];
  return splitNames(importText.replace(/^import\s+/, "")).map((clause) => {
    const [from = "", alias] = clause.split(" as ");
    return { from, names: alias ? [`* as ${alias}`] : [] };
  });
}

/** `use a::{b, c::{d as e, *}};` is one import of each path. */
function readRust(importText: string): ImportClause[] {
  const [, moduleName] = /^(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)/.exec(importText) ?? [];
  if (moduleName) return [{ from: `self::${moduleName}`, names: [] }];
  const importForm = /^pub\b/.test(importText) ? ("export" as const) : ("import" as const);
  const useTree = importText.replace(/^(?:pub(?:\([^)]*\))?\s+)?use\s+/, "").replace(/;$/, "");
  const namesByPath = new Map<string, string[]>();
  expandTree("", useTree.replace(/\s+/g, " "));
  return [...namesByPath].map(([from, names]) => ({ from, names, how: importForm }));

  function expandTree(pathPrefix: string, remaining: string): void {
    const braceIndex = remaining.indexOf("{");
    if (braceIndex >= 0)
      for (const treePart of splitParts(
        remaining.slice(braceIndex + 1, remaining.lastIndexOf("}")),
      ))
        expandTree(pathPrefix + remaining.slice(0, braceIndex), treePart);
    else {
      const usePath = (pathPrefix + remaining).replace(/ /g, (blank, blankIndex, searched) =>
        / as /.test(searched.slice(blankIndex - 3, blankIndex + 4)) ? blank : "",
      );
      const [importPath = "", alias] = usePath.split(" as ");
      const [fromPath, usedName] = cutAtLast(importPath, "::");
      const usedNames = namesByPath.get(fromPath) ?? namesByPath.set(fromPath, []).get(fromPath)!;
      if (usedName) usedNames.push(alias ? `${usedName} as ${alias}` : usedName);
    }
  }
}
/** At the commas that are in no inner braces. */
function splitParts(treeText: string): string[] {
  const treeParts = [""];
  let braceDepth = 0;
  for (const letter of treeText) {
    if (letter === "{") braceDepth++;
    else if (letter === "}") braceDepth--;
    if (letter === "," && !braceDepth) treeParts.push("");
    else treeParts[treeParts.length - 1] += letter;
  }
  return treeParts.map((treePart) => treePart.trim()).filter(Boolean);
}

function readPhp(importText: string): ImportClause[] {
  if (!/^use\b/.test(importText))
    return [{ from: quotedIn(importText), names: [], how: "require" }];
  const useClause = importText.replace(/^use\s+(?:function\s+|const\s+)?/, "").replace(/;$/, "");
  const [, pathPrefix, bracedPart] = /^([^{]*)\{([\s\S]*)\}$/.exec(useClause) ?? [];
  const useClauses =
    bracedPart === undefined
      ? splitAtCommas(useClause)
      : splitAtCommas(bracedPart).map((suffix) => `${pathPrefix!.trim()}${suffix}`);
  return useClauses.map((clause) => {
    const [fromPath = "", alias] = clause.split(/\s+as\s+/);
    return splitAtLast(fromPath.replace(/^\\/, ""), "\\", alias);
  });
}
const splitAtCommas = (listText: string) =>
  listText
    .split(",")
    .map((listedName) => listedName.trim())
    .filter(Boolean);

/** Of a shell: what it is relative to is often computed. */
const readShell = (importText: string) =>
  importText
    .replace(/^\S+\s+/, "")
    .replace(/\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|\$\w+/g, ".")
    .replace(/["']/g, "")
    .replace(/^\/?\.\//, "./")
    .split(/\s/)[0]!;

/** `"x.h"` is looked for beside the file, `<x.h>` is not: the brackets stay. */
function readInclude(importText: string): ImportClause[] {
  const [, quotedPath, systemPath] = /(?:"([^"]*)"|(<[^>]*>))/.exec(importText) ?? [];
  return [{ from: quotedPath ?? systemPath ?? "", names: [] }];
}

const READERS: Record<string, (importText: string) => ImportClause[]> = {
  Python: readPython,
  Rust: readRust,
  PHP: readPhp,
  Go: (importText) => {
    const [, alias] = /^([\w.]+)\s/.exec(importText) ?? [];
    return [{ from: quotedIn(importText), names: alias ? [`* as ${alias}`] : [] }];
  },
  Java: (importText) => [
    splitAtLast(importText.replace(/^import\s+(?:static\s+)?|\s*;$/g, ""), "."),
  ],
  Kotlin: (importText) => {
    const [fromPath = "", alias] = importText.replace(/^import\s+|\s*;$/g, "").split(/\s+as\s+/);
    return [splitAtLast(fromPath, ".", alias)];
  },
  Swift: (importText) => [
    {
      from: importText.replace(
        /^(?:@\w+\s+)*import\s+(?:(?:class|struct|enum|protocol|func|var|let|typealias)\s+)?/,
        "",
      ),
      names: [],
    },
  ],
  "C#": (importText) => {
    const usingPath = importText.replace(/^(?:global\s+)?using\s+(?:static\s+)?|\s*;$/g, "");
    const [, alias, fromPath] = /^(\w+)\s*=\s*(.*)$/.exec(usingPath) ?? [];
    return [fromPath ? splitAtLast(fromPath, ".", alias) : { from: usingPath, names: [] }];
  },
  C: readInclude,
  "C++": readInclude,
  Ruby: (importText) => [
    {
      from: (/^require_relative\b/.test(importText) ? "./" : "") + quotedIn(importText),
      names: [],
      how: "require",
    },
  ],
  Lua: (importText) => [
    {
      from: quotedIn(importText) || (/\[\[(.*?)\]\]/.exec(importText)?.[1] ?? ""),
      names: [],
      how: "require",
    },
  ],
  Bash: (importText) => [{ from: readShell(importText), names: [], how: "require" }],
  CSS: (importText) => [
    { from: quotedIn(importText) || (/url\(\s*([^)\s]*)/.exec(importText)?.[1] ?? ""), names: [] },
  ],
};
