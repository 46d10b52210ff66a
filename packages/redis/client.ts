// A connection for other plugins (the service `redis`): checked once, then it comes back by itself
// whenever the server does.
import type { OpenedRedis } from "zz";
import { fault, usage } from "zz/text";
import { type Connecting, connect, factsOf, inTime, refusalOf, refuseOld } from "./server.ts";

const MAX_PAUSE_MS = 2_000; // before another try to connect

export async function openClient(
  connectOptions: Connecting & { where: string },
  { what, named }: { what: string; named: string },
): Promise<OpenedRedis> {
  const sentenceOf = (error: Error) => {
    const refusal = refusalOf(error, connectOptions);
    if (!refusal) return undefined;
    const refusalReason = refusal.why
      .replaceAll("the setting `store`", named)
      .replace(", or delete old sessions", "");
    return {
      text: `Cannot use the ${what} ${connectOptions.where}: ${refusalReason}.`,
      passes: refusal.again,
    };
  };
  const first = connect(connectOptions);
  let reason: Error | undefined; // connect() itself only says that it failed
  first.on("error", (error) => void (reason = error));
  try {
    const connected = first.connect().catch((error) => Promise.reject(reason ?? error));
    // a cluster that names no way to its nodes is never connected
    const serverFacts = await inTime(
      connected.then(() => factsOf(first)),
      connectOptions.seconds * 1_000,
    );
    refuseOld(serverFacts);
    const patient = {
      maxRetriesPerRequest: null,
      enableOfflineQueue: true,
      autoResendUnfulfilledCommands: true,
      retryStrategy: (tryCount: number) => Math.min(100 * tryCount, MAX_PAUSE_MS),
    };
    const client = "nodes" in first ? first.duplicate([], {}) : first.duplicate(patient);
    client.on("error", () => {});
    return {
      client,
      where: connectOptions.where,
      keepsLog: serverFacts.logs,
      evicts: serverFacts.evicts || "",
      sentenceOf,
    };
  } catch (error) {
    const sentence = sentenceOf(error as Error);
    if (sentence?.passes) throw fault(sentence.text, { kind: "network" });
    throw usage(sentence?.text ?? (error as Error).message);
  } finally {
    first.disconnect();
  }
}
