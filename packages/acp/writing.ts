// What the editor hears while the model writes and while a call runs.
import { inCall } from "./blocks.ts";
import { running, type Talk, tell } from "./talk.ts";
import { textUpdate } from "./updates.ts";

const TOKENS_A_TIME = 50;

/**
 * While the model writes, the editor hears how many tokens there are, and with display.live the
 * text as it comes. What a running call says of its progress stands with the call.
 */
export function showWriting(talk: Talk): void {
  const { zz, ctx } = talk;
  let [isLive, shownTokens] = [false, 0];
  zz.on("requested", () => {
    const liveSetting = ctx.settings.list().find(({ name }) => name === "display.live");
    isLive = liveSetting?.value === true;
    [shownTokens, talk.written] = [0, ""];
  });
  zz.on("received", async ({ text, tokens }) => {
    if (isLive && text) {
      talk.written += text;
      await tell(talk, textUpdate("agent_message_chunk", text));
    }
    const { used = 0, window } = ctx.chat;
    if (!window || tokens < shownTokens + TOKENS_A_TIME) return;
    shownTokens = tokens;
    await tell(talk, { sessionUpdate: "usage_update", used: used + tokens, size: window });
  });
  zz.on("progressed", async ({ text }) => {
    const id = running.getStore()?.id;
    if (!id || !text) return;
    const content = [inCall({ type: "text", text })];
    await tell(talk, { sessionUpdate: "tool_call_update", toolCallId: id, content });
  });
}

/** Sends what the editor has not got of a text while it came. */
export async function tellRest(talk: Talk, wholeText: string): Promise<void> {
  const { written } = talk;
  talk.written = "";
  const isBegun = written !== "" && wholeText.startsWith(written.trimEnd());
  const remainingText = isBegun ? wholeText.slice(written.length) : wholeText;
  const shownText = isBegun || !written ? remainingText : `\n\n${remainingText}`;
  if (remainingText) await tell(talk, textUpdate("agent_message_chunk", shownText));
}
