// What a running tool, command or layer gets: ctx.
import path from "node:path";
import { sessions } from "./chat.ts";
import type { About, Added, Call, Command, Ctx, Plugins } from "./contract.ts";
import { type Core, emit, type LiveChat, newId, note, type Owned, type TurnContext, ZZ } from "./core.ts";
import { usage } from "./faults.ts";
import { openFiles } from "./files.ts";
import { allFlags } from "./flags.ts";
import { gitOf } from "./git.ts";
import { refreshPlugins } from "./loader.ts";
import { updatePrivate } from "./locks.ts";
import { endpointOf, listModels, modelNamed } from "./models.ts";
import { permissions } from "./permissions.ts";
import { preferences } from "./preferences.ts";
import { programs } from "./programs.ts";
import { composePrompt, partOf } from "./prompt.ts";
import { sideRequest } from "./request.ts";
import { version } from "./self.ts";
import { agreement, rereadSettings } from "./settings.ts";
import { byName, clean, unknown } from "./text.ts";
import { offered, runCall } from "./tools.ts";
import { keepTrust, projectExtras } from "./trust.ts";

export function context(core: Core, chat: LiveChat): Ctx {
  const ctx: Ctx = {
    root: core.options.root,
    get signal() {
      return chat.stop.signal;
    },
    chat,
    get files() {
      return openFiles({ core, chat, ctx }, { tool: ZZ });
    },
    permissions: permissions(core),
    programs: programs(core.options.root, core.io.env),
    get git() {
      return gitOf(core.options.root);
    },
    sessions: sessions({ core, chat }),
    settings: preferences(core),
    get plugins() {
      return pluginsOf(core);
    },
    ...(core.ask && { ask: (question, keys) => core.ask!(clean(question), keys) }), // names in it may hold anything
    ...(core.edit && { edit: core.edit }),
    ...(core.terminal && { terminal: core.terminal }),
    get about() {
      return about({ core, chat, ctx });
    },
    request: (what) => sideRequest({ core, chat, ctx }, what),
    call: (name, args) => runCall({ core, chat, ctx }, { id: newId("call_"), name, args: args as Call["args"] }, true),
    async command(name, rest = "") {
      const command = core.commands.get(name)?.value;
      if (!command) throw usage(`Cannot obey '/${name}': ${unknown("command", name, core.commands.keys())}`);
      await command.run(rest, ctx);
    },
    note: (text) => note(core, text),
    keep: (name, change) => updatePrivate(path.join(core.options.home, path.basename(name)), change),
    progress: (text) => void emit(core, "progressed", { text }),
  };
  return ctx;
}

function pluginsOf(core: Core): Plugins {
  const refresh = () => refreshPlugins(core);
  const { extras: brought } = core;
  const { files = [], given = false, changed, wrong } = brought ?? {};
  const sends = core.options.sources?.project?.sends ?? [];
  return {
    refresh,
    ...(brought && { brought: { files, given, ...(changed && { changed }), ...(wrong && { wrong }), ...(sends.length && { sends }) } }),
    async trust(yes, sends = []) {
      if (yes && !brought) throw usage("Cannot trust this folder: there is nothing in its .zz/ that could run.");
      if (yes && brought?.wrong) throw usage(`Cannot trust this folder: ${brought.wrong}.`);
      keepTrust(core.options, yes ? brought?.hashes : undefined, sends.map(agreement));
      core.extras = projectExtras(core.options);
      await rereadSettings(core);
      return refresh();
    },
  };
}

/** Each part is made when it is looked at: a turn's layers ask for one or two. */
function about(place: TurnContext): About {
  const { core, ctx } = place;
  return {
    home: core.options.home,
    version: version(),
    get tools() {
      return offered(core).map((tool) => ({ ...tool, owner: core.tools.get(tool.name)!.owner }));
    },
    get commands() {
      return [...core.commands.values()].map(told).sort(byName);
    },
    get keys() {
      return [...core.keys.values()].map(({ owner, value: { name, description } }) => ({ name, description, owner }));
    },
    get plugins() {
      return core.plugins.map(({ undo, ms, version, stamps, ...plugin }) => ({
        ...plugin,
        ms: Math.round(ms * 10) / 10,
        adds: addedBy(core, plugin.name),
      }));
    },
    get flags() {
      return allFlags(core);
    },
    get providers() {
      return [...core.providers.values()].map(({ owner, value: { name, key } }) => ({
        ...{ name, owner, endpoint: endpointOf(core, name) },
        ...(key && { variable: key.variable }),
      }));
    },
    models: (all = false) => listModels(core, all),
    async prompt() {
      const { prompt, told, news } = await composePrompt(place);
      const earlier = [...told].map(([key, text]) => partOf(key, text));
      const sent = { system: prompt, earlier, next: news };
      return Object.entries(sent).flatMap(([when, parts]) => parts.map((part) => ({ ...part, sent: when as keyof typeof sent })));
    },
    model: (name, quick) => modelNamed(core, name, quick),
    async complete(command, typed) {
      const given = (await core.commands.get(command)?.value.complete?.(typed, ctx)) ?? [];
      return given.map((one) => (typeof one === "string" ? { name: one } : one));
    },
  };

  function told({ owner, value: { run, complete, ...rest } }: Owned<Command>): About["commands"][number] {
    return { ...rest, owner };
  }
}

/** Everything that a plugin owns. */
function addedBy(core: Core, owner: string): Added[] {
  const named = (kind: string, all: Map<string, Owned<{ name: string }>>) => list(kind, [...all.values()], ({ name }) => name);
  return [
    ...named("tool", core.tools),
    ...named("command", core.commands),
    ...named("flag", core.flags),
    ...named("key", core.keys),
    ...named("provider", core.providers),
    ...list("layer", core.layers, ({ name }) => name),
    ...list("wrapper", core.wraps, ({ step }) => step),
    ...list("event", core.observers, ({ event }) => event),
    ...list(
      "settings",
      core.configs.filter(({ value }) => Object.keys(value.defaults).length > 0),
      ({ section }) => section,
    ),
  ];

  function list<T>(kind: string, all: Owned<T>[], nameOf: (value: T) => string): Added[] {
    return all.filter((one) => one.owner === owner).map(({ value }) => ({ kind, name: nameOf(value) }));
  }
}
