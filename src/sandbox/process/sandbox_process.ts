import {
  COLLATERAL_KILL,
  DAMAGED_IMAGE,
  GuestLink,
  type GuestLinkOptions,
  startError,
  type Termination,
  terminationOf,
} from "../guest_link.ts";
import { type Frame, FrameKind } from "../protocol.ts";
import { Child, type ChildProgram, PendingCloses } from "./child.ts";
import type { MemoryGroup } from "./memory_cgroup.ts";

/** Options of {@linkcode SandboxProcess}. */
export interface SandboxProcessOptions {
  readonly program: ChildProgram;
  /** Settings of the supervisor, as JSON. */
  readonly boot: string;
  /** Maximum number of interpreters at a time. */
  readonly maxInterpreters: number;
  /** Control group of the process, removed at the end of the process. */
  readonly group: MemoryGroup | undefined;
  /** Returns the connections of an interpreter, if the profile has a network. */
  readonly openNetwork?: GuestLinkOptions["openNetwork"];
  /** Called once, when the process has ended or is being killed. */
  readonly onRetired: () => void;
}

const START_TIMEOUT_MS = 30_000;
/**
 * Milliseconds that an idle session may take to close. On a busy machine the session's thread waits for the
 * CPU.
 */
const CLOSE_TIMEOUT_MS = 5_000;
/** Numbers of interpreters have 16 bits, and 0 is the process itself. */
const MAX_NUMBER = 65_535;

const OUT_OF_GROUP_MEMORY: Termination = {
  reason: "memory",
  signal: "SIGKILL",
  message: "the process exceeded the memory of its control group",
};

/**
 * A process in which interpreters run. The process routes their frames, and ends each interpreter alone or
 * all with the process.
 */
export class SandboxProcess {
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<void>;
  readonly #options: SandboxProcessOptions;
  readonly #child: Child;
  readonly #links = new Map<number, GuestLink>();
  readonly #pendingCloses = new PendingCloses();
  /** True if the process has reported that the assets are read. The process reports so once. */
  #booted = false;
  #retired = false;
  #stderr = "";
  #lastNumber = 0;
  /** Number of interpreters that were started in the process. */
  #started = 0;

  constructor(options: SandboxProcessOptions) {
    this.#options = options;
    this.#child = new Child(options.program, (frame) => this.#route(frame));
    this.#child.send(FrameKind.boot, 0, options.boot);
    this.ended = this.#watch();
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** True if a further interpreter may start. */
  get hasRoom(): boolean {
    return !this.#retired && this.#links.size < this.#options.maxInterpreters;
  }

  /** Resolves when every interpreter that was asked to close has closed. */
  get closesSettled(): Promise<unknown> {
    return this.#pendingCloses.settled;
  }

  /**
   * Starts an interpreter, and returns the interpreter's link once the interpreter accepts execs.
   *
   * @throws {SandboxError} if the interpreter is terminated before, or does not start in time.
   */
  async openLink(seed: number | undefined): Promise<GuestLink> {
    const number = this.#lastNumber = this.#lastNumber % MAX_NUMBER + 1;
    const link = new GuestLink(this.#child, number, {
      kill: (termination) => this.#end(number, termination),
      thread: this.#isShared ? `worker-${++this.#started}` : undefined,
      openNetwork: this.#options.openNetwork,
    });
    this.#links.set(number, link);
    link.send(FrameKind.open, JSON.stringify({ seed }));
    const timer = setTimeout(
      () => link.fail({ reason: "crashed", message: `not ready after ${START_TIMEOUT_MS} ms` }),
      START_TIMEOUT_MS,
    );
    try {
      await link.opened;
      return link;
    } catch (cause) {
      if (this.#retired) await this.ended;
      const { termination } = link;
      if (termination === undefined) throw cause;
      throw startError(termination, { cause, stderr: this.#retired ? this.#stderr : undefined });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Kills the process. The interpreters are terminated when the process has ended. */
  kill(): void {
    this.#child.kill();
  }

  get #isShared(): boolean {
    return this.#options.maxInterpreters > 1;
  }

  async #watch(): Promise<void> {
    const end = await this.#child.ended;
    const { group } = this.#options;
    this.#stderr = end.stderr;
    this.#retire();
    this.#pendingCloses.takeAll();
    const termination = group?.wasExceeded ? OUT_OF_GROUP_MEMORY : terminationOf(end);
    for (const link of this.#links.values()) link.fail(termination);
    group?.[Symbol.dispose]();
  }

  #route(frame: Frame): void {
    if (frame.kind === FrameKind.booted && !this.#booted) return void (this.#booted = true);
    if (frame.kind === FrameKind.closed && this.#pendingCloses.take(frame.session)) return;
    const link = this.#links.get(frame.session);
    if (link) return link.receive(frame);
    if (this.#pendingCloses.has(frame.session)) return;
    const isDamaged = frame.kind === FrameKind.damaged && frame.session === 0;
    if (isDamaged) return this.#killAll(DAMAGED_IMAGE);
    const message = `the child sent frame ${frame.kind} for no session`;
    this.#killAll({ reason: "protocol", message });
  }

  /**
   * Ends an interpreter. If the process has other interpreters and this interpreter still responds, the
   * interpreter is asked to close. Otherwise the process is killed with all interpreters, as nothing else
   * stops a thread for certain.
   */
  #end(number: number, termination: Termination): void {
    this.#links.delete(number);
    const isShared = this.#isShared && !this.#retired;
    if (isShared && termination.ended) return;
    if (!isShared || termination.reason !== "closed") return this.#killAll(COLLATERAL_KILL);
    this.#pendingCloses.add(number, {
      graceMs: CLOSE_TIMEOUT_MS,
      onStuck: () => this.#killAll(COLLATERAL_KILL),
    });
    this.#child.send(FrameKind.interrupt, number);
    this.#child.send(FrameKind.close, number);
  }

  /** Kills the process with all interpreters, which are terminated at once. */
  #killAll(termination: Termination): void {
    const terminated = [...this.#links.values()];
    this.#links.clear();
    this.#retire();
    this.#child.kill();
    for (const link of terminated) link.fail(termination);
  }

  #retire(): void {
    if (this.#retired) return;
    this.#retired = true;
    this.#options.onRetired();
  }
}
