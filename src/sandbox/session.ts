import { abortable, MAX_TIMER_MS } from "../async/abort.ts";
import { SerialQueue } from "../async/semaphore.ts";
import { CheckpointError, SandboxError, SessionClosedError } from "../errors.ts";
import { openCheckpoint, sealCheckpoint } from "./checkpoint/checkpoint.ts";
import { sha256 } from "../hash.ts";
import { forkSession, requireForkSeed } from "./checkpoint/fork.ts";
import {
  type CapturedState,
  captureState,
  type CaptureStateOptions,
  restoreState,
  type SessionState,
} from "./checkpoint/state.ts";
import type { Reseeding } from "./checkpoint/transfer.ts";
import type { RecoveryOptions } from "./checkpoint/recovery.ts";
import { type StateMemoryOptions, statesOf } from "./checkpoint/state_memory.ts";
import type {
  CaptureOptions,
  Checkpoint,
  CheckpointEvery,
  CheckpointOptions,
  ForkOptions,
  RestoreOptions,
} from "./contract/checkpoint.ts";
import { checkOptionNames } from "./contract/known_options.ts";
import type { ExecOptions, ExecResult, ResumeOptions, ToolAnswer, WaitingCall } from "./contract/exec.ts";
import type { BranchingLease, BranchingSession, ResetOptions } from "./contract/pool.ts";
import type { ShellOptions, ShellResult } from "./contract/shell.ts";
// @ts-types="./contract/exec_fields.d.ts"
import { checkExec, checkShell } from "./contract/exec_fields.ts";
import {
  checkAnswer,
  checkContents,
  checkEvery,
  checkPath,
  checkResetMode,
  checkSeed,
  checkTimeout,
  checkTimeScale,
} from "./exec/exec_check.ts";
import { type DigestedCall, ExecDigests } from "./exec/exec_digests.ts";
import { encodeInputs } from "./exec/exec_inputs.ts";
import {
  type EncodedOptions,
  execRequest,
  inputContents,
  limitMemory,
  rewindsWithExec,
} from "./exec/exec_request.ts";
import { isInexact, toExecResult, toShellResult } from "./exec/exec_result.ts";
import { type ExecEnd, ExecRun, type VirtualTime } from "./exec/exec_run.ts";
import { getFile, getFiles, putFile, putFiles } from "./guest_files.ts";
import { parseResult, parseShellResult } from "./guest_frames.ts";
import type { GuestLink } from "./guest_link.ts";
import { Interpreter, type InterpreterSource } from "./interpreter.ts";
import { disposeUnless, type Lease } from "./lease.ts";
import { maxResidentBytes } from "./process/child_command.ts";
import type { Profile } from "./profile/profile.ts";
import type { Layer } from "./profile/schema.ts";
import { FrameKind } from "./protocol.ts";
import { refuseReseeding, WaitingExecs } from "./waiting/waiting_execs.ts";

const encoder = new TextEncoder();

/**
 * Limit of real time of an exec with a virtual clock, as a multiple of its timeout, and at least. Python's loops pass about
 * as much virtual time as real time, but functions of C pass none.
 */
const [GUARD_FACTOR, MIN_GUARD_MS] = [10, 10_000];

/** Seed of a session with a virtual clock that was given none, and of its state after an exec that rewinds. */
const DEFAULT_SEED = 0;

/** Limits of a call. */
interface CallLimits {
  readonly limits: Profile["limits"];
  /** Limit of real time. */
  readonly timeoutMs: number;
  readonly virtual?: VirtualTime | undefined;
}

/** Returns limits as messages name them. */
function named(
  { limits, timeoutMs, virtual }: CallLimits,
): { limits: Profile["limits"]; timeoutMs: number; guardMs: number } {
  return { limits, timeoutMs: virtual?.timeoutMs ?? timeoutMs, guardMs: timeoutMs };
}

