import { join, resolve } from "node:path";
import { SandboxError } from "../errors.ts";
import { type BaseImage, baseImage, dropBaseImage } from "./base_image.ts";
import { SUPERVISOR } from "./base_image_build.ts";
import { defaultCacheDir } from "./cache_dir.ts";
import { Child } from "./child.ts";
import { Closings } from "./closings.ts";
import { childCommand, childEnvironment } from "./command.ts";
import { GuestLink, type Termination, terminationOf } from "./guest_link.ts";
import { activeLayers, detectLayers, type Layer, type LayerReport } from "./layers.ts";
import { bootMounts } from "./mounts.ts";
import type { Profile } from "./profile.ts";
import { type Frame, FrameKind } from "./protocol.ts";
import { type LinkSource, Session } from "./session.ts";
import { COLLATERAL_KILL, DAMAGED_IMAGE, DamagedImageError, isRetryable, startError } from "./start_error.ts";

/** What a sandbox is started with. */
export interface SandboxOptions {
  readonly profile: Profile;
  /** Where base images are cached; `.cache/paddock` in the user's home unless given. */
  cacheDir?: string | undefined;
  /** Called once before a base image is built, which takes some seconds. */
  onBuild?: (() => void) | undefined;
  /** What {@linkcode detectLayers} found on this host, where the caller has asked already. */
  detected?: readonly LayerReport[] | undefined;
  /** Cancels the start. */
  signal?: AbortSignal | undefined;
}

/** A running process and the sessions that it holds. */
interface Running {
  readonly child: Child;
  readonly links: Map<number, GuestLink>;
  readonly closings: Closings;
  /** Whether it has read its assets, which it says once. */
  booted: boolean;
  /** How many interpreters were started in it. */
  started: number;
}

const START_TIMEOUT_MS = 30_000;
/** How long an idle session may take to end; on a busy machine its thread waits for its turn. */
const CLOSE_TIMEOUT_MS = 5_000;
const OPEN_ATTEMPTS = 3;

/**
 * One permission-scoped process in which sessions run. A process that is lost, to a limit or to a guest,
 * is replaced when the next session is opened.
 */
export class Sandbox implements AsyncDisposable, LinkSource {
  readonly profile: Profile;
  /** The layers around the process. */
  readonly layers: ReadonlySet<Layer>;
  readonly #options: SandboxOptions & { readonly cacheDir: string };
  readonly #sessions = new Set<Session>();
  #image: BaseImage;
  #running: Running | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #lastSession = 0;
  #disposed = false;

  private constructor(
    options: SandboxOptions & { readonly cacheDir: string },
    parts: { image: BaseImage; layers: ReadonlySet<Layer> },
  ) {
    this.profile = options.profile;
    this.layers = parts.layers;
    this.#options = options;
    this.#image = parts.image;
  }

  /**
   * Makes a sandbox ready: finds its layers and its base image, which is built on the first use.
   *
   * @throws {SandboxError} when a layer that the profile requires is missing, or the image cannot be built.
   */
  static async start(options: SandboxOptions): Promise<Sandbox> {
    const { onBuild, signal } = options;
    signal?.throwIfAborted();
    const cacheDir = resolve(options.cacheDir ?? defaultCacheDir());
    const layers = activeLayers(options.profile, options.detected ?? await detectLayers());
    const image = await baseImage(options.profile, { cacheDir, onBuild, signal });
    const sandbox = new Sandbox({ ...options, cacheDir }, { image, layers });
    sandbox.#process();
    return sandbox;
  }

