import { abortable } from "../async/abort.ts";
import { SerialQueue } from "../async/semaphore.ts";
import { SessionClosedError } from "../errors.ts";
import type {
  ExecOptions,
  ExecResult,
  PythonSession,
  ResetOptions,
  ShellOptions,
  ShellResult,
} from "./exec.ts";
import { checkContents, checkExec, checkPath, checkResetMode, checkSeed, checkShell } from "./exec_check.ts";
import { execResult } from "./exec_result.ts";
import { type ExecEnd, execRequest, ExecRun } from "./exec_run.ts";
import { getFile, getFiles, putFile } from "./guest_files.ts";
import { parseResult, parseShellResult } from "./guest_frames.ts";
import type { GuestLink } from "./guest_link.ts";
import type { Layer } from "./layer.ts";
import type { Profile } from "./profile.ts";
import { FrameKind } from "./protocol.ts";
import { shellResult } from "./shell_result.ts";

/** Where a session gets its interpreters: a {@linkcode Sandbox}. */
export interface LinkSource {
  readonly profile: Profile;
  readonly layers: ReadonlySet<Layer>;
  openLink(seed: number | undefined): Promise<GuestLink>;
}

const MIB = 1024 * 1024;

/**
 * One Python interpreter with globals of its own. Execs run one after the other, in the order of the
 * calls. When the interpreter is lost, the next exec meets a fresh one and says so.
 */
export class Session implements PythonSession {
  readonly #source: LinkSource;
  readonly #onDispose: () => void;
  #seed: number | undefined;
  #link: Promise<GuestLink>;
  readonly #queue = new SerialQueue();
  #restarted = false;
  #disposed = false;

  constructor(source: LinkSource, options: { seed?: number | undefined; onDispose?: () => void } = {}) {
    checkSeed(options.seed);
    this.#source = source;
    this.#seed = options.seed;
    this.#onDispose = options.onDispose ?? (() => {});
    this.#link = this.#open();
  }

