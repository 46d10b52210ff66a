// Samples of README.md and docs/ that start programs, each run as it is printed; the pictures; the
// types of all samples.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { harness } from "zz/test";
import { askable, say } from "../../support/fake/openai.ts";
import { needs } from "../../support/needs.ts";
import { snippet, snippets } from "../../support/pages.ts";
import { commandPicture, picture } from "../../support/pictures.ts";
import { put } from "../../support/repository.ts";
import { environment, place, ROOT, WAYS, zz } from "../../support/run.ts";
import { viewTest } from "../../support/view.ts";

const checkout = { ...place(), cwd: ROOT }; // one home, so that the checkout is indexed once

for (const [what, begin] of [
  ["offline answer", "$ npx zz --model"],
  ["references", "$ npx zz --call"],
] as const)
  test(`README: the ${what} is what zz prints, but for line numbers`, async () => {
    const [command, ...expected] = snippet(begin).trimEnd().split("\n");
    const args = [...command!.slice("$ npx zz ".length).matchAll(/'(.*?)'|"(.*?)"|(\S+)/g)];
    const ran = await zz(checkout, [
      ...args.map(([, one, two, three]) => one ?? two ?? three!),
      "-n",
    ]);
    equal(ran.code, 0, ran.stderr);
    const even = (text: string) => text.trimEnd().replace(/:\d+/g, ":N");
    equal(
      even(ran.stdout.split("\n").slice(0, expected.length).join("\n")),
      even(expected.join("\n")),
    );
  });

const remedy = "Does it look as it should? Then `npm run pictures` makes it again.";
for (const theme of ["dark", "light"] as const) {
  test(`README.md: the picture for a ${theme} page is what the screen shows, but for times`, async () => {
    const { file, svg, text } = await picture(theme);
    equal(readFileSync(file, "utf8"), svg, remedy);
    equal(`${text}\n`, snippet("$ zz\n"), remedy);
  });
  viewTest(
    `README.md: the picture of commands for a ${theme} page is what the screen shows, but for times`,
    async () => {
      const { file, svg } = await commandPicture(theme);
      equal(readFileSync(file, "utf8"), svg, remedy);
    },
  );
}

test("README: the test of a plugin passes as printed, by plain node", () => {
  const { cwd } = place({
    "now.ts": snippet('name: "now"'),
    "now.test.ts": snippet('from "zz/test"'),
  });
  mkdirSync(join(cwd, "node_modules"));
  symlinkSync(ROOT, join(cwd, "node_modules", "zz"));
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  match(
    execFileSync(process.execPath, ["--test", "now.test.ts"], { cwd, env, encoding: "utf8" }),
    /pass 1\n/,
  );
});

needs("git")(
  "README: the hook writes the commit message that the model gave, and leaves a message of one's own alone",
  async () => {
    const { url, requests } = await askable([say("Add the number one\n")]);
    const { home, cwd } = place(
      { "a.txt": "1\n" },
      { model: "openai/m", providers: { openai: { url, key: "x" } } },
    );
    const bin = join(cwd, "..", "bin");
    const git = async (...args: string[]) => {
      const PATH = [bin, join(process.execPath, ".."), process.env.PATH].join(":");
      const env = {
        ...process.env,
        PATH,
        ZZ_HOME: home,
        EDITOR: "true",
        GIT_CONFIG_GLOBAL: "/dev/null",
      };
      const who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
      const running = promisify(execFile)("git", [...who, ...args], { cwd, env });
      running.child.stdin!.end();
      return (await running).stdout.trim();
    };
    mkdirSync(bin);
    symlinkSync(join(ROOT, "dist", "zz.js"), join(bin, "zz"));
    await git("init");
    put(cwd, { ".git/hooks/prepare-commit-msg": snippet('"--cached"') });
    chmodSync(join(cwd, ".git/hooks/prepare-commit-msg"), 0o755);
    await git("add", ".");
    await git("commit");
    equal(await git("log", "--format=%B"), "Add the number one");
    match(requests[0]!.body.messages.at(-1).content, /^Write a commit message[\s\S]*\+1/);
    put(cwd, { "a.txt": "2\n" });
    await git("commit", "-a", "-m", "mine");
    equal(await git("log", "-1", "--format=%B"), "mine");
    equal(requests.length, 1);
  },
);

