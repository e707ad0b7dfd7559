/** Facts of a row that the index keeps, beside its position in the file. */
export interface EpisodeFacts {
  readonly task: string;
  /** Group whose rewards are compared: that of the task, or its id. */
  readonly group: string;
  readonly sample: number;
  /** `NaN` if the episode was not scored. */
  readonly reward: number;
  /** Parts of the reward that are numbers, by name. */
  readonly parts: ReadonlyMap<string, number>;
  readonly turns: number;
  /** Tokens of the conversation at its end; 0 if they are unknown. */
  readonly tokens: number;
  readonly calls: number;
  readonly durationMs: number;
  readonly end: EpisodeEnd;
  /** Boundary of the failure; the empty text without one. */
  readonly boundary: string;
  readonly policy: string;
  readonly env: string;
  /** Distinct statuses of the tool calls. */
  readonly statuses: ReadonlySet<string>;
  /** Id of the episode, if the row has one. */
  readonly id: string;
  /** Id of the episode that this one branches from; the empty text for none. */
  readonly parent: string;
  /** Turn of the parent after which this episode differs. */
  readonly branchTurn: number;
}

/** End of an episode: `cut` by a limit of tokens, `truncated` by another one. `damaged` is a line that is no episode. */
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
 * Returns the facts of a parsed line, or `undefined` if it is no episode. It reads trajectories (`--out`) and rows for a
 * trainer (`--train-out`). A field of another type counts as missing: the row is displayed, not acted upon.
 */
export function factsOf(value: unknown): EpisodeFacts | undefined {
  const row = fieldsOf(value);
  if (row === undefined || !Array.isArray(row.messages)) return undefined;
  const task = fieldsOf(row.task);
  if (task !== undefined) return trajectoryFacts(row, task);
  return typeof row.task_id === "string" && Array.isArray(row.tokens) ? interactionFacts(row) : undefined;
}

function trajectoryFacts(row: Fields, task: Fields): EpisodeFacts {
  const versions = fieldsOf(row.versions);
  const error = fieldsOf(row.error);
  const calls = listOf(row.toolResults);
  return {
    ...sharedFacts(row, textOf(task.id), textOf(row.group) || textOf(task.group)),
    parts: partsOf(row.rewardParts),
    turns: numberOf(row.turns),
    tokens: tokensOf(row),
    calls: calls.length,
    durationMs: numberOf(fieldsOf(row.times)?.totalMs),
    statuses: statusesOf(calls),
    end: error
      ? "failed"
      : typeof row.cut === "string"
      ? "cut"
      : row.terminated === true
      ? "terminated"
      : row.truncated === true
      ? "truncated"
      : "stopped",
    boundary: textOf(error?.boundary),
    policy: textOf(versions?.policy),
    env: textOf(versions?.env),
  };
}

function interactionFacts(row: Fields): EpisodeFacts {
  const [error] = listOf(row.errors);
  const calls = listOf(row.tool_calls);
  return {
    ...sharedFacts(row, textOf(row.task_id), textOf(row.group)),
    parts: partsOf(row.reward_parts),
    turns: listOf(row.turns).length,
    tokens: listOf(row.tokens).length,
    calls: calls.length,
    durationMs: numberOf(fieldsOf(row.timings)?.total_ms),
    statuses: statusesOf(calls),
    end: error
      ? "failed"
      : typeof row.cut === "string"
      ? "cut"
      : row.status === "completed"
      ? "terminated"
      : row.status === "truncated"
      ? "truncated"
      : "stopped",
    boundary: textOf(fieldsOf(error)?.boundary),
    policy: "",
    env: "",
  };
}

function sharedFacts(row: Fields, task: string, group: string) {
  const parent = fieldsOf(row.parent);
  return {
    task,
    group: group === "" ? task : group,
    sample: typeof row.sample === "number" ? row.sample : 1,
    reward: typeof row.reward === "number" ? row.reward : NaN,
    id: textOf(row.id),
    parent: textOf(parent?.id),
    branchTurn: numberOf(parent?.turn),
  };
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

function statusesOf(calls: readonly unknown[]): Set<string> {
  return new Set(calls.map((call) => textOf(fieldsOf(call)?.status)));
}

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Fields : undefined;
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
