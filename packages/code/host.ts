// The servers that run: each is started when it is first asked, told of what changed before each
// question, started again once where it fails in one, and ended with zz.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Ctx, LanguageQuestion, LanguageServers, SandboxedProgram, Zz } from "zz";
import { type Client, openClient, ServerOver } from "./client.ts";
import type { Config } from "./index.ts";
import { type OpenServer, openServer } from "./questions.ts";
import { languageIdOf, ownTypescript, type ServerKind, serverFor, TYPESCRIPT } from "./servers.ts";

interface Running {
  client: Client;
  server: OpenServer;
  key: string; // what it may see, and what it may have missed
  stamps: ReadonlyMap<string, string>;
  close(): void;
}
export interface Host extends LanguageServers {
  warm(file: string, text: string, ctx: Ctx): Promise<void>;
  forget(): void; // files may have changed that nobody lists
  close(): void;
}
export class RunningServers implements Host {
  #running = new Map<string, Promise<Running>>();
  #failed = new Map<string, string>();
  #missed = 0;
  #line = Promise.resolve();
  readonly #zz: Zz<Config>;
  constructor(zz: Zz<Config>) {
    this.#zz = zz;
  }

  async answer(question: LanguageQuestion, ctx: Ctx): Promise<string | undefined> {
    const kind = serverFor(question.file);
    if (!kind || (kind !== TYPESCRIPT && !this.#zz.config.others))
      return "no language server is asked for it";
    const turn = this.#line.then(() => this.#answerNow(kind, question, ctx)); // one after the other
    this.#line = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  async #answerNow(
    kind: ServerKind,
    question: LanguageQuestion,
    ctx: Ctx,
  ): Promise<string | undefined> {
    const known = this.#failed.get(kind.name);
    if (known) return known;
    const stop = Promise.withResolvers<never>();
    stop.promise.catch(() => {});
    const onAbort = () => stop.reject(ctx.signal.reason);
    ctx.signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#tryTwice(kind, question, ctx, stop.promise);
    } finally {
      ctx.signal.removeEventListener("abort", onAbort);
    }
  }

  async #tryTwice(kind: ServerKind, question: LanguageQuestion, ctx: Ctx, stopped: Promise<never>) {
    let sentence = "";
    for (let attempt = 0, isHung = false; attempt < 2 && !isHung; attempt++) {
      ctx.signal.throwIfAborted();
      try {
        const one = await this.#serverOf(kind, ctx);
        if (typeof one === "string") return one;
        await tellChanges(one, question);
        await Promise.race([question.ask(one.server), stopped]);
        return undefined;
      } catch (error) {
        if (ctx.signal.aborted) this.#drop(kind.name); // it may go by texts that nobody wrote
        if (!(error instanceof ServerOver)) throw error;
        this.#drop(kind.name);
        isHung = error.isHung;
        sentence = `${kind.name} failed${attempt ? " twice" : ""}: ${error.message}`;
      }
    }
    this.#failed.set(kind.name, sentence);
    return sentence;
  }

