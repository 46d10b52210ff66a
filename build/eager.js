// What a start calls is compiled with the file it is in, and so comes from Node's compile cache:
// the cache holds no function that is compiled at its first call, and a start calls some 800.
// Without it an answer takes 15 % more processor time; V8's own --no-lazy, which compiles all,
// takes more still. A real start is watched to find out which. V8 compiles a function at once where
// a parenthesis stands before it, so those get one; declarations become variables, at the top of
// the file.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const { ts } = createRequire(import.meta.url)("@ts-morph/common");

export async function compileAtStart(dist) {
  const folder = mkdtempSync(join(tmpdir(), "zz-build-"));
  const files = readdirSync(`${dist}/chunks`).filter((name) =>
    /^(start|official-\w+)\.js$/.test(name),
  );
  try {
    const called = await watchStart(resolve(dist, "zz.js"), folder);
    for (const name of files) {
      const file = join(dist, "chunks", name);
      writeFileSync(file, inAscii(withParentheses(readFileSync(file, "utf8"), called(name))));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * One answer by a provider on this machine: where the functions begin that were called, by file.
 */
async function watchStart(program, folder) {
  const piece = (choice) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
  const stream =
    `${piece({ delta: { content: "Hi" } })}${piece({ delta: {}, finish_reason: "stop" })}data: ` +
    "[DONE]\n\n";
  const server = createServer((_, response) =>
    response.setHeader("content-type", "text/event-stream").end(stream),
  );
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const variables = Object.entries(process.env).filter(
    ([name]) => !/^(ZZ_|NODE_|OPENAI_|ANTHROPIC_|OLLAMA_)/.test(name),
  );
  const NODE_V8_COVERAGE = join(folder, "coverage");
  const env = {
    ...Object.fromEntries(variables),
    ZZ_HOME: join(folder, "home"),
    NODE_V8_COVERAGE,
    TMPDIR: folder,
  };
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  const args = [
    program,
    "--once",
    "--no-stdin",
    "-m",
    "openai/m",
    "--base-url",
    url,
    "--key",
    "x",
    "hi",
  ];
  const cwd = join(folder, "project"); // temporary files do not lie in it
  mkdirSync(cwd);
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  let answer = "";
  child.stdout.on("data", (bytes) => (answer += bytes));
  await new Promise((done) => child.on("close", done));
  server.close();
  if (answer !== "Hi\n") throw new Error("The program that was built does not answer.");
  const covered = readdirSync(NODE_V8_COVERAGE).flatMap(
    (name) => JSON.parse(readFileSync(join(NODE_V8_COVERAGE, name))).result,
  );
  const functionsOf = (file) =>
    covered.filter(({ url }) => url.endsWith(`/${file}`)).flatMap(({ functions }) => functions);
  return (file) =>
    new Set(
      functionsOf(file).flatMap(({ ranges: [{ count, startOffset }] }) =>
        count ? [startOffset] : [],
      ),
    );
}

/**
 * One letter outside ASCII, and V8 keeps two bytes for each of the file. esbuild leaves them in
 * regular expressions alone.
 */
const inAscii = (code) =>
  code.replace(
    /[^\0-\x7f]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function withParentheses(text, called) {
  const source = ts.createSourceFile("a.js", text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS);
  const moved = [];
  const code = source.statements.map(rendered);
  const head = source.statements.findIndex(
    (statement) =>
      !ts.isImportDeclaration(statement) && !statement.getText().startsWith("const require="),
  );
  code.splice(head, 0, moved.length ? `var ${moved.join(",")};` : "");
  return `${code.join("\n")}\n`;

  function rendered(node) {
    let [code, offset] = ["", node.getStart(source)];
    const isCalled = called.has(offset);
    ts.forEachChild(node, (child) => {
      code += text.slice(offset, child.getStart(source)) + rendered(child);
      offset = child.end;
    });
    code += text.slice(offset, node.end);
    if (isCalled && (ts.isArrowFunction(node) || ts.isFunctionExpression(node))) return `(${code})`;
    const isOwn = ts.isFunctionDeclaration(node) && node.parent === source && !/^export/.test(code);
    if (!isCalled || !isOwn) return code;
    moved.push(`${node.name.text}=(${code})`);
    return "";
  }
}
