// embed(): zz in a program of one's own, which brings plugins, answers questions, hears what
// happens, and closes it.
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Asked, embed, type Zz } from "zz";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { place } from "../support/run.ts";

async function server(t: TestContext, ...script: Parameters<typeof fakeOpenAI>[0] & any[]) {
  const fake = await fakeOpenAI(script);
  t.after(fake.close);
  const where = place();
  const model = { model: "openai/m", baseUrl: fake.url, key: "x" };
  return { ...where, fake, options: { root: where.cwd, home: where.home, save: false, ...model } };
}

test("A function is a plugin of it, beside files; closed, both are unloaded", async (t) => {
  const { options, cwd } = await server(t, call(["now", {}]), say("Noon."));
  const gone: string[] = [];
  function clock(zz: Zz) {
    zz.tool({ name: "now", description: "the time", run: () => "12:00" });
    zz.defer(() => void gone.push("clock"));
  }
  const file = join(cwd, "file.ts");
  writeFileSync(
    file,
    `export default (zz) => zz.tool({ name: "later", description: "d", run: () => "13:00" });`,
  );
  {
    await using zz = await embed({ ...options, plugins: [clock, file] });
    equal((await zz.call("later")).text, "13:00");
    equal(await zz.ask("What time is it?"), "Noon.");
    deepEqual(gone, []);
  }
  deepEqual(gone, ["clock"]);
});

test("It answers what is asked, and hears what happens", async (t) => {
  const { options, cwd } = await server(
    t,
    call(["write_file", { path: "a.txt", content: "x\n" }]),
    say("Done."),
  );
  const [questions, heard] = [[] as string[], [] as string[]];
  let data: Asked | undefined;
  const zz = await embed({
    ...options,
    ask: async (question, _keys, asked) => {
      questions.push(question);
      data = asked;
      return "y";
    },
    on: {
      called: ({ call }) => void heard.push(call.name),
      answered: ({ text }, { root }) => void heard.push(text, root),
    },
  });
  t.after(zz.close);
  equal(await zz.ask("Write."), "Done.");
  equal(existsSync(join(cwd, "a.txt")), true);
  match(questions[0]!, /write_file wants to change a\.txt/);
  deepEqual(
    { ...data, keys: Object.keys(data!.keys) },
    {
      tool: "write_file",
      args: { path: "a.txt", content: "x\n" },
      needs: [{ kind: "write", name: "a.txt" }],
      shown: data!.shown,
      keys: ["y", "n", "A"],
    },
  );
  match(data!.shown, /\+ x$/m);
  deepEqual(heard, ["write_file", "Done.", cwd]);
});

test("What cannot be used is refused with a sentence", async (t) => {
  const { options } = await server(t, say("never"));
  const broken = () => Promise.reject(new Error("no key"));
  await rejects(
    embed({ ...options, plugins: [broken] }),
    /^Error: Cannot load plugin 'broken' \(.*\): no key$/,
  );
  const on: object = { called2: () => {} };
  await rejects(embed({ ...options, on }), /there is no event 'called2'\. Did you mean 'called'\?/);
});

test("Once it is closed, it says so to whoever asks or calls", async (t) => {
  const { options } = await server(t, say("Noon."));
  const zz = await embed(options);
  const talk = await zz.chat();
  await zz.close();
  const closed = "this zz was closed. Make another with embed().";
  await rejects(zz.ask("hi"), { message: `Cannot ask: ${closed}` });
  await rejects(async () => talk.ask("hi"), { message: `Cannot ask: ${closed}` });
  await rejects(zz.chat(), { message: `Cannot ask: ${closed}` });
  await rejects(zz.call("read_file", {}), { message: `Cannot call 'read_file': ${closed}` });
});
