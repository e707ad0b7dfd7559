import { SandboxError } from "../../errors.ts";
import { checkpointMemoryOf } from "../checkpoint/state_memory.ts";
import type { BranchingLease, SandboxAcquireOptions, SessionPool } from "../contract/pool.ts";
import type { Assets } from "../guest/assets.ts";
import { WorkerLink } from "../guest/worker_link.ts";
import { GuestLink } from "../guest_link.ts";
import { type CheckpointScope, profileScope } from "../checkpoint/checkpoint.ts";
import { CheckpointCompressor } from "../checkpoint/compression.ts";
import { createKey } from "../checkpoint/host_key.ts";
import { checkEvery } from "../exec/exec_check.ts";
import { sha256 } from "../../hash.ts";
import { disposeUnless, Lease } from "../lease.ts";
import type { Profile } from "../profile/profile.ts";
import type { Layer } from "../profile/schema.ts";
import { encodeFrame, FrameKind, FrameSplitter } from "../protocol.ts";
import { type LinkSource, Session } from "../session.ts";
import { openWorkerImage } from "./worker_image.ts";

/** Options of {@linkcode WorkerSandbox}. */
export interface WorkerSandboxOptions {
  /** All its limits apply except CPU time. It must have no packages, mounts or shell, and require no layer. */
  profile: Profile;
  /** Maximum number of workers, including those that were asked to end and have not yet. */
  maxWorkers: number;
  /** Called before the image of Python is built, at the first use. */
  onBuild?: (() => void) | undefined;
  /**
   * Directory in which the image is kept, so that only the first process builds it. It needs the permissions to read and
   * to write there, and no other user may write to it.
   *
   * @default none
   */
  cacheDir?: string | undefined;
}

const SESSION = 1;
const START_TIMEOUT_MS = 30_000;

function checkNoNetwork({ name, network }: Profile): void {
  if (network === undefined) return;
  throw new TypeError(
    `Cannot create WorkerSandbox as profile '${name}' must have no 'network': workers start no process that connects`,
  );
}

/**
 * Sessions in workers of this process, for hosts where no process can be started. It needs no permission.
 *
 * Isolation consists of the worker's emptied realm, its lack of permissions, and a Wasm module that limits its own
 * memory and can be ended. There is no process boundary: a bug in V8 breaks all isolation, the operating system
 * limits nothing, and memory outside Python's heap (files, buffers) is limited only by the guest's own count. Every
 * lease has a new interpreter.
 */
export class WorkerSandbox implements SessionPool, LinkSource, AsyncDisposable {
  readonly profile: Profile;
  readonly layers: ReadonlySet<Layer> = new Set();
  readonly #maxWorkers: number;
  readonly #onBuild: () => void;
  readonly #cacheDir: string | undefined;
  readonly #workers = new Map<WorkerLink, Promise<void>>();
  readonly #sessions = new Set<Session>();
  #assets: Promise<Assets> | undefined;
  #key: Promise<CryptoKey> | undefined;
  #imageHash: Promise<string> | undefined;
  readonly #compressor = new CheckpointCompressor();
  #disposed = false;

  /** @throws {TypeError} if the profile has settings that a worker cannot have. */
  constructor({ profile, maxWorkers, onBuild = () => {}, cacheDir }: WorkerSandboxOptions) {
    checkProfile(profile);
    checkNoNetwork(profile);
    this.#onBuild = onBuild;
    this.#cacheDir = cacheDir;
    this.profile = profile;
    this.#maxWorkers = maxWorkers;
  }

  /** Builds the image, so that the first lease does not wait for it. */
  async ready(): Promise<void> {
    await this.#image();
  }

  /**
   * Leases a new interpreter.
   *
   * @throws {ArgumentRangeError} if `checkpointEvery` is out of range.
   * @throws {SandboxError} if it does not start.
   */
  async acquire(options: SandboxAcquireOptions = {}): Promise<BranchingLease> {
    const { seed, from, owner, checkpointEvery: every, signal } = options;
    const memory = checkpointMemoryOf(options);
    checkEvery(every);
    const session = await this.#openSession({ seed, signal });
    if (every !== undefined) session.setRecovery({ every, memory });
    const lease = new Lease(session, () => void session[Symbol.asyncDispose]());
    return from ? await disposeUnless(lease, session.restore(from, { owner, signal })) : lease;
  }