  /** A sentence: why there is none. */
  async #serverOf(kind: ServerKind, ctx: Ctx): Promise<Running | string> {
    const key = JSON.stringify([ctx.permissions.rules, this.#missed, installedIn(ctx.root)]);
    const before = await this.#running.get(kind.name)?.catch(() => undefined);
    if (before?.key === key && !before.client.isOver()) return before;
    this.#drop(kind.name);
    const program = programOf(kind, ctx);
    if (typeof program === "string") return program;
    const sandbox = ctx.service("sandbox");
    const box = await (kind === TYPESCRIPT
      ? sandbox?.startReader(program.argv, program.reads, ctx)
      : sandbox?.start(program.argv, {}, ctx));
    if (!box && kind !== TYPESCRIPT)
      return `${kind.name} runs only in a sandbox, and there is none here`;
    const started = this.#start(kind, program, box, key, ctx);
    this.#running.set(kind.name, started);
    return started;
  }

  async #start(
    kind: ServerKind,
    program: Program,
    box: SandboxedProgram | undefined,
    key: string,
    ctx: Ctx,
  ) {
    const [file, ...args] = box?.argv ?? program.bare;
    const own = Object.fromEntries(VARIABLES.map((name) => [name, this.#zz.io.variable(name)]));
    const child = ctx.programs.start(file!, args, {
      // without a sandbox it finds no program
      env: { ...own, ...(box ? { ...box.env, ...CACHES } : { PATH: "" }), ...kind.env },
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    const { options, settings } = kind;
    try {
      const client = await openClient(child, {
        root: pathToFileURL(ctx.root).href,
        ...(options && { options }),
        ...(settings && { settings }),
        seconds: this.#zz.config.seconds,
        clock: ctx.io.clock,
      });
      const server = openServer(client, {
        name: kind.name,
        root: ctx.root,
        isSafe: !!box,
        languageIdOf: (file) => languageIdOf(kind, file),
      });
      const closeBoth = () => {
        client.close();
        box?.close();
      };
      return { client, server, key, stamps: new Map(), close: closeBoth };
    } catch (error) {
      box?.close();
      throw error;
    }
  }

  async warm(file: string, text: string, ctx: Ctx): Promise<void> {
    const question: LanguageQuestion = {
      file,
      stamps: new Map(),
      textOf: async () => text,
      ask: async (server) => {
        server.show(file, text);
        await server.symbols(file);
      },
    };
    await this.answer(question, ctx);
  }

  #drop(name: string): void {
    this.#running.get(name)?.then(
      (one) => one.close(),
      () => {},
    );
    this.#running.delete(name);
  }
  close(): void {
    for (const name of this.#running.keys()) this.#drop(name);
  }

  forget(): void {
    this.#missed++;
  }
}

/** The variables that a program needs to run at all; the person's keys are not among them. */
const VARIABLES =
  "HOME LANG LC_ALL LOGNAME PATH SHELL USER GOPATH GOROOT JAVA_HOME RUSTUP_HOME CARGO_HOME".split(
    " ",
  );
const CACHES = { XDG_CACHE_HOME: "/tmp/.cache", TMPDIR: "/tmp" };

interface Program {
  argv: string[]; // in the sandbox
  bare: string[]; // without one
  reads: string[];
}
function programOf({ name, program, args = [], install }: ServerKind, ctx: Ctx): Program | string {
  if (program) {
    const found = ctx.programs.find(program);
    if (!found) return `${name} is not installed (${install})`;
    return { argv: [found, ...args], bare: [found, ...args], reads: [] };
  }
  const own = ownTypescript();
  if (!own) return `${name} is not installed (${install})`;
  const how = ["--lsp", "--stdio"];
  const above = modulesAbove(ctx.root);
  return {
    argv: [own.program, ...how],
    bare: [process.execPath, own.starter, ...how],
    reads: [own.folder, ...above],
  };
}

/** Where a workspace keeps packages, above the folder that zz works in. */
function modulesAbove(root: string): string[] {
  const above = root.split("/").slice(1, -1);
  return above
    .map((_, i) => `/${above.slice(0, i + 1).join("/")}/node_modules`)
    .concat("/node_modules");
}

/** Changes when packages are installed, which no list of files has. */
const installedIn = (root: string): string =>
  ["", ".package-lock.json", ".modules.yaml", ".yarn-state.yml"]
    .map(
      (name) =>
        fs.statSync(path.join(root, "node_modules", name), { throwIfNoEntry: false })?.mtimeMs,
    )
    .join();

/** What changed on the disk since it was asked last. */
async function tellChanges(one: Running, { stamps, textOf }: LanguageQuestion): Promise<void> {
  const { client, server, stamps: before } = one;
  if (!stamps.size || stamps === before) return;
  const changes: { uri: string; type: number }[] = [];
  for (const [file, stamp] of stamps) {
    const known = before.get(file);
    if (known === stamp || (!before.size && !server.shows(file))) continue;
    if (before.size)
      changes.push({ uri: server.uriOf(file), type: known === undefined ? CREATED : CHANGED });
    if (server.shows(file)) server.show(file, await textOf(file));
  }
  for (const file of before.keys()) {
    if (stamps.has(file)) continue;
    changes.push({ uri: server.uriOf(file), type: DELETED });
    server.hide(file);
  }
  if (changes.length) client.tell("workspace/didChangeWatchedFiles", { changes });
  one.stamps = stamps;
}
const [CREATED, CHANGED, DELETED] = [1, 2, 3];
