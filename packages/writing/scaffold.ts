// Makes a plugin to start from: a file that works, its test, and what an editor and `node --test`
// need to find zz.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { makeFolder, removeTree, temporaryFolder, tryTo, usage } from "zz/text";
import { checkName, diskReason, packageAt, packageFolder, pluginFile } from "./locate-zz.ts";

/** What plugins in the home can import. */
const LINKED_PACKAGES = ["zz", "zod", "typebox", "@types/node"];
const TSCONFIG = {
  compilerOptions: {
    target: "esnext",
    module: "preserve",
    lib: ["esnext"],
    types: ["node"],
    strict: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["plugins"],
};

export async function create(name: string, ctx: Ctx): Promise<Result> {
  const { home } = ctx.about;
  checkName(CANNOT, name, ctx);
  const refuse = (reason: string) => usage(`${CANNOT} '${name}': ${reason}`);
  const file = pluginFile(home, name);
  const test = file.replace(/\.ts$/, ".test.ts");
  const word = name.replaceAll("-", "_");
  for (const target of [file, test, file.replace(/\.ts$/, "")])
    if (isThere(target))
      throw refuse(`${target} is already there. Edit it, or choose another name.`);
  const isTaken =
    ctx.about.tools.some((tool) => tool.name === word) ||
    ctx.about.commands.some((command) => command.name === name);
  if (isTaken) throw refuse("a tool or a command already has that name. Choose another name.");
  const created: string[] = [];
  let missing = "";
  try {
    write(file, pluginText(name, word));
    write(test, testText(name, word));
    if (home !== packageFolder()) missing = await helpEditor(ctx, write, created);
  } catch (error) {
    for (const line of created) fs.rmSync(line.split(" -> ")[0]!, { force: true });
    throw refuse(diskReason(error));
  }
  const text = [
    `Plugin '${name}' was created:`,
    ...created.map((row) => `  ${row}`),
    "Next:",
    `  edit ${path.basename(file)}: at the prompt of zz, what you save is live before your next message`,
    `  zz --check-plugin ${quoted(file)}`,
    `  node --test ${quoted(test)}`,
    ...(missing ? [missing] : []),
  ].join("\n");
  return { text, data: { name, file, test, made: created } };

  function write(newFile: string, text: string): void {
    makeFolder(path.dirname(newFile));
    fs.closeSync(fs.openSync(newFile, "wx"));
    created.push(newFile);
    fs.writeFileSync(newFile, text);
  }
}
const CANNOT = "Cannot make plugin";

/** Links the home's packages again where `--new-plugin` did, since npm removes such links. */
export function repairLinks(home: string): void {
  if (home !== packageFolder() && fs.existsSync(path.join(home, "tsconfig.json")))
    linkPackages(home);
}

/** Returns what was linked. Dangling links are replaced: zz has moved. */
function linkPackages(home: string): string[] {
  return LINKED_PACKAGES.flatMap((name) => {
    const to = name === "zz" ? packageFolder() : packageAt(name);
    const linked = path.join(home, "node_modules", name);
    if (!to || fs.existsSync(linked)) return [];
    fs.rmSync(linked, { force: true });
    makeFolder(path.dirname(linked));
    fs.symlinkSync(to, linked, "junction"); // the kind that needs no special rights on Windows
    return [`${linked} -> ${to}`];
  });
}

/**
 * Gives editors the types, wherever the home is. Existing files stay. Returns what to do about
 * Node's types if they could not be had.
 */
async function helpEditor(
  ctx: Ctx,
  write: (newFile: string, text: string) => void,
  created: string[],
): Promise<string> {
  const { home } = ctx.about;
  const config = path.join(home, "tsconfig.json");
  const { types, ...others } = TSCONFIG.compilerOptions;
  const hasNode = Boolean(packageAt("@types/node")) || (await fetchNodeTypes(ctx, write));
  const options = hasNode ? TSCONFIG.compilerOptions : { ...others, lib: [...others.lib, "dom"] };
  if (!fs.existsSync(config))
    write(config, `${JSON.stringify({ ...TSCONFIG, compilerOptions: options }, null, 2)}\n`);
  created.push(...linkPackages(home));
  if (hasNode) return "";
  return `Node's types could not be fetched. An editor misses them in the test: ${NODE_TYPES} of npm has them.`;
}

const [NODE] = process.versions.node.split(".");
const NODE_TYPES = `@types/node@${NODE}`;
const FETCH_MS = 60_000;
/**
 * Node's types, which an installed zz lacks, as a package of the home. npm fetches them elsewhere:
 * in the home it would remove the links to zz's packages.
 */
async function fetchNodeTypes(
  { about: { home }, programs }: Ctx,
  write: (newFile: string, text: string) => void,
): Promise<boolean> {
  const modules = path.join(home, "node_modules");
  if (fs.existsSync(path.join(modules, "@types", "node"))) return true;
  const work = temporaryFolder("types");
  try {
    const args = "install --ignore-scripts --no-audit --no-fund --no-save".split(" ");
    const isFetched = await new Promise<boolean>((done) => {
      const npm = programs.start("npm", [...args, NODE_TYPES], {
        cwd: work,
        stdio: "ignore",
        timeout: FETCH_MS,
      });
      npm.on("error", () => done(false));
      npm.on("exit", (code) => done(code === 0));
    });
    if (!isFetched) return false;
    for (const name of ["@types/node", "undici-types"]) {
      const from = path.join(work, "node_modules", name);
      if (fs.existsSync(from))
        fs.cpSync(from, path.join(modules, name), { recursive: true, force: true });
    }
    const manifest = path.join(home, "package.json");
    const devDependencies = { "@types/node": `^${NODE}` };
    if (!fs.existsSync(manifest))
      write(
        manifest,
        `${JSON.stringify({ private: true, type: "module", devDependencies }, null, 2)}\n`,
      );
    return true;
  } catch {
    return false; // there is no npm
  } finally {
    removeTree(work);
  }
}

const isThere = (file: string): boolean => Boolean(tryTo(() => fs.lstatSync(file)));

const quoted = (file: string): string =>
  /^[\w./~+-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`;

const pluginText = (
  name: string,
  word: string,
): string => `// ${name}: a plugin of zz. It begins as a greeter; make it yours.
import type { Zz } from "zz";

export default (zz: Zz) => {
  // Plain JSON. It is kept with the conversation, and while you edit this file.
  const state = zz.state({ greeted: [] as string[] });

  // A tool is for the model: it reads the description, and then what run() returns or threw.
  zz.tool({
    name: "${word}",
    description: "Greet somebody by name.",
    params: { who: "string whom to greet", loud: "boolean? with more joy" }, // zod, typebox and JSON Schema do as well
    run: ({ who, loud }) => {
      state.greeted.push(who);
      return \`Hello, \${who}\${loud ? "!!!" : "."}\`;
    },
  });

  // A command is for you: /${name}
  zz.command({
    name: "${name}",
    description: "whom the model has greeted",
    run: (_rest, ctx) => ctx.note(state.greeted.join(", ") || "Nobody yet."),
  });

  // A layer is told to the model, when there is something to tell.
  zz.layer({
    name: "${name}",
    slot: "turn",
    text: () => (state.greeted.length ? \`Greeted so far: \${state.greeted.join(", ")}.\` : undefined),
  });
};
`;

/**
 * Written as separate lines, since build/program.js rewrites lines that look like imports of Node's
 * modules.
 */
const testText = (name: string, word: string): string =>
  [
    `// Run it: node --test ${name}.test.ts`,
    'import { equal } from "node:assert/strict";',
    'import { join } from "node:path";',
    'import { test } from "node:test";',
    `import { harness } from "zz/test";

test("the model greets", async () => {
  const zz = await harness({
    plugins: [join(import.meta.dirname, "${name}.ts")],
    script: [{ call: ["${word}", { who: "Ada" }] }, "Done."], // what the model does, request by request
  });
  const { text, results } = await zz.ask("Greet Ada.");
  equal(results[0]?.text, "Hello, Ada.");
  equal(text, "Done.");
  await zz.close();
});
`,
  ].join("\n");
