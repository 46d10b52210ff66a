// The editor gets a session's name before zz has one: zz's own comes with the first message. Kept in the home.
import type { Ctx } from "zz";

const FILE = "acp.json";
const MOST = 1_000;

export type Names = Record<string, string>; // zz's own, by the editor's

export function namesIn(ctx: Ctx): Names {
  let names: Names = {};
  ctx.keep(FILE, (text) => {
    names = parsed(text);
    return text;
  });
  return names;
}

export function keepName(ctx: Ctx, editors: string, own: string): void {
  ctx.keep(FILE, (text) => {
    const all = { ...parsed(text), [editors]: own };
    return `${JSON.stringify(Object.fromEntries(Object.entries(all).slice(-MOST)), null, 2)}\n`;
  });
}

function parsed(text: string): Names {
  try {
    const names = JSON.parse(text);
    return Object.fromEntries(Object.entries(names).filter(([, own]) => typeof own === "string")) as Names;
  } catch {
    return {};
  }
}
