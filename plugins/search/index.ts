// search: glob finds files by their names, grep finds lines by their content.
import type { Zz } from "zz";
import { glob } from "./glob.ts";
import { grep } from "./grep.ts";

export const defaults = { ripgrep: "rg" };
export const settings = {
  schema: {
    type: "object",
    properties: {
      ripgrep: { type: "string", description: "where ripgrep is; empty: search without it" },
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  glob(zz);
  grep(zz);
};