  /** The id of the process that runs now, if one does. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** Starts an interpreter in the process; see {@linkcode Session} for what it can do. */
  async openSession(
    options: { seed?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Session> {
    const session = new Session(this, {
      seed: options.seed,
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
   * Starts one interpreter. Used by {@linkcode Session}, which replaces one that was lost.
   *
   * @throws {SandboxError} when it does not start.
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

  /** Kills the process and waits until it is gone; its sessions are disposed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    this.#running?.child.kill();
    await Promise.all([...this.#sessions].map((session) => session[Symbol.asyncDispose]()));
    await this.#running?.child.ended;
    await this.#ended;
  }

  async #rebuildImage(): Promise<void> {
    await dropBaseImage(this.#image);
    this.#image = await baseImage(this.profile, this.#options);
  }

  async #openOnce(seed: number | undefined): Promise<GuestLink> {
    await this.#running?.closings.settled;
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
      () => link.lose({ reason: "crashed", message: `not ready after ${START_TIMEOUT_MS} ms` }),
      START_TIMEOUT_MS,
    );
    try {
      await link.opened;
      return link;
    } catch (cause) {
      const end = this.#running === running ? undefined : await running.child.ended;
      if (this.#disposed) throw new SandboxError("Cannot open session as the sandbox is disposed");
      const { termination } = link;
      if (termination === undefined) throw cause;
      throw startError(termination, { cause, stderr: end?.stderr });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The process, started again when it is gone. */
  #process(): Running {
    if (this.#running) return this.#running;
    const links = new Map<number, GuestLink>();
    const child = new Child(this.#command(), (frame) => this.#route(running, frame));
    const closings = new Closings();
    const running: Running = { child, links, closings, booted: false, started: 0 };
    const { manifest } = this.#image;
    const { limits, home } = this.profile;
    const mounts = bootMounts(this.profile.mounts);
    child.send(FrameKind.boot, 0, JSON.stringify({ ...manifest, mounts, limits, home }));
    child.ended.then((end) => {
      this.#forget(running);
      closings.takeAll();
      for (const link of links.values()) link.lose(terminationOf(end));
    });
    return this.#running = running;
  }

  #command(): ConstructorParameters<typeof Child>[0] {
    const { directory } = this.#image;
    const command = childCommand(this.profile, {
      denoPath: Deno.execPath(),
      assetsDir: directory,
      supervisorPath: join(directory, SUPERVISOR),
      layers: this.layers,
    });
    return { ...command, env: childEnvironment() };
  }

  #route(running: Running, frame: Frame): void {
    if (frame.kind === FrameKind.booted && !running.booted) return void (running.booted = true);
    if (frame.kind === FrameKind.closed && running.closings.take(frame.session)) return;
    const link = running.links.get(frame.session);
    if (link) return link.receive(frame);
    if (running.closings.has(frame.session)) return;
    const isDamaged = frame.kind === FrameKind.damaged && frame.session === 0;
    if (isDamaged) return this.#kill(running, DAMAGED_IMAGE);
    const message = `the child sent frame ${frame.kind} for no session`;
    this.#kill(running, { reason: "protocol", message });
  }

  /**
   * Ends one interpreter. Where others live beside it, one that can still hear is told to close. One that
   * cannot ends with its process, and so do the others: nothing else stops a thread for certain.
   */
  #end(running: Running, number: number, termination: Termination): void {
    running.links.delete(number);
    const shared = this.profile.sessionsPerProcess > 1 && this.#running === running;
    if (shared && termination.ended) return;
    if (!shared || termination.reason !== "closed") return this.#kill(running, COLLATERAL_KILL);
    running.closings.add(number, {
      graceMs: CLOSE_TIMEOUT_MS,
      onStuck: () => this.#kill(running, COLLATERAL_KILL),
    });
    running.child.send(FrameKind.interrupt, number);
    running.child.send(FrameKind.close, number);
  }

  /** Ends a process and all that lives in it. */
  #kill(running: Running, termination: Termination): void {
    const lost = [...running.links.values()];
    running.links.clear();
    this.#forget(running);
    running.child.kill();
    for (const link of lost) link.lose(termination);
  }

  #forget(running: Running): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    this.#ended = Promise.all([this.#ended, running.child.ended]);
  }
}