test("README: the snippets have no type errors", () => {
  const folder = join(ROOT, "dist", "readme");
  mkdirSync(folder, { recursive: true });
  for (const [i, { kind, text }] of snippets.entries())
    if (kind === "ts") writeFileSync(join(folder, `${i}.ts`), text);
  try {
    const config = {
      extends: "../../tsconfig.json",
      include: ["*.ts"],
      exclude: [],
      compilerOptions: { paths: {} },
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(ROOT, "node_modules", ".bin", "tsc");
    // else each thread checks the libraries
    execFileSync(tsc, ["-p", folder, "--singleThreaded"], { encoding: "utf8" });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Runs a sample as a script of sh in a project with these files, where zz is the built program. */
async function runLines(sample: string, answers: string[], files: Record<string, string>) {
  const fake = await askable(answers.map((text) => say(text)));
  const program = `#!/bin/sh\nexec ${WAYS.dist.map((word) => `'${word}'`).join(" ")} "$@"\n`;
  const where = place({ ...files, "bin/zz": program });
  const bin = join(where.cwd, "bin");
  chmodSync(join(bin, "zz"), 0o755);
  execFileSync("git", ["init", "-q"], { cwd: where.cwd });
  const PATH = `${bin}:${process.env.PATH}`;
  const env = { ...environment(where, {}), PATH, ZZ_MODEL: "openai/m", OPENAI_BASE_URL: fake.url };
  const shell = spawn("sh", ["-e"], { cwd: where.cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  shell.stdin.end(sample);
  let out = "";
  shell.stdout.on("data", (text) => (out += text));
  equal(await new Promise((done) => shell.on("close", done)), 0);
  const read = (name: string) => readFileSync(join(where.cwd, name), "utf8");
  return { out, read, sent: fake.requests.map(({ body }) => body.messages) };
}

needs("git")("README: the lines for scripts run as printed", async () => {
  const { out, read, sent } = await runLines(snippet("Say hi"), ["Hi."], {
    "report.txt": "All is well.\n",
  });
  equal(out, "Hi.\nHi.\n");
  equal(read("summary.txt"), "Hi.\n");
  equal(JSON.parse(read("answer.json")).text, "Hi.");
  match(sent[2].at(-1).content, /FILE report\.txt[\s\S]*All is well\.[\s\S]*Three sentences/);
});

needs("git")("docs/scripts.md: the lines for data, code and templates run as printed", async () => {
  const answers = [
    'Here: {"vendor": "ACME", "total": 12.5, "due": "May"}',
    "Try:\n```sh\ndu | sort -n\n```",
    "Hallo.",
  ];
  const files = { "invoice.txt": "ACME 12.50 in May\n", "letter.txt": "Hello.\n" };
  const { out, read, sent } = await runLines(snippet("--schema 'vendor"), answers, files);
  const [data, saved, ...rest] = out.split("\n");
  deepEqual(JSON.parse(data!), { vendor: "ACME", total: 12.5, due: "May" });
  match(saved!, /^Saved as .*translate\.md\. zz -t translate asks with it\.$/);
  deepEqual(rest, ["Hallo.", ""]);
  equal(read("largest.sh"), "du | sort -n\n");
  match(sent[0].at(-1).content, /ACME 12\.50 in May[\s\S]*extract$/);
  match(sent[2][0].content, /^You translate\. Keep the tone\./);
  match(sent[2].at(-1).content, /Hello\.[\s\S]*Into German, for my bank\.$/);
});

needs("git")("docs/many.md: the lines for many inputs run as printed", async () => {
  const files = {
    "src/a/b.ts": "export {};\n",
    urls: "https://a.example\nhttps://b.example\n",
    "people.jsonl": '{"name": "Ada", "language": "English"}\n',
  };
  const { out, read, sent } = await runLines(snippet("--each-line"), ["Nothing."], files);
  const kept = (text: string) =>
    text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  deepEqual(
    kept(read("answers.jsonl")).map(({ input, answer }) => [input, answer]),
    [["src/a/b.ts", "Nothing."]],
  );
  equal(kept(out).length, 3);
  const asked = sent.map((messages) => messages.at(-1).content).join("\n");
  for (const text of [
    "What does this file do?",
    "Is https://b.example a shop?",
    "Greet Ada in English.",
  ])
    ok(asked.includes(text), asked);
});

test("README: the program runs as printed", async () => {
  const file = join(ROOT, "dist", "readme-program.ts");
  writeFileSync(file, snippet("openChat(zz"));
  try {
    const out = execFileSync(process.execPath, [file], {
      cwd: ROOT,
      encoding: "utf8",
      env: environment(checkout, {}),
    });
    match(out, /zz\.ts:\d+: export async function runTurn/);
  } finally {
    rmSync(file);
  }
  ok(existsSync(join(ROOT, "dist", "types", "zz.d.ts")));
});

test("docs/plugins.md: the linter tells the model of its mistakes, and the helper reads for it, as printed", async (t) => {
  const { cwd } = place({
    "linter.ts": snippet("check_types says"),
    "helper.ts": snippet("look_into"),
  });
  const kit = await harness(
    {
      own: true,
      plugins: ["linter", "helper"].map((name) => join(cwd, `${name}.ts`)),
      files: { "b.ts": "export const b = 1;\n" },
      allow: { write: ["."] },
      script: [
        { call: ["write_file", { path: "a.ts", content: 'export const a: number = "1";\n' }] },
        { call: ["look_into", { question: "Where is b?" }] },
        { call: ["read_file", { path: "b.ts" }] },
        "In b.ts.",
        "Done.",
      ],
    },
    t,
  );
  const { results } = await kit.ask("go");
  match(results.at(-1)!.text, /^In b\.ts\.$/);
  const [told] = kit.chat.messages.filter((message) => message.role === "user" && message.aside);
  match(
    told!.text,
    /^After your change, check_types says:\n.*a\.ts.*not assignable to type 'number'/s,
  );
});

test("docs/scripts.md: the program with embed() continues the session of its id, and no other", async () => {
  const { home, cwd } = place();
  const folder = join(ROOT, "dist", "embed-sample");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "program.ts");
  writeFileSync(file, snippet("import { embed }"));
  const run = async (...args: string[]) => {
    const env = { ...process.env, ZZ_HOME: home };
    const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { cwd, env });
    return /^(\S+): (\d+) messages$/m.exec(stdout)!.slice(1);
  };
  try {
    const [id = "", count] = await run();
    deepEqual(await run(id), [id, String(2 * Number(count))]);
    await rejects(run("nope"), /Cannot continue 'nope'\./);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
