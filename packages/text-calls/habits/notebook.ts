// Edits a cell of a Jupyter notebook as text: by the smallest part of the file that identifies the
// cell.
import { randomUUID } from "node:crypto";
import type { Ctx } from "zz";
import { ownValue, tryTo } from "zz/text";
import { readLiteral, skipSpace } from "../json.ts";
import type { Args } from "./rename-arguments.ts";
import type { AskedCall } from "./values.ts";

type Part = { key?: string; from: number; to: number };
type Cell = { cell_type?: string; id?: string; [field: string]: unknown };

const noSuchCell = (path: string, named: unknown, cellCount: number): string =>
  `'${path}' has no cell '${named}'; it has ${cellCount}. Read it again.`;

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
  const changeOf = ownValue(CHANGES, String(edit_mode));
  if (!changeOf) return "edit_mode must be replace, insert or delete.";
  const read = await files.read(path).catch((error: Error) => error);
  if (read instanceof Error) return read.message;
  const { text } = read;
  const list = cellListIn(text);
  if (!list) return `'${path}' is not a notebook.`;
  const cells = members(text, valueAt(text, list));
  const parsedCells: Cell[] = JSON.parse(text).cells;
  const isInsert = edit_mode === "insert";
  const cellNumber = cell_number ?? cell_idx;
  const index =
    cell_id === undefined ? cellNumbered(cellNumber, isInsert) : findCell(parsedCells, cell_id);
  if (!Number.isInteger(index) || index >= cells.length || index < (isInsert ? -1 : 0))
    return noSuchCell(path, cell_id ?? cellNumber ?? "", cells.length);
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "";
  const notebook = { text, list, cells, parsedCells, indent, source, cell_type };
  const [from, to, new_string] = changeOf(notebook, index);
  const old_string = text.slice(from, to);
  return text.indexOf(old_string) === text.lastIndexOf(old_string)
    ? [["edit_file", { path, old_string, new_string, ...otherArgs }]]
    : `'${path}' has several such cells. Use edit_lines.`;
}

/** Undefined: it is no notebook. */
function cellListIn(notebookText: string): Part | undefined {
  if (!Array.isArray(tryTo(() => JSON.parse(notebookText).cells))) return undefined;
  return tryTo(() =>
    members(notebookText, skipSpace(notebookText, 0)).find(({ key }) => key === "cells"),
  );
}

interface Notebook {
  text: string;
  list: Part;
  cells: Part[];
  parsedCells: Cell[];
  indent: string;
  source: string; // of the cell, as it is to be
  cell_type: unknown;
}
type Change = [from: number, to: number, newText: string];

/** `index`: of the cell that is changed, or that a new one comes after. */
const CHANGES: Record<string, (notebook: Notebook, index: number) => Change> = {
  insert({ text, list, cells, parsedCells, indent, source, cell_type }, index) {
    const cellKind = cell_type === "markdown" || cell_type === "raw" ? cell_type : "code";
    const hasIds = parsedCells.some(({ id }) => id !== undefined);
    const newCellText = writeJson(newCell(cellKind, source, hasIds), indent, 2);
    if (!cells.length) return [list.from, list.to, `"cells": [${newCellText}]`];
    const { from, to } = cells[Math.max(0, index)]!;
    const oldText = text.slice(from, to);
    const cellTexts = index < 0 ? [newCellText, oldText] : [oldText, newCellText];
    return [from, to, cellTexts.join(indent ? `,\n${indent.repeat(2)}` : ",")];
  },

  delete({ list, cells }, index) {
    if (cells.length === 1) return [list.from, list.to, '"cells": []'];
    return index + 1 < cells.length
      ? [cells[index]!.from, cells[index + 1]!.from, ""]
      : [cells[index - 1]!.to, cells[index]!.to, ""];
  },

  /** Only its source, where that is told from others by its text; else all of it. */
  replace({ text, cells, parsedCells, indent, source, cell_type }, index) {
    const { from, to } = cells[index]!;
    const oldCell = parsedCells[index]!;
    if (cell_type === undefined || cell_type === oldCell.cell_type) {
      const sourcePart = members(text, from).find(({ key }) => key === "source");
      const oldText = sourcePart && text.slice(sourcePart.from, sourcePart.to);
      if (oldText && text.indexOf(oldText) === text.lastIndexOf(oldText)) {
        const sourceJson = writeJson(linesOf(source), indent, 3);
        return [sourcePart.from, sourcePart.to, `"source": ${sourceJson}`];
      }
    }
    const { outputs: _o, execution_count: _e, ...kept } = oldCell;
    const cellKind = String(cell_type ?? oldCell.cell_type);
    const changedCell = {
      ...kept,
      cell_type: cellKind,
      ...(cellKind === "code" && EMPTY_RUN),
      source: linesOf(source),
    };
    return [from, to, writeJson(changedCell, indent, 2)];
  },
};

