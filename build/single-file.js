// Packs what was built into one file, dist/zz.mjs, that needs nothing beside Node: `node zz.mjs` in
// an empty folder.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((dirent) => dirent.isFile())
    .map((dirent) => `${dirent.parentPath}/${dirent.name}`);
const names = [
  ...filesIn("dist").filter(
    (name) => !/^dist\/types\/(plugins|packages|test)\/|^dist\/built\.json$|\.mjs$/.test(name),
  ),
  ...filesIn("prompts"),
  ...filesIn("plugins/examples"),
  "package.json",
  "LICENSE",
  // for --install zz/NAME
  ...filesIn("packages").filter((name) => !/^packages\/[^/]+\/(test|node_modules)\//.test(name)),
  ...["zod", "typebox"] // which plugins import
    .flatMap((name) => filesIn(`node_modules/${name}`))
    .filter((name) => /(?<!\/src\/.*)(\.(d\.)?m?[jt]s|\/package\.json)$/.test(name)),
].sort();
const bodies = names.map((name) => readFileSync(name));
const index = Buffer.from(`${JSON.stringify(names.map((name, i) => [name, bodies[i].length]))}\n`);
const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_MAX_WINDOW_BITS } = constants;
const params = { [BROTLI_PARAM_QUALITY]: 9, [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS };
const packed = brotliCompressSync(Buffer.concat([index, ...bodies]), { params });
const id = createHash("sha256").update(packed).digest("hex").slice(0, 16);
// The packed bytes are one line of comment: Node reads all of it at each start, and the end of a
// line is found soonest.
const text =
  `#!/usr/bin/env node\nconst ID = "${id}";\n` +
  `${readFileSync("build/unpack.js", "utf8")}//${packed.toString("base64")}\n`;
writeFileSync("dist/zz.mjs", text, { mode: 0o755 });
