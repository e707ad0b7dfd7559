import { SerialQueue } from "../../async/semaphore.ts";
import { errorMessage, SandboxError } from "../../errors.ts";
import type { SessionLease, SessionPool } from "../exec.ts";
import {
  type Assets,
  blobUrl,
  linkModules,
  splitLibrary,
  toShared,
  type WorkerAssets,
} from "../guest/assets.ts";
import type { HeapImage } from "../guest/python.ts";
import { WorkerLink } from "../guest/worker_link.ts";
import { GuestLink } from "../guest_link.ts";
import { exportNames, imagePlan, restoredWasm, workerModules } from "../image/guest_sources.ts";
import { Lease } from "../lease.ts";
import { wasmPages } from "../process/command.ts";
import type { Profile } from "../profile/profile.ts";
import type { Layer } from "../profile/schema.ts";
import { decodeLost, encodeFrame, type Frame, FrameKind, FrameSplitter, join } from "../protocol.ts";
import { type LinkSource, Session } from "../session.ts";
import { boundedWasm } from "./bounded_wasm.ts";
import { EMBEDDED_PYODIDE } from "./embedded_pyodide.ts";

/** What a {@linkcode WorkerSandbox} is made of. */
export interface WorkerSandboxOptions {
  /** Its limits hold but for CPU time; it has no packages, mounts or shell, and requires no layer. */
  profile: Profile;
  /** Workers at once, those among them that were told to end and have not. */
  maxWorkers: number;
}

const SESSION = 1;
const START_TIMEOUT_MS = 30_000;

/**
 * Sessions in workers of this process, for where no process can be started: no permission is needed. The walls are
 * the worker's emptied realm and its lack of permissions, and a module that bounds its own memory and can be ended;
 * there is no process boundary, so a hole in V8 is a hole in all, nothing of the operating system limits anything,
 * and what is no heap of Python's (files, buffers) is bounded by the guest's own count alone. Every lease has an
 * interpreter of its own that nobody had before.
 */
export class WorkerSandbox implements SessionPool, LinkSource, AsyncDisposable {
  /** {@inheritDoc SessionPool.pairQueue} */
  readonly pairQueue: SerialQueue = new SerialQueue();
  readonly profile: Profile;
  readonly layers: ReadonlySet<Layer> = new Set();
  readonly #maxWorkers: number;
  readonly #workers = new Map<WorkerLink, Promise<void>>();
  readonly #sessions = new Set<Session>();
  #assets: Promise<Assets> | undefined;
  #disposed = false;

  /** @throws {TypeError} when the profile wants what a worker cannot have. */
  constructor({ profile, maxWorkers }: WorkerSandboxOptions) {
    checkProfile(profile);
    this.profile = profile;
    this.#maxWorkers = maxWorkers;
  }

  /** Makes the image, so that the first lease need not wait for it. */
  async ready(): Promise<void> {
    await this.#image();
  }

