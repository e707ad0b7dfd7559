import { z } from "zod";
import { errorMessage, SandboxError, ToolError } from "../../errors.ts";
import { Child } from "../../sandbox/process/child.ts";
import type { DenoCommand } from "../../sandbox/process/deno_program.ts";
import { terminationOf } from "../../sandbox/guest_link.ts";
import { type Frame, FrameKind } from "../../sandbox/protocol.ts";
import { parseUntrustedJson } from "../../json.ts";

/** Metadata that a tool file exports. */
export interface ToolMetadata {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly parameters?: Record<string, unknown> | undefined;
}

/** Options of {@linkcode ToolProcess.call}. */
export interface ToolProcessCall {
  readonly callId: string;
  readonly signal: AbortSignal;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Maximum time for a process to confirm that a call was cancelled, in milliseconds. */
const GRACE_MS = 250;
const MAX_TEXT = 10_000;

const text = z.string().max(MAX_TEXT);
const cardSchema = z.strictObject({
  name: text.optional(),
  description: text.optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
});
const resultSchema = z.union([
  z.strictObject({ value: z.unknown() }),
  z.strictObject({ error: z.string().transform((error) => error.slice(0, MAX_TEXT)) }),
]);
const decoder = new TextDecoder();

/**
 * A process that runs one tool file. Each of its frames is untrusted: an unexpected or invalid frame ends
 * the process.
 *
 * After a call is cancelled, the process accepts no more calls. It is killed when its other calls have
 * ended, or at once if it does not confirm the cancellation.
 */
export class ToolProcess {
  /** Metadata of the file. Rejects when the process does not start. */
  readonly metadata: Promise<ToolMetadata>;
  /** Resolves when the process has exited. */
  readonly exited: Promise<void>;
  readonly #child: Child;
  readonly #card = Promise.withResolvers<ToolMetadata>();
  readonly #pending = new Map<number, Pending>();
  /** Cancelled calls that the process has not confirmed, with their timers. */
  readonly #unconfirmed = new Map<number, ReturnType<typeof setTimeout>>();
  /** Cancelled calls that may still send a result. */
  readonly #cancelled = new Set<number>();
  #lastSlot = 0;
  #usable = true;
  #violation: string | undefined;

  constructor(command: DenoCommand) {
    this.metadata = this.#card.promise;
    this.metadata.catch(() => {}); // the caller that awaits it handles the error
    this.#child = new Child(command, (frame) => this.#receive(frame));
    this.exited = this.#child.ended.then((end) => {
      const reason = this.#violation ?? denoError(end.stderr) ?? terminationOf(end).message;
      this.#fail(reason);
    });
  }

  /** True if the process accepts calls. */
  get usable(): boolean {
    return this.#usable;
  }

  /**
   * Calls the tool. Rejects with the signal's reason when the signal is aborted.
   *
   * @throws {ToolError} with the tool's message when the tool fails, or when the process ends.
   */
  async call(args: Readonly<Record<string, unknown>>, options: ToolProcessCall): Promise<unknown> {
    const { callId, signal } = options;
    signal.throwIfAborted();
    const slot = this.#freeSlot();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const onAbort = () => {
      reject(signal.reason);
      this.#cancel(slot);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#pending.set(slot, { resolve, reject });
    this.#child.send(FrameKind.exec, slot, JSON.stringify({ args, callId }));
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
      if (kind === FrameKind.opened) this.#card.resolve(parse(cardSchema, payload));
      else if (kind === FrameKind.result) this.#settle(session, payload);
      else if (kind === FrameKind.done) this.#confirmCancelled(session);
      else throw new SyntaxError(`a tool cannot send frame ${kind}`);
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
    const result = parse(resultSchema, payload);
    if ("error" in result) pending.reject(new ToolError(result.error));
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
    this.#card.reject(new SandboxError(reason));
    for (const { reject } of this.#pending.values()) {
      reject(new ToolError(`the tool's process is gone: ${reason}`));
    }
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, payload: Uint8Array): z.output<Schema> {
  const result = schema.safeParse(parseUntrustedJson(decoder.decode(payload)));
  if (result.success) return result.data;
  throw new SyntaxError(result.error.issues.map(({ message }) => message).join("; "));
}

/** Returns the first line of Deno's error. That line contains no path of the host. */
function denoError(stderr: string): string | undefined {
  return /^error: (?:Uncaught \(in promise\) TypeError: )?(.*)$/m.exec(stderr)?.[1];
}
