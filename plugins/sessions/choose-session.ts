// Sessions by the beginning or the tail of their ids.
import type { Ctx, Header, Listed } from "zz";
import { usage } from "zz/text";

const tailOf = ({ id }: Pick<Header, "id">): string => id.slice(id.lastIndexOf("-") + 1);

/** The shortest unique part of each id's tail: short enough to type. */
export function shortIds(headers: readonly Pick<Header, "id">[]): Map<string, string> {
  const idTails = headers.map(tailOf);
  let tailLength = 4;
  const isUnique = () =>
    new Set(idTails.map((idTail) => idTail.slice(0, tailLength))).size === idTails.length;
  while (tailLength < 12 && !isUnique()) tailLength++;
  return new Map(
    headers.map(({ id }, i) => [id, isUnique() ? idTails[i]!.slice(0, tailLength) : id]),
  );
}
/** The sessions whose id, or whose id's tail, begins with what was given. */
function sessionsLike<One extends Pick<Header, "id">>(
  prefix: string,
  headers: readonly One[],
): One[] {
  const matches = headers.filter(
    (header) =>
      header.id.startsWith(prefix) || (prefix.length > 3 && tailOf(header).startsWith(prefix)),
  );
  const exact = matches.find(({ id }) => id === prefix);
  return exact ? [exact] : matches;
}
export function idOf(prefix: string, headers: readonly Header[]): string | undefined {
  const [onlyMatch, ...otherMatches] = sessionsLike(prefix, headers);
  return otherMatches.length ? undefined : onlyMatch?.id;
}
export function sessionNamed(prefix: string, { sessions, terminal }: Ctx): Listed {
  const [firstMatch, ...otherMatches] = sessionsLike(prefix, sessions.list());
  if (firstMatch && !otherMatches.length) return firstMatch;
  const reason = firstMatch
    ? `${otherMatches.length + 1} ids begin like that`
    : "no id begins like that";
  const listCommand = terminal ? "/sessions all" : "zz --sessions";
  throw usage(`Cannot find the session '${prefix}': ${reason}. ${listCommand} lists them.`);
}