/** Source of the interpreters of a session: a {@linkcode Sandbox} or a {@linkcode WorkerSandbox}. */
export interface LinkSource extends InterpreterSource {
  readonly profile: Profile;
  readonly layers: ReadonlySet<Layer>;
  /** Opens a session for a copy of another session. Its lease disposes it with all that was started for it. */
  openCopy(signal: AbortSignal | undefined): Promise<{ session: Session; lease: Lease }>;
}

/**
 * A Python interpreter with its own globals and files. Calls run in turn, in the order in which they were made. If the
 * interpreter is lost, the next exec runs in a fresh interpreter, and its result has `restarted: true`; with
 * `checkpointEvery`, the session returns to its last checkpoint, and the result has `restoredFrom`.
 */
export class Session implements BranchingSession {
  readonly #source: LinkSource;
  readonly #onDispose: () => void;
  readonly #interpreter: Interpreter;
  readonly #queue = new SerialQueue();
  #disposed = false;
  /** Names of the host tools of the last exec. */
  #tools: readonly string[] = [];
  /** Size of the last state, with its memory, that was captured, or of the last state that was restored. */
  #stateBytes = 0;
  readonly #waiting: WaitingExecs;
  /** Digests of the execs, if the clock is virtual. */
  readonly #digests: ExecDigests | undefined;

  constructor(
    source: LinkSource,
    options: {
      seed?: number | undefined;
      checkpointEvery?: CheckpointEvery | undefined;
      onDispose?: () => void;
    } = {},
  ) {
    const { seed, checkpointEvery: every, onDispose = () => {} } = options;
    checkSeed(seed);
    checkEvery(every);
    checkTimeScale(source.profile.timeScale);
    this.#source = source;
    this.#onDispose = onDispose;
    this.#interpreter = new Interpreter(source, seed);
    this.#waiting = this.#waitingExecs(this.#seedOf(seed));
    this.#digests = this.#isVirtual
      ? new ExecDigests(() => source.checkpointScope(), seed ?? DEFAULT_SEED)
      : undefined;
    this.setRecovery(every === undefined ? undefined : { every });
  }

  /** Resolves when the interpreter has started. */
  async ready(signal?: AbortSignal): Promise<void> {
    await abortable(this.#interpreter.started, signal);
  }

  /** Lets the session return to a checkpoint when its interpreter is lost. Without options, it starts again then. */
  setRecovery(options: RecoveryOptions | undefined): void {
    const { store, owner } = options ?? {};
    this.#interpreter.setRecovery(options, {
      onDue: () => {
        this.takeCheckpoint().catch(() => {}); // the session is disposed, or its next call reports the error
      },
      store: store && (async (state, at) => await store(await this.#seal(state.slice(), { owner }), at)),
    });
  }

  /** Takes a checkpoint of the session's recovery now, unless nothing has happened since the last checkpoint. */
  async takeCheckpoint(): Promise<void> {
    await this.#enqueue(async () => {
      if (!this.#waiting.call) await this.#interpreter.takeDueCheckpoint();
    }, { whileWaiting: true });
  }

