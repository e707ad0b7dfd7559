import { z } from "zod";
import { errorMessage, SandboxError, ToolError } from "../../errors.ts";
import { Child } from "../../sandbox/child.ts";
import type { DenoCommand } from "../../sandbox/deno_program.ts";
import { lossOfChild } from "../../sandbox/guest_link.ts";
import { type Frame, FrameKind } from "../../sandbox/protocol.ts";

/** What a tool's file says of itself. */
export interface ToolCard {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly parameters?: Record<string, unknown> | undefined;
}

/** How a call is made. */
export interface ToolProcessCall {
  readonly callId: string;
  readonly signal: AbortSignal;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** How long a process may take to say that it has heard of the end of a call. */
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
 * A process that runs one tool's file. Each frame that it sends is hostile: one that nobody asked for, or that
 * cannot be read, ends it.
 *
 * A call that is given up makes it take no further ones: it is killed when its other calls are over, or at once
 * when it does not even hear of it.
 */
export class ToolProcess {
  /** What the file says of itself; rejects when it does not start. */
  readonly opened: Promise<ToolCard>;
  /** Settles when the process is gone. */
  readonly ended: Promise<void>;
  readonly #child: Child;
  readonly #card = Promise.withResolvers<ToolCard>();
  readonly #pending = new Map<number, Pending>();
  /** Calls that were given up and that the process has not heard of. */
  readonly #unheard = new Map<number, ReturnType<typeof setTimeout>>();
  /** Calls that were given up and may still be answered. */
  readonly #givenUp = new Set<number>();
  #lastSlot = 0;
  #usable = true;
  #breach: string | undefined;

  constructor(command: DenoCommand) {
    this.opened = this.#card.promise;
    this.opened.catch(() => {}); // whoever waits for it hears of it
    this.#child = new Child(command, (frame) => this.#receive(frame));
    this.ended = this.#child.ended.then((end) => {
      const reason = this.#breach ?? complaint(end.stderr) ?? lossOfChild(end).message;
      this.#lose(reason);
    });
  }

  /** Whether it takes calls. */
  get usable(): boolean {
    return this.#usable;
  }

  /**
   * Makes a call. Rejects with the signal's reason when that is aborted.
   *
   * @throws {ToolError} with the tool's words when it fails, or when the process is lost.
   */
  async call(args: Readonly<Record<string, unknown>>, options: ToolProcessCall): Promise<unknown> {
    const { callId, signal } = options;
    signal.throwIfAborted();
    const slot = this.#freeSlot();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const onAbort = () => {
      reject(signal.reason);
      this.#giveUp(slot);
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

  /** Ends the process for certain; what it was asked is not answered any more. */
  kill(): void {
    this.#usable = false;
    this.#child.kill();
  }

  #freeSlot(): number {
    const next = () => this.#lastSlot = this.#lastSlot % 65_535 + 1;
    while (this.#pending.has(next())) { /* a call of it is still going on */ }
    return this.#lastSlot;
  }

  #giveUp(slot: number): void {
    this.#usable = false;
    this.#givenUp.add(slot);
    this.#unheard.set(slot, setTimeout(() => this.kill(), GRACE_MS));
    this.#child.send(FrameKind.interrupt, slot);
  }

  #receive({ kind, session, payload }: Frame): void {
    try {
      if (kind === FrameKind.opened) this.#card.resolve(parse(cardSchema, payload));
      else if (kind === FrameKind.result) this.#answer(session, payload);
      else if (kind === FrameKind.done) this.#heard(session);
      else throw new SyntaxError(`there is no frame ${kind}`);
    } catch (error) {
      const reason = errorMessage(error);
      this.#breach ??= `it wrote to the pipe what is no answer: ${reason}`.slice(0, MAX_TEXT);
      this.kill();
    }
  }

  #answer(slot: number, payload: Uint8Array): void {
    const pending = this.#pending.get(slot);
    if (pending === undefined) {
      if (this.#givenUp.delete(slot)) return;
      throw new SyntaxError(`nobody asked for result ${slot}`);
    }
    const result = parse(resultSchema, payload);
    if ("error" in result) pending.reject(new ToolError(result.error));
    else pending.resolve(result.value);
  }

  #heard(slot: number): void {
    const timer = this.#unheard.get(slot);
    if (timer === undefined) throw new SyntaxError(`nobody gave up call ${slot}`);
    clearTimeout(timer);
    this.#unheard.delete(slot);
    this.#killIfIdle();
  }

  #killIfIdle(): void {
    if (!this.#usable && this.#pending.size === 0 && this.#unheard.size === 0) this.kill();
  }

  #lose(reason: string): void {
    this.#usable = false;
    for (const timer of this.#unheard.values()) clearTimeout(timer);
    this.#unheard.clear();
    this.#card.reject(new SandboxError(reason));
    for (const { reject } of this.#pending.values()) {
      reject(new ToolError(`the tool's process is gone: ${reason}`));
    }
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, payload: Uint8Array): z.output<Schema> {
  const parsed = schema.safeParse(JSON.parse(decoder.decode(payload)));
  if (parsed.success) return parsed.data;
  throw new SyntaxError(parsed.error.issues.map(({ message }) => message).join("; "));
}

/** What Deno said when it gave up on the file: the first line of it, which names no path of the host. */
function complaint(stderr: string): string | undefined {
  return /^error: (?:Uncaught \(in promise\) TypeError: )?(.*)$/m.exec(stderr)?.[1];
}
