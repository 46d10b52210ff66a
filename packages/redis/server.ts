// One server, and what it says. Each question is tried again until its time is up, since a server
// restarts or fails over.
import { isIP } from "node:net";
import { Cluster, Redis } from "ioredis";
import type { Options } from "./protocol.ts";

const OLDEST_MAJOR = 5; // the oldest major version with all that the scripts use
const RETRY_PAUSE_MS = 100; // ms before another try
// seconds, once it was out of reach: a conversation must not wait for it at each entry
const FIRST_WAIT = 1;

export interface Server {
  ask<T>(askClient: (client: Redis | Cluster) => Promise<T>): Promise<T>;
  keepsByLog(): boolean; // whether it can be asked to write its log to the disk now
  news(): string[]; // what the person should know of it; only once
}

export function openServer(options: Options): Server {
  let client: Redis | Cluster | undefined;
  let nodes: Node[] = []; // of a cluster: one of them may answer when the one in the URL does not
  let [isLost, canKeepByLog, unseenWarnings]: [boolean, boolean, string[]?] = [false, false];

  async function connected(): Promise<Redis | Cluster> {
    if (client?.status === "ready") return client;
    client?.disconnect();
    client = connect(options, nodes);
    let reason: Error | undefined; // connect() itself only says that it failed
    client.on("error", (error) => void (reason = error));
    await client.connect().catch((error) => Promise.reject(reason ?? error));
    nodes = nodesOf(client);
    const serverFacts = await factsOf(client);
    refuseOld(serverFacts);
    unseenWarnings ??= warningsOf(serverFacts, options);
    canKeepByLog = serverFacts.logs && serverFacts.canSyncLog;
    return client;
  }

  return {
    async ask(askClient) {
      const deadline =
        performance.now() +
        (isLost ? Math.min(FIRST_WAIT, options.seconds) : options.seconds) * 1_000;
      let lastCode: string | undefined; // a connection that ends says less than one that is refused
      for (;;)
        try {
          const answer = await inTime(connected().then(askClient), deadline - performance.now());
          isLost = false;
          return answer;
        } catch (error) {
          lastCode = (error as NodeJS.ErrnoException).code ?? lastCode;
          const refusal = refusalOf(error as Error, options, lastCode);
          if (
            error instanceof Refusal ||
            error instanceof TooLate ||
            client?.status !== "ready" ||
            /READONLY/.test(String(error))
          )
            dropClient();
          isLost ||= Boolean(refusal?.again);
          if (refusal && (!refusal.again || performance.now() + RETRY_PAUSE_MS > deadline))
            throw new Error(`Cannot use the store ${options.where}: ${refusal.why}.`);
          if (!refusal) throw error;
          await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
        }
    },
    keepsByLog: () => canKeepByLog,
    news: () => unseenWarnings?.splice(0) ?? [],
  };

  /** What is under way is not sent again later: zz has gone on without it. */
  function dropClient(): void {
    const latestNodes = nodesOf(client);
    if (latestNodes.length) nodes = latestNodes;
    client?.disconnect();
    client = undefined;
  }
}

/** Of a cluster the node that a key is on: for commands that name none. */
export async function nodeWith(client: Redis | Cluster, keyName: string): Promise<Redis> {
  if (client instanceof Redis) return client;
  const keySlot = Number(await client.cluster("KEYSLOT", keyName));
  const [primary] = client.slots[keySlot] ?? [];
  const isPrimary = ({ options: { host, port } }: Redis) => `${host}:${port}` === primary;
  const keyNode = client.nodes("master").find(isPrimary);
  if (!keyNode) throw new TooLate(); // its news are not here yet
  return keyNode;
}

function nodesOf(client: Redis | Cluster | undefined): Node[] {
  if (!(client instanceof Cluster)) return [];
  return client.nodes().map(({ options: { host, port } }) => ({ host, port }) as Node);
}

