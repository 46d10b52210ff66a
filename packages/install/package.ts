// What a package says about itself, read by zod: whether it is a plugin, its name, and what is
// shown of it.
import fs from "node:fs";
import path from "node:path";
import * as z from "zod";
import { fault } from "zz/text";
import { plain } from "./files.ts";

export interface About {
  name: string;
  version?: string | undefined;
  license?: string | undefined;
  description?: string | undefined;
  typeless?: boolean; // Node must guess whether its files are modules, and warns each time
}

const KEYWORD = "zz-plugin";
const PLUGIN_NAME = /^[A-Za-z][\w-]{0,63}$/;

/** What describes a package is left out where it is not text. */
const described = z
  .string()
  .min(1)
  .transform((words) => plain(words))
  .optional()
  .catch(undefined);
const MANIFEST = z.looseObject({
  zz: z.string("has to name the plugin's file, as text").min(1, "is empty").optional(),
  name: z.string("has to be text").optional(),
  engines: z
    .looseObject(
      { zz: z.string("has to name versions, as text").optional() },
      "has to be an object",
    )
    .optional(),
  dependencies: z
    .record(
      z.string(),
      z.string("has to name versions, as text"),
      "has to be an object of names with versions",
    )
    .optional(),
  keywords: z.array(z.unknown()).optional().catch(undefined),
  version: described,
  license: z.preprocess((license: any) => license?.type ?? license, described),
  description: described,
});

/** Of a file or folder. Its main file is the loader's to find. */
export function aboutOf(pluginPath: string, baseName: string): About {
  if (fs.statSync(pluginPath).isFile()) return { name: nameFrom(baseName) };
  const declared = packageOf(path.join(pluginPath, "package.json"));
  if (
    !declared &&
    !["index.ts", "index.js"].some((indexFile) => fs.existsSync(path.join(pluginPath, indexFile)))
  )
    throw fault(
      "it has neither a package.json nor an index.ts or index.js. " +
        'A plugin\'s package.json names its file under "zz"',
    );
  if (!declared) return { name: nameFrom(baseName) };
  const data = checked(declared);
  const { zz, keywords, name = baseName, version, license, description } = data;
  if (zz === undefined && !keywords?.includes(KEYWORD))
    throw fault(
      `its package.json has neither the key "zz" with a plugin's file, ` +
        `nor the keyword "${KEYWORD}". It is a package, but not a plugin of zz`,
    );
  const typeless = data.type === undefined;
  return { name: nameFrom(name), version, license, description, typeless };
}

/** Throws what is wrong in a package.json, which npm would say in words of its own. */
export function checked(declared: Record<string, unknown>): z.infer<typeof MANIFEST> {
  const { data, error } = MANIFEST.safeParse(declared);
  const issue = error?.issues[0];
  if (!issue) return data!;
  throw fault(`its package.json is wrong: "${issue.path.join(".")}" ${issue.message}. Fix it`);
}

/** undefined if there is none. */
export function packageOf(packageFile: string): Record<string, unknown> | undefined {
  if (!fs.existsSync(packageFile)) return undefined;
  try {
    const declared = JSON.parse(fs.readFileSync(packageFile, "utf8").replace(/^\ufeff/, ""));
    if (typeof declared === "object" && declared && !Array.isArray(declared)) return declared;
  } catch {}
  throw fault("its package.json is not a JSON object. Fix it");
}

function nameFrom(rawName: string): string {
  const pluginName = rawName
    .split("/")
    .at(-1)!
    .replace(/[^\w-]/g, "-");
  if (PLUGIN_NAME.test(pluginName) && pluginName !== "index") return pluginName;
  throw fault(
    `'${plain(rawName)}' cannot be a plugin's name: letters, digits, - and _ make one, ` +
      "a letter first, at most 64. Rename it",
  );
}
