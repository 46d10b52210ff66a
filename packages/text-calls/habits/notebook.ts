// Edits a cell of a Jupyter notebook as text: by the smallest part of the file that identifies the
// cell.
import { randomUUID } from "node:crypto";
import type { Ctx } from "zz";
import { tryTo } from "zz/text";
import { readLiteral, skipSpace } from "../json.ts";
import type { Args } from "./rename-arguments.ts";
import type { AskedCall } from "./values.ts";

type Part = { key?: string; from: number; to: number };
type Cell = { cell_type?: string; id?: string; [field: string]: unknown };

export async function notebookEdit(args: Args, { files }: Ctx): Promise<AskedCall[] | string> {
  const {
    path,
    new_string: source = "",
    old_string: _,
    cell_id,
    cell_number,
    cell_idx,
    cell_type,
    edit_mode = "replace",
    ...otherArgs
  } = args;
  if (typeof path !== "string") return "path must be the name of a notebook.";
  if (typeof source !== "string") return "new_source must be a text.";
  if (!["replace", "insert", "delete"].includes(String(edit_mode)))
    return "edit_mode must be replace, insert or delete.";
  const read = await files.read(path).catch((error: Error) => error);
  if (read instanceof Error) return read.message;
  const { text } = read;
  const list = cellListIn(text);
  if (!list) return `'${path}' is not a notebook.`;
  const cells = members(text, valueAt(text, list));
  const parsedCells: Cell[] = JSON.parse(text).cells;
  const isInsert = edit_mode === "insert";
  const number = cell_number ?? cell_idx;
  const index =
    cell_id === undefined ? cellNumbered(number, isInsert) : cellAt(parsedCells, cell_id);
  if (!Number.isInteger(index) || index >= cells.length || index < (isInsert ? -1 : 0))
    return `'${path}' has no cell '${cell_id ?? number ?? ""}'; it has ${cells.length}. Read it again.`;
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "";
  const write = (cell: Cell) =>
    JSON.stringify(cell, null, indent).replaceAll("\n", `\n${indent.repeat(2)}`);
  const glue = indent ? `,\n${indent.repeat(2)}` : ",";
  const edited = (from: number, to: number, by: string): AskedCall[] | string => {
    const old = text.slice(from, to);
    return text.indexOf(old) === text.lastIndexOf(old)
      ? [["edit_file", { path, old_string: old, new_string: by, ...otherArgs }]]
      : `'${path}' has several such cells. Use edit_lines.`;
  };
  if (isInsert) {
    return insertCell(
      { text, list, cells, parsedCells, index, glue, source, cell_type },
      edited,
      write,
    );
  }
  const { from, to } = cells[index]!;
  if (edit_mode === "delete") {
    if (cells.length === 1) return edited(list.from, list.to, '"cells": []');
    return index + 1 < cells.length
      ? edited(from, cells[index + 1]!.from, "")
      : edited(cells[index - 1]!.to, to, "");
  }
  return replaceCell(
    parsedCells[index]!,
    { text, from, to, indent, source, cell_type },
    edited,
    write,
  );
}

/** Undefined: it is no notebook. */
function cellListIn(text: string): Part | undefined {
  if (!Array.isArray(tryTo(() => JSON.parse(text).cells))) return undefined;
  return tryTo(() => members(text, skipSpace(text, 0)).find(({ key }) => key === "cells"));
}

interface CellPlace {
  text: string;
  list: Part;
  cells: Part[];
  parsedCells: Cell[];
  index: number; // of the cell that it comes after
  glue: string;
  source: string;
  cell_type: unknown;
}
function insertCell(
  { text, list, cells, parsedCells, index, glue, source, cell_type }: CellPlace,
  edited: (from: number, to: number, by: string) => AskedCall[] | string,
  write: (cell: Cell) => string,
): AskedCall[] | string {
  const cellKind = cell_type === "markdown" || cell_type === "raw" ? cell_type : "code";
  const hasIds = parsedCells.some(({ id }) => id !== undefined);
  const fresh = write(newCell(cellKind, source, hasIds));
  if (!cells.length) return edited(list.from, list.to, `"cells": [${fresh}]`);
  const near = cells[Math.max(0, index)]!;
  const old = text.slice(near.from, near.to);
  return edited(near.from, near.to, index < 0 ? fresh + glue + old : old + glue + fresh);
}

