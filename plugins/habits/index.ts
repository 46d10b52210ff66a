// habits: calls that models know from other programs become zz's own, before anything is shown, judged or saved.
import type { Zz } from "zz";

const SEARCH = /^<{5,9} ?SEARCH/m; // Aider's blocks, in the text of the answer

export default (zz: Zz) =>
  zz.wrap(
    "request",
    async (request, next, ctx) => {
      let reply = await next(request);
      if (!request.tools.length) return reply;
      const tools = request.task === "chat" ? ctx.about.tools : request.tools; // there also those that it was not told of
      const isBlock = !reply.calls.length && SEARCH.test(reply.text) && tools.some(({ name }) => name === "edit_file");
      if (isBlock) reply = (await import("./answers.ts")).withBlocks(reply, ctx);
      if (!reply.calls.length) return reply;
      const { ownCalls } = await import("./calls.ts");
      return { ...reply, calls: await ownCalls(reply.calls, tools, ctx) };
    },
    "first", // outermost: also for calls that another plugin found in the text
  );
