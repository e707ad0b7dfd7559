import { isJsonObject } from "../../json.ts";

/**
 * The columns of a run's episodes, each declared once: how a column is read from a line, stored in the index, exported,
 * listed, sorted and filtered by.
 *
 * @module
 */

/**
 * End of an episode: `cut` by a limit of tokens, `truncated` by another limit. `damaged` is a line that is no episode.
 */
export type EpisodeEnd = "terminated" | "truncated" | "cut" | "stopped" | "failed" | "damaged";

/** Names of the ends, by the number that the index stores. */
export const EPISODE_ENDS: readonly EpisodeEnd[] = [
  "terminated",
  "truncated",
  "cut",
  "stopped",
  "failed",
  "damaged",
];

/** Parts of a reward in the index. Further ones are on the page of the episode only. */
export const MAX_PARTS = 12;
/** Characters of a name in the index. Longer ones are cut; the page of the episode has all. */
const MAX_NAME = 512;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the value of a column from both formats of lines: trajectories (`--out`) and rows for a trainer
 * (`--train-out`). A field of another type counts as missing: the row is displayed, not acted upon.
 */
type Reader<Value> = ((row: Fields) => Value) | {
  readonly trajectory: (row: Fields) => Value;
  readonly interaction: (row: Fields) => Value;
};

/** Views in which a column appears. */
interface ColumnViews {
  /** Name in exported CSV. Columns are in the order of {@linkcode EPISODE_COLUMNS}. */
  readonly csv?: string;
  /** Order by the column: the name in addresses, and in the menu. */
  readonly sort?: { readonly parameter: string; readonly label: string };
  /** Heading and format in the list of episodes, for a column of numbers. */
  readonly list?: { readonly heading: string; readonly format: "number" | "known" | "ms" };
  readonly filter?: ColumnFilter;
}

/**
 * Choice by a name: the choice's name in addresses and in the form. `when`: with `several` names, or a `chosen` name.
 */
export interface ColumnFilter {
  readonly parameter: string;
  readonly label: string;
  readonly when: "always" | "several" | "chosen";
}

/**
 * A column. `store` is the form in the index: a number; the number of a `name`, of which there may be as many as
 * episodes; of a `short` name, of which there are few; a `set` of short names, by bits; or the number of the end.
 */
type EpisodeColumn =
  & ColumnViews
  & (
    | { readonly store: "f64" | "u32"; readonly missing?: number; readonly read: Reader<number> }
    | { readonly store: "name" | "short"; readonly read: Reader<string> }
    | { readonly store: "set"; readonly read: Reader<ReadonlySet<string>> }
    | { readonly store: "end"; readonly read: Reader<EpisodeEnd> }
  );

/**
 * The columns. A new column is another entry: the index is built again, and exports, lists and filters have the column.
 */
export const EPISODE_COLUMNS = {
  task: {
    store: "name",
    read: {
      trajectory: ({ task }) => textOf(fieldsOf(task)?.id),
      interaction: ({ task_id }) => textOf(task_id),
    },
    csv: "task",
    filter: { parameter: "task", label: "Task", when: "always" },
  },
  /** Group whose rewards are compared: the task's group, or the task's id. */
  group: {
    store: "name",
    read: {
      trajectory: ({ group, task }) =>
        textOf(group) || textOf(fieldsOf(task)?.group) || textOf(fieldsOf(task)?.id),
      interaction: ({ group, task_id }) => textOf(group) || textOf(task_id),
    },
    csv: "group",
    filter: { parameter: "group", label: "Group", when: "chosen" },
  },
  sample: { store: "u32", read: ({ sample }) => typeof sample === "number" ? sample : 1, csv: "sample" },
  /** `NaN` if the episode was not scored. */
  reward: {
    store: "f64",
    missing: NaN,
    read: ({ reward }) => typeof reward === "number" ? reward : NaN,
    csv: "reward",
    sort: { parameter: "reward", label: "reward" },
  },
  turns: {
    store: "u32",
    read: { trajectory: ({ turns }) => numberOf(turns), interaction: ({ turns }) => listOf(turns).length },
    csv: "turns",
    sort: { parameter: "turns", label: "turns" },
    list: { heading: "Turns", format: "number" },
  },
  /** Tokens of the conversation at the end; 0 if unknown. */
  tokens: {
    store: "u32",
    read: { trajectory: tokensOf, interaction: ({ tokens }) => listOf(tokens).length },
    csv: "tokens",
    sort: { parameter: "tokens", label: "tokens" },
    list: { heading: "Tokens", format: "known" },
  },
  calls: {
    store: "u32",
    read: {
      trajectory: ({ toolResults }) => listOf(toolResults).length,
      interaction: ({ tool_calls }) => listOf(tool_calls).length,
    },
    csv: "tool_calls",
    sort: { parameter: "calls", label: "tool calls" },
    list: { heading: "Calls", format: "number" },
  },
  /** Distinct statuses of the tool calls. */
  statuses: {
    store: "set",
    read: {
      trajectory: ({ toolResults }) => statusesOf(toolResults),
      interaction: ({ tool_calls }) => statusesOf(tool_calls),
    },
    csv: "tool_statuses",
    filter: { parameter: "tool", label: "Tool status", when: "always" },
  },
  /** Kinds of hacks that an audit has found. */
  hacks: {
    store: "set",
    read: ({ info }) => new Set(listOf(fieldsOf(info)?.hacks).map((hack) => textOf(fieldsOf(hack)?.kind))),
    csv: "hacks",
    filter: { parameter: "hack", label: "Hack", when: "several" },
  },
  durationMs: {
    store: "f64",
    read: {
      trajectory: ({ times }) => numberOf(fieldsOf(times)?.totalMs),
      interaction: ({ timings }) => numberOf(fieldsOf(timings)?.total_ms),
    },
    csv: "duration_ms",
    sort: { parameter: "time", label: "duration" },
    list: { heading: "Duration", format: "ms" },
  },
  end: { store: "end", read: { trajectory: trajectoryEnd, interaction: interactionEnd }, csv: "end" },
  /** Boundary of the failure; the empty text without a failure. */
  boundary: {
    store: "short",
    read: {
      trajectory: ({ error }) => textOf(fieldsOf(error)?.boundary),
      interaction: ({ errors }) => textOf(fieldsOf(listOf(errors)[0])?.boundary),
    },
    csv: "error_boundary",
  },
  policy: {
    store: "short",
    read: { trajectory: ({ versions }) => textOf(fieldsOf(versions)?.policy), interaction: () => "" },
  },
  env: {
    store: "short",
    read: { trajectory: ({ versions }) => textOf(fieldsOf(versions)?.env), interaction: () => "" },
    filter: { parameter: "env", label: "Env", when: "several" },
  },
  /** Id of the episode, if the row has an id. */
  id: { store: "name", read: ({ id }) => textOf(id) },
  /** Id of the episode from which this episode branches; the empty text for no branch. */
  parent: { store: "name", read: ({ parent }) => textOf(fieldsOf(parent)?.id) },
  /** Turn of the parent after which this episode differs. */
  branchTurn: { store: "u32", read: ({ parent }) => numberOf(fieldsOf(parent)?.turn) },
} as const satisfies Record<string, EpisodeColumn>;

