import { toWellFormedJson } from "../json.ts";
import type { InteractionResult } from "../rollout/interaction.ts";
import type { RowFormat } from "../wire/v1_gateway.ts";
import type { LiveSession } from "./live_session.ts";

/** Returns a row as a line of JSON. */
export function toRowLine(row: InteractionResult, format: RowFormat): string {
  return `${toWellFormedJson(FORMATS[format](row))}\n`;
}

const FORMATS: Readonly<Record<RowFormat, (row: InteractionResult) => object>> = {
  slime: (row) => row,
  verl(row) {
    const { prompt, response, logProbs } = splitTokens(row);
    return {
      prompt_ids: prompt,
      response_ids: response,
      response_mask: row.loss_mask,
      response_logprobs: logProbs,
      reward_score: row.reward,
      num_turns: row.messages.filter(({ role }) => role !== "system").length, // as verl's tool agent counts
      metrics: { generate_sequences: row.timings.policy_ms / 1000, tool_calls: row.timings.env_ms / 1000 },
      extra_fields: identityOf(row),
    };
  },
  trl(row) {
    const { prompt, response, logProbs } = splitTokens(row);
    return {
      prompt_ids: prompt,
      completion_ids: response,
      logprobs: logProbs,
      env_mask: row.loss_mask,
      reward: row.reward,
      ...identityOf(row),
    };
  },
};

function splitTokens({ tokens, response_length, log_probs }: InteractionResult) {
  const start = tokens.length - response_length;
  return { prompt: tokens.slice(0, start), response: tokens.slice(start), logProbs: log_probs };
}

/** Returns what a row has beside its tokens. All rows have the same keys, which trainers make columns of. */
function identityOf(row: InteractionResult): object {
  const { id, parent = null, task_id, group, sample, status, reward_parts, info, errors } = row;
  return { id, parent, task_id, group, sample, status, reward_parts, session: info.session, info, errors };
}

/** Options of {@linkcode streamRows}. */
export interface RowStreamOptions {
  readonly format: RowFormat;
  /** Sessions whose rows come first. */
  readonly ended: readonly LiveSession[];
  /**
   * Calls back with each session that ends, and returns a function that stops this.
   *
   * @default the stream ends after `ended`
   */
  readonly follow?: ((onEnd: (live: LiveSession) => void) => () => void) | undefined;
  /** Sessions that may wait for the client to read. One more breaks the stream off. @default 4096 */
  readonly maxWaiting?: number | undefined;
}

/** Milliseconds between two empty lines that keep the connection of a stream open. */
const KEEP_ALIVE_MS = 15_000;

/** Returns the rows of sessions as lines of JSON, each session once. Rows are made when the client reads them. */
export function streamRows(
  { format, ended, follow, maxWaiting = 4_096 }: RowStreamOptions,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const waiting = [...ended];
  let changed = Promise.withResolvers<void>();
  let isRead = true;
  let isLate = false;
  const stop = follow?.((live) => {
    isLate ||= waiting.length >= Math.max(maxWaiting, ended.length);
    if (isLate) waiting.length = 0; // a session that was deleted is kept no longer
    else waiting.push(live);
    changed.resolve();
  });
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (isLate) throw new RangeError(`Cannot send rows as more than ${maxWaiting} sessions wait to be read`);
    const live = waiting.shift();
    if (live !== undefined) {
      const lines = live.session.results().map((row) => toRowLine(row, format)).join("");
      return controller.enqueue(encoder.encode(lines === "" ? "\n" : lines));
    }
    if (stop === undefined) return controller.close();
    const isChanged = await waitFor(changed.promise, KEEP_ALIVE_MS);
    if (!isRead) return;
    if (isChanged) changed = Promise.withResolvers();
    controller.enqueue(encoder.encode(isChanged ? "" : "\n"));
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        await pull(controller);
      } catch (error) {
        stop?.(); // a stream that has failed is not cancelled
        throw error;
      }
    },
    cancel() {
      isRead = false;
      stop?.();
      changed.resolve();
    },
  }, { highWaterMark: 0 });
}

/** Returns true if a promise resolves within a time. */
async function waitFor(promise: Promise<void>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  try {
    return await Promise.race([promise.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