  /**
   * Runs code in the session's namespace. What the guest code does is reported in the result and never rejects.
   *
   * @example State is kept from one exec to the next
   * ```ts
   * import { assertEquals } from "@std/assert";
   * import { loadProfile, Sandbox } from "@paddock/paddock/sandbox";
   *
   * await using sandbox = await Sandbox.start({ profile: await loadProfile("python") });
   * const session = await sandbox.openSession();
   * await session.exec("x = 6");
   * const result = await session.exec("x * 7", { timeoutMs: 2_000 });
   * if (result.status === "error") throw new Error(result.error.traceback);
   * assertEquals(result.status === "ok" && result.value, "42");
   * ```
   *
   * @throws {ArgumentTypeError | ArgumentRangeError} if an argument is invalid; nothing has run then.
   * @throws {GuestFileError} if one of `files` cannot be written.
   * @throws {SessionClosedError} if the session is disposed.
   * @throws {SandboxError} if no interpreter can be started.
   * @throws the reason of `signal` if it aborts, and the error that `onOutput` throws.
   */
  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    checkExec(code, options, this.#source.profile);
    const encoded = { ...options, inputs: encodeInputs(options.inputs) };
    return await this.#enqueue(
      () => options.suspendAt ? this.#startUntilCall(code, encoded) : this.#exec(code, encoded),
      { signal: options.signal },
    );
  }

  /** Answers the call that an exec waits for. See {@linkcode BranchingSession.resume}. */
  async resume(answer: ToolAnswer, options: ResumeOptions = {}): Promise<ExecResult> {
    checkOptionNames("resume", options);
    checkAnswer(answer);
    checkTimeout(options.timeoutMs);
    return await this.#enqueue(() => this.#waiting.resume(answer, options), {
      signal: options.signal,
      whileWaiting: true,
    });
  }

  /**
   * Runs a command line in the session's shell. What the command does is reported in the result and never rejects.
   * See {@linkcode PythonSession.shell}.
   *
   * @throws {ArgumentTypeError} if the profile has no `shell`.
   */
  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    checkShell(command, options, this.#source.profile);
    return await this.#enqueue(() => this.#shell(command, options), { signal: options.signal });
  }

  /**
   * Writes a file under the session's working directory; a string is written as UTF-8.
   *
   * @throws {ArgumentTypeError | ArgumentRangeError} if the path leaves the directory or the contents are too
   * large.
   * @throws {GuestFileError} if the file cannot be written.
   */
  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    checkPath(path);
    checkContents(path, contents);
    await this.#enqueue(async () => {
      const link = await this.#interpreter.ensure();
      await putFile(link, path, contents);
      await this.#interpreter.afterCall(link);
    });
  }

  /**
   * Reads a file under the session's working directory.
   *
   * @throws {ArgumentTypeError} if the path leaves the directory.
   * @throws {GuestFileError} if there is no such file or it cannot be read.
   */
  async readFile(path: string): Promise<Uint8Array> {
    checkPath(path);
    return await this.#enqueue(async () => {
      const link = await this.#interpreter.ensure();
      return await getFile(link, path);
    });
  }

  /**
   * Resets globals, modules and files to their state at the start.
   *
   * @throws {SandboxError} if no interpreter can be started.
   */
  async reset(options: ResetOptions = {}): Promise<void> {
    checkOptionNames("reset", options);
    const { mode = "fresh", seed, signal } = options;
    checkResetMode(mode);
    checkSeed(seed);
    await this.#enqueue(async () => {
      this.#stateBytes = 0;
      this.#waiting.setSeed(this.#seedOf(seed));
      await this.#waiting.end();
      await this.#interpreter.reset({ mode, seed });
      this.#digests?.start(seed ?? DEFAULT_SEED);
    }, { signal, whileWaiting: true });
  }

  /** Returns the call that an exec waits for. See {@linkcode BranchingSession.waitingCall}. */
  async waitingCall(): Promise<WaitingCall | undefined> {
    return await this.#enqueue(() => Promise.resolve(this.#waiting.call), { whileWaiting: true });
  }

  /** Returns the state of the session. See {@linkcode BranchingSession.checkpoint}. */
  async checkpoint(options: CaptureOptions = {}): Promise<Checkpoint> {
    checkOptionNames("checkpoint", options);
    const { owner = "", memory, refuseLost, signal } = options;
    const scope = await this.#source.checkpointScope();
    const states = statesOf(options) ?? scope.compressor.memoryOf(owner);
    const captured = await this.#enqueue(async () => { // an exec that comes later changes neither
      const waiting = memory === false
        ? undefined
        : await this.#waiting.seal({ owner, digest: await this.#digests?.last() });
      if (waiting) return { waiting };
      this.#waiting.requireNone();
      return { state: await this.#captureState({ memory, states, refuseLost, signal }) };
    }, { signal, whileWaiting: true });
    if (captured.waiting) return captured.waiting;
    using state = captured.state;
    return await sealCheckpoint(state.bytes, scope, { owner, tools: state.tools, digest: state.digest });
  }

  /** Replaces the state by the state of a checkpoint. See {@linkcode BranchingSession.restore}. */
  async restore(checkpoint: Checkpoint, options: RestoreOptions = {}): Promise<void> {
    checkOptionNames("restore", options);
    const { seed, reseed = seed !== undefined, signal } = options;
    checkSeed(seed);
    const { stateBytes, expand, state: base, waiting, digest } = await openCheckpoint(
      checkpoint,
      await this.#source.checkpointScope(),
      options,
    );
    if (waiting && reseed) throw refuseReseeding();
    await this.#enqueue(async () => {
      using _room = await statesOf(options)?.reserve(stateBytes, signal);
      const state = await expand();
      await this.#waiting.end();
      const isKept = await this.#restoreState(state, { reseed, seed });
      await this.#continueDigests(digest, { reseed, seed });
      if (waiting) await this.#waiting.read(waiting, base);
      if (!isKept) state.buffer.transferToFixedLength(0); // its room is free from here on
    }, { signal, whileWaiting: true });
  }

  /** Returns leases of copies of the session. See {@linkcode BranchingSession.fork}. */
  async fork(count: number, options: ForkOptions = {}): Promise<BranchingLease[]> {
    checkOptionNames("fork", options);
    const { seed, signal } = options;
    requireForkSeed(this.#source.profile, seed);
    return await forkSession(count, {
      seed,
      capture: () => this.captureState({ states: statesOf(options), signal }),
      copy: async (state, reseeding) => {
        const { session, lease } = await this.#source.openCopy(signal);
        return await disposeUnless(lease, session.restoreState(state, { ...reseeding, signal }));
      },
    });
  }

  /**
   * Captures the state as it is between two calls. It is not compressed, and not authenticated. Dispose it when it is
   * not used any more.
   */
  async captureState(options: Omit<CaptureOptions, "owner"> & StateMemoryOptions): Promise<SessionState> {
    return await this.#enqueue(() => this.#captureState(options), { signal: options.signal });
  }

  /** Replaces the state by a captured state. */
  async restoreState(
    { bytes, digest }: Pick<SessionState, "digest"> & { readonly bytes: Uint8Array },
    { signal, ...reseeding }: Reseeding & { signal?: AbortSignal | undefined },
  ): Promise<void> {
    await this.#enqueue(async () => {
      await this.#restoreState(bytes, reseeding);
      await this.#continueDigests(digest, reseeding);
    }, { signal });
  }

  /** Ends the interpreter and waits until its calls have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#onDispose();
    this.setRecovery(undefined);
    await this.#interpreter.end("the session was disposed");
    await this.#queue.whenIdle();
    this.#waiting[Symbol.dispose]();
  }

  async #exec(
    code: string,
    options: EncodedOptions,
  ): Promise<ExecResult> {
    const time = this.#limitsOf(options);
    const { limits } = time;
    this.#tools = (options.tools ?? []).map(({ name }) => name);
    const link = await this.#interpreter.ensure();
    if (options.files) await putFiles(link, options.files);
    limitMemory(link, options.memoryBytes, limits);
    const parse = (payload: Uint8Array) => parseResult(payload, limits.outputBytes);
    const inputs = inputContents(options);
    const sent = this.#digests ? { ...options, then: undefined } : options; // a digest is taken before the rewind
    const rewinds = rewindsWithExec(sent);
    const residentBytes = this.#residentBytes();
    const run = new ExecRun(link, { ...options, ...time, residentBytes, parse, inputs, rewinds });
    const request = execRequest(code, sent, limits);
    const end = await run.run(FrameKind.exec, request);
    const result = toExecResult(end, named(time));
    this.#interpreter.noteLoss(result);
    if (link.alive && options.fetchFiles) result.files = await getFiles(link, options.fetchFiles);
    await this.#addDigest(link, { ...options, kind: "exec", request, inputs }, { end, result, time });
    if (link.alive && options.then) {
      this.#interpreter.rewindAfterExec(end.rewound);
      this.#digests?.start(DEFAULT_SEED);
    }
    await this.#finish(link, end, { result, signal: options.signal });
    return result;
  }

  async #shell(command: string, options: ShellOptions): Promise<ShellResult> {
    const { home } = this.#source.profile;
    const time = this.#limitsOf(options);
    const { limits } = time;
    const { memoryBytes, silenceMs, stdin, signal, onOutput } = options;
    const link = await this.#interpreter.ensure();
    limitMemory(link, memoryBytes, limits);
    const run = new ExecRun(link, {
      signal,
      onOutput,
      ...time,
      silenceMs,
      parse: parseShellResult,
      residentBytes: this.#residentBytes(),
    });
    const request = encoder.encode(JSON.stringify({ command, stdin }));
    const end = await run.run(FrameKind.shell, request);
    const result = toShellResult(end, { ...named(time), silenceMs, home });
    this.#interpreter.noteLoss(result);
    const call = { kind: "shell", request, inputs: [], memoryBytes } as const;
    await this.#addDigest(link, call, { end, result, time });
    await this.#finish(link, end, { result, signal });
    return result;
  }

  async #startUntilCall(
    code: string,
    options: EncodedOptions,
  ): Promise<ExecResult> {
    this.#tools = (options.tools ?? []).map(({ name }) => name);
    return await this.#waiting.start(code, options);
  }

  #waitingExecs(seed: number | undefined): WaitingExecs {
    return new WaitingExecs({
      interpreter: this.#interpreter,
      scope: () => this.#source.checkpointScope(),
      limits: (options) => ({
        ...this.#limitsOf(options, { restarts: true }),
        residentBytes: this.#residentBytes(),
      }),
      capture: async (link, options) => {
        const { maxBytes } = await this.#source.checkpointScope();
        return await this.#capture(link, { maxBytes, memory: true, ...options });
      },
      restore: (state) => this.#restoreState(state, { reseed: false }),
      finish: async (link, end, { program, ...options }) => {
        const { result } = options;
        const time = this.#limitsOf(program);
        await this.#addDigest(link, { ...program, kind: "exec" }, { end, result, time });
        await this.#finish(link, end, options);
      },
    }, seed);
  }

  async #captureState(
    { memory = true, states, refuseLost, signal }: Omit<CaptureOptions, "owner"> & StateMemoryOptions,
  ): Promise<SessionState> {
    const { maxBytes } = await this.#source.checkpointScope();
    const link = await this.#interpreter.ensure();
    const { bytes, room } = await this.#capture(link, { maxBytes, memory, states, signal });
    const digest = await this.#digests?.last();
    const state = { bytes, tools: this.#tools, digest, [Symbol.dispose]: () => room?.[Symbol.dispose]() };
    if (!refuseLost || !this.#interpreter.hasUnreportedLoss) return state;
    state[Symbol.dispose]();
    throw new CheckpointError(
      "Cannot make checkpoint as the interpreter was lost, which the next result must report",
      { code: "checkpoint_refused" },
    );
  }

  async #capture(link: GuestLink, options: CaptureStateOptions): Promise<CapturedState> {
    const { memory = true } = options;
    const earlierBytes = memory ? this.#stateBytes : 0;
    const captured = await captureState(link, { ...options, earlierBytes });
    if (memory) this.#stateBytes = captured.bytes.length;
    return captured;
  }

  /** Makes a checkpoint of a state that was captured for the session's recovery. */
  async #seal(state: Uint8Array<ArrayBuffer>, { owner = "" }: CheckpointOptions): Promise<Checkpoint> {
    const scope = await this.#source.checkpointScope();
    using room = await scope.compressor.memoryOf(owner).reserve(state.length);
    room.shrink(state.length);
    const digest = await this.#digests?.last();
    return await sealCheckpoint(state, scope, { owner, tools: this.#tools, digest });
  }

  /** Returns true if the session keeps the bytes, for its recovery. */
  async #restoreState(bytes: Uint8Array, reseeding: Reseeding): Promise<boolean> {
    const link = await this.#interpreter.ensure();
    await restoreState(bytes, { ...reseeding, link, replace: () => this.#interpreter.replace() });
    this.#stateBytes = bytes.length;
    return this.#interpreter.setState(bytes);
  }

  async #continueDigests(digest: string | undefined, { reseed, seed }: Reseeding): Promise<void> {
    if (digest === undefined) this.#digests?.start(seed ?? DEFAULT_SEED);
    else await this.#digests?.continue(digest, reseed ? seed ?? DEFAULT_SEED : undefined);
  }

  /** Adds the digest of a call to the call's result, if the clock is virtual. */
  async #addDigest(
    link: GuestLink,
    call: Omit<DigestedCall, "timeoutMs">,
    { end, result, time }: { end: ExecEnd<unknown>; result: ExecResult | ShellResult; time: CallLimits },
  ): Promise<void> {
    if (!this.#digests || !time.virtual || end.failure || end.stopped === "aborted") return;
    const files = link.alive ? await this.#filesHash(link) : undefined;
    if (isInexact(end) || link.alive && files === undefined) result.inexact = true;
    const { timeoutMs } = time.virtual;
    result.digest = await this.#digests.add({ ...call, timeoutMs }, { result, files });
  }

  /** Returns the hash of the session's files; `undefined` if the guest refuses to send them. */
  async #filesHash(link: GuestLink): Promise<string | undefined> {
    const { maxBytes, compressor } = await this.#source.checkpointScope();
    try {
      const states = compressor.memoryOf("");
      const { bytes, room } = await captureState(link, { maxBytes, memory: false, states });
      using _room = room;
      return await sha256(bytes);
    } catch (error) {
      if (error instanceof CheckpointError || error instanceof SandboxError) return undefined;
      throw error;
    }
  }

  /** Throws the error of the caller's `onOutput` or the reason of its signal, which are not part of a result. */
  async #finish(
    link: GuestLink,
    end: ExecEnd<unknown>,
    { result, signal }: { result: ExecResult | ShellResult; signal: AbortSignal | undefined },
  ): Promise<void> {
    const isThrown = end.failure !== undefined || end.stopped === "aborted";
    if (!this.#disposed) await this.#interpreter.afterCall(link, isThrown ? undefined : result);
    if (end.failure) throw end.failure.error;
    if (end.stopped === "aborted") throw signal?.reason;
  }

  /** Returns the limits of a call in the time of this machine, and those of the virtual clock. */
  #limitsOf(
    { timeoutMs = this.#source.profile.limits.timeoutMs }: Pick<ExecOptions, "timeoutMs">,
    { restarts = false }: { restarts?: boolean } = {},
  ): CallLimits {
    const { limits, timeScale = 1 } = this.#source.profile;
    const scaled = { ...limits, cpuSeconds: limits.cpuSeconds * timeScale };
    if (!this.#isVirtual) return { limits: scaled, timeoutMs: timeoutMs * timeScale };
    const guardMs = Math.max(MIN_GUARD_MS, GUARD_FACTOR * timeoutMs) * timeScale;
    const virtual = { timeoutMs, graceMs: limits.graceMs, restarts };
    return { limits: scaled, timeoutMs: Math.min(guardMs, MAX_TIMER_MS), virtual };
  }

  /** Returns the seed of random numbers, which are never new ones with a virtual clock. */
  #seedOf(seed: number | undefined): number | undefined {
    return seed ?? (this.#isVirtual ? DEFAULT_SEED : undefined);
  }

  get #isVirtual(): boolean {
    return this.#source.profile.clock === "virtual";
  }

  #residentBytes(): number | undefined {
    const { profile, layers } = this.#source;
    return layers.has("watchdog") ? maxResidentBytes(profile) : undefined;
  }

  /** Runs `work` after all earlier work has ended. Refuses it while an exec waits, unless `whileWaiting`. */
  async #enqueue<T>(
    work: () => Promise<T>,
    { signal, whileWaiting = false }: { signal?: AbortSignal | undefined; whileWaiting?: boolean } = {},
  ): Promise<T> {
    this.#requireUsable();
    return await this.#queue.run(() => {
      this.#requireUsable();
      if (!whileWaiting) this.#waiting.requireNone();
      return work();
    }, { signal });
  }

  #requireUsable(): void {
    if (this.#disposed) throw new SessionClosedError("Cannot use session as it is disposed");
  }
}