export function refuseOld({ major, version }: Facts): void {
  if (major >= OLDEST_MAJOR) return;
  throw new Refusal(`it is version ${version}, and zz needs ${OLDEST_MAJOR} or newer. Update it`);
}

class Refusal extends Error {}
class TooLate extends Error {}

export async function inTime<T>(promise: Promise<T>, limitMs: number): Promise<T> {
  const { promise: timeLimit, reject } = Promise.withResolvers<never>();
  const limitTimer = setTimeout(() => reject(new TooLate()), Math.max(1, limitMs));
  try {
    return await Promise.race([promise, timeLimit]);
  } finally {
    clearTimeout(limitTimer);
    promise.catch(() => {}); // it may fail later
  }
}

type Node = { host: string; port: number };
export type Connecting = Pick<Options, "url" | "password" | "cluster" | "seconds">;
export function connect(
  { url, password, cluster, seconds }: Connecting,
  otherNodes: Node[] = [],
): Redis | Cluster {
  const address = new URL(url);
  const commonOptions = {
    lazyConnect: true,
    protocol: 2 as const,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: seconds * 1_000,
    ...(address.username && { username: decodeURIComponent(address.username) }),
    ...((password || address.password) && {
      password: password || decodeURIComponent(address.password),
    }),
    ...(address.protocol === "rediss:" && {
      tls: isIP(address.hostname.replace(/^\[|\]$/g, "")) ? {} : { servername: address.hostname },
    }),
  };
  const [host, port] = [
    address.hostname.replace(/^\[|\]$/g, "") || "127.0.0.1",
    Number(address.port || 6379),
  ];
  if (!cluster) {
    const path = address.searchParams.get("socket");
    const location = path ? { path } : { host, port };
    const db = Number(address.pathname.slice(1) || 0);
    return new Redis({ ...commonOptions, ...location, db, retryStrategy: () => null });
  }
  return new Cluster([{ host, port }, ...otherNodes], {
    lazyConnect: true,
    enableOfflineQueue: true,
    clusterRetryStrategy: () => null,
    redisOptions: commonOptions,
  });
}

type Facts = Awaited<ReturnType<typeof factsOf>>;
/** What INFO says. A server that keeps it to itself is taken as it is. */
export async function factsOf(client: Redis | Cluster) {
  const infoText = await client.info().catch((error: Error) => {
    if (/^(NOPERM|ERR unknown command)/.test(error.message)) return "";
    throw error;
  });
  const infoFact = (factName: string): string | undefined =>
    new RegExp(`^${factName}:(.*?)\\r?$`, "m").exec(infoText)?.[1];
  const version = infoFact("valkey_version") ?? infoFact("redis_version") ?? "";
  const [majorNumber = 0, minorNumber = 0] = version.split(".").map(Number);
  const saves = await client.config("GET", "save").then(
    (saveSetting) => String((saveSetting as string[])[1] ?? ""),
    () => undefined, // not everyone may ask
  );
  return {
    version,
    major: version ? majorNumber : OLDEST_MAJOR,
    canSyncLog: majorNumber > 7 || (majorNumber === 7 && minorNumber >= 2),
    isKnown: infoText !== "",
    logs: infoFact("aof_enabled") === "1",
    saves,
    evicts:
      /^(allkeys|volatile)/.test(infoFact("maxmemory_policy") ?? "") &&
      infoFact("maxmemory") !== "0" &&
      infoFact("maxmemory_policy"),
  };
}

function warningsOf({ isKnown, logs, saves, evicts }: Facts, { where }: Options): string[] {
  const warnings: string[] = [];
  if (isKnown && !logs && saves === "")
    warnings.push(
      `The store ${where} keeps nothing on disk: all sessions are lost when it restarts. ` +
        "Set 'appendonly yes' there.",
    );
  else if (isKnown && !logs && saves)
    warnings.push(
      `The store ${where} writes to its disk only now and then (save ${saves}): ` +
        "what is newer is lost when it crashes. Set 'appendonly yes' there.",
    );
  if (evicts)
    warnings.push(
      `The store ${where} throws data away when its memory is full (${evicts}), sessions too. ` +
        "Set 'maxmemory-policy noeviction' there.",
    );
  return warnings;
}

