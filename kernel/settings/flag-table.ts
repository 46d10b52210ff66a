// The table of flags. Parsing, --help and completion are made from it.
import type { Flag } from "../contract.ts";
import { type Core, registeredValues } from "../instance.ts";
import flags from "./flags.json" with { type: "json" };

const { unlisted, ...listed } = flags;
/** The kernel's own flags: the rows of flags.json, by group. */
export const KERNEL_FLAGS = Object.entries<Flag[]>(listed).flatMap(([group, rows]) =>
  rows.map((flagRow): Flag => ({ group, ...flagRow })),
);
/** Names from other tools: accepted, but not listed. */
export const UNLISTED_FLAGS: (Flag & { as?: string })[] = unlisted;

export const allFlags = (core: Core): Flag[] => [...KERNEL_FLAGS, ...registeredValues(core.flags)];
