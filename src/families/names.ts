/** Prefix of the names of the envs of families. */
export const FAMILY_PREFIX = "paddock/";

/** Names of the families, without the prefix. */
export const FAMILY_NAMES = [
  "unit-arithmetic",
  "countdown",
  "graph-paths",
  "sql-queries",
  "text-to-regex",
  "shell-files",
  "debugging",
  "data-cleaning",
  "scheduling",
  "logic-grid",
  "transducers",
  "state-machines",
] as const;

/** Names of the splits of a family. */
export const SPLITS = ["train", "validation", "test"] as const;

/** Highest difficulty of each family. The lowest is 1. */
export const MAX_DIFFICULTY = 10;

/** Name of a family. */
export type FamilyName = (typeof FAMILY_NAMES)[number];
