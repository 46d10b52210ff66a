// Stands before a server, in a process of its own, since a store waits for its answers. Its first
// word is the server's port. "old" and "aged": the server says that it is version 3.2.1 or 5.0.1.
// "mute": its next answer is lost. "slow": each answer takes a while.
import { type AddressInfo, connect, createServer } from "node:net";

const SLOW_MS = 100;
/** Of the same length, since the answer begins with its length. */
const asOld = (_: string, name: string, version: string) =>
  name + VERSIONS[mode]!.slice(0, version.length);
const VERSIONS: Record<string, string> = { old: "3.2.1000", aged: "5.0.1000" };
let mode = "";
process.on("message", (next: string) => {
  mode = next;
  process.send!(mode);
});
const server = createServer((near) => {
  const far = connect(Number(process.argv[2]), "127.0.0.1");
  for (const socket of [near, far]) socket.on("error", () => {});
  near.pipe(far);
  far.on("data", (data) => {
    if (mode === "mute") mode = "";
    else if (mode === "slow") setTimeout(() => near.write(data), SLOW_MS);
    else
      near.write(
        mode in VERSIONS ? String(data).replace(/(_version:)(\d+\.\d+\.\d+)/g, asOld) : data,
      );
  });
  far.on("close", () => near.destroy());
  near.on("close", () => far.destroy());
}).listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
