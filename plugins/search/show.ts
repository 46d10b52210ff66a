// How names and counts are shown.

/** A name with a line break in it must not look like two. */
export const oneLine = (name: string): string => (/[\0-\x1f\x7f]/.test(name) ? JSON.stringify(name) : name);

export const count = (many: number, one: string): string => `${many} ${one}${many === 1 ? "" : "s"}`;
