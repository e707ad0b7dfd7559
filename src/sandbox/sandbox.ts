import { join, resolve } from "node:path";
import { SandboxError } from "../errors.ts";
import {
  COLLATERAL_KILL,
  DAMAGED_IMAGE,
  DamagedImageError,
  GuestLink,
  isRetryable,
  startError,
  type Termination,
  terminationOf,
} from "./guest_link.ts";
import { dropBaseImage, ensureBaseImage, isUnchanged } from "./image/base_image.ts";
import { defaultCacheDir } from "./image/cache_dir.ts";
import { SUPERVISOR } from "./image/build_child.ts";
import type { BaseImage } from "./image/image_build.ts";
import { Child, PendingCloses } from "./process/child.ts";
import {
  childCommand,
  type ChildCommandOptions,
  childEnvironment,
  confinePlan,
  maxResidentBytes,
} from "./process/command.ts";
import { isRoot } from "./process/layer_probes.ts";
import { activeLayers, detectLayers, type Layer, type LayerReport } from "./process/layers.ts";
import { delegatedGroup, MemoryGroup } from "./process/memory_cgroup.ts";
import { innermostProcess } from "./process/watchdog.ts";
import { bootMounts } from "./profile/mounts.ts";
import type { Profile } from "./profile/profile.ts";
import { type Frame, FrameKind } from "./protocol.ts";
import { type CheckpointScope, profileScope } from "./checkpoint/checkpoint.ts";
import { CheckpointCompressor } from "./checkpoint/compression.ts";
import { importKey, readHostKey } from "./checkpoint/host_key.ts";
import type { AcquireOptions } from "./exec.ts";
import { Lease } from "./lease.ts";
import { type LinkSource, Session } from "./session.ts";

/** Options of {@linkcode Sandbox.start}. */
export interface SandboxOptions {
  readonly profile: Profile;
  /**
   * Directory where base images are cached.
   *
   * @default `.cache/paddock` in the home directory of the user
   */
  cacheDir?: string | undefined;
  /**
   * Key that authenticates checkpoints, of at least 32 bytes.
   *
   * @default one in the cache directory, which only the user of this process can read
   */
  checkpointKey?: Uint8Array | undefined;
  /** Called before a base image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
  /**
   * Results of {@linkcode detectLayers} on this host, if the caller has them already.
   *
   * @default the layers are detected
   */
  detected?: readonly LayerReport[] | undefined;
  /**
   * `start` compiles Python's loop with optimization before any program runs. The first programs of a process then take
   * about half the time, and its start takes some 0.2 s more. With `use`, V8 does so after some programs.
   *
   * @default "use"
   */
  optimize?: "start" | "use" | undefined;
  /** Cancels the start. */
  signal?: AbortSignal | undefined;
}

/** Options that a {@linkcode SandboxPool} adds. */
interface SharedOptions extends SandboxOptions {
  /** Shared with other sandboxes, and disposed by its owner. */
  readonly compressor?: CheckpointCompressor;
}

/** A running process and its sessions. */
interface Running {
  readonly child: Child;
  readonly links: Map<number, GuestLink>;
  readonly pendingCloses: PendingCloses;
  /** True if the process has reported that it read its assets. It reports so once. */
  booted: boolean;
  /** Number of interpreters that were started in the process. */
  started: number;
}

const START_TIMEOUT_MS = 30_000;
/** Milliseconds that an idle session may take to close. On a busy machine its thread waits for the CPU. */
const CLOSE_TIMEOUT_MS = 5_000;
const OPEN_ATTEMPTS = 3;

const OUT_OF_GROUP_MEMORY: Termination = {
  reason: "memory",
  signal: "SIGKILL",
  message: "the process exceeded the memory of its control group",
};

/**
 * A process with restricted permissions, in which sessions run. If the process ends because of a limit or its
 * guest, or has the profile's `sessionsPerProcess` already, the next session that is opened starts a new one.
 *
 * @example Run Python
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { loadProfile, Sandbox } from "@paddock/paddock/sandbox";
 *
 * await using sandbox = await Sandbox.start({ profile: await loadProfile("python") });
 * const session = await sandbox.openSession();
 * const result = await session.exec("print(6 * 7)");
 * assertEquals(result.stdout, "42\n");
 * ```
 */
export class Sandbox implements AsyncDisposable, LinkSource {
  readonly profile: Profile;
  /** Layers of the operating system that are active around the process. */
  readonly layers: ReadonlySet<Layer>;
  readonly #options: SharedOptions & { readonly cacheDir: string };
  readonly #sessions = new Set<Session>();
  #image: BaseImage;
  /** The process that was started last, if it runs. */
  #running: Running | undefined;
  readonly #processes = new Set<Running>();
  #ended: Promise<unknown> = Promise.resolve();
  /** Processes of copies of its sessions. */
  readonly #copies = new Set<Sandbox>();
  #lastSession = 0;
  #key: Promise<CryptoKey> | undefined;
  readonly #compressor: CheckpointCompressor;
  #disposed = false;

