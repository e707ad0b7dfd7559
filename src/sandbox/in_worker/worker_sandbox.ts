import { concat } from "@std/bytes";
import { SerialQueue } from "../../async/semaphore.ts";
import { errorMessage, SandboxError } from "../../errors.ts";
import type { BranchingLease, SandboxAcquireOptions, SessionPool } from "../exec.ts";
import {
  type Assets,
  blobUrl,
  linkModules,
  splitLibrary,
  toShared,
  toSharedMemory,
  type WorkerAssets,
} from "../guest/assets.ts";
import type { HeapImage, ImageLayout } from "../guest/heap_image.ts";
import { WorkerLink } from "../guest/worker_link.ts";
import { GuestLink } from "../guest_link.ts";
import { imageExtension, leanWasm, plainImagePlan, workerModules } from "../image/guest_sources.ts";
import { standardLibrary } from "../image/standard_library.ts";
import { type CheckpointScope, profileScope } from "../checkpoint/checkpoint.ts";
import { CheckpointCompressor } from "../checkpoint/compression.ts";
import { createKey } from "../checkpoint/host_key.ts";
import { checkEvery } from "../exec_check.ts";
import { sha256 } from "../../hash.ts";
import { disposeUnless, Lease } from "../lease.ts";
import { wasmPages } from "../process/child_command.ts";
import type { Profile } from "../profile/profile.ts";
import type { Layer } from "../profile/schema.ts";
import { decodeLost, encodeFrame, type Frame, FrameKind, FrameSplitter, join } from "../protocol.ts";
import { type LinkSource, Session } from "../session.ts";
import { boundWasm } from "./bounded_wasm.ts";
import { importEmbeddedPyodide } from "./embedded_pyodide.js";

/** Options of {@linkcode WorkerSandbox}. */
export interface WorkerSandboxOptions {
  /** All its limits apply except CPU time. It must have no packages, mounts or shell, and require no layer. */
  profile: Profile;
  /** Maximum number of workers, including those that were asked to end and have not yet. */
  maxWorkers: number;
  /** Called before the image of Python is built, at the first use. */
  onBuild?: (() => void) | undefined;
}

/**
 * Part of the C stack that Python uses, in bytes. V8's stack has 1 MiB here, as its flags are those of the caller. Calls
 * of Python through C, such as those of `lru_cache`, raise RecursionError after some 620 levels. In optimized code V8's
 * stack ends after some 660 levels. Recursion that takes little of the C stack, such as parsing JSON of 10,000 brackets,
 * overflows V8's stack, which ends the interpreter.
 */
const C_STACK_BYTES = 288 * 1024;

const SESSION = 1;
const START_TIMEOUT_MS = 30_000;

/**
 * Sessions in workers of this process, for hosts where no process can be started. It needs no permission.
 *
 * Isolation consists of the worker's emptied realm, its lack of permissions, and a Wasm module that limits its own
 * memory and can be ended. There is no process boundary: a bug in V8 breaks all isolation, the operating system
 * limits nothing, and memory outside Python's heap (files, buffers) is limited only by the guest's own count. Every
 * lease has a new interpreter.
 */
export class WorkerSandbox implements SessionPool, LinkSource, AsyncDisposable {
  /** {@inheritDoc SessionPool.pairQueue} */
  readonly pairQueue: SerialQueue = new SerialQueue();
  readonly profile: Profile;
  readonly layers: ReadonlySet<Layer> = new Set();
  readonly #maxWorkers: number;
  readonly #onBuild: () => void;
  readonly #workers = new Map<WorkerLink, Promise<void>>();
  readonly #sessions = new Set<Session>();
  #assets: Promise<Assets> | undefined;
  #key: Promise<CryptoKey> | undefined;
  #imageHash: Promise<string> | undefined;
  readonly #compressor = new CheckpointCompressor();
  #disposed = false;

