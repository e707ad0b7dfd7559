import type { SessionLease } from "../../sandbox/exec.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import { findDomain } from "./checkout.ts";
import { Desk, type DomainRecords, type TaskPlace } from "./desk.ts";
import type { DomainDescription, DomainTask } from "./domain_description.ts";
import { changesText, DomainData } from "./domain_data.ts";
import { domainProfile } from "./domain_profile.ts";

/** Which domain is opened, and how many of its episodes there are at once. */
export interface TauBenchDomainOptions {
  /** A checkout of tau-bench, or a folder with the same layout. Nothing in it is changed. */
  path: string;
  /** Such as `retail` or `airline`: a folder of `tau_bench/envs`. */
  domain: string;
  /** How many episodes there are at most at the same time; 1 unless given. */
  sessions?: number | undefined;
  /** Where base images are cached; `.cache/paddock` in the user's home unless given. */
  cacheDir?: string | undefined;
  /** Called once before the domain's base image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** What a task's own actions lead to. */
export interface TaskTruth {
  /** The same for the same changes of the data. */
  readonly changes: string;
  /** tau-bench's hash of the data afterwards. */
  readonly dataHash: string;
  /** True when they change nothing. */
  readonly changesNothing: boolean;
}

/**
 * A domain of a tau-bench checkout, loaded once and shared by many episodes: its Python runs in a pool of sandboxes
 * that start with the data in place, and what a task leads to is worked out once.
 */
export class TauBenchDomain implements AsyncDisposable {
  readonly name: string;
  readonly description: DomainDescription;
  readonly #data: DomainData;
  readonly #pool: SandboxPool;
  readonly #truths = new Map<string, TaskTruth>();

  private constructor(
    name: string,
    parts: { description: DomainDescription; data: DomainData; pool: SandboxPool },
  ) {
    this.name = name;
    this.description = parts.description;
    this.#data = parts.data;
    this.#pool = parts.pool;
  }

  /**
   * Finds the domain and starts its sandboxes.
   *
   * @throws {Deno.errors.NotFound} when the path is no checkout, or has no such domain.
   * @throws {SandboxError} when the domain's Python cannot be imported; the message has its reason.
   */
  static async open(options: TauBenchDomainOptions): Promise<TauBenchDomain> {
    const { path, domain, sessions = 1, cacheDir, onBuild, signal } = options;
    const profile = domainProfile(await findDomain(path, domain));
    await using started = new AsyncDisposableStack();
    const pool = started.use(
      new SandboxPool({ profile, size: sessions, resetMode: "rewind", cacheDir, onBuild }),
    );
    await using lease = await pool.acquire({ signal });
    const desk = new Desk(lease.session);
    const description = await desk.describe({ signal });
    const data = new DomainData(await desk.everything({ signal }));
    started.move();
    return new TauBenchDomain(domain, { description, data, pool });
  }

  /** The domain's splits, such as `test` and `train`. */
  get splits(): string[] {
    return Object.keys(this.description.tasks);
  }

  /**
   * The tasks of a split.
   *
   * @throws {RangeError} when there is no such split.
   */
  tasks(split: string): readonly DomainTask[] {
    const tasks = Object.hasOwn(this.description.tasks, split) ? this.description.tasks[split] : undefined;
    if (tasks) return tasks;
    throw new RangeError(
      `Cannot open split '${split}' of domain '${this.name}' as it must be one of ${this.splits.join(", ")}`,
    );
  }

  /** A session with the data as loaded, for one episode after the other. */
  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    return await this.#pool.acquire(options);
  }

  /** What a task's own actions lead to. Its desk is rewound: whatever its data were is lost. */
  async truth(task: TaskPlace, desk: Desk): Promise<TaskTruth> {
    const key = `${task.split}/${task.index}`;
    const known = this.#truths.get(key);
    if (known) return known;
    await desk.rewind();
    const records = await desk.truth(task);
    const truth = {
      changes: changesText(records),
      dataHash: await this.dataHash(records),
      changesNothing: records.records.length === 0,
    };
    this.#truths.set(key, truth);
    return truth;
  }

  /** tau-bench's hash of the data that differ by these records from those at the start. */
  async dataHash(changes: DomainRecords): Promise<string> {
    return await this.#data.hash(changes);
  }

  /** Ends the domain's sandboxes, and with them every episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}