type AllColumns = typeof EPISODE_COLUMNS;

/** Name of a column. */
export type EpisodeColumnName = keyof AllColumns;

/** Name of a column with such a form. */
export type ColumnStoredAs<Store extends EpisodeColumn["store"]> = {
  [Name in EpisodeColumnName]: AllColumns[Name]["store"] extends Store ? Name : never;
}[EpisodeColumnName];

/** Name in addresses by which a kind of view uses a column. */
export type ViewParameter<View extends "sort" | "filter"> = {
  [Name in EpisodeColumnName]: AllColumns[Name] extends
    { readonly [Key in View]: { readonly parameter: infer Parameter } } ? Parameter
    : never;
}[EpisodeColumnName];

type ValueOf<Read> = Read extends (row: Fields) => infer Value ? Value
  : Read extends { readonly trajectory: (row: Fields) => infer Value } ? Value
  : never;

/** Facts of a row that the index keeps, beside the row's position in the file. */
export type EpisodeFacts =
  & { readonly [Name in EpisodeColumnName]: ValueOf<AllColumns[Name]["read"]> }
  /** Parts of the reward that are numbers, by name. */
  & { readonly parts: ReadonlyMap<string, number> };

/** All columns with their names, in order. */
export const COLUMN_ENTRIES = Object.entries(EPISODE_COLUMNS) as readonly [
  EpisodeColumnName,
  EpisodeColumn,
][];

/** Returns the facts of a parsed line, or `undefined` if the line is no episode. */
export function factsOf(value: unknown): EpisodeFacts | undefined {
  const row = fieldsOf(value);
  if (row === undefined || !Array.isArray(row.messages)) return undefined;
  if (fieldsOf(row.task) !== undefined) return readFacts(row, "trajectory");
  const isInteraction = typeof row.task_id === "string" && Array.isArray(row.tokens);
  return isInteraction ? readFacts(row, "interaction") : undefined;
}

/** Facts that are copied for each row: adding the keys separately takes longer. */
const BLANK = Object.fromEntries(COLUMN_ENTRIES.map(([name]) => [name, undefined]));

function readFacts(row: Fields, format: "trajectory" | "interaction"): EpisodeFacts {
  const parts = partsOf(format === "trajectory" ? row.rewardParts : row.reward_parts);
  const facts: Record<string, unknown> = { ...BLANK, parts };
  for (const [name, { read }] of COLUMN_ENTRIES) {
    facts[name] = typeof read === "function" ? read(row) : read[format](row);
  }
  return facts as unknown as EpisodeFacts;
}

function trajectoryEnd({ error, cut, terminated, truncated }: Fields): EpisodeEnd {
  if (fieldsOf(error) !== undefined) return "failed";
  if (typeof cut === "string") return "cut";
  return terminated === true ? "terminated" : truncated === true ? "truncated" : "stopped";
}

function interactionEnd({ errors, cut, status }: Fields): EpisodeEnd {
  if (listOf(errors)[0]) return "failed";
  if (typeof cut === "string") return "cut";
  return status === "completed" ? "terminated" : status === "truncated" ? "truncated" : "stopped";
}

/** Returns the recorded tokens; without them, those that the server counted at the last reply. */
function tokensOf({ tokens, steps }: Fields): number {
  const ids = fieldsOf(tokens)?.ids;
  if (Array.isArray(ids)) return ids.length;
  const usage = fieldsOf(fieldsOf(listOf(steps).at(-1))?.usage);
  return numberOf(usage?.promptTokens) + numberOf(usage?.replyTokens);
}

function partsOf(value: unknown): Map<string, number> {
  const parts = new Map<string, number>();
  for (const [name, part] of Object.entries(fieldsOf(value) ?? {})) {
    if (parts.size === MAX_PARTS) break;
    if (typeof part === "number") parts.set(textOf(name), part);
  }
  return parts;
}

function statusesOf(calls: unknown): Set<string> {
  return new Set(listOf(calls).map((call) => textOf(fieldsOf(call)?.status)));
}

function fieldsOf(value: unknown): Fields | undefined {
  return isJsonObject(value) ? value as Fields : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_NAME) : "";
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
