// habits: calls that models know from other programs become zz's own, before anything is shown, judged or saved.
import type { Zz } from "zz";

export default (zz: Zz) =>
  zz.wrap(
    "request",
    async (request, next, ctx) => {
      const reply = await next(request);
      if (!reply.calls.length || !request.tools.length) return reply;
      const { ownCalls } = await import("./calls.ts");
      const tools = request.task === "chat" ? ctx.about.tools : request.tools; // there also those that it was not told of
      return { ...reply, calls: await ownCalls(reply.calls, tools, ctx) };
    },
    "first", // outermost: also for calls that another plugin found in the text
  );
