// Makes a plugin to start from: a file that works, its test, and what an editor and `node --test`
// need to find zz.
import { once } from "node:events";
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
  checkName(CANNOT_MAKE, name, ctx);
  const refuse = (reason: string) => usage(`${CANNOT_MAKE} '${name}': ${reason}`);
  const file = pluginFile(home, name);
  const test = file.replace(/\.ts$/, ".test.ts");
  const toolName = name.replaceAll("-", "_");
  for (const newPath of [file, test, file.replace(/\.ts$/, "")])
    if (isThere(newPath))
      throw refuse(`${newPath} is already there. Edit it, or choose another name.`);
  const isTaken =
    ctx.about.tools.some((tool) => tool.name === toolName) ||
    ctx.about.commands.some((command) => command.name === name);
  if (isTaken) throw refuse("a tool or a command already has that name. Choose another name.");
  const created: string[] = [];
  let missing = "";
  try {
    writeNew(file, pluginText(name, toolName));
    writeNew(test, testText(name, toolName));
    if (home !== packageFolder()) missing = await helpEditor(ctx, writeNew, created);
  } catch (error) {
    for (const createdRow of created) fs.rmSync(createdRow.split(" -> ")[0]!, { force: true });
    throw refuse(diskReason(error));
  }
  const text = [
    `Plugin '${name}' was created:`,
    ...created.map((createdRow) => `  ${createdRow}`),
    "Next:",
    `  edit ${path.basename(file)}: at the prompt of zz, ` +
      "what you save is live before your next message",
    `  zz --check-plugin ${quotePath(file)}`,
    `  node --test ${quotePath(test)}`,
    ...(missing ? [missing] : []),
  ].join("\n");
  return { text, data: { name, file, test, made: created } };

  function writeNew(newFile: string, fileText: string): void {
    makeFolder(path.dirname(newFile));
    fs.closeSync(fs.openSync(newFile, "wx"));
    created.push(newFile);
    fs.writeFileSync(newFile, fileText);
  }
}
const CANNOT_MAKE = "Cannot make plugin";

/** Links the home's packages again where `--new-plugin` did, since npm removes such links. */
export function repairLinks(homeFolder: string): void {
  if (homeFolder !== packageFolder() && fs.existsSync(path.join(homeFolder, "tsconfig.json")))
    linkPackages(homeFolder);
}

/** Returns what was linked. Dangling links are replaced: zz has moved. */
function linkPackages(homeFolder: string): string[] {
  return LINKED_PACKAGES.flatMap((packageName) => {
    const packagePath = packageName === "zz" ? packageFolder() : packageAt(packageName);
    const linkPath = path.join(homeFolder, "node_modules", packageName);
    if (!packagePath || fs.existsSync(linkPath)) return [];
    fs.rmSync(linkPath, { force: true });
    makeFolder(path.dirname(linkPath));
    // the kind that needs no special rights on Windows
    fs.symlinkSync(packagePath, linkPath, "junction");
    return [`${linkPath} -> ${packagePath}`];
  });
}

/**
 * Gives editors the types, wherever the home is. Existing files stay. Returns what to do about
 * Node's types if they could not be had.
 */
async function helpEditor(
  ctx: Ctx,
  writeNew: (newFile: string, fileText: string) => void,
  created: string[],
): Promise<string> {
  const { home } = ctx.about;
  const configFile = path.join(home, "tsconfig.json");
  const { types, ...others } = TSCONFIG.compilerOptions;
  const hasNode = Boolean(packageAt("@types/node")) || (await fetchNodeTypes(ctx, writeNew));
  const options = hasNode ? TSCONFIG.compilerOptions : { ...others, lib: [...others.lib, "dom"] };
  if (!fs.existsSync(configFile))
    writeNew(configFile, `${JSON.stringify({ ...TSCONFIG, compilerOptions: options }, null, 2)}\n`);
  created.push(...linkPackages(home));
  if (hasNode) return "";
  return (
    "Node's types could not be fetched. " +
    `An editor misses them in the test: ${NODE_TYPES} of npm has them.`
  );
}