const writeJson = (value: object, indent: string, depth: number): string =>
  JSON.stringify(value, null, indent).replaceAll("\n", `\n${indent.repeat(depth)}`);
const EMPTY_RUN = { execution_count: null, outputs: [] };
const linesOf = (cellSource: string): string[] => cellSource.match(/[^\n]*\n|[^\n]+$/g) ?? [];
const newCell = (cellKind: string, cellSource: string, hasIds: boolean): Cell => ({
  cell_type: cellKind,
  ...(cellKind === "code" && { execution_count: null }),
  ...(hasIds && { id: randomUUID().slice(0, 8) }),
  metadata: {},
  ...(cellKind === "code" && { outputs: [] }),
  source: linesOf(cellSource),
});

function cellNumbered(cellNumber: unknown, isInsert: boolean): number {
  if (cellNumber === undefined) return isInsert ? -1 : Number.NaN;
  return Number(cellNumber) - (isInsert ? 1 : 0);
}

/** The index of a cell, by its id or by a number such as cell-3. */
function findCell(parsedCells: Cell[], wantedId: unknown): number {
  const cellIndex = parsedCells.findIndex(({ id }) => id !== undefined && id === wantedId);
  const [, cellNumber] = /^cell-(\d+)$/.exec(String(wantedId)) ?? [];
  if (cellIndex >= 0) return cellIndex;
  if (cellNumber === undefined) return Number.NaN;
  return Number(cellNumber);
}

/**
 * Where each member of an object or list is in valid JSON; a member of an object begins with its
 * key.
 */
function members(notebookText: string, openIndex: number): Part[] {
  const memberParts: Part[] = [];
  for (
    let readIndex = skipSpace(notebookText, openIndex + 1);
    notebookText[readIndex] !== "}" &&
    notebookText[readIndex] !== "]" &&
    readIndex < notebookText.length;
  ) {
    const from = readIndex;
    let key: string | undefined;
    if (notebookText[openIndex] === "{") {
      const keyEnd = findValueEnd(notebookText, readIndex);
      key = JSON.parse(notebookText.slice(readIndex, keyEnd));
      readIndex = skipSpace(notebookText, skipSpace(notebookText, keyEnd) + 1); // past the colon
    }
    const to = findValueEnd(notebookText, readIndex);
    memberParts.push({ from, to, ...(key !== undefined && { key }) });
    readIndex = skipSpace(notebookText, to);
    if (notebookText[readIndex] === ",") readIndex = skipSpace(notebookText, readIndex + 1);
  }
  return memberParts;
}

const valueAt = (notebookText: string, { from }: Part): number =>
  skipSpace(notebookText, skipSpace(notebookText, findValueEnd(notebookText, from)) + 1);

/** The end of the value that begins here, in valid JSON. */
const findValueEnd = (notebookText: string, valueStart: number): number =>
  readLiteral(notebookText, valueStart)!.end;
