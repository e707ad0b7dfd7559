import { requireKnownOptions } from "../../options.ts";
import type { SessionLease } from "../../sandbox/contract/pool.ts";
import { SandboxPool } from "../../sandbox/pool.ts";
import { findDomain } from "./checkout.ts";
import { domainProfile, type DomainRecords, DomainSession, type TaskReference } from "./domain_session.ts";
import type { DomainDescription, DomainTask } from "./domain_description.ts";
import { DomainData, textOfChanges } from "./domain_data.ts";

/** Options of {@linkcode TauBenchDomain.open}. */
export interface TauBenchDomainOptions {
  /** Path of a tau-bench checkout, or of a folder with the same layout. It is only read. */
  path: string;
  /** Name of a folder of `tau_bench/envs`, such as `retail` or `airline`. */
  domain: string;
  /**
   * Maximum number of concurrent episodes.
   *
   * @default 1
   */
  sessions?: number | undefined;
  /**
   * Folder of the cached base images.
   *
   * @default `.cache/paddock` in the user's home
   */
  cacheDir?: string | undefined;
  /** Called once before the domain's base image is built, which takes a few seconds. */
  onBuild?: (() => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Expected end state of a task: the result of its own actions. */
export interface ExpectedEnd {
  /** Text that is equal for equal changes of the data. */
  readonly changes: string;
  /** tau-bench's hash of the data after the actions. */
  readonly dataHash: string;
  /** True if the actions change nothing. */
  readonly changesNothing: boolean;
}

/**
 * A domain of a tau-bench checkout, loaded once and shared by many episodes. Its Python runs in a pool of sandboxes
 * that start with the data loaded. The expected end state of each task is computed once.
 */
export class TauBenchDomain implements AsyncDisposable {
  readonly name: string;
  readonly description: DomainDescription;
  readonly #data: DomainData;
  readonly #pool: SandboxPool;
  readonly #truths = new Map<string, ExpectedEnd>();

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
   * @throws {Deno.errors.NotFound} if the path is not a checkout, or has no such domain.
   * @throws {SandboxError} if the domain's Python cannot be imported; the message has the reason.
   */
  static async open(options: TauBenchDomainOptions): Promise<TauBenchDomain> {
    requireKnownOptions("open TauBenchDomain", options, {
      path: true,
      domain: true,
      sessions: true,
      cacheDir: true,
      onBuild: true,
      signal: true,
    });
    const { path, domain, sessions = 1, cacheDir, onBuild, signal } = options;
    const profile = domainProfile(await findDomain(path, domain));
    await using started = new AsyncDisposableStack();
    const pool = started.use(
      new SandboxPool({ profile, size: sessions, resetMode: "rewind", cacheDir, onBuild }),
    );
    await using lease = await pool.acquire({ signal });
    const session = new DomainSession(lease.session);
    const description = await session.describe({ signal });
    const data = new DomainData(await session.allRecords({ signal }));
    started.move();
    return new TauBenchDomain(domain, { description, data, pool });
  }

  /** Names of the domain's splits, such as `test` and `train`. */
  get splits(): string[] {
    return Object.keys(this.description.tasks);
  }

  /**
   * Returns the tasks of a split.
   *
   * @throws {RangeError} if the domain has no such split.
   */
  tasks(split: string): readonly DomainTask[] {
    const tasks = Object.hasOwn(this.description.tasks, split) ? this.description.tasks[split] : undefined;
    if (tasks) return tasks;
    throw new RangeError(
      `Cannot open split '${split}' of domain '${this.name}' as it must be one of ${this.splits.join(", ")}`,
    );
  }

  /** Leases a session with the data loaded. It serves a single episode at a time. */
  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    return await this.#pool.acquire(options);
  }

  /** Returns the expected end state of a task. It rewinds the session, which loses all changes of its data. */
  async expectedEnd(task: TaskReference, session: DomainSession): Promise<ExpectedEnd> {
    const key = `${task.split}/${task.index}`;
    const cached = this.#truths.get(key);
    if (cached) return cached;
    await session.rewind();
    const records = await session.expectedChanges(task);
    const truth = {
      changes: textOfChanges(records),
      dataHash: await this.dataHash(records),
      changesNothing: records.records.length === 0,
    };
    this.#truths.set(key, truth);
    return truth;
  }

  /** Returns tau-bench's hash of the start data with these changes. */
  async dataHash(changes: DomainRecords): Promise<string> {
    return await this.#data.hash(changes);
  }

  /** Closes the domain's sandboxes, which ends every episode. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool[Symbol.asyncDispose]();
  }
}
