import { ArgumentTypeError, GuestFileError } from "../src/errors.ts";
import { sha256 } from "../src/hash.ts";
import { forkSession } from "../src/sandbox/checkpoint/fork.ts";
import { disposeUnless } from "../src/sandbox/lease.ts";
import type {
  CaptureOptions,
  Checkpoint,
  ForkOptions,
  RestoreOptions,
} from "../src/sandbox/contract/checkpoint.ts";
import type { ExecOptions, ExecResult } from "../src/sandbox/contract/exec.ts";
import type {
  BranchingLease,
  BranchingPool,
  BranchingSession,
  PythonSession,
  ResetOptions,
  SessionLease,
  SessionPool,
} from "../src/sandbox/contract/pool.ts";
import type { ShellResult } from "../src/sandbox/contract/shell.ts";

/** A replacement for Python: returns the result of a program that runs with these variables. */
export type FakePython = (
  code: string,
  globals: Map<string, number>,
  options: ExecOptions,
) => ExecResult | Promise<ExecResult>;

/** Returns the result of a successful program. */
export function ok(stdout = "", more: Partial<ExecResult & { status: "ok" }> = {}): ExecResult {
  return { status: "ok", stdout, stderr: "", durationMs: 1, stateKept: true, truncated: false, ...more };
}

/** Returns the result of a failed program, with the traceback of a `ValueError`. */
export function bad<Status extends "error" | "timeout" | "memory" | "output" | "crashed">(
  status: Status,
  more: Partial<Omit<ExecResult, "status">> = {},
): ExecResult {
  const error = { type: "ValueError", message: "bad", traceback: "Traceback …\nValueError: bad\n" };
  const outcome = { stdout: "", stderr: "", durationMs: 1, stateKept: true, truncated: false };
  return { ...outcome, ...more, status, error };
}

/** A pool without Python that counts its leases. */
export class FakePool implements SessionPool {
  protected readonly python: FakePython;
  /** Number of leases that are not released. */
  alive = 0;
  /** Maximum number of leases at the same time. */
  most = 0;
  /** All code that was run, in order. */
  readonly ran: string[] = [];

  constructor(python: FakePython = () => ok()) {
    this.python = python;
  }

  // deno-lint-ignore require-await
  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    options.signal?.throwIfAborted();
    this.most = Math.max(this.most, ++this.alive);
    let given = false;
    return {
      session: new FakeSession(this.python, this.ran),
      [Symbol.asyncDispose]: () => {
        if (!given) this.alive--;
        given = true;
        return Promise.resolve();
      },
    };
  }
}

/** A pool whose sessions have checkpoints: copies of their variables. */
export class BranchingFakePool extends FakePool implements BranchingPool {
  /** Options of all restores, in order. */
  readonly restores: RestoreOptions[] = [];

  async readCheckpoint(bytes: Uint8Array): Promise<Checkpoint> {
    return await readFakeCheckpoint(bytes);
  }

  override async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<BranchingLease> {
    const lease = await super.acquire(options);
    const { python, ran, restores } = this;
    const acquire = () => this.acquire();
    return { ...lease, session: new BranchingFakeSession(python, ran, { restores, acquire }) };
  }
}

class FakeSession implements PythonSession {
  readonly #python: FakePython;
  readonly #ran: string[];
  protected readonly globals = new Map<string, number>();
  readonly #files = new Map<string, Uint8Array>();

  constructor(python: FakePython, ran: string[]) {
    this.#python = python;
    this.#ran = ran;
  }

  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    options.signal?.throwIfAborted();
    this.#ran.push(code);
    return await this.#python(code, this.globals, options);
  }

  /** Rejects, since a fake session has no shell. */
  shell(): Promise<ShellResult> {
    return Promise.reject(new ArgumentTypeError("Cannot run command as a fake session has no shell"));
  }

  // deno-lint-ignore require-await
  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    this.#files.set(path, typeof contents === "string" ? new TextEncoder().encode(contents) : contents);
  }

  // deno-lint-ignore require-await
  async readFile(path: string): Promise<Uint8Array> {
    const contents = this.#files.get(path);
    if (contents === undefined) {
      throw new GuestFileError(`Cannot read '${path}' as it was never written`, { code: "file_not_found" });
    }
    return contents;
  }

  // deno-lint-ignore require-await
  async reset(_options?: ResetOptions): Promise<void> {
    this.globals.clear();
    this.#files.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.reset();
  }
}

class BranchingFakeSession extends FakeSession implements BranchingSession {
  readonly #pool: { restores: RestoreOptions[]; acquire: () => Promise<BranchingLease> };

  constructor(
    python: FakePython,
    ran: string[],
    pool: { restores: RestoreOptions[]; acquire: () => Promise<BranchingLease> },
  ) {
    super(python, ran);
    this.#pool = pool;
  }

  async checkpoint({ memory = true }: CaptureOptions = {}): Promise<Checkpoint> {
    const kept = memory ? [...this.globals] : [];
    return await readFakeCheckpoint(new TextEncoder().encode(JSON.stringify(kept)));
  }

  restore(checkpoint: Checkpoint, options: RestoreOptions = {}): Promise<void> {
    this.#pool.restores.push(options);
    this.globals.clear();
    for (const [name, value] of (checkpoint as FakeCheckpoint).globals) this.globals.set(name, value);
    return Promise.resolve();
  }

  resume(): Promise<ExecResult> {
    return Promise.reject(new TypeError("a fake session never waits"));
  }

  waitingCall(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async fork(count: number, { seed }: ForkOptions = {}): Promise<BranchingLease[]> {
    return await forkSession(count, {
      seed,
      capture: () => this.checkpoint(),
      copy: async (state, reseeding) => {
        const lease = await this.#pool.acquire();
        return await disposeUnless(lease, lease.session.restore(state, reseeding));
      },
    });
  }
}

class FakeCheckpoint implements Checkpoint {
  readonly id: string;
  readonly storedBytes: number;
  readonly tools = [];
  readonly globals: ReadonlyMap<string, number>;
  readonly #bytes: Uint8Array;

  private constructor(bytes: Uint8Array, id: string) {
    this.id = id;
    this.storedBytes = bytes.length;
    this.globals = new Map(JSON.parse(new TextDecoder().decode(bytes)));
    this.#bytes = bytes;
  }

  static async of(bytes: Uint8Array): Promise<FakeCheckpoint> {
    return new FakeCheckpoint(bytes, await sha256(bytes));
  }

  toBytes(): Promise<Uint8Array> {
    return Promise.resolve(this.#bytes);
  }
}

/** Reads the checkpoint of a session of a {@linkcode BranchingFakePool}. */
export async function readFakeCheckpoint(bytes: Uint8Array): Promise<Checkpoint> {
  return await FakeCheckpoint.of(bytes);
}
