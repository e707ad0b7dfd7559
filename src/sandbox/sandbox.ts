import { join, resolve } from "node:path";
import { SandboxError } from "../errors.ts";
import { GuestLink, type Termination, terminationOf } from "./guest_link.ts";
import { type BaseImage, baseImage, defaultCacheDir, dropBaseImage } from "./image/base_image.ts";
import { SUPERVISOR } from "./image/image_build.ts";
import { Child } from "./process/child.ts";
import { childCommand, childEnvironment } from "./process/command.ts";
import { activeLayers, detectLayers, type Layer, type LayerReport } from "./process/layers.ts";
import { bootMounts } from "./profile/mounts.ts";
import type { Profile } from "./profile/profile.ts";
import { type Frame, FrameKind } from "./protocol.ts";
import { type LinkSource, Session } from "./session.ts";

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
  readonly pendingCloses: PendingCloses;
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
    await this.#running?.pendingCloses.settled;
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
    const pendingCloses = new PendingCloses();
    const running: Running = { child, links, pendingCloses, booted: false, started: 0 };
    const { manifest } = this.#image;
    const { limits, home } = this.profile;
    const mounts = bootMounts(this.profile.mounts);
    child.send(FrameKind.boot, 0, JSON.stringify({ ...manifest, mounts, limits, home }));
    child.ended.then((end) => {
      this.#forget(running);
      pendingCloses.takeAll();
      for (const link of links.values()) link.fail(terminationOf(end));
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
   * Ends one interpreter. Where others live beside it, one that can still hear is told to close. One that
   * cannot ends with its process, and so do the others: nothing else stops a thread for certain.
   */
  #end(running: Running, number: number, termination: Termination): void {
    running.links.delete(number);
    const shared = this.profile.sessionsPerProcess > 1 && this.#running === running;
    if (shared && termination.ended) return;
    if (!shared || termination.reason !== "closed") return this.#kill(running, COLLATERAL_KILL);
    running.pendingCloses.add(number, {
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
    for (const link of lost) link.fail(termination);
  }

  #forget(running: Running): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    this.#ended = Promise.all([this.#ended, running.child.ended]);
  }
}

/** The sessions of a process that were told to close and have not said yet that they did. */
export class PendingCloses {
  readonly #open = new Map<number, { timer: ReturnType<typeof setTimeout>; settled: () => void }>();
  readonly #over = new Set<Promise<void>>();

  /** Resolves when every session that was told to close is gone. */
  get settled(): Promise<unknown> {
    return Promise.all(this.#over);
  }

  /** Waits for a session's word; when it has not come after `graceMs`, `onStuck` is called. */
  add(session: number, options: { graceMs: number; onStuck: () => void }): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(options.onStuck, options.graceMs);
    this.#open.set(session, { timer, settled: resolve });
    this.#over.add(promise);
    promise.then(() => this.#over.delete(promise));
  }

  /** Whether a session was told to close and may still be ending what it did. */
  has(session: number): boolean {
    return this.#open.has(session);
  }

  /** Takes a session's word that it has closed; false when nobody told it to. */
  take(session: number): boolean {
    const closing = this.#open.get(session);
    if (!closing) return false;
    clearTimeout(closing.timer);
    this.#open.delete(session);
    closing.settled();
    return true;
  }

  /** The process is gone, and every session with it. */
  takeAll(): void {
    for (const session of [...this.#open.keys()]) this.take(session);
  }
}

/** Termination of the other interpreters of a process that is killed because one of them does not stop. */
export const COLLATERAL_KILL: Termination = {
  reason: "collateral",
  message: "another session of its process did not stop, and the process was killed",
};

/** Termination of all interpreters of a process that could not read its base image. */
export const DAMAGED_IMAGE: Termination = { reason: "damaged", message: "the base image is damaged" };

/** An interpreter did not start, and another attempt may succeed. */
class RetryableStartError extends SandboxError {}

/** The base image is damaged: it must be built again before another attempt to start. */
export class DamagedImageError extends RetryableStartError {}

/** True if another attempt to start may succeed. */
export function isRetryable(error: unknown): boolean {
  return error instanceof RetryableStartError;
}

/** Returns the error for an interpreter that was terminated before it started. */
export function startError(
  termination: Termination,
  options: ErrorOptions & { stderr?: string | undefined } = {},
): SandboxError {
  const { cause, stderr = "" } = options;
  const message = `Cannot start session: ${termination.message}`;
  if (termination.reason === "damaged") return new DamagedImageError(termination.message);
  // this host gives another reason for a process that it kills: this SIGKILL came from elsewhere
  if (termination.reason === "collateral" || termination.signal === "SIGKILL") {
    return new RetryableStartError(message);
  }
  const shown = stderr.trim();
  return new SandboxError(shown === "" ? message : `${message}: ${shown}`, { cause });
}
