/**
 * Why a block was not run: the tag is another language (`language`), there is no tag (`unlabeled`), the block is a
 * transcript of an interactive session (`transcript`), or is inside another block (`block`), a quote (`quote`), results
 * of tools (`output`) or a thought (`thought`), or a limit cut the reply inside the block (`unclosed`). A call of a tool
 * in a thought is not run either (`thought_call`).
 */
export type NotRunReason =
  | "language"
  | "unlabeled"
  | "transcript"
  | "block"
  | "quote"
  | "output"
  | "thought"
  | "thought_call"
  | "unclosed";

/** Blocks of a reply that were not run, with the same tag and reason. */
export interface BlocksNotRun {
  readonly reason: NotRunReason;
  /** Tag as written, in lower case; empty if there is none. */
  readonly tag: string;
  readonly count: number;
}

/** Maximum number of pairs of tag and reason of a reply, which bounds a record. */
const MAX_COUNTS = 16;
/** Tag of the blocks whose own tags would exceed the limit. */
const FURTHER_TAGS = "…";

/** Counts blocks that were not run by reason and tag. */
export class BlockCounter {
  readonly #counts = new Map<string, BlocksNotRun>();

  /** Blocks beyond 16 pairs of reason and tag are counted under the tag `…`. */
  get counts(): BlocksNotRun[] {
    return [...this.#counts.values()];
  }

  add(reason: NotRunReason, tag: string): void {
    const own = `${reason} ${tag}`;
    const isKept = this.#counts.has(own) || this.#counts.size < MAX_COUNTS - 1;
    const key = isKept ? own : FURTHER_TAGS;
    const { count = 0, reason: kept = reason } = this.#counts.get(key) ?? {};
    this.#counts.set(key, { reason: kept, tag: isKept ? tag : FURTHER_TAGS, count: count + 1 });
  }
}

const PLACES: Partial<Record<NotRunReason, string>> = {
  transcript: "transcript",
  block: "inside a block",
  quote: "in a quote",
  output: "in output",
  thought: "in a thought",
  thought_call: "call in a thought",
  unclosed: "cut off",
};

/** Maximum number of reasons in a description. */
const MAX_DESCRIBED = 8;
/** Maximum number of reasons that are counted for a description. */
const MAX_REASONS = 256;

/** Counts why blocks of many replies were not run, for a description. */
export class NotRunSummary {
  readonly #counts = new Map<string, number>();
  #total = 0;
  #calls = 0;

  /** Names of the parts that were not run: `code blocks`, `tool calls` or both. */
  get noun(): string {
    if (this.#calls === 0) return "code blocks";
    return this.#calls === this.#total ? "tool calls" : "code blocks and tool calls";
  }

  /** Number of blocks and calls. */
  get total(): number {
    return this.#total;
  }

  add(counts: readonly BlocksNotRun[]): void {
    for (const { reason, tag, count } of counts) {
      const words = PLACES[reason] ?? (reason === "unlabeled" ? "no language" : tag);
      const key = this.#counts.has(words) || this.#counts.size < MAX_REASONS ? words : FURTHER_TAGS;
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
      this.#total += count;
      if (reason === "thought_call") this.#calls += count;
    }
  }

  /** Returns `3 (2 bash, 1 in a quote)`. The tags are text of models. */
  describe(): string {
    const counts = [...this.#counts].sort(([, one], [, other]) => other - one);
    const shown = counts.slice(0, MAX_DESCRIBED).map(([words, count]) => `${count} ${words}`);
    const rest = counts.slice(MAX_DESCRIBED).reduce((sum, [, count]) => sum + count, 0);
    return `${this.#total} (${[...shown, ...(rest > 0 ? [`${rest} more`] : [])].join(", ")})`;
  }
}

/** Returns why the blocks of an episode were not run; `undefined` if all were. */
export function describeBlocksNotRun(
  replies: Iterable<readonly BlocksNotRun[] | undefined>,
): string | undefined {
  const summary = new NotRunSummary();
  for (const counts of replies) summary.add(counts ?? []);
  return summary.total === 0 ? undefined : summary.describe();
}