  /** Starts a new interpreter for a copy of a session. */
  async openCopy(signal: AbortSignal | undefined): Promise<{ session: Session; lease: Lease }> {
    const session = await this.#openSession({ signal });
    return { session, lease: new Lease(session, () => void session[Symbol.asyncDispose]()) };
  }

  async #openSession(
    { seed, signal }: { seed?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<Session> {
    const session: Session = new Session(this, { seed, onDispose: () => this.#sessions.delete(session) });
    this.#sessions.add(session);
    return await disposeUnless(session, session.ready(signal));
  }

  /** Returns what checkpoints of its sessions are bound to: no other process has the key. */
  async checkpointScope(): Promise<CheckpointScope> {
    const { image } = await (await this.#image()).forWorkers;
    if (!image) throw new SandboxError("Cannot make checkpoint as the base image has no heap");
    this.#imageHash ??= sha256(new Uint8Array(image.memory.buffer).slice());
    this.#key ??= createKey();
    const [key, hash] = await Promise.all([this.#key, this.#imageHash]);
    return { key, image: hash, compressor: this.#compressor, ...await profileScope(this.profile) };
  }

  /** Starts the worker of a {@linkcode Session}. */
  async openLink(seed: number | undefined): Promise<GuestLink> {
    const assets = await this.#image();
    await this.#waitForSlot();
    if (this.#disposed) throw new SandboxError("Cannot open session as the sandbox is disposed");
    const splitter = new FrameSplitter();
    const worker: WorkerLink = new WorkerLink(SESSION, {
      sendToHost(bytes) {
        for (const frame of splitter.push(bytes)) if (frame.kind !== FrameKind.closed) link.receive(frame);
      },
    });
    const link = new GuestLink(pipeTo(worker), SESSION, { kill: () => worker.kill() });
    const crashed = (cause: unknown) => link.fail({ reason: "crashed", message: String(cause) });
    const ended = worker.start(assets, seed === undefined ? {} : { seed }).catch(crashed);
    this.#workers.set(worker, ended);
    ended.then(() => this.#workers.delete(worker));
    const timer = setTimeout(() => crashed(`not ready after ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
    try {
      await link.opened;
      return link;
    } catch (cause) {
      throw new SandboxError("Cannot start session in a worker", { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends every session and waits until their workers have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await Promise.all([...this.#sessions].map((session) => session[Symbol.asyncDispose]()));
    await Promise.all(this.#workers.values());
    await this.#compressor[Symbol.asyncDispose]();
  }

  /** Returns the image, which is opened once. After a failure the next call tries again. */
  #image(): Promise<Assets> {
    const options = { cacheDir: this.#cacheDir, onBuild: this.#onBuild };
    this.#assets ??= openWorkerImage(this.profile, options).catch((error) => {
      this.#assets = undefined;
      throw error;
    });
    return this.#assets;
  }

  /** Waits until there are fewer workers than the maximum. */
  async #waitForSlot(): Promise<void> {
    const timeout = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const message = `Cannot start session as no worker ended within ${START_TIMEOUT_MS} ms`;
      timeout.reject(new SandboxError(message));
    }, START_TIMEOUT_MS);
    try {
      while (this.#workers.size >= this.#maxWorkers) {
        await Promise.race([...this.#workers.values(), timeout.promise]);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}

function pipeTo(worker: WorkerLink): ConstructorParameters<typeof GuestLink>[0] {
  return {
    send(kind, session, payload) {
      if (kind === FrameKind.interrupt) worker.interrupt();
      else if (kind === FrameKind.pause) worker.pause();
      else if (kind === FrameKind.resume) worker.resume();
      else if (kind === FrameKind.flush) worker.flush();
      else worker.send(encodeFrame(kind, session, payload));
    },
  };
}

function checkProfile({ name, packages, mounts, shell, preload, layers }: Profile): void {
  const needs = Object.values(layers).includes("required");
  if (packages.length === 0 && mounts.length === 0 && !shell && !preload && !needs) return;
  throw new TypeError(
    `Cannot run profile '${name}' in workers as it must have no packages, mounts, shell, preload or required layers`,
  );
}
