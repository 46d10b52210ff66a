// The rooms of the house as docs/how-it-is-built.md draws them, what imports what, and the picture
// that is made of both.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { ts } from "@ts-morph/common";
import { ROOT } from "./run.ts";

export const ROOMS_PICTURE = "docs/rooms.svg";

export const text = (file: string): string => readFileSync(join(ROOT, file), "utf8");

export const filesOf = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`)
    .sort();

export const HOUSE = ["zz.ts", ...filesOf("kernel"), ...filesOf("sdk")];
export const PLUGINS = ["plugins", "packages"]
  .flatMap(filesOf)
  .filter((file) => !/^[^/]+\/[^/]+\/test\//.test(file));

/** From top to bottom: `kernel/gate/` for a folder, `zz.ts` for a file; and what each is for. */
const drawing = new Map(
  drawnRows(text("docs/how-it-is-built.md")).map((row): [room: string, job: string] => {
    const [room = "", ...job] = row.split(/\s{2,}/);
    return [room, job.join(" ")];
  }),
);
export const rooms = [...drawing.keys()];

function drawnRows(markdown: string): string[] {
  const [, drawn = ""] = /^## The rooms$.*?^```text\n(.*?)^```$/ms.exec(markdown) ?? [];
  return drawn.split("\n").filter(Boolean);
}

export function roomOf(file: string): string {
  return rooms.includes(file)
    ? file
    : `${file
        .split("/")
        .slice(0, file.startsWith("sdk/") ? 1 : 2)
        .join("/")}/`;
}
/** Types too. */
export const importsOf = (file: string): string[] =>
  specifiersOf(file).flatMap(({ specifier }) =>
    /^\.\.?\/.*\.ts$/.test(specifier) ? [resolved(file, specifier)] : [],
  );

export const resolved = (file: string, specifier: string): string =>
  posix.join(dirname(file), specifier);
/**
 * `plugins/undo.ts` is a plugin by itself, `plugins/shell/judge/bash-words.ts` belongs to
 * `plugins/shell`.
 */
export const rootOf = (file: string): string => file.split("/").slice(0, 2).join("/");

/** What a file imports or exports from, at its top level; isType: all of it goes away when it is
 * run. */
export function specifiersOf(file: string): { specifier: string; isType: boolean }[] {
  return ts
    .createSourceFile(file, headOf(file), ts.ScriptTarget.Latest)
    .statements.flatMap((statement) => {
      if (ts.isImportDeclaration(statement)) {
        const { importClause } = statement;
        const bindings = importClause?.namedBindings;
        const named = bindings && ts.isNamedImports(bindings) ? bindings.elements : undefined;
        const onlyTypes = Boolean(
          named?.length && !importClause?.name && named.every(({ isTypeOnly }) => isTypeOnly),
        );
        return [
          {
            specifier: literal(statement.moduleSpecifier),
            isType: Boolean(importClause?.isTypeOnly) || onlyTypes,
          },
        ];
      }
      if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier) return [];
      const named =
        statement.exportClause && ts.isNamedExports(statement.exportClause)
          ? statement.exportClause.elements
          : undefined;
      const onlyTypes = Boolean(named?.length && named.every(({ isTypeOnly }) => isTypeOnly));
      return [
        {
          specifier: literal(statement.moduleSpecifier),
          isType: statement.isTypeOnly || onlyTypes,
        },
      ];
    });
}
/** Up to the last line that may import something: parsing all of each plugin takes seconds. */
function headOf(file: string): string {
  const last = [...text(file).matchAll(/^(import|export|\}).*( from )?["'].*["'].*$/gm)].at(-1);
  return text(file).slice(0, last ? last.index + last[0].length : 0);
}
const literal = (node: ts.Node): string => (ts.isStringLiteralLike(node) ? node.text : "");

/** Of the house: packages and Node are not in it. Data is on no floor. */
export const valueImports = (file: string): string[] =>
  specifiersOf(file)
    .filter(
      ({ specifier, isType }) =>
        !isType && specifier.startsWith(".") && !specifier.endsWith(".json"),
    )
    .map(({ specifier }) => resolved(file, specifier));

export const dynamicImports = (file: string): string[] =>
  Array.from(text(file).matchAll(/(?<!typeof )\bimport\("(\.[^"]*)"\)(?!\.[A-Z])/g), ([, to]) =>
    resolved(file, to!),
  );

/** The drawing as a picture: an arrow for each room that imports from another, types included.
 * Arrows lead down, at the left of the names; those of one room have one colour. */
export function roomsPicture(): string {
  const above = ["packages/", "plugins/"].map((folder): [string, string] => [
    folder,
    folder === "plugins/" ? "what everyone needs" : "an ability of its own each",
  ]);
  const rows = [...above, ...drawing];
  const rowOf = new Map(rows.map(([room], row) => [room, row]));
  const arrows = new Set(
    [...PLUGINS, ...HOUSE].flatMap((file) =>
      roomsReachedBy(file).map((to) => `${rowOf.get(folderOf(file))} ${rowOf.get(to)}`),
    ),
  );
  const [lineHeight, gutter, width] = [30, 250, 1000];
  const y = (row: number) => 28 + row * lineHeight;
  const drawnArrows = [...arrows].sort().map((arrow) => {
    const [from = 0, to = 0] = arrow.split(" ").map(Number);
    const bulge = gutter - 14 - (to - from) * 15;
    const hue = Math.round((from * 360) / rows.length);
    const [start, end] = [`${gutter} ${y(from) + 4}`, `${gutter} ${y(to) - 4}`];
    const curve = `M${start} C${bulge} ${y(from) + 4} ${bulge} ${y(to) - 4} ${end}`;
    return `<path d="${curve}" stroke="hsl(${hue} 60% 50%)" marker-end="url(#head)"/>`;
  });
  const names = rows.map(
    ([room, job], row) =>
      `<text x="${gutter + 12}" y="${y(row) + 5}"><tspan font-weight="bold">${room}</tspan>` +
      `<tspan x="${gutter + 200}" opacity="0.75">${job.replace(/&/g, "&amp;")}</tspan></text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y(rows.length)}" width="${width}" height="${y(rows.length)}" role="img">`,
    "<title>The rooms of zz, and which imports from which</title>",
    "<style>svg{color:#1f2328;background:#fff}@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}}</style>",
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="context-stroke"/></marker></defs>',
    '<g fill="none" stroke-width="1.3">',
    ...drawnArrows,
    "</g>",
    '<g font-family="ui-sans-serif, system-ui, sans-serif" font-size="14" fill="currentColor">',
    ...names,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

const folderOf = (file: string): string => /^(plugins|packages)\//.exec(file)?.[0] ?? roomOf(file);

/** Of the drawing; a plugin reaches the contract as "zz", and sdk/ as "zz/text". */
function roomsReachedBy(file: string): string[] {
  const reached = [...specifiersOf(file).map(({ specifier }) => specifier)].flatMap((specifier) => {
    if (specifier === "zz") return ["kernel/contract.ts"];
    if (specifier === "zz/text" || specifier === "zz/test") return ["sdk/"];
    return /^\.\.?\/.*\.ts$/.test(specifier) ? [folderOf(resolved(file, specifier))] : [];
  });
  return [...reached, ...dynamicImports(file).map(folderOf)].filter(
    (room) => room !== folderOf(file) && drawing.has(room),
  );
}
