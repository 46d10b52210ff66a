// Which tools a request describes, by what a server received.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Step } from "../support/fake/http.ts";
import { call, problems, say } from "../support/fake/openai.ts";
import type { Tree } from "../support/files.ts";
import { asks, having as placed } from "../support/having.ts";
import { type Place, place, zz } from "../support/run.ts";

const toolsIn = ({ tools = [] }: any): any[] => tools.map((tool: any) => tool.function);
/** By zz's own counting: four characters are one. */
const tokens = (request: any): number =>
  Math.ceil((request.messages[0].content.length + JSON.stringify(toolsIn(request)).length) / 4);
const namesIn = (request: any): string[] => toolsIn(request).map(({ name }) => name);
const moreIn = (request: any): string | undefined =>
  toolsIn(request).find(({ name }) => name === "more_tools")?.description;

const having = (settings: object, files: Tree = {}) =>
  placed({ "~/zz.config.json": settings, ...files });

async function asked(where: Place, script: Step[] = [say("x")], args: string[] = []) {
  const { code, stderr, sent } = await asks(where, script, [...args, "hi"]);
  deepEqual([code, stderr], [0, ""]);
  for (const body of sent) deepEqual(problems(body), []);
  return sent;
}

describe("tools in groups", () => {
  const FEW = ["edit_file", "grep", "list_dir", "read_file", "write_file"];
  test("a small window has few of them, and is full before the first word to a fifth at most", async () => {
    const [[larger], [small]] = [
      await asked(having({ window: 8_192 })),
      await asked(having({ window: 4_096 })),
    ];
    ok(tokens(larger) <= 1_200, `${tokens(larger)}`);
    for (const name of FEW) ok(namesIn(larger).includes(name), name);
    match(moreIn(larger)!, /\bgit\b/);
    ok(tokens(small) <= 1_000, `${tokens(small)}`);
    deepEqual(namesIn(small), FEW);
  });

  test("every tool is described or named", async () => {
    const [request] = await asked(having({}));
    ok(tokens(request) <= 2_500 && namesIn(request).length >= 15, `${tokens(request)}`);
    match(moreIn(request)!, /git \(.*git_commit.*\)/);
    const all = JSON.parse((await zz(place(), ["--tools", "--json"])).stdout).map(
      ({ name }: any) => name,
    );
    const known = [...namesIn(request), ...moreIn(request)!.split(/\W+/)];
    equal(all.filter((name: string) => !known.includes(name)).join(), "");
  });

  test("what the model asks for is described from then on, and stays in the session", async () => {
    const where = having({});
    const more = (name: string) => call(["more_tools", { names: [name] }]);
    const script = [more("git_commit"), more("skills"), more("rockets"), say("x")];
    const [first, second, third, fourth] = await asked(where, script);
    ok(!namesIn(first).includes("git_commit"));
    ok(namesIn(second).includes("git_commit") && !namesIn(second).includes("git_log"));
    equal(second.messages.at(-1).content, "Described from now on: git_commit.");
    for (const name of ["install_skill", "read_skill", "list_skills"])
      ok(namesIn(third).includes(name), name);
    equal(
      fourth.messages.at(-1).content,
      "Cannot get 'rockets': no such tools. Choose from the list.",
    );
    const [later] = await asked(where, [say("x")], ["-c"]);
    ok(namesIn(later).includes("git_commit"));
  });

  test("a tool that was only named runs, and is described afterwards", async () => {
    const [first, second] = await asked(having({}), [call(["git_log", {}]), say("x")]);
    ok(!namesIn(first).includes("git_log"));
    match(second.messages.at(-1).content, /no git repository|not a git repository/i);
    ok(namesIn(second).includes("git_log"));
  });

  test("a person's own tool is always described", async () => {
    const plugin = `export default (zz) => zz.tool({ name: "lamp_dim", description: "Dim a lamp.", run: () => "ok" });`;
    for (const window of [32_768, 4_096])
      ok(
        namesIn((await asked(having({ window }, { "~/plugins/lamp.ts": plugin })))[0]).includes(
          "lamp_dim",
        ),
      );
  });

  test("the settings: all at once, or others first", async () => {
    const [all] = await asked(having({ tools: { offer: "all" } }));
    ok(namesIn(all).length > 40 && !namesIn(all).includes("more_tools"));
    const [first] = await asked(having({ tools: { first: ["open_file"] } }));
    ok(namesIn(first).includes("open_file"));
  });
});