  /** @throws {TypeError} if the profile has settings that a worker cannot have. */
  constructor({ profile, maxWorkers, onBuild = () => {} }: WorkerSandboxOptions) {
    checkProfile(profile);
    this.#onBuild = onBuild;
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
    const { seed, from, owner, checkpointEvery: every, checkpointMemory: memory, signal } = options;
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

  /** Returns the image, which is built once. After a failure the next call tries again. */
  #image(): Promise<Assets> {
    if (this.#assets === undefined) this.#onBuild();
    this.#assets ??= buildWorkerAssets(this.profile).catch((error) => {
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

const BUILD_SESSION = 1;
const BUILD_TIMEOUT_MS = 300_000;
const decoder = new TextDecoder();

/**
 * Builds the assets of workers in memory, without reading a file. The image is built in a separate worker, which
 * takes some seconds.
 *
 * @throws {SandboxError} if that worker fails; the message has the reason.
 */
async function buildWorkerAssets(profile: Profile): Promise<Assets> {
  const pyodide = await importEmbeddedPyodide();
  const { factory, stdlib, loader } = pyodide;
  const urls = new Map([["pyodide.asm.mjs", toBlobUrl(factory)]]);
  const workerUrl = linkModules(urls, workerModules());
  const files = await standardLibrary({ stdlib });
  const library = toShared(concat(files.map(({ contents }) => contents)));
  const index = files.map(({ path, contents }) => [path, contents.length] as const);
  const common = {
    trees: [{ at: "/lib", files: splitLibrary(library, index) }],
    limits: profile.limits,
  };
  const wasm = boundWasm(pyodide.wasm, wasmPages(profile.limits));
  const [full, module] = await Promise.all(
    [true, false].map((data) => WebAssembly.compile(leanWasm({ factory, wasm }, { data }))),
  ) as [WebAssembly.Module, WebAssembly.Module];
  const build = (assets: WorkerAssets) =>
    buildImage(profile, { workerUrl, forWorkers: Promise.resolve(assets) });
  const plan = {
    ...plainImagePlan(pyodide, { cStackBytes: C_STACK_BYTES }),
    loaderUrl: toBlobUrl(loader),
  };
  const plain = await build({ ...common, module: full, plan });
  const image = await build({ ...common, module, image: plain, extension: imageExtension(profile) });
  return { workerUrl, forWorkers: Promise.resolve({ ...common, image, module, ownModuleOnly: true }) };
}

function toBlobUrl(code: Uint8Array): string {
  return blobUrl(code as Uint8Array<ArrayBuffer>);
}

/** Builds an image in a worker, and returns its heap. */
async function buildImage(profile: Profile, assets: Assets): Promise<HeapImage> {
  const pieces: Uint8Array[] = [];
  const splitter = new FrameSplitter();
  const { promise, resolve, reject } = Promise.withResolvers<ImageLayout>();
  const receive = ({ kind, payload }: Frame) => {
    if (kind === FrameKind.image) pieces.push(payload);
    else if (kind === FrameKind.opened) resolve(JSON.parse(decoder.decode(payload)));
    else if (kind === FrameKind.lost) reject(new Error(decoder.decode(decodeLost(payload).reason)));
  };
  const worker = new WorkerLink(BUILD_SESSION, {
    sendToHost: (bytes) => splitter.push(bytes).forEach(receive),
  });
  const onTimeout = () => reject(new Error(`not done after ${BUILD_TIMEOUT_MS} ms`));
  const timer = setTimeout(onTimeout, BUILD_TIMEOUT_MS);
  try {
    worker.start(assets, {}).catch(reject);
    const layout = await promise;
    return { ...layout, memory: toSharedMemory(join(pieces)) };
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SandboxError(`Cannot build the image of profile '${profile.name}': ${reason}`, { cause });
  } finally {
    clearTimeout(timer);
    worker.kill();
    worker.end();
  }
}
