// The built program speaks the Agent Client Protocol: one prompt from an editor, line by line. What
// the protocol's own client says and hears is in all/.
import { deepEqual } from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fakeOpenAI, say } from "../../../test/support/fake/openai.ts";
import { environment, place, WAYS } from "../../../test/support/run.ts";

test("a prompt of an editor is answered in its session, and zz ends with it", async (t) => {
  const fake = await fakeOpenAI([say("Good day.")]);
  t.after(fake.close);
  const where = place();
  const [node, program] = WAYS.dist;
  const flags = ["--acp", "-m", "openai/m", "--base-url", fake.url, "--key", "x"];
  const editor = spawn(node, [program, ...flags], { cwd: where.cwd, env: environment(where, {}) });
  t.after(() => editor.kill("SIGKILL"));
  const heard = createInterface({ input: editor.stdout })[Symbol.asyncIterator]();
  const told: unknown[] = [];
  let id = 0;
  async function request(method: string, params: object) {
    editor.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params })}\n`);
    for (;;) {
      const message = JSON.parse((await heard.next()).value!);
      if (message.id === id) return message.result;
      if (message.params?.update?.content) told.push(message.params.update.content.text);
    }
  }
  const { protocolVersion } = await request("initialize", { protocolVersion: 1 });
  const { sessionId } = await request("session/new", { cwd: where.cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "hi" }];
  const { stopReason } = await request("session/prompt", { sessionId, prompt });
  deepEqual([protocolVersion, told.join(""), stopReason], [1, "Good day.", "end_turn"]);
  const ended = new Promise((done) => editor.on("close", done));
  editor.stdin.end();
  deepEqual(await ended, 0);
});