  /** Resolves when the interpreter has started. */
  async ready(signal?: AbortSignal): Promise<void> {
    await abortable(this.#link, signal);
  }

  /** {@inheritDoc PythonSession.exec} */
  async exec(code: string, options: ExecOptions = {}): Promise<ExecResult> {
    checkExec(code, options, this.#source.profile);
    return await this.#enqueue(() => this.#exec(code, options), options.signal);
  }

  /** {@inheritDoc PythonSession.shell} */
  async shell(command: string, options: ShellOptions = {}): Promise<ShellResult> {
    checkShell(command, options, this.#source.profile);
    return await this.#enqueue(() => this.#shell(command, options), options.signal);
  }

  /** {@inheritDoc PythonSession.writeFile} */
  async writeFile(path: string, contents: Uint8Array | string): Promise<void> {
    checkPath(path);
    checkContents(path, contents);
    await this.#enqueue(async () => {
      const link = await this.#live();
      await putFile(link, path, contents);
    });
  }

  /** {@inheritDoc PythonSession.readFile} */
  async readFile(path: string): Promise<Uint8Array> {
    checkPath(path);
    return await this.#enqueue(async () => {
      const link = await this.#live();
      return await getFile(link, path);
    });
  }

  /** {@inheritDoc PythonSession.reset} */
  async reset(options: ResetOptions = {}): Promise<void> {
    const { mode = "fresh", seed, signal } = options;
    checkResetMode(mode);
    checkSeed(seed);
    await this.#enqueue(async () => {
      this.#seed = seed;
      if (mode === "fresh" || !await this.#rewind(seed)) await this.#replace();
      this.#restarted = false;
    }, signal);
  }

  /** Ends the interpreter. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#onDispose();
    const link = await this.#link.catch(() => undefined); // one that never started is gone already
    link?.lose({ reason: "closed", message: "the session was disposed" });
    await this.#queue.whenIdle();
  }

  async #exec(code: string, options: ExecOptions): Promise<ExecResult> {
    const { limits } = this.#source.profile;
    const { timeoutMs = limits.timeoutMs } = options;
    const link = await this.#live();
    for (const [path, contents] of Object.entries(options.files ?? {})) {
      await putFile(link, path, contents);
    }
    const parse = (payload: Uint8Array) => parseResult(payload, limits.outputBytes);
    const run = new ExecRun(link, { ...options, ...this.#runLimits(), timeoutMs, parse });
    const end = await run.run(FrameKind.exec, execRequest(code, options, limits));
    const result = execResult(end, { timeoutMs, limits });
    this.#noteRestart(result);
    if (link.alive && options.fetchFiles) result.files = await getFiles(link, options.fetchFiles);
    this.#finish(link, end, options.signal);
    return result;
  }

  async #shell(command: string, options: ShellOptions): Promise<ShellResult> {
    const { limits, home } = this.#source.profile;
    const { timeoutMs = limits.timeoutMs, silenceMs, stdin, signal, onOutput } = options;
    const link = await this.#live();
    const run = new ExecRun(link, {
      signal,
      onOutput,
      timeoutMs,
      silenceMs,
      parse: parseShellResult,
      ...this.#runLimits(),
    });
    const end = await run.run(FrameKind.shell, { command, stdin });
    const result = shellResult(end, { timeoutMs, silenceMs, limits, home });
    this.#noteRestart(result);
    this.#finish(link, end, signal);
    return result;
  }

  /** Says so when this is the first answer of a fresh interpreter in the place of one that was lost. */
  #noteRestart(result: { restarted?: true }): void {
    if (this.#restarted) result.restarted = true;
    this.#restarted = false;
  }

  /** Throws what is not a result: an error of the caller's own, or the reason to stop. */
  #finish(link: GuestLink, end: ExecEnd<unknown>, signal: AbortSignal | undefined): void {
    if (!link.alive && !this.#disposed) this.#lost();
    if (end.failure) throw end.failure.error;
    if (end.stopped === "aborted") throw signal?.reason;
  }

  #runLimits(): { limits: Profile["limits"]; residentBytes: number | undefined } {
    return { limits: this.#source.profile.limits, residentBytes: this.#residentBytes() };
  }

  /** The interpreter that runs now, or a fresh one in its place. */
  async #live(): Promise<GuestLink> {
    const link = await this.#link.catch(() => undefined); // one that did not start is tried again
    if (link?.alive) return link;
    if (link) this.#lost();
    else this.#link = this.#open();
    return await this.#link;
  }

  #lost(): void {
    this.#restarted = true;
    this.#link = this.#open();
  }

  #open(): Promise<GuestLink> {
    const link = this.#source.openLink(this.#seed);
    link.catch(() => {}); // whoever needs the interpreter hears of it
    return link;
  }

  async #replace(): Promise<void> {
    const link = await this.#link.catch(() => undefined); // one that never started needs no end
    link?.lose({ reason: "closed", message: "the session was reset" });
    this.#link = this.#open();
    await this.#link;
  }

  /** Writes the image back over the heap; false when only a fresh interpreter will do. */
  async #rewind(seed: number | undefined): Promise<boolean> {
    const link = await this.#link.catch(() => undefined); // one that did not start is replaced
    if (!link?.alive) return false;
    try {
      await link.request(FrameKind.rewind, JSON.stringify({ seed }));
      return true;
    } catch {
      return false; // it was lost on the way: the caller replaces it
    }
  }

  /** What the watchdog lets the process hold: several times what its sessions may use. */
  #residentBytes(): number | undefined {
    const { profile, layers } = this.#source;
    if (!layers.has("watchdog")) return undefined;
    const { memoryBytes, fileBytes } = profile.limits;
    return 300 * MIB + profile.sessionsPerProcess * (memoryBytes + 2 * fileBytes + 128 * MIB);
  }

  /** Runs `work` when all earlier work has ended. */
  async #enqueue<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    this.#requireUsable();
    return await this.#queue.run(() => {
      this.#requireUsable();
      return work();
    }, { signal });
  }

  #requireUsable(): void {
    if (this.#disposed) throw new SessionClosedError("Cannot use session as it is disposed");
  }
}
