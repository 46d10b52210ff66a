// --record FILE keeps requests and what came back; --replay FILE answers from it, so that prompts,
// plugins and scripts can be tried without a model, and a bug report can be run.
import path from "node:path";
import type { Zz } from "zz";
import type { Player, Recorder } from "./record-and-replay.ts";

export default (zz: Zz) => {
  let recorder: Recorder | undefined;
  let player: Player | undefined;
  const resolvePath = (flagValue: unknown) => path.resolve(zz.io.cwd(), String(flagValue));
  const group = "asking";
  zz.flag({
    name: "record",
    value: "FILE",
    group,
    description: "keep in it what the model is sent and answers, without keys",
    set: async (flagValue) =>
      void (recorder = (await import("./record-and-replay.ts")).record(
        resolvePath(flagValue),
        zz.veil,
      )),
  });
  zz.flag({
    name: "replay",
    value: "FILE",
    group,
    description: "answer from what was recorded in it, without a model",
    async set(flagValue) {
      player = await (await import("./record-and-replay.ts")).play(
        resolvePath(flagValue),
        String(flagValue),
      );
      const { model } = player;
      return { line: model ? ["--model", model] : [] }; // a model that the person names wins
    },
  });
  zz.wrap("fetch", (request, next) => {
    if (player) return player.answer(request);
    return recorder ? recorder.keep(request, next) : next(request);
  });
  // Nothing is sent, so no key is needed, but providers ask for one.
  zz.wrap("request", (request, next) => {
    const { endpoint, model } = request;
    recorder?.asks(model);
    return next(
      player && !endpoint.key
        ? { ...request, endpoint: { ...endpoint, key: zz.secret("replayed") } }
        : request,
    );
  });
};
