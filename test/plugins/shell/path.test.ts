// docs/how-it-is-built.md follows one command through the code: here it is run, and says what it
// enters.
import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import { ts } from "@ts-morph/common";
import { call, fakeOpenAI, say } from "../../support/fake/openai.ts";
import { temporaryFolder } from "../../support/files.ts";
import { needs } from "../../support/needs.ts";
import { place, ROOT, zz } from "../../support/run.ts";

const COMMAND = "echo hi > made.txt";

/** The rows of the table under the command's heading: file and function. */
function documentedPath(): string[] {
  const page = readFileSync(join(ROOT, "docs/how-it-is-built.md"), "utf8");
  const [, section = ""] = page.split(/^## A command, .*$/m);
  const table = section.split(/^## /m)[0]!;
  return [...table.matchAll(/^\| `([^`]+: \w+)` \|/gm)].map(([, step]) => step!);
}

/** The file with functions that say on stderr when they are entered. */
function tellingSource(file: string, functions: string[]): string {
  const text = readFileSync(join(ROOT, file), "utf8");
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const bodies = source.statements.filter(ts.isFunctionDeclaration).flatMap(({ name, body }) => {
    const isTold = body && functions.includes(name?.text ?? "");
    return isTold ? [{ name: name!.text, start: body.getStart(source) + 1 }] : [];
  });
  equal(bodies.length, functions.length, `${file} has ${functions.join(" and ")}`);
  return bodies
    .sort((a, b) => b.start - a.start)
    .reduce((told, { name, start }) => {
      const line = `process.stderr.write("enters ${file}: ${name}\\n");`;
      return told.slice(0, start) + line + told.slice(start);
    }, text);
}

needs("bwrap", "unshare")(
  "a command goes through the code as the docs say, in this order",
  async () => {
    const steps = documentedPath();
    ok(steps.length > 30, "the table is there");
    const byFile = Object.groupBy(steps, (step) => step.split(": ")[0]!);
    const sources = Object.entries(byFile).map(([file, inFile = []]) => {
      const functions = inFile.map((step) => step.split(": ")[1]!);
      return [pathToFileURL(join(ROOT, file)).href, tellingSource(file, functions)];
    });
    const folder = temporaryFolder("zz-path-");
    const list = join(folder, "sources.json");
    writeFileSync(list, JSON.stringify(Object.fromEntries(sources)));
    const hook = `import{registerHooks}from"node:module";import{readFileSync}from"node:fs";
    const told=JSON.parse(readFileSync(${JSON.stringify(list)},"utf8"));
    registerHooks({load:(url,context,next)=>told[url]
      ?{format:"module-typescript",source:told[url],shortCircuit:true}:next(url,context)})`;
    const fake = await fakeOpenAI([call(["run_command", { command: COMMAND }]), say("made")]);
    after(fake.close);
    const where = place();
    const env = {
      NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(hook).toString("base64")}`,
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: fake.url,
    };
    const ran = await zz(where, ["--model", "openai/m", "--allow-write", "make it"], {
      way: "node",
      env,
    });
    equal(ran.code, 0, ran.stderr);
    const entered = [...ran.stderr.matchAll(/^enters (.+)$/gm)].map(([, step]) => step!);
    const judged = entered.lastIndexOf(steps[0]!);
    deepEqual([...new Set(entered.slice(judged))], steps);
    equal(readFileSync(join(where.cwd, "made.txt"), "utf8"), "hi\n");
  },
);
