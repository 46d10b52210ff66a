// Sessions by the beginning or the tail of their ids.
import type { Ctx, Header, Listed } from "zz";
import { usage } from "zz/text";

/** The shortest unique part of each id's tail: short enough to type. */
export function shortIds(headers: readonly Pick<Header, "id">[]): Map<string, string> {
  const tails = headers.map(({ id }) => id.slice(id.lastIndexOf("-") + 1));
  let length = 4;
  const isUnique = () => new Set(tails.map((tail) => tail.slice(0, length))).size === tails.length;
  while (length < 12 && !isUnique()) length++;
  return new Map(headers.map(({ id }, i) => [id, isUnique() ? tails[i]!.slice(0, length) : id]));
}
/** The sessions whose id, or whose id's tail, begins with what was given. */
function sessionsLike<One extends Pick<Header, "id">>(
  prefix: string,
  headers: readonly One[],
): One[] {
  const tail = (id: string) => id.slice(id.lastIndexOf("-") + 1);
  const fits = headers.filter(
    ({ id }) => id.startsWith(prefix) || (prefix.length > 3 && tail(id).startsWith(prefix)),
  );
  const exact = fits.find(({ id }) => id === prefix);
  return exact ? [exact] : fits;
}
export function idOf(prefix: string, headers: readonly Header[]): string | undefined {
  const [header, ...others] = sessionsLike(prefix, headers);
  return others.length ? undefined : header?.id;
}
export function sessionNamed(prefix: string, { sessions, terminal }: Ctx): Listed {
  const [header, ...others] = sessionsLike(prefix, sessions.list());
  if (header && !others.length) return header;
  const reason = header ? `${others.length + 1} ids begin like that` : "no id begins like that";
  const lister = terminal ? "/sessions all" : "zz --sessions";
  throw usage(`Cannot find the session '${prefix}': ${reason}. ${lister} lists them.`);
}
