// Whether a folder is a project, of which a map is worth its place in the prompt: a home folder is none.
import fs from "node:fs";
import path from "node:path";

const SIGNS = [".git", "package.json", "tsconfig.json", "jsconfig.json", "deno.json"];

export const isProject = (root: string): boolean => SIGNS.some((sign) => fs.existsSync(path.join(root, sign)));
