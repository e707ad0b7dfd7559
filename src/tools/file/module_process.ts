import * as z from "zod";
import { errorMessage, SandboxError } from "../../errors.ts";
import { Child } from "../../sandbox/process/child.ts";
import type { DenoCommand } from "../../sandbox/process/deno_program.ts";
import { terminationOf } from "../../sandbox/guest_link.ts";
import { type Frame, FrameKind } from "../../sandbox/protocol.ts";
import { JSON_LIMITS, type JsonLimits, parseUntrustedJson } from "../../json.ts";

/** Kind of a served file: as a tool, a grader, or another kind of module. */
export interface ModuleKind<Metadata> {
  /** Noun for messages, such as `tool`. */
  readonly noun: string;
  /** Schema of the process's report about the loaded file. */
  readonly metadata: z.core.$ZodType<Metadata>;
  /** Returns the error of a call that the file failed, or whose process has ended. */
  toError(message: string): Error;
  /**
   * Maximum size of a result, in bytes. A process that sends more is killed.
   * @default the maximum of a frame, 64 MiB
   */
  readonly maxResultBytes?: number | undefined;
  /** Limits of a result as JSON. @default `JSON_LIMITS` */
  readonly jsonLimits?: JsonLimits | undefined;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Maximum time for a process to confirm that a call was cancelled, in milliseconds. */
const GRACE_MS = 250;
/** Maximum length of a text that a process sends about itself, in characters. */
export const MAX_TEXT = 10_000;

const resultSchema = z.union([
  z.strictObject({ value: z.unknown() }),
  z.strictObject({ error: z.string().transform((error) => error.slice(0, MAX_TEXT)) }),
]);
const decoder = new TextDecoder();

/**
 * A process that runs a file. Each frame of the process is untrusted: an unexpected or invalid frame ends
 * the process.
 *
 * After a call is cancelled, the process accepts no more calls. The process is killed when the other
 * calls have ended, or at once without a confirmation of the cancellation.
 */
export class ModuleProcess<Metadata> {
  /** Metadata of the file. Rejects when the process does not start. */
  readonly metadata: Promise<Metadata>;
  /** Resolves when the process has exited. */
  readonly exited: Promise<void>;
  readonly #child: Child;
  readonly #kind: ModuleKind<Metadata>;
  readonly #loaded = Promise.withResolvers<Metadata>();
  readonly #pending = new Map<number, Pending>();
  /** Cancelled calls that the process has not confirmed, with their timers. */
  readonly #unconfirmed = new Map<number, ReturnType<typeof setTimeout>>();
  /** Cancelled calls that may still send a result. */
  readonly #cancelled = new Set<number>();
  #lastSlot = 0;
  #usable = true;
  #violation: string | undefined;

