// ctx: what a running tool, command or layer can reach.

import path from "node:path";
import { filesForCall } from "../changes/tool-files.ts";
import type {
  About,
  Added,
  Call,
  Choice,
  Ctx,
  Plugins,
  Question,
  SideRequest,
} from "../contract.ts";
import { sessions } from "../conversation/chat.ts";
import {
  chooseModel,
  describeModel,
  endpointOf,
  listModels,
} from "../conversation/choose-model.ts";
import { composePrompt, updatePart } from "../conversation/system-prompt.ts";
import { emit, runStep, withinHookLimit } from "../events.ts";
import { effectOf } from "../gate/gate.ts";
import { permissions } from "../gate/permissions.ts";
import { keepTrust, projectExtras } from "../gate/trust.ts";
import type { Core, LiveChat, Owned, ProjectExtras, TurnContext } from "../instance.ts";
import { NO_MODEL_ID, newId, ZZ } from "../instance.ts";
import { preferences } from "../settings/change-settings.ts";
import { allFlags } from "../settings/flag-table.ts";
import { allProviders } from "../settings/providers.ts";
import { agreement } from "../settings/settings-files.ts";
import { version } from "../system/installation.ts";
import { updatePrivateFile } from "../system/locks.ts";
import { programs } from "../system/other-programs.ts";
import { gitOf } from "../system/safe-git.ts";
import { clockOf } from "../text/clock.ts";
import { fault, usage } from "../text/faults.ts";
import { errorMessage } from "../text/secrets.ts";
import { clean } from "../text/show-safely.ts";
import { byName, lazily } from "../text/words.ts";
import { refreshPlugins } from "./load-plugins.ts";
import { commandNamed } from "./off-plugins.ts";
import { pluginIoOf } from "./plugin-handle.ts";
import { describeCall, findTool, offeredTools, runCall } from "./run-call.ts";
import { sideRequest } from "./side-request.ts";

export function createCtx(core: Core, chat: LiveChat, actor = ZZ): Ctx {
  const { edit, terminal, pick } = core;
  const { root, home } = core.options;
  const lazyParts = lazily({
    signal: () => chat.stop.signal,
    files: () => filesForCall(turn, { tool: actor }),
    git: () => gitOf(root, clockOf(core.io)),
    plugins: () => pluginsOf(core),
    about: () => createAbout(turn),
  });
  const ctx: Ctx = Object.assign(lazyParts, {
    root,
    chat,
    ...(edit && { edit }),
    ...(terminal && { terminal }),
    ...(pick && { pick }),
    io: pluginIoOf(core),
    permissions: permissions(core),
    programs: programs(root, core.io.env),
    sessions: sessions({ core, chat }),
    settings: preferences(core),
    request: (sideQuestion: SideRequest) => sideRequest(turn, sideQuestion),
    answer(question: Question) {
      const isChosen = chat.model.includes("/") && chat.model !== NO_MODEL_ID;
      return core.apart(core, isChosen ? { model: chat.model, ...question } : question);
    },
    call: (name: string, callArgs: unknown, stopSignal?: AbortSignal) =>
      runCall(
        stopSignal ? stoppedBy(turn, stopSignal) : turn,
        { id: newId("call_"), name, args: callArgs as Call["args"] },
        true,
      ),
    service: (serviceName: string) => core.services.get(serviceName)?.value.offer as any,
    command: async (commandName: string, commandWords = "") =>
      (await commandNamed(core, commandName)).run(
        commandWords,
        createCtx(core, chat, `/${commandName}`),
      ),
    note: (text: string) =>
      void emit(core, "noted", { text, ...(actor.startsWith("/") && { command: actor.slice(1) }) }),
    keep: (fileName: string, rewriteText: (fileText: string) => string) =>
      updatePrivateFile(path.join(home, path.basename(fileName)), rewriteText),
    progress: (text: string) => void emit(core, "progressed", { text }),
  });
  const askCleaned = (question: string, options?: any) =>
    (options?.secret ? core.secret : core.ask)!(clean(question), options);
  // a client may come, and be able to ask
  Object.defineProperty(ctx, "ask", { get: () => core.ask && askCleaned, enumerable: true });
  const turn: TurnContext = { core, chat, ctx };
  return ctx;
}

/** The same place, whose calls also end at this signal. */
function stoppedBy(turn: TurnContext, stopSignal: AbortSignal): TurnContext {
  const endSignal = AbortSignal.any([turn.ctx.signal, stopSignal]);
  return { ...turn, ctx: Object.create(turn.ctx, { signal: { value: endSignal } }) };
}