interface CellEdit {
  text: string;
  from: number;
  to: number;
  indent: string;
  source: string;
  cell_type: unknown;
}
/** Only its source, where that is told from others by its text; else all of it. */
function replaceCell(
  cell: Cell,
  { text, from, to, indent, source, cell_type }: CellEdit,
  edited: (from: number, to: number, by: string) => AskedCall[] | string,
  write: (cell: Cell) => string,
): AskedCall[] | string {
  if (cell_type === undefined || cell_type === cell.cell_type) {
    const part = members(text, from).find(({ key }) => key === "source");
    const value = JSON.stringify(linesOf(source), null, indent).replaceAll(
      "\n",
      `\n${indent.repeat(3)}`,
    );
    const old = part && text.slice(part.from, part.to);
    if (old && text.indexOf(old) === text.lastIndexOf(old))
      return edited(part.from, part.to, `"source": ${value}`);
  }
  const { outputs: _o, execution_count: _e, ...kept } = cell;
  const cellKind = String(cell_type ?? cell.cell_type);
  return edited(
    from,
    to,
    write({
      ...kept,
      cell_type: cellKind,
      ...(cellKind === "code" && RUN),
      source: linesOf(source),
    }),
  );
}

const RUN = { execution_count: null, outputs: [] };
const linesOf = (source: string): string[] => source.match(/[^\n]*\n|[^\n]+$/g) ?? [];
const newCell = (cellKind: string, source: string, hasIds: boolean): Cell => ({
  cell_type: cellKind,
  ...(cellKind === "code" && { execution_count: null }),
  ...(hasIds && { id: randomUUID().slice(0, 8) }),
  metadata: {},
  ...(cellKind === "code" && { outputs: [] }),
  source: linesOf(source),
});

function cellNumbered(number: unknown, isInsert: boolean): number {
  if (number === undefined) return isInsert ? -1 : Number.NaN;
  return Number(number) - (isInsert ? 1 : 0);
}

/** The index of a cell, by its id or by a number such as cell-3. */
function cellAt(cells: Cell[], wanted: unknown): number {
  const index = cells.findIndex(({ id }) => id !== undefined && id === wanted);
  const [, number] = /^cell-(\d+)$/.exec(String(wanted)) ?? [];
  if (index >= 0) return index;
  if (number === undefined) return Number.NaN;
  return Number(number);
}

/**
 * Where each member of an object or list is in valid JSON; a member of an object begins with its
 * key.
 */
function members(text: string, open: number): Part[] {
  const parts: Part[] = [];
  for (
    let index = skipSpace(text, open + 1);
    text[index] !== "}" && text[index] !== "]" && index < text.length;
  ) {
    const from = index;
    let key: string | undefined;
    if (text[open] === "{") {
      const end = endOf(text, index);
      key = JSON.parse(text.slice(index, end));
      index = skipSpace(text, skipSpace(text, end) + 1); // past the colon
    }
    const to = endOf(text, index);
    parts.push({ from, to, ...(key !== undefined && { key }) });
    index = skipSpace(text, to);
    if (text[index] === ",") index = skipSpace(text, index + 1);
  }
  return parts;
}

const valueAt = (text: string, { from }: Part): number =>
  skipSpace(text, skipSpace(text, endOf(text, from)) + 1);

/** The end of the value that begins here, in valid JSON. */
const endOf = (text: string, from: number): number => readLiteral(text, from)!.end;