/** Whether to try again, and what to say. Undefined: it is nothing that the server said. */
export function refusalOf(
  error: Error,
  { seconds, cluster }: Pick<Options, "seconds" | "cluster">,
  lastCode?: string,
): { why: string; again: boolean } | undefined {
  const lasting = (why: string) => ({ why, again: false });
  const passing = (why: string) => ({ why, again: true });
  const nodeMessage = (error as { lastNodeError?: Error }).lastNodeError?.message ?? "";
  const errorText = `${error.message}\n${nodeMessage}`;
  if (error instanceof Refusal) return lasting(error.message);
  if (error instanceof TooLate && cluster)
    return passing(
      `its cluster did not answer in ${seconds} s, as in a fail-over. ` +
        "Try again soon, or look at its nodes",
    );
  if (error instanceof TooLate)
    return passing(`it did not answer in ${seconds} s. Look at the server and the way there`);
  for (const [pattern, why, again] of KNOWN_REFUSALS)
    if (pattern.test(errorText)) return { why, again };
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOTFOUND")
    return lasting("there is no host of that name. Correct the setting `store`");
  const reason = code ?? lastCode;
  if (code || CONNECTION_GONE.test(`${error.name} ${errorText}`))
    return passing(
      `it cannot be reached${reason ? ` (${reason})` : ""}. ` +
        "Start it, or correct the setting `store`",
    );
  return /^[A-Z]{3,} /.test(error.message) ? lasting(`it says '${error.message}'`) : undefined;
}

const GONE_STATES = "aborted|closed|discarded|disconnect|ended|ready|timed out|timeout|writeable";
/** What the package says of a connection or a cluster that is gone, in a fail-over, say. */
const CONNECTION_GONE = new RegExp(
  [
    String.raw`\b(Command|Connection|Cluster|Node|Socket|Stream) (is |isn't )?(${GONE_STATES})`,
    "None of startup nodes|Too many Cluster redirections|max retries per request",
    "ClusterAllFailed|Failed to refresh slots",
  ].join("|"),
);

const KNOWN_REFUSALS: [RegExp, why: string, again: boolean][] = [
  [
    /WRONGPASS|invalid password|invalid username/i,
    "its user or password is wrong. Correct them in the setting `store`, or key_command",
    false,
  ],
  [
    /NOAUTH/,
    "it wants a password. Put one into the setting `store`, or let key_command print it",
    false,
  ],
  [
    /NOPERM|user executing the script can't run|ACL failure in script/,
    "this user may not do that there. Give it the keys and commands that docs/many.md names",
    false,
  ],
  [/^OOM|OOM command/m, "its memory is full (maxmemory). Raise it, or delete old sessions", false],
  [/READONLY/, "it is a read-only replica. Name the primary in the setting `store`", false],
  [
    /MISCONF/,
    "it cannot write to its own disk, and takes nothing until it can. Make room there",
    false,
  ],
  [/NOREPLICAS/, "it has too few replicas to take anything. Start them", true],
  [/LOADING/, "it is still loading its data", true],
  [
    /MASTERDOWN|CLUSTERDOWN|TRYAGAIN|FAILOVER|UNBLOCKED/,
    "its cluster is in a fail-over. Try again soon",
    true,
  ],
  [
    /MOVED|ASK \d|cluster support disabled|CROSSSLOT/,
    "it is part of a cluster, or is none. Correct redis.cluster in the settings",
    false,
  ],
  [
    /invalid DB index|DB index is out of range/,
    "it has no database of that number. Correct the setting `store`",
    false,
  ],
  [
    /self.signed|certificate|altnames|wrong version number|SSL/i,
    "its certificate or its encryption does not fit. " +
      "Use redis:// or rediss:// as it does, and name a CA of your own in NODE_EXTRA_CA_CERTS",
    false,
  ],
];
