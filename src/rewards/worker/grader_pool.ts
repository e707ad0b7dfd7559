import { type Waiter, WaitList } from "../../async/wait_list.ts";
import { requireKnownOptions } from "../../options.ts";
import { SandboxError } from "../../errors.ts";
import { type GradeContext, type Grader, type Score, toScore, unscored } from "../grader.ts";
import { mapGraders, type ReplyGrading, replyGradingOf } from "../reply_grader.ts";
import { finalReplyOf } from "../final_reply.ts";
// @ts-types="./grader_thread.d.ts"
import { GraderThread } from "./grader_thread.ts";
import type { ItemResult, WorkItem } from "./grader_worker.ts";

/** Options of {@linkcode GraderPool}. */
export interface GraderPoolOptions {
  /**
   * Time limit of a grade, in milliseconds.
   *
   * @default 1000
   */
  deadlineMs?: number | undefined;
  /**
   * Heap of a worker, in MiB. There are two workers at most.
   *
   * @default 64
   */
  heapMb?: number | undefined;
  /**
   * Maximum number of characters of a reply and the parts of the task that a grader reads, together.
   *
   * @default 1_048_576
   */
  maxCharacters?: number | undefined;
}

/** Options of {@linkcode GraderPool.guard}. */
export interface GuardOptions {
  /** Client for whom the grades are. The owners take turns. */
  owner?: string | undefined;
}

/** Time limit of a first attempt. Nearly all grades take less than a millisecond. */
const QUICK_MS = 100;
/** Time for which a worker may exceed the worker's own time limit, in milliseconds. */
const GRACE_MS = 5_000;
const MIB = 1024 * 1024;
const MAX_BATCH = 256;
const ERRORS = { TypeError, RangeError, SyntaxError };

/**
 * Runs graders in workers with a time limit and a heap limit, so that no reply or task can block or fill the process.
 *
 * A grade that is stopped has no score (`null`), and the reason starts with `deadline exceeded`, `memory exceeded` or
 * `too large`. Grades that are requested at the same time go to a worker together. A grade that takes more than
 * 100 ms continues in a second worker, so that slow grades do not delay others. The owners of grades take turns.
 *
 * Only graders that read nothing but the final reply and the task run in a worker: `exactMatch`, `numberMatch`,
 * `patternMatch`, `gsm8k`, `math`, `countdown`, `ifeval`, rubrics of them, and each `replyGrader` of a module. Other
 * graders are functions of the program, which `guard` refuses. The workers start at the first grade, have the
 * permissions of the process, and do not keep it alive.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { GraderPool, History, patternMatch } from "@paddock/paddock";
 *
 * await using pool = new GraderPool({ deadlineMs: 200 });
 * const grader = pool.guard(patternMatch({ pattern: /^(a+)+$/ }));
 * const history = History.fromChats([{ role: "assistant", content: `${"a".repeat(60)}!` }]);
 * assertEquals(await grader.grade({ task: { id: "1", query: "Write a." }, history }), {
 *   score: null,
 *   reason: "deadline exceeded: the grade took more than 200 ms",
 * });
 * ```
 */
export class GraderPool implements AsyncDisposable {
  readonly #options: Required<{ [Name in keyof GraderPoolOptions]: number }>;
  readonly #quick: Lane;
  readonly #slow: Lane;

  /** @throws {RangeError} if an option is not above 0. */
  constructor(options: GraderPoolOptions = {}) {
    requireKnownOptions("create GraderPool", options, {
      deadlineMs: true,
      heapMb: true,
      maxCharacters: true,
    });
    const { deadlineMs = 1_000, heapMb = 64, maxCharacters = MIB } = options;
    for (const [name, value] of Object.entries({ deadlineMs, heapMb, maxCharacters })) {
      if (value > 0) continue;
      throw new RangeError(`Cannot create grader pool as '${name}' must be > 0: current value is ${value}`);
    }
    this.#options = { deadlineMs, heapMb, maxCharacters };
    const thread = () => new GraderThread({ heapMb, graceMs: GRACE_MS });
    this.#quick = new Lane(thread(), { limitMs: QUICK_MS, maxBatch: MAX_BATCH, maxCharacters });
    this.#slow = new Lane(thread(), { limitMs: deadlineMs, maxBatch: 1, maxCharacters });
  }

