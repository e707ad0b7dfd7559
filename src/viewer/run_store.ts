import { Semaphore } from "../async/semaphore.ts";
import { errorMessage } from "../errors.ts";
import type { FileState, StoredIndex } from "./index/index_file.ts";
import { openIndex } from "./index/run_index.ts";
import { allRows } from "./index/episode_table.ts";
import type { RunFile, RunFolder } from "./run_folder.ts";
import { type RunSummary, summarize } from "./run_summary.ts";

/** A run whose index is in memory. */
export interface OpenRun extends StoredIndex {
  readonly file: RunFile;
  /** Changes with the content of the file. */
  readonly version: string;
}

/** A run that is read: the share of the file, from 0 to 1. */
export interface ReadingRun {
  readonly file: RunFile;
  readonly share: number;
}

/** A run whose file cannot be read. */
export interface UnreadableRun {
  readonly file: RunFile;
  readonly fault: string;
}

/** Files that are read at once. */
const MAX_READS = 2;
/** Episodes of all indexes in memory. Above this number, the run that was used least recently is closed. */
const MAX_EPISODES = 6_000_000;
/** Milliseconds within which a file is not looked at again. */
const FRESH_MS = 200;

interface Entry {
  index?: StoredIndex;
  checkedAt: number;
  share: number;
  pending?: Promise<StoredIndex>;
}

/** The indexes of the runs of a folder, each read once and kept while there is room. */
export class RunStore {
  readonly folder: RunFolder;
  readonly #entries = new Map<string, Entry>();
  readonly #signal: AbortSignal | undefined;
  readonly #reads = new Semaphore(MAX_READS);
  readonly #derived = new Map<string, unknown>();
  /** Summaries by the state of their file. */
  readonly #summaries = new WeakMap<FileState, RunSummary>();

  /** `signal` ends reading. */
  constructor(folder: RunFolder, options: { signal?: AbortSignal | undefined } = {}) {
    this.folder = folder;
    this.#signal = options.signal;
  }

  /**
   * Opens a run. If reading takes longer than `waitMs`, reading continues, and the state so far is returned.
   */
  async open(file: RunFile, waitMs: number): Promise<OpenRun | ReadingRun | UnreadableRun> {
    const entry = this.#entries.get(file.name) ?? { checkedAt: -Infinity, share: 0 };
    this.#entries.delete(file.name); // the last entry was used last
    this.#entries.set(file.name, entry);
    const { index } = entry;
    if (index && performance.now() - entry.checkedAt < FRESH_MS) return toOpenRun(file, index);
    entry.pending ??= this.#read(file, entry);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    try {
      const read = await Promise.race([entry.pending, late]);
      return read ? toOpenRun(file, read) : { file, share: entry.share };
    } catch (error) {
      return { file, fault: errorMessage(error) };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns the summary of all episodes of a run. */
  summaryOf({ table, state }: OpenRun): RunSummary {
    const known = this.#summaries.get(state);
    if (known) return known;
    const summary = summarize(table, allRows(table.count));
    this.#summaries.set(state, summary);
    return summary;
  }

  /** Returns what is computed from a version of runs, which is kept until the store is full. */
  async derive<T>(key: string, compute: () => T | Promise<T>): Promise<T> {
    const known = this.#derived.get(key) as Promise<T> | undefined;
    const value = known ?? Promise.resolve(compute());
    this.#derived.delete(key);
    this.#derived.set(key, value);
    const [oldest] = this.#derived.keys();
    if (this.#derived.size > MAX_DERIVED && oldest !== undefined) this.#derived.delete(oldest);
    value.catch(() => this.#derived.delete(key));
    return await value;
  }

  async #read({ path }: RunFile, entry: Entry): Promise<StoredIndex> {
    try {
      using _slot = await this.#reads.acquire(this.#signal);
      entry.index = await openIndex(path, {
        previous: entry.index,
        onProgress: (share) => void (entry.share = share),
        signal: this.#signal,
      });
      entry.checkedAt = performance.now();
      this.#evict();
      return entry.index;
    } finally {
      delete entry.pending;
    }
  }

  #evict(): void {
    const sizeOf = ({ index }: Entry) => index?.table.count ?? 0;
    let total = [...this.#entries.values()].reduce((sum, entry) => sum + sizeOf(entry), 0);
    for (const [name, entry] of this.#entries) {
      if (total <= MAX_EPISODES || this.#entries.size === 1) return;
      if (entry.pending) continue;
      total -= sizeOf(entry);
      this.#entries.delete(name);
    }
  }
}

/** Results that are kept, such as orders of rows: at most 8 bytes for an episode each. */
const MAX_DERIVED = 24;

function toOpenRun(file: RunFile, index: StoredIndex): OpenRun {
  const { fingerprint, indexedBytes, isOpen } = index.state;
  return { ...index, file, version: `${file.name}\n${fingerprint}\n${indexedBytes}\n${isOpen}` };
}
