// The servers that run: each is started when it is first asked, told of what changed before each
// question, started again once where it fails in one, and ended with zz.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Ctx, LanguageQuestion, LanguageServers, SandboxedProgram, Zz } from "zz";
import type { Config } from "./index.ts";
import {
  languageIdOf,
  ownTypescript,
  type ServerKind,
  serverFor,
  TYPESCRIPT,
} from "./known-servers.ts";
import { type Client, openClient, ServerOver } from "./server-client.ts";
import { type OpenServer, openServer } from "./server-questions.ts";

interface RunningServer {
  client: Client;
  server: OpenServer;
  key: string; // what it may see, and what it may have missed
  stamps: ReadonlyMap<string, string>;
  close(): void;
}
export class RunningServers implements LanguageServers {
  #running = new Map<string, Promise<RunningServer>>();
  #failed = new Map<string, string>();
  #missed = 0;
  #line: Promise<unknown> = Promise.resolve();
  readonly #zz: Zz<Config>;
  constructor(zz: Zz<Config>) {
    this.#zz = zz;
  }

  async answer(question: LanguageQuestion, ctx: Ctx): Promise<string | undefined> {
    const serverKind = serverFor(question.file);
    if (!serverKind || (serverKind !== TYPESCRIPT && !this.#zz.config.others))
      return "no language server is asked for it";
    // one after the other
    const pendingAnswer = this.#line.then(() => this.#answerNow(serverKind, question, ctx));
    this.#line = pendingAnswer.catch(() => {});
    return pendingAnswer;
  }

  async #answerNow(
    serverKind: ServerKind,
    question: LanguageQuestion,
    ctx: Ctx,
  ): Promise<string | undefined> {
    const failure = this.#failed.get(serverKind.name);
    if (failure) return failure;
    const aborting = Promise.withResolvers<never>();
    aborting.promise.catch(() => {});
    const onAbort = () => aborting.reject(ctx.signal.reason);
    ctx.signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#tryTwice(serverKind, question, ctx, aborting.promise);
    } finally {
      ctx.signal.removeEventListener("abort", onAbort);
    }
  }

