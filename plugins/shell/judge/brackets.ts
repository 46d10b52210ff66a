/**
 * The [x] of a pattern, which all programs end at the same place: with no backslash, and `[` only as in [:alpha:]. `without` are the
 * characters that would end the pattern, for some programs within brackets as well.
 */
export const bracket = (without: string): string =>
  String.raw`\[(?:\^\]|\]|\^(?!\])|(?![\]^]))(?:\[:[a-z]+:\]|[^\][\\\n${without}])*\]`;