const [NODE_MAJOR] = process.versions.node.split(".");
const NODE_TYPES = `@types/node@${NODE_MAJOR}`;
const FETCH_MS = 60_000;
/**
 * Node's types, which an installed zz lacks, as a package of the home. npm fetches them elsewhere:
 * in the home it would remove the links to zz's packages.
 */
async function fetchNodeTypes(
  { about: { home }, programs }: Ctx,
  writeNew: (newFile: string, fileText: string) => void,
): Promise<boolean> {
  const modules = path.join(home, "node_modules");
  if (fs.existsSync(path.join(modules, "@types", "node"))) return true;
  const workFolder = temporaryFolder("types");
  try {
    const npmArguments = "install --ignore-scripts --no-audit --no-fund --no-save".split(" ");
    const npmProcess = programs.start("npm", [...npmArguments, NODE_TYPES], {
      cwd: workFolder,
      stdio: "ignore",
      timeout: FETCH_MS,
    });
    const [exitCode] = await once(npmProcess, "exit");
    if (exitCode !== 0) return false;
    for (const packageName of ["@types/node", "undici-types"]) {
      const fetchedFolder = path.join(workFolder, "node_modules", packageName);
      if (fs.existsSync(fetchedFolder))
        fs.cpSync(fetchedFolder, path.join(modules, packageName), { recursive: true });
    }
    const manifest = path.join(home, "package.json");
    const devDependencies = { "@types/node": `^${NODE_MAJOR}` };
    if (!fs.existsSync(manifest))
      writeNew(
        manifest,
        `${JSON.stringify({ private: true, type: "module", devDependencies }, null, 2)}\n`,
      );
    return true;
  } catch {
    return false; // there is no npm
  } finally {
    removeTree(workFolder);
  }
}

const isThere = (filePath: string): boolean => Boolean(tryTo(() => fs.lstatSync(filePath)));

const quotePath = (filePath: string): string =>
  /^[\w./~+-]+$/.test(filePath) ? filePath : `'${filePath.replaceAll("'", `'\\''`)}'`;

const pluginText = (
  pluginName: string,
  toolName: string,
): string => `// ${pluginName}: a plugin of zz. It begins as a greeter; make it yours.
import type { Zz } from "zz";

export default (zz: Zz) => {
  // Plain JSON. It is kept with the conversation, and while you edit this file.
  const state = zz.state({ greeted: [] as string[] });

  // A tool is for the model: it reads the description, and then what run() returns or threw.
  zz.tool({
    name: "${toolName}",
    description: "Greet somebody by name.",
    // zod, typebox and JSON Schema do as well
    params: { who: "string whom to greet", loud: "boolean? with more joy" },
    run: ({ who, loud }) => {
      state.greeted.push(who);
      return \`Hello, \${who}\${loud ? "!!!" : "."}\`;
    },
  });

  // A command is for you: /${pluginName}
  zz.command({
    name: "${pluginName}",
    description: "whom the model has greeted",
    run: (_rest, ctx) => ctx.note(state.greeted.join(", ") || "Nobody yet."),
  });

  // A layer is told to the model, when there is something to tell.
  zz.layer({
    name: "${pluginName}",
    slot: "turn",
    text: () =>
      state.greeted.length ? \`Greeted so far: \${state.greeted.join(", ")}.\` : undefined,
  });
};
`;

/**
 * Written as separate lines, since build/program.js rewrites lines that look like imports of Node's
 * modules.
 */
const testText = (pluginName: string, toolName: string): string =>
  [
    `// Run it: node --test ${pluginName}.test.ts`,
    'import { equal } from "node:assert/strict";',
    'import { join } from "node:path";',
    'import { test } from "node:test";',
    `import { harness } from "zz/test";

test("the model greets", async () => {
  const zz = await harness({
    plugins: [join(import.meta.dirname, "${pluginName}.ts")],
    // what the model does, request by request
    script: [{ call: ["${toolName}", { who: "Ada" }] }, "Done."],
  });
  const { text, results } = await zz.ask("Greet Ada.");
  equal(results[0]?.text, "Hello, Ada.");
  equal(text, "Done.");
  await zz.close();
});
`,
  ].join("\n");
