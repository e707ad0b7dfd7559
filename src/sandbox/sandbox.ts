import { join, resolve } from "node:path";
import { SandboxError } from "../errors.ts";
import { requireKnownOptions } from "../options.ts";
import { DamagedImageError, type GuestLink, isRetryable } from "./guest_link.ts";
// @ts-types="./image/base_image.d.ts"
import {
  type BaseImage,
  dropBaseImage,
  ensureBaseImage,
  isUnchanged,
  SUPERVISOR,
} from "./image/base_image.ts";
import { defaultCacheDir } from "./image/cache_dir.ts";
import {
  childCommand,
  type ChildCommandOptions,
  childEnvironment,
  confinePlan,
  maxResidentBytes,
} from "./process/child_command.ts";
import { isRoot } from "./process/layer_probes.ts";
import { activeLayers, detectLayers, type Layer, type LayerReport } from "./process/layers.ts";
import { delegatedGroup, MemoryGroup } from "./process/memory_cgroup.ts";
import { SandboxProcess } from "./process/sandbox_process.ts";
import { innermostProcess } from "./process/watchdog.ts";
import { bootMounts } from "./profile/mounts.ts";
import { type NetworkSettings, placeholdersOf } from "./profile/network.ts";
import { loadProfile, type Profile } from "./profile/profile.ts";
import { type CheckpointScope, profileScope } from "./checkpoint/checkpoint.ts";
import { CheckpointCompressor } from "./checkpoint/compression.ts";
import { importKey, readHostKey } from "./checkpoint/host_key.ts";
import type { AcquireOptions } from "./contract/pool.ts";
import { Lease } from "./lease.ts";
import type { NetworkTrial } from "./network/broker/egress_policy.ts";
import { type EgressBroker, openBroker } from "./network/egress_broker.ts";
import { SessionNetwork } from "./network/session_network.ts";
import { denoCommand } from "./process/deno_program.ts";
import { type LinkSource, Session } from "./session.ts";

/** Options of {@linkcode Sandbox.start}. */
export interface SandboxOptions {
  /**
   * Permissions, limits, packages and layers.
   *
   * @default the profile `python`
   */
  readonly profile?: Profile | undefined;
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
  /**
   * Names and addresses of a test's servers, for profiles with `network`. Programs then reach them as if they were hosts
   * of the internet.
   *
   * @default none
   */
  networkTrial?: NetworkTrial | undefined;
  /** Cancels the start. */
  signal?: AbortSignal | undefined;
}

/** Options that a {@linkcode SandboxPool} adds. */
interface SharedOptions extends SandboxOptions {
  readonly profile: Profile;
  /** Shared with other sandboxes, and disposed by its owner. */
  readonly compressor?: CheckpointCompressor;
  /** Shared with other sandboxes, and disposed by its owner. */
  readonly broker?: EgressBroker;
}

const OPEN_ATTEMPTS = 3;
/** Name of the broker's main module in the directory of an image. */
const BROKER = "broker.js";
/** Files that the broker may have open, each of them a connection. */
const BROKER_FILES = 4096;