  private constructor(
    options: SharedOptions & { readonly cacheDir: string },
    parts: { image: BaseImage; layers: ReadonlySet<Layer> },
  ) {
    this.profile = options.profile;
    this.layers = parts.layers;
    this.#options = options;
    this.#compressor = options.compressor ?? new CheckpointCompressor();
    this.#image = parts.image;
  }

  /**
   * Starts the process of a sandbox. The first start with a profile also builds its base image.
   *
   * @throws {SandboxError} if a layer that the profile requires does not work, or the image cannot be built.
   */
  static async start(options: SharedOptions): Promise<Sandbox> {
    const { onBuild, signal } = options;
    signal?.throwIfAborted();
    const cacheDir = resolve(options.cacheDir ?? defaultCacheDir());
    const layers = activeLayers(options.profile, options.detected ?? await detectLayers());
    const image = await ensureBaseImage(options.profile, { cacheDir, onBuild, signal });
    const sandbox = new Sandbox({ ...options, cacheDir }, { image, layers });
    sandbox.#process();
    return sandbox;
  }

  /** Id of the process that was started last, if it runs. It may be a child of the process that was started. */
  get pid(): number | undefined {
    return this.#running && innermostProcess(this.#running.child.pid);
  }

  /**
   * Starts an interpreter in the process.
   *
   * @throws {ArgumentRangeError} if `seed` is not a safe integer, or `checkpointEvery` is out of range.
   * @throws {SandboxError} if the interpreter does not start.
   */
  async openSession(
    options: Pick<AcquireOptions, "seed" | "checkpointEvery" | "signal"> = {},
  ): Promise<Session> {
    const { seed, checkpointEvery } = options;
    const session = new Session(this, {
      seed,
      checkpointEvery,
      onDispose: () => this.#sessions.delete(session),
    });
    this.#sessions.add(session);
    try {
      await session.ready(options.signal);
      return session;
    } catch (error) {
      await session[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Starts one interpreter. {@linkcode Session} uses it to start and to replace its interpreter.
   *
   * @throws {SandboxError} if the interpreter does not start.
   */
  async openLink(seed: number | undefined): Promise<GuestLink> {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#openOnce(seed);
      } catch (error) {
        if (!isRetryable(error) || attempt === OPEN_ATTEMPTS) throw error;
        if (error instanceof DamagedImageError) await this.#rebuildImage();
      }
    }
  }

  /**
   * Starts an interpreter for a copy of a session: in this process if the profile allows several in one, otherwise in a
   * new process, since a process ends with the first of its sessions.
   */
  async openCopy(signal: AbortSignal | undefined): Promise<{ session: Session; lease: Lease }> {
    const isShared = this.profile.sessionsPerProcess > 1;
    const sandbox = isShared
      ? this
      : await Sandbox.start({ ...this.#options, compressor: this.#compressor, signal });
    if (!isShared) this.#copies.add(sandbox);
    const end = async () => {
      this.#copies.delete(sandbox);
      await sandbox[Symbol.asyncDispose]();
    };
    try {
      const session = await sandbox.openSession({ signal });
      const lease = new Lease(session, () => void (isShared ? session[Symbol.asyncDispose]() : end()));
      return { session, lease };
    } catch (error) {
      if (!isShared) await end();
      throw error;
    }
  }

  /** Returns what checkpoints of its sessions are bound to. {@linkcode Session} uses it. */
  async checkpointScope(): Promise<CheckpointScope> {
    this.#key ??= this.#options.checkpointKey
      ? importKey(this.#options.checkpointKey)
      : readHostKey(this.#options.cacheDir);
    const image = this.#image.manifest.image;
    if (!image) throw new SandboxError("Cannot make checkpoint as the base image has no heap");
    const { profile, maxBytes } = await profileScope(this.profile);
    return { key: await this.#key, image: image.sha256, profile, maxBytes, compressor: this.#compressor };
  }

  /** Kills the process, disposes its sessions, and waits until the process has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    for (const { child } of this.#processes) child.kill();
    if (this.#compressor !== this.#options.compressor) await this.#compressor[Symbol.asyncDispose]();
    await Promise.all([...this.#sessions, ...this.#copies].map((each) => each[Symbol.asyncDispose]()));
    await Promise.all([...this.#processes].map(({ child }) => child.ended));
    await this.#ended;
  }

  async #rebuildImage(): Promise<void> {
    await dropBaseImage(this.#image);
    this.#image = await ensureBaseImage(this.profile, this.#options);
  }

  async #openOnce(seed: number | undefined): Promise<GuestLink> {
    await Promise.all([...this.#processes].map(({ pendingCloses }) => pendingCloses.settled));
    if (this.#disposed) throw new SandboxError("Cannot open session as the sandbox is disposed");
    const running = this.#process();
    const number = this.#lastSession = this.#lastSession % 65535 + 1;
    const link = new GuestLink(running.child, number, {
      kill: (termination) => this.#end(running, number, termination),
      thread: this.profile.sessionsPerProcess > 1 ? `worker-${++running.started}` : undefined,
    });
    running.links.set(number, link);
    link.send(FrameKind.open, JSON.stringify({ seed }));
    const timer = setTimeout(
      () => link.fail({ reason: "crashed", message: `not ready after ${START_TIMEOUT_MS} ms` }),
      START_TIMEOUT_MS,
    );
    try {
      await link.opened;
      return link;
    } catch (cause) {
      const end = this.#processes.has(running) ? undefined : await running.child.ended;
      if (this.#disposed) throw new SandboxError("Cannot open session as the sandbox is disposed");
      const { termination } = link;
      if (termination === undefined) throw cause;
      throw startError(termination, { cause, stderr: end?.stderr });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns a process with room for a session; starts one if there is none. */
  #process(): Running {
    const { sessionsPerProcess } = this.profile;
    for (const running of this.#processes) if (running.links.size < sessionsPerProcess) return running;
    const links = new Map<number, GuestLink>();
    const options = this.#commandOptions();
    const group = this.#memoryGroup();
    const command = childCommand(this.profile, options);
    const program = { ...group?.enter(command) ?? command, env: childEnvironment() };
    const child = new Child(program, (frame) => this.#route(running, frame));
    const pendingCloses = new PendingCloses();
    const running: Running = { child, links, pendingCloses, booted: false, started: 0 };
    const { manifest } = this.#image;
    const { limits, home } = this.profile;
    const mounts = bootMounts(this.profile.mounts);
    const confine = confinePlan(this.profile, options);
    child.send(
      FrameKind.boot,
      0,
      JSON.stringify({
        ...manifest,
        isUnchanged: isUnchanged(this.#image),
        mounts,
        limits,
        home,
        sessionsPerProcess,
        confine,
      }),
    );
    child.ended.then((end) => {
      this.#forget(running);
      pendingCloses.takeAll();
      const termination = group?.wasExceeded ? OUT_OF_GROUP_MEMORY : terminationOf(end);
      for (const link of links.values()) link.fail(termination);
      group?.[Symbol.dispose]();
    });
    this.#processes.add(running);
    return this.#running = running;
  }

  #memoryGroup(): MemoryGroup | undefined {
    if (!this.layers.has("memoryCgroup")) return undefined;
    return MemoryGroup.create(delegatedGroup(), maxResidentBytes(this.profile));
  }

  #commandOptions(): ChildCommandOptions {
    const { directory, manifest } = this.#image;
    return {
      denoPath: Deno.execPath(),
      assetsDir: directory,
      supervisorPath: join(directory, SUPERVISOR),
      layers: this.layers,
      isRoot: isRoot(),
      ...(this.#options.optimize === "start" && { optimizedFunction: manifest.interpreterLoop }),
    };
  }

  #route(running: Running, frame: Frame): void {
    if (frame.kind === FrameKind.booted && !running.booted) return void (running.booted = true);
    if (frame.kind === FrameKind.closed && running.pendingCloses.take(frame.session)) return;
    const link = running.links.get(frame.session);
    if (link) return link.receive(frame);
    if (running.pendingCloses.has(frame.session)) return;
    const isDamaged = frame.kind === FrameKind.damaged && frame.session === 0;
    if (isDamaged) return this.#kill(running, DAMAGED_IMAGE);
    const message = `the child sent frame ${frame.kind} for no session`;
    this.#kill(running, { reason: "protocol", message });
  }

  /**
   * Ends one interpreter. If its process has other interpreters and this one still responds, it is asked to close.
   * Otherwise the process is killed with all its interpreters, as nothing else stops a thread for certain.
   */
  #end(running: Running, number: number, termination: Termination): void {
    running.links.delete(number);
    const shared = this.profile.sessionsPerProcess > 1 && this.#processes.has(running);
    if (shared && termination.ended) return;
    if (!shared || termination.reason !== "closed") return this.#kill(running, COLLATERAL_KILL);
    running.pendingCloses.add(number, {
      graceMs: CLOSE_TIMEOUT_MS,
      onStuck: () => this.#kill(running, COLLATERAL_KILL),
    });
    running.child.send(FrameKind.interrupt, number);
    running.child.send(FrameKind.close, number);
  }

  /** Kills a process with all its interpreters. */
  #kill(running: Running, termination: Termination): void {
    const terminated = [...running.links.values()];
    running.links.clear();
    this.#forget(running);
    running.child.kill();
    for (const link of terminated) link.fail(termination);
  }

  #forget(running: Running): void {
    if (!this.#processes.delete(running)) return;
    if (this.#running === running) this.#running = undefined;
    this.#ended = Promise.all([this.#ended, running.child.ended]);
  }
}
