// What a start calls is compiled with the file it is in, and so comes from Node's compile cache: the cache holds no function that
// is compiled at its first call, and a start calls some 800. A real one is watched to find out which. V8 compiles a function at
// once where a parenthesis stands before it, so those get one; declarations become variables, at the top of the file.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FILES = ["chunks/start.js", "plugins.js"];
const FIRST_REQUEST = /^official-\w+\.js$/; // in chunks/
const [OPEN, END, CLOSE] = ["\u0001", "\u0002", "\u0003"]; // around a declaration that moves

export async function compileAtStart(dist) {
  const folder = mkdtempSync(join(tmpdir(), "zz-build-"));
  try {
    const client = readdirSync(join(dist, "chunks")).filter((name) => FIRST_REQUEST.test(name));
    const files = [...FILES, ...client.map((name) => `chunks/${name}`)];
    const called = await watchStart(join(process.cwd(), dist, "zz.js"), folder, files);
    for (const name of files) {
      const file = join(dist, name);
      const text = readFileSync(file, "utf8");
      writeFileSync(file, withParentheses(text, called.get(name)));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One answer by a provider on this machine: where the functions begin that were called, by file. */
async function watchStart(program, folder, files) {
  const server = createServer((_, response) => {
    const choice = (more) => `data: ${JSON.stringify({ choices: [{ index: 0, ...more }] })}\n\n`;
    response.setHeader("content-type", "text/event-stream");
    response.end(
      `${choice({ delta: { content: "Hi" } })}${choice({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`,
    );
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const own = Object.entries(process.env).filter(([name]) => !/^(ZZ_|NODE_|OPENAI_|ANTHROPIC_|OLLAMA_)/.test(name));
  const coverage = join(folder, "coverage");
  const env = { ...Object.fromEntries(own), ZZ_HOME: join(folder, "home"), NODE_V8_COVERAGE: coverage, TMPDIR: folder };
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  const args = [program, "--once", "--no-stdin", "-m", "openai/m", "--base-url", url, "--key", "x", "hi"];
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  let answer = "";
  child.stdout.on("data", (piece) => (answer += piece));
  await new Promise((done) => child.on("close", done));
  server.close();
  if (answer !== "Hi\n") throw new Error("The program that was built does not answer.");
  const called = new Map(files.map((name) => [name, new Set()]));
  for (const name of readdirSync(coverage))
    for (const { url, functions } of JSON.parse(readFileSync(join(coverage, name), "utf8")).result)
      for (const file of files.filter((file) => url.endsWith(`/${file}`)))
        for (const { ranges } of functions) if (ranges[0].count) called.get(file).add(ranges[0].startOffset);
  return called;
}

function withParentheses(text, called) {
  const { ts } = createRequire(import.meta.url)("@ts-morph/common");
  const source = ts.createSourceFile("a.js", text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const marks = []; // [where, what is put there]
  const put = (node, before, after) => marks.push([node.getStart(source), before], [node.end, after]);
  const visit = (node) => {
    const isCalled = called.has(node.getStart(source));
    const isOwn =
      ts.isFunctionDeclaration(node) && node.parent === source && node.name && !node.modifiers?.some(isExport);
    if (isCalled && isOwn) put(node, `${OPEN}${node.name.text}${END}`, CLOSE);
    else if (isCalled && (ts.isArrowFunction(node) || ts.isFunctionExpression(node))) put(node, "(", ")");
    ts.forEachChild(node, visit);
  };
  const isExport = ({ kind }) => kind === ts.SyntaxKind.ExportKeyword;
  visit(source);
  const closes = ([, what]) => what === ")" || what === CLOSE;
  marks.sort((a, b) => a[0] - b[0] || closes(b) - closes(a));
  let [marked, at] = ["", 0];
  for (const [where, what] of marks) {
    marked += text.slice(at, where) + what;
    at = where;
  }
  const moved = [];
  const rest = (marked + text.slice(at)).replace(
    new RegExp(`${OPEN}(.*?)${END}([^${OPEN}${CLOSE}]*)${CLOSE}`, "gs"),
    (_, name, declared) => {
      moved.push(`${name}=(${declared})`);
      return "";
    },
  );
  const [head] = /^(?:const require[^\n]*\n|import[^;]*;)*/.exec(rest);
  return `${head}${moved.length ? `var ${moved.join(",")};` : ""}${rest.slice(head.length)}`;
}