function pluginsOf(core: Core): Plugins {
  const refresh = (again?: boolean) => refreshPlugins(core, again);
  const { extras: brought } = core;
  const { hashes, agreed, stamps, ...told } = brought ?? ({} as ProjectExtras);
  const sends = core.options.sources?.project?.sends ?? [];
  return {
    refresh,
    ...(brought && { brought: { ...told, ...(sends.length && { sends }) } }),
    async trust(isTrusting, agreedSends = []) {
      if (isTrusting && !brought)
        throw usage("Cannot trust this folder: there is nothing in its .zz/ that could run.");
      if (isTrusting && brought?.wrong) throw usage(`Cannot trust this folder: ${brought.wrong}.`);
      keepTrust(core.options, isTrusting ? brought?.hashes : undefined, agreedSends.map(agreement));
      core.extras = projectExtras(core.options);
      return refresh();
    },
  };
}

/** Parts are created on first access: most layers use one or two. */
function createAbout(turn: TurnContext): About {
  const { core } = turn;
  const ownerOf = (toolName: string) => core.tools.get(toolName)!.owner;
  const lazyParts = lazily({
    tools: () =>
      offeredTools(core).map((tool) => ({
        ...tool,
        owner: ownerOf(tool.name),
        kind: effectOf(findTool(core, tool.name)!),
      })),
    commands: () =>
      [...core.commands.values()]
        .map(({ owner, value: { run, complete, ...rest } }) => ({ ...rest, owner }))
        .sort(byName),
    keys: () =>
      [...core.keys.values()].map(({ owner, value: { name, description } }) => ({
        name,
        description,
        owner,
      })),
    plugins: () =>
      core.plugins.map(({ undo, ms, version, stamps, isPackage, section, unusable, ...plugin }) => {
        const adds = () => addedBy(core, plugin.name); // slow, and seldom asked for
        return Object.assign(lazily({ adds }), plugin, { ms: Math.round(ms * 10) / 10 });
      }),
    flags: () => allFlags(core),
    providers: () =>
      [...allProviders(core).values()].map(({ name, key, role }) => {
        const owner = core.providers.get(name)?.owner ?? ZZ;
        return {
          name,
          owner,
          endpoint: endpointOf(core, name),
          ...(role && { role }),
          ...(key && { variable: key.variable }),
        };
      }),
  });
  return Object.assign(lazyParts, {
    home: core.options.home,
    version: version(),
    models: (isOfAll = false) => listModels(core, isOfAll),
    offered: () => runStep(turn, "offer", offeredTools(core)),
    async prompt() {
      const { prompt, told, news } = await composePrompt(turn);
      const sent = {
        system: prompt,
        earlier: [...told].map(([key, updateText]) => updatePart(key, updateText)),
        next: news,
      };
      return Object.entries(sent).flatMap(([sentWhen, promptParts]) =>
        promptParts.map((promptPart) => ({ ...promptPart, sent: sentWhen as keyof typeof sent })),
      );
    },
    model: (modelName: string, isQuick?: boolean) => describeModel(core, modelName, isQuick),
    defaultModel: () => chooseModel(core),
    line: (call: Pick<Call, "name" | "args">) => describeCall(core, call),
    complete: (command: string, typedText: string) => completeCommand(turn, command, typedText),
  });
}

async function completeCommand(
  { core, ctx }: TurnContext,
  command: string,
  typedText: string,
): Promise<Choice[]> {
  const { owner, value } = core.commands.get(command) ?? {};
  const toCommandFault = (error: unknown) =>
    fault(`Cannot complete '/${command}' of plugin '${owner}': ${errorMessage(error)}`);
  const completed = withinHookLimit(core, (async () => value?.complete?.(typedText, ctx))());
  const choices = (await completed.catch((error) => Promise.reject(toCommandFault(error)))) ?? [];
  return choices.map((choice) => (typeof choice === "string" ? { name: choice } : choice));
}

const nameOfAddition = ({ name, override }: { name: string; override?: boolean }): string =>
  override ? `${name} (instead of the one of that name)` : name;
/** Everything that a plugin registered. */
function addedBy(core: Core, pluginName: string): Added[] {
  const { tools, commands, flags, keys, providers, layers, wraps, observers, configs } = core;
  const settable = configs.filter(({ value }) => Object.keys(value.defaults).length > 0);
  const registries = {
    tool: tools,
    command: commands,
    flag: flags,
    key: keys,
    provider: providers,
    layer: layers,
  };
  return [
    ...Object.entries(registries).flatMap(([noun, registrations]) =>
      listAdded(noun, [...registrations.values()] as Owned<any>[], nameOfAddition),
    ),
    ...listAdded("wrapper", wraps, ({ step }) => step),
    ...listAdded("event", observers, ({ event }) => event),
    ...listAdded("settings", settable, ({ section }) => section),
  ];

  function listAdded<T>(
    noun: string,
    registrations: Owned<T>[],
    nameOf: (addedValue: T) => string,
  ): Added[] {
    return registrations
      .filter((registration) => registration.owner === pluginName)
      .map(({ value }) => ({ kind: noun, name: nameOf(value) }));
  }
}
