// Whether a folder is a project whose map is worth its place in the prompt. A home folder is not.
import fs from "node:fs";
import path from "node:path";

const SIGNS = [".git", "package.json", "tsconfig.json", "jsconfig.json", "deno.json"];

export const isProject = (root: string): boolean => SIGNS.some((sign) => fs.existsSync(path.join(root, sign)));
