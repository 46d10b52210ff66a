// seatbelt: the profile of a sandbox on macOS.
import path from "node:path";
import { GUARDED_IF_THERE, repository } from "./guards.ts";
import type { OpenLimits } from "./limits.ts";
import { real } from "./paths.ts";

/** Written with care, since no test here can run it. Later rules win. */
export function seatbelt({
  root,
  write,
  hide,
  keep = [],
  show = [],
  readonly,
  service,
  guard,
  tmp,
  net,
  proxy,
}: OpenLimits): string[] {
  const paths = (kind: string, list: string[]) => list.map((at) => `(${kind} ${JSON.stringify(at)})`).join(" ");
  const writable = readonly ? (service ? real(write) : []) : [...real([root, ...write]), ...repository(root).write];
  const git = path.join(root, ".git");
  const never = [
    path.join(git, "hooks"),
    path.join(git, "config"),
    ...GUARDED_IF_THERE.map((name) => path.join(git, name)),
  ];
  const outside = guard ? [...guard.readonly, ...guard.copies.map(({ at }) => at)] : [];
  const shown = real(show);
  const hidden = real(hide).filter((at) => !shown.includes(at));
  const rules = [
    "(version 1) (allow default) (deny file-write*)",
    `(allow file-write* ${paths("subpath", [...writable, tmp])})`,
    `(allow file-write* ${paths("literal", ["/dev/null", "/dev/zero", "/dev/stdout", "/dev/stderr", "/dev/dtracehelper"])})`,
    `(deny file-write* ${paths("subpath", [...never, path.join(root, ".zz"), ...outside, ...real(keep)])})`,
    hidden.length ? `(deny file-read* file-write* ${paths("subpath", hidden)})` : "",
    shown.length ? `(allow file-read* ${paths("subpath", shown)})` : "",
    net === "all" ? "(deny network-outbound (remote unix-socket))" : "(deny network*)",
    net === "all" ? '(allow network-outbound (literal "/private/var/run/mDNSResponder"))' : "",
    proxy ? `(allow network-outbound (remote ip "localhost:${proxy.port}"))` : "",
  ];
  return ["-p", rules.join("\n")];
}