  /** `onPrint` gets whole lines that the file prints after the load. */
  constructor(command: DenoCommand, kind: ModuleKind<Metadata>, onPrint?: (text: string) => void) {
    this.#kind = kind;
    this.metadata = this.#loaded.promise;
    this.metadata.catch(() => {}); // the awaiting caller handles the error
    const printed = onPrint && new PrintedLines(onPrint);
    this.metadata.then(() => printed?.open(), () => {}); // the error of a file that does not load has the file's output
    this.#child = new Child(command, (frame) => this.#receive(frame), (text) => printed?.add(text));
    this.exited = this.#child.ended.then((end) => {
      printed?.end();
      const reason = this.#violation ?? denoError(end.stderr) ?? terminationOf(end).message;
      this.#fail(reason);
    });
  }

  /** True if the process accepts calls. */
  get usable(): boolean {
    return this.#usable;
  }

  /**
   * Sends a call, a JSON text, and returns the result. Rejects with the signal's reason when the signal is aborted, and
   * with the error of the kind when the file fails or the process ends.
   */
  async call(payload: string | Uint8Array, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const slot = this.#freeSlot();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const onAbort = () => {
      reject(signal.reason);
      this.#cancel(slot);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pending.set(slot, { resolve, reject });
    this.#child.send(FrameKind.exec, slot, payload);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#pending.delete(slot);
      this.#killIfIdle();
    }
  }

  /** Kills the process. Pending calls get no result. */
  kill(): void {
    this.#usable = false;
    this.#child.kill();
  }

  #freeSlot(): number {
    const next = () => this.#lastSlot = this.#lastSlot % 65_535 + 1;
    while (this.#pending.has(next())) { /* the slot is in use */ }
    return this.#lastSlot;
  }

  #cancel(slot: number): void {
    this.#usable = false;
    this.#cancelled.add(slot);
    this.#unconfirmed.set(slot, setTimeout(() => this.kill(), GRACE_MS));
    this.#child.send(FrameKind.interrupt, slot);
  }

  #receive({ kind, session, payload }: Frame): void {
    try {
      if (kind === FrameKind.opened) this.#loaded.resolve(parse(this.#kind.metadata, payload));
      else if (kind === FrameKind.result) this.#settle(session, payload);
      else if (kind === FrameKind.done) this.#confirmCancelled(session);
      else throw new SyntaxError(`a ${this.#kind.noun} cannot send frame ${kind}`);
    } catch (error) {
      const reason = errorMessage(error);
      this.#violation ??= `it sent an invalid frame: ${reason}`.slice(0, MAX_TEXT);
      this.kill();
    }
  }

  #settle(slot: number, payload: Uint8Array): void {
    const pending = this.#pending.get(slot);
    if (pending === undefined) {
      if (this.#cancelled.delete(slot)) return;
      throw new SyntaxError(`there is no call ${slot}`);
    }
    const { maxResultBytes = Infinity, jsonLimits } = this.#kind;
    if (payload.length > maxResultBytes) {
      throw new SyntaxError(`a result must have at most ${maxResultBytes} bytes: it has ${payload.length}`);
    }
    const result = parse(resultSchema, payload, jsonLimits);
    if ("error" in result) pending.reject(this.#kind.toError(result.error));
    else pending.resolve(result.value);
  }

  #confirmCancelled(slot: number): void {
    const timer = this.#unconfirmed.get(slot);
    if (timer === undefined) throw new SyntaxError(`call ${slot} was not cancelled`);
    clearTimeout(timer);
    this.#unconfirmed.delete(slot);
    this.#killIfIdle();
  }

  #killIfIdle(): void {
    if (!this.#usable && this.#pending.size === 0 && this.#unconfirmed.size === 0) this.kill();
  }

  #fail(reason: string): void {
    this.#usable = false;
    for (const timer of this.#unconfirmed.values()) clearTimeout(timer);
    this.#unconfirmed.clear();
    this.#loaded.reject(new SandboxError(reason));
    for (const { reject } of this.#pending.values()) {
      reject(this.#kind.toError(`the ${this.#kind.noun}'s process is gone: ${reason}`));
    }
  }
}

/** Passes on printed text in whole lines. Lines are held back until the printer is open. */
class PrintedLines {
  readonly #onPrint: (text: string) => void;
  #isOpen = false;
  #held = "";

  constructor(onPrint: (text: string) => void) {
    this.#onPrint = onPrint;
  }

  open(): void {
    this.#isOpen = true;
    this.add("");
  }

  add(text: string): void {
    this.#held += text;
    const length = this.#held.length > MAX_TEXT ? this.#held.length : this.#held.lastIndexOf("\n") + 1;
    if (this.#isOpen) this.#pass(length);
    else this.#held = this.#held.slice(-MAX_TEXT);
  }

  end(): void {
    if (this.#isOpen) this.#pass(this.#held.length);
  }

  #pass(length: number): void {
    if (length > 0) this.#onPrint(this.#held.slice(0, length));
    this.#held = this.#held.slice(length);
  }
}

function parse<Result>(
  schema: z.core.$ZodType<Result>,
  payload: Uint8Array,
  limits: JsonLimits = JSON_LIMITS,
): Result {
  const result = z.safeParse(schema, parseUntrustedJson(decoder.decode(payload), limits));
  if (result.success) return result.data;
  throw new SyntaxError(result.error.issues.map(({ message }) => message).join("; "));
}

/** Returns the first line of Deno's error. That line contains no path of the host. */
function denoError(stderr: string): string | undefined {
  return /^error: (?:Uncaught \(in promise\) TypeError: )?(.*)$/m.exec(stderr)?.[1];
}
