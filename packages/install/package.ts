// What a package says about itself: whether it is a plugin, its name, and what is shown of it.
import fs from "node:fs";
import path from "node:path";
import { fault } from "zz/text";
import { plain } from "./files.ts";

export interface About {
  name: string;
  version?: string;
  license?: string;
  description?: string;
  typeless?: boolean; // Node must guess whether its files are modules, and warns each time
}

const KEYWORD = "zz-plugin";
const PLUGIN_NAME = /^[A-Za-z][\w-]{0,63}$/;

/** Of a file or folder. Its main file is the loader's to find. */
export function aboutOf(pluginPath: string, baseName: string): About {
  if (fs.statSync(pluginPath).isFile()) return { name: nameFrom(baseName) };
  const declared = packageOf(path.join(pluginPath, "package.json"));
  const { zz, keywords, name = baseName, version, license, description, type } = declared ?? {};
  if (
    !declared &&
    !["index.ts", "index.js"].some((indexFile) => fs.existsSync(path.join(pluginPath, indexFile)))
  )
    throw fault(
      'it has neither a package.json nor an index.ts or index.js. A plugin\'s package.json names its file under "zz"',
    );
  if (declared && zz === undefined && !keywords?.includes?.(KEYWORD))
    throw fault(
      `its package.json has neither the key "zz" with a plugin's file, nor the keyword "${KEYWORD}". It is a package, but not a plugin of zz`,
    );
  const shownFields = Object.entries({ version, license: license?.type ?? license, description });
  return {
    name: nameFrom(String(name)),
    ...Object.fromEntries(
      shownFields.flatMap(([fieldName, fieldText]) =>
        fieldText && typeof fieldText === "string" ? [[fieldName, plain(fieldText)]] : [],
      ),
    ),
    ...(declared && type === undefined && { typeless: true }),
  };
}

/** undefined if there is none. */
export function packageOf(packageFile: string): Record<string, any> | undefined {
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
    `'${plain(rawName)}' cannot be a plugin's name: letters, digits, - and _ make one, a letter first, at most 64. Rename it`,
  );
}