  async #tryTwice(
    serverKind: ServerKind,
    question: LanguageQuestion,
    ctx: Ctx,
    stopped: Promise<never>,
  ) {
    let sentence = "";
    for (let attempt = 0, isHung = false; attempt < 2 && !isHung; attempt++) {
      ctx.signal.throwIfAborted();
      try {
        const running = await this.#serverOf(serverKind, ctx);
        if (typeof running === "string") return running;
        await tellChanges(running, question);
        await Promise.race([question.ask(running.server), stopped]);
        return undefined;
      } catch (error) {
        if (ctx.signal.aborted) this.#drop(serverKind.name); // it may go by texts that nobody wrote
        if (!(error instanceof ServerOver)) throw error;
        this.#drop(serverKind.name);
        isHung = error.isHung;
        sentence = `${serverKind.name} failed${attempt ? " twice" : ""}: ${error.message}`;
      }
    }
    this.#failed.set(serverKind.name, sentence);
    return sentence;
  }

  /** A sentence: why there is none. */
  async #serverOf(serverKind: ServerKind, ctx: Ctx): Promise<RunningServer | string> {
    const serverKey = JSON.stringify([ctx.permissions.rules, this.#missed, installedIn(ctx.root)]);
    const previousServer = await this.#running.get(serverKind.name)?.catch(() => undefined);
    if (previousServer?.key === serverKey && !previousServer.client.isOver()) return previousServer;
    this.#drop(serverKind.name);
    const program = programOf(serverKind, ctx);
    if (typeof program === "string") return program;
    const sandbox = ctx.service("sandbox");
    const sandboxed = await (serverKind === TYPESCRIPT
      ? sandbox?.startReader(program.argv, program.reads, ctx)
      : sandbox?.start(program.argv, {}, ctx));
    if (!sandboxed && serverKind !== TYPESCRIPT)
      return `${serverKind.name} runs only in a sandbox, and ${sandbox ? NO_SANDBOX : SHELL_OFF}`;
    const started = this.#start(serverKind, program, sandboxed, serverKey, ctx);
    this.#running.set(serverKind.name, started);
    return started;
  }

  async #start(
    serverKind: ServerKind,
    program: Program,
    sandboxed: SandboxedProgram | undefined,
    key: string,
    ctx: Ctx,
  ) {
    const [programFile, ...args] = sandboxed?.argv ?? program.bare;
    const variables = Object.fromEntries(
      VARIABLES.map((variableName) => [variableName, this.#zz.io.variable(variableName)]),
    );
    const serverProcess = ctx.programs.start(programFile!, args, {
      // without a sandbox it finds no program
      env: {
        ...variables,
        ...(sandboxed ? { ...sandboxed.env, ...CACHE_FOLDERS } : { PATH: "" }),
        ...serverKind.env,
      },
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    const { options, settings } = serverKind;
    try {
      const client = await openClient(serverProcess, {
        root: pathToFileURL(ctx.root).href,
        options,
        settings,
        seconds: this.#zz.config.seconds,
        clock: ctx.io.clock,
      });
      const server = openServer(client, {
        name: serverKind.name,
        root: ctx.root,
        isSafe: !!sandboxed,
        languageIdOf: (sourceFile) => languageIdOf(serverKind, sourceFile),
      });
      const closeBoth = () => {
        client.close();
        sandboxed?.close();
      };
      return { client, server, key, stamps: new Map(), close: closeBoth };
    } catch (error) {
      sandboxed?.close();
      throw error;
    }
  }

  async warm(file: string, fileText: string, ctx: Ctx): Promise<void> {
    const question: LanguageQuestion = {
      file,
      stamps: new Map(),
      textOf: async () => fileText,
      ask: async (server) => {
        server.show(file, fileText);
        await server.symbols(file);
      },
    };
    await this.answer(question, ctx);
  }

  #drop(serverName: string): void {
    this.#running.get(serverName)?.then(
      (running) => running.close(),
      () => {},
    );
    this.#running.delete(serverName);
  }
  close(): void {
    for (const serverName of this.#running.keys()) this.#drop(serverName);
  }

  /** Files may have changed that nobody lists. */
  forget(): void {
    this.#missed++;
  }
}

/** The variables that a program needs to run at all; the person's keys are not among them. */
const NO_SANDBOX = "there is none here";
const SHELL_OFF = "the plugin 'shell' is off (/plugins on shell turns it on)";
const VARIABLES =
  "HOME LANG LC_ALL LOGNAME PATH SHELL USER GOPATH GOROOT JAVA_HOME RUSTUP_HOME CARGO_HOME".split(
    " ",
  );
const CACHE_FOLDERS = { XDG_CACHE_HOME: "/tmp/.cache", TMPDIR: "/tmp" };

interface Program {
  argv: string[]; // in the sandbox
  bare: string[]; // without one
  reads: string[];
}
function programOf({ name, program, args = [], install }: ServerKind, ctx: Ctx): Program | string {
  if (program) {
    const programPath = ctx.programs.find(program);
    if (!programPath) return `${name} is not installed (${install})`;
    return { argv: [programPath, ...args], bare: [programPath, ...args], reads: [] };
  }
  const typescript = ownTypescript();
  if (!typescript) return `${name} is not installed (${install})`;
  const serverArgs = ["--lsp", "--stdio"];
  return {
    argv: [typescript.program, ...serverArgs],
    bare: [process.execPath, typescript.starter, ...serverArgs],
    reads: [typescript.folder, ...modulesAbove(ctx.root)],
  };
}

/** Where a workspace keeps packages, above the folder that zz works in. */
function modulesAbove(folder: string): string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [] : [path.join(parent, "node_modules"), ...modulesAbove(parent)];
}

/** Changes when packages are installed, which no list of files has. */
const installedIn = (projectRoot: string): string =>
  ["", ".package-lock.json", ".modules.yaml", ".yarn-state.yml"]
    .map(
      (installMarker) =>
        fs.statSync(path.join(projectRoot, "node_modules", installMarker), {
          throwIfNoEntry: false,
        })?.mtimeMs,
    )
    .join();

/** What changed on the disk since it was asked last. */
async function tellChanges(
  running: RunningServer,
  { stamps, textOf }: LanguageQuestion,
): Promise<void> {
  const { client, server, stamps: stampsBefore } = running;
  if (!stamps.size || stamps === stampsBefore) return;
  const changes: { uri: string; type: number }[] = [];
  for (const [sourceFile, fileStamp] of stamps) {
    const stampBefore = stampsBefore.get(sourceFile);
    if (stampBefore === fileStamp || (!stampsBefore.size && !server.shows(sourceFile))) continue;
    if (stampsBefore.size)
      changes.push({
        uri: server.uriOf(sourceFile),
        type: stampBefore === undefined ? CREATED : CHANGED,
      });
    if (server.shows(sourceFile)) server.show(sourceFile, await textOf(sourceFile));
  }
  for (const sourceFile of stampsBefore.keys()) {
    if (stamps.has(sourceFile)) continue;
    changes.push({ uri: server.uriOf(sourceFile), type: DELETED });
    server.hide(sourceFile);
  }
  if (changes.length) client.tell("workspace/didChangeWatchedFiles", { changes });
  running.stamps = stamps;
}
const [CREATED, CHANGED, DELETED] = [1, 2, 3];
