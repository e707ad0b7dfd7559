import { countdown } from "./countdown.ts";
import { dataCleaning } from "./data_cleaning.ts";
import { debugging } from "./debugging.ts";
import type { Family } from "./family.ts";
import { graphPaths } from "./graph_paths.ts";
import { logicGrid } from "./logic_grid.ts";
import { FAMILY_PREFIX, type FamilyName } from "./names.ts";
import { scheduling } from "./scheduling.ts";
import { shellFiles } from "./shell_files.ts";
import { sqlQueries } from "./sql_queries.ts";
import { stateMachines } from "./state_machines.ts";
import { textToRegex } from "./text_to_regex.ts";
import { transducers } from "./transducers.ts";
import { unitArithmetic } from "./unit_arithmetic.ts";

/** The families by name. A new family is another entry here and in `FAMILY_NAMES`. */
export const FAMILIES: Readonly<Record<FamilyName, Family>> = {
  "unit-arithmetic": unitArithmetic,
  "countdown": countdown,
  "graph-paths": graphPaths,
  "sql-queries": sqlQueries,
  "text-to-regex": textToRegex,
  "shell-files": shellFiles,
  "debugging": debugging,
  "data-cleaning": dataCleaning,
  "scheduling": scheduling,
  "logic-grid": logicGrid,
  "transducers": transducers,
  "state-machines": stateMachines,
};

/** Returns the name of a family that a text names, with or without the prefix `paddock/`; undefined for other texts. */
export function toFamilyName(text: string): FamilyName | undefined {
  const name = text.startsWith(FAMILY_PREFIX) ? text.slice(FAMILY_PREFIX.length) : text;
  return Object.hasOwn(FAMILIES, name) ? name as FamilyName : undefined;
}
