// A file or folder that moves, and what leads to it and from it.
import fs from "node:fs";
import path from "node:path";
import { type SourceFile, ts } from "ts-morph";
import { isInside, tryTo } from "zz/text";
import { type Edit, editsOf, type Opened, type Plan, sourceOf } from "./project.ts";

/** Calls whose first argument is a module, as seen from the file. */
const LEADS = /^(import|require(\.\w+)?|import\.meta\.resolve|(jest|vi)\.\w+)$/;
const SCRIPT_END = /\.([cm]?)js(x?)$/;
const ENDS = ["", ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".json"];

export function move(opened: Opened): Plan {
  const { root, paths, to, service, disk, project } = opened;
  const [from, target] = [path.join(root, paths[0]!), path.join(root, to!)];
  const found = editsOf(service.getEditsForFileRename(from, target, {}, {}));
  const edits = found.filter(
    ({ file }) => project.getSourceFile(file) && isInside(root, file) && !file.includes("/node_modules/"),
  );
  for (const name of opened.names) {
    const source = sourceOf(opened, name);
    if (!source) continue;
    const known = new Set(edits.filter(({ file }) => file === source.getFilePath()).map(({ start }) => start));
    edits.push(
      ...literalsOf(source)
        .filter(({ start }) => !known.has(start))
        .flatMap((edit) => withNewWay(edit, from, target)),
    );
  }
  disk.moved = { from, to: target };
  return { edits, said: `Moved ${paths[0]} to ${to}` };
}

/** The relative paths that lead to other files: TypeScript does not follow those to styles, mocks and workers. */
function literalsOf(source: SourceFile): Edit[] {
  const [file, found] = [source.getFilePath() as string, [] as Edit[]];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) && /^\.\.?(\/|$)/.test(node.text) && isLead(node, source.compilerNode))
      found.push({ file, start: node.getStart() + 1, end: node.getEnd() - 1, text: node.text });
    ts.forEachChild(node, visit);
  };
  visit(source.compilerNode); // not by ts-morph's own nodes: those of 800 files take a minute and a gigabyte
  return found;
}

function isLead(node: ts.Node, source: ts.SourceFile): boolean {
  const { parent } = node;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent) || ts.isExternalModuleReference(parent))
    return true;
  if (ts.isLiteralTypeNode(parent)) return ts.isImportTypeNode(parent.parent);
  if (ts.isNewExpression(parent)) return parent.arguments?.[1]?.getText(source) === "import.meta.url";
  return ts.isCallExpression(parent) && parent.arguments[0] === node && LEADS.test(parent.expression.getText(source));
}

function withNewWay(edit: Edit, from: string, target: string): Edit[] {
  const newPath = (file: string) => (isInside(from, file) ? target + file.slice(from.length) : file);
  const meant = path.resolve(path.dirname(edit.file), edit.text);
  const tails = [...ENDS, ...ENDS.map((end) => `/index${end}`)]; // what the text leaves out
  const asScript = meant.replace(SCRIPT_END, ".$1ts$2"); // imported as what it is built to
  const found = [...tails.map((tail) => meant + tail), asScript].find((file) =>
    tryTo(() => fs.statSync(file))?.isFile(),
  );
  if (!found || (newPath(found) === found && newPath(edit.file) === edit.file)) return [];
  const [tail, now] = [found.startsWith(meant) ? found.slice(meant.length) : "", newPath(found)];
  const withoutEnd = now.replace(/\.[^./]+$/, "");
  const bare = now.endsWith(tail) ? now.slice(0, now.length - tail.length) : withoutEnd;
  const goal = found.startsWith(meant) ? bare : withoutEnd + path.extname(meant);
  const way = path.relative(path.dirname(newPath(edit.file)), goal) || ".";
  const text = way.startsWith(".") ? way : `./${way}`;
  return text === edit.text ? [] : [{ ...edit, text }];
}