  /**
   * Starts an interpreter.
   *
   * @throws {SandboxError} when it does not start.
   */
  async acquire(
    { seed, signal }: { seed?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<SessionLease> {
    const session: Session = new Session(this, { seed, onDispose: () => this.#sessions.delete(session) });
    this.#sessions.add(session);
    try {
      await session.ready(signal);
      return new Lease(session, () => void session[Symbol.asyncDispose]());
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts the worker of a {@linkcode Session}. */
  async openLink(seed: number | undefined): Promise<GuestLink> {
    const assets = await this.#image();
    await this.#room();
    if (this.#disposed) throw new SandboxError("Cannot open session as the sandbox is disposed");
    const splitter = new FrameSplitter();
    const worker: WorkerLink = new WorkerLink(SESSION, (bytes) => {
      for (const frame of splitter.push(bytes)) if (frame.kind !== FrameKind.closed) link.receive(frame);
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

  /** Ends every session, and waits until their workers are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await Promise.all([...this.#sessions].map((session) => session[Symbol.asyncDispose]()));
    await Promise.all(this.#workers.values());
  }

  /** The image, made once; when that fails, whoever asks next tries again. */
  #image(): Promise<Assets> {
    this.#assets ??= workerImage(this.profile).catch((error) => {
      this.#assets = undefined;
      throw error;
    });
    return this.#assets;
  }

  /** Waits until there are fewer workers than there may be. */
  async #room(): Promise<void> {
    const over = Promise.withResolvers<never>();
    const tell = () => over.reject(new SandboxError("Cannot start session as others did not end"));
    const timer = setTimeout(tell, START_TIMEOUT_MS);
    try {
      while (this.#workers.size >= this.#maxWorkers) {
        await Promise.race([...this.#workers.values(), over.promise]);
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
 * Everything that workers of this process make sessions of, made in memory: no file is read. The image is built in a
 * worker of its own, which takes some seconds.
 *
 * @throws {SandboxError} when the worker fails; the message has its reason.
 */
export async function workerImage(profile: Profile): Promise<Assets> {
  const { factory, stdlib } = EMBEDDED_PYODIDE;
  const urls = new Map([["pyodide.asm.mjs", blobUrl(factory as Uint8Array<ArrayBuffer>)]]);
  const workerUrl = linkModules(urls, workerModules());
  const wasm = boundedWasm(EMBEDDED_PYODIDE.wasm, wasmPages(profile.limits));
  const module = await WebAssembly.compile(wasm);
  const exports = exportNames(module, EMBEDDED_PYODIDE);
  const library = toShared(stdlib.slice() as Uint8Array<ArrayBuffer>);
  const common = {
    exportNames: exports,
    trees: [{ at: "/lib", files: splitLibrary(library, [["/python314.zip", library.length]]) }],
    limits: profile.limits,
  };
  const [image, lean] = await Promise.all([
    builtImage(profile, { workerUrl, assets: { ...common, module } }),
    WebAssembly.compile(restoredWasm(wasm, exports)),
  ]);
  return { workerUrl, forWorkers: Promise.resolve({ ...common, image, module: lean, ownModuleOnly: true }) };
}

/** Starts Pyodide the long way, in a worker, and takes its heap. */
async function builtImage(
  profile: Profile,
  { workerUrl, assets }: { workerUrl: string; assets: Omit<WorkerAssets, "plan"> },
): Promise<HeapImage> {
  const pieces: Uint8Array[] = [];
  const splitter = new FrameSplitter();
  const { promise, resolve, reject } = Promise.withResolvers<Omit<HeapImage, "data">>();
  const receive = ({ kind, payload }: Frame) => {
    if (kind === FrameKind.image) pieces.push(payload);
    else if (kind === FrameKind.opened) resolve(JSON.parse(decoder.decode(payload)));
    else if (kind === FrameKind.lost) reject(new Error(decoder.decode(decodeLost(payload).reason)));
  };
  const worker = new WorkerLink(BUILD_SESSION, (bytes) => splitter.push(bytes).forEach(receive));
  const loaderUrl = blobUrl(EMBEDDED_PYODIDE.loader as Uint8Array<ArrayBuffer>);
  const late = () => reject(new Error(`not done after ${BUILD_TIMEOUT_MS} ms`));
  const timer = setTimeout(late, BUILD_TIMEOUT_MS);
  const plan = { ...imagePlan(profile, EMBEDDED_PYODIDE), loaderUrl };
  try {
    worker.start({ workerUrl, forWorkers: Promise.resolve({ ...assets, plan }) }, {}).catch(reject);
    const about = await promise;
    return { ...about, data: toShared(join(pieces)) };
  } catch (cause) {
    const reason = errorMessage(cause);
    throw new SandboxError(`Cannot build the image of profile '${profile.name}': ${reason}`, { cause });
  } finally {
    clearTimeout(timer);
    worker.kill();
    worker.end();
  }
}