/**
 * A process with restricted permissions, in which sessions run. If the process ends because of a limit or its
 * guest, or has the profile's `sessionsPerProcess` already, the next session that is opened starts a new one.
 *
 * @example Run Python
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { Sandbox } from "@paddock/paddock/sandbox";
 *
 * await using sandbox = await Sandbox.start();
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
  #latest: SandboxProcess | undefined;
  readonly #processes = new Set<SandboxProcess>();
  #ended: Promise<unknown> = Promise.resolve();
  /** Processes of copies of its sessions. */
  readonly #copies = new Set<Sandbox>();
  #key: Promise<CryptoKey> | undefined;
  readonly #compressor: CheckpointCompressor;
  readonly #broker: EgressBroker;
  #disposed = false;

  private constructor(
    options: SharedOptions & { readonly cacheDir: string },
    parts: { image: BaseImage; layers: ReadonlySet<Layer> },
  ) {
    this.profile = options.profile;
    this.layers = parts.layers;
    this.#options = options;
    this.#compressor = options.compressor ?? new CheckpointCompressor();
    this.#broker = options.broker ??
      openBroker(options.profile, options.networkTrial);
    this.#image = parts.image;
  }

  /**
   * Starts the process of a sandbox. The first start with a profile also builds its base image.
   *
   * @throws {SandboxError} if a layer that the profile requires does not work, or the image cannot be built.
   */
  static async start(
    options: SandboxOptions & Pick<SharedOptions, "compressor" | "broker"> = {},
  ): Promise<Sandbox> {
    requireKnownOptions("start Sandbox", options, SANDBOX_OPTIONS);
    const { onBuild, signal } = options;
    signal?.throwIfAborted();
    const profile = options.profile ?? await loadProfile("python");
    const cacheDir = resolve(options.cacheDir ?? defaultCacheDir());
    const layers = activeLayers(profile, options.detected ?? await detectLayers());
    const image = await ensureBaseImage(profile, { cacheDir, onBuild, signal });
    const sandbox = new Sandbox({ ...options, profile, cacheDir }, { image, layers });
    await sandbox.#broker.prepare();
    sandbox.#processWithRoom();
    return sandbox;
  }

  /** Id of the process that was started last, if it runs. It may be a child of the process that was started. */
  get pid(): number | undefined {
    return this.#latest && innermostProcess(this.#latest.pid);
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
    const sandbox = isShared ? this : await Sandbox.start({
      ...this.#options,
      compressor: this.#compressor,
      broker: this.#broker,
      signal,
    });
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
    for (const process of this.#processes) process.kill();
    if (this.#compressor !== this.#options.compressor) await this.#compressor[Symbol.asyncDispose]();
    if (this.#broker !== this.#options.broker) await this.#broker[Symbol.asyncDispose]();
    await Promise.all([...this.#sessions, ...this.#copies].map((each) => each[Symbol.asyncDispose]()));
    await Promise.all([...this.#processes].map(({ ended }) => ended));
    await this.#ended;
  }

  async #rebuildImage(): Promise<void> {
    await dropBaseImage(this.#image);
    this.#image = await ensureBaseImage(this.profile, this.#options);
  }

  async #openOnce(seed: number | undefined): Promise<GuestLink> {
    await Promise.all([...this.#processes].map(({ closesSettled }) => closesSettled));
    this.#requireUsable();
    try {
      return await this.#processWithRoom().openLink(seed);
    } catch (error) {
      this.#requireUsable(); // its disposal killed the process
      throw error;
    }
  }

  #requireUsable(): void {
    if (this.#disposed) throw new SandboxError("Cannot open session as the sandbox is disposed");
  }

  /** Returns a process with room for a session; starts one if there is none. */
  #processWithRoom(): SandboxProcess {
    for (const process of this.#processes) if (process.hasRoom) return process;
    const { sessionsPerProcess, limits, home, mounts, clock, network } = this.profile;
    const options = this.#commandOptions();
    const group = this.#memoryGroup();
    const command = childCommand(this.profile, options);
    const boot = {
      ...this.#image.manifest,
      isUnchanged: isUnchanged(this.#image),
      mounts: bootMounts(mounts),
      limits,
      ...(clock === "virtual" && { clock }),
      home,
      sessionsPerProcess,
      ...(network && { allowedHosts: network.allow }),
      ...(network?.secrets && { environment: placeholdersOf(network) }),
      confine: confinePlan(this.profile, options),
    };
    const process = new SandboxProcess({
      program: { ...group?.enter(command) ?? command, env: childEnvironment() },
      boot: JSON.stringify(boot),
      maxInterpreters: sessionsPerProcess,
      group,
      openNetwork: network && ((send) => this.#openNetwork(network, send)),
      onRetired: () => this.#forget(process),
    });
    this.#processes.add(process);
    return this.#latest = process;
  }

  /** Returns the connections of an interpreter. The broker's process starts with the first one. */
  #openNetwork(settings: NetworkSettings, send: (packet: Uint8Array) => void): SessionNetwork {
    const program = () =>
      denoCommand({
        module: join(this.#image.directory, BROKER),
        permissions: { net: settings.replay === undefined },
        openFiles: BROKER_FILES,
        layers: this.layers,
      });
    return new SessionNetwork({
      settings,
      send,
      open: (receiver) => this.#broker.open(receiver, program),
    });
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

  #forget(process: SandboxProcess): void {
    this.#processes.delete(process);
    if (this.#latest === process) this.#latest = undefined;
    this.#ended = Promise.all([this.#ended, process.ended]);
  }
}

/** Names of the options of a sandbox that shares nothing, or its compressor. */
export const SANDBOX_OPTIONS: Readonly<Record<keyof SharedOptions, true>> = {
  profile: true,
  cacheDir: true,
  checkpointKey: true,
  onBuild: true,
  detected: true,
  optimize: true,
  signal: true,
  compressor: true,
  broker: true,
  networkTrial: true,
};
