import type { Task } from "../task.ts";

/** Whoever knows which episodes an earlier run has played. */
export interface Earlier {
  /** Whether it was played; where two tasks have one id, each is asked for on its own. */
  takeFinished(task: Task, sample: number): boolean;
}

/** What a run has still to play, where an earlier run has played a part of it. */
export class Unfinished {
  readonly #out: Earlier | undefined;
  readonly #samples: number;
  /** The samples of a task that an earlier run has played. */
  readonly #finished = new WeakMap<Task, ReadonlySet<number>>();
  /** How many episodes of a task are to come, where that is neither all nor none. */
  readonly #left = new Map<string, number>();

  /** `out` knows what is played already; `samples` is how many episodes a task has in all. */
  constructor(out: Earlier | undefined, samples: number) {
    this.#out = out;
    this.#samples = samples;
  }

  /** Takes note of a task, once, before its episodes are asked for. */
  add(task: Task): void {
    const samples = Array.from({ length: this.#samples }, (_, at) => at + 1);
    const finished = new Set(samples.filter((sample) => this.#out?.takeFinished(task, sample)));
    if (finished.size === 0) return;
    this.#finished.set(task, finished);
    if (finished.size < this.#samples) this.#left.set(task.id, this.#samples - finished.size);
  }

  /** Whether an earlier run has played this episode. */
  isFinished(task: Task, sample: number): boolean {
    return this.#finished.get(task)?.has(sample) ?? false;
  }

  /** How many episodes of a task are to come. */
  left(id: string): number {
    return this.#left.get(id) ?? this.#samples;
  }
}
