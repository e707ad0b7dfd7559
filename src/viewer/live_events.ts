import { delay } from "@std/async";
import { formatNumber } from "./pages/format.ts";
import type { RunFile } from "./run_folder.ts";
import type { RunStore } from "./run_store.ts";

/** Milliseconds between two looks at a file. */
const POLL_MS = 500;
/** Milliseconds after which a comment is sent, so that a connection that is lost is noticed. */
const COMMENT_MS = 15_000;
/** Milliseconds since the last change during which a run counts as live. */
const LIVE_MS = 5 * 60_000;
/** Readers at once. The page of a further reader does not follow the file. */
const MAX_READERS = 64;

const encoder = new TextEncoder();

/** True if a file was changed a short time ago. */
export function isLive({ changedAt }: RunFile, now = Date.now()): boolean {
  return now - changedAt.getTime() < LIVE_MS;
}

/** Streams of the changes of runs, as server-sent events. */
export class LiveEvents {
  readonly #store: RunStore;
  readonly #signal: AbortSignal | undefined;
  #readers = 0;

  /** `signal` ends the streams. */
  constructor(store: RunStore, options: { signal?: AbortSignal | undefined } = {}) {
    this.#store = store;
    this.#signal = options.signal;
  }

  /**
   * Returns the events of a run: `progress` with the figures so far, at the start and after each change. Returns
   * `undefined` if too many are read.
   */
  open(name: string): ReadableStream<Uint8Array> | undefined {
    if (this.#readers >= MAX_READERS) return undefined;
    this.#readers++;
    const closed = new AbortController();
    const signal = AbortSignal.any([closed.signal, ...this.#signal ? [this.#signal] : []]);
    const events = this.#watch(name, signal);
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await events.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => {
        closed.abort();
        await events.return(undefined);
      },
    }, { highWaterMark: 0 });
  }

  async *#watch(name: string, signal: AbortSignal): AsyncGenerator<string, undefined> {
    try {
      let version = "";
      let quietMs = 0;
      yield ": open\n\n";
      while (!signal.aborted) {
        const file = await this.#store.folder.find(name);
        if (file === undefined) return;
        const run = await this.#store.open(file, POLL_MS);
        if ("version" in run && run.version !== version) {
          version = run.version;
          quietMs = 0;
          const { episodes, reward, failed, cut } = this.#store.summaryOf(run);
          const mean = reward ? `, mean reward ${formatNumber(reward.mean)}` : "";
          const text = `${formatNumber(episodes)} episodes${mean}, ${formatNumber(failed)} errors` +
            (cut === 0 ? "" : `, ${formatNumber(cut)} cut off`);
          const data = { episodes, text };
          yield `event: progress\ndata: ${JSON.stringify(data)}\n\n`;
        } else if ((quietMs += POLL_MS) >= COMMENT_MS) {
          quietMs = 0;
          yield ": quiet\n\n";
        }
        await delay(POLL_MS, { signal }).catch(() => {}); // the loop ends
      }
    } finally {
      this.#readers--;
    }
  }
}