  /**
   * Returns a grader that runs in the workers.
   *
   * @throws {TypeError} if the grader, or a part of a rubric, cannot run in a worker, such as a function of the program.
   */
  guard(grader: Grader, options: GuardOptions = {}): Grader {
    return this.#guard(grader, options, (own) => {
      throw new TypeError(
        `Cannot guard grader '${own.name}' as a worker runs only graders that a module exports by replyGrader(): ` +
          "export it so, or load its file with graderFile(), which runs it in a process",
      );
    });
  }

  /** Returns a grader whose parts run in the workers where possible. Other parts run where they are, without a limit. */
  guardParts(grader: Grader, options: GuardOptions = {}): Grader {
    return this.#guard(grader, options, (own) => own);
  }

  /** @param other returns what replaces a grader that cannot run in a worker */
  #guard(grader: Grader, options: GuardOptions, other: (grader: Grader) => Grader): Grader {
    const grading = replyGradingOf(grader);
    if (grading === undefined) {
      return mapGraders(grader, (part) => this.#guard(part, options, other)) ?? other(grader);
    }
    const { owner = "" } = options;
    return { name: grader.name, grade: (context) => this.#grade(grading, context, owner) };
  }

  /** Ends the workers. Grades that wait are rejected. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#quick.end(), this.#slow.end()]);
  }

  async #grade(grading: ReplyGrading, context: GradeContext, owner: string): Promise<Score> {
    const { deadlineMs, heapMb, maxCharacters } = this.#options;
    const item = workItem(grading, context);
    if (charactersOf(item) > maxCharacters) {
      return unscored(`too large: the reply and its task must have at most ${maxCharacters} characters`);
    }
    const { signal } = context;
    const first = await this.#quick.run(item, owner, signal);
    const isLate = "stopped" in first && first.stopped === "deadline";
    const result = isLate ? await this.#slow.run(item, owner, signal) : first;
    if ("error" in result) {
      const { name, message } = result.error;
      throw new (Object.hasOwn(ERRORS, name) ? ERRORS[name as keyof typeof ERRORS] : Error)(message);
    }
    if ("score" in result) return toScore(result.score);
    return result.stopped === "memory"
      ? unscored(`memory exceeded: the grade needed more than ${heapMb} MiB`)
      : unscored(`deadline exceeded: the grade took more than ${deadlineMs} ms`);
  }
}

function workItem({ origin, fields: names }: ReplyGrading, { task, history }: GradeContext): WorkItem {
  const { id, answer, fields = {} } = task;
  const read = names?.filter((name) => Object.hasOwn(fields, name)).map((name) => [name, fields[name]]);
  return {
    origin,
    reply: finalReplyOf(history),
    task: { id, ...(answer !== undefined && { answer }) },
    ...(read && { fields: JSON.stringify(Object.fromEntries(read)) }),
  };
}

function charactersOf({ reply, task, fields = "" }: WorkItem): number {
  return reply.length + (task.answer?.length ?? 0) + task.id.length + fields.length;
}

function disposedError(): SandboxError {
  return new SandboxError("Cannot grade as the grader pool is disposed");
}

interface WaitingGrade {
  readonly item: WorkItem;
  readonly owner: string;
}

type Waiting = Waiter<ItemResult, WaitingGrade>;

/** A worker and the grades that wait for the worker. */
class Lane {
  readonly #thread: GraderThread;
  readonly #options: { limitMs: number; maxBatch: number; maxCharacters: number };
  /** Waiting grades by owner. The next batch takes a grade of each owner in turn. */
  #queues = new Map<string, WaitList<ItemResult, WaitingGrade>>();
  #isRunning = false;
  #isEnded = false;

  constructor(thread: GraderThread, options: { limitMs: number; maxBatch: number; maxCharacters: number }) {
    this.#thread = thread;
    this.#options = options;
  }

  async run(item: WorkItem, owner: string, signal: AbortSignal | undefined): Promise<ItemResult> {
    signal?.throwIfAborted();
    if (this.#isEnded) throw disposedError();
    const { promise } = this.#queueOf(owner).add({ item, owner }, signal);
    if (!this.#isRunning) void this.#runBatches();
    return await promise;
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    for (const queue of this.#queues.values()) queue.rejectAll(disposedError());
    this.#queues.clear();
    await this.#thread.end();
  }

  async #runBatches(): Promise<void> {
    this.#isRunning = true;
    await Promise.resolve();
    while (this.#queues.size > 0) {
      const batch = this.#takeBatch();
      if (batch.length === 0) continue;
      try {
        const results = await this.#thread.run(
          batch.map(({ request }) => request.item),
          this.#options.limitMs,
        );
        for (const [at, { resolve }] of batch.entries()) if (results[at]) resolve(results[at]);
        const left = batch.filter((_, at) => results[at] === undefined);
        if (this.#isEnded) { for (const { reject } of left) reject(disposedError()); }
        else this.#putBack(left);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isRunning = false;
  }

  #takeBatch(): Waiting[] {
    const { maxBatch, maxCharacters } = this.#options;
    const batch: Waiting[] = [];
    let characters = 0;
    for (const [owner, queue] of this.#queues) {
      const [next] = queue.take(1);
      this.#queues.delete(owner);
      if (next === undefined) continue;
      batch.push(next);
      if (queue.size > 0) this.#queues.set(owner, queue); // at the end, which the loop reaches again
      characters += charactersOf(next.request.item);
      if (batch.length >= maxBatch || characters >= maxCharacters) break;
    }
    return batch;
  }

  /** Puts grades that did not run before all others. */
  #putBack(batch: readonly Waiting[]): void {
    const owners = new Set([...batch.map(({ request }) => request.owner), ...this.#queues.keys()]);
    for (const waiting of batch.toReversed()) this.#queueOf(waiting.request.owner).putBack([waiting]);
    this.#queues = new Map([...owners].map((owner) => [owner, this.#queueOf(owner)]));
  }

  #queueOf(owner: string): WaitList<ItemResult, WaitingGrade> {
    return this.#queues.getOrInsertComputed(owner, () => new WaitList());
  }
}
