// Sessions in Redis or Valkey, by "store": "redis://HOST:6379/0" in the settings; --store-copy
// copies them from one place to another.
import path from "node:path";
import type { SessionStore, Zz } from "zz";
import { usage } from "zz/text";
import { openRedis, type RedisStore } from "./store.ts";
import { receiveTeam } from "./team.ts";

export const defaults = {
  prefix: "zz",
  key_command: "",
  cluster: false,
  replicas: 0,
  seconds: 5,
  lock_seconds: 10,
};
const countSetting = (minimum: number, maximum: number, description: string) => ({
  type: "integer",
  minimum,
  maximum,
  description,
});
export const settings = {
  name: "redis",
  schema: {
    type: "object",
    additionalProperties: false,
    properties: {
      prefix: {
        type: "string",
        pattern: "^[\\w.:-]{1,100}$",
        description: "what the names of all keys begin with",
      },
      key_command: {
        type: "string",
        description: "a command that prints the password, run when the store is first needed",
      },
      cluster: { type: "boolean", description: "whether the store is a node of a cluster" },
      replicas: countSetting(0, 10, "replicas that must have an entry before it counts as safe"),
      seconds: countSetting(1, 60, "seconds to try again for, when the server does not answer"),
      lock_seconds: countSetting(
        2,
        600,
        "seconds after which a session is free again, if its zz was cut off",
      ),
    },
  },
};

export default (zz: Zz<typeof defaults>) => {
  for (const name of ["redis", "rediss"])
    zz.store({ name, open: (storeUrl, homeFolder) => openStore(zz, storeUrl, homeFolder) });
  zz.service("redis", {
    async open(url, openOptions) {
      const where = addressIn(zz, url, openOptions.named);
      const password = passwordBy(zz, openOptions.keyCommand, `${openOptions.what}.key_command`);
      const connectOptions = {
        url,
        where,
        password,
        cluster: openOptions.cluster,
        seconds: zz.config.seconds,
      };
      return (await import("./client.ts")).openClient(connectOptions, openOptions);
    },
  });
  zz.flag({
    name: "store-team",
    value: "FOLDER",
    group: "sessions and model",
    description:
      "put a team's zz.config.json and prompts/*.md into the store, instead of what was there",
    async run(teamFolder, { sessions, io }) {
      const currentStore = sessions.store();
      if (!("putTeam" in currentStore))
        throw usage(
          "Cannot put a team's settings into a store: the setting `store` names none. " +
            "Set it to redis://HOST:6379.",
        );
      const { readTeam } = await import("./team.ts");
      const teamFiles = readTeam(path.resolve(io.cwd(), String(teamFolder)));
      (currentStore as RedisStore).putTeam(teamFiles);
      const fileNames = Object.keys(teamFiles);
      return {
        text:
          `${currentStore.where} has ` +
          `${fileNames.length ? fileNames.join(", ") : "nothing"} now.`,
      };
    },
  });
  zz.flag({
    name: "store-copy",
    value: "FROM TO",
    group: "sessions and model",
    description:
      "copy sessions from one place to another: files, a home's folder, or the URL of a store",
    run: async (sourcePlace, { sessions }, { words }) => {
      const [targetPlace] = words;
      if (targetPlace === undefined || words.length > 1)
        throw usage(
          "Cannot copy sessions: name two places, as in --store-copy files redis://host:6379.",
        );
      return (await import("./copy-sessions.ts")).copySessions(
        sessions.store(String(sourcePlace)),
        sessions.store(targetPlace),
      );
    },
  });
};

/** The connection and its thread are made at the first question: a URL alone costs nothing. */
function openStore(zz: Zz<typeof defaults>, url: string, homeFolder: string): SessionStore {
  if (zz.configFault)
    throw usage(
      `Cannot use the store: ${zz.configFault}. Correct it, so that nothing goes elsewhere.`,
    );
  const where = addressIn(zz, url, "the setting `store`");
  const { prefix, cluster, replicas, seconds, lock_seconds: lockSeconds } = zz.config;
  const password = passwordBy(zz, zz.config.key_command, "redis.key_command");
  const options = { url, where, password, prefix, cluster, replicas, seconds, lockSeconds };
  const redisStore = openRedis(options, (teamFiles) => receiveTeam(homeFolder, teamFiles));
  zz.defer(() => redisStore.close?.());
  return redisStore;
}

/** The URL as messages name it. Its password is never shown. */
function addressIn(zz: Zz<typeof defaults>, serverUrl: string, named: string): string {
  const parsedUrl = URL.parse(serverUrl);
  const isWhole =
    parsedUrl &&
    /^rediss?:$/.test(parsedUrl.protocol) &&
    (parsedUrl.hostname || parsedUrl.searchParams.has("socket")) &&
    /^\/?\d*$/.test(parsedUrl.pathname);
  if (!isWhole)
    throw usage(
      `Cannot use ${named}: it is no URL of a server. ` +
        "Write it like redis://USER:PASSWORD@HOST:6379/0.",
    );
  const { protocol, host, pathname, search, password } = parsedUrl;
  if (password) zz.secret(decodeURIComponent(password));
  return `${protocol}//${host}${pathname.replace(/^\/$/, "")}${search}`;
}

function passwordBy(
  { programs, secret, config: { seconds } }: Zz<typeof defaults>,
  command: string,
  setting: string,
): string {
  if (!command) return "";
  const { status, stdout, error } = programs.run("sh", ["-c", command], {
    timeout: seconds * 1_000,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [password = ""] = String(stdout).split("\n");
  if (error || status !== 0 || !password.trim())
    throw usage(
      `Cannot get the password by ${setting}: ` +
        `it ${error || status !== 0 ? "failed" : "printed nothing"}. Run it yourself, and fix it.`,
    );
  secret(password.trim());
  return password.trim();
}
